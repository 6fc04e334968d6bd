//! How a record is stored and read, in the model checker loom: it runs two threads in every order, and lets a load see
//! each value that the memory model of C11 allows, so also what x86-64 never does. What comes in is a protocol of
//! stores and loads. What goes out is whether a reader can see a record that was never stored.
//!
//! The functions are those of `mpitrace_format::publication`, which the preloaded library and `watch` run: here on the
//! [`word`]s of loom. [`chunk`] has a chunk of them, and the steps around a record that the library has in files of its
//! own: a chunk that is drawn again (`TraceBuffer::draw`), and a request that another thread completes
//! (`Drawn::while_current`).

pub mod chunk;
pub mod word;
