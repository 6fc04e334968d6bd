//! The processor's own instructions for [`crate::base::event_page`].

use crate::base::event_page::Instructions;
use crate::base::processor;

/// The processor that the thread runs on.
pub struct Processor;

impl Instructions for Processor {
    #[inline(always)]
    fn counter(&self, number: u32) -> Option<u64> {
        processor::performance_counter(number)
    }

    #[inline(always)]
    fn ticks(&self) -> u64 {
        processor::ticks()
    }
}
