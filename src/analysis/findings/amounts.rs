//! Collectives with an amount for each rank in which the amounts are far from equal.

use std::collections::BTreeMap;

use mpitrace_format::layout::{OPERATION_MASK, UNKNOWN_BYTES};
use mpitrace_functions::{Function, Pattern, Size};
use mpitrace_trace::operations::{NO_RECORD, Operation};
use mpitrace_trace::reader::Part;
use serde::Serialize;

use super::{Finding, Found, Known, LEAST};
use crate::account::{Before, Loss, LossKind, alone};
use crate::replay::Gain;

/// In so many calls at least: what one call passes may be the input of the program.
const CALLS: usize = 5;
/// The largest amount in a call is so many times the mean one.
const UNEQUAL: f64 = 2.0;

/// Calls in which a rank sends far more than the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UnequalAmounts {
    /// The calls, of all sizes.
    pub calls: usize,
    /// The largest amount that a rank sends in a call over the mean of the ranks, in the mean of the calls.
    pub times_the_mean: f64,
    /// The mean of what a rank sends in a call, bytes.
    pub mean_bytes: f64,
    /// The time that the calls take a rank without the waiting for late ranks, s.
    pub calls_s: f64,
}

/// The calls of a function on a communicator, of all sizes.
#[derive(Default)]
struct Calls {
    /// The operation with most of the time, and its time, ns.
    operation: (usize, f64),
    calls: usize,
    /// Sums over the calls of the largest and of the mean amount.
    largest: f64,
    mean: f64,
    /// By part: what it sent in the calls in which it sent most.
    most_of: BTreeMap<usize, f64>,
    /// The time beside waiting of all ranks, ns, and the ranks.
    all_ns: f64,
    ranks: usize,
    unknown: bool,
}

pub(super) fn unequal(run: Known, job_ns: f64) -> Vec<Finding> {
    let account = run.account;
    let mut of_function: BTreeMap<(&str, usize), Calls> = BTreeMap::new();
    for (number, operation) in run.operations.operations.iter().enumerate() {
        let key = &operation.key;
        if key.is_region || operation.sampled.is_some() || !Function::named(&key.function).is_some_and(is_meant) {
            continue;
        }
        let calls = of_function.entry((&key.function, key.communicator)).or_default();
        let ns = account.operations[number].sum().communication;
        calls.all_ns += ns;
        calls.ranks = calls.ranks.max(operation.parts.len());
        if ns >= calls.operation.1 {
            calls.operation = (number, ns);
        }
        calls.add(&run.trace.parts, operation);
    }
    of_function.into_values().filter_map(|calls| calls.finding(run, job_ns)).collect()
}

/// True if the amount that a rank passes is all that it sends, and is known of each rank. In other functions the root
/// has the sum of all, and takes its time, or the waiting is not known.
fn is_meant(function: &'static Function) -> bool {
    let is_sent = matches!(function.size, Size::Contributed | Size::Sum) && function.reduction.is_none();
    is_sent && function.pattern == Pattern::AllToAll && !function.is_on_file
}

impl Calls {
    fn add(&mut self, parts: &[Part], operation: &Operation) {
        for row in operation.complete_rows() {
            let records = operation.records(row);
            let bytes = operation.parts.iter().zip(records.iter()).map(|(&part, record)| {
                if record == NO_RECORD {
                    return None;
                }
                let number = parts[part].operation_of(record as usize) & OPERATION_MASK;
                let bytes = parts[part].operations()[number as usize].bytes;
                (bytes != UNKNOWN_BYTES).then_some((part, bytes as f64))
            });
            let Some(bytes) = bytes.collect::<Option<Vec<(usize, f64)>>>() else {
                self.unknown = true;
                continue;
            };
            let sum: f64 = bytes.iter().map(|(_, bytes)| bytes).sum();
            let Some(&(part, most)) = bytes.iter().max_by(|one, other| one.1.total_cmp(&other.1)) else { continue };
            self.calls += 1;
            self.largest += most;
            self.mean += sum / bytes.len() as f64;
            *self.most_of.entry(part).or_default() += most;
        }
    }

    fn finding(self, run: Known, job_ns: f64) -> Option<Finding> {
        let ns = self.all_ns / self.ranks.max(1) as f64;
        let times = if self.mean > 0.0 { self.largest / self.mean } else { 0.0 };
        if self.unknown || self.calls < CALLS || times < UNEQUAL || ns < LEAST * job_ns {
            return None;
        }
        let largest: Vec<f64> = self.most_of.values().copied().collect();
        let part = alone(&largest).and_then(|at| self.most_of.keys().nth(at));
        let rank = part.map(|&part| run.trace.parts[part].rank());
        // Where the largest amount makes the time, it is as much shorter as that is.
        let most = Some(ns * (1.0 - 1.0 / times) / 1e9);
        let found = UnequalAmounts {
            calls: self.calls,
            times_the_mean: times,
            mean_bytes: self.mean / self.calls as f64,
            calls_s: ns / 1e9,
        };
        Some(Finding {
            loss: Loss {
                kind: LossKind::UnequalAmounts,
                rank,
                operation: Some(self.operation.0),
                ns: self.all_ns,
                repetitions: self.calls,
                ..Loss::default()
            },
            gain: Gain {
                least: Some(0.0),
                most,
                unknown: Some("the time of a call with equal amounts is not known"),
                ..Gain::default()
            },
            found: Found::UnequalAmounts(found),
            at: places(run, self.operation.0),
            between: Vec::new(),
        })
    }
}

/// The times in the calls of an operation.
fn places(run: Known, number: usize) -> Vec<Before> {
    let operation = &run.operations.operations[number];
    let rows = operation.complete_rows().take(super::MOST_PLACES / operation.parts.len().max(1));
    let of_row = |row: usize| {
        let records = operation.records(row);
        let of = |(&part, record): (&usize, u32)| {
            let (from, until) = run.trace.parts[part].times_of(record as usize);
            Before { part, from, until, record: None }
        };
        operation.parts.iter().zip(records.iter()).map(of).collect::<Vec<_>>()
    };
    rows.flat_map(of_row).collect()
}
