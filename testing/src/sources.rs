//! The sources of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// All files of Rust below a folder, in order; those that builds make and hidden folders are left out.
///
/// # Panics
/// A folder cannot be read.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    add(folder, &mut found);
    found.sort_unstable();
    found
}

fn add(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') {
            add(&path, found);
        } else if name.ends_with(".rs") && path.is_file() {
            found.push(path);
        }
    }
}
