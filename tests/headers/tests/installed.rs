//! Where the headers of the MPI libraries lie here, and what it takes to read them.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use mpi_libraries::{Mpi, NAMES, OF_OTHER_SYSTEMS};
use mpitrace_testing::binaries::TARGET;

/// The libraries that this system can have, and those of other systems that tests/systems/run.sh has unpacked.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().filter(|name| !OF_OTHER_SYSTEMS.contains(name) || unpacked(name).is_some())
}

/// The folders with the headers of a library of another system.
fn unpacked(name: &str) -> Option<Vec<PathBuf>> {
    let folder = TARGET.join("systems/forky/usr/lib/x86_64-linux-gnu/openmpi/include");
    let folders = match name {
        "ompi6" => vec![folder.clone(), folder.join("openmpi")],
        "ompi6-abi" => vec![folder.join("standard_abi")],
        _ => return None,
    };
    folders[0].join("mpi.h").exists().then_some(folders)
}

/// The options with which clang finds the `mpi.h` of a library, or why it cannot be read here.
pub fn options(name: &'static str) -> Result<Vec<String>, String> {
    let builtin = printed("gcc", &["-print-file-name=include".into()])?;
    if let Some(folders) = unpacked(name) {
        let include = folders.iter().map(|folder| format!("-I{}", folder.display()));
        return Ok(include.chain(["-isystem".to_owned(), builtin.trim().to_owned()]).collect());
    }
    let compiler = Mpi::find(name)?.c.before;
    // The compiler of most libraries can tell what it hands to the real one; Intel's is gcc with options.
    let words = match compiler.split_first() {
        Some((gcc, options)) if gcc == "gcc" => {
            options.iter().map(|word| word.to_string_lossy().into_owned()).collect()
        }
        Some((script, _)) => printed(script, &["-show".into()])?.split_whitespace().map(str::to_owned).collect(),
        None => Vec::new(),
    };
    let wanted = |word: &String| word.starts_with("-I") || word.starts_with("-D");
    // The wheel of libclang comes without the headers that belong to a compiler, stddef.h and its like.
    let builtin = ["-isystem".to_owned(), builtin.trim().to_owned()];
    Ok(words.into_iter().filter(wanted).chain(builtin).collect())
}

/// The folder of `libclang.so`, in the wheel that tests/mpi/install.sh installs.
pub fn libclang() -> Result<PathBuf, String> {
    let packages = TARGET.join("mpi/libclang/lib");
    let versions = fs::read_dir(packages).map(|folder| folder.flatten().collect()).unwrap_or_else(|_| Vec::new());
    versions
        .into_iter()
        .map(|python| python.path().join("site-packages/clang/native"))
        .find(|folder| folder.join("libclang.so").is_file())
        .ok_or_else(|| "no target/mpi/libclang, see tests/mpi/install.sh".to_owned())
}

fn printed(program: impl AsRef<std::ffi::OsStr>, options: &[OsString]) -> Result<String, String> {
    let program = program.as_ref();
    let output = Command::new(program).args(options).output();
    match output {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => Err(format!("{} {options:?}: {}", program.display(), String::from_utf8_lossy(&output.stderr))),
        Err(error) => Err(format!("{}: {error}", program.display())),
    }
}
