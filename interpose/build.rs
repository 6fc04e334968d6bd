//! Gives the preloaded library a SONAME that no other library has, and writes its wrappers from the table and its stubs
//! from the list of algorithms.
//!
//! Extrae's and IBM's tracers are called `libmpitrace.so`, and the loader takes a library with the SONAME that a
//! program needs for the one that it needs.

#[path = "../src/functions/build/functions.rs"]
mod functions;
#[path = "../src/functions/build/line.rs"]
mod line;
#[path = "build/printed.rs"]
mod printed;
#[path = "build/wrapper.rs"]
mod wrapper;

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=../src/functions/build");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpitrace-preload.so");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
    let write = |table: &str, name: &str, code: &dyn Fn(&str) -> String| {
        let table = root.join(table);
        println!("cargo::rerun-if-changed={}", table.display());
        let text = std::fs::read_to_string(&table).expect("the table");
        std::fs::write(out.join(name), code(&text)).expect("the folder for generated code");
    };
    let wrappers = |table: &str| {
        let code: String = line::lines(table).iter().map(wrapper::of_line).collect();
        printed::whole(&code)
    };
    write("src/functions/functions.table", "wrappers.rs", &wrappers);
    write("src/functions/functions.table", "examples.rs", &|table| printed::examples(&line::lines(table)));
    write("tests/table/invented.table", "invented.rs", &wrappers);
    let stubs = |list: &str| {
        let symbols = list.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split(' ').next());
        let stubs: String = symbols.enumerate().map(|(index, symbol)| format!("{index} {symbol},\n")).collect();
        format!("stubs! {{\n{stubs}}}\n")
    };
    write("src/format/facts/algorithms.txt", "algorithms.rs", &stubs);
}
