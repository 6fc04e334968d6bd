//! The trace buffer's shared words, in the model checker loom: it runs two threads in every order, and lets a load see
//! each value that the memory model of C11 allows, so also what x86 never does. What comes in is a protocol of stores
//! and loads. What goes out is whether a reader can see a record that was never stored.
//!
//! [`publication`] is the preloaded library's own file (`interpose/src/record/publication.rs`), on loom's atomics.
//! [`chunk`] does with it what `interpose/src/record` does: the order of its stores is that of
//! `ThreadRef::describe`, `Stamps` and `afterwards` (a record), `TraceBuffer::draw` (a chunk that is drawn again under
//! `ring`), and `Drawn::if_current` with `Started::complete` (a request that another thread completes).

pub mod chunk;

#[allow(dead_code, reason = "also what one of its two sides needs")]
#[path = "../../../interpose/src/record/publication.rs"]
pub mod publication;

/// The atomics of [`publication`].
mod atomics {
    pub use loom::sync::atomic::{AtomicU64, Ordering, fence};
}
