//! Requests, from the call that starts them until the program sees that they are complete.
//!
//! Runs in calls that start, wait and test. With nothing outstanding it costs one branch; with requests outstanding it
//! locks a table of them, and allocates where the table grows or a call is for many requests. It calls no MPI function
//! but the one that the program has called, unless messages are counted: then it asks for the size of what was
//! received.

pub mod array;
pub mod completion;
pub mod few;
pub mod outstanding;
pub mod request_partners;
pub mod request_table;
