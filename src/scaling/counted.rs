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
