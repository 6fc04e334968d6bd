//! The table as a list: its lines, and the functions that each of them makes.

use mpitrace_functions::Form;

use crate::line;
pub use crate::line::Line;

/// The table.
const TABLE: &str = include_str!("../../../src/functions/functions.table");

/// The kind of the lines that declare a collective in all its forms.
const COLLECTIVE: &str = "collective";

/// One function that a line makes.
#[derive(Debug)]
pub struct Function {
    /// The whole name, `MPI_Ibcast_c`.
    pub name: String,
    /// The name without `MPI_`, its form and its width: what the line calls it.
    pub line: String,
    /// The form that it is of a collective; [`Form::Blocking`] for all that has one form.
    pub form: Form,
    /// True if it takes large counts.
    pub large: bool,
    /// Its parameters, with those that the form adds.
    pub parameters: Vec<String>,
}

/// All lines of the table, in its order, by the parser that the preloaded library is built with.
///
/// # Panics
/// Where a line is not as the head of the table has it.
#[must_use]
pub fn lines() -> Vec<Line> {
    line::lines(TABLE)
}

impl Line {
    /// True if it is a collective, so that the forms follow from the line.
    #[must_use]
    pub fn is_collective(&self) -> bool {
        self.kind == COLLECTIVE
    }

    /// True if it is recorded and has one form.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.is_recorded() && !self.is_collective()
    }

    /// Every function that the line makes.
    #[must_use]
    pub fn functions(&self) -> Vec<Function> {
        let mut forms = vec![(Form::Blocking, self.name.clone(), &[][..])];
        if self.is_collective() {
            forms.push((Form::NonBlocking, self.started.clone(), &["request"]));
            forms.push((Form::Persistent, format!("{}_init", self.name), &["info", "request"]));
        }
        let widths = if self.large { &["", "_c"][..] } else { &[""] };
        let mut functions = Vec::new();
        for (form, name, added) in forms {
            let parameters: Vec<String> =
                self.parameters.iter().cloned().chain(added.iter().map(|&name| name.to_owned())).collect();
            functions.extend(widths.iter().map(|ending| Function {
                name: format!("MPI_{name}{ending}"),
                line: self.name.clone(),
                form,
                large: !ending.is_empty(),
                parameters: parameters.clone(),
            }));
        }
        functions
    }
}
