//! Which causes have enough time to be named.

use super::attribute::Table;
use super::baseline::Baseline;
use super::evidence::{Key, Tally};
use super::{Cause, CauseKind, Causes, GroupTime, NAMED, STEADY, Typical};
use crate::account::{Off, alone};
use crate::diagnosis::{Diagnosis, Examined, Finding, Group, GroupKind, Quantity};

/// A counter that differs significantly between a group and those that the group is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// The events that it counts: page faults, migrations, interruptions, or something else.
    pub kind: CauseKind,
    /// Its name.
    pub name: String,
    /// The rank on which it differs; `None`: several.
    pub rank: Option<u32>,
    /// Index of the group.
    pub group: usize,
    /// The share of the extra time that it explains, 0 to 1.
    pub share: f64,
    /// The probability of such a difference by chance, after the correction for the number of tests.
    pub p: f64,
}

impl Counted {
    /// The counters by which a group differs, as a diagnosis found them: one for each finding.
    pub fn counters(diagnosis: &Diagnosis) -> Vec<Counted> {
        let of_finding = |finding: &Finding| {
            let examined = &diagnosis.metrics[finding.metric];
            let separated = examined.separations[finding.group].as_ref()?;
            let name = &examined.metric.name;
            let kind = match examined.metric.quantity {
                Quantity::System if name.contains("fault") => CauseKind::PageFaults,
                Quantity::System if name.contains("migration") => CauseKind::Migration,
                Quantity::System => CauseKind::Interrupted,
                Quantity::Counter | Quantity::Timer | Quantity::Request => CauseKind::Counter,
            };
            let rank = examined.metric.rank.or_else(|| carrier(diagnosis, finding));
            let share = separated.explained.unwrap_or(0.0);
            Some(Counted { kind, name: name.clone(), rank, group: finding.group, share, p: separated.p_corrected })
        };
        diagnosis.findings.iter().filter_map(of_finding).collect()
    }

    fn cause(&self, repetitions: GroupKind, ns: f64, count: usize) -> Cause {
        let (counter, p) = (Some(self.name.clone()), Some(self.p));
        Cause { counter, p, ..Cause::of_communication(self.kind, self.rank, repetitions, ns, count) }
    }
}

impl Cause {
    /// One of which nothing is known but the communication that it costs; its share is found last.
    fn of_communication(kind: CauseKind, rank: Option<u32>, repetitions: GroupKind, ns: f64, count: usize) -> Cause {
        Cause {
            kind,
            rank,
            counter: None,
            repetitions,
            ns,
            most_ns: ns,
            share: 0.0,
            count,
            communication_ns: ns,
            late: None,
            off: Off::default(),
            p: None,
        }
    }
}

/// The rank that alone carries a difference of the sum over all ranks: the only one that is named with it; else, where
/// none is, as its own test has less power than that of the sum, the only one that differs about as clearly.
fn carrier(diagnosis: &Diagnosis, finding: &Finding) -> Option<u32> {
    if !finding.ranks.is_empty() {
        return (finding.ranks.len() == 1).then(|| finding.ranks[0]);
    }
    let delta = |examined: &Examined| {
        examined.separations[finding.group].as_ref().map_or(0.0, |separated| separated.separation.delta.abs())
    };
    let sum = &diagnosis.metrics[finding.metric];
    let of_ranks = diagnosis.metrics.iter().filter(|other| {
        let (metric, of_sum) = (&other.metric, &sum.metric);
        metric.rank.is_some() && (&metric.name, metric.quantity) == (&of_sum.name, of_sum.quantity)
    });
    let clear: Vec<&Examined> = of_ranks.filter(|other| delta(other) >= delta(sum) / 2.0).collect();
    match clear[..] {
        [one] if delta(one) >= CARRIED * delta(sum) => one.metric.rank,
        _ => None,
    }
}

/// A rank whose delta is this share of that of the sum differs as clearly.
const CARRIED: f64 = 0.95;

fn share(ns: f64, of: f64) -> f64 {
    if of > 0.0 { (ns / of).min(1.0) } else { 0.0 }
}

/// The causes of these groups of the diagnosis.
pub(super) fn causes(
    table: Table,
    baseline: &Baseline,
    ranks: &[u32],
    groups: &[Group],
    counted: &[Counted],
) -> Causes {
    let mut found = Causes::default();
    let cause = |repetitions, (key, tally): (Key, Tally), whole: f64| Cause {
        most_ns: tally.most_ns.max(tally.ns),
        share: share(tally.ns, whole),
        communication_ns: tally.communication_ns,
        late: (key.kind == CauseKind::LateRank).then_some(tally.late),
        off: tally.off,
        ..Cause::of_communication(key.kind, Some(ranks[key.member]), repetitions, tally.ns, tally.count)
    };
    for (repetitions, count, index, group) in table.groups {
        let extra_ns = group.extra_ns.max(0.0);
        let mut of_group: Vec<Cause> =
            group.evidence.into_sorted().into_iter().map(|of| cause(repetitions, of, extra_ns)).collect();
        let mut rest: f64 = group.rest_ns.iter().sum();
        if repetitions == GroupKind::First {
            let rank = alone(&group.rest_ns).filter(|_| ranks.len() > 1).map(|member| ranks[member]);
            of_group.push(Cause::of_communication(CauseKind::FirstCall, rank, repetitions, rest, count));
            rest = 0.0;
        }
        let counters = counted.iter().filter(|counted| Some(counted.group) == index);
        let of_diagnosis = index.and_then(|index| groups.get(index));
        let beyond_ns = of_diagnosis.map_or(f64::INFINITY, |group| group.median_ns - group.median_others_ns);
        let times = GroupTime {
            repetitions,
            count,
            run_ns: group.run_ns,
            extra_ns,
            unexplained_ns: rest,
            untimed_ns: group.untimed_ns,
            unsplit_ns: group.unsplit_ns,
            typical: typical(&of_group, count, beyond_ns),
        };
        found.add_group(times, of_group, counters);
    }
    let steady = GroupTime {
        repetitions: GroupKind::Steady,
        count: baseline.count,
        run_ns: baseline.run_ns,
        extra_ns: 0.0,
        unexplained_ns: 0.0,
        untimed_ns: 0.0,
        unsplit_ns: 0.0,
        typical: None,
    };
    let of_steady = table.steady.into_sorted();
    let waiting: f64 = of_steady.iter().filter(|(key, _)| key.kind == CauseKind::LateRank).map(|(_, of)| of.ns).sum();
    let whole = found.groups.iter().map(|group| group.run_ns).sum::<f64>() + steady.run_ns;
    let (late, off): (Vec<Cause>, Vec<Cause>) = of_steady
        .into_iter()
        .map(|of| cause(GroupKind::Steady, of, whole))
        .partition(|cause| cause.kind == CauseKind::LateRank);
    let (named, others): (Vec<Cause>, Vec<Cause>) =
        late.into_iter().partition(|cause| cause.ns >= one_sided(ranks.len()) * waiting);
    let all = found.groups.iter().map(|group| group.count).sum::<usize>() + steady.count;
    let of_steady = named.into_iter().chain(off).chain(in_turns(others.into_iter(), whole, all));
    found.causes.extend(of_steady.filter(|cause| cause.ns >= STEADY * whole));
    found.groups.push(steady);
    found.causes.sort_by(|one, other| other.ns.total_cmp(&one.ns));
    found
}

/// Fewer repetitions have none that is typical.
const FEW: usize = 5;

/// The cause of most of so many repetitions, where the one with the most time happens in half of them or in fewer. In
/// the median they take so much longer than others: it has half of that at least.
fn typical(of_group: &[Cause], count: usize, beyond_ns: f64) -> Option<Typical> {
    let largest = of_group.iter().max_by(|one, other| one.ns.total_cmp(&other.ns))?;
    if count < FEW || 2 * largest.count > count {
        return None;
    }
    let mean = |cause: &Cause| cause.ns / cause.count.max(1) as f64;
    let most = of_group.iter().filter(|cause| 2 * cause.count > count && 2.0 * mean(cause) >= beyond_ns);
    let most = most.max_by_key(|cause| cause.count)?;
    Some(Typical {
        kind: most.kind,
        rank: most.rank,
        because: most.because(),
        repetitions: most.count,
        mean_ns: mean(most),
    })
}

impl Causes {
    /// The causes by a diagnosis alone, where there is no trace: what its counters explain of the groups' run times.
    pub fn explained_by_counters(diagnosis: &Diagnosis) -> Causes {
        let (mut found, counted) = (Causes::default(), Counted::counters(diagnosis));
        for (index, group) in diagnosis.groups.iter().enumerate() {
            let extra_ns = group.extra_ns.max(0.0);
            let times = GroupTime {
                repetitions: group.kind,
                count: group.count,
                run_ns: group.median_others_ns * group.count as f64 + extra_ns,
                extra_ns,
                unexplained_ns: extra_ns,
                untimed_ns: 0.0,
                unsplit_ns: 0.0,
                typical: None,
            };
            found.add_group(times, Vec::new(), counted.iter().filter(|counted| counted.group == index));
        }
        found.causes.sort_by(|one, other| other.ns.total_cmp(&one.ns));
        found
    }

    /// Adds a group with its causes, and counters that share what these leave unexplained.
    fn add_group<'c>(
        &mut self,
        mut times: GroupTime,
        mut of_group: Vec<Cause>,
        counters: impl Iterator<Item = &'c Counted>,
    ) {
        let GroupTime { repetitions, count, extra_ns, unexplained_ns, .. } = times;
        for counted in counters {
            let ns = unexplained_ns * counted.share;
            times.unexplained_ns -= ns;
            of_group.push(counted.cause(repetitions, ns, count));
        }
        times.unexplained_ns = times.unexplained_ns.max(0.0);
        times.untimed_ns = times.untimed_ns.min(times.unexplained_ns);
        times.unsplit_ns = times.unsplit_ns.min(times.unexplained_ns);
        // A rank may lose more than the group, where others are faster than usual: no more than all of it is explained.
        let whole = of_group.iter().map(|cause| cause.ns).sum::<f64>().max(extra_ns);
        of_group.iter_mut().for_each(|cause| cause.share = share(cause.ns, whole));
        let (named, small): (Vec<Cause>, Vec<Cause>) =
            of_group.into_iter().filter(|cause| cause.ns > 0.0).partition(|cause| cause.share >= NAMED);
        self.causes.extend(named);
        let late = small.into_iter().filter(|cause| cause.kind == CauseKind::LateRank);
        self.causes.extend(in_turns(late, whole, count).filter(|cause| cause.share >= NAMED));
        self.groups.push(times);
    }
}

/// Several ranks that are late, each of which has too little time to be named: one cause of all of them, in at most
/// `most` repetitions.
fn in_turns(mut late: impl Iterator<Item = Cause>, whole: f64, most: usize) -> Option<Cause> {
    let mut all = late.next()?;
    all.rank = None;
    let mut ranks = 1;
    for cause in late {
        ranks += 1;
        all.ns += cause.ns;
        all.most_ns += cause.most_ns;
        all.count += cause.count;
        if let (Some(all), Some(more)) = (&mut all.late, cause.late) {
            *all += more;
        }
    }
    all.share = share(all.ns, whole);
    all.count = all.count.min(most);
    (ranks > 1).then_some(all)
}

/// A rank is late steadily if it causes this share of all waiting: a third of the way from what each of so many ranks
/// causes where they are late in turn to all of it.
fn one_sided(ranks: usize) -> f64 {
    let fair = 1.0 / ranks.max(1) as f64;
    fair + (1.0 - fair) / 3.0
}

#[cfg(test)]
mod typical_tests {
    use super::*;

    fn cause(kind: CauseKind, ns: f64, count: usize) -> Cause {
        Cause::of_communication(kind, Some(1), GroupKind::Outlier, ns, count)
    }

    #[test]
    fn the_cause_of_most_repetitions_stands_beside_the_one_with_the_most_time() {
        let found = [cause(CauseKind::Interrupted, 4e7, 4), cause(CauseKind::LateRank, 95.0 * 2e4, 95)];
        let named = typical(&found, 99, 2e4).map(|typical| (typical.kind, typical.repetitions, typical.mean_ns));
        assert_eq!(named, Some((CauseKind::LateRank, 95, 2e4)));
        // It does not make the usual one slow.
        assert_eq!(typical(&found, 99, 5e4), None);
        // It has the most time, too; or only some have it.
        assert_eq!(typical(&found[1..], 99, 2e4), None);
        assert_eq!(typical(&found, 200, 2e4), None);
        assert_eq!(typical(&[], 99, 2e4), None);
    }
}
