//! Maps of rank by repetition. The colours grow lighter in one direction only, so that they can be read in grey.

use super::View;
use super::run_times::repetitions;
use crate::draw::axis::{Axis, Kind, extent};
use crate::draw::scene::{Anchor, Area, Colour, INK, Scene, rectangle};
use crate::draw::{Chart, Range};
use crate::report::fingerprint::Heat;

/// Viridis at nine places (Smith and van der Walt, public domain): even in lightness, also for the colour-blind.
const VIRIDIS: [Colour; 9] = [
    Colour(0x44, 0x01, 0x54),
    Colour(0x47, 0x2d, 0x7b),
    Colour(0x3b, 0x52, 0x8b),
    Colour(0x2c, 0x72, 0x8e),
    Colour(0x21, 0x91, 0x8c),
    Colour(0x28, 0xae, 0x80),
    Colour(0x5e, 0xc9, 0x62),
    Colour(0xad, 0xdc, 0x30),
    Colour(0xfd, 0xe7, 0x25),
];
/// Shades that are told apart: as many paths.
const SHADES: usize = 64;

/// How much later than the first a rank came.
pub fn arrival(view: &View, scene: &mut Scene, area: Area) {
    map(view, scene, area, "Arrival after the first rank", |heat| &heat.arrival_ns);
}

/// How long a rank was in the call.
pub fn run_time(view: &View, scene: &mut Scene, area: Area) {
    map(view, scene, area, "Run time of each rank", |heat| &heat.run_time_ns);
}

fn map(view: &View, scene: &mut Scene, area: Area, title: &str, of: fn(&Heat) -> &Vec<Vec<f64>>) {
    let Some((heat, limits)) =
        view.fingerprint.heat.as_ref().and_then(|heat| Some((heat, extent(of(heat).iter().flatten().copied())?)))
    else {
        return view.nothing(scene, area, title);
    };
    // Less than a nanosecond is no time.
    let (low, high) = (limits.0.max(1.0), limits.1.max(2.0));
    let ranks = (f64::from(heat.ranks[0].0) - 0.5, f64::from(heat.ranks[heat.ranks.len() - 1].1) + 0.5);
    let y = Range { label: "rank".into(), range: ranks, kind: Kind::Count, logarithmic: false };
    let mut x = repetitions(view);
    let last = heat.repetitions.len() - 1;
    x.range = (heat.repetitions[0] as f64, heat.repetitions[last] as f64 + 1.0);
    let chart = Chart::new(scene, area, title, &x, &y, 78.0);
    let mut shades = vec![String::new(); SHADES];
    for (&(first_rank, last_rank), row) in heat.ranks.iter().zip(of(heat)) {
        let (top, bottom) = (chart.y.place(f64::from(last_rank) + 0.5), chart.y.place(f64::from(first_rank) - 0.5));
        for (column, &value) in row.iter().enumerate() {
            let end = heat.repetitions[column + 1] + u64::from(column + 1 == last);
            let (left, right) = (chart.x.place(heat.repetitions[column] as f64), chart.x.place(end as f64));
            let share = (value.max(low) / low).ln() / (high / low).ln().max(1e-9);
            let shade = ((share * SHADES as f64) as usize).min(SHADES - 1);
            // A little wider, that no seam shows.
            let cell = Area { left, top, width: right - left + 0.3, height: bottom - top + 0.3 };
            shades[shade].push_str(&rectangle(cell));
        }
    }
    let inside = chart.inside;
    for (shade, data) in shades.into_iter().enumerate() {
        chart.scene.path(data, Some(colour((shade as f64 + 0.5) / SHADES as f64)), None, Some(inside));
    }
    scale(chart.scene, inside, (low, high));
}

/// The colours with what they mean, beside the map.
fn scale(scene: &mut Scene, inside: Area, range: (f64, f64)) {
    let left = inside.right() + 10.0;
    let step = inside.height / SHADES as f64;
    for shade in 0..SHADES {
        let top = inside.bottom() - step * (shade as f64 + 1.0);
        let area = Area { left, top, width: 10.0, height: step + 0.3 };
        scene.fill(area, colour((shade as f64 + 0.5) / SHADES as f64));
    }
    let axis = Axis::new(range, (inside.bottom(), inside.top), Kind::Time, true);
    for (place, label) in axis.ticks(5.0) {
        scene.text((left + 13.0, place + 3.5), Anchor::Start, 9.5, INK, format!("{label} {}", axis.unit));
    }
}

fn colour(share: f64) -> Colour {
    let place = share.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let below = (place as usize).min(VIRIDIS.len() - 2);
    let part = place - below as f64;
    let mix = |from: u8, to: u8| (f64::from(from) + (f64::from(to) - f64::from(from)) * part).round() as u8;
    let (a, b) = (VIRIDIS[below], VIRIDIS[below + 1]);
    Colour(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}
