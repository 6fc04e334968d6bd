//! The categories of repetitions.

/// The category of a repetition (seed thesis of Roth, section 4.5).
///
/// ```
/// use mpitrace_statistics::categories::Category;
///
/// assert_eq!(Category::ALL.map(Category::name), ["first", "warmup", "outlier", "good"]);
/// assert_eq!(Category::Good.place(), 3);
/// assert_eq!(Category::ALL.map(Category::is_steady), [false, false, true, true]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// The first call of its operation.
    First,
    /// Before the cliff at which the run times settle.
    Warmup,
    /// Far slower than the rest.
    Outlier,
    /// All others.
    Good,
}

impl Category {
    /// All categories, in order of precedence.
    pub const ALL: [Category; 4] = [Category::First, Category::Warmup, Category::Outlier, Category::Good];

    /// The name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Category::First => "first",
            Category::Warmup => "warmup",
            Category::Outlier => "outlier",
            Category::Good => "good",
        }
    }

    /// Its place in [`Category::ALL`].
    pub fn place(self) -> usize {
        self as usize
    }

    /// After the warm-up: an outlier or good.
    pub fn is_steady(self) -> bool {
        matches!(self, Category::Outlier | Category::Good)
    }
}

/// The categories of an operation's repetitions.
///
/// ```
/// use mpitrace_statistics::categories::{Category, Roth};
///
/// let run_time_ns = [9e3, 2e3, 2e3, 5e3, 2e3];
/// let found = Roth::default().categorize(&[0, 1, 2, 3, 4], &run_time_ns);
/// assert_eq!((found.count(Category::First), found.count(Category::Outlier)), (1, 1));
/// assert_eq!(found.median_ns, Some(2e3));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Categories {
    /// One for each repetition.
    pub category: Vec<Category>,
    /// w: the number of the repetition at which the warm-up has ended.
    pub warmup_end: Option<u64>,
    /// The median of all run times, ns. `None` for no repetitions.
    pub median_ns: Option<f64>,
    /// Repetitions that more than one category fits; the one named first in [`Category::ALL`] was taken.
    pub overlaps: u64,
}

impl Categories {
    /// How many repetitions have this category.
    pub fn count(&self, category: Category) -> usize {
        self.category.iter().filter(|&&other| other == category).count()
    }
}
