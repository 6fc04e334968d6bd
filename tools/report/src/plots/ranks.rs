//! Ranks against repetitions, and against wall time.

use mpitrace_show::draw::axis::{AxisKind, extent};
use mpitrace_show::draw::picture::shade;
use mpitrace_show::draw::plot::{Bar, Image, Ink, Mark, PALETTE, Plot, Range};
use mpitrace_show::draw::scene::{Colour, GRID, PAPER};

use super::view::ALL;
use crate::fingerprint::Heat;
use crate::timeline::{Detail, Timeline};

/// Pixels for each column of a map: columns may hold different numbers of repetitions.
const PIXELS_OF_COLUMN: usize = 2;
/// Pixels that the height of a timeline has at least, and each of its rows.
const PIXELS_OF_HEIGHT: usize = 240;
const PIXELS_OF_ROW: usize = 12;
/// Half of the height of a row of bars, in rows.
const HALF: f64 = 0.42;

const WAITING: (&str, Ink) = ("waiting for others", Ink::of_colour(PALETTE[1]));
const OFF: (&str, Ink) = ("off the processor", Ink::of_colour(PALETTE[2]));
const COMMUNICATING: (&str, Ink) = ("communicating", Ink::of_colour(PALETTE[3]));
const REST: (&str, Ink) = ("computing, or not recorded", Ink::of_colour(GRID));

/// How much later than the first a rank came.
pub fn arrival(heat: &Heat) -> Plot {
    map("Arrival after the first rank", heat, &heat.arrival_ns)
}

/// How much later than the first a rank left.
pub fn departure(heat: &Heat) -> Plot {
    map("Departure after the first rank", heat, &heat.departure_ns)
}

/// How long a rank was in the call.
pub fn run_time(heat: &Heat) -> Plot {
    map("Run time of each rank", heat, &heat.run_time_ns)
}

fn map(title: &str, heat: &Heat, values: &[Vec<f64>]) -> Plot {
    let Some(limits) = extent(values.iter().flatten().copied()) else { return Plot::empty(title) };
    // Less than a nanosecond is no time.
    let (low, high) = (limits.0.max(1.0), limits.1.max(2.0));
    let mut edges: Vec<f64> = heat.repetitions.iter().map(|&number| number as f64).collect();
    let last = edges.len() - 1;
    edges[last] += 1.0;
    let x = Range::new("repetition", (edges[0], edges[last]), AxisKind::Count);
    let mut plot = Plot::new(title, x, Range::of_names("rank", names(&heat.ranks)));
    let width = PIXELS_OF_COLUMN * last;
    let colour = |row: &[f64], pixel: usize| {
        let at = edges[0] + (edges[last] - edges[0]) * (pixel as f64 + 0.5) / width as f64;
        let value = row[edges.partition_point(|&edge| edge <= at) - 1];
        shade((value.max(low) / low).ln() / (high / low).ln().max(1e-9))
    };
    let colour = &colour;
    let pixels = values.iter().flat_map(|row| (0..width).map(move |pixel| colour(row, pixel))).collect();
    let values = vec![("at most", AxisKind::Time, values.to_vec())];
    plot.add(title, None, ALL, Mark::Image(Image { width, pixels, rows: plot.y.names.clone(), edges, values }));
    plot.scale = Some((low, high));
    plot
}

/// The world ranks of rows: from, to.
fn names(ranks: &[(u32, u32)]) -> Vec<String> {
    let name = |&(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}\u{2013}{last}"),
    };
    ranks.iter().map(name).collect()
}

/// All ranks over the whole run: for each the shares of the time in which it did what.
pub fn timeline(timeline: &Timeline) -> Plot {
    let length = timeline.to_ns - timeline.from_ns;
    let x = Range::new("time", (0.0, length), AxisKind::Time);
    let mut plot = Plot::new("Timeline of the ranks", x, Range::of_names("rank", names(&timeline.ranks)));
    let parts =
        [(COMMUNICATING, &timeline.communicating), (WAITING, &timeline.waiting), (OFF, &timeline.off_processor)];
    let width = timeline.waiting.first().map_or(0, Vec::len);
    let of_row = (PIXELS_OF_HEIGHT / timeline.ranks.len().max(1)).max(PIXELS_OF_ROW);
    let mut pixels: Vec<Colour> = Vec::with_capacity(width * of_row * timeline.ranks.len());
    for row in 0..timeline.ranks.len() {
        for step in 0..of_row {
            // The row at the top, and a line between the rows, is paper.
            let share = 1000.0 * (1.0 - (step as f64 - 0.5) / (of_row as f64 - 1.0));
            pixels.extend((0..width).map(|column| {
                if step == 0 {
                    return PAPER;
                }
                let mut below = 0.0;
                let part = parts.iter().find(|(_, map)| {
                    below += f64::from(map[row][column]);
                    share < below
                });
                part.map_or(REST.1.colour, |((_, ink), _)| ink.colour)
            }));
        }
    }
    let edges = (0..=width).map(|column| column as f64 / width as f64 * length).collect();
    let values = parts.iter().map(|((name, _), map)| {
        let shares = |row: &Vec<u16>| row.iter().map(|&share| f64::from(share) / 1000.0).collect();
        (*name, AxisKind::Share, map.iter().map(shares).collect())
    });
    let values = values.collect();
    plot.colours = [WAITING, OFF, COMMUNICATING, REST].map(|(name, ink)| (name, ink.colour)).into();
    let image = Image { width, pixels, rows: plot.y.names.clone(), edges, values };
    plot.add("timeline", None, ALL, Mark::Image(image));
    plot
}

/// The calls of each rank around a repetition.
pub fn detail(detail: &Detail) -> Plot {
    let length = detail.to_ns - detail.from_ns;
    let names = names(&detail.ranks.iter().map(|&rank| (rank, rank)).collect::<Vec<_>>());
    let mut plot = Plot::new(
        detail.title.clone(),
        Range::new("time", (0.0, length), AxisKind::Time),
        Range::of_names("rank", names),
    );
    let row = |row: usize| (row as f64 - HALF, row as f64 + HALF);
    let whole = (0..detail.ranks.len()).map(|rank| Bar { x: (0.0, length), y: row(rank) });
    let whole = Mark::Bars(whole.collect());
    let bars = |wanted: char| {
        let found = detail.bars.iter().filter(|(_, _, _, doing)| *doing == wanted);
        Mark::Bars(found.map(|&(rank, from, to, _)| Bar { x: (from as f64, to as f64), y: row(rank) }).collect())
    };
    let mut add = |(name, ink): (&str, Ink), mark: Mark| plot.add(name, Some(name.to_owned()), ink, mark);
    add(REST, whole);
    add(WAITING, bars('w'));
    add(OFF, bars('o'));
    add(COMMUNICATING, bars('c'));
    plot
}
