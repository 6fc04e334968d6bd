//! How often the job is looked at, and how much of the processors that takes.

use std::time::Duration;

/// Between two looks.
pub const INTERVAL: Duration = Duration::from_secs(1);
/// The ranks go first where there are fewer processors than processes that are ready.
const NICENESS: i32 = 10;
/// How long the first look of the other nodes is waited for.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Lets the ranks go first: a look may wait.
pub fn give_way() {
    // SAFETY: setpriority changes the niceness of this process alone, to a higher one, which is always permitted.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
}
