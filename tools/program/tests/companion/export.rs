//! `mpitrace export`: what becomes of OUT, and bad input. What other programs make of the files is in
//! tests/whole_programs.

use std::fs;
use std::os::unix::process::CommandExt;

use crate::support::{Folder, Ran, command, killed, mpitrace, plain};
use mpitrace_testing::synthetic::SyntheticRank;

/// The formats that a file can hold, as far as they are built.
const STREAMS: &[&str] = match cfg!(feature = "columns") {
    true => &["csv", "json", "parquet", "arrow", "perfetto", "reprompi"],
    false => &["csv", "json", "perfetto", "reprompi"],
};

fn export(trace: &str, format: &str, output: &str, options: &[&str]) -> Ran {
    mpitrace(&[&["export", trace, "--format", format, "-o", output], options].concat())
}

#[track_caller]
fn assert_refused(ran: &Ran, why: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains(why), "no '{why}' in {}", ran.stderr);
}

/// The names in a folder.
fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

#[test]
fn json_is_what_dump_lists_also_in_a_pipe_and_compressed() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    let dumped = mpitrace(&["dump", "--json", &trace]).stdout;
    assert_eq!(export(&trace, "json", "-", &[]).stdout, dumped);
    let file = folder.path("calls.json");
    let ran = export(&trace, "json", &file, &[]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    assert_eq!(fs::read_to_string(&file).unwrap(), dumped);
    assert_eq!(export(&trace, "json", &folder.path("calls.json.gz"), &[]).code, 0);
    let mut unpacked = String::new();
    let packed = fs::File::open(folder.path("calls.json.gz")).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(packed), &mut unpacked).unwrap();
    assert_eq!(unpacked, dumped);
    let one = export(&trace, "json", "-", &["--operation", "1"]).json();
    assert_eq!(one.as_array().unwrap().len(), 3);
}

#[test]
fn the_categories_come_from_the_rule_that_is_asked_for() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    let perfetto = |name: &str, options: &[&str]| {
        let file = folder.path(name);
        assert_eq!(export(&trace, "perfetto", &file, options).code, 0);
        fs::read(&file).unwrap()
    };
    assert_eq!(perfetto("usual", &[]), perfetto("robust", &["--method", "robust"]));
    assert!(!perfetto("roth", &["--method", "roth"]).is_empty());
    assert_refused(&export(&trace, "json", "-", &["--method", "tukey"]), "[possible values: robust, roth]");
}

#[test]
fn csv_is_one_operation_a_file() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    let csv = export(&trace, "csv", "-", &["--operation", "1"]).stdout;
    let line = |k: u64| format!("{k},1,runtime,1000\n{k},1,waiting_ns,0\n");
    assert_eq!(csv, format!("iteration,rank,metric,value\n{}{}{}", line(0), line(1), line(2)));
    assert_refused(&export(&trace, "csv", &folder.path("a.csv"), &[]), "--operation N");
    let into = folder.path("new/folder/");
    assert_eq!(export(&trace, "csv", &into, &[]).code, 0);
    assert_eq!(names(&into), ["operation-0.csv", "operation-1.csv"]);
    assert_eq!(fs::read_to_string(format!("{into}operation-1.csv")).unwrap(), csv);
    // What else lies there stays.
    fs::write(format!("{into}mine"), "mine").unwrap();
    assert_eq!(export(&trace, "csv", &into, &[]).code, 0);
    assert_eq!(names(&into), ["mine", "operation-0.csv", "operation-1.csv"]);
}

#[test]
fn reprompi_refuses_to_mix_what_its_rows_do_not_tell_apart() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    assert_refused(&export(&trace, "reprompi", &folder.path("a.txt"), &[]), "different ranks");
    let rows = export(&trace, "reprompi", "-", &["--operation", "1"]).stdout;
    let data: Vec<&str> = rows.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(data[0].split_whitespace().collect::<Vec<_>>()[..4], ["process", "test", "nrep", "msize_bytes"]);
    let third: Vec<&str> = data[3].split_whitespace().collect();
    assert_eq!(third[..4], ["1", "MPI_Bcast", "2", "4"]);
    let [start, end] = [4, 5].map(|column: usize| third[column].parse::<f64>().unwrap());
    assert!((end - start - 1e-6).abs() < 1e-9, "{third:?}");
    for line in ["#@datatype=MPI_INT", "#@root_proc=0", "#@nprocs=1", "#@clocksync=none"] {
        assert!(rows.lines().any(|found| found == line), "{line} in {rows}");
    }
}

#[test]
fn only_the_repetitions_that_all_ranks_finished_are_melted() {
    let folder = Folder::new();
    let trace = folder.trace(&killed());
    let ran = export(&trace, "csv", "-", &[]);
    // The run time and the waiting of three ranks' calls; of interruptions nothing is known.
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 1 + 2 * 3 * 4));
    assert_eq!(ran.stderr.lines().count(), 2, "incomplete, and how many are left out: {}", ran.stderr);
    assert!(ran.stderr.contains("1 incomplete repetition left out"), "{}", ran.stderr);
    // A row a call has them all.
    let ran = export(&trace, "json", "-", &[]);
    assert_eq!((ran.code, ran.json().as_array().unwrap().len()), (0, 13));
}

#[test]
fn a_file_is_replaced_and_its_link_stays() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    let (file, link) = (folder.file("old.json", b"old"), folder.path("link.json"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert_eq!(export(&trace, "json", &link, &[]).code, 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&file).unwrap().starts_with("{\"schema\":"));
    assert_refused(&export(&trace, "json", &trace, &[]), "the trace itself");
    assert_eq!(mpitrace(&["info", &trace]).code, 0, "the trace is whole");
}

#[test]
fn a_full_disk_leaves_nothing_under_the_name_and_nothing_beside_it() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    for format in STREAMS {
        assert_refused(&export(&trace, format, "/dev/full", &["--operation", "0"]), "No space left on device");
        let into = folder.path(format);
        fs::create_dir(&into).unwrap();
        let output = format!("{into}/out");
        fs::write(&output, "the one before").unwrap();
        let mut limited = command(&["export", &trace, "--format", format, "-o", &output, "--operation", "0"]);
        // SAFETY: between fork and exec only two functions are called that are async-signal-safe.
        unsafe { limited.pre_exec(no_large_files) };
        let output = limited.output().unwrap();
        let ran = Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        assert_refused(&ran, "File too large");
        assert_eq!(names(&into), ["out"], "{format}");
        assert_eq!(fs::read_to_string(format!("{into}/out")).unwrap(), "the one before");
    }
}

/// Files may have 1000 bytes: writing more fails as it does on a full disk.
fn no_large_files() -> std::io::Result<()> {
    let limit = libc::rlimit { rlim_cur: 1000, rlim_max: 1000 };
    // SAFETY: the limit is valid memory; the default of SIGXFSZ would end the process.
    let done = unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::setrlimit(libc::RLIMIT_FSIZE, &limit)
    };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[test]
fn bad_input_is_named() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    let file = folder.path("out");
    assert_refused(&export(&trace, "json", &file, &["--operation", "2"]), "operations 0 to 1");
    assert_refused(&export(&trace, "json", "/nonexistent/out", &[]), "/nonexistent/out");
    assert_refused(&export(&trace, "json", &folder.path(""), &[]), "is a folder");
    assert_refused(&export(&trace, "feather", &file, &[]), "parquet");
    if cfg!(feature = "columns") {
        assert_refused(&export(&trace, "parquet", &folder.path("a.parquet.gz"), &[]), ".gz");
    } else {
        assert_refused(&export(&trace, "parquet", &file, &[]), "without Parquet");
    }
    assert_refused(&export(&trace, "otf2", "-", &[]), "folder");
    assert_refused(&export(&folder.path("none.mpitrace"), "json", &file, &[]), "none.mpitrace");
    let full = folder.path("full");
    fs::create_dir(&full).unwrap();
    fs::write(format!("{full}/mine"), "mine").unwrap();
    assert_refused(&export(&trace, "otf2", &full, &[]), "is not empty");
    fs::create_dir(folder.path("new.part")).unwrap();
    assert_refused(&export(&trace, "otf2", &folder.path("new"), &[]), "remove it");
    assert_eq!(names(&folder.path("")), ["a.mpitrace", "full", "new.part"]);
}

#[test]
fn one_rank_and_no_calls_are_exported_too() {
    let folder = Folder::new();
    let mut rank = SyntheticRank::new(0, 1);
    let barrier = rank.operation("MPI_Barrier", 0, 0);
    (0..3).for_each(|call| rank.call(barrier, 1000 * call, 1000 * call + 500));
    let one = folder.trace(&[rank]);
    for format in STREAMS {
        let ran = export(&one, format, &folder.path(format), &[]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{format}");
        assert!(fs::metadata(folder.path(format)).unwrap().len() > 50, "{format}");
    }
    let none = folder.trace(&[SyntheticRank::new(0, 1)]);
    for format in STREAMS.iter().filter(|format| !["csv", "reprompi"].contains(format)) {
        assert_eq!(export(&none, format, &folder.path(format), &[]).code, 0, "{format}");
    }
    for format in ["csv", "reprompi"] {
        assert_refused(&export(&none, format, &folder.path(format), &[]), "no operation");
    }
}

#[test]
fn what_is_read_back_has_the_same_run_times() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    for expected in mpitrace(&["categorize", "--json", &trace]).json().as_array().unwrap() {
        let number = expected["operation"].to_string();
        let run_time_ns: Vec<f64> = serde_json::from_value(expected["run_time_ns"].clone()).unwrap();
        let file = |format: &str| {
            let path = folder.path(&format!("{format}{number}.gz"));
            let ran = export(&trace, format, &path, &["--operation", &number]);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            path.into()
        };
        let melted: std::path::PathBuf = file("csv");
        assert_eq!(mpitrace_trace::import::csv::read(&melted).unwrap().run_time_ns, run_time_ns);
        let found = mpitrace_trace::import::reprompi::read(&file("reprompi")).unwrap().remove(0);
        assert_eq!(found.function.as_deref(), expected["function"].as_str());
        assert_eq!((found.bytes, Some(found.ranks.into())), (expected["bytes"].as_u64(), expected["ranks"].as_u64()));
        assert_eq!(found.notes.len(), 0, "{:?}", found.notes);
        // Ten digits of seconds, twice.
        let close = |(found, expected): (&f64, &f64)| (found - expected).abs() < 0.2;
        assert!(found.run_time_ns.iter().zip(&run_time_ns).all(close), "{:?}", found.run_time_ns);
        assert_eq!(found.run_time_ns.len(), run_time_ns.len());
    }
}

#[test]
fn reprompi_names_the_barrier_before_most_repetitions() {
    let folder = Folder::new();
    let ranks = |with_barrier: bool| {
        [0, 1].map(|number| {
            let mut rank = SyntheticRank::new(number, 2);
            let barrier = rank.operation("MPI_Barrier", 0, 0);
            let allreduce = rank.operation("MPI_Allreduce", 0, 8);
            for i in 0..20 {
                let enter = 1_000_000 + 10_000 * i;
                if with_barrier || i % 2 == 0 {
                    rank.call(barrier, enter, enter + 500);
                }
                rank.call(allreduce, enter + 600, enter + 2000);
            }
            rank
        })
    };
    let procsync = |with_barrier: bool| {
        let trace = folder.trace(&ranks(with_barrier));
        let export = mpitrace(&["export", &trace, "--format", "reprompi", "--operation", "1", "-o", "-"]).stdout;
        export.lines().find_map(|line| line.strip_prefix("#@procsync=").map(str::to_owned))
    };
    assert_eq!((procsync(true).as_deref(), procsync(false).as_deref()), (Some("MPI_Barrier"), Some("None")));
}
