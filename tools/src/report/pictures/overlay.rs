//! Two fingerprints over each other on one sheet: A solid in blue, B dashed in vermilion.

use super::run_times;
use crate::draw::axis::{Kind, extent};
use crate::draw::scene::{Anchor, Area, FAINT, INK, PAPER, Scene, Stroke};
use crate::draw::{Chart, PALETTE, Range};
use crate::report::comparison::{Comparison, Distance, Pair};
use crate::report::fingerprint::{Ecdf, Timed};

const WIDTH: f64 = 1160.0;
const MARGIN: f64 = 20.0;
const ROW: f64 = 300.0;
const HEAD: f64 = 96.0;

/// A, B.
const STROKES: [Stroke; 2] =
    [Stroke::solid(PALETTE[3], 1.7), Stroke { colour: PALETTE[2], width: 1.7, dash: Some((6.0, 3.0)) }];

/// Lays it out.
pub fn sheet(comparison: &Comparison, pair: &Pair, distance: &Distance) -> Scene {
    let title = format!("{}: {} and {}", pair.operation_key, comparison.names[0], comparison.names[1]);
    let mut scene = Scene::new(WIDTH, HEAD + 2.0 * ROW + 10.0, title.clone());
    scene.text((MARGIN, 26.0), Anchor::Start, 16.0, INK, title);
    let shown = format!("{} run time, categories by {}", distance.time.name(), comparison.method);
    let lines = [distance.words.join("; "), distance.told(), shown];
    for (row, line) in lines.into_iter().enumerate() {
        scene.text((MARGIN, 48.0 + 16.0 * row as f64), Anchor::Start, 11.0, if row < 2 { INK } else { FAINT }, line);
    }
    let Some(sides) = sides(pair, distance) else { return scene };
    let half = (WIDTH - 2.0 * MARGIN) / 2.0;
    let at = |column: f64, row: f64, width: f64| Area {
        left: MARGIN + column * half,
        top: HEAD + row * ROW,
        width,
        height: ROW,
    };
    points(&mut scene, at(0.0, 0.0, 2.0 * half), pair, &sides);
    ecdf(&mut scene, at(0.0, 1.0, half), "Distribution function", sides.map(|timed| &timed.ecdf));
    ecdf(
        &mut scene,
        at(1.0, 1.0, half),
        "Distribution function of the good repetitions",
        sides.map(|timed| &timed.ecdf_good),
    );
    scene
}

fn sides<'p>(pair: &'p Pair, distance: &Distance) -> Option<[&'p Timed; 2]> {
    let of = |side: usize| pair.sides[side].times.iter().find(|timed| timed.time == distance.time);
    Some([of(0)?, of(1)?])
}

fn legend(chart: &mut Chart) {
    let (left, top) = (chart.inside.right() - 62.0, chart.inside.bottom() - 38.0);
    chart.scene.fill(Area { left, top, width: 58.0, height: 34.0 }, PAPER);
    for (row, (name, stroke)) in ["A", "B"].into_iter().zip(STROKES).enumerate() {
        let (right, middle) = (chart.inside.right() - 8.0, chart.inside.bottom() - 28.0 + 14.0 * row as f64);
        chart.scene.text((right - 34.0, middle + 3.5), Anchor::End, 10.0, INK, name);
        chart.scene.line((right - 28.0, middle), (right, middle), stroke);
    }
}

fn ecdf(scene: &mut Scene, area: Area, title: &str, sides: [&Ecdf; 2]) {
    let Some(x) = run_times::run_times(sides.iter().flat_map(|ecdf| ecdf.at_ns.iter().copied()), "run time") else {
        return;
    };
    let y =
        Range { label: "share that takes no longer".into(), range: (0.0, 1.02), kind: Kind::Share, logarithmic: false };
    let mut chart = Chart::new(scene, area, title, &x, &y, 14.0);
    for (ecdf, stroke) in sides.into_iter().zip(STROKES) {
        let before = std::iter::once(&0.0).chain(&ecdf.share);
        let steps = ecdf.at_ns.iter().zip(before).zip(&ecdf.share);
        chart.line(steps.flat_map(|((&x, &from), &to)| [(x, from), (x, to)]), stroke);
    }
    legend(&mut chart);
}

fn points(scene: &mut Scene, area: Area, pair: &Pair, sides: &[&Timed; 2]) {
    let of = |side: usize| {
        let points = &pair.sides[side].points;
        let time = pair.sides[side].index_of(sides[side].time);
        points.repetition.iter().map(|&number| number as f64).zip(points.run_time_ns[time].iter().copied())
    };
    let both = || of(0).chain(of(1));
    let (Some(y), Some(range)) =
        (run_times::run_times(both().map(|point| point.1), "run time"), extent(both().map(|point| point.0)))
    else {
        return;
    };
    let x = Range { label: "repetition".into(), range, kind: Kind::Count, logarithmic: false };
    let mut chart = Chart::new(scene, area, "Run time per repetition", &x, &y, 14.0);
    // The smaller marks on top.
    chart.dots(of(1), STROKES[1].colour, true);
    chart.dots(of(0), STROKES[0].colour, false);
    legend(&mut chart);
}
