//! Operations over the whole run, with the calls that were not kept, as text.

use mpitrace::whole_run::{AllCalls, Counted};

use crate::table::{Table, number, text};
use crate::text;

/// The run time at a quantile, where it is known.
fn quantile(counted: &Counted, p: f64) -> String {
    counted.quantile_ns(p).map(text::time).unwrap_or_default()
}

/// All in one line.
pub fn line(all: &AllCalls) -> String {
    let Counted { calls, kept, sum_ns, .. } = all.all;
    let quantiles = match all.all.quantile_ns(0.5) {
        None => String::new(),
        Some(median) => format!(
            "; of single calls: median {}, p95 {}, p99 {}, max {}, within 1 %",
            text::time(median),
            quantile(&all.all, 0.95),
            quantile(&all.all, 0.99),
            quantile(&all.all, 1.0)
        ),
    };
    format!("{} of {}, {kept} kept{quantiles}", text::time(sum_ns), text::count(calls, "call"))
}

/// A row for each of them.
pub fn table(found: &[AllCalls]) -> Table<'static> {
    let mut table = Table::new(&[
        number("operation").optional(),
        text("all calls of"),
        text("communicator"),
        number("bytes"),
        number("calls"),
        number("kept"),
        number("time"),
        number("median"),
        number("p95"),
        number("p99"),
        number("max"),
    ]);
    for one in found {
        table.row(vec![
            text::optional(one.operation),
            text::printable(&one.function).into_owned(),
            text::printable(&one.communicator).into_owned(),
            text::optional(one.bytes),
            one.all.calls.to_string(),
            one.all.kept.to_string(),
            text::time(one.all.sum_ns),
            quantile(&one.all, 0.5),
            quantile(&one.all, 0.95),
            quantile(&one.all, 0.99),
            quantile(&one.all, 1.0),
        ]);
    }
    table
}
