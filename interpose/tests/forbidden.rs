//! Names that no file of the preloaded library uses, since it runs in the processes of others.
//!
//! One file opens, uses and closes files: all others go through it. A program may close a descriptor of ours at any
//! time, and a file of its own get the number. And functions of std that panic, or end the process, where the system
//! refuses something have others in their place.

use std::path::{Path, PathBuf};

/// Files of the library that may have an open file, or the number of one.
const OF_FILES: [&str; 3] = ["base/own_file.rs", "base/own_socket.rs", "base/descriptor.rs"];

/// Names that have a file, make the number of one, or open one for a moment by a low number: last words of a path.
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
/// Functions that open, close or copy one: the last two words of a path.
const PATHS: [&str; 8] =
    ["fs::read", "fs::write", "fs::copy", "libc::open", "libc::openat", "libc::close", "libc::dup", "libc::dup2"];

/// Functions of std that panic or end the process where the system refuses a call, a text is not UTF-8 or nobody reads
/// the standard error, each with what is used instead. Last words of a path, and such with the word before.
const PANICS: [(&str, &str); 17] = [
    ("thread::sleep", "mpitrace_platform::time::sleep"),
    ("thread::spawn", "base::system::start_thread"),
    ("thread::scope", "base::system::start_thread"),
    ("thread::Builder", "base::system::start_thread"),
    ("SystemTime::now", "mpitrace_platform::time::time_of_day"),
    ("HashMap::new", "base::hash::FastMap"),
    ("HashSet::new", "base::hash::FastSet"),
    ("RandomState", "base::hash::FastMap"),
    ("RwLock", "Mutex"),
    ("env::args", "env::args_os"),
    ("env::vars", "env::vars_os"),
    ("env::set_var", "nothing: the environment is the program's"),
    ("env::remove_var", "nothing: the environment is the program's"),
    ("println", "base::log"),
    ("eprintln", "base::log"),
    ("print", "base::log"),
    ("dbg", "base::log"),
];

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

/// The last word of a path and that with the word before: `read` and `fs::read`.
fn ends(name: &str) -> [String; 2] {
    let mut words = name.rsplit("::").filter(|word| !word.is_empty());
    let (last, before) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    [last.to_owned(), format!("{before}::{last}")]
}

fn has_a_file(name: &str) -> bool {
    let [last, with_before] = ends(name);
    // `HandleKind` is that of a handle of MPI.
    NAMES.contains(&last.as_str()) && with_before != "HandleKind::File" || PATHS.contains(&with_before.as_str())
}

/// The name of ours that is used instead of a function that panics.
fn instead_of(name: &str, line: &str) -> Option<&'static str> {
    let [last, with_before] = ends(name);
    let known = PANICS.iter().find(|(panics, _)| last == *panics || with_before == *panics);
    // std's clock and maps have the names of ours.
    let of_std = |module: &str| line.trim_start().starts_with(&format!("use std::{module}"));
    match last.as_str() {
        "Instant" if of_std("time") || with_before == "time::Instant" && name.starts_with("std") => {
            Some("mpitrace_platform::time::Instant")
        }
        "HashMap" | "HashSet" if of_std("collections") || name.starts_with("std") => Some("base::hash"),
        // Macros have these names, and functions may.
        "print" | "println" | "eprintln" | "dbg" if !line.contains(&format!("{last}!")) => None,
        _ => known.map(|(_, instead)| *instead),
    }
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

/// Uses of files, as `file:line: name`.
fn uses_of_files(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in code(text) {
        // The variant of MPI's files.
        if line.trim() == "File," {
            continue;
        }
        found.extend(names(&line).filter(|word| has_a_file(word)).map(|word| format!("{name}:{number}: {word}")));
    }
    found
}

/// Uses of what panics, as `file:line: name (what is used instead)`.
fn panics(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in code(text) {
        let uses = names(&line).filter_map(|word| Some((word, instead_of(word, &line)?)));
        found.extend(uses.map(|(word, instead)| format!("{name}:{number}: {word} ({instead})")));
    }
    found
}

/// Uses that `look` finds in all files but these.
fn found(but: &[&str], look: fn(&str, &str) -> Vec<String>) -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&source, &mut all);
    assert!(all.len() > 100, "the files were found");
    let but: Vec<PathBuf> = but.iter().map(|name| source.join(name)).collect();
    assert!(but.iter().all(|file| all.contains(file)));
    let others = all.iter().filter(|path| !but.contains(path));
    others.flat_map(|path| look(&path.display().to_string(), &std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn files_are_opened_in_one_place() {
    let found = found(&OF_FILES, uses_of_files);
    assert!(found.is_empty(), "use `base::own_file` instead: {found:#?}");
}

#[test]
fn nothing_of_std_is_used_that_panics_where_the_system_refuses_something() {
    let found = found(&["base/hash.rs"], panics);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_use_is_found_wherever_it_stands() {
    let text = "use std::fs::{self, File};\nlet a = fs::read(path); // File\nlet b = \"File\";\nOwnFile::open(b);\n    File,\n\
        unsafe { libc::close(3) }\n#[cfg(test)]\nmod tests {\n    File::open(path);\n}";
    assert_eq!(uses_of_files("a", text), ["a:1: File", "a:2: fs::read", "a:6: libc::close"]);
    let text = "use std::time::{Duration, Instant};\nuse mpitrace_platform::time::{Instant, sleep};\nsleep(a);\n\
        std::thread::sleep(a);\nlet a: FastMap<u32, u32>;\nuse std::collections::HashMap;\neprintln!(\"a\");\nprint(a);";
    let found = panics("a", text);
    assert_eq!(
        found.iter().map(|found| &found[..4]).collect::<Vec<_>>(),
        ["a:1:", "a:4:", "a:6:", "a:7:"],
        "{found:?}"
    );
}
