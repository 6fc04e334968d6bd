//! Instructions and cycles of a program's regions, without those of the collective calls in them.

use mpitrace_format::layout::{NO_VALUE, OPERATION_MASK};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::reader::{Column, Part, Trace};

/// The sums over all ranks, of the outermost regions, without the collective calls in them. Calls that are not recorded
/// (point-to-point, one-sided) are among them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counted {
    /// Instructions.
    pub instructions: f64,
    /// Cycles; `None`: not counted.
    pub cycles: Option<f64>,
    /// The time, s.
    pub seconds: f64,
}

const INSTRUCTIONS: &str = "instructions";
const CYCLES: &str = "cycles";

impl Counted {
    /// The sums of a run; `None`: instructions were not counted on all ranks, or the program has no region.
    pub fn new(trace: &Trace, clock: &Clock) -> Option<Counted> {
        let mut sum = Counted { cycles: Some(0.0), ..Counted::default() };
        for (index, part) in trace.parts.iter().enumerate() {
            let of = of_part(part, |ticks| clock.of_part(index).ticks_ns(ticks) / 1e9)?;
            sum.instructions += of.instructions;
            sum.cycles = sum.cycles.zip(of.cycles).map(|(one, other)| one + other);
            sum.seconds += of.seconds;
        }
        (sum.instructions > 0.0 && sum.seconds > 0.0).then_some(sum)
    }
}

fn of_part(part: &Part, seconds: impl Fn(u64) -> f64) -> Option<Counted> {
    let entries = part.operations();
    let columns: Vec<_> = part.counter_columns().collect();
    let column = |wanted: &str| columns.iter().find(|(name, _)| name == wanted).map(|(_, column)| column);
    let (instructions, cycles) = (column(INSTRUCTIONS)?, column(CYCLES));
    let mut sum = Counted { cycles: cycles.map(|_| 0.0), ..Counted::default() };
    // The end of the outermost region that is open.
    let mut open_until = 0;
    for block in part.blocks() {
        let ([enter, exit], operations) = (block.times(), block.operation());
        for (((record, enter), exit), operation) in block.range.zip(enter).zip(exit).zip(operations) {
            let is_region = entries[(operation & OPERATION_MASK) as usize].is_region();
            let sign = match (is_region, enter < open_until) {
                (true, false) if exit > enter => {
                    open_until = exit;
                    1.0
                }
                (false, true) => -1.0,
                _ => continue,
            };
            sum.instructions += sign * value(instructions, record)?;
            sum.cycles = sum.cycles.zip(cycles).and_then(|(sum, cycles)| Some(sum + sign * value(cycles, record)?));
            sum.seconds += sign * seconds(exit.saturating_sub(enter));
        }
    }
    Some(sum)
}

/// `None`: the counter could not be read in this call.
fn value(column: &Column<'_>, record: usize) -> Option<f64> {
    Some(column.get(record)).filter(|&value| value != NO_VALUE).map(|value| value as f64)
}

#[cfg(test)]
mod tests {
    use mpitrace_testing::synthetic::{self, SyntheticRank};

    use super::*;

    /// Ranks that are twice in a region, of whose 10 us and 3000 instructions 2 us and 500 are in a reduction within a
    /// region of its own.
    fn ranks(has_counters: bool) -> Vec<SyntheticRank> {
        let rank = |number| {
            let mut rank = SyntheticRank::new(number, 2);
            let counters = ["instructions", "cycles"].map(|name| has_counters.then(|| rank.counter(name)));
            let [solve, inner] = ["solve", "inner"].map(|name| rank.region(name));
            let reduce = rank.operation("MPI_Allreduce", 0, 8);
            for k in 0..2 {
                let begin = 20_000 * k;
                let calls = [(solve, 0, 10_000, 3000), (inner, 4000, 8000, 900), (reduce, 5000, 7000, 500)];
                // Behind the region: of the program, but in none of its regions.
                for (operation, enter, exit, instructions) in calls.into_iter().chain([(reduce, 12_000, 13_000, 70)]) {
                    rank.call(operation, begin + enter, begin + exit);
                    for (counter, value) in counters.iter().zip([instructions, 2 * instructions]) {
                        counter.iter().for_each(|counter| rank.count_in_call(*counter, value));
                    }
                }
            }
            rank
        };
        (0..2).map(rank).collect()
    }

    fn counted(ranks: &[SyntheticRank]) -> Option<Counted> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mpitrace");
        synthetic::write(&path, ranks).unwrap();
        let trace = Trace::open(&[path]).unwrap();
        Counted::new(&trace, &Clock::new(&trace))
    }

    #[test]
    fn instructions_are_those_of_the_outermost_regions_without_their_collective_calls() {
        let found = counted(&ranks(true)).unwrap();
        assert_eq!((found.instructions, found.cycles), (4.0 * 2500.0, Some(4.0 * 5000.0)));
        assert!((found.seconds - 4.0 * 8e-6).abs() < 1e-12, "{found:?}");
        assert_eq!(counted(&ranks(false)), None);
    }
}
