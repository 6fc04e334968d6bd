//! Which operation of one run is which of another.

use std::fmt;

use mpitrace_words::description::Description;

/// The properties by which operations of different runs are the same. Numbers are not: two libraries may call others in
/// between.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    pub function: String,
    pub bytes: Option<u64>,
    pub ranks: u32,
    pub root: Option<i32>,
    pub communicator: String,
    pub datatype: Option<String>,
    pub reduction: Option<String>,
    /// Its creation index among the operations of this kind in its run: each rank's MPI_COMM_SELF is a separate one.
    pub occurrence: usize,
}

/// The functions of what is no operation: the whole run, the calls of all operations, and the geometric mean of these.
pub const JOB: &str = "job";
pub const MPI: &str = "MPI";
pub const COLLECTIVES: &str = "collectives";
pub const OPERATIONS: &str = "operations";

impl Identity {
    /// The identity of the whole run, or of all its calls.
    pub fn whole(name: &str, ranks: u32) -> Identity {
        Identity { function: name.to_owned(), ranks, ..Identity::default() }
    }

    /// `function/bytes/ranks/root`; of what is no operation its name.
    pub fn key(&self) -> String {
        if [JOB, MPI, COLLECTIVES, OPERATIONS].contains(&&*self.function) {
            return self.function.clone();
        }
        let or = |value: Option<String>, none: &str| value.unwrap_or_else(|| none.to_owned());
        let bytes = or(self.bytes.map(|bytes| bytes.to_string()), "?");
        format!("{}/{bytes}/{}/{}", self.function, self.ranks, or(self.root.map(|root| root.to_string()), "-"))
    }

    /// The properties that the key leaves out.
    pub fn rest(&self) -> String {
        let words = [Some(&self.communicator), self.datatype.as_ref(), self.reduction.as_ref()];
        let mut words: Vec<String> = words.into_iter().flatten().cloned().collect();
        if self.occurrence > 0 {
            words.push(format!("number {}", self.occurrence + 1));
        }
        words.join(" ")
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} ({})", self.key(), self.rest())
    }
}

/// The identities of the operations of a run, in their order.
pub fn all(operations: &[Description]) -> Vec<Identity> {
    let mut identities: Vec<Identity> = Vec::new();
    for description in operations {
        let mut identity = Identity {
            function: description.function.clone(),
            bytes: description.bytes,
            ranks: description.ranks,
            root: description.root,
            communicator: description.communicator.clone(),
            datatype: description.datatype.clone(),
            reduction: description.reduction.clone(),
            occurrence: 0,
        };
        while identities.contains(&identity) {
            identity.occurrence += 1;
        }
        identities.push(identity);
    }
    identities
}

/// The operations of the two sides, by their places in the lists given.
#[derive(Debug, Default, PartialEq)]
pub struct Paired {
    pub pairs: Vec<(usize, usize)>,
    /// On the pairs: operations of one side, and those that agree in part.
    pub notes: Vec<String>,
}

/// The letters of two sides.
pub type Names = [char; 2];

/// How many operations of one side only are named.
const NAMED: usize = 8;

/// Finds the pairs, in the order of A: first those that agree in all; then, where the same function, bytes, ranks and
/// root are left once on either side, these, although the communicator's name or the data type differ.
pub fn pair(a: Vec<&Identity>, b: Vec<&Identity>, [name_a, name_b]: Names) -> Paired {
    let mut left: Vec<usize> = (0..b.len()).collect();
    let mut take = |fits: &dyn Fn(usize) -> bool| left.iter().position(|&at| fits(at)).map(|place| left.remove(place));
    let mut of_a: Vec<Option<usize>> = a.iter().map(|&identity| take(&|at| b[at] == identity)).collect();
    let mut notes = Vec::new();
    for at in 0..a.len() {
        let key = a[at].key();
        let alone = |list: Vec<&Identity>| list.iter().filter(|other| other.key() == key).count() == 1;
        let open_a = of_a.iter().zip(&a).filter(|(found, _)| found.is_none()).map(|(_, &identity)| identity);
        if of_a[at].is_some() || !alone(open_a.collect()) || !alone(left.iter().map(|&at| b[at]).collect()) {
            continue;
        }
        if let Some(place) = left.iter().position(|&other| b[other].key() == key) {
            let other = left.remove(place);
            notes.push(format!(
                "{key} is compared although {name_a} has it on {} and {name_b} on {}",
                a[at].rest(),
                b[other].rest()
            ));
            of_a[at] = Some(other);
        }
    }
    let only_a: Vec<&Identity> =
        of_a.iter().zip(&a).filter(|(found, _)| found.is_none()).map(|(_, &one)| one).collect();
    let only_b: Vec<&Identity> = left.iter().map(|&at| b[at]).collect();
    notes.extend([(name_a, only_a), (name_b, only_b)].into_iter().filter_map(|(side, only)| one_sided(side, &only)));
    let pairs = of_a.iter().enumerate().filter_map(|(at, &other)| Some((at, other?))).collect();
    Paired { pairs, notes }
}

fn one_sided(side: char, only: &[&Identity]) -> Option<String> {
    let names: Vec<String> = only.iter().take(NAMED).map(|identity| identity.to_string()).collect();
    let more = only.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    (!only.is_empty()).then(|| format!("only {side} has {}{more}: left out", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(bytes: u64, communicator: &str, datatype: &str) -> Identity {
        Identity {
            function: "MPI_Bcast".into(),
            bytes: Some(bytes),
            ranks: 4,
            root: Some(0),
            communicator: communicator.into(),
            datatype: Some(datatype.into()),
            reduction: None,
            occurrence: 0,
        }
    }

    #[test]
    fn the_key_is_that_of_the_contract() {
        assert_eq!(identity(8, "w", "MPI_INT").key(), "MPI_Bcast/8/4/0");
        let unknown = Identity { bytes: None, root: None, ..identity(8, "w", "MPI_INT") };
        assert_eq!(unknown.key(), "MPI_Bcast/?/4/-");
    }

    #[test]
    fn equal_operations_are_paired_whatever_their_order() {
        let (one, two) = (identity(8, "w", "MPI_INT"), identity(8, "w", "MPI_FLOAT"));
        let paired = pair(vec![&one, &two], vec![&two, &one], ['A', 'B']);
        assert_eq!(paired, Paired { pairs: vec![(0, 1), (1, 0)], notes: vec![] });
    }

    #[test]
    fn the_only_one_of_its_key_is_paired_and_its_difference_told() {
        let (one, two) = (identity(8, "comm-2", "MPI_INT"), identity(8, "comm-3", "MPI_INT"));
        let paired = pair(vec![&one], vec![&two], ['A', 'B']);
        assert_eq!(paired.pairs, [(0, 0)]);
        let expected = "MPI_Bcast/8/4/0 is compared although A has it on comm-2 MPI_INT and B on comm-3 MPI_INT";
        assert_eq!(paired.notes, [expected]);
        // Of two it cannot be told which is which.
        let third = identity(8, "comm-4", "MPI_INT");
        let paired = pair(vec![&one], vec![&two, &third], ['A', 'B']);
        assert_eq!((paired.pairs.len(), paired.notes.len()), (0, 2));
    }

    #[test]
    fn operations_of_one_side_are_named_and_counted() {
        let (common, first) = (identity(8, "w", "MPI_INT"), identity(0, "w", "MPI_INT"));
        let of_b: Vec<Identity> = (100..110).map(|bytes| identity(bytes, "w", "MPI_INT")).collect();
        let paired = pair(vec![&first, &common], of_b.iter().chain([&common]).collect(), ['A', 'B']);
        assert_eq!(paired.pairs, [(1, 10)]);
        assert_eq!(paired.notes[0], "only A has MPI_Bcast/0/4/0 (w MPI_INT): left out");
        assert!(paired.notes[1].ends_with("MPI_Bcast/107/4/0 (w MPI_INT), and 2 more: left out"), "{:?}", paired.notes);
    }
}
