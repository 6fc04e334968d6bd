//! Performance guidelines: which operations do the same as others, and what sides of them a trace has.
//!
//! The patterns are those of Träff, Gropp and Thakur (2010) and of Hunold, Carpen-Amarie, Lübbe and Träff (2016), with
//! monotony and split-robustness. Left out are those whose sides a trace does not tell from others: of operations that
//! are no collective ones (MPI_Reduce_local), and of v-variants in which one rank has all.

use std::collections::BTreeMap;

use crate::by_size::{Alike, GoodTimes};

/// The size of an operation on the right side, from that on the left, both as a trace counts them.
#[derive(Clone, Copy, Debug)]
enum Scale {
    /// As many bytes.
    Same,
    /// The blocks of all ranks together.
    OfAll,
    /// The block of one rank.
    OfOne,
}

/// The functions on the right side, one after the other.
type Right = &'static [(&'static str, Scale)];

use Scale::{OfAll, OfOne, Same};

/// What is to take no longer than what.
const PATTERNS: [(&str, Right); 20] = [
    ("MPI_Allgather", &[("MPI_Alltoall", Same)]),
    ("MPI_Allgather", &[("MPI_Allreduce", OfAll)]),
    ("MPI_Allgather", &[("MPI_Gather", Same), ("MPI_Bcast", OfAll)]),
    ("MPI_Allreduce", &[("MPI_Reduce", Same), ("MPI_Bcast", Same)]),
    ("MPI_Allreduce", &[("MPI_Reduce_scatter_block", OfOne), ("MPI_Allgather", OfOne)]),
    ("MPI_Allreduce", &[("MPI_Reduce_scatter", Same), ("MPI_Allgatherv", OfOne)]),
    ("MPI_Alltoall", &[("MPI_Alltoallv", OfAll)]),
    ("MPI_Bcast", &[("MPI_Scatter", OfOne), ("MPI_Allgather", OfOne)]),
    ("MPI_Gather", &[("MPI_Allgather", Same)]),
    ("MPI_Gather", &[("MPI_Gatherv", Same)]),
    ("MPI_Gather", &[("MPI_Reduce", OfAll)]),
    ("MPI_Reduce", &[("MPI_Allreduce", Same)]),
    ("MPI_Reduce", &[("MPI_Reduce_scatter_block", OfOne), ("MPI_Gather", OfOne)]),
    ("MPI_Reduce", &[("MPI_Reduce_scatter", Same), ("MPI_Gatherv", OfOne)]),
    ("MPI_Reduce_scatter", &[("MPI_Reduce", Same), ("MPI_Scatterv", Same)]),
    ("MPI_Reduce_scatter", &[("MPI_Allreduce", Same)]),
    ("MPI_Reduce_scatter_block", &[("MPI_Reduce", OfAll), ("MPI_Scatter", Same)]),
    ("MPI_Reduce_scatter_block", &[("MPI_Reduce_scatter", OfAll)]),
    ("MPI_Scatter", &[("MPI_Bcast", OfAll)]),
    ("MPI_Scatter", &[("MPI_Scatterv", OfAll)]),
];

/// Sizes that differ by no more than this share are compared: counts do not always divide by the ranks.
const COMPARABLE: f64 = 0.01;

/// The kind of a guideline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Operations that do the same.
    Pattern,
    /// A smaller size takes no longer than a larger one.
    Monotony,
    /// A size takes no longer than its parts one after the other.
    Split,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Pattern => "pattern",
            Kind::Monotony => "monotony",
            Kind::Split => "split",
        }
    }
}

/// A guideline of which a trace has both sides.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its kind.
    pub kind: Kind,
    /// The operation on the left side.
    pub left: Alike,
    /// Its size.
    pub bytes: u64,
    /// The functions on the right side with their sizes; one that is to be called k times stands there with k.
    pub right: Vec<(String, u64, u64)>,
    /// The times of both sides, ns. Of several functions the sum of each one's n-th good repetition.
    pub times: [Vec<f64>; 2],
}

/// The guidelines of which there are both sides. `place` names the ranks of an operation: only operations of the same
/// ranks are compared.
pub fn found(operations: &BTreeMap<Alike, GoodTimes>, place: impl Fn(&Alike) -> Vec<usize>) -> Vec<Found> {
    let places: Vec<(&Alike, &GoodTimes, Vec<usize>)> =
        operations.iter().map(|(alike, times)| (alike, times, place(alike))).collect();
    let mut found = Vec::new();
    for (alike, sizes, ranks) in &places {
        for (&bytes, times) in *sizes {
            for (_, right) in PATTERNS.iter().filter(|(left, _)| *left == alike.function) {
                let others =
                    places.iter().filter(|(_, _, others)| others == ranks).map(|(alike, times, _)| (*alike, *times));
                found.extend(pattern((alike, bytes, times), right, &others.collect::<Vec<_>>()));
            }
        }
        found.extend(monotony(alike, sizes));
        found.extend(splits(alike, sizes));
    }
    found
}

fn pattern(
    (left, bytes, times): (&Alike, u64, &[f64]),
    right: Right,
    others: &[(&Alike, &GoodTimes)],
) -> Option<Found> {
    let ranks = f64::from(left.ranks);
    let (mut root, mut reduction) = (left.root, left.reduction.clone());
    let mut functions = Vec::new();
    let mut sum: Vec<f64> = Vec::new();
    for &(function, scale) in right {
        let wanted = match scale {
            Scale::Same => bytes as f64,
            Scale::OfAll => bytes as f64 * ranks,
            Scale::OfOne => bytes as f64 / ranks,
        };
        let is_fit = |other: &Alike| {
            other.function == function
                && other.datatype == left.datatype
                && (root.is_none() || other.root.is_none() || other.root == root)
                && (reduction.is_none() || other.reduction.is_none() || other.reduction == reduction)
        };
        let sizes = others.iter().filter(|(other, _)| is_fit(other));
        let near = sizes.filter_map(|(other, sizes)| {
            let near = |bytes: u64| (bytes as f64 - wanted).abs();
            let (&bytes, times) = sizes.iter().min_by(|one, other| near(*one.0).total_cmp(&near(*other.0)))?;
            (near(bytes) <= COMPARABLE * wanted).then_some((*other, bytes, times))
        });
        // Of several that fit that which was repeated most.
        let (other, bytes, times) = near.max_by_key(|(.., times)| times.len())?;
        root = root.or(other.root);
        reduction = reduction.or_else(|| other.reduction.clone());
        sum = match functions.is_empty() {
            true => times.clone(),
            false => sum.iter().zip(times).map(|(sum, time)| sum + time).collect(),
        };
        functions.push((function.to_owned(), bytes, 1));
    }
    let times = [times.to_vec(), sum];
    Some(Found { kind: Kind::Pattern, left: left.clone(), bytes, right: functions, times })
}

/// A size and its times.
type OneSize<'t> = (&'t u64, &'t Vec<f64>);

/// Each size against the next larger one.
fn monotony(alike: &Alike, sizes: &GoodTimes) -> Vec<Found> {
    let next = sizes.iter().skip(1);
    let pair = |(one, next): (OneSize<'_>, OneSize<'_>)| Found {
        kind: Kind::Monotony,
        left: alike.clone(),
        bytes: *one.0,
        right: vec![(alike.function.clone(), *next.0, 1)],
        times: [one.1.clone(), next.1.clone()],
    };
    sizes.iter().zip(next).map(pair).collect()
}

/// Each size against its largest part that the trace has.
fn splits(alike: &Alike, sizes: &GoodTimes) -> Vec<Found> {
    let split = |(&bytes, times): (&u64, &Vec<f64>)| {
        let (&part, of_part) = sizes.range(1..bytes.max(1)).rev().find(|(part, _)| bytes.is_multiple_of(**part))?;
        let count = bytes / part;
        Some(Found {
            kind: Kind::Split,
            left: alike.clone(),
            bytes,
            right: vec![(alike.function.clone(), part, count)],
            times: [times.clone(), of_part.iter().map(|time| time * count as f64).collect()],
        })
    };
    sizes.iter().filter_map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(function: &str, root: Option<i32>, reduction: Option<&str>) -> Alike {
        Alike {
            function: function.to_owned(),
            communicator_id: Some(0),
            communicator: "MPI_COMM_WORLD".to_owned(),
            ranks: 4,
            root,
            datatype: Some("MPI_INT".to_owned()),
            reduction: reduction.map(str::to_owned),
        }
    }

    /// Sizes and their times.
    type Sizes<'t> = &'t [(u64, &'t [f64])];

    fn patterns(operations: Vec<(Alike, Sizes<'_>)>) -> Vec<Found> {
        let times = |sizes: Sizes<'_>| sizes.iter().map(|&(bytes, ns)| (bytes, ns.to_vec())).collect();
        let operations = operations.into_iter().map(|(alike, sizes)| (alike, times(sizes))).collect();
        found(&operations, |_| vec![0, 1, 2, 3])
    }

    #[test]
    fn the_sizes_of_both_sides_are_those_that_do_the_same() {
        let found = patterns(vec![
            (alike("MPI_Allgather", None, None), &[(8, &[30.0, 31.0, 32.0])]),
            (alike("MPI_Gather", Some(0), None), &[(8, &[10.0, 11.0])]),
            (alike("MPI_Bcast", Some(0), None), &[(32, &[5.0, 7.0, 9.0])]),
            // Of another root, though repeated more often.
            (alike("MPI_Bcast", Some(1), None), &[(32, &[1.0, 1.0, 1.0, 1.0])]),
        ]);
        let both = found.iter().find(|found| found.right.len() == 2).unwrap();
        assert_eq!((both.left.function.as_str(), both.bytes), ("MPI_Allgather", 8));
        assert_eq!(both.right, [("MPI_Gather".to_owned(), 8, 1), ("MPI_Bcast".to_owned(), 32, 1)]);
        assert_eq!(both.times, [vec![30.0, 31.0, 32.0], vec![15.0, 18.0]]);
        // MPI_Gather takes no longer than MPI_Allgather.
        assert!(found.iter().any(|found| found.left.function == "MPI_Gather" && found.right[0].0 == "MPI_Allgather"));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn what_differs_in_type_operator_or_ranks_is_not_compared() {
        let sum = alike("MPI_Allreduce", None, Some("MPI_SUM"));
        let reduce = |reduction| alike("MPI_Reduce", Some(0), Some(reduction));
        let of = |other: Alike| {
            patterns(vec![(sum.clone(), &[(64, &[3.0])]), (other, &[(64, &[2.0])])])
                .iter()
                .filter(|found| found.left.function == "MPI_Reduce")
                .count()
        };
        assert_eq!(of(reduce("MPI_SUM")), 1);
        assert_eq!(of(reduce("MPI_MAX")), 0);
        assert_eq!(of(Alike { datatype: Some("MPI_FLOAT".to_owned()), ..reduce("MPI_SUM") }), 0);
        let operations =
            [(sum.clone(), GoodTimes::from([(64, vec![3.0])])), (reduce("MPI_SUM"), [(64, vec![2.0])].into())];
        let by_root = found(&operations.into(), |alike| vec![usize::from(alike.root.is_some())]);
        assert!(by_root.is_empty());
    }

    #[test]
    fn larger_sizes_and_parts_are_sides_too() {
        let found = patterns(vec![(
            alike("MPI_Bcast", Some(0), None),
            &[(8, &[1.0]), (12, &[2.0]), (24, &[4.0]), (25, &[5.0])],
        )]);
        let of = |kind: Kind| found.iter().filter(|found| found.kind == kind).collect::<Vec<_>>();
        let monotony: Vec<_> = of(Kind::Monotony).iter().map(|found| (found.bytes, found.right[0].1)).collect();
        assert_eq!(monotony, [(8, 12), (12, 24), (24, 25)]);
        let split = of(Kind::Split);
        assert_eq!(split.len(), 1, "only 24 is a multiple of another one");
        assert_eq!((split[0].bytes, &split[0].right[0]), (24, &("MPI_Bcast".to_owned(), 12, 2)));
        assert_eq!(split[0].times, [vec![4.0], vec![4.0]]);
    }
}
