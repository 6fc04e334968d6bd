//! The companion as a user meets it: what it prints, where, and with which exit code.

use std::io::Read;
use std::process::Stdio;

use crate::support::{Folder, killed, mpitrace, plain};
use mpitrace_testing::synthetic::SyntheticRank;
use serde_json::{Value, json};

#[test]
fn info_tells_what_a_trace_is() {
    let folder = Folder::new();
    let ran = mpitrace(&["info", &folder.trace(&plain())]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let expected = "\
left by some rank: 2 communicators never freed
ranks       2 on node1
records     123, 1 perturbed by the tracer
started     2026-11-20T18:00:00Z, 130 ms from MPI_Init to MPI_Finalize
command     ./a.out
library     MPICH Version: 4.0.2 (mpich ABI)
clock       tsc at 1.000 GHz
tuning      UCX_TLS=sm

operation  function       communicator    bytes  root  datatype    reduction  ranks  repetitions
        0  MPI_Allreduce  MPI_COMM_WORLD      8        MPI_DOUBLE  MPI_SUM        2           60
        1  MPI_Bcast      comm-2              4     0  MPI_INT                    1            3
";
    assert_eq!(ran.stdout, expected);
}

#[test]
fn many_hosts_pinnings_and_clocks_are_counted() {
    let lines = |ranks: u32| {
        let folder = Folder::new();
        let ranks = (0..ranks).map(|number| {
            let mut rank = SyntheticRank::new(number, ranks);
            rank.header.boot_id = [number as u8 + 1; 16];
            rank.metadata.extend(
                [("host", format!("n{number}")), ("affinity", number.to_string())]
                    .map(|(name, value)| (name.to_owned(), value)),
            );
            let barrier = rank.operation("MPI_Barrier", 0, 0);
            rank.call(barrier, 10_000, 11_000);
            rank
        });
        mpitrace(&["info", &folder.trace(&ranks.collect::<Vec<_>>())]).stdout
    };
    for (ranks, expected) in [
        (
            2,
            [
                "2 on 2 hosts (n0: 0; n1: 1)\n",
                "rank 0: processor 0; rank 1: processor 1\n",
                "2 clock domains (rank 0; rank 1), ",
            ],
        ),
        (9, ["9 on 9 hosts\n", "9 different sets of processors (--json has them)\n", "9 clock domains, related by "]),
    ] {
        let info = lines(ranks);
        assert!(expected.iter().all(|expected| info.contains(expected)), "{info}");
    }
}

/// Hunold and Carpen-Amarie 2016, 5.7: results hold for the frequency of the processors.
#[test]
fn info_states_the_frequency_of_the_processors_and_compare_its_limits() {
    let folder = Folder::new();
    let with = |name: &str, limits: &str| {
        let mut ranks = plain();
        let factor = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        ranks[0].metadata.extend([factor("frequency_khz", "2300000"), factor("frequency_limits_khz", limits)]);
        ranks[1].metadata.push(factor("frequency_khz", "2100000"));
        std::fs::rename(folder.trace(&ranks), folder.path(name)).unwrap();
        folder.path(name)
    };
    let (fast, slow) = (with("fast.mpitrace", "800000-2300000"), with("slow.mpitrace", "800000-800000"));
    let info = mpitrace(&["info", &fast]).stdout;
    assert!(info.contains("\nfrequency   2.10 to 2.30 GHz in MPI_Init (0.80 to 2.30 GHz allowed)\n"), "{info}");
    assert_eq!(mpitrace(&["info", "--json", &fast]).json()["frequency_khz"], json!([2_100_000, 2_300_000]));
    assert!(!mpitrace(&["info", &folder.trace(&plain())]).stdout.contains("GHz in MPI_Init"));
    let compared = mpitrace(&["compare", "--json", "--a", &fast, "--b", &slow]).json();
    let factors = &compared[0]["factors"];
    assert_eq!(factors, &json!([{"name": "frequency_limits_khz", "a": "800000-2300000", "b": "800000-800000"}]));
}

#[test]
fn info_as_json_has_the_keys_that_others_rely_on() {
    let folder = Folder::new();
    let info = mpitrace(&["info", "--json", &folder.trace(&plain())]).json();
    assert_eq!(info["ranks"], 2);
    assert_eq!(info["records"], 123);
    assert_eq!(info["dropped"], 0);
    assert_eq!(info["complete"], true);
    assert_eq!(info["abi"], "mpich");
    assert_eq!(info["library"], "MPICH Version:\t4.0.2");
    assert_eq!(info["counters"], json!([]));
    assert_eq!(info["hosts"], json!({"node1": [0, 1]}));
    assert_eq!(info["factors"]["env.UCX_TLS"], "sm");
    let expected = json!({
        "operation": 1, "function": "MPI_Bcast", "communicator": "comm-2", "communicator_id": 2, "bytes": 4, "root": 0,
        "datatype": "MPI_INT", "reduction": null, "ranks": 1, "repetitions": 3, "incomplete": 0
    });
    assert_eq!(info["operations"][1], expected);
}

#[test]
fn an_incomplete_trace_tells_who_is_where_and_ends_with_1() {
    let folder = Folder::new();
    let trace = folder.trace(&killed());
    let ran = mpitrace(&["info", &trace]);
    assert_eq!(ran.code, 1);
    let expected = "
This trace is incomplete:
ranks 0-1 did not reach MPI_Finalize
rank 2 called MPI_Abort
rank 1 is in MPI_Allreduce on MPI_COMM_WORLD (operation 0, repetition 4); never entered by ranks 0, 2
ranks 0, 2 are in no recorded collective call
";
    assert!(ran.stdout.ends_with(expected), "{}", ran.stdout);

    let ran = mpitrace(&["info", "--json", &trace]);
    assert_eq!(ran.code, 1);
    let unfinished = &ran.json()["unfinished"];
    assert_eq!(unfinished[0]["inside"], json!([1]));
    assert_eq!(unfinished[0]["never_entered"], json!([0, 2]));
    let place = json!({"rank": 1, "state": "in_call", "function": "MPI_Allreduce", "communicator": "MPI_COMM_WORLD",
                       "sequence": 4, "since_s": null});
    assert_eq!(ran.json()["where"][1], place);
    assert_eq!(ran.json()["where"][0]["state"], "computing");
    let info = ran.json();
    assert_eq!((&info["stuck"], &info["ended"]["ranks"]), (&json!(null), &json!([2])), "no wait beside an abort");

    for command in ["dump", "categorize"] {
        let ran = mpitrace(&[command, "--json", &trace]);
        assert_eq!(ran.code, 1);
        assert_eq!(ran.stderr.lines().count(), 1);
        ran.json();
    }
}

#[test]
fn dump_lists_each_rank_s_own_calls() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    let rows = mpitrace(&["dump", "--json", &trace]).json();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 123);
    let expected = json!({
        "rank": 0, "thread": 0, "operation": 0, "repetition": 0, "function": "MPI_Allreduce",
        "communicator": "MPI_COMM_WORLD", "bytes": 8, "root": null, "enter_ns": 0.0, "exit_ns": 50_000.0,
        "error_ns": null, "perturbed": true, "waiting_ns": 100.0, "interrupted_ns": null, "interruptions": null,
        "cpu": null, "algorithm": null, "p2p_ns": null, "p2p_partner": null, "counters": {}
    });
    assert_eq!(rows[0], expected);
    let order: Vec<(u64, u64, u64)> = rows
        .iter()
        .map(|row| ["rank", "operation", "repetition"].map(|key| row[key].as_u64().unwrap()).into())
        .collect();
    let rank = |rank| (0..60).map(move |repetition| (rank, 0, repetition));
    let expected: Vec<_> = rank(0).chain(rank(1)).chain((0..3).map(|repetition| (1, 1, repetition))).collect();
    assert_eq!(order, expected);
    assert_eq!(rows[122]["thread"], 1);

    let rows = mpitrace(&["dump", "--json", "--rank", "1", "--operation", "1", "--limit", "2", &trace]).json();
    assert_eq!(rows.as_array().unwrap().len(), 2);
    assert_eq!(rows[1]["repetition"], 1);
}

#[test]
fn dump_as_csv_and_as_a_table() {
    let folder = Folder::new();
    let trace = folder.trace(&killed());
    let csv = mpitrace(&["dump", "--csv", "--rank", "1", &trace]).stdout;
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 6);
    assert_eq!(
        lines[0],
        "rank,thread,operation,repetition,function,communicator,bytes,root,enter_ns,exit_ns,error_ns,perturbed,\
         waiting_ns,interrupted_ns,interruptions,cpu,algorithm,p2p_ns,p2p_partner,init_ns,test_ns,wait_ns,tests"
    );
    assert_eq!(lines[1], "1,0,0,0,MPI_Allreduce,MPI_COMM_WORLD,8,,0,50,,false,0,,,,,,,,,,");
    assert_eq!(lines[5], "1,0,0,4,MPI_Allreduce,MPI_COMM_WORLD,8,,400,,,false,,,,,,,,,,,");

    let table = mpitrace(&["dump", "--rank", "1", &trace]).stdout;
    let last: Vec<&str> = table.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(last, ["1", "0", "0", "4", "MPI_Allreduce", "MPI_COMM_WORLD", "8", "400.0", "not", "returned"]);
}

#[test]
fn categorize_finds_first_warm_up_outlier_and_good() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    let ran = mpitrace(&["categorize", "--method", "roth", &trace]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let expected = "\
operation  function       communicator    bytes  root  ranks  repetitions  median µs  end of warm-up  first  warmup  outlier  good
        0  MPI_Allreduce  MPI_COMM_WORLD      8            2           60       2.00              20      1      19        1    39
        1  MPI_Bcast      comm-2              4     0      1            3       1.00                      1       0        0     2
";
    assert_eq!(ran.stdout, expected);

    let all = mpitrace(&["categorize", "--method", "roth", "--json", &trace]).json();
    let mut first = all[0].clone();
    let lists =
        ["category", "run_time_ns", "repetition"].map(|key| first.as_object_mut().unwrap().remove(key).unwrap());
    let expected = json!({
        "operation": 0, "function": "MPI_Allreduce", "communicator": "MPI_COMM_WORLD", "communicator_id": 0,
        "bytes": 8, "root": null, "datatype": "MPI_DOUBLE", "reduction": "MPI_SUM",
        "ranks": 2, "repetitions": 60, "incomplete": 0, "method": "roth", "time": "local", "first_repetition": 0,
        "median_ns": 2000.0, "not_one_level": null, "slow_every": null, "late_change": null, "warmup_end": 20, "overlaps": 20,
        "counts": {"first": 1, "warmup": 19, "outlier": 1, "good": 39}
    });
    assert_eq!(first, expected);
    assert_eq!([&lists[0][0], &lists[0][1], &lists[0][20], &lists[0][50]], ["first", "warmup", "good", "outlier"]);
    assert_eq!((&lists[1][0], &lists[1][20]), (&json!(50_000.0), &json!(2000.0)));
    assert_eq!(lists[2][59], 59);
}

#[test]
fn the_run_time_can_be_chosen() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    let of = |options: &[&str]| -> Value {
        let mut arguments = vec!["categorize", "--method", "roth", "--json", "--operation", "0", &trace];
        arguments.extend(options);
        mpitrace(&arguments).json()[0].clone()
    };
    // Rank 1 enters 100 ns after rank 0 and leaves with it.
    assert_eq!(of(&["--time", "global"])["median_ns"], 2000.0);
    assert_eq!(of(&["--time", "last"])["median_ns"], 1900.0);

    let listed = mpitrace(&["categorize", "--operation", "1", &trace]).stdout;
    let expected =
        "\nrepetition  run_time_ns  category\n         0       1000.0  first\n         1       1000.0  good\n";
    assert!(listed.contains(expected), "{listed}");
}

#[test]
fn wrong_usage_ends_with_2_and_prints_nothing_but_a_line() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    let text = folder.file("text", b"This is no trace, but it is long enough to be one: sixty-four bytes, and more.");
    let cases: [(&[&str], &str); 8] = [
        (&["info", "/nonexistent.mpitrace"], "/nonexistent.mpitrace: No such file"),
        (&["info", "/"], "no trace is in this folder"),
        (&["dump", &text], "is not a trace of mpitrace"),
        (&["dump", "--operation", "2", &trace], "no operation 2: there are operations 0 to 1"),
        (&["dump", "--rank", "2", &trace], "no rank 2: this trace has ranks 0-1"),
        (&["categorize", "--operation", "7", &trace], "no operation 7"),
        (&["categorize", "--method", "guess", &trace], "possible values: robust, roth"),
        (&["info", &trace, &trace], "a.mpitrace: rank 0 is in "),
    ];
    for (arguments, message) in cases {
        let ran = mpitrace(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::new();
    let mut rank = mpitrace_testing::synthetic::SyntheticRank::new(0, 1);
    let barrier = rank.operation("MPI_Barrier", 0, 0);
    (0..20_000).for_each(|i| rank.call(barrier, 10 * i + 1, 10 * i + 5));
    let trace = folder.trace(&[rank]);
    for format in [&[][..], &["--csv"], &["--json"]] {
        let mut child = crate::support::command(&["dump", &trace])
            .args(format)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut seen = [0; 100];
        child.stdout.take().unwrap().read_exact(&mut seen).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
    }
}

#[test]
fn where_nothing_can_be_written_is_said() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = crate::support::command(&["info", &trace]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"));
}

#[test]
fn recover_says_when_there_is_nothing_to_recover() {
    let folder = Folder::new();
    folder.file("mpitrace-0-x.segment", b"not a segment");
    let output = folder.path("out.mpitrace");
    let ran = mpitrace(&["recover", &folder.path(""), "-o", &output]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1));
    assert!(ran.stderr.contains("no left-over segments"), "{}", ran.stderr);
    let ran = mpitrace(&["recover", "/nonexistent", "-o", &output]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (2, 1));
}

#[test]
fn run_ends_as_the_job_does() {
    let library = std::env::current_exe().unwrap();
    let library = library.to_str().unwrap();
    // Preloading something that is no library makes the dynamic linker complain, and the program run on.
    let cases: [(&[&str], i32); 5] = [
        (&["true"], 0),
        (&["sh", "-c", "exit 7"], 7),
        (&["sh", "-c", "kill -TERM $$"], 128 + 15),
        (&["/nonexistent/program"], 127),
        (&["/etc/passwd"], 126),
    ];
    for (job, code) in cases {
        let arguments = [&["run", "--library", library, "--"], job].concat();
        assert_eq!(mpitrace(&arguments).code, code, "{job:?}");
    }
    let ran =
        mpitrace(&["run", "--library", library, "-e", "r01", "--", "sh", "-c", "echo $LD_PRELOAD $MPITRACE_EVENTS"]);
    assert_eq!(ran.stdout, format!("{library} r01\n"));
    let ran = mpitrace(&["run", "--library", "/nonexistent.so", "--", "true"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (2, "mpitrace: /nonexistent.so: no such library\n"));
}

#[test]
fn manual_pages_and_completions_come_from_the_parser() {
    let folder = Folder::new();
    assert_eq!(mpitrace(&["man", &folder.path("")]).code, 0);
    let page = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap();
    assert!(page("mpitrace.1").contains("mpitrace\\-categorize(1)"));
    assert!(page("mpitrace-run.1").contains("\\-\\-events"));
    for (shell, text) in [("zsh", "#compdef mpitrace"), ("fish", "complete -c mpitrace")] {
        assert!(mpitrace(&["completions", shell]).stdout.contains(text), "{shell}");
    }
}

#[test]
fn bash_completes_commands_options_and_values() {
    let script = mpitrace(&["completions", "bash"]).stdout;
    // What bash does when Tab is pressed behind the last of these words.
    let complete = |words: &str| -> Vec<String> {
        let line = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _mpitrace mpitrace \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"\n\
             echo \"${{COMPREPLY[@]}}\""
        );
        let output = std::process::Command::new("bash").args(["--norc", "-c", &line]).output().expect("bash");
        String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(complete("mpitrace cat"), ["categorize"]);
    // Hidden commands are not offered.
    assert_eq!(complete("mpitrace wat"), ["watch"]);
    assert_eq!(complete("mpitrace clock --exp"), ["--export"]);
    assert_eq!(complete("mpitrace categorize --method ''"), ["robust", "roth"]);
}

#[test]
fn each_json_output_has_its_schema() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    let of = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_str(&mpitrace(&[arguments, &[&trace, "--json"]].concat()).stdout).unwrap()
    };
    for command in ["info", "summary", "clock", "report"] {
        let told = of(&[command]);
        assert_eq!((&told["schema"], told.get("rows")), (&format!("mpitrace/{command}/1").into(), None));
    }
    for command in ["dump", "categorize", "stats", "diagnose"] {
        let told = of(&[command]);
        assert_eq!(told["schema"], format!("mpitrace/{command}/1"));
        assert!(told["rows"].as_array().is_some_and(|rows| rows.len() > 1), "{command}");
        assert_eq!(told.as_object().map(serde_json::Map::len), Some(2), "{command}");
    }
    assert_eq!(of(&["summary", "--by", "rank"])["schema"], "mpitrace/summary-by/1");
}
