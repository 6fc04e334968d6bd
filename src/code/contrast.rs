//! The functions that a late rank runs for longer than the ranks that wait for it.
//!
//! A function's time on the late rank is compared with its mean on the others in the same repetitions. The test is
//! about sampling: if a function runs on all ranks alike, each of its samples falls on any of them with the same
//! probability. Samples are assigned to the ranks at random in this way, many times, and each difference is compared
//! with the largest one of any function (Westfall and Young 1993).

use std::cmp::Ordering;
use std::collections::HashMap;

use mpitrace_analysis::account::ALONE;

use crate::stacks::{Call, Stacks};
use crate::windows::Unit;

/// Named are functions with this probability or less ...
const LEVEL: f64 = 0.05;
/// ... that have most of the difference: the innermost of them. Where that is spread over what it calls, ...
const MOST: f64 = 0.5;
/// ... those inside it with so much of it are named, ...
const NOTICEABLE: f64 = 0.2;
/// ... so many at most.
const NAMED: usize = 3;
/// A function with fewer samples is not looked at.
const FEWEST: u64 = 5;
/// Ranks do different things where the others run some functions for longer than the late one, for this share of the
/// difference; those are counted whose difference is so many standard deviations.
const DIFFERENT: f64 = 0.3;
const CLEAR: f64 = 3.0;
/// Samples are assigned to the ranks so often, and less often where they are many.
const WAYS: usize = 999;
const FEWEST_WAYS: usize = 99;
const ASSIGNED: usize = 100_000_000;

/// A function that a late rank runs for longer.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its place on a stack, with the line that has most of the time.
    pub call: Call,
    /// The frame of its caller in the program.
    pub caller: Option<u32>,
    /// The function of a library that it called there, the most often.
    pub called: Option<u32>,
    /// The share of the difference, 0 to 1.
    pub share: f64,
    /// The probability of such a difference by sampling alone, corrected for the number of functions.
    pub p: f64,
}

/// The difference between late ranks and those that wait.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contrast {
    /// Samples of the program outside of MPI: of the late ranks, and of the others.
    pub samples: [u64; 2],
    /// The time by which the late ranks ran the program for longer, ns.
    pub longer_ns: f64,
    /// The functions that the test supports, the largest share first.
    pub found: Vec<Found>,
}

/// Samples of one stack in repetitions with as many waiting ranks.
struct Group {
    stack: u32,
    others: f64,
    /// The processor time of each, ns.
    ns: f64,
    late: u64,
    all: u64,
}

impl Group {
    /// The difference with so many of them on the late rank, ns.
    fn difference(&self, late: u64) -> f64 {
        (late as f64 - (self.all - late) as f64 / self.others) * self.ns
    }

    /// The variance of the difference.
    fn variance(&self) -> f64 {
        self.all as f64 * self.ns * self.ns / self.others
    }
}

/// Compares the samples of late ranks with those of the ranks that waited.
pub fn contrast(stacks: &Stacks, units: &[&Unit]) -> Contrast {
    let groups = grouped(stacks, units);
    let sum = |of: fn(&Group) -> u64| groups.iter().map(of).sum::<u64>();
    let samples = [sum(|group| group.late), sum(|group| group.all - group.late)];
    let observed: Vec<f64> = groups.iter().map(|group| group.difference(group.late)).collect();
    let longer_ns: f64 = observed.iter().sum();
    let found = if longer_ns > 0.0 { Features::new(stacks, &groups).named(&observed, longer_ns) } else { Vec::new() };
    Contrast { samples, longer_ns, found }
}

fn grouped(stacks: &Stacks, units: &[&Unit]) -> Vec<Group> {
    let mut places: HashMap<(u32, u32, u64), usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    let of_unit = |unit: &'_ Unit| {
        let own = unit.own.iter().map(|&taken| (taken, true));
        own.chain(unit.of_others.iter().map(|&taken| (taken, false))).collect::<Vec<_>>()
    };
    for unit in units {
        for ((stack, ns), is_late) in of_unit(unit) {
            if stacks.chain(stack).in_mpi {
                continue;
            }
            let place = *places.entry((stack, unit.others, ns.to_bits())).or_insert_with(|| {
                groups.push(Group { stack, others: f64::from(unit.others), ns, late: 0, all: 0 });
                groups.len() - 1
            });
            groups[place].all += 1;
            groups[place].late += u64::from(is_late);
        }
    }
    groups
}

/// A line of a function, with its difference, ns.
struct Place {
    call: Call,
    caller: Option<u32>,
    called: Option<u32>,
    ns: f64,
}

/// The differences of a line by its callers, and by what it called, ns.
#[derive(Default)]
struct OfLine {
    ns: f64,
    callers: HashMap<Option<u32>, f64>,
    called: HashMap<Option<u32>, f64>,
}

/// The functions that are compared.
struct Features<'s> {
    stacks: &'s Stacks,
    groups: &'s [Group],
    /// The functions on each group's stack, by their numbers here.
    of_group: Vec<Vec<usize>>,
    functions: Vec<usize>,
    /// How deep each lies in the mean.
    depth: Vec<f64>,
    deviation: Vec<f64>,
}

impl<'s> Features<'s> {
    fn new(stacks: &'s Stacks, groups: &'s [Group]) -> Features<'s> {
        // By function: samples, the sum of depths, the variance.
        let mut sums: HashMap<usize, (u64, f64, f64)> = HashMap::new();
        let on_stack = |group: &Group| {
            let mut on_stack: HashMap<usize, usize> = HashMap::new();
            let calls = stacks.chain(group.stack).calls.iter().enumerate();
            on_stack.extend(calls.map(|(depth, call)| (call.function, depth)));
            on_stack
        };
        for group in groups {
            for (function, depth) in on_stack(group) {
                let (samples, depths, variance) = sums.entry(function).or_default();
                *samples += group.all;
                *depths += depth as f64 * group.all as f64;
                *variance += group.variance();
            }
        }
        let mut functions: Vec<usize> = sums.keys().copied().collect();
        functions.retain(|function| sums[function].0 >= FEWEST);
        functions.sort_unstable();
        let of_group = |group: &Group| {
            let mut of_group: Vec<usize> =
                on_stack(group).into_keys().filter_map(|function| functions.binary_search(&function).ok()).collect();
            of_group.sort_unstable();
            of_group
        };
        Features {
            of_group: groups.iter().map(of_group).collect(),
            depth: functions.iter().map(|function| sums[function].1 / sums[function].0 as f64).collect(),
            deviation: functions.iter().map(|function| sums[function].2.sqrt()).collect(),
            stacks,
            groups,
            functions,
        }
    }

    /// The differences by function, where those of the groups are these.
    fn differences(&self, of_groups: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.functions.len()];
        for (of_group, ns) in self.of_group.iter().zip(of_groups) {
            of_group.iter().for_each(|feature| sums[*feature] += ns);
        }
        sums
    }

    /// For each function the probability of its difference.
    fn probabilities(&self, differences: &[f64]) -> Vec<f64> {
        let statistics = |differences: &[f64]| {
            differences.iter().zip(&self.deviation).map(|(ns, deviation)| ns / deviation).collect::<Vec<f64>>()
        };
        let observed = statistics(differences);
        let samples: u64 = self.groups.iter().map(|group| group.all).sum();
        let ways = WAYS.min(ASSIGNED / (samples as usize).max(1)).max(FEWEST_WAYS);
        // From a fixed seed: the same files give the same p.
        let mut random = fastrand::Rng::with_seed(1);
        let mut reached = vec![1; observed.len()];
        for _ in 0..ways {
            let mut assigned = |group: &Group| {
                let late = (0..group.all).filter(|_| random.f64() * (1.0 + group.others) < 1.0).count();
                group.difference(late as u64)
            };
            let of_groups: Vec<f64> = self.groups.iter().map(&mut assigned).collect();
            let largest = statistics(&self.differences(&of_groups)).into_iter().fold(f64::MIN, f64::max);
            let both = reached.iter_mut().zip(&observed);
            both.for_each(|(reached, statistic)| *reached += usize::from(largest >= *statistic));
        }
        reached.into_iter().map(|reached| f64::from(reached as u32) / (ways + 1) as f64).collect()
    }

    /// The functions with most of the difference.
    fn named(&self, observed: &[f64], longer_ns: f64) -> Vec<Found> {
        let differences = self.differences(observed);
        if self.are_different(observed, longer_ns) {
            return Vec::new();
        }
        let p = self.probabilities(&differences);
        let share = |feature: usize| differences[feature] / longer_ns;
        let supported = |feature: &usize, least: f64| p[*feature] <= LEVEL && share(*feature) >= least;
        let all = || 0..self.functions.len();
        let order = |one: &usize, other: &usize| {
            let by_depth = self.depth[*one].total_cmp(&self.depth[*other]);
            by_depth.then(differences[*one].total_cmp(&differences[*other]))
        };
        // Of some stacks of Python only the innermost function is known, so that they say nothing of its depth.
        let large: Vec<usize> = all().filter(|feature| supported(feature, MOST)).collect();
        let is_innermost = |feature: &&usize| !large.iter().any(|&other| self.is_deeper(other, **feature));
        let Some(&most) = large.iter().filter(is_innermost).max_by(|one, other| order(one, other)) else {
            return Vec::new();
        };
        let found = |feature: usize, place: Place| Found {
            call: place.call,
            caller: place.caller,
            called: place.called,
            share: share(feature).min(1.0),
            p: p[feature],
        };
        let noticeable: Vec<usize> = all().filter(|feature| supported(feature, NOTICEABLE)).collect();
        let mut named = Vec::new();
        // Several of the functions that it calls, where none of its lines has most of the time.
        let is_inside = |feature: &usize| {
            let mut with = self.of_group.iter().filter(|of_group| of_group.contains(feature)).peekable();
            self.is_deeper(*feature, most) && with.peek().is_some() && with.all(|of_group| of_group.contains(&most))
        };
        if self.place(most, observed).ns < MOST * differences[most] {
            self.add_apart(&mut named, noticeable.iter().copied().filter(is_inside).collect(), &order);
        }
        if named.is_empty() {
            named.push(most);
        }
        // Where it has not clearly most of the difference, functions on other stacks are named beside it.
        if share(most) < ALONE {
            self.add_apart(&mut named, noticeable, &order);
        }
        named.sort_by(|one, other| differences[*other].total_cmp(&differences[*one]));
        named.into_iter().map(|feature| found(feature, self.place(feature, observed))).collect()
    }

    /// True: on the stacks with both, one of them lies deeper than the other in the mean of the samples.
    fn is_deeper(&self, one: usize, other: usize) -> bool {
        let by = |group: &Group| {
            let calls = &self.stacks.chain(group.stack).calls;
            let [one, other] =
                [one, other].map(|feature| calls.iter().rposition(|call| call.function == self.functions[feature]));
            Some((one? as f64 - other? as f64) * group.all as f64)
        };
        self.groups.iter().filter_map(by).sum::<f64>() > 0.0
    }

    /// Adds the last of these functions in this order that is on no stack with one that is named already, and so on.
    fn add_apart(
        &self,
        named: &mut Vec<usize>,
        mut functions: Vec<usize>,
        order: &impl Fn(&usize, &usize) -> Ordering,
    ) {
        let are_apart = |one: usize, other: usize| {
            !self.of_group.iter().any(|of_group| of_group.contains(&one) && of_group.contains(&other))
        };
        while named.len() < NAMED {
            functions.retain(|&function| named.iter().all(|&other| are_apart(function, other)));
            let Some(next) = functions.iter().copied().max_by(order) else { break };
            named.push(next);
        }
    }

    /// True: the others run other functions for longer than the late one, clearly.
    fn are_different(&self, observed: &[f64], longer_ns: f64) -> bool {
        let mut innermost: HashMap<usize, (f64, f64)> = HashMap::new();
        for (group, ns) in self.groups.iter().zip(observed) {
            let Some(last) = self.stacks.chain(group.stack).calls.last() else { continue };
            let (sum, variance) = innermost.entry(last.function).or_default();
            *sum += ns;
            *variance += group.variance();
        }
        let less = innermost.values().filter(|(ns, variance)| -ns > CLEAR * variance.sqrt());
        less.map(|(ns, _)| -ns).sum::<f64>() > DIFFERENT * longer_ns
    }

    /// The line of a function with the largest difference.
    fn place(&self, feature: usize, observed: &[f64]) -> Place {
        let function = self.functions[feature];
        let mut lines: HashMap<u32, OfLine> = HashMap::new();
        for (group, ns) in self.groups.iter().zip(observed) {
            let chain = self.stacks.chain(group.stack);
            let calls = &chain.calls;
            let Some(at) = calls.iter().rposition(|call| call.function == function) else { continue };
            let caller = calls[..at].iter().rfind(|call| call.function != function).map(|call| call.frame);
            let of_line = lines.entry(calls[at].frame).or_default();
            of_line.ns += ns;
            *of_line.callers.entry(caller).or_default() += ns;
            *of_line.called.entry(chain.called.filter(|_| at + 1 == calls.len())).or_default() += ns;
        }
        // Of some samples of Python only the function is known: where these are most, so is the line.
        let has_line = |frame: &u32| self.stacks.has_line[*frame as usize];
        let [known, all] = [true, false].map(|only_known| {
            let counted = lines.iter().filter(|(frame, _)| !only_known || has_line(frame));
            counted.map(|(_, line)| line.ns).sum::<f64>()
        });
        if known >= MOST * all {
            lines.retain(|frame, _| has_line(frame));
        }
        let most = lines.into_iter().max_by(|one, other| one.1.ns.total_cmp(&other.1.ns).then(other.0.cmp(&one.0)));
        let (frame, OfLine { ns, callers, called }) = most.unwrap_or_default();
        let [caller, called] = [callers, called]
            .map(|all| all.into_iter().max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)))?.0);
        Place { call: Call { function, frame }, caller, called, ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;
    use mpitrace_format::samples::Samples;

    /// `main` calls `work`, `extra` by way of `step`, and a barrier.
    fn samples() -> Samples {
        let frames = [
            "main (a.c:3)",
            "work (a.c:9)",
            "main (a.c:5)",
            "step (a.c:20)",
            "extra (a.c:30)",
            "memcpy (libc.so.6)",
            "PMPI_Barrier (libmpi.so.40)",
            "more (a.c:40)",
            "main (a.c:7)",
            "other (a.c:50)",
        ];
        Samples {
            frames: frames.map(str::to_owned).to_vec(),
            stacks: vec![(0, 0), (1, 1), (0, 2), (3, 3), (4, 4), (5, 5), (3, 6), (4, 7), (0, 8), (9, 9)],
            ..Samples::default()
        }
    }

    const WORK: u32 = 2;
    const EXTRA: u32 = 6;
    const IN_MPI: u32 = 7;
    const MORE: u32 = 8;
    const OTHER: u32 = 10;

    fn unit(own: &[u32], of_others: &[u32], others: u32) -> Unit {
        let taken = |stacks: &[u32]| stacks.iter().map(|&stack| (stack, 2e7)).collect();
        Unit { part: 0, late_ns: 2e7, others, own: taken(own), of_others: taken(of_others) }
    }

    /// Function, the frame's index, that of its caller, and the share.
    type Named = Vec<(String, u32, Option<u32>, f64)>;

    fn found(units: &[Unit]) -> (Named, Contrast) {
        let samples = samples();
        let contrast = contrast(&Stacks::new(&samples), &units.iter().collect::<Vec<&Unit>>());
        let name = |found: &Found| Frame::parse(&samples.frames[found.call.frame as usize]).function.to_owned();
        let all = contrast.found.iter().map(|one| (name(one), one.call.frame, one.caller, one.share)).collect();
        (all, contrast)
    }

    #[test]
    fn the_innermost_function_with_most_of_the_difference_is_named_with_its_caller() {
        let units: Vec<Unit> = (0..30).map(|_| unit(&[WORK, EXTRA, IN_MPI], &[WORK, WORK, WORK], 3)).collect();
        let (named, contrast) = found(&units);
        assert_eq!(named, [("extra".to_owned(), 4, Some(3), 1.0)]);
        assert_eq!((contrast.samples, contrast.longer_ns), ([60, 90], 30.0 * 2e7), "none of those in MPI");
        assert!(contrast.found[0].p <= 0.01);
    }

    #[test]
    fn the_innermost_function_is_named_where_some_stacks_have_no_callers() {
        let frames = ["<module> (a.py:3)", "main (a.py:5)", "solve (a.py:7)", "step (a.py:9)"].map(str::to_owned);
        let stacks = vec![(0, 0), (1, 1), (2, 2), (3, 3), (0, 3)];
        let samples = Samples { frames: frames.to_vec(), stacks, ..Samples::default() };
        // By its mean depth `step` lies above `solve`.
        let units: Vec<Unit> = (0..60).map(|row| unit(&[if row % 5 < 2 { 5 } else { 4 }], &[], 1)).collect();
        let found = contrast(&Stacks::new(&samples), &units.iter().collect::<Vec<&Unit>>()).found;
        assert_eq!(found.iter().map(|one| (one.call.frame, one.caller)).collect::<Vec<_>>(), [(3, Some(2))]);
    }

    #[test]
    fn a_line_is_named_where_it_is_known_of_most_samples() {
        let frames = ["main (a.py:3)", "step (a.py:9)", "step (a.py)", "step (a.py:12)"].map(str::to_owned).to_vec();
        let samples = Samples { frames, stacks: vec![(0, 0), (1, 1), (1, 2), (1, 3)], ..Samples::default() };
        let named = |stacks: &[u32]| {
            let units: Vec<Unit> = (0..60).map(|row| unit(&[stacks[row % stacks.len()]], &[], 1)).collect();
            let found = contrast(&Stacks::new(&samples), &units.iter().collect::<Vec<&Unit>>()).found;
            found.into_iter().map(|one| samples.frames[one.call.frame as usize].clone()).collect::<Vec<String>>()
        };
        assert_eq!(named(&[2, 2, 4, 4, 4, 3, 3, 3, 3]), ["step (a.py:12)"]);
        assert_eq!(named(&[2, 3, 3, 3]), ["step (a.py)"]);
    }

    #[test]
    fn functions_that_share_the_difference_are_named_where_no_line_has_most_of_it() {
        let in_turn = |stacks: &[u32]| {
            let units: Vec<Unit> = (0..90).map(|row| unit(&[stacks[row % stacks.len()]], &[], 1)).collect();
            found(&units).0.into_iter().map(|(name, ..)| name).collect::<Vec<String>>()
        };
        assert_eq!(in_turn(&[EXTRA, MORE, MORE]), ["more"], "two thirds are in it");
        assert_eq!(in_turn(&[EXTRA, MORE, WORK]), ["step"], "one of its lines calls both");
        let mut names = in_turn(&[EXTRA, OTHER, WORK]);
        names.sort();
        assert_eq!(names, ["extra", "other", "work"]);
        // Other work of the machine may make the one longer, and the program the other.
        assert_eq!(in_turn(&[EXTRA, EXTRA, EXTRA, OTHER, OTHER]), ["extra", "other"], "three fifths are in it");
    }

    #[test]
    fn what_sampling_explains_is_not_named() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut named = 0;
        for _ in 0..200 {
            let mut unit_of = |_| {
                let stack = [WORK, EXTRA, MORE][random.usize(..3)];
                if random.bool() { unit(&[stack], &[], 1) } else { unit(&[], &[stack], 1) }
            };
            let units: Vec<Unit> = (0..40).map(&mut unit_of).collect();
            named += usize::from(!found(&units).0.is_empty());
        }
        // At a level of 5 % more than 20 of 200 come by chance in 0.2 % of all cases.
        assert!(named <= 20, "{named} of 200");
    }

    #[test]
    fn ranks_that_do_different_things_say_nothing() {
        let units: Vec<Unit> = (0..60).map(|_| unit(&[EXTRA, EXTRA, EXTRA], &[WORK, WORK], 1)).collect();
        assert_eq!(found(&units).0, []);
    }

    #[test]
    fn few_samples_say_nothing() {
        assert_eq!(found(&[unit(&[EXTRA], &[], 1), unit(&[EXTRA], &[], 1)]).0, []);
    }
}
