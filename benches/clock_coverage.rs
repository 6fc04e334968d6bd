//! How often the stated errors hold: `cargo bench --bench clock_coverage`.
//!
//! The errors of one run are nearly one draw, so each run counts once: `RUNS` (2000) short ones of two ranks, one of
//! them with a simulated clock, and of each the error of the entry in the middle of its calls. Prints how many lay
//! within their 95 % interval, and within their hard bounds; and how large the errors were as shares of half the
//! distance between the hard bounds, which is what an asymmetry of the ways is a share of. `MPICC` and `MPIRUN` name
//! another MPI. With `NODES=2` each rank has a virtual node of its own, and messages go by TCP. `VERBOSE=1` prints each
//! run, `TRACES` names a folder that keeps the traces, so that another version can estimate their clocks.

mod simulated;

use std::path::Path;

use mpitrace_trace::clock::Clock;
use mpitrace_trace::reader::Trace;
use simulated::{Program, variable};

fn main() {
    let Some(program) = Program::compile() else { return };
    let runs: u32 = variable("RUNS", "2000").parse().expect("RUNS is a number");
    let mut draws = Vec::new();
    for run in 0..runs {
        draws.extend(draw(run, &program));
    }
    let share =
        |of: fn(&Draw) -> bool| draws.iter().filter(|draw| of(draw)).count() as f64 * 100.0 / draws.len() as f64;
    let mut errors: Vec<f64> = draws.iter().map(|draw| draw.error_ns).collect();
    let mut shares: Vec<f64> = draws.iter().map(|draw| draw.error_ns / draw.half_bounds_ns).collect();
    shares.sort_by(f64::total_cmp);
    let mut stated: Vec<f64> = draws.iter().map(|draw| draw.stated_ns).collect();
    println!(
        "{}: {} runs, {:.1} % within their 95 % interval, {:.1} % within their hard bounds; median error {:.1} ns, \
         median half interval {:.1} ns, largest error {:.1} ns; errors as shares of half the distance between the hard \
         bounds: median {:.3}, 95 % below {:.3}, largest {:.3}",
        program.title,
        draws.len(),
        share(|draw| draw.covered),
        share(|draw| draw.held),
        mpitrace_statistics::median(&mut errors).unwrap_or(f64::NAN),
        mpitrace_statistics::median(&mut stated).unwrap_or(f64::NAN),
        errors.iter().copied().fold(0.0, f64::max),
        quantile(&shares, 0.5),
        quantile(&shares, 0.95),
        quantile(&shares, 1.0),
    );
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let index = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(index.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

struct Draw {
    error_ns: f64,
    stated_ns: f64,
    half_bounds_ns: f64,
    covered: bool,
    held: bool,
}

/// By how much the global time of one entry is wrong, ns: of the `record`-th call of the `part`-th part.
fn error_of_entry(trace: &Trace, clock: &Clock, part: usize, record: usize) -> f64 {
    let content = &trace.parts[part];
    let (enter, _) = content.times_of(record);
    let true_tick = content.true_ticks().map_or(enter, |[true_enter, _]| true_enter.get(record));
    // Rank 0 has the true clock.
    let own = clock.of_part(part);
    own.nanoseconds(enter) - own.reference_ns(true_tick)
}

fn draw(run: u32, program: &Program) -> Option<Draw> {
    // Another clock each time.
    let (offset, drift) = (f64::from(run % 19) * 1.7e8 - 1.5e9, f64::from(run % 21) * 5.0 - 50.0);
    let path = program.run(0.02, &[("MPITRACE_TEST_CLOCK", format!("1:offset_ns={offset},ppm={drift}"))]);
    if let Some(folder) = std::env::var_os("TRACES") {
        std::fs::copy(&path, Path::new(&folder).join(format!("{run}.mpitrace"))).expect("the folder TRACES");
    }
    let trace = Trace::open(&[&path]).expect("a trace");
    let clock = Clock::new(&trace);
    let part = trace.parts.iter().position(|part| part.info().pretended != 0)?;
    let records = trace.parts[part].records();
    let middle = records / 2;
    let (tick, _) = (middle < records).then(|| trace.parts[part].times_of(middle))?;
    let own = clock.of_part(part);
    let error = error_of_entry(&trace, &clock, part, middle);
    let (stated_ns, (lower, upper)) = (own.error_ns(tick)?, own.hard_bounds_ns(tick)?);
    if variable("VERBOSE", "0") != "0" {
        println!("error {error:.1} ns, half interval {stated_ns:.1} ns, hard bounds {lower:.1} to {upper:.1} ns");
        for probe in trace.parts.iter().flat_map(|part| part.probes()) {
            println!("  {} {} {} {}", probe.upper - probe.lower, probe.least_round_trip, probe.spread, probe.exchanges);
        }
    }
    Some(Draw {
        error_ns: error.abs(),
        stated_ns,
        half_bounds_ns: (upper - lower) / 2.0,
        covered: error.abs() <= stated_ns,
        // The truth lies at -error from the estimate. A tick is as fine as it gets.
        held: -error >= lower - 1.0 && -error <= upper + 1.0,
    })
}
