//! What a plot shows, as a table: a row for each mark.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::axis::AxisKind;
use super::plot::{Layer, Mark, Plot, Range};

/// The columns. Marks with an extent have the ends in `x_end` and `y_end`; what has a name instead of a number has it
/// in `text`.
const COLUMNS: &str = "plot,x_axis,y_axis,set,layer,mark,x,y,x_end,y_end,text";
/// The values of a box plot.
const OF_BOX: [&str; 7] =
    ["min", "lower whisker", "lower quartile", "median", "upper quartile", "upper whisker", "max"];

/// Writes the marks of plots; times are in ns, or in the unit of their axis.
///
/// # Errors
/// The output cannot be written.
pub fn write(plots: &[Plot], output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "{COLUMNS}")?;
    for plot in plots {
        let start = [plot.title.clone(), axis(&plot.x), axis(&plot.y)].map(|text| field(&text)).join(",");
        for layer in &plot.layers {
            let mut rows = Rows { plot, layer, start: &start, output };
            rows.write()?;
        }
    }
    Ok(())
}

/// The label of an axis, with the unit of its values.
fn axis(range: &Range) -> String {
    match range.kind {
        AxisKind::Time if !range.is_labelled => {
            format!("{}, {}", range.label, range.unit.map_or("ns", |unit| unit.name))
        }
        _ => range.label.clone(),
    }
}

struct Rows<'a> {
    plot: &'a Plot,
    layer: &'a Layer,
    start: &'a str,
    output: &'a mut dyn Write,
}

impl Rows<'_> {
    fn write(&mut self) -> io::Result<()> {
        let names = |row: f64| self.plot.y.names.get(row.round().max(0.0) as usize).cloned().unwrap_or_default();
        match &self.layer.mark {
            Mark::Points { points, .. } => {
                for &(x, y) in points {
                    self.row("point", (Some(x), Some(y)), (None, None), &names(y))?;
                }
            }
            Mark::Line { points, .. } => {
                for &(x, y) in points {
                    self.row("line", (Some(x), Some(y)), (None, None), "")?;
                }
            }
            Mark::Bars(bars) => {
                for bar in bars {
                    let name = names(f64::midpoint(bar.y.0, bar.y.1));
                    self.row("bar", (Some(bar.x.0), Some(bar.y.0)), (Some(bar.x.1), Some(bar.y.1)), &name)?;
                }
            }
            Mark::Labels(labels) => {
                for ((x, y), text) in labels {
                    self.row("label", (Some(*x), Some(*y)), (None, None), text)?;
                }
            }
            Mark::Rules { at, .. } => {
                for &x in at {
                    self.row("rule", (Some(x), None), (None, None), "")?;
                }
            }
            Mark::BoxPlot { row, values } => {
                for (value, name) in values.iter().zip(OF_BOX) {
                    self.row("box", (Some(*value), Some(*row as f64)), (None, None), name)?;
                }
            }
            Mark::Image(image) => {
                for (what, _, rows) in &image.values {
                    for (name, row) in image.rows.iter().zip(rows) {
                        for (edges, value) in image.edges.windows(2).zip(row) {
                            let text = format!("{name}: {what}");
                            self.row("cell", (Some(edges[0]), Some(*value)), (Some(edges[1]), None), &text)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn row(
        &mut self,
        mark: &str,
        from: (Option<f64>, Option<f64>),
        to: (Option<f64>, Option<f64>),
        text: &str,
    ) -> io::Result<()> {
        let (x, y) = (&self.plot.x, &self.plot.y);
        let mut line = format!("{},{},{},{mark}", self.start, field(&self.layer.set), field(&self.layer.name));
        for (value, range) in [(from.0, x), (from.1, y), (to.0, x), (to.1, y)] {
            line.push(',');
            if let Some(value) = value.filter(|value| value.is_finite()) {
                let _ = write!(line, "{}", in_unit(value, range));
            }
        }
        writeln!(self.output, "{line},{}", field(text))
    }
}

fn in_unit(value: f64, range: &Range) -> f64 {
    match (range.kind, range.unit) {
        (AxisKind::Time, Some(unit)) => value / unit.ns,
        // On a scale of logarithms no bytes have a place of their own.
        (AxisKind::Bytes, _) if value < 1.0 => 0.0,
        _ => value,
    }
}

/// A field as RFC 4180 has it.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::plot::{Bar, GREY, Ink, Shape};
    use crate::text::Unit;

    #[test]
    fn each_mark_is_a_row_in_the_unit_of_its_axis() {
        let x = Range { logarithmic: true, ..Range::new("size", (0.4, 64.0), AxisKind::Bytes) };
        let mut plot = Plot::new("a \"b\", c", x, Range::new("time", (0.0, 9e3), AxisKind::Time));
        let ink = Ink::of_colour(GREY);
        let mark =
            Mark::Points { shape: Shape::Circle, points: vec![(0.5, 1500.0), (32.0, f64::NAN)], rows: Vec::new() };
        plot.add_of("3 rings", "median", None, ink, mark);
        plot.add("interval", None, ink, Mark::Bars(vec![Bar { x: (8.0, 8.0), y: (1000.0, 2000.0) }]));
        plot.add("end", None, ink, Mark::Rules { at: vec![16.0], dash: (1.0, 0.0) });
        let text = |plot: &Plot| {
            let mut bytes = Vec::new();
            write(std::slice::from_ref(plot), &mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let start = "\"a \"\"b\"\", c\",size,\"time, ns\"";
        assert_eq!(
            text(&plot).lines().collect::<Vec<_>>(),
            [
                COLUMNS,
                &format!("{start},3 rings,median,point,0,1500,,,"),
                &format!("{start},3 rings,median,point,32,,,,"),
                &format!("{start},,interval,bar,8,1000,8,2000,"),
                &format!("{start},,end,rule,16,,,,"),
            ]
        );
        plot.y.unit = Some(Unit { name: "µs", ns: 1e3 });
        let in_unit = text(&plot);
        assert!(in_unit.contains("\"time, µs\",3 rings,median,point,0,1.5,,,\n"), "{in_unit}");
    }

    #[test]
    fn rows_of_names_and_cells_say_which_they_are() {
        let names = Range::of_names("", vec!["first".into(), "good".into()]);
        let mut plot = Plot::new("", Range::new("run time", (0.0, 9.0), AxisKind::Time), names);
        plot.add(
            "good",
            None,
            Ink::of_colour(GREY),
            Mark::BoxPlot { row: 1, values: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0] },
        );
        let mark = Mark::Points { shape: Shape::Dot, points: vec![(5.0, 1.0)], rows: Vec::new() };
        plot.add("effect", None, Ink::of_colour(GREY), mark);
        let mut bytes = Vec::new();
        write(&[plot], &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains(",,good,box,4,1,,,median\n") && text.contains(",,effect,point,5,1,,,good\n"), "{text}");
    }
}
