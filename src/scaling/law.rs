//! The laws by which times grow with the number of ranks, after Calotoiu et al. (2013), Extra-P's normal form of
//! performance models: sums of terms p^i (log2 p)^j. Here one term, or two of which each is 0 or more.

use mpitrace_statistics::names::{Named, names};

/// A term, by the number of ranks p; from the one that falls to the one that grows most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// 1 / p: work that is shared out.
    Inverse,
    /// p^(-2/3): the surface of blocks that are shared out.
    Surface,
    /// A time that does not depend on the number of ranks.
    Constant,
    /// log2 p: a tree.
    Logarithm,
    /// (log2 p)^2: a tree in each step of a tree.
    LogarithmSquared,
    /// p^(1/2): a row of a grid of ranks.
    Root,
    /// p^(2/3): a plane of a block of ranks.
    Plane,
    /// p: one after the other.
    Linear,
    /// p log2 p.
    LinearLogarithm,
    /// p^2: each for each.
    Square,
}

names!(Law {
    Inverse => "1/p",
    Surface => "p^(-2/3)",
    Constant => "constant",
    Logarithm => "log p",
    LogarithmSquared => "(log p)^2",
    Root => "p^(1/2)",
    Plane => "p^(2/3)",
    Linear => "p",
    LinearLogarithm => "p log p",
    Square => "p^2",
});

impl Law {
    /// The value of the term at so many ranks.
    ///
    /// ```
    /// use mpitrace_scaling::Law;
    ///
    /// assert_eq!([Law::Inverse, Law::Logarithm, Law::LinearLogarithm].map(|law| law.value(8.0)), [0.125, 3.0, 24.0]);
    /// ```
    pub fn value(self, p: f64) -> f64 {
        match self {
            Law::Inverse => 1.0 / p,
            Law::Surface => p.powf(-2.0 / 3.0),
            Law::Constant => 1.0,
            Law::Logarithm => p.log2(),
            Law::LogarithmSquared => p.log2().powi(2),
            Law::Root => p.sqrt(),
            Law::Plane => p.powf(2.0 / 3.0),
            Law::Linear => p,
            Law::LinearLogarithm => p * p.log2(),
            Law::Square => p * p,
        }
    }
}

/// One term, or two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Model {
    pub first: Law,
    pub second: Option<Law>,
}

impl Model {
    /// All of them: the single ones come first.
    pub fn all() -> Vec<Model> {
        let laws = Law::VALUES;
        let single = laws.iter().map(|&first| Model { first, second: None });
        let pairs = laws.iter().enumerate().flat_map(|(place, &first)| {
            laws[place + 1..].iter().map(move |&second| Model { first, second: Some(second) })
        });
        single.chain(pairs).collect()
    }

    pub fn terms(self) -> usize {
        1 + usize::from(self.second.is_some())
    }
}
