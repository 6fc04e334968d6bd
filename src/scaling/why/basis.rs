//! The part of the times that is explained already: an orthonormal basis of columns, one value for each run.

#[derive(Clone, Debug)]
pub(super) struct Basis {
    /// Orthonormal.
    pub columns: Vec<Vec<f64>>,
}

/// A column of which no more than this share is left is in the basis already.
const LEFT: f64 = 1e-6;

impl Basis {
    /// The mean of so many runs.
    pub fn of_mean(runs: usize) -> Basis {
        Basis { columns: vec![vec![(runs as f64).sqrt().recip(); runs]] }
    }

    /// The part of a column that is not explained.
    pub fn rest(&self, column: &[f64]) -> Vec<f64> {
        let mut rest = column.to_vec();
        // Twice, against rounding.
        for _ in 0..2 {
            for known in &self.columns {
                let part = dot(known, &rest);
                rest.iter_mut().zip(known).for_each(|(rest, known)| *rest -= part * known);
            }
        }
        rest
    }

    /// Adds columns, and gives the orthonormal ones that are new.
    pub fn extend(&mut self, columns: &[Vec<f64>]) -> usize {
        let before = self.columns.len();
        for column in columns {
            let mut rest = self.rest(column);
            let (left, all) = (dot(&rest, &rest), dot(column, column));
            if left > LEFT * all {
                rest.iter_mut().for_each(|value| *value /= left.sqrt());
                self.columns.push(rest);
            }
        }
        self.columns.len() - before
    }
}

pub(super) fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}
