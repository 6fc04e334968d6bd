//! Why a rank was off its processor, in words, and what to do then.

use mpitrace::account::Because;

/// What the rank did, or what happened to it: `slept`, `was preempted`. `many`: to several ranks.
pub fn was(because: Because, many: bool) -> &'static str {
    match (because, many) {
        (Because::Asleep, _) => "slept (usleep, a lock, I/O, a stop signal)",
        (Because::Preempted, false) => "was preempted",
        (Because::Preempted, true) => "were preempted",
        (Because::Throttled, false) => "was held by the processor quota of its control group",
        (Because::Throttled, true) => "were held by the processor quota of their control group",
        (_, false) => "was off its processor",
        (_, true) => "were off their processors",
    }
}

/// What to do.
pub fn advice(because: Because) -> &'static str {
    match because {
        Because::Asleep => "look for the sleep, the lock or the file",
        Because::Preempted => "look for other processes there, bind the ranks",
        Because::Throttled => "raise the quota, or run fewer threads",
        _ => "look for a sleep, or for other processes there",
    }
}
