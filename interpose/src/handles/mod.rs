//! Handles of the program and what is known behind them, without asking MPI: the operation of a call that a thread made
//! lately, data types, communicators, and until when that is good.

pub mod call;
pub mod call_cache;
pub mod communicator;
pub mod generation;
pub mod type_table;
