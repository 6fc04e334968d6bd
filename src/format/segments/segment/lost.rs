//! Entries of tables that a killed process took with it: where the folder of the segment had no room they lay in
//! private memory, and the file has zeros in their place.

use super::tables::Tables;
use crate::layout::*;
use crate::packed::Block;

/// Why a record cannot be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// Its operation is lost.
    Operation,
    /// The operation is there, and the name of its function or the thread is lost.
    Other,
}

impl Tables<'_> {
    /// True if the operation of this number, or what it refers to, is lost, or was never in the table, which is damage.
    pub(super) fn has_lost(&self, number: u32) -> bool {
        self.loss(number).is_some()
    }

    fn loss(&self, number: u32) -> Option<Loss> {
        let number = (number & OPERATION_MASK) as usize;
        match self.operations.get(number) {
            None => Some(Loss::Operation),
            Some(operation) => (!self.has_text(operation.function)).then_some(Loss::Other),
        }
    }

    /// True if an operation of message calls was lost.
    fn has_lost_message(&self, number: u32) -> bool {
        let number = (number & OPERATION_MASK) as usize;
        self.messages.get(number).is_none_or(|entry| !self.has_text(entry.function))
    }

    /// True if the file has the text behind a reference, or there is none.
    fn has_text(&self, reference: u32) -> bool {
        reference == 0 || crate::strings::bytes(self.strings, reference).is_some()
    }

    fn has_lost_thread(&self, thread: u32) -> bool {
        (thread & !MESSAGES) as usize >= self.threads.len()
    }

    /// Which records of a chunk of this thread can be read, by their operations; `None`: all. Those that cannot are
    /// added to `lost`.
    pub(super) fn readable(&self, operations: &[u64], thread: u32, lost: &mut LostRecords) -> Option<Vec<bool>> {
        let numbers = || operations.iter().map(|&number| number as u32);
        let is_lost = self.has_lost_thread(thread);
        if thread & MESSAGES != 0 {
            let readable: Vec<bool> = numbers().map(|number| !is_lost && !self.has_lost_message(number)).collect();
            lost.messages += readable.iter().filter(|readable| !**readable).count() as u64;
            return readable.contains(&false).then_some(readable);
        }
        let losses: Vec<Option<Loss>> =
            numbers().map(|number| self.loss(number).or(is_lost.then_some(Loss::Other))).collect();
        count(&losses, lost);
        losses.iter().any(Option::is_some).then(|| losses.iter().map(Option::is_none).collect())
    }

    /// True if the tables have entries for all that the records of a block of this process refer to.
    pub(super) fn have_all_of(&self, block: &Block<'_>) -> bool {
        let highest = block.highest_operation().map_or(usize::MAX, |highest| highest as usize);
        let is_message = block.header.thread & MESSAGES != 0;
        let known = if is_message { self.messages.len() } else { self.operations.len() };
        highest < known && ((block.header.thread & !MESSAGES) as usize) < self.threads.len()
    }

    /// True if the records of a block can be read. Those of one that cannot be used are added to `lost`.
    pub(super) fn can_use(&self, block: &Block<'_>, lost: &mut LostRecords) -> bool {
        let is_lost = self.has_lost_thread(block.header.thread);
        let operations = block.operations();
        if block.header.thread & MESSAGES != 0 {
            let known = operations.is_some_and(|all| !all.iter().any(|&number| self.has_lost_message(number)));
            lost.messages += if known && !is_lost { 0 } else { u64::from(block.header.records) };
            return known && !is_lost;
        }
        let Some(operations) = operations else {
            lost.others += u64::from(block.header.records);
            return false;
        };
        let losses: Vec<Option<Loss>> = operations.iter().map(|&number| self.loss(number)).collect();
        if !is_lost && losses.iter().all(Option::is_none) {
            return true;
        }
        count(&losses.iter().map(|loss| loss.or(Some(Loss::Other))).collect::<Vec<_>>(), lost);
        false
    }
}

fn count(losses: &[Option<Loss>], lost: &mut LostRecords) {
    let of = |what: Loss| losses.iter().filter(|loss| **loss == Some(what)).count() as u64;
    lost.without_operation += of(Loss::Operation);
    lost.others += of(Loss::Other);
}

/// Adds what was lost elsewhere.
pub(super) fn add(sum: &mut LostRecords, more: &LostRecords) {
    sum.without_operation += more.without_operation;
    sum.others += more.others;
    sum.messages += more.messages;
    sum.chunks += more.chunks;
    sum.block_files += more.block_files;
}

/// The place of a record among those of its chunk that are `readable`; `None`: it is not. Behind the last record there
/// is none that is not.
pub(super) fn place_among(readable: Option<&[bool]>, record: usize) -> Option<u64> {
    let Some(readable) = readable else { return Some(record as u64) };
    match readable.get(record) {
        Some(false) => None,
        Some(true) => Some(readable[..record].iter().filter(|readable| **readable).count() as u64),
        None => Some(record as u64),
    }
}
