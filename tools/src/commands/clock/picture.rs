//! The picture of `clock`: the offset of each clock over the run, one panel below the other.
//!
//! The kinds of marks differ, so that the picture can be read without colours too.

use std::fmt::Write;

use mpitrace::clock::Clock;
use mpitrace::reader::Trace;

use super::domain::{self, Domain};
use super::samples::Samples;
use crate::draw::axis::Kind;
use crate::draw::scene::{Anchor, Area, Colour, FAINT, INK, PAPER, Scene, Stroke};
use crate::draw::{self, Chart, PALETTE, Range};
use crate::text;

/// Panels of one picture; of more clocks, those are shown that leave their straight lines furthest.
const PANELS: usize = 16;
/// Every so many points the error is drawn.
const BAR_EVERY: usize = 10;
/// Hard bounds this many times as far apart as the offsets with their errors would flatten the curve, and are cut off.
const WIDEST_BOUNDS: f64 = 8.0;

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 16.0;
/// Above the panels.
const HEAD: f64 = 88.0;
const NS_PER_S: f64 = 1e9;

const CURVE: Stroke = Stroke::solid(PALETTE[3], 1.8);
const ERROR: Stroke = Stroke::solid(PALETTE[2], 1.0);
const BOUNDS: Colour = Colour(0xdd, 0xdd, 0xdd);
const STEP: Stroke = Stroke { colour: INK, width: 1.2, dash: Some((5.0, 3.0)) };

/// Draws it.
pub fn scene(trace: &Trace, clock: &Clock) -> Scene {
    let domains = domain::all(trace, clock);
    let mut panels: Vec<Panel> = domains.iter().skip(1).map(|domain| Panel::of(domain, &domains[0])).collect();
    let all = panels.len();
    if all > PANELS {
        let reach = |panel: &Panel| panel.samples.reach_ns().1 - panel.samples.reach_ns().0;
        panels.sort_by(|a, b| reach(b).total_cmp(&reach(a)));
        panels.truncate(PANELS);
        panels.sort_by_key(|panel| panel.first_rank);
    }
    let height = if panels.len() == 1 { 360.0 } else { 210.0 };
    let title = "Offset of each clock to that of rank 0";
    let mut scene = Scene::new(WIDTH, HEAD + panels.len().max(1) as f64 * height + MARGIN, title.to_owned());
    scene.text((MARGIN, 28.0), Anchor::Start, 17.0, INK, format!("{title}, relative to its straight line"));
    if panels.is_empty() {
        scene.text((MARGIN, HEAD), Anchor::Start, 14.0, INK, "All ranks read one clock: there is no offset.");
        return scene;
    }
    let mut subtitle =
        format!("method {}; the line goes from the first synchronisation to the last", clock.method.name());
    if all > PANELS {
        let _ = write!(subtitle, "; the {PANELS} of {all} clocks that leave theirs furthest");
    }
    scene.text((MARGIN, 48.0), Anchor::Start, 12.0, FAINT, subtitle);
    legend(&mut scene, &panels);
    let ends = panels.iter().flat_map(|panel| &panel.samples.points).map(|point| point.at_s * NS_PER_S);
    let (start, end) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (low.min(at), high.max(at)));
    // Room for the marks at both ends.
    let margin = 0.01 * (end - start);
    for (index, panel) in panels.iter().enumerate() {
        let label = if index + 1 == panels.len() { "time since the first call" } else { "" };
        let range = (start - margin, end + margin);
        let across = Range { label: label.into(), range, kind: Kind::Time, logarithmic: false };
        let top = HEAD + index as f64 * height;
        panel.draw(&mut scene, Area { left: 0.0, top, width: WIDTH, height }, &across);
    }
    scene
}

/// The offset of one clock.
struct Panel {
    title: String,
    first_rank: u32,
    samples: Samples,
}

impl Panel {
    fn of(domain: &Domain, reference: &Domain) -> Panel {
        let (offset, drift) = (domain.offset_ns(), domain.drift_ppm(reference));
        let ahead = if offset < 0.0 { "behind" } else { "ahead" };
        let faster = if drift < 0.0 { "slower" } else { "faster" };
        let title = format!(
            "{}: {} {ahead} at the start, {:.3} ppm {faster}",
            text::named_ranks(domain.ranks),
            text::time(offset.abs()),
            drift.abs()
        );
        Panel { title, first_rank: domain.ranks[0], samples: Samples::of(domain) }
    }

    /// What the panel shows, ns, and whether hard bounds are cut off.
    fn range_ns(&self) -> ((f64, f64), bool) {
        let (low, high) = self.samples.reach_ns();
        // A curve on its line needs a panel with a height too.
        let width = (high - low).max(2.0);
        let (mut low, mut high) = ((low + high - width) / 2.0, (low + high + width) / 2.0);
        let mut cut = false;
        if let Some((hard_low, hard_high)) = self.samples.hard_reach_ns() {
            cut = hard_high - hard_low > WIDEST_BOUNDS * width;
            if !cut {
                (low, high) = (low.min(hard_low), high.max(hard_high));
            }
        }
        let margin = 0.08 * (high - low);
        ((low - margin, high + margin), cut)
    }

    fn draw(&self, scene: &mut Scene, area: Area, across: &Range) {
        let (range, cut) = self.range_ns();
        let samples = &self.samples;
        let bounds = samples.hard_reach_ns().filter(|_| cut).map_or_else(String::new, |(low, high)| {
            let reach =
                [low, high].map(|bound| if bound.is_finite() { text::time(bound) } else { "any offset".into() });
            format!("; hard bounds reach from {} to {}", reach[0], reach[1])
        });
        let title = format!("{}{bounds}", self.title);
        let up = Range { label: "ahead".into(), range, kind: Kind::Time, logarithmic: false };
        let mut chart = Chart::new(scene, area, &title, across, &up, MARGIN);
        // Far outside is as good as infinitely far, which has no place in a picture.
        let far = 2.0 * (range.1 - range.0);
        let placed = |ns: f64| ns.clamp(range.0 - far, range.1 + far);
        let bounds: Option<Vec<(f64, f64, f64)>> = samples
            .points
            .iter()
            .map(|point| point.hard_ns.map(|(low, high)| (point.at_s * NS_PER_S, placed(low), placed(high))))
            .collect();
        chart.band(&bounds.unwrap_or_default(), BOUNDS);
        for step in &samples.steps {
            [step.after_s, step.before_s].into_iter().for_each(|at| chart.vertical(at * NS_PER_S, STEP));
        }
        for point in samples.points.iter().skip(BAR_EVERY / 2).step_by(BAR_EVERY) {
            if let Some(error) = point.error_ns {
                let ends = (placed(point.ahead_ns - error), placed(point.ahead_ns + error));
                chart.error_bar(point.at_s * NS_PER_S, ends, ERROR);
            }
        }
        chart.line(samples.points.iter().map(|point| (point.at_s * NS_PER_S, placed(point.ahead_ns))), CURVE);
        for &(at, ahead) in &samples.synchronisations {
            chart.circle(at * NS_PER_S, placed(ahead), CURVE.colour);
        }
    }
}

/// What the marks mean, those that there are.
fn legend(scene: &mut Scene, panels: &[Panel]) {
    let any = |has: fn(&Samples) -> bool| panels.iter().any(|panel| has(&panel.samples));
    let (mut x, y) = (MARGIN, 74.0);
    let middle = y - 4.0;
    let mut entry = |shown: bool, width: f64, name: &str, mark: &dyn Fn(&mut Scene, f64)| {
        if shown {
            mark(scene, x);
            scene.text((x + 30.0, y), Anchor::Start, 12.0, INK, name);
            x += width;
        }
    };
    entry(true, 92.0, "offset", &|scene, x| scene.line((x, middle), (x + 24.0, middle), CURVE));
    entry(any(|samples| !samples.synchronisations.is_empty()), 146.0, "synchronisation", &|scene, x| {
        let circle = draw::circle(x + 12.0, middle);
        scene.path(circle, Some(PAPER), Some(Stroke::solid(CURVE.colour, 1.5)), None);
    });
    let has_error = any(|samples| samples.points.iter().any(|point| point.error_ns.is_some()));
    entry(has_error, 136.0, "95 % interval", &|scene, x| {
        scene.path(draw::error_bar(x + 12.0, middle - 6.0, middle + 6.0), None, Some(ERROR), None);
    });
    entry(any(|samples| samples.hard_reach_ns().is_some()), 126.0, "hard bounds", &|scene, x| {
        scene.fill(Area { left: x, top: middle - 6.0, width: 24.0, height: 12.0 }, BOUNDS);
    });
    entry(any(|samples| !samples.steps.is_empty()), 0.0, "the clock stepped in between", &|scene, x| {
        for x in [x + 4.0, x + 20.0] {
            scene.line((x, middle - 6.0), (x, middle + 6.0), STEP);
        }
    });
}
