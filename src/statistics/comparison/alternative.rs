//! The alternative of a test to "no difference".

use crate::names::names;

/// The alternative hypothesis (Hunold & Carpen-Amarie 2016, 6.2).
///
/// ```
/// use mpitrace_statistics::comparison::Alternative;
///
/// assert_eq!(Alternative::default().name(), "two-sided");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alternative {
    /// The run times of A and B differ.
    #[default]
    TwoSided,
    /// The run times of A are less than those of B.
    Less,
    /// The run times of A are greater than those of B.
    Greater,
}

names!(Alternative {
    TwoSided => "two-sided",
    Less => "less",
    Greater => "greater",
});

impl Alternative {
    /// The p-value, out of those of the two one-sided tests.
    pub(super) fn p(self, less: f64, greater: f64) -> f64 {
        match self {
            Alternative::TwoSided => (2.0 * less.min(greater)).min(1.0),
            Alternative::Less => less.min(1.0),
            Alternative::Greater => greater.min(1.0),
        }
    }
}
