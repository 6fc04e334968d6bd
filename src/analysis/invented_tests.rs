//! One line of the table is enough for the analysis: an invented collective, from a trace to what is concluded of it.

use mpitrace_testing::invented;
use mpitrace_testing::synthetic::{self, SyntheticRank};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::import::reprompi;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

use crate::causality::Causality;

/// Each form of the collective with root 2, on three ranks that enter and leave within 1 µs; the clock of the root is 5
/// µs ahead.
fn trace(folder: &std::path::Path) -> Trace {
    let ranks = [0, 1, 2].map(|number: u32| {
        let mut rank = SyntheticRank::new(number, 3);
        for (form, function) in (1..).zip(["MPI_Inform", "MPI_Whisper", "MPI_Inform_init"]) {
            let operation = rank.operation(function, 0, 8);
            rank.describe(operation, Some(2), "MPI_INT", Some("MPI_SUM"));
            let enter = 100_000 * form + 10 * u64::from(number) + if number == 2 { 5000 } else { 0 };
            rank.call(operation, enter, enter + 1000);
        }
        rank
    });
    let path = folder.join("invented.mpitrace");
    synthetic::write(&path, &ranks).unwrap();
    Trace::open(&[&path]).unwrap()
}

#[test]
fn one_line_of_the_table_is_enough_for_the_analysis() {
    mpitrace_functions::add(invented::FUNCTIONS);
    let folder = tempfile::tempdir().unwrap();
    let trace = trace(folder.path());
    let operations = Operations::new(&trace);
    let forms: Vec<(&str, bool)> =
        operations.operations.iter().map(|one| (one.key.function.as_str(), one.key.has_request())).collect();
    assert_eq!(forms, [("MPI_Inform", false), ("MPI_Whisper", true), ("MPI_Inform_init", true)]);
    // The two others seem to leave before the root has entered.
    let found = Causality::new(&trace, &Clock::new(&trace), &operations);
    assert_eq!((found.checked, found.violated_raw), (3 * 2, 3 * 2));
    assert_eq!(found.worst.map(|worst| worst.entered), Some(2));

    let path = folder.path().join("rumour.txt");
    let rows = "#@operation=MPI_SUM\n#@datatype=MPI_INT\n#@datatype_size_bytes=4\n#@root_proc=2\n\
        test nrep count runtime_sec\nRumour 0 2 0.5\nUnknown 0 2 0.5\n";
    std::fs::write(&path, rows).unwrap();
    let measured = reprompi::read(&path).unwrap();
    assert_eq!(measured[0].function.as_deref(), Some("MPI_Inform"));
    assert_eq!((measured[0].root, measured[0].reduction.as_deref()), (Some(2), Some("MPI_SUM")));
    assert_eq!((measured[1].root, measured[1].reduction.as_deref()), (None, None), "no line, no claim");
}
