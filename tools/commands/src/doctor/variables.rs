//! The variables of the libraries' tool information interface, whole.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Result, ensure};
use mpitrace_job::mpi::{self, Performance};
use mpitrace_show::output::{Attribute, Style};
use mpitrace_show::table::{Table, text};
use mpitrace_show::text;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct List {
    path: PathBuf,
    library: String,
    /// Why there may be more than this, or nothing.
    problem: Option<String>,
    performance: Vec<Performance>,
}

/// The variables whose names have this part; case makes no difference.
pub fn lists(libraries: &[PathBuf], part: &str) -> Result<Vec<List>> {
    ensure!(!libraries.is_empty(), "no MPI library was found; put its mpirun on the PATH, or name it with --mpi");
    let part = part.to_ascii_lowercase();
    let of = |path: &PathBuf| {
        let ending = mpi::about(path)?;
        let mut about = ending.answer.unwrap_or_default();
        about.performance.retain(|variable| variable.name.to_ascii_lowercase().contains(&part));
        Ok(List {
            path: path.clone(),
            library: about.name(),
            problem: about.not_loaded.or(ending.failure),
            performance: about.performance,
        })
    };
    libraries.iter().map(of).collect()
}

pub fn write(lists: &[List], output: &mut dyn Write, style: Style) -> io::Result<()> {
    for (index, list) in lists.iter().enumerate() {
        if index > 0 {
            writeln!(output)?;
        }
        let title = format!("{} ({})", list.library, list.path.display());
        writeln!(output, "{}", style.paint(Attribute::Bold, &text::printable(&title)))?;
        if let Some(problem) = &list.problem {
            writeln!(output, "{}", style.paint(Attribute::Yellow, &text::printable(problem)))?;
        }
        writeln!(output, "{}", text::count(list.performance.len() as u64, "performance variable"))?;
        if !list.performance.is_empty() {
            performance(&list.performance).write(output, style)?;
        }
    }
    Ok(())
}

fn performance(variables: &[Performance]) -> Table<'static> {
    let mut table = Table::new(&["performance variable", "class", "description"].map(text));
    for variable in variables {
        let words = variable.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let description = text::printable(&words).into_owned();
        table.row(vec![variable.name.clone(), variable.class.clone(), description]);
    }
    table
}
