//! Several sets of runs laid over each other: histograms with densities (Roth 2021, figures 4.2 and 4.14), run times
//! over time, and what trials come to (Hunold & Carpen-Amarie 2016, figures 4, 17 and 18, and 29).

use mpitrace_show::draw::axis::{AxisKind, extent, with_room};
use mpitrace_show::draw::plot::{FAR, Plot, Range};
use mpitrace_statistics::comparison::Quantile;
use mpitrace_statistics::{Sample, density};

use super::sets::Set;

/// Bins of a histogram, and points of a density.
const BINS: usize = 60;
const POINTS: usize = 240;

/// Run times of sets (ns) as histograms, with a density over each: shares of the repetitions in bins that all sets have
/// in common, of equal width, or of equal width in logarithms where the run times reach far. `None`: there are none.
pub fn histograms(title: impl Into<String>, sets: &[(Set, Vec<f64>)]) -> Option<Plot> {
    let all = || sets.iter().flat_map(|(_, values)| values.iter().copied());
    let (low, high) = extent(all())?;
    let logarithmic = low > 0.0 && high / low > FAR;
    // Equal values still need a bin with a width.
    let (low, high) = if high > low { (low, high) } else { (low, low + low.abs().max(1.0) * 1e-3) };
    let edge = |share: f64| if logarithmic { low * (high / low).powf(share) } else { low + (high - low) * share };
    let edges: Vec<f64> = (0..=BINS).map(|bin| edge(bin as f64 / BINS as f64)).collect();
    let mut found = Vec::new();
    let mut most = 0.0f64;
    for (set, values) in sets {
        let sample = Sample::new(values);
        let below = |at: f64| sample.sorted().partition_point(|value| *value < at);
        let share = |bin: usize| {
            let to = if bin + 1 == BINS { sample.len() } else { below(edges[bin + 1]) };
            (to - below(edges[bin])) as f64 / sample.len().max(1) as f64
        };
        let shares: Vec<f64> = (0..BINS).map(share).collect();
        let at: Vec<f64> = (0..=POINTS).map(|point| edge(point as f64 / POINTS as f64)).collect();
        // Of the logarithms where the bins are equal in these: a bin is as wide everywhere.
        let place = |value: &f64| if logarithmic { value.ln() } else { *value };
        let placed = Sample::new(&values.iter().map(place).collect::<Vec<f64>>());
        let width = (place(&high) - place(&low)) / BINS as f64;
        let dense = density(&placed, &at.iter().map(place).collect::<Vec<f64>>());
        let curve: Vec<(f64, f64)> = at.iter().zip(dense).map(|(&at, density)| (at, density * width)).collect();
        most = shares.iter().copied().chain(curve.iter().map(|(_, y)| *y)).fold(most, f64::max);
        found.push((set, shares, curve));
    }
    let x = Range { logarithmic, ..Range::new("run time", with_room((low, high), logarithmic), AxisKind::Time) };
    let mut plot = Plot::new(title, x, Range::new("share of the repetitions", (0.0, most * 1.05), AxisKind::Share));
    for (set, shares, curve) in found {
        let outline =
            shares.iter().enumerate().flat_map(|(bin, share)| [(edges[bin], *share), (edges[bin + 1], *share)]);
        let ends = [(edges[0], 0.0), (edges[BINS], 0.0)];
        set.outline(&mut plot, ends[..1].iter().copied().chain(outline).chain(ends[1..].iter().copied()).collect());
        set.curve(&mut plot, curve);
    }
    Some(plot)
}

/// Run times of sets over time: for each set values (ns) at shares of the run. `None`: there are none.
pub fn over_time(title: impl Into<String>, sets: &[(Set, Vec<(f64, Quantile)>)]) -> Option<Plot> {
    let ends = |of: &Quantile| of.interval_ns.unwrap_or([of.value_ns; 2]).into_iter().chain([of.value_ns]);
    let y = Range::of_times("mean of a bin", sets.iter().flat_map(|(_, all)| all).flat_map(|(_, of)| ends(of)), FAR)?;
    let mut plot = Plot::new(title, Range::new("share of the repetitions", (0.0, 1.0), AxisKind::Share), y);
    for (set, points) in sets {
        set.through(&mut plot, points.iter().map(|(x, of)| (*x, of.value_ns)).collect());
        set.intervals(&mut plot, points);
    }
    Some(plot)
}

/// The result of each trial of sets over the smallest of its set, at a value of x. `None`: there are none.
pub fn trials(title: impl Into<String>, x: (&str, bool), sets: &[(Set, Vec<(f64, f64)>)]) -> Option<Plot> {
    let points = || sets.iter().flat_map(|(_, points)| points);
    let (first, last) = extent(points().map(|(x, _)| *x))?;
    let (_, most) = extent(points().map(|(_, y)| *y))?;
    let (label, logarithmic) = x;
    let range = if logarithmic { (first / 1.4, last * 1.4) } else { (first - 0.5, last + 0.5) };
    let kind = if logarithmic { AxisKind::Bytes } else { AxisKind::Count };
    let x = Range { logarithmic, ..Range::new(label, range, kind) };
    let y = Range::new(
        "mean of a trial / the smallest",
        (1.0 - (most - 1.0).max(0.001) * 0.08, most + (most - 1.0).max(0.001) * 0.08),
        AxisKind::Share,
    );
    let mut plot = Plot::new(title, x, y);
    sets.iter().for_each(|(set, points)| set.points(&mut plot, points.clone()));
    Some(plot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_show::draw::plot::Mark;

    fn lines_of(plot: &Plot) -> Vec<(&str, &Vec<(f64, f64)>)> {
        let of = plot.layers.iter();
        of.filter_map(|layer| match &layer.mark {
            Mark::Line { points, .. } => Some((layer.name.as_str(), points)),
            _ => None,
        })
        .collect()
    }

    #[test]
    fn a_histogram_holds_all_repetitions_and_its_density_as_many() {
        let set = |name: &str, place| Set { name: name.to_owned(), place };
        let values: Vec<f64> = (0..600).map(|i| 1000.0 + f64::from(i * 7919 % 601)).collect();
        let slower: Vec<f64> = values.iter().map(|value| value + 300.0).collect();
        let plot = histograms("", &[(set("A", 0), values), (set("B", 1), slower)]).unwrap();
        let lines = lines_of(&plot);
        assert_eq!(lines.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["A", "density", "B", "density"]);
        for outline in [lines[0].1, lines[2].1] {
            // Each bin has two points, and the outline begins and ends at 0.
            assert_eq!((outline.len(), outline[0].1, outline[121].1), (122, 0.0, 0.0));
            let sum: f64 = outline[1..121].iter().step_by(2).map(|(_, share)| share).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        }
        let curve = |plot: &Plot| {
            let found = lines_of(plot);
            found[1].1.iter().map(|(_, y)| y).sum::<f64>() * BINS as f64 / POINTS as f64
        };
        assert!((curve(&plot) - 1.0).abs() < 0.06, "{}", curve(&plot));
        assert!(!plot.x.logarithmic && histograms("", &[]).is_none());
        // Over decades both are of the logarithms.
        let far: Vec<f64> = (0..600).map(|i| 1000.0 * 10f64.powf(f64::from(i * 7919 % 601) / 200.0)).collect();
        let plot = histograms("", &[(set("A", 0), far)]).unwrap();
        assert!(plot.x.logarithmic && (curve(&plot) - 1.0).abs() < 0.06, "{}", curve(&plot));
    }
}
