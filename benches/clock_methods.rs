//! The methods of clock synchronisation on the same program, with the truth beside them:
//! `cargo bench --bench clock_methods`.
//!
//! Two ranks, of which one has a simulated clock: seconds off, and drifting. For each method a run of `SECONDS` (60),
//! and how wrong its global time was in the first second, around 20 s, around 60 s and in the last second. `MPICC` and
//! `MPIRUN` name another MPI, `CLOCK` another simulated clock, `METHODS` fewer methods. With `NODES=2` each rank has a
//! virtual node of its own, and messages go by TCP.

mod simulated;

use std::path::Path;

use mpitrace_trace::clock::{Clock, Truth};
use mpitrace_trace::reader::Trace;
use simulated::{Program, variable};

const METHODS: &str = "skampi netgauge jk hca hca2 hca3 h2hca linear joint";
const CLOCK: &str = "1:offset_ns=1.5e9,ppm=37";

fn main() {
    let Some(program) = Program::compile() else { return };
    let seconds: f64 = variable("SECONDS", "60").parse().expect("SECONDS is a number");
    println!("{}, {}, errors in ns: largest / root mean square", program.title, variable("CLOCK", CLOCK));
    println!(
        "| method | sync, ms | first second | at 20 s | at 60 s | last second | whole run | 95 % bars | hard bounds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for method in variable("METHODS", METHODS).split_whitespace() {
        let settings = [
            ("MPITRACE_TEST_CLOCK", variable("CLOCK", CLOCK)),
            ("MPITRACE_CLOCKSYNC", method.to_owned()),
            ("MPITRACE_RESYNC", variable("RESYNC", "auto")),
        ];
        row(method, seconds, &program.run(seconds, &settings));
    }
}

fn row(method: &str, seconds: f64, path: &Path) {
    let trace = Trace::open(&[path]).expect("a trace");
    let clock = Clock::new(&trace);
    let second = |from: f64| {
        let truth = Truth::between(&trace, &clock, from * 1e9, (from + 1.0) * 1e9);
        truth.map_or_else(|| "-".to_owned(), |truth| format!("{:.0} / {:.0}", truth.max_ns, truth.rms_ns))
    };
    let whole = Truth::new(&trace, &clock).expect("a simulated clock");
    println!(
        "| {method} | {:.2} | {} | {} | {} | {} | {:.0} / {:.0} | {} | {} |",
        clock.sync_ns / 1e6,
        second(0.0),
        second(20.0),
        second(59.0),
        second(seconds - 1.0),
        whole.max_ns,
        whole.rms_ns,
        whole.coverage_95.map_or_else(|| "none".to_owned(), |share| format!("{:.0} %", share * 100.0)),
        whole.hard_bounds_held.map_or("none", |held| if held { "held" } else { "broken" }),
    );
}
