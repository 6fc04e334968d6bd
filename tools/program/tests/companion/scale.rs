//! `mpitrace scale`: runs of one program on several numbers of ranks.

use std::fs;
use std::path::Path;

use mpitrace_testing::synthetic::{self, SyntheticRank};
use serde_json::Value;

use super::support::{Folder, mpitrace};

const MILLISECOND: f64 = 1e6;

/// A program whose ranks share 80 ms of work in each of 10 steps, rank 0 taking a tenth longer, and reduce for 1 ms
/// times the number of ranks: run number `number`, longer by as many thousandths.
struct Run<'r> {
    program: &'r str,
    ranks: u32,
    number: u64,
    /// Each rank has all of the work.
    is_weak: bool,
}

impl Run<'_> {
    fn write(&self, folder: &Folder) -> String {
        let p = f64::from(self.ranks);
        let by = MILLISECOND * (1.0 + 0.001 * self.number as f64);
        let work = if self.is_weak { 80.0 } else { 80.0 / p };
        let step = by * (1.1 * work + p);
        let rank = |number: u32| {
            let mut rank = SyntheticRank::new(number, self.ranks).stamped();
            rank.metadata.push(("command".into(), format!("/opt/{} -n 3", self.program)));
            let reduce = rank.operation("MPI_Allreduce", 0, 8);
            let own = by * work * if number == 0 { 1.1 } else { 1.0 };
            for k in 0..10 {
                let begin = step * f64::from(k);
                rank.call(reduce, (begin + own) as u64, (begin + step) as u64);
            }
            rank
        };
        let ranks: Vec<SyntheticRank> = (0..self.ranks).map(rank).collect();
        let path = folder.path(&format!("{}-{}-{}.mpitrace", self.program, self.ranks, self.number));
        synthetic::write(Path::new(&path), &ranks).unwrap();
        path
    }
}

fn files(folder: &Folder, ranks: &[u32], is_weak: bool) -> Vec<String> {
    let run = |&ranks: &u32| [0, 3, 6].map(|number| Run { program: "solver", ranks, number, is_weak }.write(folder));
    ranks.iter().flat_map(run).collect()
}

fn words<'w>(options: &[&'w str], files: &'w [String]) -> Vec<&'w str> {
    ["scale"].into_iter().chain(options.iter().copied()).chain(files.iter().map(String::as_str)).collect()
}

fn value(of: &Value) -> f64 {
    of["value"].as_f64().unwrap_or_else(|| panic!("no value: {of}"))
}

#[test]
fn the_efficiencies_are_those_by_hand_and_the_reduction_limits() {
    let folder = Folder::new();
    let files = files(&folder, &[1, 2, 4], false);
    let found = mpitrace(&words(&["--json"], &files)).json();
    assert_eq!(
        (&found["program"], &found["mode"], &found["is_given"]),
        (&"solver".into(), &"strong".into(), &false.into())
    );
    let close = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.01, "{found} is not {expected}");
    for (level, p) in found["levels"].as_array().unwrap().iter().zip([1.0, 2.0, 4.0]) {
        let (work, step) = (80.0 / p, 88.0 / p + p);
        let mean = work * (1.0 + 0.1 / p);
        close(value(&level["seconds"]), 0.01 * step * 1.003);
        close(value(&level["parallel_efficiency"]), mean / step);
        close(value(&level["load_balance"]), mean / (1.1 * work));
        close(value(&level["communication_efficiency"]), 1.1 * work / step);
        // Nothing but the reduction takes time beside the work.
        close(value(&level["transfer"]), 1.1 * work / step);
        close(value(&level["serialisation"]), 1.0);
        close(value(&level["computation_scaling"]), 88.0 / (p * mean));
        let product = value(&level["parallel_efficiency"]) * value(&level["computation_scaling"]);
        close(value(&level["global_efficiency"]), product);
        close(value(&level["speedup"]), 89.0 / step);
        let [low, high] = [0, 1].map(|end: usize| level["seconds"]["interval"][end].as_f64().unwrap());
        assert!(low < 0.01 * step * 1.003 && high > 0.01 * step * 1.003, "{level}");
        assert!(level["instruction_scaling"].is_null());
    }
    let parts = found["parts"].as_array().unwrap();
    assert_eq!((&parts[0]["part"]["kind"], &parts[0]["part"]["function"]), (&"calls".into(), &"MPI_Allreduce".into()));
    // Of 0.01 s at one rank a quarter is the ideal at four.
    close(value(&parts[0]["excess_s"]), 0.03 * 1.003 + 0.01 * (1.0 - 0.25));
    close(value(&parts[0]["exponent"]), 1.0);
    assert_eq!(found["prediction"]["ranks"], 8);
    assert_eq!(found["prediction"]["limits"][0]["part"], 0);
    let interval = &found["prediction"]["seconds"]["interval"];
    let truth = 0.01 * (11.0 + 8.0) * 1.003;
    assert!(interval[0].as_f64().unwrap() < truth && interval[1].as_f64().unwrap() > truth, "{interval}");
    // Each number of a sentence is in the JSON.
    let sentences: Vec<&str> =
        found["sentences"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    assert!(sentences[0].starts_with("solver is 3.42 ("), "{sentences:?}");
    assert!(sentences[1].contains("MPI_Allreduce"), "{sentences:?}");
    let text = mpitrace(&words(&[], &files));
    assert!(sentences.iter().all(|sentence| text.stdout.contains(sentence)), "{}", text.stdout);
    assert!(text.stdout.contains("-- load balance") && !text.stdout.contains("IPC"), "{}", text.stdout);
}

#[test]
fn the_work_tells_weak_scaling_and_an_option_overrules_it() {
    let folder = Folder::new();
    let files = files(&folder, &[2, 4], true);
    let found = mpitrace(&words(&["--json"], &files)).json();
    assert_eq!(found["mode"], "weak");
    let speedup = value(&found["levels"][1]["speedup"]);
    assert!((speedup - 2.0 * (88.0 + 2.0) / (88.0 + 4.0)).abs() < 0.02, "{speedup}");
    let strong = mpitrace(&words(&["--json", "--mode", "strong", "--at", "64"], &files)).json();
    assert_eq!((&strong["mode"], &strong["is_given"]), (&"strong".into(), &true.into()));
    assert_eq!(strong["prediction"]["ranks"], 64);
}

#[test]
fn single_runs_on_two_numbers_of_ranks_predict_nothing() {
    let folder = Folder::new();
    let files: Vec<String> =
        [1, 2].map(|ranks| Run { program: "solver", ranks, number: 0, is_weak: false }.write(&folder)).into();
    let found = mpitrace(&words(&["--json"], &files)).json();
    assert!(found["prediction"].is_null() && found["levels"][0]["seconds"]["interval"].is_null(), "{found}");
    let text = mpitrace(&words(&[], &files)).stdout;
    assert!(text.contains("Nothing is predicted: a prediction takes repeated runs"), "{text}");
    assert!(!text.contains("predicted on"), "{text}");
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_line() {
    let folder = Folder::new();
    let solver = |ranks, number| Run { program: "solver", ranks, number, is_weak: false }.write(&folder);
    let other = Run { program: "other", ranks: 4, number: 0, is_weak: false }.write(&folder);
    let (one, two, again) = (solver(2, 0), solver(4, 0), solver(2, 1));
    for (files, options, expected) in [
        (vec![&one, &again], vec![], "all runs that finished are on 2 ranks"),
        (vec![&one, &other], vec![], "runs of different programs (other, solver)"),
        (vec![&one, &two, &one], vec![], "is given twice"),
        (vec![&one, &two], vec!["-o", "a.jpg"], "a.jpg: the name of a picture ends in"),
        (vec![&one, &two], vec!["-o", "a.html", "--size", "84x60"], "--size is for pictures"),
    ] {
        let files: Vec<String> = files.into_iter().cloned().collect();
        let ran = mpitrace(&words(&options, &files));
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

#[test]
fn a_run_that_did_not_finish_is_left_out_with_a_line() {
    let folder = Folder::new();
    let mut files = files(&folder, &[1, 2], false);
    files.push(folder.path("killed.mpitrace"));
    let mut ranks = super::support::killed();
    for rank in &mut ranks {
        rank.metadata.push(("command".into(), "/opt/solver".into()));
    }
    synthetic::write(Path::new(&files[6]), &ranks).unwrap();
    let ran = mpitrace(&words(&["--json"], &files));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("killed.mpitrace: the run did not finish, or records are missing; left out"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        ran.json()["levels"].as_array().unwrap().iter().map(|level| level["runs"].clone()).collect::<Vec<_>>(),
        [3, 3]
    );
}

#[test]
fn pictures_values_and_a_page_show_time_efficiencies_and_parts() {
    let folder = Folder::new();
    let files = files(&folder, &[1, 2, 4], false);
    for name in ["a.svg", "a.png", "a.pdf", "a.csv", "a.html"] {
        let path = folder.path(name);
        let ran = mpitrace(&words(&["-o", &path], &files));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let written = fs::read(&path).unwrap();
        assert!(written.len() > 500, "{name}: {} bytes", written.len());
    }
    let page = fs::read_to_string(folder.path("a.html")).unwrap();
    for text in
        ["Scaling of solver", "Time by ranks", "Efficiencies by ranks", "Parts by ranks", "Predicted for 8 ranks"]
    {
        assert!(page.contains(text), "{text}");
    }
    let values = fs::read_to_string(folder.path("a.csv")).unwrap();
    assert!(values.contains("load balance") && values.contains("MPI_Allreduce"), "{values}");
}
