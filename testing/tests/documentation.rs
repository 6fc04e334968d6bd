//! Crates say what they are for, and doc comments stand by themselves.

use std::fs;
use std::path::PathBuf;

use mpitrace_testing::root;
use mpitrace_testing::sources::rust_files;

/// Beginnings of a doc comment that can only be read after the one above it.
const LEANING: [&str; 4] = ["The same", "Those", "Of those", "That of"];

fn all_sources() -> Vec<PathBuf> {
    let found = rust_files(root());
    assert!(found.len() > 700, "{} files were found", found.len());
    found
}

/// The text of a line of a doc comment with the marker that begins it.
fn doc(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    ["///", "//!"].into_iter().find_map(|marker| Some((marker, line.strip_prefix(marker)?.trim())))
}

/// The lines at which doc comments begin with a word that leans on another comment, each with its number.
fn leaning(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut before) = (Vec::new(), None);
    for (number, line) in text.lines().enumerate() {
        let read = doc(line);
        if let Some((marker, words)) = read
            && before != Some(marker)
            && LEANING
                .iter()
                .any(|start| words.strip_prefix(start).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)))
        {
            found.push((number + 1, line.trim()));
        }
        before = read.map(|(marker, _)| marker);
    }
    found
}

#[test]
fn each_doc_comment_stands_by_itself() {
    let mut wrong = Vec::new();
    for file in all_sources() {
        let text = fs::read_to_string(&file).unwrap();
        let lines = leaning(&text);
        wrong.extend(lines.iter().map(|(line, text)| format!("{}:{line}: {text}", file.display())));
    }
    assert!(wrong.is_empty(), "the subject of a doc comment comes first:\n{}", wrong.join("\n"));
}

#[test]
fn a_doc_comment_that_leans_on_another_is_found() {
    let text =
        "/// A number.\n/// The same as ever.\nlet x;\n    /// The same.\nlet y;\n/// Thoseness.\nlet z;\n//! Those.\n";
    assert_eq!(leaning(text), [(4, "/// The same."), (8, "//! Those.")]);
}

#[test]
fn each_crate_says_what_comes_in_and_what_goes_out() {
    let (mut heads, mut wrong) = (0, Vec::new());
    for file in all_sources() {
        if file.file_name().is_none_or(|name| name != "lib.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let head: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).collect();
        let head = head.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        heads += 1;
        if head.starts_with("What ") || !head.contains("What comes in ") || !head.contains(". What goes out ") {
            wrong.push(file.display().to_string());
        }
    }
    assert!(heads >= 20, "{heads} crates were found");
    assert!(wrong.is_empty(), "what is it for, what comes in, what goes out:\n{}", wrong.join("\n"));
}
