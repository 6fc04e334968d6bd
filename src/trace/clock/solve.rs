//! Weighted least squares over a graph: the offsets of all nodes out of the differences measured on its edges.

/// A measured difference, `x[from] - x[to]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// A node.
    pub from: usize,
    /// Another.
    pub to: usize,
    /// The measured difference.
    pub difference: f64,
    /// One over its variance.
    pub weight: f64,
}

/// The offsets that fit the edges best, node 0 being 0, and their variances.
///
/// Solves L x = b by conjugate gradients, where L is the graph's weighted Laplacian without node 0. On a hypercube it
/// is well conditioned, and the number of steps does not grow with the nodes.
///
/// ```
/// use mpitrace_trace::clock::{Edge, least_squares};
///
/// let edge = |from, to, difference| Edge { from, to, difference, weight: 1.0 };
/// // Three clocks in a ring: the differences go together.
/// let (offsets, _) = least_squares(3, &[edge(1, 0, 5.0), edge(2, 1, 2.0), edge(0, 2, -7.0)]);
/// assert!((offsets[1] - 5.0).abs() < 1e-9 && (offsets[2] - 7.0).abs() < 1e-9);
/// ```
pub fn least_squares(nodes: usize, edges: &[Edge]) -> (Vec<f64>, Vec<f64>) {
    let mut right = vec![0.0; nodes];
    for edge in edges {
        right[edge.from] += edge.weight * edge.difference;
        right[edge.to] -= edge.weight * edge.difference;
    }
    let offsets = solve(nodes, edges, &right);
    (offsets, variances(nodes, edges))
}

/// Above this many nodes variances are not solved for one by one.
const SMALL: usize = 64;

/// The diagonal of the inverse Laplacian: exactly for few nodes; for many what the edges of the node itself and of node
/// 0 leave open, the greater part of it on a hypercube.
fn variances(nodes: usize, edges: &[Edge]) -> Vec<f64> {
    if nodes <= SMALL {
        return (0..nodes)
            .map(|node| {
                let mut right = vec![0.0; nodes];
                right[node] = 1.0;
                solve(nodes, edges, &right)[node]
            })
            .collect();
    }
    let degree = degrees(nodes, edges);
    let of_edges = |node: usize| if degree[node] > 0.0 { 1.0 / degree[node] } else { f64::INFINITY };
    (0..nodes).map(|node| if node == 0 { 0.0 } else { of_edges(node) + of_edges(0) }).collect()
}

fn degrees(nodes: usize, edges: &[Edge]) -> Vec<f64> {
    let mut degree = vec![0.0; nodes];
    for edge in edges {
        degree[edge.from] += edge.weight;
        degree[edge.to] += edge.weight;
    }
    degree
}

fn solve(nodes: usize, edges: &[Edge], right: &[f64]) -> Vec<f64> {
    let degree = degrees(nodes, edges);
    let precondition = |residual: &[f64]| -> Vec<f64> {
        residual.iter().zip(&degree).map(|(value, degree)| if *degree > 0.0 { value / degree } else { 0.0 }).collect()
    };
    let mut solution = vec![0.0; nodes];
    let mut residual = right.to_vec();
    // Node 0 is held at 0.
    residual[0] = 0.0;
    let mut conditioned = precondition(&residual);
    let mut direction = conditioned.clone();
    let mut size = dot(&residual, &conditioned);
    let enough = size * 1e-24;
    for _ in 0..4 * nodes + 100 {
        if size <= enough || size == 0.0 {
            break;
        }
        let mut image = apply(nodes, edges, &direction);
        image[0] = 0.0;
        let curvature = dot(&direction, &image);
        if curvature <= 0.0 {
            break;
        }
        let step = size / curvature;
        for node in 0..nodes {
            solution[node] += step * direction[node];
            residual[node] -= step * image[node];
        }
        conditioned = precondition(&residual);
        let next = dot(&residual, &conditioned);
        let share = next / size;
        for (direction, conditioned) in direction.iter_mut().zip(&conditioned) {
            *direction = conditioned + share * *direction;
        }
        size = next;
    }
    solution
}

fn apply(nodes: usize, edges: &[Edge], x: &[f64]) -> Vec<f64> {
    let mut image = vec![0.0; nodes];
    for edge in edges {
        let pull = edge.weight * (x[edge.from] - x[edge.to]);
        image[edge.from] += pull;
        image[edge.to] -= pull;
    }
    image
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle_shares_its_contradiction_out() {
        let edge = |from, to, difference| Edge { from, to, difference, weight: 1.0 };
        // x1 - x0 = 10, x2 - x1 = 10, but x2 - x0 = 23.
        let (x, variances) = least_squares(3, &[edge(1, 0, 10.0), edge(2, 1, 10.0), edge(2, 0, 23.0)]);
        assert!((x[1] - 11.0).abs() < 1e-9 && (x[2] - 22.0).abs() < 1e-9, "{x:?}");
        // The resistance of one edge beside two in a row.
        assert!((variances[1] - 2.0 / 3.0).abs() < 1e-9, "{variances:?}");
    }

    #[test]
    fn a_hypercube_of_consistent_edges_is_solved_exactly() {
        let truth = |node: usize| (node * node % 97) as f64 - 5.0 * (node > 0) as u8 as f64;
        let mut edges = Vec::new();
        for node in 0..256usize {
            for bit in 0..8 {
                let other = node ^ 1 << bit;
                if other < node {
                    let weight = 1.0 + (node % 3) as f64;
                    edges.push(Edge { from: node, to: other, difference: truth(node) - truth(other), weight });
                }
            }
        }
        let (x, _) = least_squares(256, &edges);
        for (node, found) in x.iter().enumerate() {
            assert!((found - (truth(node) - truth(0))).abs() < 1e-6, "node {node}: {found}");
        }
    }
}
