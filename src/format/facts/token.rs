//! The token of a run, by which its ranks know each other's records.
//!
//! At first a rank has what the launcher gives all of them in common. Then they agree on one that no other run has,
//! made by rank 0. A job that is killed in between leaves ranks with the one and ranks with the other.
//!
//! ```
//! use bytemuck::Zeroable;
//! use mpitrace_format::layout::{RankHeader, state};
//! use mpitrace_format::token::{before_agreement, joins, of_one_run};
//!
//! let agreed = RankHeader { job: of_one_run(77, 1 << 60, 4711), state: state::RUNNING, ..RankHeader::zeroed() };
//! // A rank that was killed before it had agreed.
//! let starting = RankHeader { job: before_agreement(77), state: state::STARTING, ..RankHeader::zeroed() };
//! assert!(joins(&starting, &agreed) && !joins(&agreed, &starting));
//! ```

use crate::layout::{RankHeader, state};

/// The token that ranks have before they agree on one.
pub fn before_agreement(job_key: u64) -> [u8; 16] {
    bytemuck::cast([job_key, 0])
}

/// A token that no other run has, for the ranks to agree on: rank 0's, by the time, ns since 1970, and its process.
pub fn of_one_run(job_key: u64, now_ns: u64, process: u32) -> [u8; 16] {
    bytemuck::cast([now_ns, job_key ^ u64::from(process) << 32])
}

/// Ranks of one job enter MPI_Init within this time, ns: half an hour.
const START: u64 = 1_800_000_000_000;

/// True if a rank with a token of its own is one of the run that another rank is of: it has not come to agree on the
/// token, has recorded nothing, and has begun about when the other has. The launcher may call a later job the same.
pub fn joins(rank: &RankHeader, other: &RankHeader) -> bool {
    may_join(rank.job, other.job)
        && rank.state == state::STARTING
        && rank.world_size == other.world_size
        && rank.first_anchor.realtime_ns.abs_diff(other.first_anchor.realtime_ns) < START
}

/// True if the first token may be that of ranks which were to agree on the second one.
pub(crate) fn may_join(token: [u8; 16], agreed: [u8; 16]) -> bool {
    let [key, rest]: [u64; 2] = bytemuck::cast(token);
    let [_, of_agreed]: [u64; 2] = bytemuck::cast(agreed);
    rest == 0 && of_agreed != 0 && key as u32 == of_agreed as u32
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    #[test]
    fn a_rank_that_had_not_agreed_is_of_the_run_of_those_that_had() {
        let rank = |job, state, realtime_ns| {
            let mut rank = RankHeader { job, state, world_size: 4, ..RankHeader::zeroed() };
            rank.first_anchor.realtime_ns = realtime_ns;
            rank
        };
        let (key, now) = (0x1234_5678_9abc_def0, 1 << 60);
        let agreed = of_one_run(key, now, 4711);
        let other = rank(agreed, state::STARTING, now);
        let starting = rank(before_agreement(key), state::STARTING, now + 5_000_000);
        assert!(joins(&starting, &other));
        assert!(!joins(&other, &starting), "it has agreed");
        assert!(!joins(&starting, &starting) && !joins(&other, &other));
        assert!(!joins(&rank(before_agreement(key), state::RUNNING, now), &other), "a session");
        assert!(!joins(&rank(before_agreement(key + 1), state::STARTING, now), &other), "another job");
        assert!(!joins(&rank(before_agreement(key), state::STARTING, now + 2 * START), &other), "a later one");
        assert!(!joins(&RankHeader { world_size: 5, ..starting }, &other));
    }

    #[test]
    fn processes_that_begin_at_one_time_have_tokens_of_their_own() {
        for key in [0, 0x1234_5678_9abc_def0, u64::MAX] {
            assert_ne!(of_one_run(key, 1000, 1), of_one_run(key, 1000, 2), "{key:x}");
        }
    }
}
