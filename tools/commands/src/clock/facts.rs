//! The results of `clock`, as the keys of its JSON.

use mpitrace_analysis::causality::{Causality, Violation};
use mpitrace_format::layout::RankHeader;
use mpitrace_statistics::median;
use mpitrace_synchronise::Method;
use mpitrace_trace::clock::{Clock, Truth};
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::{Part, Trace};
use serde::Serialize;

use super::domain::{self, Domain, Step};

/// Entries and exits whose errors the median is of, at most; of more every so many.
const LOOKED_AT: usize = 1 << 20;

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
    pub error_ns: ErrorFacts,
    pub causality: Causality,
    /// Where the order is broken furthest, by the plain times.
    pub worst_violation: Option<Violation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<Truth>,
    pub steps: Vec<Step>,
}

/// The 95 % errors over every entry and exit kept; `None` where the method states none.
#[derive(Debug, Default, Serialize)]
pub struct ErrorFacts {
    pub max: Option<f64>,
    pub median: Option<f64>,
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
            error_ns: ErrorFacts::new(trace, clock),
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

impl ErrorFacts {
    fn new(trace: &Trace, clock: &Clock) -> ErrorFacts {
        if clock.curves.iter().any(|curve| !curve.states_error) {
            return ErrorFacts::default();
        }
        let records: usize = trace.parts.iter().map(Part::records).sum();
        let step = (2 * records).div_ceil(LOOKED_AT).max(1);
        let mut max = None;
        let mut errors = Vec::new();
        // The reference clock is right by definition: of one rank's nothing is left open, and a median with as many
        // zeros says nothing of the others.
        let certain = clock.domains.len() > 1 && clock.domains[0].len() == 1;
        for (index, part) in trace.parts.iter().enumerate().skip(certain.into()) {
            let own = clock.of_part(index);
            // The exit of a call that did not return is 0.
            let ticks = part.all_times().flat_map(|(enter, exit)| [enter, exit]).filter(|&tick| tick != 0);
            for (number, error) in ticks.filter_map(|tick| own.error_ns(tick)).enumerate() {
                max = Some(error.max(max.unwrap_or(error)));
                errors.extend((number % step == 0).then_some(error));
            }
        }
        ErrorFacts { max, median: median(&mut errors) }
    }
}
