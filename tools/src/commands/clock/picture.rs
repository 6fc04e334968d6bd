//! The picture of `clock`: the offset of each clock over the run, one panel below the other.
//!
//! The kinds of marks differ, so that the picture can be read without colours too.

use std::fmt::Write;

use mpitrace::clock::Clock;
use mpitrace::reader::Trace;

use super::domain::{self, Domain};
use super::samples::Samples;
use crate::draw::axis::Kind;
use crate::draw::picture;
use crate::draw::plot::{Ink, Mark, PALETTE, Plot, Range, Shape};
use crate::draw::scene::{self, Anchor, Area, Colour, FAINT, INK, Scene};
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
const HEAD: f64 = 60.0;
const NS_PER_S: f64 = 1e9;

const CURVE: Ink = Ink::of_colour(PALETTE[3]);
const ERROR: Ink = Ink::of_colour(PALETTE[2]);
const BOUNDS: Ink = Ink::of_colour(Colour(0xdd, 0xdd, 0xdd));
const STEP: Ink = Ink::of_colour(scene::INK);

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
    let ends = panels.iter().flat_map(|panel| &panel.samples.points).map(|point| point.at_s * NS_PER_S);
    let (start, end) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (low.min(at), high.max(at)));
    // Room for the marks at both ends.
    let margin = 0.01 * (end - start);
    for (index, panel) in panels.iter().enumerate() {
        let label = if index + 1 == panels.len() { "time since the first call" } else { "" };
        let range = (start - margin, end + margin);
        let plot = panel.plot(Range::new(label, range, Kind::Time));
        let top = HEAD + index as f64 * height;
        picture::draw(&plot, &mut scene, Area { left: 0.0, top, width: WIDTH, height });
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

    fn plot(&self, across: Range) -> Plot {
        let (range, cut) = self.range_ns();
        let samples = &self.samples;
        let bounds = samples.hard_reach_ns().filter(|_| cut).map_or_else(String::new, |(low, high)| {
            let reach =
                [low, high].map(|bound| if bound.is_finite() { text::time(bound) } else { "any offset".into() });
            format!("; hard bounds reach from {} to {}", reach[0], reach[1])
        });
        let title = format!("{}{bounds}", self.title);
        let mut plot = Plot::new(title, across, Range::new("ahead", range, Kind::Time));
        let mut add = |name: &str, ink: Ink, mark: Mark| plot.add(name, Some(name.to_owned()), ink, mark);
        // Far outside is as good as infinitely far, which has no place in a picture.
        let far = 2.0 * (range.1 - range.0);
        let placed = |ns: f64| ns.clamp(range.0 - far, range.1 + far);
        let bounds: Option<Vec<(f64, f64, f64)>> = samples
            .points
            .iter()
            .map(|point| point.hard_ns.map(|(low, high)| (point.at_s * NS_PER_S, placed(low), placed(high))))
            .collect();
        add("hard bounds", BOUNDS, Mark::Band(bounds.unwrap_or_default()));
        let steps = samples.steps.iter().flat_map(|step| [step.after_s, step.before_s]);
        let at = steps.map(|at| at * NS_PER_S).collect();
        add("the clock stepped in between", STEP, Mark::Rules { at, dash: (5.0, 3.0) });
        let errors = samples.points.iter().skip(BAR_EVERY / 2).step_by(BAR_EVERY).filter_map(|point| {
            let error = point.error_ns?;
            Some((point.at_s * NS_PER_S, placed(point.ahead_ns - error), placed(point.ahead_ns + error)))
        });
        add("95 % interval", ERROR, Mark::Errors(errors.collect()));
        let points = samples.points.iter().map(|point| (point.at_s * NS_PER_S, placed(point.ahead_ns))).collect();
        add("offset", CURVE, Mark::Line { points, width: 1.8, dash: None });
        let points = samples.synchronisations.iter().map(|&(at, ahead)| (at * NS_PER_S, placed(ahead))).collect();
        add("synchronisation", CURVE, Mark::Points { shape: Shape::Circle, points, rows: Vec::new() });
        plot
    }
}
