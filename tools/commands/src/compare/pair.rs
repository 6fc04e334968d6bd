//! Two sets of runs, compared.

use super::factors::Factor;
use super::identity::Names;
use super::result::Compared;

/// Two sets with the comparison of what they have in common.
pub struct Pair<'s> {
    pub names: Names,
    /// First what is no operation.
    pub compared: Vec<Compared<'s>>,
    pub whole: usize,
    pub factors: Vec<Factor>,
}
