//! No page is wider than the terminal, or than 100 columns where it is unknown.

use std::process::Command;

use mpitrace_testing::synthetic::{self, SyntheticRank, SyntheticRequest};
use unicode_width::UnicodeWidthStr;

use crate::support::{Folder, command, killed, plain};

/// Names as long as programs give them, several communicators of one name, a region, requests, and a counter.
fn long_names() -> [SyntheticRank; 4] {
    [0, 1, 2, 3].map(|number| {
        let mut rank = SyntheticRank::new(number, 4);
        let fact = |name: &str, value: String| (name.to_owned(), value);
        rank.metadata.extend([
            fact("host", format!("node{number}.cluster.example.org")),
            fact("command", "./a.out ".repeat(60)),
            fact("launcher", "mpirun --mca coll_tuned_use_dynamic_rules 1 ".repeat(12)),
            fact("compiler_flags", "-fno-omit-frame-pointer -march=native ".repeat(30)),
            fact("env.UCX_TLS", "sm,self,tcp".repeat(20)),
        ]);
        let row = rank.communicator(
            9 + u64::from(number / 2),
            2,
            number % 2,
            Some("rows of the process grid of the ocean model"),
        );
        let operations = [
            rank.operation("MPI_Allreduce", 0, 123_456_789),
            rank.operation("MPI_Barrier", row, 0),
            rank.operation("MPI_Neighbor_alltoallv_init", row, 16_392),
            rank.region("assemble the matrix and exchange its halo"),
        ];
        rank.describe(operations[0], None, "MPI_DOUBLE_PRECISION", Some("MPI_SUM"));
        let started = rank.operation("MPI_Ialltoall", 0, 4096);
        for i in 0..80u64 {
            for (place, &operation) in (0..).zip(&operations) {
                let enter = 10_000_000 * i + 1_000_000 * place + 50_000 * u64::from(number);
                rank.call(operation, enter, enter + 200_000 + 7919 * (i % 13) + if i < 9 { 700_000 } else { 0 });
            }
            let request = SyntheticRequest { init: 50, test: 20, wait: 100, tests: 3 };
            let enter = 10_000_000 * i + 5_000_000;
            rank.call_with_request(started, enter, enter + 10_000, request);
        }
        (rank.header.last_anchor.tick, rank.header.last_anchor.raw_ns) = (900_000_000, 900_000_000);
        rank
    })
}

/// The output at this width; at an unknown one for `None`.
fn page(arguments: &[&str], width: Option<usize>) -> String {
    let mut command: Command = command(arguments);
    match width {
        Some(width) => command.env("COLUMNS", width.to_string()),
        None => command.env_remove("COLUMNS"),
    };
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code < 2), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn no_page_is_wider_than_the_terminal() {
    let folder = Folder::new();
    let traces = [("plain", &plain()[..]), ("killed", &killed()), ("long", &long_names())];
    let files = traces.map(|(name, ranks)| {
        let path = folder.path(&format!("{name}.mpitrace"));
        synthetic::write(path.as_ref(), ranks).unwrap();
        path
    });
    let mut commands: Vec<Vec<&str>> = vec![vec!["watch", "--help"]];
    for file in &files {
        for of_one in [&["--operation", "0"][..], &[]] {
            commands.extend(["stats", "diagnose", "dump", "categorize"].map(|name| [&[name, file], of_one].concat()));
        }
        commands.extend(["info", "summary", "clock", "report"].map(|name| vec![name, file.as_str()]));
    }
    let by = ["operation", "function", "communicator", "size", "site", "rank", "partner", "region"];
    commands.extend(by.map(|by| vec!["summary", &files[2], "--by", by]));
    commands.push(vec!["stats", &files[2], "--per-rank", "--operation", "0"]);
    commands.push(vec!["compare", "--a", &files[0], "--b", &files[0]]);
    commands.push(vec!["compare", "--a", &files[2], "--b", &files[2]]);
    // Where it is unknown, it is 100.
    for width in [Some(80), None] {
        for arguments in &commands {
            let text = page(arguments, width);
            assert!(!text.is_empty(), "{arguments:?}");
            for line in text.lines().filter(|line| !line.starts_with("Next: ")) {
                let most = width.unwrap_or(100);
                assert!(line.width() <= most, "{arguments:?} at {width:?} has {} columns: {line}", line.width());
            }
        }
    }
}

/// The commands that a page of help lists below its heading `Commands:`.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn help_fits_a_screen() {
    let help = |words: &[&str]| page(&[words, &["--help"]].concat(), None);
    let commands = listed(&help(&[]));
    assert!(commands.len() >= 18, "{commands:?}");
    for name in &commands {
        let of_command = help(&[name]);
        let inner = listed(&of_command);
        assert_eq!(name == "benchmark", inner.len() > 5, "{name}: {inner:?}");
        let pages = inner.iter().map(|inner| (format!("{name} {inner}"), help(&[name, inner])));
        for (name, text) in pages.chain([(name.clone(), of_command)]) {
            assert!(text.lines().count() <= 60, "{name} has {} lines:\n{text}", text.lines().count());
            assert!(text.contains("\nUsage: mpitrace ") && text.contains("--help"), "{name}:\n{text}");
        }
    }
    // Those that would be longer have the whole description, each option, and their values.
    let compare = help(&["compare"]);
    for part in ["A crossing: one side", "--alternative", "greater", "--y-label", "mpitrace-compare"] {
        assert!(compare.contains(part), "{part}:\n{compare}");
    }
}

#[test]
fn wide_shows_all_columns() {
    let folder = Folder::new();
    let file = folder.trace(&long_names());
    let narrow = page(&["stats", &file], Some(80));
    assert!(narrow.contains("(not shown: ") && !narrow.contains("ESS  "), "{narrow}");
    let wide = page(&["stats", &file, "--wide"], Some(80));
    let titles = wide.lines().next().unwrap();
    assert!(["median", "p95", "sd", "mad", "ESS", "modes"].iter().all(|title| titles.contains(title)), "{titles}");
    // Four ranks in two pairs: two communicators of one name.
    assert!(wide.contains("ocean model (ranks 0-1)") || wide.contains("ocean model (ranks 0, 2)"), "{wide}");
    assert!(!wide.contains("0 bytes"), "{wide}");
}
