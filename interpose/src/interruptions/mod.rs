//! Interruptions: whether a thread was off its processor in a call or between two, for how long, and for which reason.

pub mod quota;
pub mod watch;
