//! The signature of a derived data type: the sequence of basic types in its elements, without their places.
//!
//! Calls of two ranks may pass other types and counts of one signature. So what is compared is the shortest sequence of
//! which the whole one is a repetition, beside the amount in bytes: of most types one basic type. A type that is made
//! of one other type has its sequence.

use std::hash::BuildHasherDefault;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use mpitrace_functions::types;

use crate::base::hash::FastMap;
use crate::base::lock::lock;
use crate::handles::type_table::KnownType;
use crate::operation::registry::Registry;
use crate::record::thread;

/// Longer sequences of different basic types are not known.
const LONGEST: usize = 1024;
/// As many signatures are told apart in a trace: each makes operations of its own.
const MOST: usize = 64;
/// As many sequences of several types are kept, and ways to make them of blocks.
const KEPT: usize = 256;

/// The signatures that are told apart, and that of all others, without a lock: the reference of the name, the place of
/// the set of types in it, and the code; 0: none. Stored under the registry's lock.
static NAMED: [AtomicU64; MOST + 1] = [const { AtomicU64::new(0) }; MOST + 1];

static SEQUENCES: Mutex<Sequences> = Mutex::new(Sequences {
    by_code: FastMap::with_hasher(BuildHasherDefault::new()),
    by_blocks: FastMap::with_hasher(BuildHasherDefault::new()),
});

/// Signatures that are sequences of several types.
struct Sequences {
    by_code: FastMap<u32, Vec<u32>>,
    /// The codes of types that were made of blocks, by these.
    by_blocks: FastMap<Vec<(u32, u64)>, u32>,
}

/// The name of a derived type with this signature, and its set of types; `None`: no call of one was looked up.
pub fn named(code: u32) -> Option<KnownType> {
    let words = NAMED.iter().map(|word| word.load(Ordering::Relaxed)).take_while(|word| *word != 0);
    let found = words.into_iter().find(|word| *word as u32 & 0xff_ffff == code)?;
    let types = 1 << (found as u32 >> 24);
    Some(KnownType { code, name: (found >> 32) as u32, types, ..KnownType::default() })
}

/// The facts of a derived type with this signature and size, of which a call is looked up.
pub fn described(registry: &mut Registry, code: u32, size: u64) -> KnownType {
    let found = named(code).or_else(|| {
        let name = registry.string(&types::derived_name(code));
        // The last word is for all that are not told apart.
        let words = if code == 0 { &NAMED[..] } else { &NAMED[..MOST] };
        let free = words.iter().find(|word| word.load(Ordering::Relaxed) == 0).filter(|_| name != 0)?;
        let set = types::class(code);
        free.store(u64::from(name) << 32 | u64::from(set.trailing_zeros() << 24 | code), Ordering::Relaxed);
        Some(KnownType { code, name, types: set, ..KnownType::default() })
    });
    match found {
        Some(found) => KnownType { size, ..found },
        None if code != 0 => described(registry, 0, size),
        None => {
            KnownType { size, name: registry.string(types::DERIVED), types: types::class(0), ..KnownType::default() }
        }
    }
}

/// The code of the signature of blocks, each with the code of its types and its bytes, more than 0; 0: not known.
pub fn of_blocks(blocks: &[(u32, u64)]) -> u32 {
    let Some(&(first, _)) = blocks.first() else { return 0 };
    if blocks.iter().all(|(code, _)| *code == first) {
        return first;
    }
    if blocks.iter().any(|(code, _)| *code == 0) {
        return 0;
    }
    thread::catch_panic(|| {
        let sequences = &mut *lock(&SEQUENCES);
        if let Some(&code) = sequences.by_blocks.get(blocks) {
            return Some(code);
        }
        let code = sequences.code_of(blocks);
        if sequences.by_blocks.len() < KEPT && sequences.by_blocks.try_reserve(1).is_ok() {
            sequences.by_blocks.insert(blocks.to_vec(), code);
        }
        Some(code)
    })
    .unwrap_or(0)
}

impl Sequences {
    /// The code of the signature of these blocks, which is kept; 0: not known.
    fn code_of(&mut self, blocks: &[(u32, u64)]) -> u32 {
        let sequence = |&(code, bytes): &(u32, u64)| {
            let known = if types::is_sequence(code) { self.by_code.get(&code)?.clone() } else { vec![code] };
            Some((known, bytes))
        };
        let Some(parts) = blocks.iter().map(sequence).collect::<Option<Vec<_>>>() else { return 0 };
        let Some(sequence) = joined(&parts) else { return 0 };
        let code = types::code_of(&sequence);
        if types::is_sequence(code) && self.by_code.len() < KEPT && self.by_code.try_reserve(1).is_ok() {
            self.by_code.insert(code, sequence);
        }
        code
    }
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
