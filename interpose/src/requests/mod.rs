//! Requests from where a call starts them to where the program finds them complete.
//!
//! Runs on the way of calls that start, wait and test. With nothing outstanding it costs one branch; with requests
//! outstanding it locks a table of them and may allocate. It calls no MPI function but the one that the program has
//! called.

pub mod claimed_request;
pub mod completion;
pub mod outstanding;
pub mod p2p_requests;
