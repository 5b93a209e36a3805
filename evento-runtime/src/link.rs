//! Handler crates that the binary must contain.

/// Makes the binary contain the handlers of the crates it names.
///
/// A crate that is listed in `Cargo.toml` and never named in the code is not linked, and its handlers are not there: no
/// compiler says so. This names them, and the launch refuses a named crate in which it finds no component.
///
/// ```
/// # extern crate serde as orders_handlers;
/// # extern crate serde_json as billing_handlers;
/// evento_runtime::link!(orders_handlers, billing_handlers);
/// # fn main() {}
/// ```
///
/// Write it once, in the crate of the binary, beside the other items. It expands to `use orders_handlers as _;` lines
/// and notes the names for the launch. Names are crate names as in code: `orders_handlers` for the package
/// `orders-handlers`. They include the `lib.rs` beside a `main.rs`, which is a crate of its own.
///
/// A crate that only brings others along says `link!` itself; then the binary names only that one.
///
/// Where `Cargo.toml` gives a package another name, say both, as it does: for
/// `old_orders = { package = "orders-handlers", .. }` write
///
/// ```
/// # extern crate serde as old_orders;
/// evento_runtime::link!(old_orders = "orders-handlers");
/// # fn main() {}
/// ```
///
/// To be warned of a crate you forgot, put `#![warn(unused_crate_dependencies)]` at the top of `main.rs`.
///
/// # Where nothing is discovered
///
/// Discovery needs a binary that `rustc` has linked. In a static library that something else links, on WebAssembly, and
/// in a plugin that is loaded at run time the registry may be empty or only a part: name each component with
/// [`.register::<T>()`](crate::bundle::BundleBuilder::register) there. An integration test or an example sees the
/// handlers of its own package's library only if it names that library; tests do best with `.register` too.
#[macro_export]
macro_rules! link {
    ($($name:ident $(= $package:literal)?),+ $(,)?) => {
        $(
            use $name as _;
            const _: () = {
                $crate::__private::inventory::submit! {
                    $crate::__private::Registered::Linked {
                        crate_name: $crate::__private::crate_name($crate::__private::stringify!($name)),
                        package: $crate::__private::package(&[$($package)?]),
                        location: $crate::__private::Location {
                            file: $crate::__private::file!(),
                            line: $crate::__private::line!(),
                        },
                        module: $crate::__private::module_path!(),
                    }
                }
            };
        )+
    };
    ($($other:tt)*) => {
        $crate::__private::compile_error! {
            "`link!` must name crates as in code, separated by commas: `link!(orders_handlers, billing_handlers)`"
        }
    };
}
