//! Operations: two calls belong to one by function, communicator, message size, data type, root, reduction and place
//! in the program.
//!
//! In a recorded call the answer comes from the thread's cache, without a lock. What is not in there is looked up once:
//! that locks, allocates and makes local MPI calls, which never wait for another rank.

mod amounts;
pub mod bounds;
pub mod communicator_table;
pub mod datatype;
pub mod handle;
pub mod members;
pub mod message_size;
pub mod operations;
pub mod registry;
mod signature;
