//! An entry of the table of partners, as threads change it.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use mpitrace_format::layout::PartnerEntry;

#[repr(C)]
#[derive(Default)]
pub struct SharedEntry {
    pub partner: AtomicU64,
    pub ticks: AtomicU64,
    pub calls: AtomicU64,
    pub messages: AtomicU64,
    pub bytes: AtomicU64,
    pub receives: AtomicU64,
    pub sent_by: AtomicU32,
    pub received_by: AtomicU32,
    pub threads: AtomicU32,
    pub sent_types: AtomicU16,
    pub received_types: AtomicU16,
}

const _: () = assert!(size_of::<SharedEntry>() == size_of::<PartnerEntry>());

impl SharedEntry {
    /// A message of so many bytes was sent, by the thread that alone changes the entry.
    #[inline(always)]
    pub fn sent(&self, bytes: u64) {
        self.messages.store(self.messages.load(Relaxed) + 1, Relaxed);
        self.bytes.store(self.bytes.load(Relaxed).wrapping_add(bytes), Relaxed);
    }
}
