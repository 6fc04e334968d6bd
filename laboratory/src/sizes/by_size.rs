//! Operations that differ in their size alone, and the good run times of each.

use std::collections::BTreeMap;

use anyhow::Result;
use mpitrace_functions::Form;
use mpitrace_source::Source;
use mpitrace_source::numbers::selection::{Selection, Wanted};
use mpitrace_statistics::categories::Rule;
use mpitrace_trace::run_time::RunTime;
use mpitrace_words::description::Description;
use serde::Serialize;

/// The arguments that operations have in common which differ in their size alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Alike {
    /// The function's plain C name.
    pub function: String,
    /// The communicator's number in the trace.
    pub communicator_id: Option<usize>,
    /// Its name.
    pub communicator: String,
    /// How many ranks it has.
    pub ranks: u32,
    /// The root, where there is one.
    pub root: Option<i32>,
    /// The data type.
    pub datatype: Option<String>,
    /// The reduction operator.
    pub reduction: Option<String>,
}

impl Alike {
    fn new(operation: &Description) -> Alike {
        Alike {
            function: operation.function.clone(),
            communicator_id: operation.communicator_id,
            communicator: operation.communicator.clone(),
            ranks: operation.ranks,
            root: operation.root,
            datatype: operation.datatype.clone(),
            reduction: operation.reduction.clone(),
        }
    }
}

/// The good run times by size (bytes), ns; those of operations that differ in where they are called one after the
/// other.
pub type GoodTimes = BTreeMap<u64, Vec<f64>>;

/// The blocking collective operations of more than one rank whose size is known, by what they have in common. Sizes
/// without a good repetition are left out.
///
/// # Errors
/// Run times that need time stamps where there are none; run times that the rule cannot sort.
pub fn operations(source: &Source, time: RunTime, rule: Rule) -> Result<BTreeMap<Alike, GoodTimes>> {
    let mut found: BTreeMap<Alike, GoodTimes> = BTreeMap::new();
    for (number, operation) in source.operations().iter().enumerate() {
        let is_region = source.traced().is_some_and(|traced| traced.run.operations.operations[number].key.is_region);
        let Some(bytes) = operation.bytes.filter(|_| !is_region && operation.ranks > 1) else { continue };
        if Form::of_name(&operation.function).has_request() {
            continue;
        }
        let good = Selection::new(source, number, time, rule, Wanted::Good)?.run_time_ns;
        if !good.is_empty() {
            found.entry(Alike::new(operation)).or_default().entry(bytes).or_default().extend(good);
        }
    }
    Ok(found)
}
