//! Parameters of LogGP out of medians.

use super::Estimate;

/// The outcome for L.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Latency {
    /// It is so long, ns.
    Known(Estimate),
    /// The overheads and the bytes take the whole time or more: they were at work while the message was on its way.
    Covered,
}

/// L = T(m) - o_s - o_r - (m - 1) G, ns (Alexandrov et al. 1995): of the time that a message of m bytes takes from the
/// entry of the send to the exit of the receive what is left without the overheads of both sides, ns, and the gaps of
/// its bytes, G in ns a byte. The variance is the sum of theirs: they are taken as independent.
///
/// ```
/// use mpitrace_statistics::models::{Estimate, Latency, latency};
///
/// let known = |value: f64, half: f64| Estimate { value, interval: Some([value - half, value + half]) };
/// let found = latency(9, known(1000.0, 4.0), [known(200.0, 2.0), known(100.0, 4.0)], known(0.5, 0.0));
/// let Latency::Known(found) = found else { panic!("{found:?}") };
/// assert_eq!(found.value, 696.0);
/// // (16 + 4 + 16)^0.5.
/// assert!(found.interval.is_some_and(|[lower, upper]| (lower - 690.0).abs() < 1e-9 && (upper - 702.0).abs() < 1e-9));
/// let covered = latency(9, known(300.0, 4.0), [known(200.0, 2.0), known(100.0, 4.0)], known(0.5, 0.0));
/// assert_eq!(covered, Latency::Covered);
/// ```
pub fn latency(bytes: u64, time_ns: Estimate, overheads_ns: [Estimate; 2], gap_ns_per_byte: Estimate) -> Latency {
    let further = bytes.saturating_sub(1) as f64;
    let [send, receive] = overheads_ns;
    let value = time_ns.value - send.value - receive.value - further * gap_ns_per_byte.value;
    if value <= 0.0 {
        return Latency::Covered;
    }
    let errors = [(time_ns, 1.0), (send, 1.0), (receive, 1.0), (gap_ns_per_byte, further)];
    let variance: Option<f64> = errors.iter().map(|(of, factor)| Some((of.error()? * factor).powi(2))).sum();
    Latency::Known(Estimate::new(value, variance.map(f64::sqrt)))
}

/// The gap g of a burst, ns (Culler et al. 1993): of k messages one after the other from the completion of the first to
/// that of the last, over k - 1. `None` for fewer than 2, or where all completed at once. As long as g is longer than
/// both overheads it is g; else it is the longer overhead.
///
/// ```
/// use mpitrace_statistics::models::gap_of_burst;
///
/// assert_eq!(gap_of_burst(&[1000.0, 1400.0, 1800.0, 2500.0]), Some(500.0));
/// assert_eq!(gap_of_burst(&[1000.0, 1000.0]), None);
/// assert_eq!(gap_of_burst(&[1000.0]), None);
/// ```
pub fn gap_of_burst(completions_ns: &[f64]) -> Option<f64> {
    let [first, .., last] = completions_ns else { return None };
    let gap = (last - first) / (completions_ns.len() - 1) as f64;
    (gap > 0.0).then_some(gap)
}
