//! Ranks against wall time, over the whole run: for each rank the share of the time in which it did what.

use crate::draw::axis::Kind;
use crate::draw::scene::{Anchor, Area, Colour, INK, Scene};
use crate::draw::{Chart, PALETTE, Range, SMALL};
use crate::report::timeline::Timeline;

/// Computing, or not recorded.
const REST: Colour = Colour(0xdd, 0xdd, 0xdd);
/// Half of the height of a row, in ranks.
const HALF: f64 = 0.42;
/// Above the plot, for the meaning of the colours.
const LEGEND: f64 = 18.0;

/// Draws it.
pub fn draw(timeline: &Timeline, scene: &mut Scene, area: Area) {
    let ends = (timeline.ranks.first(), timeline.ranks.last());
    let (Some(&(lowest, _)), Some(&(_, highest))) = ends else { return };
    let parts: [(&[Vec<u16>], &str, Colour); 3] = [
        (&timeline.communicating, "communicating", PALETTE[3]),
        (&timeline.waiting, "waiting for other ranks", PALETTE[1]),
        (&timeline.off_processor, "off the processor", PALETTE[2]),
    ];
    let mut left = area.left + 66.0;
    for (name, colour) in parts.iter().map(|(_, name, colour)| (*name, *colour)).chain([("the rest", REST)]) {
        scene.fill(Area { left, top: area.top + 4.0, width: 9.0, height: 9.0 }, colour);
        scene.text((left + 13.0, area.top + 12.0), Anchor::Start, SMALL, INK, name);
        left += 22.0 + 6.3 * name.len() as f64;
    }
    let room = Area { top: area.top + LEGEND, height: area.height - LEGEND, ..area };
    let length = timeline.to_ns - timeline.from_ns;
    let x = Range { label: "time".into(), range: (0.0, length), kind: Kind::Time, logarithmic: false };
    let ranks = (f64::from(lowest) - 0.5, f64::from(highest) + 0.5);
    let y = Range { label: "rank".into(), range: ranks, kind: Kind::Count, logarithmic: false };
    let mut chart = Chart::new(scene, room, "What the ranks did when", &x, &y, 14.0);
    for (row, &(first, last)) in timeline.ranks.iter().enumerate() {
        let (bottom, top) = (f64::from(first) - HALF, f64::from(last) + HALF);
        chart.bar((0.0, length), (bottom, top), REST);
        let columns = timeline.waiting[row].len();
        let mut base = vec![0.0; columns];
        for (map, _, colour) in parts {
            let mut points = Vec::with_capacity(2 * columns);
            for (column, (base, &share)) in base.iter_mut().zip(&map[row]).enumerate() {
                let height = |share: f64| bottom + share * (top - bottom);
                let (low, high) = (*base, (*base + f64::from(share) / 1000.0).min(1.0));
                for edge in [column, column + 1] {
                    points.push((edge as f64 / columns as f64 * length, height(low), height(high)));
                }
                *base = high;
            }
            chart.band(&points, colour);
        }
    }
}
