//! What makes two calls the same operation: function, communicator, message size, data type, root, reduction and place
//! in the program.
//!
//! In a recorded call the answer comes from the thread's cache, without a lock. What is not in there is looked up once:
//! that locks, allocates and makes local MPI calls, which never wait for another rank.

pub mod bounds;
pub mod call_cache;
pub mod call_site;
pub mod communicator;
pub mod communicators;
pub mod datatype;
pub mod files;
pub mod handle;
pub mod members;
pub mod message_size;
pub mod operations;
pub mod registry;
pub mod windows;
