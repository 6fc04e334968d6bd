//! The picture of `clock`: the offset of each clock over the run as SVG, one panel below the other.
//!
//! Colours are of Okabe and Ito's palette, which the colour-blind can tell apart; in grey, the kind of the mark tells.

use std::fmt::Write;

use mpitrace::clock::Clock;
use mpitrace::reader::Trace;

use super::domain::{self, Domain};
use super::samples::{Point, Samples};
use crate::text;

/// Panels of one picture; of more clocks, those are shown that leave their straight lines furthest.
const PANELS: usize = 16;
/// Every so many points the error is drawn.
const BAR_EVERY: usize = 10;
/// Hard bounds this many times as far apart as the offsets with their errors would flatten the curve, and are cut off.
const WIDEST_BOUNDS: f64 = 8.0;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 112.0;
const BOTTOM: f64 = 52.0;
/// Between two panels, for the title of the lower one.
const GAP: f64 = 40.0;

const CURVE: &str = "#0072b2";
const ERROR: &str = "#d55e00";
const BOUNDS: &str = "#dddddd";

/// Draws it.
pub fn svg(trace: &Trace, clock: &Clock) -> String {
    let domains = domain::all(trace, clock);
    let mut panels: Vec<Panel> = domains.iter().skip(1).map(|domain| Panel::of(domain, &domains[0])).collect();
    let all = panels.len();
    if all > PANELS {
        let reach = |panel: &Panel| panel.samples.reach_ns().1 - panel.samples.reach_ns().0;
        panels.sort_by(|a, b| reach(b).total_cmp(&reach(a)));
        panels.truncate(PANELS);
        panels.sort_by_key(|panel| panel.first_rank);
    }
    let height = if panels.len() == 1 { 320.0 } else { 150.0 };
    let mut drawing = Drawing::begin(panels.len().max(1) as f64 * (height + GAP) - GAP + TOP + BOTTOM);
    drawing.text(LEFT, 28.0, "start", 18, "Offset of each clock to that of rank 0, relative to its straight line");
    if panels.is_empty() {
        drawing.text(LEFT, TOP, "start", 14, "All ranks read one clock: there is no offset.");
        return drawing.end();
    }
    let mut subtitle =
        format!("method {}; the line goes from the first synchronisation to the last", clock.method.name());
    if all > PANELS {
        let _ = write!(subtitle, "; the {PANELS} of {all} clocks that leave theirs furthest");
    }
    drawing.text(LEFT, 48.0, "start", 12, &subtitle);
    drawing.legend(&panels);
    let ends = panels.iter().flat_map(|panel| &panel.samples.points).map(|point| point.at_s);
    let (start, end) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (low.min(at), high.max(at)));
    // Room for the marks at both ends.
    let margin = 0.01 * (end - start);
    let (start, end) = (start - margin, end + margin);
    let across = Axis::new((start, end), (LEFT, WIDTH - RIGHT), Scale::seconds(start, end), 12);
    for (index, panel) in panels.iter().enumerate() {
        let top = TOP + index as f64 * (height + GAP);
        drawing.panel(index, panel, &across, (top, top + height));
    }
    let bottom = TOP + panels.len() as f64 * (height + GAP) - GAP;
    drawing.ticks_across(&across, bottom);
    let label = format!("time since the first call, {}", across.scale.unit);
    drawing.text((LEFT + WIDTH - RIGHT) / 2.0, bottom + 40.0, "middle", 13, &label);
    drawing.end()
}

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
        // A curve on its line still wants a panel with a height.
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
}

/// A unit in which values are shown.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// Units of a value of 1.
    factor: f64,
    unit: &'static str,
}

impl Scale {
    fn seconds(low: f64, high: f64) -> Scale {
        match low.abs().max(high.abs()) {
            most if most < 1e-3 => Scale { factor: 1e6, unit: "µs" },
            most if most < 1.0 => Scale { factor: 1e3, unit: "ms" },
            _ => Scale { factor: 1.0, unit: "s" },
        }
    }

    fn nanoseconds(low: f64, high: f64) -> Scale {
        match low.abs().max(high.abs()) {
            most if most < 10e3 => Scale { factor: 1.0, unit: "ns" },
            most if most < 10e6 => Scale { factor: 1e-3, unit: "µs" },
            most if most < 10e9 => Scale { factor: 1e-6, unit: "ms" },
            _ => Scale { factor: 1e-9, unit: "s" },
        }
    }
}

/// From values to places in the picture.
struct Axis {
    /// In units of the scale.
    from: f64,
    to: f64,
    places: (f64, f64),
    scale: Scale,
    /// Between two ticks, in units.
    step: f64,
}

impl Axis {
    fn new(range: (f64, f64), places: (f64, f64), scale: Scale, ticks: u32) -> Axis {
        let (from, to) = (range.0 * scale.factor, range.1 * scale.factor);
        let to = if to > from { to } else { from + 1.0 };
        Axis { from, to, places, scale, step: round_step((to - from) / f64::from(ticks)) }
    }

    /// Where a value lies; no further outside than the picture is large.
    fn place(&self, value: f64) -> f64 {
        let share = (value * self.scale.factor - self.from) / (self.to - self.from);
        self.places.0 + share.clamp(-2.0, 3.0) * (self.places.1 - self.places.0)
    }

    /// The places of the ticks with their labels.
    fn ticks(&self) -> Vec<(f64, String)> {
        let digits = (-self.step.log10().floor()).max(0.0) as usize;
        let (first, last) = ((self.from / self.step).ceil() as i64, (self.to / self.step).floor() as i64);
        let tick = |number: i64| {
            let value = number as f64 * self.step;
            // A typographical minus is as wide as a plus.
            (self.place(value / self.scale.factor), format!("{value:.digits$}").replace('-', "\u{2212}"))
        };
        (first..=last).map(tick).collect()
    }
}

/// 1, 2 or 5 times a power of ten, no less than this.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * power).find(|step| *step >= least * 0.999).unwrap_or(power)
}

/// An SVG in the making.
struct Drawing(String);

impl Drawing {
    fn begin(height: f64) -> Drawing {
        let mut drawing = Drawing(String::new());
        drawing.add(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{WIDTH:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {WIDTH:.0} {height:.0}\" font-family=\"sans-serif\">\n\
             <title>Offset of each clock to that of rank 0</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
        ));
        drawing
    }

    fn end(mut self) -> String {
        self.add("</svg>");
        self.0
    }

    fn add(&mut self, element: &str) {
        self.0.push_str(element);
        self.0.push('\n');
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, size: u32, text: &str) {
        self.add(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        let (x1, y1, x2, y2) = (from.0, from.1, to.0, to.1);
        self.add(&format!("<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>"));
    }

    fn marker(&mut self, x: f64, y: f64) {
        let style = format!("fill=\"white\" stroke=\"{CURVE}\" stroke-width=\"1.5\"");
        self.add(&format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" {style}/>"));
    }

    fn error_bar(&mut self, x: f64, low: f64, high: f64) {
        let style = format!("stroke=\"{ERROR}\" stroke-width=\"1\"");
        self.line((x, low), (x, high), &style);
        for end in [low, high] {
            self.line((x - 2.5, end), (x + 2.5, end), &style);
        }
    }

    /// What the marks mean, those that there are.
    fn legend(&mut self, panels: &[Panel]) {
        let any = |has: fn(&Samples) -> bool| panels.iter().any(|panel| has(&panel.samples));
        let entries: [(&str, bool, f64); 5] = [
            ("offset", true, 92.0),
            ("synchronisation", any(|samples| !samples.synchronisations.is_empty()), 146.0),
            ("95 % interval", any(|samples| samples.points.iter().any(|point| point.error_ns.is_some())), 136.0),
            ("hard bounds", any(|samples| samples.hard_reach_ns().is_some()), 126.0),
            ("the clock stepped in between", any(|samples| !samples.steps.is_empty()), 0.0),
        ];
        let (mut x, y) = (LEFT, 74.0);
        for (index, (name, _, width)) in entries.into_iter().enumerate().filter(|(_, (_, shown, _))| *shown) {
            let middle = y - 4.0;
            match index {
                0 => self.line((x, middle), (x + 24.0, middle), &curve_style()),
                1 => self.marker(x + 12.0, middle),
                2 => self.error_bar(x + 12.0, middle - 6.0, middle + 6.0),
                3 => {
                    let top = middle - 6.0;
                    self.add(&format!(
                        "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"24\" height=\"12\" fill=\"{BOUNDS}\"/>"
                    ));
                }
                _ => {
                    for x in [x + 4.0, x + 20.0] {
                        self.line((x, middle - 6.0), (x, middle + 6.0), STEP_STYLE);
                    }
                }
            }
            self.text(x + 30.0, y, "start", 12, name);
            x += width;
        }
    }

    fn panel(&mut self, index: usize, panel: &Panel, across: &Axis, (top, bottom): (f64, f64)) {
        let (range, cut) = panel.range_ns();
        let up = Axis::new(range, (bottom, top), Scale::nanoseconds(range.0, range.1), (bottom - top) as u32 / 26);
        let (left, right) = across.places;
        let (width, height) = (right - left, bottom - top);
        let samples = &panel.samples;
        let frame = format!("x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"");
        self.add(&format!("<clipPath id=\"panel{index}\"><rect {frame}/></clipPath>"));
        self.add(&format!("<g clip-path=\"url(#panel{index})\">"));
        self.hard_bounds(&samples.points, across, &up);
        for (place, _) in up.ticks() {
            self.line((left, place), (right, place), "stroke=\"#c0c0c0\" stroke-width=\"0.5\"");
        }
        for step in &samples.steps {
            for at in [step.after_s, step.before_s] {
                self.line((across.place(at), top), (across.place(at), bottom), STEP_STYLE);
            }
        }
        for point in samples.points.iter().skip(BAR_EVERY / 2).step_by(BAR_EVERY) {
            if let Some(error) = point.error_ns {
                let x = across.place(point.at_s);
                self.error_bar(x, up.place(point.ahead_ns - error), up.place(point.ahead_ns + error));
            }
        }
        let places = samples.points.iter().map(|point| (across.place(point.at_s), up.place(point.ahead_ns)));
        self.add(&format!("<polyline points=\"{}\" {}/>", polyline(places), curve_style()));
        for &(at, ahead) in &samples.synchronisations {
            self.marker(across.place(at), up.place(ahead));
        }
        self.add("</g>");
        self.add(&format!("<rect {frame} fill=\"none\" stroke=\"black\" stroke-width=\"1\"/>"));
        for (place, label) in up.ticks() {
            self.line((left - 5.0, place), (left, place), "stroke=\"black\"");
            self.text(left - 9.0, place + 4.0, "end", 12, &label);
        }
        let (x, y) = (24.0, (top + bottom) / 2.0);
        self.add(&format!(
            "<text transform=\"translate({x:.1} {y:.1}) rotate(-90)\" font-size=\"13\" text-anchor=\"middle\">ahead, {}</text>",
            up.scale.unit
        ));
        let bounds = samples.hard_reach_ns().filter(|_| cut).map_or_else(String::new, |(low, high)| {
            let reach =
                [low, high].map(|bound| if bound.is_finite() { text::time(bound) } else { "any offset".into() });
            format!("; hard bounds reach from {} to {}", reach[0], reach[1])
        });
        self.text(left, top - 8.0, "start", 13, &format!("{}{bounds}", panel.title));
    }

    fn hard_bounds(&mut self, points: &[Point], across: &Axis, up: &Axis) {
        let bounds: Option<Vec<(f64, f64, f64)>> =
            points.iter().map(|point| point.hard_ns.map(|(low, high)| (point.at_s, low, high))).collect();
        let Some(bounds) = bounds else { return };
        let lower = bounds.iter().map(|&(at, low, _)| (across.place(at), up.place(low)));
        let upper = bounds.iter().rev().map(|&(at, _, high)| (across.place(at), up.place(high)));
        self.add(&format!("<polygon points=\"{}\" fill=\"{BOUNDS}\"/>", polyline(lower.chain(upper))));
    }

    fn ticks_across(&mut self, across: &Axis, bottom: f64) {
        for (place, label) in across.ticks() {
            self.line((place, bottom), (place, bottom + 5.0), "stroke=\"black\"");
            self.text(place, bottom + 19.0, "middle", 12, &label);
        }
    }
}

const STEP_STYLE: &str = "stroke=\"black\" stroke-width=\"1.2\" stroke-dasharray=\"5 3\"";

fn curve_style() -> String {
    format!("fill=\"none\" stroke=\"{CURVE}\" stroke-width=\"1.8\"")
}

fn polyline(places: impl Iterator<Item = (f64, f64)>) -> String {
    let texts: Vec<String> = places.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    texts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_stand_at_round_numbers() {
        let axis = Axis::new((-0.013, 0.041), (0.0, 540.0), Scale::seconds(-0.013, 0.041), 8);
        let labels: Vec<String> = axis.ticks().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["\u{2212}10", "0", "10", "20", "30", "40"]);
        assert_eq!(axis.ticks()[1].0, 130.0);
        let axis = Axis::new((0.0, 1.0), (0.0, 1.0), Scale::nanoseconds(0.0, 1.0), 4);
        let labels: Vec<String> = axis.ticks().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["0.0", "0.5", "1.0"]);
    }

    #[test]
    fn what_lies_beyond_all_bounds_still_has_a_place() {
        let axis = Axis::new((0.0, 1.0), (100.0, 0.0), Scale::seconds(0.0, 1.0), 4);
        assert_eq!((axis.place(f64::INFINITY), axis.place(f64::NEG_INFINITY)), (-200.0, 300.0));
    }
}
