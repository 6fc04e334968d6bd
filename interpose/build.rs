//! Gives the preloaded library a SONAME that no other library has, and writes its wrappers from the table.
//!
//! Extrae's and IBM's tracers are called `libmpitrace.so`, and the loader takes a library with the SONAME that a program
//! needs for the one that it needs.

#[path = "build/line.rs"]
mod line;
#[path = "build/wrapper.rs"]
mod wrapper;

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpitrace-preload.so");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (table, wrappers) in [("src/functions/lib.rs", "wrappers.rs"), ("tests/table/invented.rs", "invented.rs")] {
        let table = root.join(table);
        println!("cargo::rerun-if-changed={}", table.display());
        let text = std::fs::read_to_string(&table).expect("the table of functions");
        let code: String = line::lines(&text).iter().map(wrapper::of_line).collect();
        let out = std::env::var_os("OUT_DIR").expect("set by cargo");
        std::fs::write(Path::new(&out).join(wrappers), code).expect("the folder for generated code");
    }
}
