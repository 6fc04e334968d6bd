//! The joint method: offsets along a hypercube, solved at once, and curves through those of several synchronisations.

use std::time::Instant;

use mpitrace_format::layout::ProbeEntry;
use mpitrace_format::ticks::AffineMap;
use mpitrace_synchronise::Synchronisation;
use mpitrace_trace::clock::{Curve, Edge, Knot, Limits, Measured, least_squares, smooth};

use super::errors::{Errors, Outcome};
use super::nodes::{NodeClock, Settings};
use super::random::{Delays, EdgeError, Random};
use super::{LATER, WARM_UP};

const _: () = assert!(size_of::<ProbeEntry>() == 64);

/// Simulates it.
pub fn joint(settings: &Settings, how: &Synchronisation, clocks: &[NodeClock], edge: EdgeError) -> Outcome {
    let nodes = clocks.len();
    let mut random = Random(settings.seed ^ 0x6a6f_696e);
    let (middles, epochs, sync_s) = hypercube(&mut random, &settings.delays, how, nodes);

    // Each of the two ways is gone in both directions.
    let exchanges = 2.0 * f64::from(how.exchanges);
    let weight = 1.0 / edge.variance(&settings.delays, exchanges);
    // The probes of one synchronisation are moved to one moment by the rate between it and the next: this is by how
    // much a rate that swings differs. At the first synchronisation, which only has the next one, it is the largest.
    let interval = settings.interval_s;
    let bent = |clock: &NodeClock| clock.rate(0.0) - (clock.ahead(interval) - clock.ahead(0.0)) / interval;
    let bends: Vec<f64> = clocks.iter().map(bent).collect();
    let mut middle = middles.iter();
    let mut edges = Vec::with_capacity(middles.len());
    for (from, to) in pairs(nodes) {
        let at = f64::from(*middle.next().expect("a time for each pair"));
        let moved = |node: usize| -bends[node] * (at - f64::from(epochs[node]));
        let asymmetry = (clocks[from].asymmetry - clocks[to].asymmetry) / 2.0;
        // The true offsets are left out: the equations are linear, and only what is wrong with them is of interest.
        let difference = edge.draw(&mut random, &settings.delays, exchanges) + asymmetry + moved(from) - moved(to);
        edges.push(Edge { from, to, difference, weight });
    }
    drop(middles);
    let begin = Instant::now();
    let (errors, variances) = least_squares(nodes, &edges);
    if settings.verbose {
        eprintln!("{nodes} nodes, {} edges: solved in {:.2} s", edges.len(), begin.elapsed().as_secs_f64());
    }
    drop(edges);
    let later = between(settings, clocks, &errors, &variances);
    Outcome { sync_s, after: Errors::new(errors.into_iter()), later, bytes: size_of::<ProbeEntry>() }
}

/// The pairs of a hypercube, round by round; the higher of the two is the first.
fn pairs(nodes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..nodes.ilog2()).flat_map(move |round| {
        (0..nodes).filter(move |node| node & 1 << round != 0).map(move |node| (node, node ^ 1 << round))
    })
}

/// When each pair of [`pairs`] was halfway, when each node was on average, and when the last was done, s.
fn hypercube(random: &mut Random, delays: &Delays, how: &Synchronisation, nodes: usize) -> (Vec<f32>, Vec<f32>, f64) {
    // In both directions; and each tells the other what it has read, and the lower what it has found.
    let messages = 4 * (how.exchanges + WARM_UP) + 3;
    let mut free = vec![0.0f64; nodes];
    let mut epochs = vec![0.0f32; nodes];
    let share = 1.0 / nodes.ilog2() as f32;
    let middles = pairs(nodes)
        .map(|(from, to)| {
            let begin = free[from].max(free[to]);
            let end = begin + delays.total(random, messages);
            (free[from], free[to]) = (end, end);
            let middle = ((begin + end) / 2.0) as f32;
            epochs[from] += middle * share;
            epochs[to] += middle * share;
            middle
        })
        .collect();
    (middles, epochs, free.into_iter().fold(0.0, f64::max))
}

/// The errors between synchronisations, in the intervals that [`LATER`] lies in.
///
/// Each synchronisation has errors of its own. A hypercube looks the same from each of its nodes, so those of the
/// first, seen from another node, are as good as those that another solution would bring; the asymmetry is the same at
/// all of them.
fn between(settings: &Settings, clocks: &[NodeClock], errors: &[f64], variances: &[f64]) -> [Errors; 2] {
    let nodes = clocks.len();
    let interval = settings.interval_s;
    let number = |at: f64| (at / interval).floor() as usize;
    let syncs = (number(LATER[1]) + 2).max(number(settings.seconds) + 1);
    let mut random = Random(settings.seed ^ 0x6d61_736b);
    let masks: Vec<usize> = (0..syncs).map(|sync| if sync == 0 { 0 } else { random.next() as usize % nodes }).collect();
    let lasting = |node: usize| (clocks[node].asymmetry - clocks[0].asymmetry) / 2.0;
    let passing = |node: usize| errors[node] - lasting(node);
    let of_node = |node: usize, found: &mut [Errors; 2]| {
        let clock = &clocks[node];
        let measured: Vec<Measured> = masks
            .iter()
            .enumerate()
            .map(|(sync, &mask)| {
                let at = interval * sync as f64;
                let error = passing(node ^ mask) - passing(mask) + lasting(node);
                Measured { at, offset: error - clock.ahead(at), variance: variances[node], step: 0.0 }
            })
            .collect();
        let (states, _) = smooth(&measured);
        let knots = measured
            .iter()
            .zip(&states)
            .map(|(measured, state)| Knot {
                local: (measured.at * 1e9) as u64,
                offset: state.mean[0],
                rate: state.mean[1] * 1e-9,
                ..Knot::default()
            })
            .collect();
        let curve = Curve::new(AffineMap::IDENTITY, 0, knots, Limits::default(), true);
        for (later, found) in LATER.iter().zip(found) {
            for quarter in 0..4 {
                let at = interval * (number(*later) as f64 + f64::from(quarter) / 4.0);
                found.take(curve.offset_at((at * 1e9) as u64).offset + clock.ahead(at));
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    let share = (nodes - 1).div_ceil(threads);
    let mut all = [Errors::default(); 2];
    std::thread::scope(|scope| {
        let begin = |thread: usize| (1 + thread * share).min(nodes);
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let of_node = &of_node;
                scope.spawn(move || {
                    let mut found = [Errors::default(); 2];
                    (begin(thread)..begin(thread + 1)).for_each(|node| of_node(node, &mut found));
                    found
                })
            })
            .collect();
        for worker in workers {
            let found = worker.join().expect("a thread that simulates");
            all.iter_mut().zip(&found).for_each(|(all, found)| all.join(found));
        }
    });
    all
}
