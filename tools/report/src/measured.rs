//! The measurements of an operation, before anything is made of them: their columns, whatever source they come from.

use std::ops::Range;

use anyhow::Result;
use mpitrace_format::metadata::{self, UNKNOWN};
use mpitrace_source::{Counter, Ranks, Source, Traced, own_work_text};
use mpitrace_trace::run_time::{RunTime, Span, Spans};
use mpitrace_words::places::grouped;
use rayon::prelude::*;

use super::fingerprint::{ClockError, Heat, Subject};

/// Repetitions of which the clock's error is looked at.
const ERRORS: usize = 2000;
/// Repetitions whose stamps are looked at together, about.
const TOGETHER: usize = 1 << 12;

/// All complete repetitions of an operation.
#[derive(Debug)]
pub struct Measured<'a> {
    /// The operation, and where its ranks ran.
    pub subject: Subject,
    /// Where it comes from.
    pub source: &'a Source,
    /// Their numbers.
    pub repetition: Vec<u64>,
    /// By each definition that there is, the local one first, ns.
    pub times: Vec<(RunTime, Vec<f64>)>,
    /// When the first rank entered each, ns of global time; empty where that is not known.
    pub enter_ns: Vec<f64>,
    /// The world ranks; none where only run times are known.
    pub ranks: Vec<u32>,
    /// The index into `ranks` of the one that was in the call longest; empty where that is not known.
    pub slowest: Vec<u32>,
    /// The index into `ranks` of the one that came last; empty where that is not known.
    pub last_in: Vec<u32>,
    /// Run times by rank and repetition; `None` for one rank, and where only run times are known.
    pub heat: Option<Heat>,
    /// The errors of the clocks; `None`: not known.
    pub clock_error: Option<ClockError>,
    /// How much of its run times is the program's own computation, for people; `None`: none of it.
    pub own_work: Option<String>,
    /// The counters of the operation.
    pub counters: Vec<Counter<'a>>,
}

impl<'a> Measured<'a> {
    /// The data of the operation with this number, with heat maps of at most so many rows and columns.
    pub fn new(source: &'a Source, number: usize, cells: (usize, usize)) -> Result<Measured<'a>> {
        let ranks = source.ranks(number);
        let mut measured = Measured::of_times(source, number, &ranks, &[RunTime::Local])?;
        if ranks.have_stamps() {
            measured.look_at_stamps(&ranks, cells);
        } else {
            let mut greatest = Greatest::default();
            (0..ranks.numbers.len()).for_each(|index| greatest.add(index, &ranks.duration_ns(index)));
            measured.slowest = greatest.rank;
        }
        Ok(Measured {
            clock_error: source.traced().and_then(|traced| clock_error(traced, number)),
            counters: source.counters(number),
            ranks: ranks.numbers,
            ..measured
        })
    }

    /// Adds what is known by the ranks' stamps. They are read once, some repetitions at a time: their columns would
    /// take as much memory as all run times.
    fn look_at_stamps(&mut self, ranks: &Ranks, cells: (usize, usize)) {
        let count = self.repetition.len();
        let map = HeatMaker::new(&ranks.numbers, &self.repetition, cells);
        let ([mut global, mut last, mut enter_ns], [mut slowest, mut last_in]) =
            ([(); 3].map(|()| vec![0.0; count]), [(); 2].map(|()| vec![0; count]));
        let together = TOGETHER.next_multiple_of(map.per_cell.1);
        let times = (global.par_chunks_mut(together), last.par_chunks_mut(together), enter_ns.par_chunks_mut(together));
        let who = (slowest.par_chunks_mut(together), last_in.par_chunks_mut(together));
        let look = |(number, ((global, last, enter_ns), (slowest, last_in))): (usize, Stretch)| {
            let first = number * together;
            let look = Look::new(ranks, first..first + global.len());
            for (row, spans) in look.spans.iter().enumerate() {
                (global[row], last[row]) = (spans.run_time(RunTime::Global), spans.run_time(RunTime::Last));
                enter_ns[row] = spans.first_enter;
            }
            slowest.copy_from_slice(&look.slowest.rank);
            last_in.copy_from_slice(&look.last_in.rank);
            map.columns(&look)
        };
        let columns = (times, who).into_par_iter().enumerate().map(look).collect();
        self.heat = map.finish(columns);
        self.times.extend([(RunTime::Global, global), (RunTime::Last, last)]);
        (self.enter_ns, self.slowest, self.last_in) = (enter_ns, slowest, last_in);
    }

    /// The data that fit on a terminal: run times by this definition, and the local ones, which the account goes by.
    pub fn for_terminal(source: &'a Source, number: usize, time: RunTime) -> Result<Measured<'a>> {
        let times = if time == RunTime::Local { vec![time] } else { vec![RunTime::Local, time] };
        Measured::of_times(source, number, &source.ranks(number), &times)
    }

    /// With run times by these definitions, the local one first, and nothing of single ranks.
    fn of_times(source: &'a Source, number: usize, ranks: &Ranks, times: &[RunTime]) -> Result<Measured<'a>> {
        let mut repetition = Vec::new();
        let mut found = Vec::new();
        for &time in times {
            let of_time = source.run_times(number, time)?;
            if found.is_empty() {
                repetition = of_time.repetition.into_owned();
            }
            found.push((time, of_time.run_time_ns));
        }
        Ok(Measured {
            subject: subject(source, number, &ranks.numbers),
            source,
            repetition,
            times: found,
            enter_ns: Vec::new(),
            ranks: Vec::new(),
            slowest: Vec::new(),
            last_in: Vec::new(),
            heat: None,
            clock_error: None,
            own_work: source.own_work(number).and_then(own_work_text),
            counters: Vec::new(),
        })
    }
}

/// Columns of some repetitions: run times by the definitions that compare ranks, the first entry, and who was longest
/// in the call and came last.
type Stretch<'c> = ((&'c mut [f64], &'c mut [f64], &'c mut [f64]), (&'c mut [u32], &'c mut [u32]));

/// The times of the ranks in some repetitions.
struct Look {
    spans: Vec<Spans>,
    /// The entries of each rank, ns.
    enter_ns: Vec<Vec<f64>>,
    /// Their exits, ns.
    exit_ns: Vec<Vec<f64>>,
    duration_ns: Vec<Vec<f64>>,
    slowest: Greatest,
    last_in: Greatest,
}

impl Look {
    fn new(ranks: &Ranks, repetitions: Range<usize>) -> Look {
        let mut look = Look {
            spans: vec![Spans::default(); repetitions.len()],
            enter_ns: Vec::new(),
            exit_ns: Vec::new(),
            duration_ns: Vec::new(),
            slowest: Greatest::default(),
            last_in: Greatest::default(),
        };
        for index in 0..ranks.numbers.len() {
            let Some([enter, exit, duration]) = ranks.times_of(index, repetitions.clone()) else { continue };
            let times = enter.iter().zip(&exit).zip(&duration);
            for (spans, ((&enter_ns, &exit_ns), &duration_ns)) in look.spans.iter_mut().zip(times) {
                spans.add(Span { enter_ns, exit_ns, duration_ns });
            }
            look.slowest.add(index, &duration);
            look.last_in.add(index, &enter);
            look.enter_ns.push(enter);
            look.exit_ns.push(exit);
            look.duration_ns.push(duration);
        }
        look
    }
}

/// For each repetition the index of the rank whose value is greatest.
#[derive(Default)]
struct Greatest {
    value: Vec<f64>,
    rank: Vec<u32>,
}

impl Greatest {
    fn add(&mut self, index: usize, values: &[f64]) {
        if index == 0 {
            (self.value, self.rank) = (values.to_vec(), vec![0; values.len()]);
        }
        for ((greatest, rank), &value) in self.value.iter_mut().zip(&mut self.rank).zip(values) {
            if value > *greatest {
                (*greatest, *rank) = (value, index as u32);
            }
        }
    }
}

/// The half width of the entries' global times over some of the repetitions: of each the rank whose is largest.
fn clock_error(traced: &Traced, number: usize) -> Option<ClockError> {
    let operation = &traced.run.operations.operations[number];
    let step = operation.repetitions().div_ceil(ERRORS).max(1);
    let of_row = |row: usize| {
        let records = operation.records(row).iter().zip(&operation.parts);
        let errors: Option<Vec<f64>> = records
            .map(|(record, &part)| {
                traced.run.clock.of_part(part).error_ns(traced.run.trace.parts[part].times_of(record as usize).0)
            })
            .collect();
        errors.map(|errors| errors.into_iter().fold(0.0, f64::max))
    };
    let mut errors = operation.complete_rows().step_by(step).map(of_row).collect::<Option<Vec<f64>>>()?;
    let max_ns = errors.iter().copied().reduce(f64::max)?;
    Some(ClockError { median_ns: mpitrace_statistics::median(&mut errors)?, max_ns })
}

fn subject(source: &Source, number: usize, world_ranks: &[u32]) -> Subject {
    let host = |rank: &u32| source.traced().and_then(|traced| host(traced, *rank));
    let groups = grouped(world_ranks.iter().copied(), host).into_iter();
    let nodes = groups.filter_map(|(host, ranks)| Some((host?, ranks))).collect();
    Subject { operation: source.operations()[number].clone(), nodes }
}

fn host(traced: &Traced, rank: u32) -> Option<String> {
    let part = traced.run.trace.parts.iter().find(|part| part.rank() == rank)?;
    metadata::get(&part.metadata(), "host").filter(|host| *host != UNKNOWN).map(str::to_owned)
}

/// Fills the cells of the heat maps.
struct HeatMaker {
    heat: Heat,
    /// Ranks of a row, repetitions of a column.
    per_cell: (usize, usize),
}

impl HeatMaker {
    fn new(world_ranks: &[u32], repetition: &[u64], cells: (usize, usize)) -> HeatMaker {
        let per_cell = (world_ranks.len().div_ceil(cells.0).max(1), repetition.len().div_ceil(cells.1).max(1));
        let ranks: Vec<(u32, u32)> =
            world_ranks.chunks(per_cell.0).map(|group| (group[0], group[group.len() - 1])).collect();
        let mut repetitions: Vec<u64> = repetition.iter().step_by(per_cell.1).copied().collect();
        repetitions.extend(repetition.last());
        let empty = vec![Vec::new(); ranks.len()];
        let (arrival_ns, departure_ns, run_time_ns) = (empty.clone(), empty.clone(), empty);
        HeatMaker { heat: Heat { ranks, repetitions, arrival_ns, departure_ns, run_time_ns }, per_cell }
    }

    /// The columns of the maps, arrival, departure and run time, row by row, over repetitions that begin with one of a
    /// column.
    fn columns(&self, look: &Look) -> [Vec<Vec<f64>>; 3] {
        let cells = vec![f64::NEG_INFINITY; look.spans.len().div_ceil(self.per_cell.1)];
        let mut maps = [(); 3].map(|()| vec![cells.clone(); self.heat.ranks.len()]);
        let mut add = |map: usize, index: usize, values: &[f64]| {
            for (cell, values) in maps[map][index / self.per_cell.0].iter_mut().zip(values.chunks(self.per_cell.1)) {
                *cell = values.iter().fold(*cell, |most, &value| most.max(value));
            }
        };
        let mut first_exit = vec![f64::INFINITY; look.spans.len()];
        for exit in &look.exit_ns {
            first_exit.iter_mut().zip(exit).for_each(|(first, exit)| *first = first.min(*exit));
        }
        let times = look.enter_ns.iter().zip(&look.exit_ns).zip(&look.duration_ns);
        for (index, ((enter, exit), duration)) in times.enumerate() {
            let late: Vec<f64> =
                enter.iter().zip(&look.spans).map(|(enter, spans)| enter - spans.first_enter).collect();
            add(0, index, &late);
            add(1, index, &exit.iter().zip(&first_exit).map(|(exit, first)| exit - first).collect::<Vec<f64>>());
            add(2, index, duration);
        }
        maps
    }

    /// `None` where one rank would be compared with itself.
    fn finish(mut self, columns: Vec<[Vec<Vec<f64>>; 3]>) -> Option<Heat> {
        for [arrival, departure, run_time] in columns {
            let Heat { arrival_ns, departure_ns, run_time_ns, .. } = &mut self.heat;
            for (map, more) in [(arrival_ns, arrival), (departure_ns, departure), (run_time_ns, run_time)] {
                map.iter_mut().zip(more).for_each(|(row, more)| row.extend(more));
            }
        }
        let several = self.heat.ranks.iter().any(|(first, last)| first != last) || self.heat.ranks.len() > 1;
        (several && self.heat.repetitions.len() > 1).then_some(self.heat)
    }
}
