//! Which node is slow, from the times for which the ranks on it computed in many jobs.
//!
//! The logarithm of such a time is the sum of a term of the job, one of the position in its program, one of the node,
//! and a rest. The terms are fitted together, with less weight for large rests (Huber 1981, 7), so that a node is
//! compared with other nodes in the same jobs, and with those that had the same ranks of the same program in other
//! jobs. Nodes of one kind differ, too: a node is slow if it lies outside of what differs between the others.

use std::collections::HashMap;

use crate::estimators::distributions::student_below;
use crate::{median, student_quantile};
use serde::Serialize;

use super::{LEAST, LEVEL};

/// The mean time for which the ranks on a node computed in a job. Nodes and positions are numbered from 0; a position
/// is the same where the same ranks of the same program with as many ranks were.
#[derive(Clone, Copy, Debug)]
pub struct NodeOfJob {
    /// The node.
    pub node: usize,
    /// The position.
    pub position: usize,
    /// The time.
    pub seconds: f64,
}

/// A node that is slow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowNode {
    /// Its number.
    #[serde(skip)]
    pub node: usize,
    /// So much longer do its ranks compute, 0.05 for 5 %.
    pub share: f64,
    /// The interval of 95 % of that.
    pub interval: [f64; 2],
    /// The jobs that show it.
    pub jobs: usize,
    /// The p-value, corrected for the number of nodes.
    pub p: f64,
}

/// Rests beyond so many standard deviations have less weight: 95 % efficient for normal ones.
const HUBER: f64 = 1.345;
/// The terms of nodes change by less at the end of the fit: a hundredth of what is shown of them.
const CHANGE: f64 = 1e-5;
/// Rounds of the fit at most.
const ROUNDS: usize = 60;
/// A node needs so many jobs' worth of information to be named,
const LEAST_JOBS: f64 = 9.0;
/// and so many to show how much nodes differ.
const LEAST_OF_OTHERS: f64 = 4.0;
/// The least share of the observations that the fit leaves free: else the rests say nothing of the errors.
const LEAST_FREEDOM: f64 = 0.25;
/// Fewer others do not show that.
const LEAST_NODES: usize = 10;

struct Observed {
    /// Job, position and node.
    of: [usize; 3],
    logarithm: f64,
    weight: f64,
}

/// The information and the degrees of freedom that the observations give.
struct Known {
    /// In jobs' worth, by node.
    information: Vec<f64>,
    /// The degrees of freedom of the rests.
    freedom: f64,
}

struct Terms([Vec<f64>; 3]);

struct Node {
    node: usize,
    term: f64,
    error: f64,
    information: f64,
    jobs: usize,
}

/// The slow ones among the nodes of these jobs, the slowest first.
///
/// ```
/// use mpitrace_statistics::jobs::{NodeOfJob, slow_nodes};
///
/// // 100 jobs on 6 of 20 nodes each, whose times scatter by 1 %; on node 3 ranks compute for 10 % longer.
/// let job = |number: usize| {
///     let of = |position: usize| {
///         let node = (number * 7 + position * 3) % 20;
///         let scatter = ((number * 31 + position * 17 + node * 13) % 11) as f64 / 550.0;
///         NodeOfJob { node, position, seconds: (1.0 + scatter) * if node == 3 { 1.1 } else { 1.0 } }
///     };
///     (0..6).map(of).collect()
/// };
/// let slow = slow_nodes(&(0..100).map(job).collect::<Vec<_>>());
/// assert_eq!(slow.iter().map(|slow| slow.node).collect::<Vec<_>>(), [3]);
/// assert!((slow[0].share - 0.1).abs() < 0.01);
/// ```
pub fn slow_nodes(jobs: &[Vec<NodeOfJob>]) -> Vec<SlowNode> {
    let mut observed = Vec::new();
    for (job, nodes) in jobs.iter().filter(|nodes| nodes.len() > 1).enumerate() {
        let positive = nodes.iter().filter(|of| of.seconds > 0.0 && of.seconds.is_finite());
        let of = |of: &NodeOfJob| Observed { of: [job, of.position, of.node], logarithm: of.seconds.ln(), weight: 1.0 };
        observed.extend(positive.map(of));
    }
    let known = Known::new(&mut observed);
    if known.freedom < LEAST_FREEDOM * observed.len() as f64 {
        return Vec::new();
    }
    let terms = Terms::fitted(&mut observed, known.freedom);
    let mut nodes = terms.nodes(&observed, &known);
    let tested = known.information.iter().filter(|information| **information > 0.0).count();
    nodes.sort_by(|one, other| other.term.total_cmp(&one.term));
    let mut slow = Vec::new();
    let named = nodes.iter().enumerate().filter(|(_, node)| node.information >= LEAST_JOBS);
    for (place, node) in named {
        // Those that are slower are named, or too little is known of them.
        let others = &nodes[place + 1..];
        let Some((middle, variance, usual)) = spread(others) else { break };
        let difference = node.term - middle;
        // The variance of the others has their own errors in it: it is less by chance alone.
        let t = difference / (variance.max(usual) + (node.error * node.error - usual).max(0.0)).sqrt();
        let freedom = (others.len() - 1) as f64;
        let p = ((1.0 - student_below(t, freedom)) * tested as f64).min(1.0);
        if p.is_nan() || p > LEVEL || difference.exp_m1() < LEAST {
            break;
        }
        let reach = node.error * student_quantile(freedom, 0.975).unwrap_or(f64::INFINITY);
        slow.push(SlowNode {
            node: node.node,
            share: difference.exp_m1(),
            interval: [difference - reach, difference + reach].map(f64::exp_m1),
            jobs: node.jobs,
            p,
        });
    }
    slow
}

impl Terms {
    fn fitted(observed: &mut [Observed], freedom: f64) -> Terms {
        let length = |which: usize| observed.iter().map(|one| one.of[which] + 1).max().unwrap_or(0);
        let mut terms = Terms([0, 1, 2].map(|which| vec![0.0; length(which)]));
        for round in 0..ROUNDS {
            // Those of the nodes are wanted: among many jobs some term always changes.
            let [_, _, change] = [0, 1, 2].map(|which| terms.refit(which, observed));
            if change < CHANGE && round > 3 {
                break;
            }
            let scale = terms.scale(observed, freedom);
            for one in observed.iter_mut() {
                one.weight = (HUBER * scale / terms.rest(one).abs().max(f64::MIN_POSITIVE)).min(1.0);
            }
        }
        terms
    }

    fn rest(&self, one: &Observed) -> f64 {
        let [job, position, node] = one.of;
        one.logarithm - self.0[0][job] - self.0[1][position] - self.0[2][node]
    }

    /// The standard deviation of the rests, by the median; the fit has made them smaller.
    fn scale(&self, observed: &[Observed], freedom: f64) -> f64 {
        let mut rests: Vec<f64> = observed.iter().map(|one| self.rest(one).abs()).collect();
        1.4826 * median(&mut rests).unwrap_or(0.0) * (observed.len() as f64 / freedom).sqrt()
    }

    /// Makes the terms of one kind the weighted means of what the others leave; the largest change.
    fn refit(&mut self, which: usize, observed: &[Observed]) -> f64 {
        let mut sums = vec![(0.0, 0.0); self.0[which].len()];
        for one in observed {
            let left = self.rest(one) + self.0[which][one.of[which]];
            let (sum, weight) = &mut sums[one.of[which]];
            (*sum, *weight) = (*sum + one.weight * left, *weight + one.weight);
        }
        let mut change: f64 = 0.0;
        for (term, (sum, weight)) in self.0[which].iter_mut().zip(sums) {
            let new = if weight > 0.0 { sum / weight } else { 0.0 };
            change = change.max((new - *term).abs());
            *term = new;
        }
        change
    }

    fn nodes(&self, observed: &[Observed], known: &Known) -> Vec<Node> {
        // The variance of a mean with these weights (Huber 1981, 7.6), of one observation.
        let limit = HUBER * self.scale(observed, known.freedom);
        let squares: f64 = observed.iter().map(|one| self.rest(one).clamp(-limit, limit).powi(2)).sum();
        let inside = observed.iter().filter(|one| self.rest(one).abs() < limit).count() as f64;
        let share = (inside / observed.len() as f64).max(f64::MIN_POSITIVE);
        let variance = squares / known.freedom / (share * share);
        let jobs = counts(observed, 2);
        let of = |(node, &information): (usize, &f64)| Node {
            node,
            term: self.0[2][node],
            error: (variance / information).sqrt(),
            information,
            jobs: jobs[node],
        };
        let all = known.information.iter().enumerate();
        all.filter(|(_, information)| **information >= LEAST_OF_OTHERS).map(of).collect()
    }
}

fn counts(observed: &[Observed], which: usize) -> Vec<usize> {
    let mut counts = vec![0; observed.iter().map(|one| one.of[which] + 1).max().unwrap_or(0)];
    observed.iter().for_each(|one| counts[one.of[which]] += 1);
    counts
}

impl Known {
    /// Leaves the observations that can be compared: those at a position, and in a job, that there is another one of.
    fn new(observed: &mut Vec<Observed>) -> Known {
        loop {
            let [in_job, at_position] = [0, 1].map(|which| counts(observed, which));
            let before = observed.len();
            observed.retain(|one| in_job[one.of[0]] > 1 && at_position[one.of[1]] > 1);
            if observed.len() == before {
                break;
            }
        }
        let [in_job, at_position, on_node] = [0, 1, 2].map(|which| counts(observed, which));
        // A node is not compared with itself at the same position.
        let mut at_both: HashMap<(usize, usize), usize> = HashMap::new();
        observed.iter().for_each(|one| *at_both.entry((one.of[1], one.of[2])).or_default() += 1);
        let mut known = Known { information: vec![0.0; on_node.len()], freedom: 0.0 };
        for one in observed.iter() {
            let [job, position, node] = one.of;
            let [others, all] = [at_both[&(position, node)], at_position[position]].map(|count| count as f64);
            let in_job = 1.0 - 1.0 / in_job[job] as f64;
            known.information[node] += in_job * (1.0 - others / all);
            known.freedom += in_job * (1.0 - 1.0 / all);
        }
        known.freedom -= on_node.iter().filter(|count| **count > 0).count() as f64;
        known
    }
}

/// The median of the terms of nodes, their variance by the biweight (Mosteller and Tukey 1977, 10C), in which one slow
/// node counts for little, and the mean squared error that they have. `None`: too few nodes.
fn spread(nodes: &[Node]) -> Option<(f64, f64, f64)> {
    let terms: Vec<f64> = nodes.iter().map(|node| node.term).collect();
    let middle = median(&mut terms.clone()).filter(|_| nodes.len() >= LEAST_NODES)?;
    let deviation = median(&mut terms.iter().map(|term| (term - middle).abs()).collect::<Vec<_>>())?;
    let (mut above, mut below) = (0.0, 0.0);
    for term in &terms {
        let u = ((term - middle) / (9.0 * deviation).max(f64::MIN_POSITIVE)).powi(2);
        if u < 1.0 {
            above += (term - middle).powi(2) * (1.0 - u).powi(4);
            below += (1.0 - u) * (1.0 - 5.0 * u);
        }
    }
    let variance = terms.len() as f64 * above / (below * below).max(f64::MIN_POSITIVE);
    let squares: f64 = nodes.iter().map(|node| node.error * node.error).sum();
    Some((middle, variance, squares / terms.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    /// Jobs of two programs on 6 of 20 nodes; those in `slow` are slower by so much.
    fn jobs(count: usize, slow: &[(usize, f64)]) -> Vec<Vec<NodeOfJob>> {
        let mut random = Random::new(7);
        let job = |number: usize| {
            let mut nodes: Vec<usize> = (0..20).collect();
            let of_job = (0.1 * random.normal()).exp();
            let of = |place: usize| {
                nodes.swap(place, place + random.bits() as usize % (20 - place));
                let node = nodes[place];
                let by = slow.iter().find(|(slow, _)| *slow == node).map_or(1.0, |(_, by)| 1.0 + by);
                let position = number % 2 * 6 + place;
                let seconds = of_job * (1.0 + 0.1 * position as f64) * by * (0.01 * random.normal()).exp();
                NodeOfJob { node, position, seconds }
            };
            (0..6).map(of).collect()
        };
        (0..count).map(job).collect()
    }

    #[test]
    fn slow_nodes_are_named_with_how_slow_they_are() {
        let found = slow_nodes(&jobs(100, &[(3, 0.1), (8, 0.06)]));
        assert_eq!(found.iter().map(|slow| slow.node).collect::<Vec<_>>(), [3, 8]);
        for (slow, truth) in found.iter().zip([0.1, 0.06]) {
            let [low, high] = slow.interval;
            assert!(low < truth && truth < high && high - low < 0.03, "{slow:?}");
        }
        assert_eq!(slow_nodes(&jobs(100, &[])), []);
        assert_eq!(slow_nodes(&jobs(100, &[(3, -0.1)])), []);
    }

    /// On a busy machine times scatter by a third, and in one of ten jobs a node is held up for as long again.
    #[test]
    fn the_others_scatter_by_no_less_than_their_errors() {
        let mut random = Random::new(11);
        let (mut right, mut wrong) = (0, 0);
        for _ in 0..200 {
            let mut job = || {
                let mut nodes: Vec<usize> = (0..12).collect();
                let mut of = |place: usize| {
                    nodes.swap(place, place + random.bits() as usize % (12 - place));
                    let node = nodes[place];
                    let held_up = if random.bits().is_multiple_of(10) { 2.0 } else { 1.0 };
                    let slow = if node == 5 { 1.6 } else { 1.0 };
                    NodeOfJob { node, position: place, seconds: slow * held_up * (0.3 * random.normal()).exp() }
                };
                (0..4).map(&mut of).collect::<Vec<_>>()
            };
            let campaign: Vec<Vec<NodeOfJob>> = (0..150).map(|_| job()).collect();
            let found = slow_nodes(&campaign);
            let is_slow = |slow: &&SlowNode| slow.node == 5;
            right += found.iter().filter(is_slow).count();
            wrong += found.iter().filter(|slow| !is_slow(slow)).count();
        }
        // The level is 1 of 100 campaigns.
        assert!(right >= 190 && wrong <= 4, "{right} and {wrong} of 200");
    }

    #[test]
    fn too_little_is_no_reason_to_name_a_node() {
        assert_eq!(slow_nodes(&[]), []);
        assert_eq!(slow_nodes(&jobs(8, &[(3, 0.5)])), []);
        // Always on the same nodes in the same order: the position and the node cannot be told apart.
        let fixed: Vec<NodeOfJob> = (0..16)
            .map(|node| NodeOfJob { node, position: node, seconds: if node == 3 { 2.0 } else { 1.0 } })
            .collect();
        assert_eq!(slow_nodes(&vec![fixed; 50]), []);
        let zero = NodeOfJob { node: 0, position: 0, seconds: 0.0 };
        assert_eq!(slow_nodes(&vec![vec![zero; 4]; 50]), []);
    }
}
