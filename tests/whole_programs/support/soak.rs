//! A soak: tests try as often as `TESTS_SOAK` says, and the sums of all tries are a table (docs/developers/measurements).

use super::{Case, TARGET};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

/// How often each kind is tried in a soak.
pub fn tries() -> Option<usize> {
    let number = env::var("TESTS_SOAK").ok()?;
    Some(number.parse().unwrap_or_else(|_| panic!("TESTS_SOAK={number} is not a number of tries")))
}

/// The sums of the tries of one kind.
pub trait Sums: Clone + Default {
    fn add(&mut self, more: &Self);

    /// The cells of its row.
    fn cells(&self) -> Vec<String>;
}

/// What the tries of all kinds have given.
pub struct Soak<S> {
    sums: Mutex<BTreeMap<&'static str, S>>,
    libraries: Mutex<BTreeSet<&'static str>>,
}

/// How the sums become a table.
pub struct Table<'t> {
    /// Its file in target/tests.
    pub file: &'t str,
    /// The table stands below what the file has.
    pub below: bool,
    /// Stands above the table, behind the libraries: how they ran.
    pub how: String,
    pub columns: &'t [&'t str],
    /// The kinds, in order.
    pub kinds: Vec<&'static str>,
    /// A last row has the sums of all.
    pub of_all: bool,
}

impl<S: Sums> Soak<S> {
    pub const fn new() -> Self {
        Self { sums: Mutex::new(BTreeMap::new()), libraries: Mutex::new(BTreeSet::new()) }
    }

    pub fn add(&self, case: &Case, kind: &'static str, more: &S) {
        self.libraries.lock().unwrap_or_else(PoisonError::into_inner).insert(case.mpi.name);
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).entry(kind).or_default().add(more);
    }

    /// Writes the table, where this is a soak that has tried any of it.
    pub fn write(&self, table: &Table) {
        let sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        if tries().is_none() || sums.is_empty() {
            return;
        }
        let libraries = self.libraries.lock().unwrap_or_else(PoisonError::into_inner);
        let libraries: Vec<&str> = libraries.iter().copied().collect();
        let path = TARGET.join("tests").join(table.file);
        let mut text = match table.below {
            true => fs::read_to_string(&path).unwrap_or_default() + "\n",
            false => String::new(),
        };
        let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let of = |name: &str, sums: &S| row(&[vec![name.to_owned()], sums.cells()].concat());
        text += &format!("On {}, {}:\n\n", libraries.join(", "), table.how);
        text += &row(&table.columns.iter().map(|&column| column.to_owned()).collect::<Vec<_>>());
        text += &format!("|---|{}\n", "--:|".repeat(table.columns.len() - 1));
        let mut all = S::default();
        for (kind, sums) in table.kinds.iter().filter_map(|kind| Some((kind, sums.get(kind)?))) {
            text += &of(kind, sums);
            all.add(sums);
        }
        if table.of_all {
            text += &of("**all**", &all);
        }
        fs::write(path, text).expect("the table");
    }
}
