//! The headers in include/, as strict compilers read them: programs with any of these settings include them.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The standards, each with what a compiler calls its language.
pub const STANDARDS: [(&str, &str); 5] = [("c99", "c"), ("c11", "c"), ("c17", "c"), ("c++11", "c++"), ("c++17", "c++")];

/// The compilers of C and of C++.
pub const COMPILERS: [[&str; 2]; 2] = [["gcc", "g++"], ["clang", "clang++"]];

/// True if the compiler is on this machine.
pub fn is_here(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// The messages of the compiler on the headers under this standard, a warning or more; `Ok` where it says nothing.
///
/// # Errors
/// The messages of the compiler.
pub fn read(compiler: &str, standard: &str, language: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    // Each header is included twice, once behind the other one.
    let mut text = "#include \"mpitrace.h\"\n#include \"roth_tracing.h\"\n#include \"mpitrace.h\"\n".to_owned();
    // What Fortran links to is C.
    if language == "c" {
        text.push_str("#include \"mpitrace_fortran.c\"\n");
    }
    text.push_str("int answer(void);\nint answer(void) { return mpitrace_counter(\"a\", 0); }\n");
    let mut command = Command::new(compiler);
    command.args(["-x", language, "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-c", "-o", "/dev/null", "-"]);
    command.arg(format!("-std={standard}")).arg("-I").arg(folder).env("LC_ALL", "C");
    let started = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| format!("{command:?}: {error}"))?;
    let stdin = child.stdin.take();
    stdin.map_or(Ok(()), |mut stdin| stdin.write_all(text.as_bytes())).map_err(|error| error.to_string())?;
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}
