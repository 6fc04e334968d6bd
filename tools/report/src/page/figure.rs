//! A plot within a page: its SVG, and the values that are shown under the pointer, as JSON.

use mpitrace_show::draw::axis::{Axis, AxisKind};
use mpitrace_show::draw::picture::{self, Frame};
use mpitrace_show::draw::plot::{Bar, Layer, Mark, Plot};
use mpitrace_show::draw::scene::{Area, Scene};
use mpitrace_show::draw::svg;
use serde_json::{Value, json};

/// Width and height of a plot, and of one over the whole width. A window of 400 pixels shows the first one with legible
/// texts, and scrolls the second.
const SIZE: (f64, f64) = (520.0, 330.0);
const WIDE: (f64, f64) = (1080.0, 320.0);

/// Makes the figures of a page, each with names of its own.
#[derive(Default)]
pub struct Figures {
    count: usize,
}

impl Figures {
    /// A plot beside others.
    pub fn plain(&mut self, name: &str, plot: &Plot) -> String {
        self.figure(name, plot, SIZE, "")
    }

    /// A plot over the whole width.
    pub fn wide(&mut self, name: &str, plot: &Plot) -> String {
        self.figure(name, plot, WIDE, " class=\"wide\"")
    }

    /// A plot of this size, and a class in HTML; nothing for one without marks.
    pub fn figure(&mut self, name: &str, plot: &Plot, (width, height): (f64, f64), class: &str) -> String {
        if plot.layers.is_empty() {
            return String::new();
        }
        let mut scene = Scene::new(width, height, plot.title.clone());
        let frame = picture::draw(plot, &mut scene, Area { left: 0.0, top: 0.0, width, height });
        self.count += 1;
        let svg = svg::text(&scene, &format!("p{}-", self.count));
        let values = frame.map_or(Value::Null, |frame| {
            let layers = plot.layers.iter().map(|layer| values(plot, layer, &frame)).collect::<Vec<_>>();
            json!({"x": axis(&plot.x.label, &frame.x, plot.x.kind), "y": axis(&plot.y.label, &frame.y, plot.y.kind), "layers": layers})
        });
        let name = svg::escaped(name);
        format!("<figure{class} data-plot=\"{name}\" tabindex=\"0\">{svg}{}</figure>\n", data(&values))
    }
}

/// JSON within a page: nothing in it ends the element.
pub fn data(values: &Value) -> String {
    format!("<script type=\"application/json\">{}</script>", values.to_string().replace('<', "\\u003c"))
}

fn axis(label: &str, axis: &Axis, kind: AxisKind) -> Value {
    let (start, end) = axis.places;
    json!({"label": label, "kind": kind, "log": axis.logarithmic,
           "from": axis.from, "to": axis.to, "start": start, "end": end})
}

/// The values of a layer.
fn values(plot: &Plot, layer: &Layer, frame: &Frame) -> Value {
    let mut values = match &layer.mark {
        Mark::Points { points, rows, .. } => {
            let uncovered: Vec<Value> = frame
                .uncovered(points)
                .map(|(number, _)| rows.get(number).map_or(Value::Null, |&row| row.into()))
                .collect();
            json!({ "rows": uncovered })
        }
        Mark::Line { points, .. } => {
            json!({"line": [list(points.iter().map(|point| point.0)), list(points.iter().map(|point| point.1))]})
        }
        Mark::Bars(bars) if plot.y.kind == AxisKind::Names && plot.x.kind == AxisKind::Time => {
            let bar = |bar: &Bar| list([bar.x.0, bar.x.1, (bar.y.0 + bar.y.1) / 2.0].into_iter());
            json!({"bars": bars.iter().map(bar).collect::<Vec<_>>(), "names": plot.y.names})
        }
        Mark::Bars(bars) if plot.y.kind != AxisKind::Names => {
            let bar = |bar: &Bar| list([bar.x.0, bar.x.1, bar.y.0, bar.y.1].into_iter());
            json!({ "bars": bars.iter().map(bar).collect::<Vec<_>>() })
        }
        Mark::BoxPlot { row, values } => {
            let [min, _, lower, median, upper, _, max] = values.map(short);
            let named = [("min", min), ("25 %", lower), ("median", median), ("75 %", upper), ("max", max)];
            json!({"row": row, "values": named})
        }
        Mark::Image(image) => {
            let maps = image.values.iter().map(|(what, kind, rows)| {
                json!([what, kind, rows.iter().map(|row| list(row.iter().copied())).collect::<Vec<_>>()])
            });
            json!({"edges": list(image.edges.iter().copied()), "names": image.rows, "maps": maps.collect::<Vec<_>>()})
        }
        Mark::Bars(_) | Mark::Rules { .. } | Mark::Labels(_) => return Value::Null,
    };
    values["name"] = layer.name.as_str().into();
    values
}

fn list(values: impl Iterator<Item = f64>) -> Value {
    values.map(short).collect()
}

/// A number as short as it can be without the loss of a digit that is shown: whole, or of six digits.
pub fn short(value: f64) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    if value.fract() == 0.0 && value.abs() < 9e15 {
        return (value as i64).into();
    }
    let digits = 5 - value.abs().log10().floor() as i32;
    let rounded: f64 = match digits {
        ..=0 => return (value.round() as i64).into(),
        digits => format!("{value:.*}", digits as usize).parse().unwrap_or(value),
    };
    rounded.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_no_text_ends_the_data() {
        let numbers = [1234.567891, 0.000123456789, 2e6 + 0.25, 7.0, f64::NAN].map(short);
        assert_eq!(json!(numbers), json!([1234.57, 0.000123457, 2000000, 7, null]));
        let text = data(&json!("</script><b>"));
        assert_eq!(text.matches('<').count(), 2, "{text}");
    }
}
