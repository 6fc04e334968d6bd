//! Which operation of one run is which of another.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::{Hash, Hasher};

use mpitrace_trace::operations::CallSite;

/// The properties by which operations of different runs are the same. Numbers are not: two libraries may call others in
/// between.
///
/// ```
/// use mpitrace_changes::Identity;
///
/// let barrier = Identity { function: "MPI_Barrier".into(), bytes: Some(0), ranks: 4, ..Identity::default() };
/// assert_eq!(barrier.key(), "MPI_Barrier/0/4/-");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The plain C name.
    pub function: String,
    /// The message size, bytes.
    pub bytes: Option<u64>,
    /// The ranks of the communicator.
    pub ranks: u32,
    /// The root's rank in it.
    pub root: Option<i32>,
    /// The communicator's name.
    pub communicator: String,
    /// The data type.
    pub datatype: Option<String>,
    /// The reduction operator.
    pub reduction: Option<String>,
    /// The place in the program that calls it; `None`: not recorded.
    pub place: Option<Place>,
    /// Its creation index among the operations of this kind in its run: each rank's MPI_COMM_SELF is a separate one.
    pub occurrence: usize,
    /// True of what is no operation: the whole run, the calls of all operations, the geometric mean of these.
    pub is_whole: bool,
}

/// A place in the program, by what stays when lines are added to it or taken from it: two are equal if they are the
/// same calls of the same function, in their order. The line is not compared.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The function of the program, or the file where no function is known.
    pub function: String,
    /// The file and the line: `solver.cpp:121`.
    pub line: String,
    /// The line, or the address where no line is known: by these the calls of a function have their order.
    pub number: u64,
    /// The index of the call among those of its function that are alike.
    pub order: usize,
}

impl Place {
    /// The place of a call site.
    pub fn new(site: &CallSite) -> Place {
        let site = site.resolve();
        Place {
            function: site.symbol.clone().unwrap_or_else(|| site.module_name().to_owned()),
            line: site.line_of_file(),
            number: site.line.map_or(site.offset, u64::from),
            order: 0,
        }
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Place) -> bool {
        (&self.function, self.order) == (&other.function, other.order)
    }
}

impl Eq for Place {}

impl Hash for Place {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.function, self.order).hash(state);
    }
}

impl Identity {
    /// The identity of the whole run, or of all its calls.
    pub fn whole(name: &str, ranks: u32) -> Identity {
        Identity { function: name.to_owned(), ranks, is_whole: true, ..Identity::default() }
    }

    /// `function/bytes/ranks/root`; of what is no operation its name.
    pub fn key(&self) -> String {
        if self.is_whole {
            return self.function.clone();
        }
        let or = |value: Option<String>, none: &str| value.unwrap_or_else(|| none.to_owned());
        let bytes = or(self.bytes.map(|bytes| bytes.to_string()), "?");
        format!("{}/{bytes}/{}/{}", self.function, self.ranks, or(self.root.map(|root| root.to_string()), "-"))
    }

    /// The properties that the key leaves out.
    pub fn rest(&self) -> String {
        let words = [Some(&self.communicator), self.datatype.as_ref(), self.reduction.as_ref()];
        let mut words: Vec<String> = words.into_iter().flatten().filter(|word| !word.is_empty()).cloned().collect();
        if self.occurrence > 0 {
            words.push(format!("number {}", self.occurrence + 1));
        }
        words.extend(self.site());
        words.join(" ")
    }

    /// `smooth (solver.cpp:121)`: where it is called, if that is known.
    pub fn site(&self) -> Option<String> {
        let Place { function, line, .. } = self.place.as_ref()?;
        Some(if line.starts_with(function.as_str()) { line.clone() } else { format!("{function} ({line})") })
    }

    /// The operation, wherever it is called.
    pub(crate) fn anywhere(&self) -> Identity {
        Identity { place: None, occurrence: 0, ..self.clone() }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} ({})", self.key(), self.rest())
    }
}

/// The identities of the operations of one run, with the order of their places and the index among those that are
/// alike, which are not looked at in what is given.
///
/// ```
/// use mpitrace_changes::{Identity, Place, numbered};
///
/// let call = |line: u64| {
///     let place = Place { function: "step".into(), line: format!("a.c:{line}"), number: line, order: 0 };
///     Identity { function: "MPI_Barrier".into(), place: Some(place), ..Identity::default() }
/// };
/// let of = |lines: [u64; 3]| numbered(lines.map(call).to_vec());
/// let place = |one: &Identity| one.place.as_ref().map_or(0, |place| place.order);
/// let order = |all: &[Identity]| all.iter().map(|one| (place(one), one.occurrence)).collect::<Vec<_>>();
/// assert_eq!(order(&of([20, 10, 20])), [(1, 0), (0, 0), (1, 1)]);
/// // Lines were added above: the calls are the same ones.
/// assert_eq!(of([20, 10, 20]), of([95, 17, 95]));
/// ```
pub fn numbered(mut identities: Vec<Identity>) -> Vec<Identity> {
    let mut places: HashMap<(Identity, String), BTreeSet<(u64, String)>> = HashMap::new();
    let of_function = |one: &Identity| Some((one.anywhere(), one.place.as_ref()?.function.clone()));
    for one in &identities {
        if let (Some(group), Some(place)) = (of_function(one), &one.place) {
            places.entry(group).or_default().insert((place.number, place.line.clone()));
        }
    }
    let mut known: HashMap<Identity, usize> = HashMap::new();
    for one in &mut identities {
        let of_group = of_function(one).and_then(|group| places.get(&group));
        if let (Some(lines), Some(place)) = (of_group, &mut one.place) {
            place.order =
                lines.iter().position(|(number, line)| (*number, line) == (place.number, &place.line)).unwrap_or(0);
        }
        one.occurrence = 0;
        let count = known.entry(one.clone()).or_default();
        one.occurrence = *count;
        *count += 1;
    }
    identities
}
