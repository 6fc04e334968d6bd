//! A trace and the same times as text come to the same.

use std::path::{Path, PathBuf};

use mpitrace_format::layout::state;
use mpitrace_testing::synthetic::{self, SyntheticRank};
use mpitrace_trace::run_time::RunTime;
use tempfile::TempDir;

use super::Source;
use crate::options::Format;

const TIMES: [RunTime; 3] = [RunTime::Local, RunTime::Global, RunTime::Last];
/// Entry and exit of two ranks, ns.
const CALLS: [[(u64, u64); 2]; 3] =
    [[(1000, 1500), (1200, 1600)], [(2000, 2100), (2000, 2300)], [(3000, 3900), (3500, 3600)]];

fn trace(folder: &TempDir) -> Source {
    let ranks = [0, 1].map(|number: u32| {
        let mut rank = SyntheticRank::new(number, 2);
        let allreduce = rank.operation("MPI_Allreduce", 0, 8);
        rank.describe(allreduce, None, "MPI_DOUBLE", Some("MPI_SUM"));
        for call in CALLS {
            let (enter, exit) = call[number as usize];
            rank.call(allreduce, enter, exit);
        }
        if number == 1 {
            rank.disturb();
            rank.header.state = state::RUNNING;
            rank.call(allreduce, 5000, 0);
        }
        rank
    });
    let path = folder.path().join("a.mpitrace");
    synthetic::write(&path, &ranks).unwrap();
    Source::read(&[path], None).unwrap()
}

fn text(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn reprompi(folder: &TempDir) -> Source {
    let mut lines = "#@datatype_size_bytes=8\n#@datatype=MPI_DOUBLE\n#@operation=MPI_SUM\n\
        process test nrep count loc_tstart_sec loc_tend_sec gl_tstart_sec gl_tend_sec\n"
        .to_owned();
    for rank in 0..2 {
        for (number, call) in CALLS.iter().enumerate() {
            let (enter, exit) = call[rank];
            let row = format!("{rank} MPI_Allreduce {number} 1 0.{enter:09} 0.{exit:09} 7.{enter:09} 7.{exit:09}\n");
            lines.push_str(&row);
        }
    }
    lines.push_str("0 MPI_Allreduce 3 1 1 2 1 2\n");
    Source::read(&[text(folder, "a.txt", &lines)], Some(Format::Reprompi)).unwrap()
}

fn csv(folder: &TempDir) -> Source {
    let mut lines = String::new();
    for (number, call) in CALLS.iter().enumerate() {
        for (rank, (enter, exit)) in call.iter().enumerate() {
            lines.push_str(&format!("{number},{rank},runtime,{}\n{number},{rank},L3,{number}{rank}\n", exit - enter));
        }
    }
    Source::read(&[text(folder, "a.csv", &lines)], Some(Format::Csv)).unwrap()
}

fn close(found: &[f64], expected: &[f64]) {
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.01);
    assert!(found.len() == expected.len() && near, "{found:?} is not {expected:?}");
}

#[test]
fn the_same_times_are_the_same_operation_wherever_they_come_from() {
    let folder = tempfile::tempdir().unwrap();
    let (traced, measured) = (trace(&folder), reprompi(&folder));
    for source in [&traced, &measured] {
        let [operation] = source.operations() else { panic!("{:?}", source.operations()) };
        let numbers = (operation.bytes, operation.ranks, operation.repetitions, operation.incomplete);
        assert_eq!(numbers, (Some(8), 2, 3, 1));
        assert_eq!((operation.function.as_str(), operation.communicator.as_str()), ("MPI_Allreduce", "MPI_COMM_WORLD"));
        let kinds = (operation.datatype.as_deref(), operation.reduction.as_deref());
        assert_eq!(kinds, (Some("MPI_DOUBLE"), Some("MPI_SUM")));
        assert!(!source.complete());
        let expected = [[500.0, 300.0, 900.0], [600.0, 300.0, 900.0], [400.0, 300.0, 400.0]];
        for (time, expected) in TIMES.into_iter().zip(expected) {
            let found = source.run_times(0, time).unwrap();
            assert_eq!(*found.repetition, [0, 1, 2]);
            close(&found.run_time_ns, &expected);
        }
        let ranks = source.ranks(0);
        assert_eq!(ranks.numbers, [0, 1]);
        assert!(ranks.have_stamps());
        close(&ranks.enter_ns(1).unwrap(), &[200.0, 1000.0, 2500.0]);
        close(&ranks.exit_ns(0).unwrap(), &[500.0, 1100.0, 2900.0]);
        close(&ranks.duration_ns(1), &[400.0, 300.0, 100.0]);
        assert!(source.counters(0).is_empty());
    }
    assert_eq!(traced.perturbed(0), Some(vec![false, false, true]));
    assert_eq!(measured.perturbed(0), None);
}

#[test]
fn without_time_stamps_only_local_run_times_exist() {
    let folder = tempfile::tempdir().unwrap();
    let source = csv(&folder);
    close(&source.run_times(0, RunTime::Local).unwrap().run_time_ns, &[500.0, 300.0, 900.0]);
    assert!(source.complete());
    let told = source.run_times(0, RunTime::Last).unwrap_err().to_string();
    let path = folder.path().join("a.csv");
    let expected = format!("{}: has no time stamps of one clock: only --time local exists, not last", path.display());
    assert_eq!(told, expected);
    assert_eq!(
        source.check(Some(3), RunTime::Local).unwrap_err().to_string(),
        "no operation 3: there are operations 0 to 0"
    );
    let ranks = source.ranks(0);
    assert!(!ranks.have_stamps() && ranks.enter_ns(0).is_none());
    let counters = source.counters(0);
    assert_eq!(counters[0].name, "L3");
    close(&counters[0].values(1).unwrap(), &[1.0, 11.0, 21.0]);
}

#[test]
fn several_files_of_another_tool_are_operations_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let files = [text(&folder, "a.csv", "0,0,runtime,1\n"), text(&folder, "b.csv", "0,0,runtime,2\n1,0,runtime,2\n")];
    let source = Source::read(&files, Some(Format::Csv)).unwrap();
    let found: Vec<(Option<&str>, usize)> =
        source.operations().iter().map(|operation| (operation.file.as_deref(), operation.repetitions)).collect();
    assert_eq!(found, [(files[0].to_str(), 1), (files[1].to_str(), 2)]);
    let told = Source::read(&[Path::new("/nonexistent").into()], Some(Format::Reprompi)).unwrap_err().to_string();
    assert_eq!(told, "/nonexistent: No such file or directory (os error 2)");
    let trace = trace(&folder);
    drop(trace);
    let told = Source::read(&[folder.path().join("a.mpitrace")], Some(Format::Csv)).unwrap_err().to_string();
    assert!(told.ends_with("a.mpitrace: is a trace: it is read without --from"), "{told}");
}

/// Each other place would have warnings of its own, or none.
#[test]
fn traces_are_opened_in_one_place() {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // The trial of an MPI library reads the counters of its own trace, below this crate.
    let expected = [tools.join("job/src/mpi/trial.rs"), tools.join("source/src/opened.rs")];
    let (mut folders, mut found) = (vec![tools], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                folders.push(path);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let product = text.split("#[cfg(test)]").next().unwrap_or_default();
                found.extend(product.contains("Trace::open(").then_some(path));
            }
        }
    }
    found.sort_unstable();
    assert_eq!(found, expected);
}
