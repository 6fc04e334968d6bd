//! The agreement of all ranks of a program in MPI_Init, in one meeting on one node.

use std::os::unix::ffi::OsStrExt;

use crate::base::hash::mix;
use crate::clocks::Parameters;
use crate::job::run::Run;
use crate::job::startup;
use crate::mpi::collectives::Collectives;
use crate::record::buffer::trace_buffer::TraceBuffer;

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
        let pattern: Vec<u64> =
            run.settings.output.iter().flat_map(|text| text.as_bytes()).map(|&byte| byte.into()).collect();
        let here = Statement {
            token: bytemuck::cast(startup::token(job_key, 1)),
            clocks: Parameters::new(run.settings.synchronisation, run.settings.resync_seconds).to_words(),
            pattern: mix(&pattern)[0],
            records: live.is_some().into(),
        };
        match world {
            Collectives::Memory(meeting) => Agreement::between(&meeting.gather(&here.to_words())?),
            Collectives::Messages(_) => Agreement::by_messages(world, here),
        }
    }

    /// Takes it from the words of all ranks.
    fn between(words: &[[u64; Statement::WORDS]]) -> Option<Agreement> {
        let all: Vec<Statement> = words.iter().map(Statement::of_words).collect();
        let first = all.first()?;
        Some(Agreement {
            token: bytemuck::cast(first.token),
            clocks: Parameters::of_words(&first.clocks)?,
            same_output: all.iter().all(|one| one.pattern == first.pattern),
            all_record: all.iter().all(|one| one.records == 1),
        })
    }

    /// In a broadcast and a reduction, whose sizes do not depend on the number of ranks.
    fn by_messages(world: Collectives, here: Statement) -> Option<Agreement> {
        // Rank 0's.
        let mut said = here.to_words();
        world.broadcast(bytemuck::cast_slice_mut(&mut said))?;
        let first = Statement::of_words(&said);
        let pattern = here.pattern as i64;
        // A number beside its complement, whose least is the complement of the most.
        let [least, complement, records] = world.least(&[pattern, !pattern, here.records as i64])?;
        let same_output = least == !complement;
        let agreed = Agreement::between(&[Statement { records: records as u64, ..first }.to_words()])?;
        Some(Agreement { same_output, ..agreed })
    }
}

/// The words by which a rank takes part in the agreement.
struct Statement {
    token: [u64; 2],
    clocks: [u64; Parameters::WORDS],
    /// A hash of the pattern for the name of the trace.
    pattern: u64,
    /// 1: the rank has memory for its records.
    records: u64,
}

impl Statement {
    const WORDS: usize = Parameters::WORDS + 4;

    fn to_words(&self) -> [u64; Statement::WORDS] {
        let mut words = [0; Statement::WORDS];
        words[..2].copy_from_slice(&self.token);
        words[2..2 + Parameters::WORDS].copy_from_slice(&self.clocks);
        words[2 + Parameters::WORDS..].copy_from_slice(&[self.pattern, self.records]);
        words
    }

    fn of_words(words: &[u64; Statement::WORDS]) -> Statement {
        let [token @ .., _, _, _, _, _, _, _, _, pattern, records] = *words;
        let clocks = std::array::from_fn(|index| words[token.len() + index]);
        Statement { token, clocks, pattern, records }
    }
}
