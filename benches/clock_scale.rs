//! How wrong `hca3` and `joint` are, and how long they take, on up to a million nodes: a simulation, since nobody has them
//! at hand. `cargo bench --bench clock_scale`.
//!
//! A replay of the messages of one synchronisation, node by node and round by round: a round of a pair begins when both are
//! free, and every way takes `BASE_NS`, an exponential `JITTER_NS` and, in `TAIL_SHARE` of all cases, an exponential `TAIL_NS`.
//! Global time is the clock of node 0. The clock of every other node drifts against it by up to `DRIFT_PPM`, and its rate swings
//! by `WANDER_PPB` over `WANDER_PERIOD_S`, beginning anywhere.
//!
//! The edge error of a row is what the offset that two nodes measure between them is off by: `30 ns` is normal with that standard
//! deviation (`EDGE_NS`); `delays` follows from the simulated delays alone, and is what a network without any asymmetry would
//! allow. The points that `hca3` fits its rates to always follow from the delays.
//!
//! A node with an asymmetry takes up to `ASYMMETRY_NS` more or less to send than to receive, the same at every exchange. A
//! pair then measures half the difference of the two asymmetries too much. These errors add up to zero around every loop, so
//! no edge contradicts another: each method, whatever it measures and how often, puts node i off by half of the difference to
//! node 0's, up to `ASYMMETRY_NS` in all, and no number of edges averages it out.
//!
//! The columns: from the first message to when the last node is done; the errors then, largest and root mean square; and the
//! largest 20 s and 60 s later. `hca3` extrapolates. `joint` goes through the offsets of synchronisations every
//! `INTERVAL_S`, in a run of `SECONDS`, by the library's own smoother and curve, and what is given is the largest within the
//! interval that begins with the last synchronisation before. In the last interval of a run it can be ten times that,
//! since on one side there is nothing to tell how the rate goes on: `SECONDS=70` shows it at +60 s. What is kept per edge and
//! synchronisation is a probe; `hca3` keeps a map per node.
//!
//! The errors are one draw (`SEED`): all are against node 0, so what its own edges are off by shifts those of all others alike.
//! Other settings: `NODES` (powers of two), `METHODS` (as in MPITRACE_CLOCKSYNC, separated by blanks), and `VERBOSE=1` to see how
//! long the equations took.

use std::f64::consts::TAU;
use std::str::FromStr;
use std::time::Instant;

use mpitrace::clock::{Curve, Edge, Knot, Limits, Measured, least_squares, smooth};
use mpitrace_format::layout::ProbeEntry;
use mpitrace_format::ticks::AffineMap;
use mpitrace_synchronise::{Method, Synchronisation};

const NODES: &str = "32 1024 32768 1048576";
const METHODS: &str = "hca3 hca3,fit_points=100,exchanges=10 joint joint,exchanges=10";
/// Exchanges before the first that counts, as the methods do them.
const WARM_UP: u32 = 5;
/// What the reading of a clock adds to the error of an edge, as the joint method assumes.
const READING_NS: f64 = 1.0;
/// When the errors are looked at, s after the synchronisation.
const LATER: [f64; 2] = [20.0, 60.0];
/// Above so many expected events their sum is as good as normal.
const MANY: f64 = 50.0;

const _: () = assert!(size_of::<ProbeEntry>() == 64);

fn variable<T: FromStr>(name: &str, default: T) -> T {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} cannot be read")),
        Err(_) => default,
    }
}

/// SplitMix64: good enough for errors, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Above 0, up to 1.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Between -1 and 1.
    fn either_way(&mut self) -> f64 {
        2.0 * self.uniform() - 1.0
    }

    fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (TAU * self.uniform()).cos()
    }
}

/// How long a message takes, ns.
struct Delays {
    base: f64,
    jitter: f64,
    tail_share: f64,
    tail: f64,
}

impl Delays {
    /// By how much the quickest of so many messages takes longer than the least. The least of n exponentials is an exponential
    /// of an n-th of the mean, and those in the tail are never it.
    fn least_excess(&self, random: &mut Random, count: f64) -> f64 {
        random.exponential() * self.jitter / (count * (1.0 - self.tail_share))
    }

    /// How long so many messages take, one after the other, s. The sum of many exponentials is as good as normal; those in the
    /// tail are few and long, so they are drawn one by one unless they are many, too.
    fn total(&self, random: &mut Random, count: u32) -> f64 {
        let count = f64::from(count);
        let jitter = (count + count.sqrt() * random.normal()).max(0.0) * self.jitter;
        let expected = count * self.tail_share;
        let mut tails = 0.0;
        if expected > MANY {
            tails = (expected + (2.0 * expected).sqrt() * random.normal()).max(0.0);
        } else {
            let mut passed = random.exponential();
            while passed < expected {
                tails += random.exponential();
                passed += random.exponential();
            }
        }
        (count * self.base + jitter + tails * self.tail) * 1e-9
    }
}

/// What the offset between two nodes is off by.
#[derive(Clone, Copy, PartialEq)]
enum EdgeError {
    /// Normal, with this standard deviation, ns.
    Normal(f64),
    /// As the delays have it.
    Delays,
}

impl EdgeError {
    /// The middle of the tightest bounds of so many exchanges.
    fn draw(self, random: &mut Random, delays: &Delays, exchanges: f64) -> f64 {
        match self {
            EdgeError::Normal(deviation) => deviation * random.normal(),
            EdgeError::Delays => {
                (delays.least_excess(random, exchanges) - delays.least_excess(random, exchanges)) / 2.0
            }
        }
    }

    /// What the joint method would take for its variance.
    fn variance(self, delays: &Delays, exchanges: f64) -> f64 {
        match self {
            EdgeError::Normal(deviation) => deviation * deviation,
            EdgeError::Delays => READING_NS.powi(2) + (delays.jitter / exchanges).powi(2),
        }
    }
}

/// A clock against that of node 0.
#[derive(Clone, Copy, Default)]
struct NodeClock {
    /// ns per s.
    drift: f64,
    /// By which its rate swings, ns per s.
    wander: f64,
    /// Radians per s.
    turning: f64,
    turned: f64,
    /// By how much it sends more slowly than it receives, ns.
    asymmetry: f64,
}

impl NodeClock {
    /// By how much it is ahead of what it was when it was set, ns.
    fn ahead(&self, at: f64) -> f64 {
        self.drift * at - self.wander / self.turning.max(f64::MIN_POSITIVE) * (self.turning * at + self.turned).cos()
    }

    fn rate(&self, at: f64) -> f64 {
        self.drift + self.wander * (self.turning * at + self.turned).sin()
    }
}

struct Settings {
    delays: Delays,
    drift_ppm: f64,
    wander_ppb: f64,
    period_s: f64,
    interval_s: f64,
    seconds: f64,
    seed: u64,
    verbose: bool,
}

impl Settings {
    fn clocks(&self, nodes: usize, asymmetry: f64) -> Vec<NodeClock> {
        let mut random = Random(self.seed);
        let mut clocks: Vec<NodeClock> = (0..nodes)
            .map(|_| NodeClock {
                drift: self.drift_ppm * 1e3 * random.either_way(),
                wander: self.wander_ppb,
                turning: TAU / self.period_s,
                turned: TAU * random.uniform(),
                asymmetry: asymmetry * random.either_way(),
            })
            .collect();
        clocks[0] = NodeClock { asymmetry: clocks[0].asymmetry, ..NodeClock::default() };
        clocks
    }
}

/// Of many errors.
#[derive(Clone, Copy, Default)]
struct Errors {
    largest: f64,
    squares: f64,
    count: f64,
}

impl Errors {
    fn take(&mut self, error: f64) {
        self.largest = self.largest.max(error.abs());
        self.squares += error * error;
        self.count += 1.0;
    }

    fn join(&mut self, other: &Errors) {
        self.largest = self.largest.max(other.largest);
        self.squares += other.squares;
        self.count += other.count;
    }

    fn rms(&self) -> f64 {
        (self.squares / self.count.max(1.0)).sqrt()
    }

    fn of(errors: impl Iterator<Item = f64>) -> Errors {
        let mut all = Errors::default();
        errors.for_each(|error| all.take(error));
        all
    }
}

struct Outcome {
    sync_s: f64,
    after: Errors,
    later: [Errors; 2],
    bytes: usize,
}

fn main() {
    let settings = Settings {
        delays: Delays {
            base: variable("BASE_NS", 1000.0),
            jitter: variable("JITTER_NS", 150.0),
            tail_share: variable("TAIL_SHARE", 0.02),
            tail: variable("TAIL_NS", 5000.0),
        },
        drift_ppm: variable("DRIFT_PPM", 50.0),
        wander_ppb: variable("WANDER_PPB", 500.0),
        period_s: variable("WANDER_PERIOD_S", 60.0),
        interval_s: variable("INTERVAL_S", 10.0),
        seconds: variable("SECONDS", 100.0),
        seed: variable("SEED", 1),
        verbose: variable("VERBOSE", 0) != 0,
    };
    let (edge_ns, asymmetry_ns) = (variable("EDGE_NS", 30.0), variable("ASYMMETRY_NS", 20.0));
    let rows = [(EdgeError::Normal(edge_ns), 0.0), (EdgeError::Delays, 0.0), (EdgeError::Delays, asymmetry_ns)];
    println!(
        "A round trip takes {:.1} us at least and {:.1} us on average; wander {} ppb over {} s; joint every {} s.",
        settings.delays.base * 2e-3,
        (settings.delays.base + settings.delays.jitter + settings.delays.tail_share * settings.delays.tail) * 2e-3,
        settings.wander_ppb,
        settings.period_s,
        settings.interval_s,
    );
    println!(
        "| nodes | method | edge error | asymmetry, ns | sync, ms | largest error after, ns | rms | largest at +20 s | at +60 s \
         | bytes per edge |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for nodes in variable("NODES", NODES.to_owned()).split_whitespace() {
        let nodes: usize = nodes.parse().expect("NODES are numbers");
        assert!(nodes.is_power_of_two() && nodes > 1, "NODES are powers of two");
        for (edge, asymmetry) in rows {
            for method in variable("METHODS", METHODS.to_owned()).split_whitespace() {
                let how = Synchronisation::parse(method).unwrap_or_else(|expected| panic!("METHODS: {expected}"));
                let clocks = settings.clocks(nodes, asymmetry);
                let outcome = match how.method {
                    Method::Hca3 => hca3(&settings, &how, &clocks, edge),
                    Method::Joint => joint(&settings, &how, &clocks, edge),
                    _ => panic!("{method} is not simulated: hca3 and joint are"),
                };
                row(nodes, method, edge, asymmetry, &outcome);
            }
        }
    }
}

fn row(nodes: usize, method: &str, edge: EdgeError, asymmetry: f64, outcome: &Outcome) {
    let edge = match edge {
        EdgeError::Normal(deviation) => format!("{deviation} ns"),
        EdgeError::Delays => "delays".to_owned(),
    };
    println!(
        "| 2^{} | {method} | {edge} | {asymmetry} | {:.2} | {:.1} | {:.1} | {:.0} | {:.0} | {} |",
        nodes.ilog2(),
        outcome.sync_s * 1e3,
        outcome.after.largest,
        outcome.after.rms(),
        outcome.later[0].largest,
        outcome.later[1].largest,
        outcome.bytes,
    );
}

/// The map of a node to its parent's global time: off by `error` at `at`, and fitted to a rate.
#[derive(Clone, Copy, Default)]
struct Fitted {
    at: f64,
    error: f64,
    /// The estimated rate of global time against the clock, ns per s.
    rate: f64,
}

impl Fitted {
    /// What the node takes for global time is ahead by this.
    fn error(&self, clock: &NodeClock, at: f64) -> f64 {
        self.error + self.rate * (at - self.at) + clock.ahead(at) - clock.ahead(self.at)
    }
}

fn hca3(settings: &Settings, how: &Synchronisation, clocks: &[NodeClock], edge: EdgeError) -> Outcome {
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
            // What the fit sees of two clocks that swing slowly: how far they have gone from its first point to its last.
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
    let errors = |later: f64| Errors::of(maps.iter().zip(clocks).map(|(map, clock)| map.error(clock, sync_s + later)));
    Outcome { sync_s, after: errors(0.0), later: LATER.map(errors), bytes: 0 }
}

fn joint(settings: &Settings, how: &Synchronisation, clocks: &[NodeClock], edge: EdgeError) -> Outcome {
    let nodes = clocks.len();
    let mut random = Random(settings.seed ^ 0x6a6f_696e);
    let (middles, epochs, sync_s) = hypercube(&mut random, &settings.delays, how, nodes);

    // Each of the two ways is gone in both directions.
    let exchanges = 2.0 * f64::from(how.exchanges);
    let weight = 1.0 / edge.variance(&settings.delays, exchanges);
    // The probes of one synchronisation are moved to one moment by the rate between it and the next: this is by how much a rate
    // that swings differs. At the first synchronisation, which only has the next one, it is the largest.
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
    Outcome { sync_s, after: Errors::of(errors.into_iter()), later, bytes: size_of::<ProbeEntry>() }
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
/// Each synchronisation has errors of its own. A hypercube looks the same from each of its nodes, so those of the first, seen from
/// another node, are as good as those that another solution would bring; the asymmetry is the same at all of them.
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
                found.take(curve.at((at * 1e9) as u64).offset + clock.ahead(at));
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
