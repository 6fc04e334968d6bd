//! Waits that are too short to be known: they count as communication.

use mpitrace_show::text;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::reader::Trace;

/// Below this it is not worth a sentence, ns: calls between nodes take as long.
const SHORT_NS: f64 = 1000.0;

/// The length below which no wait of one rank for another is known, ns: the sum of the two largest errors of the ranks'
/// clocks. `None`: the errors are not known, or there is one rank.
pub fn below_ns(trace: &Trace, clock: &Clock) -> Option<f64> {
    let mut errors = clock.errors_ns(trace);
    errors.sort_by(f64::total_cmp);
    let states_errors = clock.curves.iter().all(|curve| curve.states_error);
    match errors[..] {
        [.., second, first] if states_errors && first > 0.0 => Some(first + second),
        _ => None,
    }
}

pub fn sentence(below_ns: Option<f64>) -> Option<String> {
    let below = below_ns.filter(|&below| below > SHORT_NS)?;
    Some(format!("Waits below {} are not known: they count as communication.", text::time(below)))
}
