//! What was lost, by cause. Losses do not overlap: each is a share of another part of the account.

use serde::{Serialize, Serializer};

use super::late::Late;
use super::{Account, OperationAccount};
use crate::names::names;

/// Time that was lost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// What lost it.
    pub kind: Kind,
    /// The world rank that caused it, or to which it happened; `None`: no single one.
    pub rank: Option<u32>,
    /// Why the rank was late, or off its processor, where that is known.
    pub because: Option<Because>,
    /// The operation's number.
    pub operation: usize,
    /// All ranks together, ns. Outputs state it in seconds.
    #[serde(skip)]
    pub ns: f64,
    /// Repetitions in which it happened.
    pub repetitions: usize,
}

/// What loses time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Others wait for a rank that comes late.
    LateRank,
    /// A rank is off its processor in a call.
    Interrupted,
    /// The first repetitions communicate for longer than the good ones.
    Warmup,
    /// Outliers communicate for longer than the good ones.
    Outliers,
    /// The tracer delays a call.
    Tracer,
}

/// Why a rank is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// It was on its processor, and computed or was in MPI calls that are not recorded.
    OnProcessor,
    /// It was off its processor: something else ran there.
    Preempted,
    /// It was off its processor: it slept.
    Asleep,
    /// It was off its processor: the quota of its control group held it.
    Throttled,
    /// It was off its processor, for a reason that is not known.
    OffProcessor,
    /// It was longer than the others in point-to-point and other MPI calls that are not recorded.
    OtherMpi,
    /// It left its recorded call before later than the others left theirs, and was on its processor.
    EarlierCall,
    /// It was on its processor, and in none of these calls.
    Computing,
}

names!(Kind {
    LateRank => "late-rank",
    Interrupted => "interrupted",
    Warmup => "warmup",
    Outliers => "outliers",
    Tracer => "tracer",
});

impl Because {
    /// Its name in outputs; `None`: the reason is not known.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Because::OnProcessor | Because::OffProcessor => None,
            Because::Preempted => Some("preempted"),
            Because::Asleep => Some("asleep"),
            Because::Throttled => Some("throttled"),
            Because::OtherMpi => Some("other_mpi"),
            Because::EarlierCall => Some("earlier_call"),
            Because::Computing => Some("computing"),
        }
    }

    /// True: the rank was off its processor.
    pub fn is_off(self) -> bool {
        matches!(self, Because::Preempted | Because::Asleep | Because::Throttled | Because::OffProcessor)
    }
}

impl Serialize for Because {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name().serialize(serializer)
    }
}

/// A rank is the one that others wait for, or the one to which something happens, if it has this share of the time.
pub const ALONE: f64 = 2.0 / 3.0;

/// The index of the one that has [`ALONE`] of all.
pub fn alone(times: &[f64]) -> Option<usize> {
    let all: f64 = times.iter().sum();
    times.iter().position(|&own| own > 0.0 && own >= ALONE * all)
}

/// `in_turns`: where no rank of an operation is alone late, one loss is of all ranks.
pub(super) fn of(account: &Account, in_turns: bool) -> Vec<Loss> {
    let mut losses = Vec::new();
    for (operation, of) in account.operations.iter().enumerate() {
        let mut add = |kind, rank, because, ns, repetitions| {
            losses.push(Loss { kind, rank, because, operation, ns, repetitions });
        };
        match together(of).filter(|_| in_turns) {
            Some(late) => add(Kind::LateRank, None, late.because(), late.waiting_ns, late.repetitions),
            None => {
                for (&(rank, _), late) in of.ranks.iter().zip(&of.late) {
                    let mut late_by = |because, ns| add(Kind::LateRank, Some(rank), because, ns, late.repetitions);
                    late_by(Some(Because::OnProcessor), late.on_processor_ns);
                    late.interrupted_by.reasons().into_iter().for_each(|(because, ns)| late_by(Some(because), ns));
                    late_by(Some(Because::OtherMpi), late.other_mpi_ns);
                    late_by(Some(Because::EarlierCall), late.earlier_call_ns);
                    late_by(Some(Because::Computing), late.computing_ns);
                    late_by(None, late.unknown_ns);
                }
            }
        }
        for &(rank, parts) in &of.ranks {
            for (because, ns) in parts.interrupted_by.reasons() {
                add(Kind::Interrupted, Some(rank), Some(because), ns, of.repetitions);
            }
        }
        add(Kind::Warmup, None, None, of.warmup.ns, of.warmup.repetitions);
        add(Kind::Outliers, None, None, of.outliers.ns, of.outliers.repetitions);
        add(Kind::Tracer, None, None, of.sum().perturbed, of.repetitions);
    }
    losses.retain(|loss| loss.ns > 0.0);
    losses.sort_by(|one, other| other.ns.total_cmp(&one.ns));
    losses
}

/// All waiting in an operation whose ranks are late in turns; `None`: one rank is late.
fn together(of: &OperationAccount) -> Option<Late> {
    let waiting: Vec<f64> = of.late.iter().map(|late| late.waiting_ns).collect();
    if alone(&waiting).is_some() {
        return None;
    }
    let mut all = Late::default();
    of.late.iter().for_each(|&late| all += late);
    Some(Late { repetitions: all.repetitions.min(of.repetitions), ..all })
}
