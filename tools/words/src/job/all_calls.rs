//! Operations over the whole run, with the calls that were not kept, as text.

use mpitrace_show::table::{Table, number, text, time};
use mpitrace_show::text;
use mpitrace_trace::calls::whole_run::{AllCalls, Counted};

fn quantile(counted: &Counted, p: f64) -> String {
    counted.quantile_ns(p).map(text::time).unwrap_or_default()
}

/// The line on one operation: its calls, those that were kept, and their time.
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

/// The table of operations of which not all calls were kept.
pub fn table(found: &[AllCalls]) -> Table<'static> {
    let mut table = Table::new(&[
        number("operation"),
        text("all calls of"),
        text("communicator").spare(1),
        number("bytes"),
        number("calls"),
        number("kept"),
        number("time"),
        number("median"),
        number("p95").spare(3),
        number("p99").spare(2),
        number("max"),
    ]);
    for one in found {
        table.row(vec![
            one.operation.to_string().into(),
            text::printable(&one.function).into_owned().into(),
            text::printable(&one.communicator).into_owned().into(),
            text::optional(one.bytes).into(),
            one.all.calls.to_string().into(),
            one.all.kept.to_string().into(),
            time(one.all.sum_ns),
            time(one.all.quantile_ns(0.5)),
            time(one.all.quantile_ns(0.95)),
            time(one.all.quantile_ns(0.99)),
            time(one.all.quantile_ns(1.0)),
        ]);
    }
    table
}
