//! Where libmpitrace.so is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

const NAME: &str = "libmpitrace.so";
/// Where it is looked for, from the folder of this program: as cargo builds it, as a package installs it.
const FOLDERS: [&str; 3] = ["", "../lib/mpitrace", "../lib"];

/// The path of the library, absolute: the one that is asked for, else the one that belongs to this program.
pub fn locate(asked_for: Option<&Path>) -> Result<OsString> {
    let path = match asked_for {
        Some(path) => path.to_owned(),
        None => beside(&std::env::current_exe().context("cannot find the file of this program")?)?,
    };
    let path = std::path::absolute(path)?;
    ensure!(path.is_file(), "{}: no such library", path.display());
    // The dynamic linker splits LD_PRELOAD at both, and knows no quoting.
    let text = path.to_string_lossy();
    ensure!(
        !text.contains([' ', ':']),
        "{text}: a library below a folder with a blank or a colon in its name cannot be preloaded"
    );
    Ok(path.into_os_string())
}

fn beside(program: &Path) -> Result<PathBuf> {
    let folder = program.parent().unwrap_or(Path::new("/"));
    let candidates = FOLDERS.map(|relative| folder.join(relative).join(NAME));
    let Some(found) = candidates.iter().find(|path| path.is_file()) else {
        bail!(
            "{NAME} is neither in {} nor in ../lib/mpitrace or ../lib beside it; name it with --library",
            folder.display()
        );
    };
    Ok(found.canonicalize()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_beside_the_program_and_where_packages_put_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let program = root.join("bin/mpitrace");
        std::fs::create_dir_all(root.join("bin")).unwrap();
        std::fs::create_dir_all(root.join("lib/mpitrace")).unwrap();
        assert!(beside(&program).unwrap_err().to_string().contains("--library"));
        for place in ["lib/libmpitrace.so", "lib/mpitrace/libmpitrace.so", "bin/libmpitrace.so"] {
            let place = root.join(place);
            std::fs::write(&place, "").unwrap();
            assert_eq!(beside(&program).unwrap(), place);
        }
    }

    #[test]
    fn a_path_that_the_linker_would_split_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b.so");
        assert!(locate(Some(&path)).unwrap_err().to_string().ends_with("no such library"));
        std::fs::write(&path, "").unwrap();
        assert!(locate(Some(&path)).unwrap_err().to_string().contains("blank"));
    }
}
