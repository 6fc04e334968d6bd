//! Which repetitions the releases of today count: the Intel MPI Benchmarks (2018 and later) and the OSU Micro-Benchmarks add
//! up the times of calls with a barrier between them.

use crate::synchronisation_check::Observed;

/// OSU's option for calls that are not counted, and its defaults for messages up to [`LARGE`] and beyond.
const SKIPPED: [&str; 2] = ["-x", "--warmup"];
const SKIPPED_SMALL: usize = 200;
const SKIPPED_LARGE: usize = 10;
const LARGE: u64 = 8192;

/// The row of the first repetition of the last loop: exactly one barrier comes before each further one. IMB's calls
/// before are warm-up and estimate.
pub fn last_loop(observed: &Observed) -> usize {
    observed.barriers.iter().rposition(|&barriers| barriers != [1, 1]).unwrap_or(0)
}

/// How many calls of a loop OSU does not count, by its command line.
pub fn skipped_by_osu(command: &str, bytes: Option<u64>) -> usize {
    let mut words = command.split_whitespace().skip_while(|word| !SKIPPED.contains(word));
    let asked = words.nth(1).and_then(|value| value.parse().ok());
    let usual = if bytes.is_some_and(|bytes| bytes > LARGE) { SKIPPED_LARGE } else { SKIPPED_SMALL };
    asked.unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_loop_begins_behind_what_is_no_single_barrier() {
        let of = |barriers: &[u32]| {
            last_loop(&Observed { barriers: barriers.iter().map(|&one| [one; 2]).collect(), ..Observed::default() })
        };
        // IMB: an estimate, a warm-up of three, two barriers more, and the loop.
        assert_eq!(of(&[2, 2, 1, 1, 3, 1, 1, 1, 1]), 4);
        assert_eq!(of(&[0, 1, 1, 1]), 0);
        assert_eq!(of(&[1, 1, 1]), 0);
        assert_eq!(of(&[]), 0);
    }

    #[test]
    fn skipped_calls_are_those_of_the_command_line_or_usual() {
        assert_eq!(skipped_by_osu("osu_allreduce -i 1000 -x 50", Some(8)), 50);
        assert_eq!(skipped_by_osu("osu_allreduce", Some(8192)), 200);
        assert_eq!(skipped_by_osu("osu_allreduce -x", Some(16384)), 10);
    }
}
