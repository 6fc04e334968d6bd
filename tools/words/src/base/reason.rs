//! The reasons for which a rank was off its processor, in words, each with the next step.

use mpitrace_analysis::account::Because;

/// The predicate of the sentence: `slept`, `was preempted`. `many`: of several ranks.
pub fn was(because: Because, many: bool) -> &'static str {
    match (because, many) {
        (Because::Asleep, _) => "slept",
        (Because::Throttled, _) => "hit the processor quota",
        (Because::Preempted, false) => "was preempted",
        (Because::Preempted, true) => "were preempted",
        (_, false) => "was off its processor",
        (_, true) => "were off their processors",
    }
}

/// Why a rank is late: `slept`, `computes longer`; `None`: not known.
pub fn late(because: Option<Because>) -> Option<&'static str> {
    Some(match because? {
        Because::Computing => "computes longer",
        Because::EarlierCall => "was still in its call before",
        Because::PointToPoint => "is longer in point-to-point calls",
        Because::OneSided => "is longer in one-sided calls",
        Because::Io => "is longer in file calls",
        Because::Tracer => "is held up by the tracer",
        Because::OtherMpi => "is longer in point-to-point or other MPI calls",
        Because::OnProcessor => "is busy longer",
        off => was(off, false),
    })
}

/// The predicate of ranks that are asleep while other threads of theirs work, and what to do about it.
pub const FOR_THREADS: [&str; 2] =
    ["waited for its other threads", "give these less work, or let more of them work at a time"];

/// What to look for where a rank was late for this reason; completes "to gain it, ...".
pub fn advice(because: Because) -> &'static str {
    match because {
        Because::Asleep => "find the sleep, lock or file",
        Because::Preempted => "look for other processes, bind ranks that are not",
        Because::Throttled => "raise the quota, or run fewer threads",
        _ => "look for a sleep or for other processes",
    }
}
