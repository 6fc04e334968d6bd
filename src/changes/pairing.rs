//! Finds which operations of two sides are the same.

use std::collections::{BTreeMap, HashMap};

use super::identity::Identity;

/// The operations of the two sides, by their places in the lists given.
#[derive(Debug, Default, PartialEq)]
pub struct Paired {
    /// In the order of A.
    pub pairs: Vec<(usize, usize)>,
    /// Operations that only A has.
    pub only_a: Vec<usize>,
    /// Operations that only B has.
    pub only_b: Vec<usize>,
    /// On the pairs that agree in part.
    pub notes: Vec<String>,
}

/// The letters of two sides.
pub type Names = [char; 2];

/// How many pairs that agree in part are named.
const NAMED: usize = 3;

/// The communicator of all ranks of a job.
const WORLD: &str = "MPI_COMM_WORLD";

/// Finds the pairs. First those that agree in all, with the calls of a function of the program in their order; if the
/// sides have not as many of them there, those of equal lines come first. Then, where they are left once on either
/// side, those of equal function, bytes, ranks and root, although the communicator's name, the data type or the place
/// in the program differ; and those on all ranks of both jobs, although these are not as many.
///
/// ```
/// use mpitrace_changes::{Identity, pair};
///
/// let of = |bytes| Identity { function: "MPI_Bcast".into(), bytes: Some(bytes), ranks: 4, ..Identity::default() };
/// let found = pair(&[&of(8), &of(16)], &[&of(16), &of(32)], ['A', 'B']);
/// assert_eq!((found.pairs, found.only_a, found.only_b), (vec![(1, 0)], vec![0], vec![1]));
/// ```
pub fn pair(a: &[&Identity], b: &[&Identity], [name_a, name_b]: Names) -> Paired {
    let mut of_a: Vec<Option<usize>> = vec![None; a.len()];
    let mut is_left = vec![true; b.len()];
    let aligned = aligned(a, b);
    let places: HashMap<&Identity, usize> = b.iter().enumerate().map(|(at, &one)| (one, at)).collect();
    for (at, one) in a.iter().enumerate() {
        let wanted = aligned.get(&at).map_or_else(|| Some((*one).clone()), Clone::clone);
        let found = wanted.and_then(|wanted| places.get(&wanted).copied()).filter(|&other| is_left[other]);
        if let Some(other) = found {
            (of_a[at], is_left[other]) = (Some(other), false);
        }
    }
    let mut notes = Vec::new();
    let function = |one: &Identity| one.place.as_ref().map(|place| place.function.clone());
    let of_all = |one: &Identity| one.communicator == WORLD;
    alone(a, b, &mut of_a, &mut is_left, &mut notes, |one| Some(format!("{} {:?}", one.key(), function(one))));
    alone(a, b, &mut of_a, &mut is_left, &mut notes, |one| Some(one.key()));
    alone(a, b, &mut of_a, &mut is_left, &mut notes, |one| {
        of_all(one).then(|| format!("{}/{:?}/{:?} {:?}", one.function, one.bytes, one.root, function(one)))
    });
    let told: Vec<String> = notes
        .iter()
        .map(|&(at, other)| {
            let keys = [a[at].key(), b[other].key()];
            let [of_a, of_b] = if keys[0] == keys[1] { [a[at].rest(), b[other].rest()] } else { keys.clone() };
            format!("{} is compared although {name_a} has it on {of_a} and {name_b} on {of_b}", keys[0])
        })
        .collect();
    let more = told.len().saturating_sub(NAMED);
    let mut notes: Vec<String> = told.into_iter().take(NAMED).collect();
    if more > 0 {
        notes.push(format!("{more} more operations are compared although something in them differs"));
    }
    Paired {
        only_a: (0..a.len()).filter(|&at| of_a[at].is_none()).collect(),
        only_b: (0..b.len()).filter(|&at| is_left[at]).collect(),
        pairs: of_a.iter().enumerate().filter_map(|(at, &other)| Some((at, other?))).collect(),
        notes,
    }
}

/// Pairs those of equal text that are left once on either side.
fn alone(
    a: &[&Identity],
    b: &[&Identity],
    of_a: &mut [Option<usize>],
    is_left: &mut [bool],
    notes: &mut Vec<(usize, usize)>,
    text: impl Fn(&Identity) -> Option<String>,
) {
    let mut left: BTreeMap<String, [Vec<usize>; 2]> = BTreeMap::new();
    let open_a = (0..a.len()).filter(|&at| of_a[at].is_none());
    open_a.filter_map(|at| Some((text(a[at])?, at))).for_each(|(text, at)| left.entry(text).or_default()[0].push(at));
    let open_b = (0..b.len()).filter(|&at| is_left[at]);
    open_b.filter_map(|at| Some((text(b[at])?, at))).for_each(|(text, at)| left.entry(text).or_default()[1].push(at));
    for sides in left.values() {
        if let ([at], [other]) = (&sides[0][..], &sides[1][..]) {
            (of_a[*at], is_left[*other]) = (Some(*other), false);
            notes.push((*at, *other));
        }
    }
    notes.sort_unstable();
}

/// The operation of B that is that of A, where a function of the program has not as many calls of a kind on both sides:
/// those of equal lines first, then the others in their order; `None`: it is gone.
fn aligned(a: &[&Identity], b: &[&Identity]) -> HashMap<usize, Option<Identity>> {
    type Lines<'i> = BTreeMap<usize, &'i str>;
    let mut groups: HashMap<(Identity, &str), [Lines; 2]> = HashMap::new();
    for (side, all) in [a, b].into_iter().enumerate() {
        for one in all {
            if let Some(place) = &one.place {
                let lines = groups.entry((one.anywhere(), &place.function)).or_default();
                lines[side].insert(place.order, &place.line);
            }
        }
    }
    let mut found = HashMap::new();
    for (at, one) in a.iter().enumerate() {
        let Some(place) = &one.place else { continue };
        let Some([of_a, of_b]) = groups.get(&(one.anywhere(), place.function.as_str())) else { continue };
        if of_a.len() == of_b.len() {
            continue;
        }
        let is_equal = |line: &&str, other: &Lines| other.values().any(|known| known == line);
        let equal = of_b.iter().find(|(_, line)| **line == place.line).map(|(order, _)| *order);
        let order = equal.or_else(|| {
            let rest = |own: &Lines, other: &Lines| -> Vec<usize> {
                own.iter().filter(|(_, line)| !is_equal(line, other)).map(|(order, _)| *order).collect()
            };
            let place = rest(of_a, of_b).iter().position(|order| *order == place.order)?;
            rest(of_b, of_a).get(place).copied()
        });
        let moved = order.map(|order| {
            let mut moved = (*one).clone();
            moved.place.iter_mut().for_each(|place| place.order = order);
            moved
        });
        found.insert(at, moved);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::identity::{Place, numbered};
    use super::*;

    fn identity(bytes: u64, communicator: &str, datatype: &str) -> Identity {
        Identity {
            function: "MPI_Bcast".into(),
            bytes: Some(bytes),
            ranks: 4,
            root: Some(0),
            communicator: communicator.into(),
            datatype: Some(datatype.into()),
            ..Identity::default()
        }
    }

    fn called(function: &str, line: u64) -> Identity {
        let place = Place { function: function.into(), line: format!("a.c:{line}"), number: line, order: 0 };
        Identity { place: Some(place), ..identity(8, WORLD, "MPI_INT") }
    }

    fn pairs(a: &[Identity], b: &[Identity]) -> Vec<(usize, usize)> {
        pair(&a.iter().collect::<Vec<_>>(), &b.iter().collect::<Vec<_>>(), ['A', 'B']).pairs
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
        let paired = pair(&[&one, &two], &[&two, &one], ['A', 'B']);
        assert_eq!(paired, Paired { pairs: vec![(0, 1), (1, 0)], ..Paired::default() });
    }

    #[test]
    fn the_only_one_of_its_key_is_paired_and_its_difference_told() {
        let (one, two) = (identity(8, "comm-2", "MPI_INT"), identity(8, "comm-3", "MPI_INT"));
        let paired = pair(&[&one], &[&two], ['A', 'B']);
        assert_eq!(paired.pairs, [(0, 0)]);
        let expected = "MPI_Bcast/8/4/0 is compared although A has it on comm-2 MPI_INT and B on comm-3 MPI_INT";
        assert_eq!(paired.notes, [expected]);
        // Of two it cannot be told which is which.
        let third = identity(8, "comm-4", "MPI_INT");
        let paired = pair(&[&one], &[&two, &third], ['A', 'B']);
        assert_eq!((paired.pairs.len(), paired.only_a, paired.only_b), (0, vec![0], vec![0, 1]));
    }

    #[test]
    fn operations_of_one_side_are_listed() {
        let (common, first) = (identity(8, "w", "MPI_INT"), identity(0, "w", "MPI_INT"));
        let of_b: Vec<Identity> =
            (100..103).map(|bytes| identity(bytes, "w", "MPI_INT")).chain([common.clone()]).collect();
        let paired = pair(&[&first, &common], &of_b.iter().collect::<Vec<_>>(), ['A', 'B']);
        assert_eq!((paired.pairs, paired.only_a, paired.only_b), (vec![(1, 3)], vec![0], vec![0, 1, 2]));
    }

    #[test]
    fn calls_of_a_function_are_paired_in_their_order_whatever_their_lines() {
        let a = numbered(vec![called("step", 20), called("step", 10), called("main", 90)]);
        let b = numbered(vec![called("main", 95), called("step", 17), called("step", 26)]);
        assert_eq!(pairs(&a, &b), [(0, 2), (1, 1), (2, 0)]);
        // Equal lines of different functions say nothing.
        let (a, b) = (vec![called("step", 10), called("main", 20)], vec![called("main", 10), called("step", 20)]);
        assert_eq!(pairs(&numbered(a), &numbered(b)), [(0, 1), (1, 0)]);
    }

    #[test]
    fn lines_say_which_call_of_a_function_is_new_or_gone() {
        let a = numbered(vec![called("step", 10), called("step", 30)]);
        let b = numbered(vec![called("step", 10), called("step", 20), called("step", 30)]);
        let paired = pair(&a.iter().collect::<Vec<_>>(), &b.iter().collect::<Vec<_>>(), ['A', 'B']);
        assert_eq!((paired.pairs, paired.only_b), (vec![(0, 0), (1, 2)], vec![1]));
        assert_eq!(pairs(&b, &a), [(0, 0), (2, 1)]);
        // The others keep their order.
        let b = numbered(vec![called("step", 10), called("step", 31), called("step", 40)]);
        assert_eq!(pairs(&a, &b), [(0, 0), (1, 1)]);
    }

    #[test]
    fn operations_on_all_ranks_are_the_same_in_jobs_of_different_sizes() {
        let (small, large) = (identity(8, WORLD, "MPI_INT"), Identity { ranks: 8, ..identity(8, WORLD, "MPI_INT") });
        let paired = pair(&[&small], &[&large], ['A', 'B']);
        assert_eq!(paired.pairs, [(0, 0)]);
        assert!(
            paired.notes[0].ends_with("A has it on MPI_Bcast/8/4/0 and B on MPI_Bcast/8/8/0"),
            "{:?}",
            paired.notes
        );
        let part = Identity { communicator: "row".into(), ..large };
        assert_eq!(pairs(&[small], &[part]), []);
    }
}
