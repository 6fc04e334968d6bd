//! With whom a rank waits in calls that are not recorded, and to whom it sends.

use bytemuck::{Pod, Zeroable};

/// Values of [`PartnerEntry::partner`], of [`AwaitedMessage::partner`] and of [`super::recorded::P2P_PARTNER`].
///
/// ```
/// use mpitrace_format::layout::partner::{NONE, any, any_source, known, place};
///
/// assert_eq!((place(known(3, 12)), any_source(known(3, 12))), (Some((3, 12)), None));
/// assert_eq!((place(any(3)), any_source(any(3))), (None, Some(3)));
/// assert_eq!((place(NONE), any_source(NONE)), (None, None));
/// ```
pub mod partner {
    /// No rank: MPI_PROC_NULL, or a request that was complete when it was made.
    pub const NONE: u64 = 0;
    /// Not known.
    pub const UNKNOWN: u64 = 1;
    /// More than one, and it is not known for which of them a call waited.
    pub const SEVERAL: u64 = 2;
    /// All partners for which a table has no entry.
    pub const OTHERS: u64 = 3;

    /// The rank with this number in a communicator with this index among the rank's; of an intercommunicator in its
    /// remote group.
    pub const fn known(communicator: u32, rank: u32) -> u64 {
        (communicator as u64 + 1) << 32 | rank as u64
    }

    /// Any rank of a communicator: MPI_ANY_SOURCE. In a call that a thread is in, and of receives.
    pub const fn any(communicator: u32) -> u64 {
        known(communicator, u32::MAX)
    }

    /// The index of the communicator and the rank in it; `None`: not one rank.
    pub const fn place(partner: u64) -> Option<(u32, u32)> {
        match (partner >> 32, partner as u32) {
            (0, _) | (_, u32::MAX) => None,
            (communicator, rank) => Some((communicator as u32 - 1, rank)),
        }
    }

    /// The index of the communicator of [`any`]; `None`: another value.
    pub const fn any_source(partner: u64) -> Option<u32> {
        match (partner >> 32, partner as u32) {
            (1.., u32::MAX) => Some((partner >> 32) as u32 - 1),
            _ => None,
        }
    }
}

/// The time that a rank has spent in calls that can wait with one partner, and what it has sent to it. The bytes
/// that it has received are in the partner's own entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct PartnerEntry {
    /// See [`partner`].
    pub partner: u64,
    /// Ticks in point-to-point calls that can wait.
    pub ticks: u64,
    /// Such calls.
    pub calls: u64,
    /// Messages sent.
    pub messages: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Receives of messages of this partner that the rank has begun; of [`partner::any`] those of any rank. With
    /// [`partner::UNKNOWN`] also what makes the counts of the rank uncertain: cancelled messages and calls that failed.
    /// With [`partner::NONE`] the requests that were made less those that were found complete or freed, modulo 2^64.
    pub receives: u64,
    /// The function with which the rank has first sent it a message, a [`crate::strings`] reference, with a blank and
    /// the call site behind it where these were asked for; 0: not known.
    pub sent_by: u32,
    /// The function of the first receive, a string reference.
    pub received_by: u32,
    /// 0: of the thread with index 0, 1: of all others.
    pub threads: u32,
    /// The types of the messages, a set of classes (`mpitrace_functions::types::class`); 0: not known.
    pub sent_types: u16,
    /// The types of the receives, a set of classes as in `sent_types`; 0: not known.
    pub received_types: u16,
}

/// Partners that a half of the table of partners tells apart, beside the first entries of values that are no rank.
pub const MOST_PARTNERS: usize = 256;
/// Values of [`partner`] that are no rank.
pub const OTHER_PARTNERS: usize = partner::OTHERS as usize + 1;
/// Entries of the table of partners: one half is of the thread with index 0, the other of all others.
pub const PARTNER_ENTRIES: usize = 2 * (OTHER_PARTNERS + MOST_PARTNERS);

/// A message that a thread waits for in the call that it is in.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct AwaitedMessage {
    /// See [`partner`].
    pub partner: u64,
    /// As the program passed it: MPI_ANY_TAG is negative. With [`awaited::WINDOW`] and one rank the index of the window
    /// among the rank's communicators.
    pub tag: i32,
    /// Bits of [`awaited`].
    pub flags: u32,
}

/// Bits of [`AwaitedMessage::flags`].
pub mod awaited {
    /// A message to this rank.
    pub const RECEIVE: u32 = 1;
    /// A message of this rank.
    pub const SEND: u32 = 2;
    /// No message: another rank of a window has to come, or to give up its lock.
    pub const WINDOW: u32 = 256;
    /// More messages follow in the list.
    pub const MORE: u32 = 4;
    /// There are more than the list holds.
    pub const CUT: u32 = 8;
    /// The count of calls that [`super::super::activity`] has in its word: the entry is of that call.
    pub const CALL: u32 = super::super::activity::COUNTS;
}

/// How many messages are listed of a call that waits for several.
pub const MOST_AWAITED: usize = 5;

#[cfg(test)]
mod tests {
    use super::partner::*;

    #[test]
    fn a_partner_is_a_rank_of_a_communicator_or_none() {
        for pair in [(0, 0), (0, 7), (u32::MAX - 1, u32::MAX - 1)] {
            assert_eq!((place(known(pair.0, pair.1)), any_source(known(pair.0, pair.1))), (Some(pair), None));
        }
        for other in [NONE, UNKNOWN, SEVERAL, OTHERS, u32::MAX.into()] {
            assert_eq!((place(other), any_source(other)), (None, None));
        }
        assert_eq!((place(any(3)), any_source(any(3))), (None, Some(3)));
    }
}
