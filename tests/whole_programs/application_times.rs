//! Where the time of applications as Debian ships them goes, beside an independent counter in front of the tracer that
//! times the outermost calls of MPI (`outermost_calls.c`): the share of MPI, the first loss and the verdict, over five
//! runs of each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::applications::{
    Application, CP2K, DEBIAN, H5PY, HPCC, LAMMPS, MUMPS, NWCHEM, PETSC, PETSC4PY, POOL, SCALAPACK, SLEPC, SLEPC4PY,
    run,
};
use crate::support::{Case, Test, companion};

const RUNS: usize = 5;
/// The shares differ by no more, beside the tracer's own part: the counter stands in front of the tracer, and has it.
const POINTS: f64 = 0.03;
/// A loss has no more than the counter has in its function, but for this: the tracer's stamps lie within the counter's.
const MORE: f64 = 1.05;
const LITTLE_S: f64 = 0.002;

pub const TESTS: &[Test] = &[
    application("of_lammps_agree", |case| agree(case, &LAMMPS), LAMMPS.words[0]),
    application("of_cp2k_agree", |case| agree(case, &CP2K), CP2K.words[0]),
    application("of_scalapack_agree", |case| agree(case, &SCALAPACK), SCALAPACK.words[0]),
    application("of_mumps_agree", |case| agree(case, &MUMPS), "/usr/lib/mumps/dsimpletest"),
    application("of_hpcc_agree", |case| agree(case, &HPCC), HPCC.words[0]),
    application("of_nwchem_agree", |case| agree(case, &NWCHEM), NWCHEM.words[0]),
    application(
        "of_h5py_agree",
        |case| agree(case, &H5PY),
        "/usr/lib/python3/dist-packages/h5py/_debian_h5py_mpi/__init__.py",
    ),
    application("of_petsc4py_agree", |case| agree(case, &PETSC4PY), PETSC),
    application("of_slepc4py_agree", |case| agree(case, &SLEPC4PY), SLEPC),
    application(
        "of_a_pool_of_mpi4py_agree",
        |case| agree(case, &POOL),
        "/usr/lib/python3/dist-packages/mpi4py/futures/pool.py",
    ),
];

const fn application(name: &'static str, run: fn(&Case), needs: &'static str) -> Test {
    Test::new(name, run).on(DEBIAN).needs(needs).second_tier()
}

/// The times of one rank by the counter, ns: of the thread of MPI_Init.
struct Counted {
    begin: f64,
    end: f64,
    of_function: BTreeMap<String, f64>,
}

/// By rank.
fn counted(case: &Case) -> BTreeMap<u64, Counted> {
    let files = fs::read_dir(&case.folder).expect("the folder").flatten().map(|file| file.path());
    let is_of_times = |path: &std::path::PathBuf| path.file_stem().is_some_and(|stem| stem == "times");
    let files: Vec<_> = files.filter(is_of_times).collect();
    let counted = files.iter().map(|path| {
        let text = fs::read_to_string(path).expect("the times");
        let mut times: BTreeMap<String, f64> =
            text.lines().filter_map(|line| line.split_once(' ')).map(number).collect();
        fs::remove_file(path).expect("its own file");
        let mut take = |name: &str| times.remove(name).unwrap_or_else(|| panic!("no {name} in:\n{text}"));
        let (rank, begin, end) = (take("rank") as u64, take("begin"), take("end"));
        (rank, Counted { begin, end, of_function: times })
    });
    counted.collect()
}

fn number((name, number): (&str, &str)) -> (String, f64) {
    (name.to_owned(), number.parse().expect("a number"))
}

impl Counted {
    /// In all functions for which this holds, s.
    fn seconds(&self, is_meant: impl Fn(&str) -> bool) -> f64 {
        self.of_function.iter().filter(|(name, _)| is_meant(name)).map(|(_, ns)| ns / 1e9).sum()
    }
}

/// What the summary says of a run, and what is held against it.
struct Said {
    share: f64,
    counted: f64,
    /// The kind of the first loss, its function, and the rank that is late.
    loss: String,
    /// The verdict without its numbers.
    verdict: String,
    /// The rank that is to have less work.
    asked: Option<u64>,
}

fn agree(case: &Case, of: &Application) {
    let said: Vec<Said> = (0..RUNS).map(|_| one_run(case, of)).collect();
    // Work is to be taken from one rank, or one run cannot tell.
    let asked: BTreeSet<u64> = said.iter().filter_map(|said| said.asked).collect();
    let verdicts: BTreeSet<&str> = said.iter().map(|said| &*said.verdict).collect();
    let losses: BTreeSet<&str> = said.iter().map(|said| &*said.loss).collect();
    let list = |texts: BTreeSet<&str>| texts.into_iter().collect::<Vec<_>>().join("; ");
    let range = |of: fn(&Said) -> f64| {
        let mut shares: Vec<f64> = said.iter().map(|said| 100.0 * of(said)).collect();
        shares.sort_by(f64::total_cmp);
        format!("{:.1} ({:.1} to {:.1})", shares[RUNS / 2], shares[0], shares[RUNS - 1])
    };
    let (share, counted) = (range(|said| said.share), range(|said| said.counted));
    let row = format!("| {} | {share} | {counted} | {} | {} |\n", of.name, list(losses), list(verdicts.clone()));
    fs::write(case.folder.join("row.md"), &row).expect("the row of docs/developers/measurements/applications.txt");
    print!("{row}");
    assert!(asked.len() < 2, "{}: less work is asked for on both ranks: {verdicts:?}", of.name);
}

fn one_run(case: &Case, of: &Application) -> Said {
    let given = run(case, of, true);
    let counted = counted(case);
    assert_eq!(counted.len(), 2, "{}: the times of both ranks", of.name);
    let path = given.trace.path.as_os_str();
    let summary = companion::json(&companion::mpitrace(&["summary".as_ref(), "--json".as_ref(), path]));
    let number = |value: &Value| value.as_f64().expect("a number");
    let (share, running) = (number(&summary["mpi_share"]["all"]), number(&summary["running_s"]));
    let in_tracer = number(&summary["parts"]["tracer"]) / running;

    let last = counted.values().map(|rank| rank.end).fold(0.0, f64::max);
    let whole: f64 = counted.values().map(|rank| (last - rank.begin) / 1e9).sum();
    let in_mpi: f64 = counted.values().map(|rank| rank.seconds(|_| true)).sum();
    let counted_share = in_mpi / whole;
    // A rank that sleeps between its polls waits; the counter has the polls alone.
    let sleeps = of.name == POOL.name;
    assert!(
        (sleeps || share <= counted_share + POINTS) && counted_share <= share + in_tracer + POINTS,
        "{}: {share:.3} of the time in MPI, {counted_share:.3} by the counter, {in_tracer:.3} in the tracer: {}",
        of.name,
        summary["verdict"]
    );

    let loss = &summary["losses_by_gain"][0];
    let kind = loss["kind"].as_str().unwrap_or("none");
    let (function, late) = (loss["function"].as_str(), loss["rank"].as_u64());
    let is_meant: Box<dyn Fn(&str) -> bool> = match (function, kind) {
        (Some("MPI_Finalize"), _) => Box::new(|_| false),
        // One that starts a request is waited for by others.
        (Some(function), _) if !function.starts_with("MPI_I") => Box::new(move |name| name == function),
        _ => Box::new(|_| true),
    };
    let seconds = number(loss.get("seconds").unwrap_or(&Value::from(0.0)));
    let waited: f64 =
        counted.iter().filter(|(rank, _)| Some(**rank) != late).map(|(_, of)| of.seconds(&is_meant)).sum();
    if kind == "late-rank" && function != Some("MPI_Finalize") {
        assert!(
            seconds <= MORE * waited + LITTLE_S,
            "{}: {seconds} s lost in {function:?}, {waited} s by the counter: {loss}",
            of.name
        );
    }
    let verdict = summary["verdict"].as_str().expect("a text");
    let asked = verdict.contains("give it less work").then(|| {
        let named = verdict.split("rank ").nth(1).or(verdict.split("Rank ").nth(1)).expect("a rank");
        let digits: String = named.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().expect("its number")
    });
    if let Some(asked) = asked {
        // It is in MPI for less time, or comes to MPI_Finalize last.
        let spare = |rank: &Counted| rank.seconds(|_| true) + (last - rank.end) / 1e9;
        let least = counted.iter().min_by(|one, other| spare(one.1).total_cmp(&spare(other.1)));
        assert_eq!(least.map(|(rank, _)| *rank), Some(asked), "{}: {verdict}", of.name);
    }
    let what = [Some(kind), function].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let loss = late.map_or(what.clone(), |rank| format!("{what}, rank {rank}"));
    Said { share, counted: counted_share, loss, verdict: without_numbers(verdict), asked }
}

/// Each number with its unit as `N`, ranks as they are.
fn without_numbers(sentence: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in sentence.split(' ') {
        let is_number = word.trim_start_matches('(').starts_with(|first: char| first.is_ascii_digit());
        let is_unit = ["s", "ms", "µs", "ns", "%"].contains(&word.trim_end_matches([')', ',', ':', ';', '.']));
        let is_of_number = words.last() == Some(&"N") && is_unit;
        match () {
            _ if is_of_number => {}
            _ if is_number && words.last().is_none_or(|last| !last.to_lowercase().starts_with("rank")) => {
                words.push("N")
            }
            _ => words.push(word),
        }
    }
    words.join(" ")
}
