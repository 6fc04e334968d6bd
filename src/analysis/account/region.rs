//! The account of the program's regions: a region is a label over the time of a rank, so a region within another one
//! counts in both.

use std::collections::HashMap;

use mpitrace_format::layout::OPERATION_MASK;
use mpitrace_trace::clock::{Clock, RankClock};
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::{Part, Trace};

use super::calls::for_each_call;
use super::parts::Parts;

/// The time in a region, of the threads that called MPI_Init, all ranks together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionAccount {
    /// Its name.
    pub name: String,
    /// How often it was begun and ended.
    pub repetitions: usize,
    /// The time in it, ns; within itself it counts once.
    pub ns: f64,
    /// The collective calls in it.
    pub calls: Parts,
    /// Off the processor outside of calls, ns. Between two calls it is not known when: as if all along.
    pub off_ns: f64,
}

/// The regions of a trace, in the order of their names.
pub fn regions(trace: &Trace, clock: &Clock, operations: &Operations) -> Vec<RegionAccount> {
    let mut regions: Vec<RegionAccount> = Vec::new();
    let labels = trace.parts.iter().enumerate();
    let labels: Vec<Labels> =
        labels.map(|(index, part)| Labels::new(part, clock.of_part(index), &mut regions)).collect();
    if regions.is_empty() {
        return regions;
    }
    for operation in operations.operations.iter().filter(|operation| !operation.key.is_region) {
        for_each_call(trace, clock, operation, |spent| {
            let run_time = spent.init_ns + spent.may_wait_ns;
            let parts = Parts::split(run_time, Some(spent.parts.waiting), spent.parts.interrupted);
            let labels = &labels[spent.part];
            labels.regions_during(spent.enter_ns).iter().for_each(|&region| regions[region].calls += parts);
            let (off, all) = (spent.before.off.sum(), spent.before.off.sum() + spent.before.worked_ns);
            if off > 0.0 {
                let add = |region: usize, ns: f64| regions[region].off_ns += off * ns / all;
                labels.regions_between(spent.enter_ns - all, spent.enter_ns, add);
            }
        });
    }
    regions.sort_by(|one, other| one.name.cmp(&other.name));
    regions
}

/// The regions that a rank was in, over its time.
#[derive(Default)]
struct Labels {
    /// From when on, ns of global time, it was in which of `sets`.
    from: Vec<(f64, usize)>,
    sets: Vec<Vec<usize>>,
}

impl Labels {
    fn new(part: &Part, clock: &RankClock, regions: &mut Vec<RegionAccount>) -> Labels {
        let mut labels = Labels { from: Vec::new(), sets: vec![Vec::new()] };
        let mut known: HashMap<Vec<usize>, usize> = HashMap::from([(Vec::new(), 0)]);
        // With their ends, in the order in which they were begun.
        let mut open: Vec<(u64, usize)> = Vec::new();
        let mut close =
            |labels: &mut Labels, open: &mut Vec<(u64, usize)>, until: u64, begins: Option<(u64, usize)>| {
                let mut now = |labels: &mut Labels, tick: u64, open: &[(u64, usize)]| {
                    let set: Vec<usize> = open.iter().map(|(_, region)| *region).collect();
                    let number = *known.entry(set.clone()).or_insert(labels.sets.len());
                    if number == labels.sets.len() {
                        labels.sets.push(set);
                    }
                    labels.from.push((clock.nanoseconds(tick), number));
                };
                while let Some(at) = (0..open.len()).filter(|&at| open[at].0 <= until).min_by_key(|&at| open[at].0) {
                    let (end, _) = open.remove(at);
                    now(labels, end, open);
                }
                if let Some(begun) = begins {
                    open.push(begun);
                    now(labels, until, open);
                }
            };
        for_each_region(part, |name, begin, end| {
            let region = regions.iter().position(|region| region.name == name).unwrap_or_else(|| {
                regions.push(RegionAccount { name: name.to_owned(), ..RegionAccount::default() });
                regions.len() - 1
            });
            regions[region].repetitions += 1;
            let within_itself = open.iter().any(|&(until, other)| other == region && until > begin);
            close(&mut labels, &mut open, begin, (!within_itself).then_some((end, region)));
            if !within_itself {
                regions[region].ns += clock.duration_ns(begin, end);
            }
        });
        close(&mut labels, &mut open, u64::MAX, None);
        labels
    }

    /// The regions of each piece of this time, and how long it is, ns.
    fn regions_between(&self, from: f64, until: f64, mut each: impl FnMut(usize, f64)) {
        let first = self.from.partition_point(|&(begin, _)| begin <= from);
        let changes = self.from[first..].iter().map(|&(begin, _)| begin).take_while(|&begin| begin < until);
        let mut now = from;
        for end in changes.chain([until]) {
            self.regions_during(now).iter().for_each(|&region| each(region, end - now));
            now = end;
        }
    }

    fn regions_during(&self, ns: f64) -> &[usize] {
        let place = self.from.partition_point(|&(from, _)| from <= ns);
        place.checked_sub(1).map_or(&[], |place| &self.sets[self.from[place].1])
    }
}

/// The regions that the thread that called MPI_Init has ended: name, first and last tick, in the order of their begins.
fn for_each_region(part: &Part, mut each: impl FnMut(&str, u64, u64)) {
    let names: Vec<Option<String>> = part
        .operations()
        .iter()
        .map(|entry| entry.is_region().then(|| part.text(entry.function).unwrap_or_default()))
        .collect();
    if names.iter().all(Option::is_none) {
        return;
    }
    let wanted = part.main_thread();
    let mut behind = 0;
    for run in part.runs() {
        let records = behind..behind + run.count as usize;
        behind = records.end;
        if run.thread != wanted {
            continue;
        }
        for record in records {
            let operation = (part.operation_of(record) & OPERATION_MASK) as usize;
            let (begin, end) = part.times_of(record);
            if let Some(name) = names[operation].as_ref().filter(|_| end > 0) {
                each(name, begin, end);
            }
        }
    }
}
