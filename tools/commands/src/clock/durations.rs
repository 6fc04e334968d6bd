//! The offset that a method leaves against the time that its synchronisations take (Hunold & Carpen-Amarie 2016,
//! figures 8, 36 and 37), of each method that the probes of the run allow.

use mpitrace_format::layout::SyncEntry;
use mpitrace_show::draw::plot::{Bar, FAR, Ink, Mark, OTHERS, PALETTE, Plot, Range, Shape};
use mpitrace_statistics::Sample;
use mpitrace_synchronise::Method;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::reader::Trace;

use super::domain::Domain;
use super::samples::Samples;

const LOOKS: [(Shape, Ink); 3] = [
    (Shape::Triangle, Ink::of_colour(PALETTE[2])),
    (Shape::Circle, Ink::of_colour(PALETTE[3])),
    (Shape::Diamond, Ink::of_colour(OTHERS[0])),
];

/// A method on one clock: its time (ns), and the median of its distances with their quartiles (ns).
struct Left {
    took_ns: f64,
    median_ns: f64,
    quartiles_ns: Option<(f64, f64)>,
}

/// `None`: the run has left no probes that other methods could be had of.
pub fn plot(trace: &Trace, clock: &Clock, clocks: &[(&Domain, Samples)], first: &Domain) -> Option<Plot> {
    let syncs = first.part.syncs();
    let took = |syncs: &[&SyncEntry]| {
        syncs.iter().map(|sync| sync.end.wrapping_sub(sync.begin) as f64 * first.period_ns()).sum::<f64>()
    };
    let (Some(start), Some(end)) = (syncs.first(), syncs.last()) else { return None };
    let mut found: Vec<(String, Vec<Left>)> = Vec::new();
    for (method, of) in [(Method::Skampi, vec![start]), (Method::Linear, vec![start, end])] {
        let Some(other) = Clock::estimated_by(trace, method).ok().filter(|_| method != clock.method) else { continue };
        let left = |(domain, samples): &(&Domain, Samples)| {
            let index = trace.parts.iter().position(|part| std::ptr::eq(part, domain.part))?;
            let away = samples.against(domain.clock, other.of_part(index)).into_iter().map(|(_, by)| by.abs());
            let sample = Sample::new(&away.collect::<Vec<f64>>());
            let at = |share| sample.quantile(share);
            Some(Left { took_ns: took(&of), median_ns: at(0.5)?, quartiles_ns: at(0.25).zip(at(0.75)) })
        };
        found.push((format!("{}: distance", method.name()), clocks.iter().filter_map(left).collect()));
    }
    if found.is_empty() {
        return None;
    }
    let stated = |(_, samples): &(&Domain, Samples)| {
        let errors = samples.points.iter().filter_map(|point| point.error_ns);
        let sample = Sample::new(&errors.collect::<Vec<f64>>());
        let median_ns = sample.median()?;
        Some(Left { took_ns: took(&syncs.iter().collect::<Vec<_>>()), median_ns, quartiles_ns: None })
    };
    let own = clock.method.name();
    found.push((format!("{own}: its 95 % error"), clocks.iter().filter_map(stated).collect()));

    let all = || found.iter().flat_map(|(_, left)| left);
    let x = Range::of_times("duration of the synchronisations", all().map(|left| left.took_ns), FAR)?;
    let ends = all().flat_map(|left| left.quartiles_ns.map_or([left.median_ns; 2], |(low, high)| [low, high]));
    let y = Range::of_times(&format!("distance from {own}"), ends, FAR)?;
    let mut plot = Plot::new("Offset against duration of the synchronisation", x, y);
    for ((name, left), (shape, ink)) in found.into_iter().zip(LOOKS) {
        let bar = |left: &Left| left.quartiles_ns.map(|y| Bar { x: (left.took_ns, left.took_ns), y });
        plot.add_of(&name, "quartiles", None, ink, Mark::Bars(left.iter().filter_map(bar).collect()));
        let points = left.iter().map(|left| (left.took_ns, left.median_ns)).collect();
        plot.add_of(&name, name.as_str(), Some(name.clone()), ink, Mark::Points { shape, points, rows: Vec::new() });
    }
    Some(plot)
}
