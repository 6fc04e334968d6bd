//! Gives the preloaded library a SONAME that no other library has. Extrae's and IBM's tracers are called
//! `libmpitrace.so`, and the loader takes a library with the SONAME that a program needs for the one that it needs.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpitrace-preload.so");
}
