//! `docs/developers/columns.md` is what the table of columns gives. With WRITE_PAGES=1 it is written.

use std::path::Path;

use mpitrace_format::layout::{
    COLUMNS, Calls, LIVE_COLUMNS, MOST_COUNTERS, ON_DEMAND_COLUMNS, Packing, RECORD_COLUMNS, RecordColumn,
    TRUE_COLUMNS, Unit, shown,
};

const COMMAND: &str = "make columns";

fn unit(column: &RecordColumn) -> &'static str {
    match column.unit {
        Unit::Ticks => "ticks",
        Unit::Count => "count",
        Unit::Operation => "index and marks",
        Unit::Partner => "`partner` of `partners.rs`",
        Unit::Algorithm => "algorithm",
    }
}

fn packing(column: &RecordColumn) -> &'static str {
    match column.packing {
        Packing::Times => "times",
        Packing::Operations => "phrases",
        Packing::CountedByCommunicator => "counted by communicator",
        Packing::CountedByOperation => "counted by operation",
        Packing::Repeated => "repeated",
        Packing::Live => "not",
    }
}

fn calls(column: &RecordColumn) -> &'static str {
    match column.calls {
        Calls::All => "all",
        Calls::WithSimulatedClock => "of simulated clocks",
        Calls::WithValue => "with a value",
        Calls::WithStampedWaits => "no regions; where waits are stamped",
        Calls::WithRequest => "with a request",
    }
}

fn exported(column: &RecordColumn) -> String {
    let Some(exported) = column.exported else { return "-".to_owned() };
    let places = [(shown::TABLE, "table of `dump`"), (shown::TIMELINE, "timeline"), (shown::METRIC, "csv")];
    let places = places.into_iter().filter(|(place, _)| exported.shown & place != 0).map(|(_, name)| name);
    let mut text = format!("`{}`", exported.name);
    places.for_each(|place| text = format!("{text}, {place}"));
    text
}

fn row(column: &RecordColumn) -> String {
    let live = match column.calls {
        Calls::WithSimulatedClock => "-".to_owned(),
        _ if column.name == column.live_name => format!("{}", column.width),
        _ => format!("`{}`, {}", column.live_name, column.width),
    };
    let cells = [unit(column), calls(column), packing(column), &exported(column), column.meaning];
    format!("| `{}` | {live} | {} |\n", column.name, cells.join(" | "))
}

fn page() -> String {
    let rows: String = RECORD_COLUMNS.iter().map(row).collect();
    format!(
        "# The columns of a record

Made of the table in `src/format/layout/columns.rs` by `{COMMAND}`. A test fails while the two differ.

| name | live, bytes | unit | calls | packed | exported as, also in | |
|---|---|---|---|---|---|---|
{rows}
*Times*, *phrases*, and the others that say what a value is expected to follow from are described in [the trace
format](trace-format.md#blocks). Each counter has a column `counter N` of 8 bytes beside these: there is room for
{MOST_COUNTERS} counters of events and pvars.
"
    )
}

#[test]
fn is_what_the_table_gives() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/developers/columns.md");
    if std::env::var_os("WRITE_PAGES").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page(), "docs/developers/columns.md is not what the table gives; this writes it: {COMMAND}");
}

#[test]
fn each_column_is_found_at_its_place() {
    for (place, column) in RECORD_COLUMNS[..COLUMNS.len()].iter().enumerate() {
        assert_eq!((column.name, column.number() as usize), (COLUMNS[place], place));
        assert_eq!((column.live_name, column.width), LIVE_COLUMNS[place]);
    }
    let live: Vec<_> = mpitrace_format::layout::live_columns(3).into_iter().collect();
    for (place, column) in ON_DEMAND_COLUMNS.iter().enumerate() {
        let entry = &live[column.live_number(live.len())];
        assert_eq!(column.place_on_demand(), place);
        assert_eq!(mpitrace_format::layout::name_of(&entry.name), column.live_name);
        assert_eq!((entry.element_size, entry.on_demand), (column.width, column.flag));
    }
    let names: Vec<&str> = RECORD_COLUMNS.iter().map(|column| column.name).collect();
    assert!(names.iter().all(|name| names.iter().filter(|other| *other == name).count() == 1), "{names:?}");
    assert_eq!(RECORD_COLUMNS.len(), COLUMNS.len() + TRUE_COLUMNS.len() + ON_DEMAND_COLUMNS.len());
    // Each group on demand lies in one piece, and no two share a flag.
    let mut flags: Vec<u32> = ON_DEMAND_COLUMNS.iter().map(|column| column.flag).collect();
    flags.dedup();
    assert_eq!(flags, mpitrace_format::layout::chunk_flags::OF_GROUPS);
    let all = mpitrace_format::layout::chunk_flags::ON_DEMAND;
    assert!(all.iter().all(|flag| flag.is_power_of_two() && all.iter().filter(|other| *other == flag).count() == 1));
}
