//! Work on large columns, shared out among the processors. With the standard library alone: the reader must be built
//! without more.

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

/// Fewer values than this are not worth a thread, which takes some 30 us to start.
pub const LEAST: usize = 1 << 16;

/// Each item through `of`, in order. The caller's thread works too, so that nothing is lost where no other can be had.
///
/// ```
/// use mpitrace_statistics::parallel::map;
///
/// assert_eq!(map(vec![1, 2, 3], |number| 10 * number), [10, 20, 30]);
/// ```
pub fn map<T: Send, R: Send>(items: Vec<T>, of: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = items.len().min(processors());
    if threads < 2 {
        return items.into_iter().map(of).collect();
    }
    let left = Mutex::new(items.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((index, item)) = next() {
            let result = of(item);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // A refusal leaves more for the others.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// A column of so many values, each from its index, from 0.
///
/// ```
/// use mpitrace_statistics::parallel::filled;
///
/// assert_eq!(filled(4, |index| index * index), [0, 1, 4, 9]);
/// ```
pub fn filled<T: Clone + Default + Send>(length: usize, value: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut column = vec![T::default(); length];
    let share = share(length);
    map(column.chunks_mut(share).enumerate().collect(), |(piece, places)| {
        places.iter_mut().zip(piece * share..).for_each(|(place, index)| *place = value(index));
    });
    column
}

/// The indices of so many values in pieces that follow each other, one for each processor, but none below [`LEAST`].
///
/// ```
/// use mpitrace_statistics::parallel::{LEAST, pieces};
///
/// // Too few values to be worth a second thread.
/// assert_eq!(pieces(LEAST - 1), vec![0..LEAST - 1]);
/// let covered: usize = pieces(10 * LEAST + 1).into_iter().map(|piece| piece.len()).sum();
/// assert_eq!(covered, 10 * LEAST + 1);
/// ```
pub fn pieces(length: usize) -> Vec<Range<usize>> {
    let size = share(length);
    (0..length).step_by(size).map(|from| from..length.min(from + size)).collect()
}

/// How many of so many values one processor takes: [`LEAST`] at least.
///
/// ```
/// use mpitrace_statistics::parallel::{LEAST, processors, share};
///
/// let length = 100 * LEAST;
/// assert!(share(length) * processors() >= length);
/// assert!(share(LEAST) >= LEAST);
/// ```
pub fn share(length: usize) -> usize {
    length.div_ceil(processors()).max(LEAST)
}

/// How many processors this process may use. Asked once: the system's answer comes from files of its control groups, 10
/// us each time, and a trace of 10^5 ranks asks 10^5 times.
///
/// ```
/// assert!(mpitrace_statistics::parallel::processors() >= 1);
/// ```
pub fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..1000).collect();
        assert_eq!(map(items.clone(), |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        assert!(map(Vec::<u64>::new(), |item| item).is_empty());
    }

    #[test]
    fn a_column_is_filled_in_its_order() {
        for length in [0, 1, LEAST, 3 * LEAST + 7] {
            assert_eq!(filled(length, |index| index), (0..length).collect::<Vec<_>>());
        }
    }

    #[test]
    fn pieces_follow_each_other_from_beginning_to_end() {
        for length in [0, 1, LEAST, LEAST + 1, 100 * LEAST + 7] {
            let all: Vec<usize> = pieces(length).into_iter().flatten().collect();
            assert_eq!(all, (0..length).collect::<Vec<_>>());
        }
    }
}
