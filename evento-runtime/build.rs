//! `links` in the manifest wants a build script; there is nothing to build.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
