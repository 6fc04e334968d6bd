//! The preloaded library is built in layers: a file uses files of its own layer and of those below, and no circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The folders of `interpose/src`, from the ground to the roof.
const LAYERS: [&str; 9] = ["base", "mpi", "record", "identity", "counters", "clocks", "recorder", "job", "exports"];

/// A file by its module's path, `record::chunk`, with the paths that it uses and the names that it passes on.
#[derive(Default)]
struct Module {
    uses: Vec<String>,
    /// Of `pub use child::Name`: the name and the path that it stands for.
    passed_on: BTreeMap<String, String>,
}

/// The single paths of `a::{b, c::{d, e}}`, each behind `prefix`.
fn paths(prefix: &str, tree: &str, found: &mut Vec<String>) {
    let Some((start, inner)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        return found.push(format!("{prefix}{}", path.trim_end_matches("::self")));
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
                    paths(&format!("{prefix}{}", start.trim_start()), part, found);
                }
                from = place + 1;
            }
            _ => {}
        }
    }
}

/// An absolute path in the crate; `None`: of another crate.
fn absolute(module: &str, path: &str) -> Option<String> {
    let (mut at, mut rest) = (module, path);
    if let Some(rest) = path.strip_prefix("crate::") {
        return Some(rest.to_owned());
    }
    while let Some(shorter) = rest.strip_prefix("super::") {
        (at, rest) = (at.rsplit_once("::").map_or("", |(parent, _)| parent), shorter);
    }
    (rest.len() < path.len()).then(|| format!("{at}::{rest}"))
}

/// The content of a file without its tests and comments.
fn read(path: &Path, module: &str) -> Module {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).map(|l| format!("{l}\n")).collect();
    let mut found = Module::default();
    for statement in code.split("use ").skip(1).filter_map(|rest| rest.split_once(';')).map(|(tree, _)| tree) {
        let mut all = Vec::new();
        paths("", statement, &mut all);
        found.uses.extend(all.iter().filter_map(|path| absolute(module, path)));
    }
    // Paths in the text: crate::job::run::own().
    let inline = code.split("crate::").skip(1);
    found.uses.extend(
        inline.map(|rest| rest.split(|c: char| !(c.is_alphanumeric() || "_:".contains(c))).next().unwrap().to_owned()),
    );
    if path.ends_with("mod.rs") {
        for statement in code.split("pub use ").skip(1).filter_map(|rest| rest.split_once(';')).map(|(tree, _)| tree) {
            let mut all = Vec::new();
            paths("", statement, &mut all);
            let own = all.iter().filter(|path| !path.starts_with("crate::"));
            found.passed_on.extend(own.map(|path| {
                let path = format!("{module}::{path}");
                (path.rsplit("::").next().unwrap_or_default().to_owned(), path)
            }));
        }
    }
    found
}

fn read_folder(folder: &Path, prefix: &str, modules: &mut BTreeMap<String, Module>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let module = if stem == "mod" { prefix.trim_end_matches("::").to_owned() } else { format!("{prefix}{stem}") };
        if path.is_dir() {
            read_folder(&path, &format!("{module}::"), modules);
        } else if !stem.ends_with("_tests") && !["lib", "null"].contains(&stem.as_str()) {
            let read = read(&path, &module);
            modules.insert(module, read);
        }
    }
}

/// The file that a path leads to.
fn file_of(path: &str, modules: &BTreeMap<String, Module>) -> Option<String> {
    let mut at = path;
    loop {
        if let Some(module) = modules.get(at) {
            let name = path[at.len()..].trim_start_matches("::").split("::").next().unwrap_or_default();
            return match module.passed_on.get(name) {
                Some(meant) => file_of(meant, modules),
                None => Some(at.to_owned()),
            };
        }
        at = at.rsplit_once("::")?.0;
    }
}

/// A way from a file back to itself.
fn circle(arrows: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
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
    let (mut way, mut done) = (Vec::new(), BTreeSet::new());
    arrows
        .keys()
        .any(|file| walk(file, &mut way, &mut done, arrows))
        .then(|| way.into_iter().map(str::to_owned).collect())
}

#[test]
fn no_file_of_the_preloaded_library_uses_one_of_a_layer_above() {
    let mut modules = BTreeMap::new();
    read_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut modules);
    let layer = |file: &str| {
        let folder = file.split("::").next().unwrap_or_default();
        LAYERS.iter().position(|layer| *layer == folder).unwrap_or_else(|| panic!("{file} is in no layer"))
    };
    let (mut arrows, mut up) = (BTreeMap::new(), Vec::new());
    for (file, module) in &modules {
        let used: BTreeSet<String> =
            module.uses.iter().filter_map(|path| file_of(path, &modules)).filter(|used| used != file).collect();
        up.extend(used.iter().filter(|used| layer(used) > layer(file)).map(|used| format!("{file} -> {used}")));
        arrows.insert(file.clone(), used);
    }
    assert!(modules.len() > 100, "the files were found");
    assert!(up.is_empty(), "arrows up: {up:#?}");
    assert_eq!(circle(&arrows), None);
}
