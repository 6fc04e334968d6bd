//! Each public function of the crates that others could use has an example that runs, and says its errors.
//!
//! The three crates deny what is `pub` and cannot be reached (`unreachable_pub`): so each `pub fn` counts.

use std::fs;

use mpitrace_testing::root;
use mpitrace_testing::sources::rust_files;

const FOR_OTHERS: [&str; 3] = ["src/statistics", "src/trace", "src/format"];

/// A public function of a file.
struct PublicFunction<'t> {
    line: usize,
    name: &'t str,
    doc: String,
    is_method: bool,
    returns_result: bool,
}

/// The public functions of a file, those of its tests left out.
fn public_functions(text: &str) -> Vec<PublicFunction<'_>> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let (mut found, mut doc) = (Vec::new(), String::new());
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let code = line.trim_start();
        if code.starts_with("///") {
            doc.extend([code, "\n"]);
        } else if let Some(name) = declared(code) {
            let mut signature = code.to_owned();
            while !signature.contains('{') && !signature.ends_with(';') {
                let Some((_, next)) = lines.next() else { break };
                signature.push_str(next);
            }
            let returned = signature.split_once("->").map_or("", |(_, returned)| returned.trim_start());
            let returns_result = ["Result<", "io::Result<"].iter().any(|start| returned.starts_with(start));
            let doc = std::mem::take(&mut doc);
            found.push(PublicFunction { line: number + 1, name, doc, is_method: line != code, returns_result });
        } else if !code.starts_with("#[") && !code.ends_with(")]") {
            doc.clear();
        }
    }
    found
}

/// The name of the public function that a line declares.
fn declared(code: &str) -> Option<&str> {
    let rest = code.strip_prefix("pub ")?;
    let rest = ["const ", "unsafe "].iter().fold(rest, |rest, word| rest.strip_prefix(word).unwrap_or(rest));
    rest.strip_prefix("fn ")?.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}

/// The code of the doctests among doc comments that begin with one of these markers.
fn doctests(text: &str, markers: &[&str]) -> String {
    // Whether this line is in a block, and whether that is run.
    let (mut block, mut found) = (None, String::new());
    for line in text.lines().map(str::trim) {
        match markers.iter().find_map(|marker| line.strip_prefix(marker)).map(str::trim) {
            None => block = None,
            Some(words) => match (words.strip_prefix("```"), block) {
                (Some(kind), None) => block = Some(kind.is_empty()),
                (Some(_), Some(_)) => block = None,
                (None, Some(true)) => found.extend([words, "\n"]),
                (None, _) => {}
            },
        }
    }
    found
}

/// True if code calls a function of this name, or passes it on by its path.
fn calls(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let (before, behind) = (&code[..at], &code[at + name.len()..]);
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let is_whole = !before.ends_with(is_word) && !behind.starts_with(is_word);
        is_whole && (behind.starts_with('(') || behind.starts_with("::<") || before.ends_with("::"))
    })
}

/// What is missing at the public functions of a file. A function is called in a doctest of its own or of the file's
/// head, a method in any of the file: that of its type shows several together.
fn missing(text: &str) -> Vec<(usize, String)> {
    let (all, head) = (doctests(text, &["///", "//!"]), doctests(text, &["//!"]));
    let mut found = Vec::new();
    for function in public_functions(text) {
        let PublicFunction { line, name, doc, is_method, returns_result } = function;
        let is_shown = if is_method { calls(&all, name) } else { calls(&doctests(&doc, &["///"]), name) };
        if !is_shown && !calls(&head, name) {
            found.push((line, format!("no doctest calls `{name}`")));
        }
        if returns_result && !doc.contains("# Errors") {
            found.push((line, format!("the errors of `{name}` are not said")));
        }
    }
    found
}

#[test]
fn each_public_function_has_an_example_and_says_its_errors() {
    let (mut functions, mut wrong) = (0, Vec::new());
    for folder in FOR_OTHERS {
        let lib = fs::read_to_string(root().join(folder).join("lib.rs")).unwrap();
        assert!(lib.contains("unreachable_pub"), "{folder}: what is `pub` must be reachable");
        let is_test = |name: &str| name.ends_with("tests.rs");
        for file in rust_files(&root().join(folder)) {
            if file.to_str().is_none_or(is_test) {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            functions += public_functions(&text).len();
            let lines = missing(&text).into_iter();
            wrong.extend(lines.map(|(line, what)| format!("{}:{line}: {what}", file.display())));
        }
    }
    assert!(functions > 300, "{functions} functions were found");
    assert!(wrong.is_empty(), "{} functions:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_missing_is_found() {
    let text =
        "//! Numbers.\n\n/// One.\n///\n/// ```\n/// assert_eq!(one(), 1);\n/// ```\npub fn one() -> u8 {\n    1\n}\n
/// Two.\n#[inline]\npub const fn two() -> Result<u8, ()> {\n    Ok(2)\n}\n
/// Three, as [`one`] makes it.\n///\n/// ```text\n/// three()\n/// ```\npub fn three() {}\n
/// A type.\n///\n/// ```\n/// assert!(Four.is_even());\n/// ```\npub struct Four;\n
impl Four {\n    /// True.\n    pub fn is_even(&self) -> bool {\n        true\n    }\n
    /// False.\n    pub fn is_odd(\n        &self,\n    ) -> io::Result<bool> {\n        Ok(false)\n    }\n}\n";
    let missing: Vec<String> = missing(text).into_iter().map(|(line, what)| format!("{line}: {what}")).collect();
    let expected = [
        "14: no doctest calls `two`",
        "14: the errors of `two` are not said",
        "23: no doctest calls `three`",
        "39: no doctest calls `is_odd`",
        "39: the errors of `is_odd` are not said",
    ];
    assert_eq!(missing, expected);
}
