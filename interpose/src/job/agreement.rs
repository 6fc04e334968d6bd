//! The agreement of all ranks of a program in MPI_Init: in one reduction, whose size does not depend on the number
//! of ranks.

use std::os::unix::ffi::OsStrExt;

use crate::clocks::Parameters;
use crate::job::run::Run;
use crate::job::startup;
use crate::mpi::collectives::Collectives;
use crate::record::communicator::mix;
use crate::record::trace_buffer::TraceBuffer;

/// Values that hold for all ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// The run's token, rank 0's.
    pub token: [u8; 16],
    /// Rank 0's parameters of the clocks.
    pub clocks: Parameters,
    /// True if all ranks have the same pattern for the name of the trace.
    pub same_output: bool,
    /// True if each rank has memory for its records.
    pub all_record: bool,
}

/// Words of rank 0 for all: the token and the parameters.
const OF_RANK_0: usize = 2 + Parameters::WORDS;
/// Words of each rank about itself.
const OF_EACH: usize = 3;

impl Agreement {
    /// All ranks come here. `None`: it has failed.
    pub fn reach(world: Collectives, run: &Run, job_key: u64, live: Option<&TraceBuffer>) -> Option<Agreement> {
        let here = Agreement {
            token: startup::token(job_key, 1),
            clocks: Parameters::new(run.settings.synchronisation, run.settings.resync_seconds),
            same_output: true,
            all_record: live.is_some(),
        };
        let pattern: Vec<u64> =
            run.settings.output.iter().flat_map(|text| text.as_bytes()).map(|&byte| byte.into()).collect();
        Agreement::of_least(&world.least(&here.said_by(run.rank, mix(&pattern)[0] as i64))?)
    }

    /// The words of a rank. The least of all ranks' words says it all: rank 0's words beside the largest there are,
    /// and a number beside its complement, whose least is the complement of the most.
    fn said_by(&self, rank: u32, pattern: i64) -> [i64; OF_RANK_0 + OF_EACH] {
        let mut words = [i64::MAX; OF_RANK_0 + OF_EACH];
        let (of_rank_0, of_each) = words.split_at_mut(OF_RANK_0);
        if rank == 0 {
            let token: [u64; 2] = bytemuck::cast(self.token);
            let said = token.into_iter().chain(self.clocks.to_words());
            of_rank_0.iter_mut().zip(said).for_each(|(word, said)| *word = said as i64);
        }
        of_each.copy_from_slice(&[pattern, !pattern, self.all_record.into()]);
        words
    }

    fn of_least(words: &[i64; OF_RANK_0 + OF_EACH]) -> Option<Agreement> {
        let words = words.map(|word| word as u64);
        let (token, rest) = words.split_first_chunk::<2>()?;
        let (clocks, rest) = rest.split_first_chunk::<{ Parameters::WORDS }>()?;
        let [least, complement, all_record] = rest.first_chunk::<OF_EACH>()?;
        Some(Agreement {
            token: bytemuck::cast(*token),
            clocks: Parameters::of_words(clocks)?,
            same_output: *least == !complement,
            all_record: *all_record == 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_synchronise::{Method, Synchronisation};

    fn of_rank(rank: u32) -> Agreement {
        let clocks = Parameters {
            how: Synchronisation { max_ppm: 100.0 + rank as f32, ..Synchronisation::new(Method::Joint) },
            resync_seconds: f64::from(rank) - 1.0,
            epoch: u64::MAX - 5 + u64::from(rank),
            hz: 2.5e9,
        };
        Agreement { token: [0xf0 + rank as u8; 16], clocks, same_output: true, all_record: true }
    }

    /// The result of the reduction over these ranks, each with a pattern.
    fn agreed(ranks: &[(Agreement, i64)]) -> Option<Agreement> {
        let said = |(rank, (said, pattern)): (u32, &(Agreement, i64))| said.said_by(rank, *pattern);
        let least = |a: [i64; 13], b: [i64; 13]| std::array::from_fn(|place| a[place].min(b[place]));
        Agreement::of_least(&(0..).zip(ranks).map(said).reduce(least)?)
    }

    #[test]
    fn all_ranks_take_what_rank_0_says() {
        let found = agreed(&[(of_rank(0), -7), (of_rank(1), -7), (of_rank(2), -7)]);
        assert_eq!(found, Some(of_rank(0)), "negative numbers and large ones too");
    }

    #[test]
    fn one_rank_that_differs_is_seen() {
        for patterns in [[3, 3, 4], [4, 3, 3], [i64::MAX, i64::MIN, 0]] {
            let found = agreed(&patterns.map(|pattern| (of_rank(0), pattern))).unwrap();
            assert!(!found.same_output && found.all_record);
        }
        let without = Agreement { all_record: false, ..of_rank(1) };
        let found = agreed(&[(of_rank(0), i64::MIN), (without, i64::MIN)]).unwrap();
        assert!(found.same_output && !found.all_record);
    }
}
