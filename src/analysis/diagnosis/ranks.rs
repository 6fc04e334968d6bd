//! Ranks of values among each other.

/// The rank of each value, from 1, equal values sharing the mean of theirs.
pub(super) fn mid_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    order.sort_unstable_by(|&one, &other| values[one as usize].total_cmp(&values[other as usize]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0.0;
    for group in order.chunk_by(|&one, &other| values[one as usize] == values[other as usize]) {
        let t = group.len() as f64;
        group.iter().for_each(|&index| ranks[index as usize] = before + (t + 1.0) / 2.0);
        before += t;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_ranks() {
        let ranks = mid_ranks(&[3.0, 1.0, 3.0, -0.0, 0.0, 3.0]);
        assert_eq!(ranks, [5.0, 3.0, 5.0, 1.5, 1.5, 5.0]);
    }
}
