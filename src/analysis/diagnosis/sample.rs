//! The repetitions that metrics are held against groups in: all, or of a long series stretches from all along it.
//!
//! A fit to n values costs some thousand operations for each of them, while what it states gains nothing from more than
//! some ten thousand: a difference of [`super::NOTICEABLE`] is some ten standard errors among the values of the sample.
//!
//! A stretch has all of its repetitions: so the members of each group and those that they are compared with keep their
//! shares, their distances and with them the dependence that the model of a metric is fitted to.

use super::groups::Group;

/// So many repetitions at most.
pub(super) const MOST: usize = STRETCHES * LENGTH;
const STRETCHES: usize = 64;
/// Repetitions in a row.
pub(super) const LENGTH: usize = 2048;

/// The rows of the sample of so many repetitions, ascending. The first stretch begins with the first of them, where a
/// warm-up lies. `None`: all repetitions.
pub(super) fn rows(count: usize) -> Option<Vec<u32>> {
    if count <= MOST {
        return None;
    }
    let part = count as f64 / STRETCHES as f64;
    let stretch = |number: usize| {
        // The fractional parts of multiples of the golden ratio lie evenly between 0 and 1: places without a period.
        let place = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as f64 / 2f64.powi(64);
        let start = (number as f64 * part + place * (part - LENGTH as f64)) as u32;
        start..start + LENGTH as u32
    };
    Some((0..STRETCHES).flat_map(stretch).collect())
}

/// The groups, with their rows as places among these.
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
        let count = member.iter().filter(|is_member| **is_member).count();
        Group { count, others: member.len() - count, rows, member, ..*group }
    };
    groups.iter().map(restrict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_lie_all_along_and_with_no_period() {
        assert_eq!(rows(MOST), None);
        for count in [MOST + 1, 200_000, 10_000_000] {
            let found = rows(count).unwrap();
            assert_eq!((found.len(), found[0]), (MOST, 0));
            assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "of {count}");
            let last = *found.last().unwrap() as usize;
            assert!(last < count && last > count - count / STRETCHES, "{last} of {count}");
        }
        let found = rows(10_000_000).unwrap();
        for period in [10_000, 50_000, 1_000_000] {
            let first_half = found.iter().filter(|&&row| row % period < period / 2).count() as f64 / MOST as f64;
            assert!((0.35..0.65).contains(&first_half), "{first_half} at {period}");
        }
    }
}
