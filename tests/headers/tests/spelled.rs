//! Names of functions that stand in the code beside the table: what is known of a function is said in its line, so code
//! that compares names has a second table in it.
//!
//! String literals of the product's code are looked at, comments and tests are not.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mpitrace_headers::Line;
use proc_macro2::{Delimiter, Literal, TokenStream, TokenTree};

/// Where product code is, from the root of the repository.
const FOLDERS: [&str; 11] = [
    "src",
    "tools/show/src",
    "tools/words/src",
    "tools/source/src",
    "tools/job/src",
    "tools/export/src",
    "tools/report/src",
    "tools/runs/src",
    "tools/commands/src",
    "laboratory/src",
    "interpose/src",
];

/// The files in which names may stand, and why.
const ALLOWED: [(&str, &str); 39] = [
    ("src/functions/function.rs", "the reduction to which both groups bring the same amount"),
    ("src/trace/undone/mod.rs", "the functions that free a communicator, a window or a file"),
    ("src/trace/reader/mod.rs", "messages: where a rank ended"),
    ("src/live/snapshot.rs", "for what ranks wait that have no records yet"),
    ("src/live/place.rs", "where a rank is, outside of the recorded calls"),
    ("tools/words/src/job/places.rs", "messages: where a rank is"),
    ("tools/words/src/job/deaths.rs", "messages: how ranks ended"),
    ("tools/words/src/job/ended.rs", "messages: how the job ended"),
    ("tools/words/src/changes/parts.rs", "messages: parts of the time of a job"),
    ("tools/runs/src/labels.rs", "a message: where ranks wait for the last one"),
    ("tools/words/src/summary/words.rs", "messages: parts of the time of a rank"),
    ("tools/words/src/summary/threads.rs", "a message: the thread that called it"),
    ("tools/words/src/summary/grouped.rs", "the row of the thread that called it"),
    ("tools/words/src/summary/verdict/late.rs", "a message: parts of the time of a rank"),
    ("tools/words/src/summary/verdict/little.rs", "a message: parts of the time of a rank"),
    ("tools/commands/src/watch/screen.rs", "a message: how far the job came"),
    ("tools/commands/src/run/ending.rs", "messages: how the job ended"),
    ("tools/commands/src/run/failed_end.rs", "messages: a job that failed in MPI_Finalize"),
    ("tools/commands/src/run/mod.rs", "a message: no rank was traced"),
    ("tools/job/src/leftovers/list.rs", "messages: how far the job came"),
    ("tools/commands/src/recover/mod.rs", "messages: how far the job came"),
    ("tools/commands/src/info/page.rs", "a message: what the duration is of"),
    ("src/models/overheads.rs", "the sends of which the overhead is told"),
    ("src/models/parameters.rs", "messages: which sends a parameter needs"),
    ("tools/export/src/reprompi.rs", "the name of ReproMPI's synchronisation"),
    ("laboratory/src/sizes/guidelines.rs", "the guidelines, by the functions that they compare"),
    ("laboratory/src/algorithms/mod.rs", "numbers that Open MPI gives collectives"),
    ("tools/job/src/mpi/ask.rs", "calls these functions of a library"),
    ("tools/job/src/mpi/variables.rs", "calls these functions of a library"),
    ("tools/job/src/mpi/try_calls.rs", "calls these functions of a library"),
    ("interpose/src/base/symbol.rs", "a function that every MPI library has, and nothing else"),
    ("interpose/src/counters/mpi_t/interface.rs", "the functions of MPI_T that the tracer itself calls"),
    ("interpose/src/mpi/mod.rs", "the functions of MPI that the tracer itself calls"),
    ("interpose/src/mpi/constructor.rs", "the functions of MPI that the tracer itself calls"),
    ("interpose/src/job/metadata.rs", "finds the MPI library by a function that each has"),
    ("tools/words/src/info/ends.rs", "messages: when ranks ended"),
    ("interpose/src/job/kept.rs", "messages: what keeps the records"),
    ("interpose/src/job/lifecycle.rs", "messages: MPI_Abort and what is to be done"),
    ("interpose/src/job/sessions.rs", "messages: calls after MPI_Finalize"),
];

/// Each place where a function of the table is spelled without a reason, and each reason that is not needed any more.
pub fn outside(lines: &[Line]) -> Vec<String> {
    let names: BTreeSet<String> = lines.iter().flat_map(Line::functions).map(|function| function.name).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut found, mut needed) = (Vec::new(), BTreeSet::new());
    for file in FOLDERS.iter().flat_map(|folder| files(&root.join(folder))) {
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let relative = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{relative}: {error}"));
        let mut literals = Vec::new();
        collect(tokens, &mut literals);
        for literal in literals {
            let text = literal.to_string();
            let Some(name) = words(&text).find(|word| names.contains(*word)) else { continue };
            match ALLOWED.iter().find(|(allowed, _)| *allowed == relative) {
                Some((allowed, _)) => drop(needed.insert(allowed)),
                None => found.push(format!("{relative}:{}: {name} in {text}", literal.span().start().line)),
            }
        }
    }
    let stale = ALLOWED.iter().filter(|(file, _)| !needed.contains(file));
    found.extend(stale.map(|(file, reason)| format!("{file} spells none ({reason}): take it off the list")));
    found
}

/// The names in a literal, also those of the profiling interface.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter_map(|word| Some(&word[word.find("MPI_")?..]))
}

/// The files of product code under a folder: no modules of tests.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry of a folder").path()) {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        // Declared `#[cfg(test)] mod tests;` and so on in another file.
        if stem == "tests" || stem.ends_with("_tests") || stem == "invented" {
            continue;
        }
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// All literals but those of attributes, comments among them, and of what is built for tests only.
fn collect(tokens: TokenStream, literals: &mut Vec<Literal>) {
    let mut tokens = tokens.into_iter().peekable();
    let mut skips = false;
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                if matches!(tokens.peek(), Some(TokenTree::Punct(mark)) if mark.as_char() == '!') {
                    tokens.next();
                }
                if let Some(TokenTree::Group(attribute)) = tokens
                    .next_if(|next| matches!(next, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket))
                {
                    let attribute: String = attribute.stream().to_string().split_whitespace().collect();
                    skips |= attribute == "cfg(test)" || attribute == "test";
                }
            }
            // The item after `#[cfg(test)]` ends with its braces or a semicolon.
            TokenTree::Group(group) if skips => skips = group.delimiter() != Delimiter::Brace,
            TokenTree::Punct(mark) if skips && mark.as_char() == ';' => skips = false,
            _ if skips => {}
            TokenTree::Group(group) => collect(group.stream(), literals),
            TokenTree::Literal(literal) => literals.push(literal),
            _ => {}
        }
    }
}
