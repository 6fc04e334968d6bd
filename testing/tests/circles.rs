//! No file of any crate uses one that uses it, however far the way.

use std::fs;
use std::path::{Path, PathBuf};

use mpitrace_testing::modules::{Modules, circle};
use mpitrace_testing::root;

/// The folders of all crates of the repository, each with its `Cargo.toml`.
fn crates(folder: &Path, found: &mut Vec<PathBuf>) {
    if folder.join("Cargo.toml").exists() && folder != root() {
        return found.push(folder.to_owned());
    }
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().unwrap().is_dir() && name != "target" && !name.starts_with('.') {
            crates(&entry.path(), found);
        }
    }
}

/// The folder of a crate's `lib.rs` or `main.rs`.
fn sources(folder: &Path) -> PathBuf {
    let inner = folder.join("src");
    if inner.exists() { inner } else { folder.to_owned() }
}

#[test]
fn no_crate_has_a_circle_of_files() {
    let mut folders = Vec::new();
    crates(root(), &mut folders);
    assert!(folders.len() >= 20, "{folders:?}");
    let (mut files, mut circles) = (0, Vec::new());
    for folder in &folders {
        let arrows = Modules::read(&sources(folder)).arrows();
        files += arrows.len();
        circles.extend(circle(&arrows).map(|way| format!("{}: {}", folder.display(), way.join(" -> "))));
    }
    assert!(files > 700, "{files} files were found");
    assert!(circles.is_empty(), "circles of files:\n{}", circles.join("\n"));
}

#[test]
fn a_circle_is_found_through_names_that_are_passed_on() {
    let folder = std::env::temp_dir().join(format!("mpitrace-circles-{}", std::process::id()));
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    fs::create_dir_all(folder.join("inner")).unwrap();
    write("lib.rs", "mod inner;\nmod outer;\npub use inner::Second;\n");
    write("inner/mod.rs", "mod one;\nmod two;\npub use one::First;\npub use two::{Other, Second};\n");
    write("inner/one.rs", "use super::Other;\npub struct First(Other);\n");
    write("inner/two.rs", "pub struct Other;\npub struct Second;\n");
    write("outer.rs", "use crate::{Second, inner};\nfn one(_: inner::First, _: Second) {}\n");
    let found = || circle(&Modules::read(&folder).arrows()).map(|way| way.join(" -> "));
    assert_eq!(found(), None);
    write("inner/two.rs", "pub struct Other;\npub struct Second;\nfn first(_: crate::inner::First) {}\n");
    assert_eq!(found().as_deref(), Some("inner::one -> inner::two -> inner::one"));
    fs::remove_dir_all(&folder).unwrap();
}
