//! The repetitions that metrics are held against groups in: all, or of a long series a sample of each group.
//!
//! A fit to n values costs some thousand operations for each of them, while what it states gains nothing from more than
//! some ten thousand: a difference of [`super::NOTICEABLE`] is some ten standard errors among the values of the sample.

use super::groups::Group;

/// So many repetitions at most.
pub(super) const MOST: usize = 1 << 16;

/// The rows of all groups' members and of those that they are compared with, ascending: all of the `count`, or at most
/// [`MOST`], as many for each of the two sides of each group. A side that has no more than its share is whole. `None`: all
/// repetitions.
pub(super) fn rows(count: usize, groups: &[Group]) -> Option<Vec<u32>> {
    if count <= MOST {
        return None;
    }
    let share = MOST / (2 * groups.len()).max(1);
    let mut rows = Vec::with_capacity(MOST);
    for group in groups {
        for (is_member, count) in [(true, group.count), (false, group.others)] {
            let side = group.rows.iter().zip(&group.member).filter(|(_, member)| **member == is_member);
            rows.extend(evenly(side.map(|(&row, _)| row), count, share));
        }
    }
    rows.sort_unstable();
    rows.dedup();
    Some(rows)
}

/// The same groups, with their rows as places among these.
pub(super) fn restricted(groups: &[Group], rows: Option<&[u32]>) -> Vec<Group> {
    let Some(wanted) = rows else { return groups.to_vec() };
    let restrict = |group: &Group| {
        let mut wanted = (0..).zip(wanted.iter().copied()).peekable();
        let (mut rows, mut member) = (Vec::new(), Vec::new());
        for (&row, &is_member) in group.rows.iter().zip(&group.member) {
            while wanted.next_if(|&(_, other)| other < row).is_some() {}
            if let Some((place, _)) = wanted.next_if(|&(_, other)| other == row) {
                rows.push(place);
                member.push(is_member);
            }
        }
        Group { rows, member, ..*group }
    };
    groups.iter().map(restrict).collect()
}

/// At most `share` of `count` values: one of each stretch, at places in the stretches that repeat with no period.
fn evenly(values: impl Iterator<Item = u32>, count: usize, share: usize) -> impl Iterator<Item = u32> {
    let stretch = (count as f64 / share as f64).max(1.0);
    let mut number = 0u64;
    let mut next = 0;
    values.enumerate().filter_map(move |(index, value)| {
        if index != next {
            return None;
        }
        number += 1;
        // The fractional parts of multiples of the golden ratio lie evenly between 0 and 1.
        let part = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) as f64 / 2f64.powi(64);
        let place = if stretch > 1.0 { (number as f64 + part) * stretch } else { number as f64 };
        next = (place as usize).max(index + 1);
        Some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_taken_from_all_along_and_with_no_period() {
        let found: Vec<u32> = evenly(0..1_000_000, 1_000_000, 1000).collect();
        assert!((990..=1000).contains(&found.len()), "{}", found.len());
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]) && *found.last().unwrap() > 998_000);
        for period in [2, 10, 50, 1000] {
            let first_half = found.iter().filter(|&&row| row % period < period / 2).count();
            assert!((450..550).contains(&first_half), "{first_half} at {period}");
        }
        assert!(evenly(0..1000, 1000, 1000).eq(0..1000));
        assert!(evenly(0..3, 3, 1000).eq(0..3));
    }
}
