//! The content of `mpitrace scale`, by the keys of its JSON.

use mpitrace_scaling::Scaling;
use serde::Serialize;

/// The scaling of a program.
#[derive(Clone, Debug, Serialize)]
pub struct ScaleFacts {
    /// The program's name.
    pub program: String,
    /// Efficiencies, parts and prediction.
    #[serde(flatten)]
    pub scaling: Scaling,
    /// The conclusions, a sentence each.
    pub sentences: Vec<String>,
}

impl ScaleFacts {
    /// The facts of a program of this name.
    pub fn new(program: &str, scaling: Scaling) -> ScaleFacts {
        let sentences = crate::sentences::all(program, &scaling);
        ScaleFacts { program: program.to_owned(), scaling, sentences }
    }
}
