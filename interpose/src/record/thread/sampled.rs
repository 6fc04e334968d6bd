//! A call that has returned, in a sample: its record stays if its level is the buffer's or higher.

use mpitrace_format::layout::{
    CommunicatorEntry, DURATION_FROM, INTERRUPTED, INTERRUPTED_BEFORE, LONG, NOT_RETURNED, OperationEntry, level,
};
use mpitrace_format::publication::StoredRecord;

use crate::base::entry::Entry;
use crate::record::thread::state::{ThreadRef, attention};

impl ThreadRef {
    /// True if the record of a call that begins is to stay: it has this number on its communicator, that of its
    /// position or, of a region, of its repetition. All that is not looked at when it has returned is looked at so.
    pub fn is_to_stay(self, communicator: Entry<CommunicatorEntry>, number: u64) -> bool {
        self.attention() & attention::IN_SAMPLE == 0
            || self.buffer().is_none_or(|buffer| level(communicator.key(), number as u32) >= buffer.sample_level())
    }

    /// A call on this communicator that has returned well, the thread's last record: in a sample where it does not stay
    /// it is counted, and its place is the next one's.
    #[inline(always)]
    pub fn settle(self, operation: Entry<OperationEntry>, communicator: Entry<CommunicatorEntry>) {
        if self.attention() & attention::IN_SAMPLE != 0 {
            self.settle_in_sample(operation, communicator);
        }
    }

    #[inline(never)]
    fn settle_in_sample(self, operation: Entry<OperationEntry>, communicator: Entry<CommunicatorEntry>) {
        let record = self.last_record();
        let Some(buffer) = self.buffer() else { return };
        let place = self.place(record);
        if level(communicator.key(), place.position()) >= buffer.sample_level() {
            return;
        }
        let duration = place.duration();
        let ticks = match duration {
            LONG => buffer.while_none_is_drawn(|| buffer.exit_of(place.number())).map(|exit| exit - place.enter()),
            NOT_RETURNED => None,
            stored => Some(u64::from(stored - DURATION_FROM)),
        };
        if let Some(ticks) = ticks {
            buffer.count_unkept(operation, ticks, true);
            self.times().set_last(place.enter().wrapping_add(ticks), 0);
        }
        place.take_back();
        place.clear_on_demand(self.extended());
        if duration == LONG || place.is_marked(INTERRUPTED | INTERRUPTED_BEFORE) {
            buffer.while_none_is_drawn(|| buffer.retain(|record| record != place.number()));
        }
        self.go_back_to(record);
    }
}
