//! The parts of the time of a rank, from the entry of MPI_Init to the exit of MPI_Finalize.

use std::ops::{AddAssign, Index, IndexMut};

use mpitrace_format::layout::wait_class;
use mpitrace_statistics::names::{Named, names};
use serde::{Serialize, Serializer};

/// A part of the time of a rank: of its thread that called MPI_Init.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankPart {
    /// On its processor outside of the calls below, by the thread's processor time. Calls that are not timed count
    /// here: those that start requests, all of point-to-point where its times were not asked for.
    Computing,
    /// Off its processor outside of these calls: something else ran there.
    Preempted,
    /// Off its processor outside of these calls: it slept.
    Asleep,
    /// Off its processor outside of these calls: the processor quota of its control group held it.
    Throttled,
    /// In collective calls: waiting for another rank.
    Waiting,
    /// In collective calls: off the processor beside the waiting, the least that it can have been.
    Interrupted,
    /// In collective calls: delayed by the tracer.
    Perturbed,
    /// In collective calls but those on files: the rest.
    Communication,
    /// In point-to-point calls that can wait.
    PointToPoint,
    /// In one-sided calls that can wait.
    OneSided,
    /// In calls on files, but for the waiting in collective ones.
    Io,
    /// In other MPI calls that can wait.
    OtherMpi,
    /// In MPI_Init, but for the waiting below.
    Init,
    /// In MPI_Init until the last rank has entered it.
    WaitingInit,
    /// In MPI_Finalize, but for the waiting below.
    Finalize,
    /// In MPI_Finalize until the last rank has entered it.
    WaitingFinalize,
    /// Since the last movement of any rank of the job, or of the ranks that a verdict names, until the rank was ended:
    /// in a call of MPI or outside.
    Hung,
    /// In the tracer, outside of all calls: its part of MPI_Init and MPI_Finalize, synchronisations, packing.
    Tracer,
    /// The rest: time off the processor for an unknown reason, and errors of the clocks. Of a trace without processor
    /// time all that lies outside of the calls. Below 0 where the calls that were measured exceed the whole.
    Other,
}

names!(RankPart {
    Computing => "computing",
    Preempted => "preempted",
    Asleep => "asleep",
    Throttled => "throttled",
    Waiting => "waiting",
    Interrupted => "interrupted",
    Perturbed => "perturbed",
    Communication => "communication",
    PointToPoint => "point_to_point",
    OneSided => "one_sided",
    Io => "io",
    OtherMpi => "other_mpi",
    Init => "init",
    WaitingInit => "waiting_init",
    Finalize => "finalize",
    WaitingFinalize => "waiting_finalize",
    Hung => "hung",
    Tracer => "tracer",
    Other => "other",
});

impl RankPart {
    /// All of them.
    pub const ALL: &'static [RankPart] = RankPart::VALUES;
    /// The parts in collective calls.
    pub const COLLECTIVES: [RankPart; 4] =
        [RankPart::Waiting, RankPart::Interrupted, RankPart::Perturbed, RankPart::Communication];
    /// The parts off the processor. While a rank waits in a call it may yield its processor, so this is the least.
    pub const OFF: [RankPart; 4] = [RankPart::Preempted, RankPart::Asleep, RankPart::Throttled, RankPart::Interrupted];
    /// The parts in MPI_Init and MPI_Finalize.
    pub const IN_INIT_AND_FINALIZE: [RankPart; 4] =
        [RankPart::Init, RankPart::WaitingInit, RankPart::Finalize, RankPart::WaitingFinalize];
    /// The parts in MPI, between MPI_Init and MPI_Finalize.
    pub const MPI: [RankPart; 8] = [
        RankPart::Waiting,
        RankPart::Interrupted,
        RankPart::Perturbed,
        RankPart::Communication,
        RankPart::PointToPoint,
        RankPart::OneSided,
        RankPart::Io,
        RankPart::OtherMpi,
    ];
}

/// The parts before the return of MPI_Init, behind the last rank's entry into MPI_Finalize, and the tracer's own.
const BESIDE: [RankPart; 4] = [RankPart::Init, RankPart::WaitingInit, RankPart::Finalize, RankPart::Tracer];

/// The parts in calls that can wait, beside collectives.
pub(super) const CALLS: [(usize, RankPart); 4] = [
    (wait_class::POINT_TO_POINT, RankPart::PointToPoint),
    (wait_class::ONE_SIDED, RankPart::OneSided),
    (wait_class::IO, RankPart::Io),
    (wait_class::OTHER_MPI, RankPart::OtherMpi),
];

/// The time of a rank, or of several, in its parts, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankParts([f64; 19]);

impl RankParts {
    /// Some of them together, ns.
    pub fn sum_of(&self, parts: &[RankPart]) -> f64 {
        parts.iter().map(|&part| self[part]).sum()
    }

    /// The time between MPI_Init and the last rank's entry into MPI_Finalize, without the tracer's own part, ns. A rank
    /// that waits for others in MPI_Finalize does so while the program still runs.
    pub fn running(&self) -> f64 {
        (self.sum() - self.sum_of(&BESIDE)).max(0.0)
    }

    /// All of them together, ns: the time of the rank.
    pub fn sum(&self) -> f64 {
        self.0.iter().sum()
    }
}

impl Index<RankPart> for RankParts {
    type Output = f64;

    fn index(&self, part: RankPart) -> &f64 {
        &self.0[part as usize]
    }
}

impl IndexMut<RankPart> for RankParts {
    fn index_mut(&mut self, part: RankPart) -> &mut f64 {
        &mut self.0[part as usize]
    }
}

impl AddAssign for RankParts {
    fn add_assign(&mut self, other: RankParts) {
        self.0.iter_mut().zip(other.0).for_each(|(one, other)| *one += other);
    }
}

/// By their names, in seconds.
impl Serialize for RankParts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(RankPart::ALL.iter().map(|&part| (part.name(), self[part] / 1e9)))
    }
}
