//! The repetitions that are to be told from the good ones: warm-up, outliers, and the modes of the good ones.

use mpitrace_statistics::categories::{Category, slow_from};
use mpitrace_statistics::{Mode, Sample, median, modes};

/// The repetitions of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Repetitions<'r> {
    /// Their run times, ns.
    pub run_time_ns: &'r [f64],
    /// Their categories.
    pub category: &'r [Category],
}

/// Which repetitions a group holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GroupKind {
    /// The first one.
    First,
    /// The warm-up, against all good ones.
    Warmup,
    /// The outliers, against all good ones.
    Outlier,
    /// The good ones around this run time (ns), against those of the fastest mode of substance and of modes
    /// next to it.
    Mode(f64),
    /// All, the fastest included.
    Steady,
}

impl GroupKind {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            GroupKind::First => "first",
            GroupKind::Warmup => "warmup",
            GroupKind::Outlier => "outlier",
            GroupKind::Mode(_) => "mode",
            GroupKind::Steady => "steady",
        }
    }

    /// The run time of a mode, ns.
    pub fn peak_ns(self) -> Option<f64> {
        match self {
            GroupKind::Mode(peak_ns) => Some(peak_ns),
            _ => None,
        }
    }
}

/// Some repetitions, and those that they are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Which.
    pub kind: GroupKind,
    /// How many.
    pub count: usize,
    /// The number of repetitions that they are compared with.
    pub others: usize,
    /// The median run time, ns.
    pub median_ns: f64,
    /// The median run time of the others, ns.
    pub median_others_ns: f64,
    /// By how much their run times lie above that median, all together, ns.
    pub extra_ns: f64,
    /// The rows of both, ascending, and whether they are of the group.
    pub(super) rows: Vec<u32>,
    pub(super) member: Vec<bool>,
}

/// A mode has substance if it holds this share of the good repetitions: what is rarer and faster is no measure for the
/// others.
const SUBSTANCE: f64 = 0.1;

/// A mode is slower than the fastest one if it lies higher by this share: of ranks that are late in turns each makes a
/// mode of its own on an idle machine, less than 0.2 % from the other, and no cause would be worth its name.
const SLOWER: f64 = 0.02;

pub(crate) fn groups(repetitions: &Repetitions<'_>) -> Vec<Group> {
    let of = |category: Category| (0..).zip(repetitions.category).filter(move |(_, found)| **found == category);
    let rows = |category: Category| of(category).map(|(row, _)| row).collect::<Vec<u32>>();
    let good = rows(Category::Good);
    let mut groups = Vec::new();
    for (kind, category) in [(GroupKind::Warmup, Category::Warmup), (GroupKind::Outlier, Category::Outlier)] {
        groups.extend(Group::new(repetitions, kind, &rows(category), &good));
    }
    groups.extend(mode_groups(repetitions, &good));
    groups
}

fn mode_groups(repetitions: &Repetitions<'_>, good: &[u32]) -> Vec<Group> {
    let times: Vec<f64> = good.iter().map(|&row| repetitions.run_time_ns[row as usize]).collect();
    let found = modes(&times, &Sample::new(&times));
    let rows = |range: [f64; 2]| -> Vec<u32> {
        let inside = good.iter().zip(&times).filter(|(_, time)| (range[0]..=range[1]).contains(*time));
        inside.map(|(row, _)| *row).collect()
    };
    // What is to be explained are the slower ones, also where one of them is what is usual.
    let has_substance = |mode: &&Mode| mode.share >= SUBSTANCE;
    let Some(fastest) = found.iter().filter(has_substance).min_by(|one, other| one.peak.total_cmp(&other.peak)) else {
        return Vec::new();
    };
    let (slower, fast): (Vec<&Mode>, Vec<&Mode>) = found
        .iter()
        .filter(|mode| mode.peak >= fastest.peak)
        .partition(|mode| mode.peak > (1.0 + SLOWER) * fastest.peak);
    let mut fast: Vec<u32> = fast.into_iter().flat_map(|mode| rows(mode.range)).collect();
    fast.sort_unstable();
    let of_modes = slower
        .into_iter()
        .filter_map(|mode| Group::new(repetitions, GroupKind::Mode(mode.peak), &rows(mode.range), &fast));
    let groups: Vec<Group> = of_modes.collect();
    // Slow ones that scatter too widely for a peak.
    let Some(from) = slow_from(&times).filter(|_| groups.is_empty()) else { return groups };
    let [slow, others] = [[from, f64::INFINITY], [f64::NEG_INFINITY, from]].map(rows);
    let middle = median(&mut times.iter().copied().filter(|&time| time > from).collect::<Vec<f64>>());
    middle.and_then(|middle| Group::new(repetitions, GroupKind::Mode(middle), &slow, &others)).into_iter().collect()
}

impl Group {
    /// The places of its repetitions among all of them.
    pub fn members(&self) -> impl Iterator<Item = u32> + '_ {
        self.rows.iter().zip(&self.member).filter(|(_, member)| **member).map(|(&row, _)| row)
    }

    /// True if the repetition at this place is of the group, false if it is of those that it is compared with.
    pub fn is_member(&self, row: u32) -> Option<bool> {
        self.rows.binary_search(&row).ok().map(|index| self.member[index])
    }

    fn new(repetitions: &Repetitions<'_>, kind: GroupKind, members: &[u32], others: &[u32]) -> Option<Group> {
        if members.is_empty() || others.is_empty() {
            return None;
        }
        let times = |rows: &[u32]| rows.iter().map(|&row| repetitions.run_time_ns[row as usize]).collect::<Vec<f64>>();
        let median_others_ns = median(&mut times(others))?;
        let mut times = times(members);
        let extra_ns = times.iter().map(|time| time - median_others_ns).sum();
        let median_ns = median(&mut times)?;
        drop(times);
        let (rows, member) = merged(members, others);
        let (count, others) = (members.len(), others.len());
        Some(Group { kind, count, others, median_ns, median_others_ns, extra_ns, rows, member })
    }
}

/// Two lists, each ascending, as one; and for each value whether it is one of the first list.
fn merged(members: &[u32], others: &[u32]) -> (Vec<u32>, Vec<bool>) {
    let count = members.len() + others.len();
    let (mut rows, mut member) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let (mut members, mut others) = (members.iter().peekable(), others.iter().peekable());
    while let Some(&next) = members.peek().into_iter().chain(others.peek()).min() {
        let is_member = members.next_if_eq(&next).is_some();
        if !is_member {
            others.next();
        }
        rows.push(*next);
        member.push(is_member);
    }
    (rows, member)
}
