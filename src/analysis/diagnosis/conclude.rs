//! Which metrics are to be named, and in which order.

use mpitrace_statistics::moments;

use super::contrast::normal_tail;
use super::examine::{Examination, Examined};
use super::groups::Group;
use super::metric::{Metric, Quantity};
use super::separation::Separation;
use super::shares::shares;
use super::significance::corrected;

/// The p-value that counts as found: this or less, after the correction for the number of tests.
pub const LEVEL: f64 = 0.05;
/// Cliff's delta from which on a difference is named. Below, one of several causes marks less than a tenth of the
/// group.
pub const NOTICEABLE: f64 = 0.1;

/// All that is known about an operation's slow repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// The groups of repetitions.
    pub groups: Vec<Group>,
    /// How many repetitions the metrics were looked at in: all, or those of [`Examination::rows`].
    pub looked_at: usize,
    /// Every metric that was tried.
    pub metrics: Vec<Examined>,
    /// The metrics that tell the groups from the others, in the order in which they are to be named.
    pub findings: Vec<Finding>,
}

/// A metric that tells a group of repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Index of the group.
    pub group: usize,
    /// Index of the metric: the strongest of its name.
    pub metric: usize,
    /// The ranks on which the metric of this name tells the group as well, the strongest's own included.
    pub ranks: Vec<u32>,
}

impl Examination<'_> {
    /// Draws the conclusions out of all metrics: corrects for their number, names the strongest of each name first, and
    /// those groups first that have a finding, of these the ones that cost most time.
    pub fn conclude(self, mut metrics: Vec<Examined>) -> Diagnosis {
        self.correct(&mut metrics);
        let mut found: Vec<Vec<Finding>> = (0..self.groups.len())
            .map(|group| {
                self.cover(&mut metrics, group);
                let findings = findings(&metrics, group);
                self.share(&mut metrics, group, &findings);
                findings
            })
            .collect();
        let extra = |findings: &[Finding]| findings.first().map_or(0.0, |first| self.groups[first.group].extra_ns);
        found.sort_by(|one, other| extra(other).total_cmp(&extra(one)));
        for examined in &mut metrics {
            // They are as long as the series, and nothing needs them any more.
            examined.contrasted = Vec::new();
        }
        let findings = found.into_iter().flatten().collect();
        Diagnosis { looked_at: self.run_time_ns.len(), groups: self.groups, findings, metrics }
    }

    /// The p-values after correction for all metrics and groups.
    fn correct(&self, metrics: &mut [Examined]) {
        let mut place = Vec::new();
        let mut tested = Vec::new();
        for (metric, examined) in metrics.iter().enumerate() {
            let two_sided = examined.metric.quantity.counts_when_lower();
            for (group, found) in examined.contrasted.iter().enumerate() {
                if let Some(found) = found {
                    place.push((metric, group));
                    tested.push((found, two_sided));
                }
            }
        }
        for ((metric, group), p) in place.into_iter().zip(corrected(&tested)) {
            set_p(&mut metrics[metric], group, p);
        }
    }

    /// Looks for further causes in the repetitions of a group that the ones found do not mark: where several share a
    /// group, each differs in a part of it only. So often until nothing is found (a greedy cover).
    fn cover(&self, metrics: &mut [Examined], group: usize) {
        let Some(contrast) = &self.contrasts[group] else { return };
        let of_group = &self.looked_at[group];
        let candidates = |metrics: &[Examined]| -> Vec<usize> {
            let may_be = |examined: &Examined| {
                examined.contrasted[group].as_ref().is_some_and(|found| found.z.abs() >= PROMISING)
            };
            (0..metrics.len()).filter(|&index| may_be(&metrics[index])).collect()
        };
        let candidates = candidates(metrics);
        let tests = metrics.len() as f64;
        for _ in 0..MOST_CAUSES {
            let named: Vec<usize> = candidates.iter().copied().filter(|&index| tells(&metrics[index], group)).collect();
            if named.is_empty() {
                return;
            }
            let mut marked = vec![false; self.run_time_ns.len()];
            for &index in &named {
                mark(&metrics[index], group, of_group, &mut marked);
            }
            let remaining = candidates.iter().copied().filter(|index| !named.contains(index));
            let strengths = remaining.filter_map(|index| {
                let quantity = metrics[index].metric.quantity;
                let found = metrics[index].contrasted[group].as_ref()?;
                let z = contrast.of_remaining(found, &marked)?;
                let p = normal_tail(z, quantity.counts_when_lower()) * tests;
                Some((index, p))
            });
            let Some((best, p)) = strengths.min_by(|one, other| one.1.total_cmp(&other.1)) else { return };
            if p > LEVEL {
                return;
            }
            set_p(&mut metrics[best], group, p);
            if !tells(&metrics[best], group) {
                return;
            }
        }
    }

    /// The share of the extra time that each cause of a group has.
    fn share(&self, metrics: &mut [Examined], group: usize, findings: &[Finding]) {
        let of_group = &self.looked_at[group];
        let cause = |finding: &Finding| Some((finding.metric, effect(&metrics[finding.metric], group, of_group)?));
        let (causes, effects): (Vec<usize>, Vec<Vec<f64>>) = findings.iter().filter_map(cause).unzip();
        if causes.is_empty() {
            return;
        }
        let members = of_group.rows.iter().zip(&of_group.member).filter(|(_, member)| **member);
        let extra_ns: Vec<f64> =
            members.map(|(&row, _)| self.run_time_ns[row as usize] - of_group.median_others_ns).collect();
        let extra_all = extra_ns.iter().sum::<f64>();
        for (&metric, share) in causes.iter().zip(shares(&effects, &extra_ns)) {
            let is_time = metrics[metric].metric.unit == "ns";
            if let Some(separated) = &mut metrics[metric].separations[group] {
                let Separation { mean, median_others, .. } = separated.separation;
                // A time explains no more than it is longer itself.
                let measured = (mean - median_others).abs() * extra_ns.len() as f64 / extra_all;
                let most = if is_time && extra_all > 0.0 { measured } else { 1.0 };
                separated.explained = Some(share.min(most));
            }
        }
    }
}

/// A metric that differs by fewer standard deviations is no cause that others hide.
const PROMISING: f64 = 1.0;
/// Causes of one group that are looked for.
const MOST_CAUSES: usize = 8;

fn set_p(examined: &mut Examined, group: usize, p: f64) {
    if let Some(separated) = &mut examined.separations[group] {
        separated.p_corrected = p;
    }
}

/// How far a metric lies from its mean among a group's others, for each repetition of the group, in standard deviations
/// and in the direction in which the group lies.
fn effect(examined: &Examined, group: usize, of_group: &Group) -> Option<Vec<f64>> {
    let found = examined.contrasted[group].as_ref()?;
    let side = |wanted: bool| {
        let rows = of_group.rows.iter().zip(&of_group.member).filter(move |(_, member)| **member == wanted);
        rows.map(|(&row, _)| f64::from(found.scores[row as usize])).collect::<Vec<f64>>()
    };
    let others = moments(&side(false))?;
    // What never happens among the others has no deviation there.
    let deviation = others.standard_deviation.unwrap_or(0.0).max(0.1);
    let sign = found.z.signum();
    Some(side(true).iter().map(|score| sign * (score - others.mean) / deviation).collect())
}

/// Marks the repetitions of a group in which a metric is further out than in 95 % of the others.
fn mark(examined: &Examined, group: usize, of_group: &Group, marked: &mut [bool]) {
    const FAR_OUT: f64 = 1.645;
    let Some(effect) = effect(examined, group, of_group) else { return };
    let members = of_group.rows.iter().zip(&of_group.member).filter(|(_, member)| **member);
    members.zip(effect).filter(|(_, effect)| *effect > FAR_OUT).for_each(|((&row, _), _)| marked[row as usize] = true);
}

/// True if a metric tells a group well enough to be named.
fn tells(examined: &Examined, group: usize) -> bool {
    let Some(separated) = &examined.separations[group] else { return false };
    let delta = separated.separation.delta;
    let strong = if examined.metric.quantity.counts_when_lower() { delta.abs() } else { delta };
    separated.p_corrected <= LEVEL && strong >= NOTICEABLE
}

/// How the strongest come first: by delta, to two digits; of those that tell as much, what happened before what was
/// counted, the sum before its ranks, and the smaller p.
fn strength(examined: &Examined, group: usize) -> (i64, Quantity, bool, f64) {
    let separated = examined.separations[group].as_ref();
    let delta = separated.map_or(0.0, |separated| separated.separation.delta.abs());
    let p = separated.map_or(1.0, |separated| separated.p_corrected);
    let Metric { quantity, rank, .. } = examined.metric;
    (-(delta * 100.0).round() as i64, quantity, rank.is_some(), p)
}

fn findings(metrics: &[Examined], group: usize) -> Vec<Finding> {
    let mut telling: Vec<usize> = (0..metrics.len()).filter(|&index| tells(&metrics[index], group)).collect();
    telling.sort_by(|&one, &other| {
        let (one, other) = (strength(&metrics[one], group), strength(&metrics[other], group));
        (one.0, one.1, one.2).cmp(&(other.0, other.1, other.2)).then(one.3.total_cmp(&other.3))
    });
    let mut findings: Vec<Finding> = Vec::new();
    for index in telling {
        let metric = &metrics[index].metric;
        let same = |finding: &&mut Finding| {
            let known = &metrics[finding.metric].metric;
            known.quantity == metric.quantity && known.name == metric.name
        };
        match findings.iter_mut().find(same) {
            Some(finding) => finding.ranks.extend(metric.rank),
            None => findings.push(Finding { group, metric: index, ranks: metric.rank.into_iter().collect() }),
        }
    }
    findings.iter_mut().for_each(|finding| finding.ranks.sort_unstable());
    findings
}
