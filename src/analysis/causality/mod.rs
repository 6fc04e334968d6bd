//! Whether the global times of the calls keep the order that collectives imply.
//!
//! Who leaves a collective holds what others have brought into it, so they have entered before: no clock is needed to know
//! that. An exit that lies before such an entry shows that the global time of one of the two ranks is wrong. The converse does
//! not hold: the order leaves an offset open by as much as the operation takes. So it validates clocks, and does not set them.
//!
//! | functions | what is implied |
//! |---|---|
//! | Barrier, Allreduce, Allgather, Allgatherv, Alltoall, Reduce_scatter_block | no rank leaves before the last has entered |
//! | Bcast, Scatter, Scatterv | no other rank leaves before the root has entered |
//! | Gather, Gatherv, Reduce | the root leaves after the last of the others has entered |
//! | Scan, Exscan | a rank leaves after all of lower ranks in the communicator have entered |
//!
//! Non-blocking and persistent forms obey the same rules: their entry is the start, their exit the completion. All but a
//! Barrier imply something only where data goes: of a rank that passed no bytes, or nobody knows how many, neither the entry
//! nor the exit counts, but that an Allgatherv brings to each rank, and a Gatherv to the root, what the others passed.
//!
//! Of Alltoallv and Alltoallw the trace has the sum over all peers, of Reduce_scatter the sum of all ranks' counts: who
//! exchanged anything with whom cannot be told, and nothing is checked. Neither is anything of neighbourhood collectives, and on
//! intercommunicators.

use mpitrace_format::layout::{OPERATION_MASK, OperationEntry, UNKNOWN_BYTES, communicator_flags};

use crate::clock::{Clock, RankClock};
use crate::operations::{Operation, Operations};
use crate::reader::{Part, Trace};

/// What the order of entries and exits has shown, over all complete repetitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Causality {
    /// Exits that were compared with the latest entry that they depend on: one for each repetition and rank.
    pub checked: u64,
    /// Exits that lie before an entry they depend on by more than the 95 % errors of both times together. An error that is not
    /// stated counts as 0.
    pub violated: u64,
    /// The same by the plain times.
    pub violated_raw: u64,
    /// Where an exit lies furthest before an entry, by the plain times.
    pub worst: Option<Violation>,
}

/// An exit that lies before an entry it depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Violation {
    /// By how much, ns.
    pub by_ns: f64,
    /// The operation's number.
    pub operation: usize,
    /// The repetition's number.
    pub repetition: u64,
    /// The world rank that left too early.
    pub left: u32,
    /// The world rank that had not yet entered.
    pub entered: u32,
}

impl Causality {
    /// Checks every complete repetition.
    pub fn of(trace: &Trace, clock: &Clock, operations: &Operations) -> Causality {
        let mut found = Causality::default();
        for (number, operation) in operations.operations.iter().enumerate() {
            if let Some(mut check) = Check::of(trace, clock, number, operation) {
                operation.complete_rows().for_each(|row| check.row(row, &mut found));
            }
        }
        found
    }
}

/// Whose entries precede whose exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    AllBeforeAll,
    RootBeforeOthers,
    OthersBeforeRoot,
    LowerBeforeHigher,
}

/// What a function implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    order: Order,
    /// Only the entries of ranks that passed bytes count.
    entries_with_bytes: bool,
    /// Only the exits of such ranks are checked.
    exits_with_bytes: bool,
}

impl Rule {
    /// The rule of a function, by its plain C name; `None`: it implies nothing that could be checked.
    fn of(function: &str) -> Option<Rule> {
        let name = function.strip_prefix("MPI_")?;
        // No blocking collective begins with an I.
        let blocking = name.strip_suffix("_init").or(name.strip_prefix('I')).unwrap_or(name);
        let (order, entries_with_bytes, exits_with_bytes) = match blocking.to_ascii_lowercase().as_str() {
            "barrier" => (Order::AllBeforeAll, false, false),
            "allreduce" | "allgather" | "alltoall" | "reduce_scatter_block" => (Order::AllBeforeAll, true, true),
            "allgatherv" => (Order::AllBeforeAll, true, false),
            // What another rank than the root passed is what it got.
            "bcast" | "scatter" | "scatterv" => (Order::RootBeforeOthers, false, true),
            "gather" | "gatherv" | "reduce" => (Order::OthersBeforeRoot, true, false),
            "scan" | "exscan" => (Order::LowerBeforeHigher, true, true),
            _ => return None,
        };
        Some(Rule { order, entries_with_bytes, exits_with_bytes })
    }
}

/// A rank that takes part in an operation.
struct Member<'a> {
    part: &'a Part,
    clock: &'a RankClock,
    /// Where its record stands among those of a repetition.
    place: usize,
    /// Whether its entry, and its exit, can count under the rule.
    roles: (bool, bool),
}

/// The checks of one operation.
struct Check<'a> {
    number: usize,
    operation: &'a Operation,
    rule: Rule,
    /// By their ranks in the communicator.
    members: Vec<Member<'a>>,
    /// Of the repetition at hand, for each member: its entry, ns, or minus infinity where it does not count; ...
    entries: Vec<f64>,
    /// ... its exit, or not a number; ...
    exits: Vec<f64>,
    /// ... and the latest entry that the exit depends on, with its member.
    latest: Vec<(usize, f64)>,
}

impl<'a> Check<'a> {
    fn of(trace: &'a Trace, clock: &'a Clock, number: usize, operation: &'a Operation) -> Option<Check<'a>> {
        let rule = Rule::of(&operation.key.function).filter(|_| operation.parts.len() > 1)?;
        let records = operation.records(operation.complete_rows().next()?);
        let mut ranked = Vec::with_capacity(operation.parts.len());
        for (place, (&index, &record)) in operation.parts.iter().zip(records).enumerate() {
            let part = &trace.parts[index];
            let communicator = &part.communicators()[called(part, record).communicator as usize];
            if communicator.flags & communicator_flags::INTER != 0 {
                return None;
            }
            let is_root = i64::from(communicator.rank) == i64::from(operation.key.root.unwrap_or(-1));
            let roles = match rule.order {
                Order::AllBeforeAll | Order::LowerBeforeHigher => (true, true),
                Order::RootBeforeOthers => (is_root, !is_root),
                Order::OthersBeforeRoot => (!is_root, is_root),
            };
            ranked.push((communicator.rank, Member { part, clock: clock.of_part(index), place, roles }));
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        let members: Vec<Member> = ranked.into_iter().map(|(_, member)| member).collect();
        let (entries, exits, latest) = (Vec::new(), Vec::new(), Vec::new());
        Some(Check { number, operation, rule, members, entries, exits, latest })
    }

    fn row(&mut self, row: usize, found: &mut Causality) {
        let records = self.operation.records(row);
        self.entries.clear();
        self.exits.clear();
        for member in &self.members {
            let record = records[member.place];
            let (enter, exit) = (member.part.enter()[record as usize], member.part.exit()[record as usize]);
            let has_bytes = !matches!(called(member.part, record).bytes, 0 | UNKNOWN_BYTES);
            let enters = member.roles.0 && (has_bytes || !self.rule.entries_with_bytes);
            let leaves = member.roles.1 && (has_bytes || !self.rule.exits_with_bytes);
            self.entries.push(if enters { member.clock.nanoseconds(enter) } else { f64::NEG_INFINITY });
            self.exits.push(if leaves { member.clock.nanoseconds(exit) } else { f64::NAN });
        }
        self.find_latest();
        let mut any = false;
        for (index, (&exit, &(other, entry))) in self.exits.iter().zip(&self.latest).enumerate() {
            // False for exits that are not checked, and for those that depend on nobody.
            found.checked += u64::from(exit.is_finite() && entry.is_finite());
            if exit < entry {
                any = true;
                found.violated_raw += 1;
                if found.worst.is_none_or(|worst| entry - exit > worst.by_ns) {
                    found.worst = Some(Violation {
                        by_ns: entry - exit,
                        operation: self.number,
                        repetition: self.operation.repetition[row],
                        left: self.members[index].part.rank(),
                        entered: self.members[other].part.rank(),
                    });
                }
            }
        }
        if any {
            found.violated += self.beyond_errors(records);
        }
    }

    /// How many exits of the repetition at hand lie before an entry by more than both errors. Few repetitions come here: an
    /// error takes longer to find than a time.
    fn beyond_errors(&mut self, records: &[u32]) -> u64 {
        for (index, member) in self.members.iter().enumerate() {
            let record = records[member.place] as usize;
            // A 95 % interval misses one time in twenty, which contradicts nothing: where more is proven, that counts.
            let error = |tick: u64| {
                let half = member.clock.error_ns(tick).unwrap_or(0.0);
                let (lower, upper) = member.clock.hard_bounds_ns(tick).unwrap_or((0.0, 0.0));
                (half.max(-lower), half.max(upper))
            };
            self.entries[index] -= error(member.part.enter()[record]).0;
            self.exits[index] += error(member.part.exit()[record]).1;
        }
        self.find_latest();
        self.exits.iter().zip(&self.latest).filter(|(exit, (_, entry))| *exit < entry).count() as u64
    }

    /// For each member the latest of the others' entries that its exit depends on.
    fn find_latest(&mut self) {
        const NONE: (usize, f64) = (0, f64::NEG_INFINITY);
        let (mut first, mut second) = (NONE, NONE);
        self.latest.clear();
        for (index, &entry) in self.entries.iter().enumerate() {
            if self.rule.order == Order::LowerBeforeHigher {
                self.latest.push(first);
            }
            if entry > first.1 {
                (first, second) = ((index, entry), first);
            } else if entry > second.1 {
                second = (index, entry);
            }
        }
        if self.rule.order != Order::LowerBeforeHigher {
            let count = self.entries.len();
            self.latest.extend((0..count).map(|index| if first.0 == index { second } else { first }));
        }
    }
}

/// What a rank passed to the call of a record.
fn called(part: &Part, record: u32) -> &OperationEntry {
    &part.operations()[(part.operation()[record as usize] & OPERATION_MASK) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{self, SyntheticRank};

    fn causality(name: &str, ranks: &[SyntheticRank]) -> Causality {
        let path = std::env::temp_dir().join(format!("mpitrace-causality-{}-{name}", std::process::id()));
        synthetic::write(&path, ranks).unwrap();
        let trace = Trace::open(&[&path]).unwrap();
        std::fs::remove_file(&path).unwrap();
        Causality::of(&trace, &Clock::of(&trace), &Operations::of(&trace))
    }

    fn world(size: u32) -> Vec<SyntheticRank> {
        (0..size).map(|rank| SyntheticRank::new(rank, size)).collect()
    }

    const REPETITIONS: u64 = 5;

    /// A program of four ranks that all enter and leave within 1 µs; the clock of rank 2 is ahead by `ahead` ns.
    fn shifted(function: &str, root: Option<i32>, bytes: [u64; 4], ahead: i64) -> [u64; 3] {
        let mut ranks = world(4);
        for (number, rank) in ranks.iter_mut().enumerate() {
            let operation = rank.operation(function, 0, bytes[number]);
            rank.describe(operation, root, "MPI_BYTE", None);
            let ahead = if number == 2 { ahead } else { 0 };
            for repetition in 0..REPETITIONS {
                let enter = (1_000_000 + 100_000 * repetition + 10 * number as u64).wrapping_add_signed(ahead);
                rank.call(operation, enter, enter + 1000);
            }
        }
        let Causality { checked, violated, violated_raw, .. } = causality("shifted", &ranks);
        [checked, violated, violated_raw].map(|count| count / REPETITIONS)
    }

    /// A function, its root, the bytes that each rank passed, and how many exits of a repetition are checked, violated with the
    /// clock of rank 2 ahead, and violated with it behind.
    type Case = (&'static str, Option<i32>, [u64; 4], [u64; 3]);

    const CASES: [Case; 24] = [
        ("Barrier", None, [0; 4], [4, 3, 1]),
        ("Allreduce", None, [8; 4], [4, 3, 1]),
        ("Allgather", None, [8; 4], [4, 3, 1]),
        ("Alltoall", None, [8; 4], [4, 3, 1]),
        ("Reduce_scatter_block", None, [8; 4], [4, 3, 1]),
        ("Bcast", Some(0), [8; 4], [3, 0, 1]),
        ("Bcast", Some(2), [8; 4], [3, 3, 0]),
        ("Scatter", Some(2), [8; 4], [3, 3, 0]),
        ("Gather", Some(0), [8; 4], [1, 1, 0]),
        ("Gather", Some(2), [8; 4], [1, 0, 1]),
        ("Reduce", Some(2), [8; 4], [1, 0, 1]),
        ("Scan", None, [8; 4], [3, 1, 1]),
        ("Exscan", None, [8; 4], [3, 1, 1]),
        // No bytes, or nobody knows how many.
        ("Allreduce", None, [0; 4], [0, 0, 0]),
        ("Bcast", Some(2), [0; 4], [0, 0, 0]),
        ("Scan", None, [UNKNOWN_BYTES; 4], [0, 0, 0]),
        // Rank 2 brings nothing into an Allgatherv, but gets what the others bring.
        ("Allgatherv", None, [8, 8, 0, 8], [4, 0, 1]),
        ("Gatherv", Some(0), [8, 8, 0, 8], [1, 0, 0]),
        ("Gatherv", Some(2), [8, 8, 0, 8], [1, 0, 1]),
        // Rank 2 gets nothing of what rank 0 scatters.
        ("Scatterv", Some(0), [16, 8, 0, 8], [2, 0, 0]),
        ("Reduce_scatter", None, [32; 4], [0, 0, 0]),
        ("Alltoallv", None, [32; 4], [0, 0, 0]),
        ("Alltoallw", None, [32; 4], [0, 0, 0]),
        ("Neighbor_allgather", None, [8; 4], [0, 0, 0]),
    ];

    #[test]
    fn a_shifted_clock_violates_what_each_function_implies_and_nothing_else() {
        for (name, root, bytes, [checked, ahead, behind]) in CASES {
            let non_blocking = format!("MPI_I{}{}", name[..1].to_lowercase(), &name[1..]);
            for function in [format!("MPI_{name}"), non_blocking, format!("MPI_{name}_init")] {
                let of = |nanoseconds| shifted(&function, root, bytes, nanoseconds);
                assert_eq!(of(0), [checked, 0, 0], "{function} {root:?} {bytes:?}");
                assert_eq!(of(5000), [checked, ahead, ahead], "{function} {root:?} {bytes:?}, ahead");
                assert_eq!(of(-5000), [checked, behind, behind], "{function} {root:?} {bytes:?}, behind");
            }
        }
    }

    #[test]
    fn a_violation_within_both_stated_errors_is_one_by_the_plain_times_only() {
        // Rank 1 leaves 300 ns before rank 0 has entered.
        let with_error = |error: u64| {
            let mut ranks = world(2);
            for (number, rank) in (0..).zip(&mut ranks) {
                rank.header.domain_error = error;
                let barrier = rank.operation("MPI_Barrier", 0, 0);
                rank.call(barrier, 1000, 2000 + number);
                rank.call(barrier, 11_000 - 1000 * number, 11_700 - 1000 * number);
            }
            causality("errors", &ranks)
        };
        let worst = Some(Violation { by_ns: 300.0, operation: 0, repetition: 1, left: 1, entered: 0 });
        assert_eq!(with_error(0), Causality { checked: 4, violated: 1, violated_raw: 1, worst });
        assert_eq!(with_error(149).violated, 1);
        assert_eq!(with_error(151), Causality { checked: 4, violated: 0, violated_raw: 1, worst });
    }

    #[test]
    fn ranks_count_in_the_order_of_the_communicator() {
        let mut ranks = world(4);
        for (number, rank) in (0u32..).zip(&mut ranks) {
            let reversed = rank.communicator(7, 4, 3 - number, None);
            let scan = rank.operation("MPI_Scan", reversed, 8);
            let bcast = rank.operation("MPI_Bcast", reversed, 8);
            rank.describe(bcast, Some(3), "MPI_INT", None);
            // World rank 0, the last in the communicator and the root of the Bcast, enters late: no Scan waits for it.
            let enter = if number == 0 { 5000 } else { 1000 };
            rank.call(scan, enter, enter + 1000);
            rank.call(bcast, enter + 10_000, enter + 11_000);
        }
        let found = causality("reversed", &ranks);
        assert_eq!((found.checked, found.violated_raw), (3 + 3, 3));
        assert_eq!(found.worst.map(|worst| (worst.operation, worst.entered)), Some((1, 0)));
    }

    #[test]
    fn nothing_is_checked_of_one_rank_alone_and_of_repetitions_that_are_incomplete() {
        let mut ranks = world(2);
        for (number, rank) in (0..).zip(&mut ranks) {
            let own = rank.communicator(10 + number, 1, 0, None);
            let alone = rank.operation("MPI_Barrier", own, 0);
            let together = rank.operation("MPI_Barrier", 0, 0);
            rank.call(alone, 10, 20);
            // The clocks are 1 µs apart.
            let shift = 1000 * number;
            rank.call(together, 1000 + shift, 1500 + shift);
            rank.call(together, 11_000 + shift, if number == 0 { 0 } else { 12_500 });
        }
        let found = causality("incomplete", &ranks);
        assert_eq!((found.checked, found.violated_raw), (2, 1));
    }

    /// A generator of numbers that look random: xorshift64.
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % end
        }
    }

    /// Whether rank `i` holds, when it leaves, what rank `j` has brought: as the functions are described, pair by pair.
    fn holds(function: &str, root: usize, bytes: &[u64], i: usize, j: usize) -> bool {
        let (mine, theirs) = (bytes[i] > 0, bytes[j] > 0);
        i != j
            && match function {
                "MPI_Barrier" => true,
                "MPI_Allreduce" | "MPI_Alltoall" => mine && theirs,
                "MPI_Allgatherv" => theirs,
                "MPI_Scatterv" => j == root && mine,
                "MPI_Gatherv" => i == root && theirs,
                "MPI_Exscan" => j < i && mine && theirs,
                _ => false,
            }
    }

    #[test]
    fn any_program_has_the_violations_that_its_pairs_have() {
        const FUNCTIONS: [&str; 8] = [
            "MPI_Barrier",
            "MPI_Allreduce",
            "MPI_Alltoall",
            "MPI_Allgatherv",
            "MPI_Scatterv",
            "MPI_Gatherv",
            "MPI_Exscan",
            "MPI_Alltoallv",
        ];
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for trial in 0..200 {
            let size = 1 + random.below(6) as usize;
            let function = FUNCTIONS[random.below(8) as usize];
            let root = random.below(size as u64) as usize;
            let is_uniform = ["MPI_Barrier", "MPI_Allreduce", "MPI_Alltoall", "MPI_Exscan"].contains(&function);
            let all = 8 * random.below(3);
            let bytes: Vec<u64> = (0..size).map(|_| if is_uniform { all } else { 8 * random.below(2) }).collect();
            let error = 1 + random.below(200);
            let mut ranks = world(size as u32);
            let mut expected = [0; 3];
            let mut operations = Vec::new();
            for (number, rank) in ranks.iter_mut().enumerate() {
                rank.header.domain_error = error;
                operations.push(rank.operation(function, 0, bytes[number]));
                let root = ["MPI_Scatterv", "MPI_Gatherv"].contains(&function).then_some(root as i32);
                rank.describe(operations[number], root, "MPI_BYTE", None);
            }
            for repetition in 0..20 {
                let spans: Vec<(u64, u64)> = (0..size)
                    .map(|_| {
                        let enter = 1_000_000 + 10_000 * repetition + random.below(1000);
                        (enter, enter + 1 + random.below(1000))
                    })
                    .collect();
                for (number, &(enter, exit)) in spans.iter().enumerate() {
                    ranks[number].call(operations[number], enter, exit);
                }
                for (i, (_, exit)) in spans.iter().enumerate() {
                    let others = (0..size).filter(|&j| holds(function, root, &bytes, i, j));
                    let entries: Vec<u64> = others.map(|j| spans[j].0).collect();
                    expected[0] += u64::from(!entries.is_empty());
                    expected[1] += u64::from(entries.iter().any(|entry| exit + 2 * error < *entry));
                    expected[2] += u64::from(entries.iter().any(|entry| exit < entry));
                }
            }
            let found = causality("pairs", &ranks);
            let counts = [found.checked, found.violated, found.violated_raw];
            assert_eq!(counts, expected, "trial {trial}: {function} of {bytes:?}, root {root}, error {error}");
        }
    }
}
