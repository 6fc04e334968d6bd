//! How wrong `hca3` and `joint` are, and how long they take, on up to a million nodes: a simulation, since no machine
//! here has them at hand. `cargo bench --bench clock_scale`.
//!
//! A replay of the messages of one synchronisation, node by node and round by round: a round of a pair begins when both
//! are free, and every way takes `BASE_NS`, an exponential `JITTER_NS` and, in `TAIL_SHARE` of all cases, an
//! exponential `TAIL_NS`. Global time is the clock of node 0. The clock of every other node drifts against it by up to
//! `DRIFT_PPM`, and its rate swings by `WANDER_PPB` over `WANDER_PERIOD_S`, beginning anywhere.
//!
//! The edge error of a row is what the offset that two nodes measure between them is off by: `30 ns` is normal with
//! that standard deviation (`EDGE_NS`); `delays` follows from the simulated delays alone, and is what a network without
//! any asymmetry would allow. The points that `hca3` fits its rates to always follow from the delays.
//!
//! A node with an asymmetry takes up to `ASYMMETRY_NS` more or less to send than to receive, the same at every
//! exchange. A pair then measures half the difference of the two asymmetries too much. These errors add up to zero
//! around every loop, so no edge contradicts another: each method, whatever it measures and how often, puts node i off
//! by half of the difference to node 0's, up to `ASYMMETRY_NS` in all, and no number of edges averages it out.
//!
//! The columns: from the first message to when the last node is done; the errors then, largest and root mean square;
//! and the largest 20 s and 60 s later. `hca3` extrapolates. `joint` goes through the offsets of synchronisations every
//! `INTERVAL_S`, in a run of `SECONDS`, by the library's own smoother and curve, and what is given is the largest
//! within the interval that begins with the last synchronisation before. In the last interval of a run it can be ten
//! times that, since on one side there is nothing to tell how the rate goes on: `SECONDS=70` shows it at +60 s. What is
//! kept per edge and synchronisation is a probe; `hca3` keeps a map per node.
//!
//! The errors are one draw (`SEED`): all are against node 0, so what its own edges are off by shifts those of all
//! others alike. Other settings: `NODES` (powers of two), `METHODS` (as in MPITRACE_CLOCKSYNC, separated by blanks),
//! and `VERBOSE=1` to see how long the equations took.

mod errors;
mod hca3;
mod joint;
mod nodes;
mod random;

use std::str::FromStr;

use mpitrace_synchronise::{Method, Synchronisation};

use errors::Outcome;
use hca3::hca3;
use joint::joint;
use nodes::Settings;
use random::{Delays, EdgeError};

const NODES: &str = "32 1024 32768 1048576";
const METHODS: &str = "hca3 hca3,fit_points=100,exchanges=10 joint joint,exchanges=10";
/// Exchanges before the first that counts, as the methods do them.
const WARM_UP: u32 = 5;
/// The part that the reading of a clock adds to the error of an edge, as the joint method assumes.
const READING_NS: f64 = 1.0;
/// When the errors are looked at, s after the synchronisation.
const LATER: [f64; 2] = [20.0, 60.0];
fn variable<T: FromStr>(name: &str, default: T) -> T {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} cannot be read")),
        Err(_) => default,
    }
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
        "| nodes | method | edge error | asymmetry, ns | sync, ms | largest error after, ns | rms \
         | largest at +20 s | at +60 s | bytes per edge |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for nodes in variable("NODES", NODES.to_owned()).split_whitespace() {
        let nodes: usize = nodes.parse().expect("NODES are numbers");
        assert!(nodes.is_power_of_two() && nodes > 1, "NODES are powers of two");
        for (edge, asymmetry) in rows {
            for method in variable("METHODS", METHODS.to_owned()).split_whitespace() {
                let how = Synchronisation::parse(method).unwrap_or_else(|| panic!("METHODS: {method}"));
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
