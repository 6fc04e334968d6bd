//! Groups of the rows of a dataset, as other engines divide it: of one operation of one run, or of one rank in it.
//!
//! Columns come as bytes, in the byte order of the machine: so they pass from Arrow through Python in one piece.

use anyhow::{Context, Result, ensure};
use mpitrace::account::{ExportedCall, of_exported};
use mpitrace::categories::Category;
use serde::Serialize;

use super::rule;

/// The categories of these run times (f64) of the repetitions with these numbers (u64, ascending): for each the index in
/// [`Category::ALL`].
///
/// # Errors
/// No such rule; not as many run times as repetitions, or repetitions in another order; a run time that is not finite,
/// where the rule needs all of them.
pub fn categories(repetition: &[u8], run_time_ns: &[u8], method: &str) -> Result<Vec<u8>> {
    let repetition: Vec<u64> = column("repetition", repetition, u64::from_ne_bytes)?;
    let run_time_ns = numbers("run_time_ns", run_time_ns)?;
    ensure!(
        run_time_ns.len() == repetition.len(),
        "{} run times of {} repetitions",
        run_time_ns.len(),
        repetition.len()
    );
    ensure!(repetition.is_sorted_by(|one, next| one < next), "the repetitions are not in ascending order");
    ensure!(!run_time_ns.iter().any(|time| time.is_nan()), "a run time is missing");
    let found = rule(method)?.apply(&repetition, &run_time_ns)?;
    let index = |category: &Category| Category::ALL.iter().position(|other| other == category).unwrap_or_default();
    Ok(found.categories.category.iter().map(|category| index(category) as u8).collect())
}

/// The calls of one rank in one operation of one run, those of complete repetitions, in their order. NaN: not known.
#[derive(Clone, Copy, Debug)]
pub struct CallColumns<'b> {
    /// In MPI, f64.
    pub run_time_ns: &'b [u8],
    /// As the columns of a dataset, f64.
    pub waiting_ns: &'b [u8],
    /// As the columns of a dataset, f64.
    pub interrupted_ns: &'b [u8],
    /// As the columns of a dataset, f64.
    pub interrupted_most_ns: &'b [u8],
    /// 0 or 1.
    pub perturbed: &'b [u8],
    /// The index in [`Category::ALL`].
    pub category: &'b [u8],
}

/// What the account of one rank in one operation is, as `tables` has it in a row.
#[derive(Debug, Serialize)]
struct OfRank {
    repetitions: usize,
    run_time_ns: f64,
    waiting_ns: f64,
    interrupted_ns: f64,
    interrupted_most_ns: Option<f64>,
    perturbed_ns: f64,
    communication_ns: f64,
    unsplit_ns: f64,
}

/// The account of these calls, as JSON.
///
/// # Errors
/// Columns of different lengths; a category that there is not.
pub fn account(columns: &CallColumns) -> Result<String> {
    let run_times = numbers("run_time_ns", columns.run_time_ns)?;
    let of_calls = [
        numbers("waiting_ns", columns.waiting_ns)?,
        numbers("interrupted_ns", columns.interrupted_ns)?,
        numbers("interrupted_most_ns", columns.interrupted_most_ns)?,
    ];
    let same = |length: usize| length == run_times.len();
    let all_same = of_calls.iter().all(|column| same(column.len()));
    ensure!(all_same && same(columns.perturbed.len()) && same(columns.category.len()), "columns of different lengths");
    let known = |number: f64| Some(number).filter(|number| !number.is_nan());
    let [waiting, interrupted, most] = of_calls;
    let call = |index: usize| {
        let category =
            Category::ALL.get(usize::from(columns.category[index])).context("a category that there is not")?;
        Ok(ExportedCall {
            run_time: run_times[index],
            waiting: known(waiting[index]),
            interrupted: known(interrupted[index]).zip(known(most[index])),
            perturbed: columns.perturbed[index] != 0,
            category: *category,
        })
    };
    let calls: Vec<ExportedCall> = (0..run_times.len()).map(call).collect::<Result<_>>()?;
    let parts = of_exported(&calls);
    Ok(serde_json::to_string(&OfRank {
        repetitions: calls.len(),
        run_time_ns: parts.run_time,
        waiting_ns: parts.waiting,
        interrupted_ns: parts.interrupted,
        interrupted_most_ns: parts.known_most(),
        perturbed_ns: parts.perturbed,
        communication_ns: parts.communication,
        unsplit_ns: parts.unsplit,
    })?)
}

fn numbers(name: &str, bytes: &[u8]) -> Result<Vec<f64>> {
    column(name, bytes, f64::from_ne_bytes)
}

/// The values of a column.
fn column<T>(name: &str, bytes: &[u8], value: fn([u8; 8]) -> T) -> Result<Vec<T>> {
    let (values, rest) = bytes.as_chunks::<8>();
    ensure!(rest.is_empty(), "{name}: not a column of 8 bytes a row");
    Ok(values.iter().map(|&bytes| value(bytes)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(numbers: &[f64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
    }

    #[test]
    fn columns_that_do_not_belong_together_are_refused() {
        let one = bytes(&[5.0]);
        let columns = CallColumns {
            run_time_ns: &one,
            waiting_ns: &one,
            interrupted_ns: &one,
            interrupted_most_ns: &one,
            perturbed: &[0],
            category: &[3],
        };
        assert!(account(&columns).is_ok());
        for wrong in [
            CallColumns { waiting_ns: &[], ..columns },
            CallColumns { perturbed: &[], ..columns },
            CallColumns { category: &[4], ..columns },
            CallColumns { run_time_ns: &one[..7], ..columns },
        ] {
            assert!(account(&wrong).is_err());
        }
        assert!(categories(&1u64.to_ne_bytes(), &bytes(&[1.0, 2.0]), "robust").is_err());
    }

    #[test]
    fn what_is_not_known_is_not_taken_for_zero() {
        let (run_times, unknown) = (bytes(&[10.0, 10.0]), bytes(&[f64::NAN, f64::NAN]));
        let columns = CallColumns {
            run_time_ns: &run_times,
            waiting_ns: &unknown,
            interrupted_ns: &unknown,
            interrupted_most_ns: &unknown,
            perturbed: &[0, 0],
            category: &[0, 3],
        };
        let account: serde_json::Value = serde_json::from_str(&account(&columns).unwrap()).unwrap();
        assert_eq!((&account["repetitions"], &account["unsplit_ns"]), (&2.into(), &20.0.into()));
        assert!(account["interrupted_most_ns"].is_null());
    }
}
