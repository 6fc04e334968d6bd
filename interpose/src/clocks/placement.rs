//! Two ranks that compare their clocks are put on two processors for the time of the comparison.
//!
//! A launcher that does not bind ranks, such as MPICH's, often has two of them start on one processor. There they hand
//! over by yielding and sleeping, 30 us each time, so that the scheduler never moves one away, and their clocks could
//! be said to differ by as much: between two processors a handover takes 0.1 us.

use mpitrace_format::layout::NO_PROCESSOR;

use crate::base::system::{self, Processors};

/// Where the calling thread may run, as it was before: restored when this is dropped.
#[derive(Default)]
pub struct Placement {
    /// Before this rank was moved; `None`: it was not.
    before: Option<Processors>,
}

impl Placement {
    /// Leaves the processor that the other rank is on, where this rank is on it too and may run elsewhere: the
    /// processor that this rank is on now. Only for the rank that has the turn: the other stays where it is meanwhile.
    pub fn leave(&mut self, other: Option<u32>) -> u32 {
        let here = system::processor();
        if here == NO_PROCESSOR || other != Some(here) {
            return here;
        }
        let allowed = self.before.clone().or_else(Processors::allowed);
        let elsewhere = allowed.as_ref().and_then(|allowed| {
            let above = allowed.numbers().find(|&number| number > here);
            above.or_else(|| allowed.numbers().find(|&number| number != here))
        });
        if let Some(elsewhere) = elsewhere
            && Processors::only(elsewhere).allow()
        {
            self.before = allowed;
        }
        system::processor()
    }
}

impl Drop for Placement {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            before.allow();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs on a thread of its own that may run on these alone.
    fn with_processors(processors: &Processors, test: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(processors.allow());
                test();
                assert_eq!(Processors::allowed().as_ref(), Some(processors), "it may run where it might before");
            });
        });
    }

    #[test]
    fn a_rank_leaves_the_processor_of_the_other_and_is_allowed_back() {
        let all = Processors::allowed().unwrap();
        with_processors(&all, || {
            for other in all.numbers() {
                let mut placement = Placement::default();
                // On the other's processor to begin with.
                assert!(Processors::only(other).allow() && all.allow());
                let own = placement.leave(Some(other));
                assert!(own != other || all.numbers().count() == 1, "{own} {other}");
            }
        });
    }

    #[test]
    fn a_rank_that_may_run_on_one_processor_or_is_alone_on_its_own_stays() {
        let all = Processors::allowed().unwrap();
        let one = all.numbers().last().unwrap();
        with_processors(&Processors::only(one), || {
            let mut placement = Placement::default();
            assert_eq!(placement.leave(Some(one)), one);
            assert_eq!(placement.leave(None), one);
            assert!(placement.before.is_none());
        });
    }
}
