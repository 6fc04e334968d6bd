//! The activity of each rank over time: computing, waiting, communicating, off its processor; over the whole run, and
//! call by call around some repetitions.

use mpitrace_analysis::account::{Spent, for_each_call};
use mpitrace_analysis::run::Run;
use mpitrace_format::layout::interruption_flags;
use mpitrace_source::Traced;
use mpitrace_statistics::order_statistics;
use mpitrace_trace::clock::RankClock;
use mpitrace_trace::operations::Operation;
use mpitrace_trace::reader::Part;
use mpitrace_trace::run_time::RunTime;
use serde::Serialize;

/// Rows and columns at most.
const ROWS: usize = 64;
const COLUMNS: usize = 480;
/// Operations, those with the most time, of which single repetitions are shown.
const OPERATIONS: usize = 6;
/// The time that is shown before and after a repetition, as a share of its run time.
const AROUND: f64 = 0.5;
/// Columns of the ranks of a repetition together, and of a rank at most: what is shorter than a column is summed in it,
/// since 10^5 calls may lie around a slow one.
const CELLS: usize = 8000;
const FINEST: usize = 1000;

/// The whole run, and some repetitions.
#[derive(Debug, Serialize)]
pub struct Timeline {
    /// The lowest and the highest world rank of each row.
    pub ranks: Vec<(u32, u32)>,
    /// From the first entry to the last exit, ns of global time.
    pub from_ns: f64,
    /// The end of what is shown, ns of global time.
    pub to_ns: f64,
    /// Per mille of the time of the ranks of a row, row by row; the rest is computing, or is not recorded.
    pub waiting: Vec<Vec<u16>>,
    /// As `waiting`, the time in calls of MPI without waiting.
    pub communicating: Vec<Vec<u16>>,
    /// As `waiting`, the time off the processor.
    pub off_processor: Vec<Vec<u16>>,
    /// The repetitions that are shown closely.
    pub details: Vec<Detail>,
}

/// The calls around a repetition.
#[derive(Debug, Serialize)]
pub struct Detail {
    /// The operation's number.
    pub operation: usize,
    /// The repetition's number.
    pub repetition: u64,
    /// For people.
    pub title: String,
    /// The start of what is shown, ns of global time.
    pub from_ns: f64,
    /// The end of it, ns of global time.
    pub to_ns: f64,
    /// World ranks that are shown.
    pub ranks: Vec<u32>,
    /// The activity of a rank (by its place in `ranks`), from and to, ns after `from_ns`: `w`aiting, `c`ommunicating or
    /// `o`ff its processor. What is shorter than a column is drawn together, as what took most of it.
    pub bars: Vec<(usize, i64, i64, char)>,
    /// For each rank and column the time of what is shorter than a column, ns.
    #[serde(skip)]
    short: Vec<[f64; 3]>,
}

impl Detail {
    fn width_ns(&self) -> f64 {
        (self.to_ns - self.from_ns) / self.columns() as f64
    }

    fn columns(&self) -> usize {
        (CELLS / self.ranks.len().max(1)).clamp(1, FINEST)
    }

    /// A rank, by its place, does this between two times of the detail.
    fn add(&mut self, rank: usize, from: f64, to: f64, doing: Doing) {
        let (width, columns) = (self.width_ns(), self.columns());
        let (from, to) = (from - self.from_ns, to - self.from_ns);
        if to - from >= width {
            self.bars.push((rank, from.round() as i64, to.round() as i64, doing.letter()));
            return;
        }
        let column = ((0.5 * (from + to) / width) as usize).min(columns - 1);
        self.short.resize(self.ranks.len() * columns, [0.0; 3]);
        self.short[rank * columns + column][doing as usize] += to - from;
    }

    /// Draws what is shorter than a column.
    fn finish(mut self) -> Detail {
        let (width, columns) = (self.width_ns(), self.columns());
        for (place, took) in std::mem::take(&mut self.short).into_iter().enumerate() {
            let Some(most) =
                Doing::ALL.into_iter().max_by(|&one, &other| took[one as usize].total_cmp(&took[other as usize]))
            else {
                continue;
            };
            if took[most as usize] > 0.0 {
                let from = (place % columns) as f64 * width;
                let to = from + took.iter().sum::<f64>().min(width);
                self.bars.push((place / columns, from.round() as i64, to.round() as i64, most.letter()));
            }
        }
        self
    }
}

/// An activity of a rank.
#[derive(Clone, Copy)]
enum Doing {
    Waiting,
    Communicating,
    Off,
}

impl Doing {
    const ALL: [Doing; 3] = [Doing::Waiting, Doing::Communicating, Doing::Off];

    fn letter(self) -> char {
        ['w', 'c', 'o'][self as usize]
    }
}

impl Timeline {
    /// `None`: no call was recorded whole, or times of the ranks cannot be compared.
    pub fn new(traced: &Traced) -> Option<Timeline> {
        let Run { trace, operations, clock, .. } = &traced.run;
        if !clock.is_synchronised() {
            return None;
        }
        let (from_ns, to_ns) = ends(traced)?;
        if to_ns <= from_ns {
            return None;
        }
        let numbers: Vec<u32> = trace.parts.iter().map(Part::rank).collect();
        let mut maker = Maker {
            from_ns,
            width_ns: (to_ns - from_ns) / COLUMNS as f64,
            per_row: numbers.len().div_ceil(ROWS).max(1),
            cells: vec![[0.0; 3]; numbers.len().min(ROWS) * COLUMNS],
            last: vec![(0, f64::INFINITY, f64::NEG_INFINITY); numbers.len().min(ROWS)],
            details: details(traced, &numbers, [from_ns, to_ns]),
        };
        // A region is a label over what else is shown.
        for operation in operations.operations.iter().filter(|operation| !operation.key.is_region) {
            for_each_call(trace, clock, operation, |spent| maker.call(&spent));
        }
        for (index, part) in trace.parts.iter().enumerate() {
            maker.off_between(index, part, clock.of_part(index));
        }
        Some(maker.finish(&numbers, to_ns))
    }
}

/// Fills the cells.
struct Maker {
    from_ns: f64,
    width_ns: f64,
    per_row: usize,
    cells: Vec<[f64; 3]>,
    /// For each row the column that was filled last, and its ends, ns: the next span is mostly in it too.
    last: Vec<(usize, f64, f64)>,
    details: Vec<(Vec<Option<usize>>, Detail)>,
}

impl Maker {
    /// A call: it waits first, and when in the rest of it the rank was off its processor is not known. Between its
    /// start and the call that completes it a request is not the rank's business.
    fn call(&mut self, spent: &Spent) {
        let Spent { part: index, waits_from_ns: begin, may_wait_ns: took, .. } = *spent;
        self.span(index, spent.enter_ns, spent.init_ns, Doing::Communicating);
        let waiting = spent.parts.waiting.clamp(0.0, took);
        let off = spent.parts.interrupted.clamp(0.0, took - waiting);
        self.span(index, begin, waiting, Doing::Waiting);
        self.span(index, begin + waiting, off, Doing::Off);
        self.span(index, begin + waiting + off, took - waiting - off, Doing::Communicating);
    }

    /// Off the processor between calls, which is drawn before the next one: when it was is not recorded.
    fn off_between(&mut self, index: usize, part: &Part, clock: &RankClock) {
        let wanted = interruption_flags::BETWEEN | interruption_flags::TIMED;
        for entry in part.interruptions().iter().filter(|entry| entry.flags & wanted == wanted) {
            if entry.record < part.records() as u64 {
                let (enter, _) = part.times_of(entry.record as usize);
                let off = entry.off_ns as f64;
                self.span(index, clock.nanoseconds(enter) - off, off, Doing::Off);
            }
        }
    }

    fn span(&mut self, index: usize, begin: f64, took: f64, doing: Doing) {
        if took <= 0.0 {
            return;
        }
        let end = begin + took;
        let column = |ns: f64| ((ns - self.from_ns) / self.width_ns).clamp(0.0, COLUMNS as f64 - 1.0) as usize;
        let row = index / self.per_row;
        let (last, left, right) = self.last[row];
        if left < begin && end < right {
            self.cells[row * COLUMNS + last][doing as usize] += end - begin;
        } else {
            for at in column(begin)..=column(end) {
                let left = self.from_ns + at as f64 * self.width_ns;
                let right = left + self.width_ns;
                self.cells[row * COLUMNS + at][doing as usize] += (end.min(right) - begin.max(left)).max(0.0);
                self.last[row] = (at, left, right);
            }
        }
        for (place, detail) in &mut self.details {
            let (from, to) = (begin.max(detail.from_ns), end.min(detail.to_ns));
            if let Some(Some(rank)) = place.get(index).filter(|_| from < to) {
                detail.add(*rank, from, to, doing);
            }
        }
    }

    fn finish(self, numbers: &[u32], to_ns: f64) -> Timeline {
        let rows: Vec<&[u32]> = numbers.chunks(self.per_row).collect();
        let map = |doing: Doing| -> Vec<Vec<u16>> {
            let of_row = |(row, ranks): (usize, &&[u32])| {
                let whole = self.width_ns * ranks.len() as f64;
                let cells = &self.cells[row * COLUMNS..(row + 1) * COLUMNS];
                cells.iter().map(|cell| (1000.0 * cell[doing as usize] / whole).round().min(1000.0) as u16).collect()
            };
            rows.iter().enumerate().map(of_row).collect()
        };
        Timeline {
            ranks: rows.iter().map(|ranks| (ranks[0], ranks[ranks.len() - 1])).collect(),
            from_ns: self.from_ns,
            to_ns,
            waiting: map(Doing::Waiting),
            communicating: map(Doing::Communicating),
            off_processor: map(Doing::Off),
            details: self.details.into_iter().map(|(_, detail)| detail.finish()).collect(),
        }
    }
}

/// From the first entry of any rank to the last exit, ns of global time: of the repetitions that are looked at.
fn ends(traced: &Traced) -> Option<(f64, f64)> {
    let Run { trace, operations, clock, .. } = &traced.run;
    let wider = |one: (f64, f64), other: (f64, f64)| (one.0.min(other.0), one.1.max(other.1));
    if operations.operations.iter().any(|operation| operation.looked_at() != (0..operation.repetition.len())) {
        let windows = operations
            .operations
            .iter()
            .flat_map(|operation| operation.complete_rows().map(move |row| window(traced, operation, row)));
        return windows.reduce(wider);
    }
    let of_part = |(index, part): (usize, &Part)| {
        let clock = clock.of_part(index);
        let last = part.all_times().map(|(_, exit)| exit).max().filter(|&exit| exit > 0)?;
        let first = part.lowest_entry()?;
        Some((clock.nanoseconds(first), clock.nanoseconds(last)))
    };
    trace.parts.iter().enumerate().filter_map(of_part).reduce(wider)
}

/// The slowest repetition and one of median run time, of each of the operations with the most time; with the place of
/// each part among the ranks that are shown.
fn details(traced: &Traced, numbers: &[u32], [first_ns, last_ns]: [f64; 2]) -> Vec<(Vec<Option<usize>>, Detail)> {
    let Run { trace, operations, clock, .. } = &traced.run;
    let looked_at = |operation: &Operation| {
        let times = operation.run_time_values(trace, clock, RunTime::Local);
        let slowest = (0..times.len()).max_by(|&one, &other| times[one].total_cmp(&times[other]));
        let median = place_of_median(&times).filter(|_| times.len() > 1);
        let slowest = slowest.map(|place| (place, "the slowest repetition"));
        let median = median.map(|place| (place, "a repetition of median run time"));
        (times.iter().sum::<f64>(), slowest.into_iter().chain(median))
    };
    let mut all: Vec<(_, usize)> = operations.operations.iter().map(looked_at).zip(0..).collect();
    all.sort_by(|((one, _), _), ((other, _), _)| other.total_cmp(one));
    all.truncate(OPERATIONS);
    let mut details = Vec::new();
    for ((_, places), number) in all {
        let operation = &operations.operations[number];
        let rows = operation.complete();
        for (place, which) in places {
            let (from, to) = window(traced, operation, rows.get(place));
            let repetition = operation.repetition.get(rows.get(place));
            let around = AROUND * (to - from);
            let mut parts: Vec<usize> = operation.parts.clone();
            let step = parts.len().div_ceil(ROWS).max(1);
            parts = parts.into_iter().step_by(step).collect();
            let shown = (0..numbers.len()).map(|index| parts.iter().position(|&part| part == index)).collect();
            let detail = Detail {
                operation: number,
                repetition,
                title: format!("{which} of operation {number}, {}: {repetition}", operation.key.function),
                from_ns: (from - around).max(first_ns),
                to_ns: (to + around).min(last_ns),
                ranks: parts.iter().map(|&part| numbers[part]).collect(),
                bars: Vec::new(),
                short: Vec::new(),
            };
            details.push((shown, detail));
        }
    }
    details
}

/// The place of the value that has half of the others before it, equal ones in their order.
fn place_of_median(values: &[f64]) -> Option<usize> {
    if values.is_empty() {
        return None;
    }
    let half = values.len() / 2;
    let [median] = order_statistics(values, [half]);
    let before = values.iter().filter(|value| value.total_cmp(&median).is_lt()).count();
    (0..values.len()).filter(|&place| values[place].total_cmp(&median).is_eq()).nth(half - before)
}

/// From the first entry to the last exit of a complete repetition, ns.
fn window(traced: &Traced, operation: &Operation, row: usize) -> (f64, f64) {
    let mut window = (f64::INFINITY, f64::NEG_INFINITY);
    for (&index, record) in operation.parts.iter().zip(operation.records(row).iter()) {
        let (part, clock) = (&traced.run.trace.parts[index], traced.run.clock.of_part(index));
        let (enter, exit) = part.times_of(record as usize);
        window.0 = window.0.min(clock.nanoseconds(enter));
        window.1 = window.1.max(clock.nanoseconds(exit));
    }
    window
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail() -> Detail {
        Detail {
            operation: 0,
            repetition: 0,
            title: String::new(),
            from_ns: 1000.0,
            to_ns: 1_001_000.0,
            ranks: vec![0, 1],
            bars: Vec::new(),
            short: Vec::new(),
        }
    }

    #[test]
    fn calls_shorter_than_a_column_are_drawn_together() {
        let mut detail = detail();
        detail.add(0, 1000.0, 501_000.0, Doing::Waiting);
        for call in 0..50_000 {
            let from = 501_000.0 + 10.0 * f64::from(call);
            detail.add(1, from, from + 6.0, Doing::Communicating);
            detail.add(1, from + 6.0, from + 9.0, Doing::Waiting);
        }
        detail.add(0, 1_000_500.0, 1_000_600.0, Doing::Off);
        let bars = detail.finish().bars;
        assert_eq!(bars.len(), 1 + 500 + 1);
        assert_eq!(bars[0], (0, 0, 500_000, 'w'));
        assert_eq!(bars[1], (0, 999_000, 999_100, 'o'));
        assert_eq!(bars[2], (1, 500_000, 500_900, 'c'));
    }
}
