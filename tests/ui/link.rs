//! `link!` with a crate that is not there.

evento_runtime::link!(serde, no_such_crate);
//~@1+43 rustc

fn main() {}
