//! The test of a slow beginning: a warm-up is something that only the beginning does.

/// So many slow repetitions in a row make a burst more than the length of the beginning does.
const LIKE: f64 = 0.8;
/// Slow are repetitions from this share of the beginning's excess on; a burst is like the beginning
const LOWER: f64 = 0.6;
/// up to so many times of it.
const HIGHER: f64 = 2.0;
/// A beginning in the midst of a burst is no rarer than this many repetitions of it in all are.
const PHASES: usize = 8;
/// The chance that a series with such bursts begins with one must be below this.
const CHANCE: f64 = 0.01;

/// Which of the changes ends the warm-up: the last one up to `latest` before which every level was slower than after
/// it, by more than `smallest`.
pub fn end(changes: &[usize], levels: &[f64], latest: usize, smallest: f64) -> Option<usize> {
    let slower = |index: usize| levels[..=index].iter().all(|level| level - levels[index + 1] > smallest);
    (0..changes.len()).rev().find(|&index| changes[index] >= 2 && changes[index] <= latest && slower(index))
}

/// True if later values are like the beginning, up to `end`, so often that it may begin so by chance. `excess`: of a
/// repetition over its level. `fall`: of the level at `end`.
pub fn is_burst(length: usize, end: usize, fall: f64, excess: impl Fn(usize) -> f64) -> bool {
    let mut alike = 0_usize;
    let (mut slow, mut count, mut sum, mut quick) = (0_usize, 0_usize, 0.0, 0_usize);
    for i in end..=length {
        if i < length && excess(i) >= LOWER * fall {
            slow += 1;
            count += 1;
            sum += excess(i);
            quick = 0;
            continue;
        }
        quick += 1;
        // One quick repetition does not end it.
        if (quick == 2 || i == length) && count > 0 {
            let height = sum / count as f64;
            let high = height <= HIGHER * fall;
            alike += usize::from(high && count as f64 >= LIKE * end as f64);
            (count, sum) = (0, 0.0);
        }
    }
    // Single ones, and bursts.
    let share = (slow as f64 + 0.5) / (length - end + 1) as f64;
    share.powf(end as f64) >= CHANCE / 2.0 || (alike * end.min(PHASES)) as f64 >= CHANCE * length as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_is_slower_throughout_than_what_follows() {
        let of = |changes: &[usize], levels: &[f64]| end(changes, levels, 1000, 0.02);
        assert_eq!(of(&[60], &[2.0, 1.0]), Some(0));
        assert_eq!(of(&[20, 60], &[3.0, 2.0, 1.0]), Some(1));
        assert_eq!(of(&[20, 60], &[1.0, 2.0, 1.0]), None);
        // It settles, and slows down later.
        assert_eq!(of(&[20, 60], &[3.0, 1.0, 2.0]), Some(0));
        assert_eq!(end(&[60], &[2.0, 1.0], 50, 0.02), None);
        assert_eq!(end(&[1], &[2.0, 1.0], 50, 0.02), None);
    }

    #[test]
    fn a_beginning_like_many_later_bursts_is_one_of_them() {
        let mut y = vec![0.0; 1000];
        y[..20].fill(1.0);
        let is_burst_of = |y: &[f64]| is_burst(1000, 20, 1.0, |row| y[row]);
        assert!(!is_burst_of(&y));
        y[100..120].fill(1.0);
        // One of the same length is no reason, nor are shorter or higher ones.
        assert!(!is_burst_of(&y));
        (0..8).for_each(|burst| y[200 + 20 * burst..210 + 20 * burst].fill(1.0));
        (0..8).for_each(|burst| y[400 + 30 * burst..420 + 30 * burst].fill(5.0));
        assert!(!is_burst_of(&y));
        y[900..922].fill(1.0);
        assert!(is_burst_of(&y));
    }

    #[test]
    fn two_slow_repetitions_are_no_news_where_one_in_ten_is_slow() {
        let excess = |row: usize| if row.is_multiple_of(10) { 1.0 } else { 0.0 };
        assert!(is_burst(1000, 2, 1.0, excess));
        assert!(!is_burst(1000, 5, 1.0, excess));
    }
}
