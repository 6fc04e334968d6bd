//! HCA3: a map for each node, along a tree.

use mpitrace_synchronise::Synchronisation;

use super::errors::{Errors, Outcome};
use super::nodes::{NodeClock, Settings};
use super::random::{EdgeError, Random};
use super::{LATER, WARM_UP};

/// The map of a node to its parent's global time: off by `error` at `at`, and fitted to a rate.
#[derive(Clone, Copy, Default)]
struct Fitted {
    at: f64,
    error: f64,
    /// The estimated rate of global time against the clock, ns per s.
    rate: f64,
}

impl Fitted {
    /// The lead of the node's global time.
    fn error(&self, clock: &NodeClock, at: f64) -> f64 {
        self.error + self.rate * (at - self.at) + clock.ahead(at) - clock.ahead(self.at)
    }
}

/// Simulates it.
pub fn hca3(settings: &Settings, how: &Synchronisation, clocks: &[NodeClock], edge: EdgeError) -> Outcome {
    let nodes = clocks.len();
    let mut random = Random(settings.seed ^ 0x0068_6361);
    let (points, exchanges) = (f64::from(how.fit_points), f64::from(how.exchanges));
    // The mean round trip, the fit points and the offset at the end.
    let pings = how.fit_points + 2;
    // The median of N exponentials has a standard deviation of their mean over the root of N.
    let point_ns = settings.delays.jitter / exchanges.sqrt();
    let mut free = vec![0.0f64; nodes];
    let mut maps = vec![Fitted::default(); nodes];
    let mut distance = nodes / 2;
    while distance > 0 {
        for child in (distance..nodes).step_by(2 * distance) {
            let parent = child - distance;
            let begin = free[parent].max(free[child]);
            let end = begin + settings.delays.total(&mut random, 2 * pings * (how.exchanges + WARM_UP));
            // What the fit sees of two clocks that swing slowly: how far they have gone from its first point to its
            // last.
            let (from, to) = (begin + (end - begin) / f64::from(pings), end - (end - begin) / f64::from(pings));
            let secant = |ahead: &dyn Fn(f64) -> f64| (ahead(to) - ahead(from)) / (to - from);
            let of_parent = secant(&|at| maps[parent].error(&clocks[parent], at));
            let of_child = secant(&|at| clocks[child].ahead(at));
            // The standard error of a line's slope through points evenly spread.
            let slope = point_ns * (12.0 / points).sqrt() / (to - from) * random.normal();
            let asymmetry = (clocks[child].asymmetry - clocks[parent].asymmetry) / 2.0;
            let error = maps[parent].error(&clocks[parent], end)
                + edge.draw(&mut random, &settings.delays, exchanges)
                + asymmetry;
            maps[child] = Fitted { at: end, error, rate: of_parent - of_child + slope };
            (free[parent], free[child]) = (end, end);
        }
        distance /= 2;
    }
    let sync_s = free.iter().copied().fold(0.0, f64::max);
    let errors = |later: f64| Errors::new(maps.iter().zip(clocks).map(|(map, clock)| map.error(clock, sync_s + later)));
    Outcome { sync_s, after: errors(0.0), later: LATER.map(errors), bytes: 0 }
}
