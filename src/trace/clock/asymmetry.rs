//! The part of an offset's error that no exchange of messages shows: by how much the quickest way from one node to
//! another takes longer than the quickest way back.

/// The quickest way from one node to another takes at most so many times as long as the quickest way back: what the
/// stated errors stand on. docs/developers/measurements.md has what was measured.
pub const MOST_UNEQUAL: f64 = 2.0;

/// How far the middle of the tightest bounds on an offset may be off, where the bounds are `distance` apart; in the
/// unit of `distance`.
///
/// The distance is the sum of both ways, the middle is off by half of their difference.
pub(super) fn bound_of_middle(distance: f64) -> f64 {
    distance / 2.0 * (MOST_UNEQUAL - 1.0) / (MOST_UNEQUAL + 1.0)
}

/// The variance of such a middle: it lies anywhere within its bound, equally likely.
pub(super) fn variance(bound: f64) -> f64 {
    bound * bound / 3.0
}

/// How far the offset of a node may be off against node 0. `node` and `root` are the largest bounds of an edge of the
/// node and of node 0, `variance` is that of the offset where the asymmetries of the edges are independent.
///
/// An asymmetry that belongs to a node (it sends more slowly than it receives) is in all of its edges alike: the error
/// is that of a direct exchange with node 0, however many edges there are. Asymmetries that belong to edges add up as
/// independent ones do. The edges do not show which of the two they are: the larger counts.
pub(super) fn bound_of_node(node: f64, root: f64, variance: f64) -> f64 {
    node.max(root).max((3.0 * variance).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_unequal_ways_put_the_middle_off_by_the_bound() {
        let (there, back) = (MOST_UNEQUAL * 700.0, 700.0);
        assert!((bound_of_middle(there + back) - (there - back) / 2.0).abs() < 1e-9);
    }

    #[test]
    fn one_edge_has_the_bound_of_its_node_and_a_row_of_edges_a_larger_one() {
        let bound = bound_of_middle(1400.0);
        assert!((bound_of_node(bound, bound, variance(bound)) - bound).abs() < 1e-9);
        assert!(bound_of_node(bound, bound, 2.0 * variance(bound)) > 1.4 * bound);
        // More edges do not make the asymmetry of a node smaller.
        assert!((bound_of_node(bound, bound, variance(bound) / 4.0) - bound).abs() < 1e-9);
    }
}
