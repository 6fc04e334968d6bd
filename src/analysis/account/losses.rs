//! What was lost, by cause. Losses do not overlap: each is a share of another part of the account.

use super::Account;

/// Time that was lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// What lost it.
    pub kind: Kind,
    /// The world rank that caused it, or to which it happened; `None`: no single one.
    pub rank: Option<u32>,
    /// Why the rank was late, where that is known.
    pub because: Option<Because>,
    /// The operation's number.
    pub operation: usize,
    /// All ranks together, ns.
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
    /// It was off its processor.
    Interrupted,
    /// It was longer than the others in point-to-point and other MPI calls that are not recorded.
    OtherMpi,
    /// It left its recorded call before later than the others left theirs, and was on its processor.
    EarlierCall,
    /// It was on its processor, and in none of these calls.
    Computing,
}

impl Kind {
    /// Its name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Kind::LateRank => "late-rank",
            Kind::Interrupted => "interrupted",
            Kind::Warmup => "warmup",
            Kind::Outliers => "outliers",
            Kind::Tracer => "tracer",
        }
    }
}

pub(super) fn of(account: &Account) -> Vec<Loss> {
    let mut losses = Vec::new();
    for (operation, of) in account.operations.iter().enumerate() {
        let mut add = |kind, rank, because, ns, repetitions| {
            losses.push(Loss { kind, rank, because, operation, ns, repetitions });
        };
        for (&(rank, parts), late) in of.ranks.iter().zip(&of.late) {
            let some = late.repetitions;
            add(Kind::LateRank, Some(rank), Some(Because::OnProcessor), late.on_processor_ns, some);
            add(Kind::LateRank, Some(rank), Some(Because::Interrupted), late.interrupted_ns, some);
            add(Kind::LateRank, Some(rank), Some(Because::OtherMpi), late.other_mpi_ns, some);
            add(Kind::LateRank, Some(rank), Some(Because::EarlierCall), late.earlier_call_ns, some);
            add(Kind::LateRank, Some(rank), Some(Because::Computing), late.computing_ns, some);
            add(Kind::LateRank, Some(rank), None, late.unknown_ns, some);
            add(Kind::Interrupted, Some(rank), None, parts.interrupted, of.repetitions);
        }
        add(Kind::Warmup, None, None, of.warmup.ns, of.warmup.repetitions);
        add(Kind::Outliers, None, None, of.outliers.ns, of.outliers.repetitions);
        add(Kind::Tracer, None, None, of.sum().perturbed, of.repetitions);
    }
    losses.retain(|loss| loss.ns > 0.0);
    losses.sort_by(|one, other| other.ns.total_cmp(&one.ns));
    losses
}
