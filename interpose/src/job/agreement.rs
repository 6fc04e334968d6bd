//! The agreement of all ranks of a program in MPI_Init: in one broadcast and one reduction, whose sizes do not depend on
//! the number of ranks.

use std::os::unix::ffi::OsStrExt;

use crate::clocks::Parameters;
use crate::job::run::Run;
use crate::job::startup;
use crate::mpi::collectives::Collectives;
use crate::record::communicator::mix;
use crate::record::trace_buffer::TraceBuffer;

pub struct Agreement {
    /// The run's token, rank 0's.
    pub token: [u8; 16],
    /// Rank 0's parameters of the clocks.
    pub clocks: Parameters,
    /// True if all ranks have the same pattern for the name of the trace.
    pub same_output: bool,
    pub all_record: bool,
}

impl Agreement {
    /// All ranks come here. `None`: it has failed.
    pub fn reach(world: Collectives, run: &Run, job_key: u64, live: Option<&TraceBuffer>) -> Option<Agreement> {
        let mut token = startup::token(job_key, 1);
        let mut clocks = Parameters::new(run.settings.synchronisation, run.settings.resync_seconds).to_words();
        // Rank 0's.
        let mut said = [&token, bytemuck::bytes_of(&clocks)].concat();
        world.broadcast(&mut said)?;
        let (of_token, of_clocks) = said.split_at(token.len());
        token.copy_from_slice(of_token);
        bytemuck::bytes_of_mut(&mut clocks).copy_from_slice(of_clocks);
        let pattern: Vec<u64> =
            run.settings.output.iter().flat_map(|text| text.as_bytes()).map(|&byte| byte.into()).collect();
        let pattern = mix(&pattern)[0] as i64;
        // A number beside its complement, whose least is the complement of the most.
        let [least, complement, all_record] = world.least(&[pattern, !pattern, live.is_some().into()])?;
        Some(Agreement {
            token,
            clocks: Parameters::of_words(&clocks)?,
            same_output: least == !complement,
            all_record: all_record == 1,
        })
    }
}
