//! The signature of a derived data type: the sequence of basic types in its elements, without their places.
//!
//! Calls of two ranks may pass other types and counts of one signature. So what is compared is the shortest sequence of
//! which the whole one is a repetition, beside the amount in bytes: of most types one basic type.

use mpitrace_functions::types;

use crate::mpi;
use crate::mpi::abi;
use crate::mpi::constructor::{self, Component};

/// Longer sequences of different basic types are not known.
const LONGEST: usize = 1024;
/// Types are looked into until as many were: one that was made of many others would take long.
const MOST: usize = 256;

/// The code of a derived type's signature, as [`types::code`] gives it; 0: not known.
pub fn code(datatype: usize) -> u32 {
    sequence(datatype, &mut { MOST }).map_or(0, |sequence| types::code_of(&sequence))
}

/// The shortest sequence, of codes of basic types; empty for a type without data.
fn sequence(datatype: usize, left: &mut usize) -> Option<Vec<u32>> {
    *left = left.checked_sub(1)?;
    if abi::get().is_predefined_type(datatype) {
        return Some(vec![types::basic(&mpi::name_of_type(datatype)?)?.code()]);
    }
    let components = constructor::components(datatype)?;
    if let [one] = &components[..] {
        let size = mpi::size_of_type(datatype)?;
        return if size == 0 { Some(Vec::new()) } else { sequence(one.handle, left) };
    }
    let mut parts = Vec::new();
    for Component { handle, copies, .. } in &components {
        let bytes = mpi::size_of_type(*handle)?.checked_mul(*copies)?;
        if bytes > 0 {
            parts.push((sequence(*handle, left)?, bytes));
        }
    }
    joined(&parts)
}

/// The shortest sequence of several, each with the bytes of its repetitions, one behind the other.
fn joined(parts: &[(Vec<u32>, u64)]) -> Option<Vec<u32>> {
    let Some(((first, _), others)) = parts.split_first() else { return Some(Vec::new()) };
    if others.iter().all(|(other, _)| other == first) {
        return Some(first.clone());
    }
    let mut whole: Vec<u32> = Vec::new();
    for (part, bytes) in parts {
        let widths = part.iter().map(|code| u64::from(code & 0xff));
        // The compiler decides on the width of some.
        if widths.clone().any(|width| width == 0) {
            return None;
        }
        let times = usize::try_from(bytes / widths.sum::<u64>()).ok()?;
        if times.checked_mul(part.len()).is_none_or(|length| whole.len() + length > LONGEST) {
            return None;
        }
        (0..times).for_each(|_| whole.extend(part));
    }
    whole.truncate(period(&whole));
    Some(whole)
}

/// The length of the shortest sequence of which this one is a repetition.
fn period(whole: &[u32]) -> usize {
    // Of each beginning the longest other beginning that is also its end (Knuth, Morris and Pratt).
    let mut border = vec![0; whole.len()];
    for end in 1..whole.len() {
        let mut length = border[end - 1];
        while length > 0 && whole[end] != whole[length] {
            length = border[length - 1];
        }
        border[end] = length + usize::from(whole[end] == whole[length]);
    }
    let shortest = whole.len() - border.last().copied().unwrap_or(0);
    if shortest > 0 && whole.len().is_multiple_of(shortest) { shortest } else { whole.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined_of(parts: &[(&[&str], u64)]) -> Option<Vec<u32>> {
        let code = |name: &&str| types::basic(name).unwrap().code();
        let parts: Vec<(Vec<u32>, u64)> =
            parts.iter().map(|(names, bytes)| (names.iter().map(code).collect(), *bytes)).collect();
        joined(&parts)
    }

    #[test]
    fn types_of_one_signature_have_one_sequence() {
        let [int, double] = ["MPI_INT", "MPI_DOUBLE"];
        let one = joined_of(&[(&[int], 4), (&[double], 8)]);
        assert_eq!(one.as_ref().map(Vec::len), Some(2));
        assert_eq!(joined_of(&[(&[int, double], 24), (&[int], 4), (&[double], 8)]), one);
        assert_ne!(joined_of(&[(&[double], 8), (&[int], 4)]), one, "the other way round");
        assert_eq!(joined_of(&[(&[int], 8), (&[double], 8)]).map(|all| all.len()), Some(3));
        assert_eq!(joined_of(&[(&[int], 8), (&[int], 400_000_000)]).map(|all| all.len()), Some(1));
        assert_eq!(joined_of(&[]), Some(vec![]));
        assert_eq!(joined_of(&[(&[int], 1 << 20), (&[double], 8)]), None, "too long");
        assert_eq!(joined_of(&[(&["MPI_INTEGER"], 8), (&[double], 8)]), None, "of which width?");
    }

    #[test]
    fn a_period_is_the_shortest_one() {
        let cases: [(&[u32], usize); 6] =
            [(&[1], 1), (&[1, 1, 1], 1), (&[1, 2, 1, 2], 2), (&[1, 2, 1], 3), (&[1, 2, 2, 1, 2, 2], 3), (&[], 0)];
        for (whole, expected) in cases {
            assert_eq!(period(whole), expected, "{whole:?}");
        }
    }
}
