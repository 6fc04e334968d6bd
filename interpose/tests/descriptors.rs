//! One file of the preloaded library opens, uses and closes files: all others go through it. A program may close a
//! descriptor of ours at any time, and a file of its own get the number.

use std::path::{Path, PathBuf};

/// What may have a file, or the number of one.
const OF_FILES: [&str; 3] = ["base/own_file.rs", "base/own_socket.rs", "base/descriptor.rs"];

/// What has a file, makes the number of one, or opens one for a moment by a low number: last words of a path.
const NAMES: [&str; 10] = [
    "File",
    "OpenOptions",
    "OwnedFd",
    "BorrowedFd",
    "from_raw_fd",
    "into_raw_fd",
    "FromRawFd",
    "IntoRawFd",
    "read_dir",
    "read_to_string",
];
/// The same, with the word before.
const PATHS: [&str; 8] =
    ["fs::read", "fs::write", "fs::copy", "libc::open", "libc::openat", "libc::close", "libc::dup", "libc::dup2"];

/// Words by which code names something, with the path before them: `std::fs::read`.
fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == ':'))
}

/// The lines of a file's code with their numbers, without its tests, comments and texts.
fn code(text: &str) -> Vec<(usize, String)> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines =
        text.lines().enumerate().map(|(number, line)| (number + 1, line.split("//").next().unwrap_or_default()));
    lines.map(|(number, line)| (number, line.split('"').step_by(2).collect::<Vec<_>>().join(" "))).collect()
}

fn is_forbidden(name: &str) -> bool {
    let mut words = name.rsplit("::").filter(|word| !word.is_empty());
    let (last, before) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    // `Kind` is that of a handle of MPI.
    NAMES.contains(&last) && before != "Kind" || PATHS.contains(&format!("{before}::{last}").as_str())
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if !path.file_stem().unwrap().to_str().unwrap().ends_with("_tests") {
            found.push(path);
        }
    }
}

/// Uses of what is forbidden, as `file:line: name`.
fn uses(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in code(text) {
        // The variant of MPI's files.
        if line.trim() == "File," {
            continue;
        }
        found.extend(names(&line).filter(|word| is_forbidden(word)).map(|word| format!("{name}:{number}: {word}")));
    }
    found
}

#[test]
fn files_are_opened_in_one_place() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&source, &mut all);
    assert!(all.len() > 100, "the files were found");
    let of_files = OF_FILES.map(|name| source.join(name));
    assert!(of_files.iter().all(|file| all.contains(file)));
    let found: Vec<String> = all
        .iter()
        .filter(|path| !of_files.contains(path))
        .flat_map(|path| uses(&path.display().to_string(), &std::fs::read_to_string(path).unwrap()))
        .collect();
    assert!(found.is_empty(), "use `base::own_file` instead: {found:#?}");
}

#[test]
fn a_use_is_found_wherever_it_stands() {
    let text = "use std::fs::{self, File};\nlet a = fs::read(path); // File\nlet b = \"File\";\nOwnFile::open(b);\n    File,\n\
        unsafe { libc::close(3) }\n#[cfg(test)]\nmod tests {\n    File::open(path);\n}";
    assert_eq!(uses("a", text), ["a:1: File", "a:2: fs::read", "a:6: libc::close"]);
}
