//! An operation by one definition of the run time, with the inks of its categories.

use mpitrace_show::draw::axis::{AxisKind, extent};
use mpitrace_show::draw::plot::{GREY, Ink, Mark, OTHERS, PALETTE, Plot, Range, Shape};
use mpitrace_show::draw::scene;
use mpitrace_show::output::Attribute;
use mpitrace_statistics::categories::Category;

use crate::fingerprint::{Fingerprint, Timed};

/// The good ones first, so that what is out of the ordinary is on top.
pub const ORDER: [Category; 4] = [Category::Good, Category::Warmup, Category::Outlier, Category::First];

/// The ink of all repetitions together.
pub const ALL: Ink = Ink { colour: GREY, letter: '#', attribute: None };
pub const BLACK: Ink = Ink::of_colour(scene::INK);
pub const DASHED: Option<(f64, f64)> = Some((6.0, 3.0));

/// The ink of a category. The letter of the good ones is the background of the others.
pub fn ink(category: Category) -> Ink {
    let (letter, attribute) = match category {
        Category::First => ('f', Attribute::Magenta),
        Category::Warmup => ('w', Attribute::Yellow),
        Category::Outlier => ('o', Attribute::Red),
        Category::Good => ('.', Attribute::Cyan),
    };
    Ink { colour: PALETTE[category.place()], letter, attribute: Some(attribute) }
}

/// The ink of an algorithm that is not the most frequent one.
fn ink_of_other(place: usize) -> Ink {
    let letter = char::from_digit(place as u32 + 1, 36).unwrap_or(ALL.letter);
    Ink { colour: *OTHERS.get(place - 1).unwrap_or(&GREY), letter, attribute: None }
}

/// The shape of a category's points.
pub fn shape(category: Category) -> Shape {
    match category {
        Category::First => Shape::Diamond,
        Category::Warmup => Shape::Triangle,
        Category::Outlier => Shape::Cross,
        Category::Good => Shape::Dot,
    }
}

/// An operation by one definition of the run time.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The fingerprint of the operation.
    pub fingerprint: &'a Fingerprint,
    /// The index of the definition.
    pub time: usize,
}

impl<'a> View<'a> {
    /// The run times by the definition, summed up.
    pub fn timed(&self) -> &'a Timed {
        &self.fingerprint.times[self.time]
    }

    /// The run times by the definition of the repetitions that are drawn, ns.
    pub fn run_times(&self) -> &'a [f64] {
        &self.fingerprint.points.run_time_ns[self.time]
    }

    /// The axis of the repetitions.
    pub fn repetitions(&self) -> Range {
        let range = extent(self.repetition());
        let (low, high) = range.unwrap_or((0.0, 1.0));
        let room = (high - low) * 0.01;
        Range::new("repetition", (low - room, high + room), AxisKind::Count)
    }

    /// The numbers of the repetitions that are drawn.
    pub fn repetition(&self) -> impl Iterator<Item = f64> + Clone + 'a {
        self.fingerprint.points.repetition.iter().map(|&number| number as f64)
    }

    /// Adds the points, a layer for each category, and in it for each algorithm.
    pub fn add_points(&self, plot: &mut Plot, points: &[(f64, f64)], is_wanted: impl Fn(Category) -> bool) {
        let drawn = &self.fingerprint.points;
        let categories = &drawn.category[self.time];
        for category in ORDER.into_iter().filter(|&category| is_wanted(category)) {
            let mut legend = self.counted(category);
            for place in 0..drawn.algorithms.len().max(1) {
                let belongs = |&row: &usize| {
                    let is_of = categories[row] == category && drawn.algorithm.get(row).is_none_or(|&own| own == place);
                    is_of && points[row].0.is_finite() && points[row].1.is_finite()
                };
                let rows: Vec<usize> = (0..points.len()).filter(belongs).collect();
                if rows.is_empty() {
                    continue;
                }
                let ink = if place == 0 { ink(category) } else { ink_of_other(place) };
                let points = rows.iter().map(|&row| points[row]).collect();
                legend.extend(drawn.algorithms.get(place).map(|name| format!(" {name}")));
                let legend = Some(std::mem::take(&mut legend));
                plot.add(category.name(), legend, ink, Mark::Points { shape: shape(category), points, rows });
            }
        }
    }

    /// A category with the number of its repetitions.
    pub fn counted(&self, category: Category) -> String {
        format!("{} {}", category.name(), self.timed().counts[category.place()])
    }

    /// Adds the end of the warm-up by each rule, and changes of the level.
    pub fn add_cuts(&self, plot: &mut Plot) {
        for (number, cut) in self.timed().cuts.iter().enumerate() {
            let changes = cut.change_points.iter().filter(|&&at| Some(at) != cut.warmup_end);
            let at = changes.map(|&at| at as f64).collect();
            plot.add("change of the level", None, BLACK, Mark::Rules { at, dash: (1.0, 4.0) });
            if let Some(end) = cut.warmup_end {
                let dash = if number == 0 { (7.0, 3.0) } else { (2.0, 3.0) };
                let name = format!("{}: w = {end}", cut.method);
                plot.add(name.clone(), Some(name), BLACK, Mark::Rules { at: vec![end as f64], dash });
            }
        }
    }
}
