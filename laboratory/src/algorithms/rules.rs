//! The rules file of Open MPI's tuned component (coll_tuned_dynamic_file.c of versions 4 to 6, the format without
//! JSON).

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Collective;

/// The algorithm for messages of this size on communicators of so many ranks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// The collective.
    pub collective: Collective,
    /// The size of the communicator.
    pub ranks: u32,
    /// As [`Collective::rule_bytes`] has it.
    pub bytes: u64,
    /// The algorithm's number.
    pub algorithm: u32,
}

/// Fan-out of chains and segment size, with which algorithms are replayed; the fan-out is the component's default.
const PARAMETERS: &str = "4 0";

/// The file. The component takes the last rule that is not above the size at hand, or else the first one, so each
/// rule is enclosed by rules with algorithm 0, which leave the choice to the library. Nothing is said of sizes that
/// were not measured.
pub fn file(rules: &[Rule]) -> String {
    let mut collectives: BTreeMap<Collective, BTreeMap<u32, BTreeMap<u64, u32>>> = BTreeMap::new();
    for rule in rules {
        let of_ranks = collectives.entry(rule.collective).or_default().entry(rule.ranks).or_default();
        of_ranks.insert(rule.bytes, rule.algorithm);
    }
    let mut text = format!("{} # collectives\n", collectives.len());
    for (collective, mut of_ranks) in collectives {
        for ranks in of_ranks.keys().copied().collect::<Vec<_>>() {
            of_ranks.entry(1).or_default();
            of_ranks.entry(ranks + 1).or_default();
        }
        let _ = writeln!(
            text,
            "{} # {}\n{} # sizes of communicators",
            collective.number,
            collective.function,
            of_ranks.len()
        );
        for (ranks, mut of_bytes) in of_ranks {
            for bytes in of_bytes.keys().copied().collect::<Vec<_>>() {
                of_bytes.entry(bytes + 1).or_default();
            }
            of_bytes.entry(0).or_default();
            let _ = writeln!(text, "{ranks} # ranks\n{} # sizes of messages", of_bytes.len());
            for (bytes, algorithm) in of_bytes {
                let _ = writeln!(text, "{bytes} {algorithm} {PARAMETERS}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The algorithm by the component's own rules: the last size that is not above.
    fn looked_up(file: &str, collective: u32, ranks: u64, bytes: u64) -> u64 {
        let mut numbers = file
            .lines()
            .flat_map(|line| line.split('#').next().unwrap().split_whitespace())
            .map(|word| word.parse::<u64>().unwrap());
        let mut next = || numbers.next().unwrap();
        let mut found = 0;
        for _ in 0..next() {
            let is_wanted = next() == u64::from(collective);
            for of_ranks in 0..next() {
                let (size, count) = (next(), next());
                let fits = is_wanted && (size <= ranks || of_ranks == 0);
                found = if fits { 0 } else { found };
                for of_bytes in 0..count {
                    let rule = [next(), next(), next(), next()];
                    assert!(of_bytes > 0 || rule[0] == 0, "the first size must be 0");
                    found = if fits && rule[0] <= bytes { rule[1] } else { found };
                }
            }
        }
        assert_eq!(numbers.next(), None);
        found
    }

    #[test]
    fn a_rule_holds_for_its_sizes_and_for_no_others() {
        let rule = |function, ranks, bytes, algorithm| {
            let collective = Collective::named(function).unwrap();
            Rule { collective, ranks, bytes: collective.rule_bytes(bytes, ranks), algorithm }
        };
        let file = file(&[
            rule("MPI_Bcast", 4, 1024, 6),
            rule("MPI_Bcast", 4, 1025, 1),
            rule("MPI_Bcast", 5, 8, 2),
            rule("MPI_Barrier", 4, 0, 3),
            rule("MPI_Alltoall", 4, 8, 2),
        ]);
        for (collective, ranks, bytes, algorithm) in [
            (7, 4, 1024, 6),
            (7, 4, 1025, 1),
            (7, 4, 1026, 0),
            (7, 4, 1023, 0),
            (7, 4, 0, 0),
            (7, 5, 8, 2),
            (7, 5, 1024, 0),
            (7, 6, 8, 0),
            (7, 2, 1024, 0),
            (6, 4, 0, 3),
            (6, 3, 0, 0),
            (3, 4, 32, 2),
            (3, 4, 8, 0),
            (2, 4, 1024, 0),
        ] {
            assert_eq!(looked_up(&file, collective, ranks, bytes), algorithm, "{collective} {ranks} {bytes}\n{file}");
        }
    }
}
