//! The algorithms of collectives, as far as they can be seen: Open MPI has each in a function of its own.
//!
//! A record has the numbers of two of these functions: in the lower 16 bits that of the first one that the call
//! entered, above them that of the next one, 0 where it entered none.

use std::fmt;
use std::sync::LazyLock;

/// The name of the run metadata that lists the collectives whose algorithms are all seen, or is [`NOT_VISIBLE`].
pub const VISIBLE: &str = "visible_algorithms";
/// The library has no functions of these names, or calls of them may go past the tracer.
pub const NOT_VISIBLE: &str = "not visible";

/// A function that is an algorithm of a collective.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Function {
    /// Its name in the library.
    pub symbol: &'static str,
    /// The collective, as `reduce_scatter`.
    pub collective: &'static str,
    /// The algorithm's name: that of the component before it, unless that is the base.
    pub name: &'static str,
}

static FUNCTIONS: LazyLock<Vec<Function>> = LazyLock::new(|| {
    let function = |line: &'static str| {
        let (symbol, rest) = line.split_once(' ')?;
        let (collective, name) = rest.split_once(' ')?;
        Some(Function { symbol, collective, name })
    };
    include_str!("algorithms.txt").lines().filter(|line| !line.starts_with('#')).filter_map(function).collect()
});

/// All of them. A function's number is 1 + its index.
///
/// ```
/// use mpitrace_format::algorithms::functions;
///
/// assert!(functions().iter().any(|function| function.collective == "allreduce" && function.name == "ring"));
/// ```
pub fn functions() -> &'static [Function] {
    &FUNCTIONS
}

/// The collective of an MPI function: `allreduce` of `MPI_Allreduce`.
///
/// ```
/// use mpitrace_format::algorithms::collective_of;
///
/// assert_eq!(collective_of("MPI_Reduce_scatter"), "reduce_scatter");
/// ```
pub fn collective_of(function: &str) -> String {
    function.trim_start_matches("MPI_").to_ascii_lowercase()
}

/// The algorithm of a call.
///
/// ```
/// use mpitrace_format::algorithms::{Algorithm, functions};
///
/// let place = functions().iter().position(|one| one.collective == "allreduce" && one.name == "ring");
/// let number = 1 + place.expect("a ring") as u64;
/// assert_eq!(Algorithm::new(number, "allreduce").map(|found| found.to_string()).as_deref(), Some("ring"));
/// assert_eq!(Algorithm::new(number, "bcast"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Algorithm {
    first: &'static Function,
    below: Option<&'static Function>,
}

impl Algorithm {
    /// The algorithm of a call of this collective, by its record's value. `None`: none is known, or the call has
    /// entered one of another collective first, which says nothing of its own.
    pub fn new(value: u64, collective: &str) -> Option<Algorithm> {
        let function = |number: u64| functions().get((number as usize & 0xffff).checked_sub(1)?);
        let first = function(value).filter(|first| first.collective == collective)?;
        Some(Algorithm { first, below: function(value >> 16) })
    }
}

/// `ring > recursive_doubling`, where a ring calls recursive doubling; one of another collective as `reduce binomial`.
impl fmt::Display for Algorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let Some(below) = self.below else { return formatter.write_str(self.first.name) };
        let is_same = below.collective == self.first.collective;
        // A component's entry, which calls one of its algorithms.
        if is_same && below.name.strip_prefix(self.first.name).is_some_and(|rest| rest.starts_with(' ')) {
            return formatter.write_str(below.name);
        }
        let collective = if is_same { "" } else { below.collective };
        let space = if is_same { "" } else { " " };
        write!(formatter, "{} > {collective}{space}{}", self.first.name, below.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(symbol: &str) -> u64 {
        1 + functions().iter().position(|function| function.symbol == symbol).unwrap() as u64
    }

    #[test]
    fn every_line_of_the_list_is_a_function_of_a_collective() {
        let lines = include_str!("algorithms.txt").lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(functions().len(), lines);
        assert!(lines < 1 << 16);
        let mut symbols: Vec<&str> = functions().iter().map(|function| function.symbol).collect();
        symbols.sort_unstable();
        symbols.dedup();
        assert_eq!(symbols.len(), lines, "each once");
        for function in functions() {
            assert!(function.symbol.contains(&format!("_{}", function.collective)), "{function:?}");
        }
    }

    #[test]
    fn an_algorithm_has_the_name_of_the_first_function_and_of_the_next_one() {
        let shown = |first: &str, below: Option<&str>, collective: &str| {
            let value = number(first) | below.map_or(0, |below| number(below) << 16);
            Algorithm::new(value, collective).map(|algorithm| algorithm.to_string())
        };
        let (ring, doubling) =
            ("ompi_coll_base_allreduce_intra_ring", "ompi_coll_base_allreduce_intra_recursivedoubling");
        assert_eq!(shown(ring, None, "allreduce").as_deref(), Some("ring"));
        assert_eq!(shown(ring, Some(doubling), "allreduce").as_deref(), Some("ring > recursive_doubling"));
        assert_eq!(shown(ring, None, "reduce"), None, "of another collective");
        let apart = "ompi_coll_base_allreduce_intra_nonoverlapping";
        let below = Some("ompi_coll_base_reduce_intra_binomial");
        assert_eq!(shown(apart, below, "allreduce").as_deref(), Some("nonoverlapping > reduce binomial"));
        let (entry, simple) = ("mca_coll_han_allreduce_intra_dynamic", "mca_coll_han_allreduce_intra_simple");
        assert_eq!(shown(entry, Some(simple), "allreduce").as_deref(), Some("han simple"));
        assert_eq!(shown(entry, Some(ring), "allreduce").as_deref(), Some("han > ring"));
        assert_eq!(Algorithm::new(0, "allreduce"), None);
        assert_eq!(Algorithm::new(0xffff, "allreduce"), None, "of a later version");
        assert_eq!(collective_of("MPI_Reduce_scatter"), "reduce_scatter");
    }
}
