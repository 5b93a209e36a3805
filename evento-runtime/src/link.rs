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
/// `orders-handlers`.
///
/// To be warned of a crate you forgot, put `#![warn(unused_crate_dependencies)]` at the top of `main.rs`.
#[macro_export]
macro_rules! link {
    ($($name:ident),+ $(,)?) => {
        $(
            use $name as _;
            const _: () = {
                $crate::__private::inventory::submit! {
                    $crate::__private::Registered::Linked {
                        crate_name: $crate::__private::crate_name($crate::__private::stringify!($name)),
                        location: $crate::__private::Location {
                            file: $crate::__private::file!(),
                            line: $crate::__private::line!(),
                        },
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
