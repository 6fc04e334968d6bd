//! Which line of the program makes a call: its return address, and the frames of a Python script.

pub mod call_site;
mod python;
mod unwind;
