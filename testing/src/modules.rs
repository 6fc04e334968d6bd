//! The files of a crate and the arrows between them: which file uses which, as its `use` lines and paths say.
//!
//! A `mod.rs` (and `lib.rs`) gathers what lies in its folder: paths into it that begin with a module of the folder are
//! no arrows, and a name that it passes on by `pub use` is that of the file that has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The files of a crate by the path of their module, `record::chunk`; that of `lib.rs` or `main.rs` is empty.
pub struct Modules(BTreeMap<String, Module>);

/// A file with the paths that it uses and the names that it passes on.
#[derive(Default)]
struct Module {
    uses: Vec<String>,
    /// Of `pub use child::Name`: the name and the path that it stands for.
    passed_on: BTreeMap<String, String>,
}

impl Modules {
    /// Reads the files below the folder of a crate's `lib.rs` or `main.rs`, those of tests left out.
    ///
    /// # Panics
    /// A file cannot be read.
    pub fn read(folder: &Path) -> Modules {
        let mut modules = BTreeMap::new();
        read_folder(folder, "", &mut modules);
        Modules(modules)
    }

    /// For each file the files that it uses.
    pub fn arrows(&self) -> BTreeMap<String, BTreeSet<String>> {
        let used = |(file, module): (&String, &Module)| {
            let used = module.uses.iter().filter_map(|path| self.file_of(path, 0)).filter(|used| used != file);
            (file.clone(), used.collect())
        };
        self.0.iter().map(used).collect()
    }

    /// The file that a path leads to. `depth`: so many names were passed on.
    fn file_of(&self, path: &str, depth: usize) -> Option<String> {
        let mut at = path;
        loop {
            if let Some(module) = self.0.get(at) {
                let name = path[at.len()..].trim_start_matches("::").split("::").next().unwrap_or_default();
                return match module.passed_on.get(name) {
                    Some(meant) if depth < 8 => {
                        let rest = path[at.len()..].trim_start_matches("::").strip_prefix(name).unwrap_or_default();
                        self.file_of(&format!("{meant}{rest}"), depth + 1)
                    }
                    _ => Some(at.to_owned()),
                };
            }
            if at.is_empty() {
                return None;
            }
            at = at.rsplit_once("::").map_or("", |(parent, _)| parent);
        }
    }
}

/// A way from a file back to itself.
pub fn circle(arrows: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    let (mut way, mut done) = (Vec::new(), BTreeSet::new());
    let found = arrows.keys().any(|file| walk(file, &mut way, &mut done, arrows));
    let first = way.last().and_then(|last| way.iter().position(|file| file == last)).unwrap_or_default();
    found.then(|| way[first..].iter().map(|&file| file.to_owned()).collect())
}

fn walk<'a>(
    at: &'a str,
    way: &mut Vec<&'a str>,
    done: &mut BTreeSet<&'a str>,
    arrows: &'a BTreeMap<String, BTreeSet<String>>,
) -> bool {
    if way.contains(&at) {
        way.push(at);
        return true;
    }
    if done.contains(at) {
        return false;
    }
    way.push(at);
    if arrows.get(at).into_iter().flatten().any(|next| walk(next, way, done, arrows)) {
        return true;
    }
    way.pop();
    done.insert(at);
    false
}

fn read_folder(folder: &Path, prefix: &str, modules: &mut BTreeMap<String, Module>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let is_root = prefix.is_empty() && ["lib", "main"].contains(&stem.as_str());
        let module = match stem.as_str() {
            "mod" => prefix.trim_end_matches("::").to_owned(),
            _ if is_root => String::new(),
            _ => format!("{prefix}{stem}"),
        };
        let is_test = stem == "tests" || stem.ends_with("_tests");
        if path.is_dir() && !(prefix.is_empty() && ["tests", "benches", "examples", "target"].contains(&stem.as_str()))
        {
            read_folder(&path, &format!("{module}::"), modules);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test && path.is_file() {
            let gathers = is_root || stem == "mod";
            let read = read_file(&path, &module, gathers);
            modules.insert(module, read);
        }
    }
}

/// The content of a file without its tests and comments.
fn read_file(path: &Path, module: &str, gathers: bool) -> Module {
    let text = fs::read_to_string(path).expect("a source");
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect();
    let mut found = Module::default();
    for tree in statements(&code, "use ") {
        found.uses.extend(single_paths(tree).iter().filter_map(|path| absolute(module, path)));
    }
    // Paths in the text: crate::job::run::own().
    found.uses.extend(paths_in_text(&code).filter_map(|path| absolute(module, path)));
    if gathers {
        for tree in statements(&code, "pub use ") {
            for path in single_paths(tree) {
                let meant = absolute(module, &path).unwrap_or_else(|| join(module, &path));
                found.passed_on.insert(path.rsplit("::").next().unwrap_or_default().to_owned(), meant);
            }
        }
        found.uses.retain(|path| !found.passed_on.values().any(|meant| meant == path));
    }
    found
}

/// The texts between each place of a word and the next semicolon.
fn statements<'c>(code: &'c str, word: &'c str) -> impl Iterator<Item = &'c str> {
    code.split(word).skip(1).filter_map(|rest| rest.split_once(';')).map(|(tree, _)| tree)
}

/// Paths that begin with `crate::` or `super::`, anywhere in the text.
fn paths_in_text(code: &str) -> impl Iterator<Item = &str> {
    let is_of_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let starts = ["crate::", "super::"].map(|word| code.match_indices(word).map(|(at, _)| at).collect::<Vec<_>>());
    starts.into_iter().flatten().filter_map(move |at| {
        let is_start = !code[..at].ends_with(is_of_path);
        let path = code[at..].split(|letter| !is_of_path(letter)).next().unwrap_or_default();
        (is_start && !path.ends_with(':')).then_some(path)
    })
}

/// The single paths of `a::{b, c::{d, e}}`.
fn single_paths(tree: &str) -> Vec<String> {
    let mut found = Vec::new();
    add_paths("", tree, &mut found);
    found
}

fn add_paths(prefix: &str, tree: &str, found: &mut Vec<String>) {
    let Some((start, inner)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        let path = format!("{prefix}{path}");
        return found.push(path.trim_end_matches("::self").to_owned());
    };
    let inner = inner.trim_end().trim_end_matches('}');
    let (mut depth, mut from) = (0, 0);
    for (place, letter) in inner.char_indices().chain([(inner.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = inner[from..place].trim();
                if !part.is_empty() {
                    add_paths(&format!("{prefix}{}", start.trim_start()), part, found);
                }
                from = place + 1;
            }
            _ => {}
        }
    }
}

/// A path from the crate's root; `None`: of another crate, or of a module of the file's own folder.
fn absolute(module: &str, path: &str) -> Option<String> {
    let (mut at, mut rest) = (module, path);
    if let Some(rest) = path.strip_prefix("crate::") {
        return Some(rest.to_owned());
    }
    while let Some(shorter) = rest.strip_prefix("super::") {
        (at, rest) = (at.rsplit_once("::").map_or("", |(parent, _)| parent), shorter);
    }
    (rest.len() < path.len()).then(|| join(at, rest))
}

fn join(module: &str, path: &str) -> String {
    if module.is_empty() { path.to_owned() } else { format!("{module}::{path}") }
}
