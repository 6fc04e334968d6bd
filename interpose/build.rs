//! Gives the preloaded library its SONAME: what a process has loaded can be told by it, whatever the file is called.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpitrace.so");
}
