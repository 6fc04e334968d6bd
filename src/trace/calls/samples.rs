//! The samples of a run: in which repetition of which operation each of them fell, and which code runs in slow
//! repetitions and not in the good ones.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::PathBuf;

use mpitrace_format::TraceError;
use mpitrace_format::samples::{EMPTY, Samples};
use mpitrace_statistics::median;
use serde::Serialize;

use crate::clock::period_ns;
use crate::operations::{NO_RECORD, Operation};
use crate::reader::{Part, Trace};

/// The time in the kernel, as a frame.
const KERNEL: &str = "[kernel]";

/// The samples of a trace.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_format::samples::{Samples, Thread};
/// use mpitrace_trace::calls::samples::RunSamples;
/// use mpitrace_trace::{operations::Operations, reader::Trace};
///
/// let trace = Trace::open(&[&path])?;
/// let operations = Operations::new(&trace);
/// assert!(RunSamples::open(&trace, &[path])?.is_none(), "no samples were taken");
/// // Two samples of rank 0, in its first call and in its second one; the second one is in another function.
/// let frames = ["sum (app.c:3)", "copy (app.c:9)"].map(str::to_owned).to_vec();
/// let thread = Thread { samples: vec![(1_001_000, 1), (1_021_000, 2)], ..Thread::default() };
/// let samples = Samples { frames, stacks: vec![(0, 0), (0, 1)], threads: vec![thread], ..Samples::default() };
/// let run = RunSamples { samples, threads: vec![(0, vec![1_001_000, 1_021_000])], ..RunSamples::default() };
/// let allreduce = &operations.operations[0];
/// assert_eq!(run.in_calls(&trace, allreduce, false, 0..10).collect::<Vec<_>>(), [(0, 0, 0), (1, 0, 1)]);
/// let found = run.in_repetitions(&trace, allreduce);
/// assert_eq!(found, [(0, 1), (1, 2)]);
/// let contrast = run.contrast(&found, |repetition| Some(repetition == 1));
/// assert_eq!((contrast.samples, contrast.differences.iter().all(|found| found.by() > 0.0)), ([1, 1], true));
/// // A sample costs some us, which are taken off.
/// let mut run_time_ns = [5e5; 10];
/// run_time_ns[1] += 3e3;
/// run.correct(&trace, allreduce, &mut run_time_ns);
/// assert!(run_time_ns[1] <= 5e5 + 3e3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct RunSamples {
    /// Texts and stacks; of its threads those that the trace has.
    pub samples: Samples,
    /// For each of its threads the index of the rank's part, and the ticks of the samples.
    pub threads: Vec<(usize, Vec<u64>)>,
    /// For each of the threads in `samples.asleep` the same.
    pub asleep: Vec<(usize, Vec<u64>)>,
    /// The indices of the parts whose processes were seen to end, and the ticks of that.
    pub ends: Vec<(usize, u64)>,
}

impl RunSamples {
    /// The samples beside the files of a trace; `None`: there are none.
    ///
    /// # Errors
    /// A file of samples that cannot be read. Those of another run are left out.
    pub fn open(trace: &Trace, files: &[PathBuf]) -> Result<Option<RunSamples>, TraceError> {
        let mut all = RunSamples::default();
        for path in files.iter().map(|file| Samples::beside(file)).filter(|path| path.exists()) {
            let Samples { job, frames, stacks, threads, mut preempted, asleep, ends, .. } = Samples::read(&path)?;
            let (known_frames, known_stacks) = (all.samples.frames.len() as u32, all.samples.stacks.len() as u32);
            let moved = |stack: u32| if stack == EMPTY { EMPTY } else { stack + known_stacks };
            all.samples.frames.extend(frames);
            let stacks = stacks.into_iter().map(|(below, frame)| (moved(below), frame + known_frames));
            all.samples.stacks.extend(stacks);
            if trace.parts.iter().any(|part| part.info().job == job) {
                all.samples.preempted.append(&mut preempted);
            }
            for (rank, ns) in ends {
                let is_of = |part: &Part| part.rank() == rank && part.info().job == job;
                let Some(index) = trace.parts.iter().position(is_of) else { continue };
                all.ends.push((index, tick_of(&trace.parts[index], ns)));
            }
            let kinds = [threads, asleep].into_iter().zip([false, true]);
            for (mut thread, is_asleep) in kinds.flat_map(|(all, kind)| all.into_iter().map(move |one| (one, kind))) {
                let is_of = |part: &Part| part.rank() == thread.rank && part.info().job == job;
                let Some(index) = trace.parts.iter().position(is_of) else { continue };
                let tick = |&(ns, _): &(u64, u32)| tick_of(&trace.parts[index], ns);
                let ticks = (index, thread.samples.iter().map(tick).collect());
                thread.samples.iter_mut().for_each(|(_, stack)| *stack = moved(*stack));
                let (of_ticks, of_threads) = match is_asleep {
                    true => (&mut all.asleep, &mut all.samples.asleep),
                    false => (&mut all.threads, &mut all.samples.threads),
                };
                of_ticks.push(ticks);
                of_threads.push(thread);
            }
        }
        let is_empty = all.threads.is_empty() && all.samples.preempted.is_empty() && all.ends.is_empty();
        Ok((!is_empty).then_some(all))
    }

    /// The samples in these calls of an operation, or also before them, since the thread's call before: the place of
    /// the repetition among `rows`, the thread's number and the sample's.
    pub fn in_calls<'s>(
        &'s self,
        trace: &'s Trace,
        operation: &'s Operation,
        also_before: bool,
        rows: impl Iterator<Item = usize> + Clone + 's,
    ) -> impl Iterator<Item = (u32, usize, usize)> + 's {
        let threads = self.threads.iter().zip(&self.samples.threads).enumerate();
        threads.flat_map(move |(number, ((part, ticks), thread))| {
            let member = operation.parts.iter().position(|index| index == part);
            let part = &trace.parts[*part];
            let calls = member.map(|member| rows.clone().map(move |row| operation.records(row).get(member)));
            let of_thread = runs_of(part, thread.tid);
            let is_of_thread = move |record: u32| of_thread.iter().any(|run| run.contains(&(record as usize)));
            (0..).zip(calls.into_iter().flatten()).flat_map(move |(place, record)| {
                let is_there = record != NO_RECORD && is_of_thread(record);
                let (enter, exit) = if is_there { part.times_of(record as usize) } else { (1, 0) };
                let before = record.checked_sub(1).filter(|before| is_there && also_before && is_of_thread(*before));
                let from = before.map_or(enter, |before| part.times_of(before as usize).1);
                let first = ticks.partition_point(|tick| *tick < from);
                let behind = ticks.partition_point(|tick| *tick <= exit);
                (first..behind.max(first)).map(move |sample| (place, number, sample))
            })
        })
    }

    /// The stacks of the samples in the complete repetitions of an operation, by the places of these, ascending.
    pub fn in_repetitions(&self, trace: &Trace, operation: &Operation) -> Vec<(u32, u32)> {
        let rows: Vec<usize> = operation.complete_rows().collect();
        let stack =
            |(place, thread, sample): (u32, usize, usize)| (place, self.samples.threads[thread].samples[sample].1);
        let mut found: Vec<(u32, u32)> =
            self.in_calls(trace, operation, false, rows.iter().copied()).map(stack).collect();
        found.sort_unstable();
        found
    }

    /// Takes the cost of samples, some us each, off the run times (ns) of the complete repetitions of an operation, so
    /// that short ones with a sample are no outliers. The cost is estimated from the repetitions with one sample,
    /// beside the one before. A repetition that is not much longer than it has the run time of the one before.
    pub fn correct(&self, trace: &Trace, operation: &Operation, run_time_ns: &mut [f64]) {
        let rows: Vec<usize> = operation.complete_rows().collect();
        let mut samples = vec![0u32; rows.len()];
        let found = self.in_calls(trace, operation, true, rows.iter().copied());
        found.for_each(|(place, ..)| samples[place as usize] += 1);
        let pairs = || (1..rows.len()).map(|place| [place - 1, place]);
        let single = pairs().filter(|[before, behind]| samples[*before] == 0 && samples[*behind] == 1);
        let mut beyond: Vec<f64> = single.map(|[before, behind]| run_time_ns[behind] - run_time_ns[before]).collect();
        let cost = median(&mut beyond).unwrap_or(0.0).clamp(0.0, DEAREST);
        for place in (0..rows.len()).filter(|place| samples[*place] > 0) {
            let (cost, measured) = (f64::from(samples[place]) * cost, run_time_ns[place]);
            let before = place.checked_sub(1).map_or(measured, |before| run_time_ns[before]);
            let is_known = cost < SMALL * before || measured - before > LARGE * cost;
            run_time_ns[place] = if is_known { (measured - cost).max(0.0) } else { before };
        }
    }

    /// The code that runs in a group of repetitions for a larger share of the time than in others: the largest
    /// difference first. `found`: as of [`RunSamples::in_repetitions`]; `is_member` says of a repetition whether it is
    /// of the group, of the others, or (`None`) of neither.
    pub fn contrast(&self, found: &[(u32, u32)], is_member: impl Fn(u32) -> Option<bool>) -> Contrast {
        let mut features = Features::default();
        let mut units: Vec<(bool, Vec<usize>)> = Vec::new();
        for repetition in found.chunk_by(|one, other| one.0 == other.0) {
            let Some(member) = is_member(repetition[0].0) else { continue };
            let stacks = repetition.iter().map(|(_, stack)| features.number(&self.samples, *stack)).collect();
            units.push((member, stacks));
        }
        contrast(&units, &features)
    }
}

/// The tick of a rank at a moment of CLOCK_MONOTONIC_RAW, ns.
fn tick_of(part: &Part, ns: u64) -> u64 {
    let anchor = part.info().first_anchor;
    let since = ns.wrapping_sub(anchor.raw_ns) as i64 as f64;
    anchor.tick.wrapping_add_signed((since / period_ns(part.info())) as i64)
}

/// The records of a thread, of all those with this number.
fn runs_of(part: &Part, tid: u32) -> Vec<Range<usize>> {
    let mut first = 0;
    let run = |run: &mpitrace_format::layout::RunEntry| {
        let range = first..first + run.count as usize;
        first = range.end;
        (part.threads()[run.thread as usize].tid == tid).then_some(range)
    };
    part.runs().iter().filter_map(run).collect()
}

/// Which code runs for longer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contrast {
    /// Samples in the group and in the others.
    pub samples: [usize; 2],
    /// The largest difference first.
    pub differences: Vec<Difference>,
}

/// Code that runs in a group of repetitions for a larger share of the time than in others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The function with its line, or the kernel and the function below it.
    pub frame: String,
    /// The share of the samples in the group with it on the stack, ...
    pub share: f64,
    /// ... and of those in the others.
    pub share_others: f64,
    /// The probability of such a difference by chance, corrected for the number of frames.
    pub p: f64,
}

/// No sample costs more, ns.
const DEAREST: f64 = 50_000.0;
/// The cost of samples is taken off a run time of which it is a smaller share, or ...
const SMALL: f64 = 0.1;
/// ... that is longer than the one before by so many times the cost.
const LARGE: f64 = 4.0;

/// Named are differences with this probability or less ...
const LEVEL: f64 = 0.05;
/// ... of this share of the time or more.
const NOTICEABLE: f64 = 0.1;
/// Among functions that call each other the innermost is named that has so much of the difference.
const MOST: f64 = 0.8;
const NAMED: usize = 3;
/// Ways in which repetitions change sides, ...
const WAYS: usize = 999;
/// ... and fewer of many.
const CHANGES: usize = 100_000_000;

/// The features of which the stacks consist.
#[derive(Default)]
struct Features {
    names: HashMap<String, usize>,
    /// How deep each lies at most.
    depth: Vec<usize>,
    /// The numbers of stacks here, and of each the features that it has.
    numbers: HashMap<u32, usize>,
    of_stack: Vec<Vec<usize>>,
}

impl Features {
    fn number(&mut self, samples: &Samples, stack: u32) -> usize {
        if let Some(known) = self.numbers.get(&stack) {
            return *known;
        }
        let mut frames: Vec<&str> = samples.frames_of(stack).collect();
        frames.reverse();
        let entry = frames.iter().position(|frame| *frame == KERNEL);
        let name = |(depth, frame): (usize, &&str)| match entry.filter(|entry| depth >= *entry) {
            None => (*frame).to_owned(),
            Some(entry) => {
                let inside = if depth > entry { format!(" {frame}") } else { String::new() };
                let below = entry.checked_sub(1).map_or(String::new(), |caller| format!(" below {}", frames[caller]));
                format!("{KERNEL}{inside}{below}")
            }
        };
        let mut in_stack = BTreeSet::new();
        for (depth, name) in frames.iter().enumerate().map(|(depth, frame)| (depth, name((depth, frame)))) {
            let next = self.names.len();
            let feature = *self.names.entry(name).or_insert(next);
            self.depth.resize(self.names.len(), 0);
            self.depth[feature] = self.depth[feature].max(depth);
            in_stack.insert(feature);
        }
        self.numbers.insert(stack, self.of_stack.len());
        self.of_stack.push(in_stack.into_iter().collect());
        self.of_stack.len() - 1
    }
}

/// How often each feature is on the stacks of the samples on each side.
struct Counts {
    samples: [f64; 2],
    features: Vec<[f64; 2]>,
}

impl Counts {
    /// With these repetitions, by number, as the group.
    fn new(units: &[(bool, Vec<usize>)], is_member: impl Fn(usize) -> bool, features: &Features) -> Counts {
        let mut stacks = vec![[0.0; 2]; features.of_stack.len()];
        for (number, (_, of_unit)) in units.iter().enumerate() {
            let side = usize::from(!is_member(number));
            of_unit.iter().for_each(|stack| stacks[*stack][side] += 1.0);
        }
        let mut counts = Counts { samples: [0.0; 2], features: vec![[0.0; 2]; features.names.len()] };
        for (in_stack, stack) in features.of_stack.iter().zip(stacks) {
            for (side, count) in stack.into_iter().enumerate() {
                counts.samples[side] += count;
                in_stack.iter().for_each(|feature| counts.features[*feature][side] += count);
            }
        }
        counts
    }

    fn shares(&self, feature: usize) -> [f64; 2] {
        [0, 1].map(|side| self.features[feature][side] / self.samples[side])
    }

    /// The difference of the shares in standard deviations of samples that are all alike.
    fn statistic(&self, feature: usize) -> f64 {
        let ([one, other], all) = (self.shares(feature), self.samples[0] + self.samples[1]);
        let share = (self.features[feature][0] + self.features[feature][1]) / all;
        let variance = share * (1.0 - share) * (1.0 / self.samples[0] + 1.0 / self.samples[1]);
        if variance > 0.0 { (one - other) / variance.sqrt() } else { 0.0 }
    }
}

/// The differences that chance does not explain: repetitions change sides, with all their samples, and each difference
/// is held against the largest one of any frame (Westfall and Young 1993).
fn contrast(units: &[(bool, Vec<usize>)], features: &Features) -> Contrast {
    let observed = Counts::new(units, |number| units[number].0, features);
    let samples = observed.samples.map(|count| count as usize);
    if samples.contains(&0) {
        return Contrast { samples, differences: Vec::new() };
    }
    let statistics: Vec<f64> = (0..features.names.len()).map(|feature| observed.statistic(feature)).collect();
    let (all, members) = (units.len(), units.iter().filter(|(member, _)| *member).count());
    let work = all + features.of_stack.iter().map(Vec::len).sum::<usize>();
    let ways = WAYS.min(CHANGES / work).max(99);
    // From a fixed seed: the same files give the same p.
    let mut random = fastrand::Rng::with_seed(1);
    let mut order: Vec<usize> = (0..all).collect();
    let mut is_member = vec![false; all];
    let mut reached = vec![1; features.names.len()];
    for _ in 0..ways {
        random.shuffle(&mut order);
        is_member.fill(false);
        order[..members].iter().for_each(|number| is_member[*number] = true);
        let counts = Counts::new(units, |number| is_member[number], features);
        let largest = (0..features.names.len()).map(|feature| counts.statistic(feature)).fold(f64::MIN, f64::max);
        reached
            .iter_mut()
            .zip(&statistics)
            .for_each(|(reached, statistic)| *reached += usize::from(largest >= *statistic));
    }
    let mut differences: Vec<(usize, Difference)> = features
        .names
        .iter()
        .map(|(frame, &feature)| {
            let p = reached[feature] as f64 / (ways + 1) as f64;
            let [share, share_others] = observed.shares(feature);
            (feature, Difference { frame: frame.clone(), share, share_others, p })
        })
        .filter(|(_, found)| found.p <= LEVEL && found.by() >= NOTICEABLE)
        .collect();
    let mut named: Vec<(usize, Difference)> = Vec::new();
    while named.len() < NAMED {
        let largest = differences.iter().map(|(_, found)| found.by()).fold(0.0, f64::max);
        let most = differences.iter().filter(|(_, found)| found.by() >= MOST * largest);
        let order = |(feature, found): &&(usize, Difference)| (features.depth[*feature], found.by());
        let next = most.max_by(|one, other| order(one).partial_cmp(&order(other)).unwrap_or(std::cmp::Ordering::Equal));
        let Some(next) = next.cloned() else { break };
        // What is on the same stacks is no other cause.
        let apart = |feature: usize| {
            let together = |in_stack: &&Vec<usize>| in_stack.contains(&feature) && in_stack.contains(&next.0);
            !features.of_stack.iter().any(|in_stack| together(&in_stack))
        };
        differences.retain(|(feature, _)| apart(*feature));
        named.push(next);
    }
    Contrast { samples, differences: named.into_iter().map(|(_, found)| found).collect() }
}

impl Difference {
    /// The difference of the shares.
    pub fn by(&self) -> f64 {
        self.share - self.share_others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Repetitions with one sample each: those below `warmup` are of the group.
    fn contrast_of(warmup: u32, count: u32, stack: impl Fn(u32) -> u32) -> Contrast {
        let samples = Samples {
            frames: ["main (a.c:3)", "fill (a.c:9)", KERNEL, "add (a.c:12)"].map(str::to_owned).to_vec(),
            stacks: vec![(EMPTY, 0), (1, 1), (2, 2), (1, 3)],
            ..Samples::default()
        };
        let run = RunSamples { samples, ..RunSamples::default() };
        let found: Vec<(u32, u32)> = (0..count).map(|row| (row, stack(row))).collect();
        run.contrast(&found, |row| Some(row < warmup))
    }

    #[test]
    fn the_innermost_code_of_the_slow_repetitions_is_named() {
        let found = contrast_of(40, 100, |row| if row < 40 && row % 4 != 0 { 3 } else { 4 });
        assert_eq!(found.samples, [40, 60]);
        let [one] = &found.differences[..] else { panic!("{found:?}") };
        assert_eq!((&one.frame[..], one.share, one.share_others), ("[kernel] below fill (a.c:9)", 0.75, 0.0));
        assert!(one.p <= 0.01, "{one:?}");
        let user = contrast_of(40, 100, |row| if row < 40 { 2 + row % 2 } else { 4 });
        assert_eq!(user.differences[0].frame, "fill (a.c:9)", "the half of it is no more than that");
    }

    #[test]
    fn code_that_is_spread_alike_is_not_named() {
        let mut state = 7u64;
        let mut named = 0;
        for _ in 0..100 {
            let mut stacks = Vec::new();
            for _ in 0..60 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                stacks.push(1 + (state >> 33) as u32 % 4);
            }
            named += usize::from(!contrast_of(20, 60, |row| stacks[row as usize]).differences.is_empty());
        }
        // At a level of 5 % more than 12 of 100 come by chance in 0.15 % of all cases.
        assert!(named <= 12, "{named} of 100");
    }
}
