//! The results of `clock`, as the keys of its JSON.

use mpitrace_analysis::causality::{Causality, Violation};
use mpitrace_format::layout::RankHeader;
use mpitrace_synchronise::Method;
use mpitrace_trace::clock::{Clock, Errors, Truth};
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;
use serde::Serialize;

use super::domain::{self, Domain, Step};

/// All of it. Lists that belong to the domains are in the same order.
#[derive(Debug, Serialize)]
pub struct Facts {
    #[serde(serialize_with = "mpitrace_show::output::method_name")]
    pub method: Method,
    pub domains: Vec<Vec<u32>>,
    /// By how much each clock was ahead of the first one at the first synchronisation.
    pub offset_ns: Vec<f64>,
    /// How much faster than the first one each clock ran over the run, steps left out.
    pub drift_ppm: Vec<f64>,
    /// How far the clocks of a domain's ranks can be apart without its having shown; `None`: not tested.
    pub tested_ns: Vec<Option<f64>>,
    pub sync_ns: f64,
    pub synchronisations: usize,
    /// The limits of the hard bounds; `None` where the method states none.
    pub max_ppm: Option<f32>,
    pub wander_ppb: Option<f32>,
    pub error_ns: Errors,
    /// The largest step of a clock that would look like drift; `None`: there are more synchronisations than two.
    pub unseen_step_ns: Option<f64>,
    pub causality: Causality,
    /// Where the order is broken furthest, by the plain times.
    pub worst_violation: Option<Violation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<Truth>,
    pub steps: Vec<Step>,
}

impl Facts {
    pub fn new(trace: &Trace, clock: &Clock, operations: &Operations) -> Facts {
        let causality = Causality::new(trace, clock, operations);
        let domains = domain::all(trace, clock);
        let reference = domains.first();
        // A method that states no bounds has no use for the limits that bounds stand on.
        let states_bounds = clock.curves.iter().all(|curve| curve.states_error);
        let limit = |value: fn(&RankHeader) -> f32| {
            reference.map(|domain| value(domain.part.info())).filter(|&value| states_bounds && value > 0.0)
        };
        Facts {
            method: clock.method,
            domains: clock.domains.clone(),
            offset_ns: domains.iter().map(Domain::offset_ns).collect(),
            drift_ppm: domains.iter().map(|domain| reference.map_or(0.0, |first| domain.drift_ppm(first))).collect(),
            tested_ns: domains.iter().map(Domain::tested_ns).collect(),
            sync_ns: clock.sync_ns,
            synchronisations: reference.map_or(0, |domain| domain.part.syncs().len()),
            max_ppm: limit(|info| info.max_ppm),
            wander_ppb: limit(|info| info.wander_ppb),
            error_ns: Errors::new(trace, clock),
            unseen_step_ns: clock.unseen_step_ns(),
            worst_violation: causality.worst.clone(),
            causality,
            truth: Truth::new(trace, clock),
            steps: domains.iter().flat_map(Domain::steps).collect(),
        }
    }

    /// True if the global time can be relied on within its errors.
    pub fn is_good(&self) -> bool {
        self.causality.violated == 0 && self.steps.is_empty()
    }
}
