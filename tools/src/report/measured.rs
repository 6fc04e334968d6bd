//! What was measured of an operation, before anything is made of it: its columns, whatever source they come from.

use anyhow::Result;
use mpitrace::run_time::RunTime;
use mpitrace_format::metadata::{self, UNKNOWN};

use super::fingerprint::{ClockError, Heat, Subject};
use crate::source::{Counter, Ranks, Source, Traced, own_work_text};

/// Repetitions of which the clock's error is looked at.
const ERRORS: usize = 2000;

/// All complete repetitions of an operation.
#[derive(Debug)]
pub struct Measured<'a> {
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
    pub heat: Option<Heat>,
    pub clock_error: Option<ClockError>,
    /// How much of its run times is the program's own computation, for people; `None`: none of it.
    pub own_work: Option<String>,
    pub counters: Vec<Counter<'a>>,
}

impl<'a> Measured<'a> {
    /// Of the operation with this number, with heat maps of at most so many rows and columns.
    pub fn new(source: &'a Source, number: usize, cells: (usize, usize)) -> Result<Measured<'a>> {
        let ranks = source.ranks(number);
        let times = if ranks.have_stamps() { &RunTime::ALL[..] } else { &[RunTime::Local] };
        let measured = Measured::of_times(source, number, &ranks, times)?;
        let mut heat = HeatMaker::new(&ranks.numbers, &measured.repetition, cells);
        let slowest = greatest(ranks.numbers.len(), |index| {
            let took = ranks.duration_ns(index);
            heat.add(index, &took, |heat| &mut heat.run_time_ns);
            took
        });
        let (last_in, enter_ns) = arrivals(&ranks, &mut heat);
        Ok(Measured {
            enter_ns,
            slowest,
            last_in,
            heat: heat.finish(ranks.have_stamps()),
            clock_error: source.traced().and_then(|traced| clock_error(traced, number)),
            counters: source.counters(number),
            ranks: ranks.numbers,
            ..measured
        })
    }

    /// What a terminal has room for: run times by this definition, and the local ones, which the account goes by.
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

/// For each repetition the index of the rank whose value is greatest; a rank's column is held at a time.
fn greatest(ranks: usize, mut column: impl FnMut(usize) -> Vec<f64>) -> Vec<u32> {
    let (mut most, mut found): (Vec<f64>, Vec<u32>) = (Vec::new(), Vec::new());
    for index in 0..ranks {
        let values = column(index);
        if index == 0 {
            found = vec![0; values.len()];
            most = values;
            continue;
        }
        for ((most, found), value) in most.iter_mut().zip(&mut found).zip(values) {
            if value > *most {
                (*most, *found) = (value, index as u32);
            }
        }
    }
    found
}

/// Who came last, and when the first did.
fn arrivals(ranks: &Ranks, heat: &mut HeatMaker) -> (Vec<u32>, Vec<f64>) {
    if !ranks.have_stamps() {
        return (Vec::new(), Vec::new());
    }
    let mut first: Vec<f64> = Vec::new();
    let last_in = greatest(ranks.numbers.len(), |index| {
        let enter = ranks.enter_ns(index).unwrap_or_default();
        if first.is_empty() {
            first.clone_from(&enter);
        }
        first.iter_mut().zip(&enter).for_each(|(first, &enter)| *first = first.min(enter));
        enter
    });
    for index in 0..ranks.numbers.len() {
        let enter = ranks.enter_ns(index).unwrap_or_default();
        let late: Vec<f64> = enter.iter().zip(&first).map(|(enter, first)| enter - first).collect();
        heat.add(index, &late, |heat| &mut heat.arrival_ns);
    }
    (last_in, first)
}

/// The half width of the entries' global times over some of the repetitions: of each the rank whose is largest.
fn clock_error(traced: &Traced, number: usize) -> Option<ClockError> {
    let operation = &traced.operations.operations[number];
    let step = operation.repetitions().div_ceil(ERRORS).max(1);
    let of_row = |row: usize| {
        let records = operation.records(row).iter().zip(&operation.parts);
        let errors: Option<Vec<f64>> = records
            .map(|(record, &part)| {
                traced.clock.of_part(part).error_ns(traced.trace.parts[part].times_of(record as usize).0)
            })
            .collect();
        errors.map(|errors| errors.into_iter().fold(0.0, f64::max))
    };
    let mut errors = operation.complete_rows().step_by(step).map(of_row).collect::<Option<Vec<f64>>>()?;
    let max_ns = errors.iter().copied().reduce(f64::max)?;
    Some(ClockError { median_ns: mpitrace::statistics::median(&mut errors)?, max_ns })
}

fn subject(source: &Source, number: usize, world_ranks: &[u32]) -> Subject {
    let mut nodes: Vec<(String, Vec<u32>)> = Vec::new();
    for &rank in world_ranks {
        let Some(host) = source.traced().and_then(|traced| host(traced, rank)) else { continue };
        match nodes.iter_mut().find(|(name, _)| *name == host) {
            Some((_, ranks)) => ranks.push(rank),
            None => nodes.push((host, vec![rank])),
        }
    }
    Subject { operation: source.operations()[number].clone(), nodes }
}

fn host(traced: &Traced, rank: u32) -> Option<String> {
    let part = traced.trace.parts.iter().find(|part| part.rank() == rank)?;
    metadata::get(&part.metadata(), "host").filter(|host| *host != UNKNOWN).map(str::to_owned)
}

/// Fills the cells of the two heat maps.
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
        let empty = vec![vec![f64::NEG_INFINITY; repetitions.len()]; ranks.len()];
        repetitions.extend(repetition.last());
        HeatMaker { heat: Heat { ranks, repetitions, arrival_ns: empty.clone(), run_time_ns: empty }, per_cell }
    }

    /// Adds the column of a rank to one of the maps.
    fn add(&mut self, index: usize, values: &[f64], map: impl Fn(&mut Heat) -> &mut Vec<Vec<f64>>) {
        let row = &mut map(&mut self.heat)[index / self.per_cell.0];
        for (cell, values) in row.iter_mut().zip(values.chunks(self.per_cell.1)) {
            *cell = values.iter().fold(*cell, |most, &value| most.max(value));
        }
    }

    /// `None` where one rank would be compared with itself, and where arrivals are not known.
    fn finish(self, stamps: bool) -> Option<Heat> {
        let several = self.heat.ranks.iter().any(|(first, last)| first != last) || self.heat.ranks.len() > 1;
        (stamps && several && self.heat.repetitions.len() > 1).then_some(self.heat)
    }
}
