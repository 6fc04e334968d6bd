//! What a picture shows of the comparison.

use mpitrace_changes::Identity;

/// What is drawn.
#[derive(Clone, Copy)]
pub struct Chosen<'a> {
    /// The trials of a set; `None`: its runs.
    pub trials: Option<usize>,
    /// The names of the sets in place of their letters; empty: the letters.
    pub names: &'a [String],
    /// The operations of this function alone, or this one.
    pub only: Option<&'a str>,
}

impl Chosen<'_> {
    /// True if the operation is in the picture.
    pub fn is_wanted(self, identity: &Identity) -> bool {
        self.only.is_none_or(|only| identity.function == only || identity.key() == only)
    }

    /// The name of the set with this letter.
    pub fn name(self, letter: char) -> String {
        self.names.get(letter as usize - 'A' as usize).cloned().unwrap_or_else(|| letter.to_string())
    }
}
