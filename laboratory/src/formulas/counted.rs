//! Which repetitions the releases of today count: the Intel MPI Benchmarks (2018 and later) and the OSU
//! Micro-Benchmarks add up the times of calls with barriers between them.

use std::ops::Range;

use crate::synchronisation_check::Observed;

/// IMB's option for calls that are counted.
const ITERATIONS: [&str; 2] = ["-iter", "--iter"];
/// OSU's options for calls that are counted, and for those before them that are not.
const COUNTED: [&str; 2] = ["-i", "--iterations"];
const SKIPPED: [&str; 2] = ["-x", "--warmup"];
/// How many calls both count unless asked, of small messages and of large ones. How many OSU skips differs by release:
/// 200 in 5.3, 100 in 7.2.
const USUALLY_COUNTED: [usize; 2] = [1000, 100];

/// The row of the first repetition of the last loop: as many barriers come before each further one as before the last.
/// IMB's calls before are warm-up and estimate.
pub fn last_loop(observed: &Observed) -> usize {
    let last = observed.barriers.last();
    observed.barriers.iter().rposition(|barriers| Some(barriers) != last).unwrap_or(0)
}

/// The rows that IMB counts: its last loop. `of_barriers`: its loop of barriers has no others between its calls, so
/// that it is the last calls, as many as its command line asks for.
pub fn by_imb(observed: &Observed, command: &str, of_barriers: bool) -> Range<usize> {
    let end = observed.barriers.len();
    match of_barriers {
        true => end - option(command, ITERATIONS).unwrap_or(USUALLY_COUNTED[0]).min(end)..end,
        false => last_loop(observed)..end,
    }
}

/// The rows that OSU counts, by its command line: the last of its last loop. `of_barriers`: its loop of barriers has
/// one more behind it.
pub fn by_osu(observed: &Observed, command: &str, of_barriers: bool) -> Range<usize> {
    let end = observed.barriers.len().saturating_sub(usize::from(of_barriers));
    let begin = last_loop(observed).min(end);
    let calls = end - begin;
    let asked = |names| option(command, names);
    let usual = || USUALLY_COUNTED.into_iter().find(|&usual| usual <= calls);
    let skipped = || asked(SKIPPED).map(|skipped| calls.saturating_sub(skipped));
    let counted = asked(COUNTED).or_else(skipped).or_else(usual).unwrap_or(calls);
    end - counted.min(calls)..end
}

/// The number that follows one of the names in a command line: behind a space or "=", or at once behind a letter.
fn option(command: &str, names: [&str; 2]) -> Option<usize> {
    let words: Vec<&str> = command.split_whitespace().collect();
    (0..words.len()).find_map(|at| {
        let rest = names.iter().find_map(|name| words[at].strip_prefix(name))?;
        let value = if rest.is_empty() { words.get(at + 1)? } else { rest.trim_start_matches('=') };
        // IMB's -iter has further numbers behind a comma.
        value.split(',').next()?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(barriers: impl IntoIterator<Item = u32>) -> Observed {
        Observed { barriers: barriers.into_iter().map(|one| [one; 2]).collect(), ..Observed::default() }
    }

    #[test]
    fn the_last_loop_begins_behind_another_number_of_barriers() {
        // IMB: an estimate, a warm-up of three, two barriers more, and the loop.
        assert_eq!(last_loop(&observed([2, 2, 1, 1, 3, 1, 1, 1, 1])), 4);
        assert_eq!(last_loop(&observed([0, 1, 1, 1])), 0);
        assert_eq!(last_loop(&observed([1, 1, 1])), 0);
        // osu_reduce of release 7.2 has a barrier before each call and one after it.
        assert_eq!(last_loop(&observed([3, 2, 2, 2])), 0);
        assert_eq!(last_loop(&observed([])), 0);
    }

    /// IMB's loop of barriers: two to begin with, a tenth to warm up, two more, and those that it counts. Its estimate
    /// came before.
    #[test]
    fn of_barriers_imb_counts_the_last_ones_of_its_command_line() {
        let rows = |calls: usize, command: &str| by_imb(&observed(vec![0; calls]), command, true);
        assert_eq!(rows(2109, "IMB-MPI1 -npmin 2 Barrier"), 1109..2109);
        assert_eq!(rows(500, "IMB-MPI1 -iter 200 Barrier"), 300..500);
        assert_eq!(rows(500, "IMB-MPI1 -iter 200,40 Barrier"), 300..500);
        assert_eq!(rows(30, "IMB-MPI1 Barrier"), 0..30, "ended early");
        assert_eq!(rows(0, "IMB-MPI1 Barrier"), 0..0);
        // Other calls have barriers before them.
        assert_eq!(by_imb(&observed([2, 2, 1, 1, 3, 1, 1, 1, 1]), "IMB-MPI1 -iter 2 Bcast", false), 4..9);
    }

    #[test]
    fn calls_that_count_are_those_of_the_command_line_or_usual() {
        let rows = |calls: usize, command: &str| {
            let observed = observed(std::iter::once(3).chain(std::iter::repeat_n(1, calls - 1)));
            by_osu(&observed, command, false)
        };
        assert_eq!(rows(1200, "osu_allreduce"), 200..1200, "release 5.3");
        assert_eq!(rows(1100, "osu_allreduce -m 8:8"), 100..1100, "release 7.2");
        assert_eq!(rows(110, "osu_allreduce"), 10..110, "large messages");
        assert_eq!(rows(1050, "osu_allreduce -i 1000 -x 50"), 50..1050);
        assert_eq!(rows(1050, "osu_allreduce -x 950"), 950..1050, "large messages");
        assert_eq!(rows(300, "osu_allreduce --iterations=200"), 100..300);
        assert_eq!(rows(300, "osu_allreduce -i200 --warmup 100"), 100..300);
        assert_eq!(rows(40, "osu_allreduce -i 200"), 0..40, "ended early");
        assert_eq!(rows(40, "osu_allreduce -x"), 0..40);
        // The same calls twice, as osu_iallreduce makes them without and with work.
        assert_eq!(by_osu(&observed([1, 1, 1, 1, 3, 1, 1, 1]), "osu_iallreduce -i 3 -x 1", false), 5..8);
        assert_eq!(by_osu(&observed([0; 1101]), "osu_barrier", true), 100..1100);
        assert_eq!(by_osu(&observed([]), "osu_barrier", true), 0..0);
    }
}
