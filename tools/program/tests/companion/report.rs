//! `mpitrace report` where no browser is needed: the terminal, the data within a page, and what goes wrong.

use std::path::Path;
use std::process::Command;

use mpitrace_testing::Random;
use mpitrace_testing::synthetic::SyntheticRank;
use serde_json::Value;

use crate::support::{Folder, Ran, command, killed, layers, mpitrace, plain};

/// Held against the file of this name in golden/. `RENEW=1 cargo test -p mpitrace-tools --test companion report` writes
/// them.
#[track_caller]
fn assert_golden(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/companion/golden").join(name);
    if std::env::var_os("RENEW").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text, expected, "differs from {}", file.display());
}

fn report(arguments: &[&str]) -> Ran {
    mpitrace(&[&["report"], arguments].concat())
}

#[test]
fn a_pipe_gets_plots_in_letters_of_80_columns() {
    let folder = Folder::new();
    let file = folder.trace(&plain());
    let ran = command(&["report", &file]).env("COLUMNS", "80").output().unwrap();
    let stdout = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty());
    assert_golden("report.txt", &stdout.replace(&file, "FILE"));
    assert!(!stdout.contains('\x1b'));
    let plots = stdout.lines().filter(|line| line.contains(" |") || line.contains(" +"));
    assert!(plots.clone().count() > 60 && plots.clone().all(|line| line.chars().count() <= 80));
}

#[test]
fn a_page_has_the_numbers_the_plots_and_the_values_behind_them() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    let page = folder.path("page.html");
    let ran = report(&[&trace, "-o", &page]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    let text = std::fs::read_to_string(&page).unwrap();
    let json = report(&[&trace, "--json"]).json();
    // The values of each repetition that is drawn, by each definition of the run time, and then the other facts.
    let (_, rest) = text.split_once("<div class=\"body\">\n<script type=\"application/json\">").unwrap();
    let columns: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    let first = &json["fingerprints"][0];
    let names: Vec<&str> = columns.as_array().unwrap().iter().map(|column| column[0].as_str().unwrap()).collect();
    assert_eq!(names, ["repetition", "local", "global", "last", "longest on rank", "last to come was rank"]);
    assert_eq!(columns[0][2], first["points"]["repetition"]);
    let numbers = |list: &Value| -> Vec<f64> { list.as_array().unwrap().iter().filter_map(Value::as_f64).collect() };
    for time in 0..3 {
        assert_eq!(numbers(&columns[1 + time][2]), numbers(&first["points"]["run_time_ns"][time]));
    }
    // Ten plots of the operation of two ranks, eight of them by three definitions, eight of that of one rank, of which
    // one is empty; the timeline, and around two repetitions of either operation.
    let plots = |name: &str| text.matches(&format!("data-plot=\"{name}\" tabindex=\"0\"><svg ")).count();
    assert_eq!(["run-time", "ecdf", "arrival", "rank-time", "timeline"].map(plots), [6, 6, 1, 1, 5]);
    assert_eq!(
        (text.matches("<svg ").count(), text.matches("</svg>").count()),
        (2 * 21 - 6 + 2 + 5, 2 * 21 - 6 + 2 + 5)
    );
    // The verdict, the account, the table of operations and that of numbers are there without a script.
    for part in [
        "There is little to gain in collective calls.",
        "<th class=\"number\">end of warm-up</th>",
        "<td>median</td><td class=\"number\">2.00 \u{b5}s</td>",
        "<li>robust: the warm-up ends at repetition 20, warmup; the level changes at 20</li>",
        ">outlier 1</text>",
    ] {
        assert!(text.contains(part), "{part} is not in the page");
    }
}

#[test]
fn the_json_has_all_that_is_drawn() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    let json = report(&[&trace, "--json"]).json();
    let first = &json["fingerprints"][0];
    assert_eq!(
        (&first["function"], &first["bytes"], &first["repetitions"]),
        (&"MPI_Allreduce".into(), &8.into(), &60.into())
    );
    assert_eq!(first["nodes"], serde_json::json!([["node1", [0, 1]]]));
    let local = &first["times"][0];
    assert_eq!(local["counts"], serde_json::json!([1, 19, 1, 39]));
    assert_eq!(local["cuts"][0]["warmup_end"], 20);
    assert_eq!(first["points"]["category"][0], format!("f{}{}o{}", "w".repeat(19), "g".repeat(30), "g".repeat(9)));
    // Rank 1 comes 100 ns late; one rank alone has no map.
    assert_eq!(first["heat"]["arrival_ns"][1][30], 100.0);
    assert_eq!(json["fingerprints"][1]["heat"], Value::Null);
    let categories = &mpitrace(&["categorize", &trace, "--json"]).json()[0];
    assert_eq!(first["points"]["run_time_ns"][0], categories["run_time_ns"]);
    // The numbers are those of `stats`, under the same keys.
    for (category, key) in [("all", "all"), ("good", "good")] {
        let stats = &mpitrace(&["stats", &trace, "--json", "--operation", "0", "--category", category]).json()[0];
        for (name, value) in local[key].as_object().unwrap() {
            assert_eq!(&stats[name], value, "{name} of {category}");
        }
    }
}

#[test]
fn many_repetitions_are_thinned_and_the_page_says_so() {
    let folder = Folder::new();
    let ranks = [0].map(|number| {
        let mut rank = SyntheticRank::new(number, 1);
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        for i in 0..100_000u64 {
            let took = if i == 70_001 { 1_000_000 } else { 1000 + i * 7919 % 100 };
            rank.call(barrier, 2_000_000 * i, 2_000_000 * i + took);
        }
        rank
    });
    let trace = folder.trace(&ranks);
    let json = report(&[&trace, "--json"]).json();
    let points = &json["fingerprints"][0]["points"];
    let drawn = points["repetition"].as_array().unwrap();
    assert!((2_000..=4_010).contains(&drawn.len()), "{}", drawn.len());
    assert!(drawn.contains(&70_001.into()), "the slowest is drawn");
    assert!(points["chosen"].as_str().unwrap().starts_with(&format!("{} of 100000 repetitions: ", drawn.len())));
    let counted: u64 = json["fingerprints"][0]["times"][0]["histogram"]["counts"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|bin| bin.as_array().unwrap()[1..].iter().map(|count| count.as_u64().unwrap()))
        .sum();
    assert_eq!(counted, 100_000, "histograms are of all");
    let page = folder.path("page.html");
    report(&[&trace, "-o", &page]);
    let bytes = std::fs::metadata(&page).unwrap().len();
    assert!(bytes < 2_000_000, "{bytes} bytes");
}

#[test]
fn of_more_than_a_hundred_operations_those_that_took_longest_are_shown() {
    let folder = Folder::new();
    let ranks = [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2);
        let operations: Vec<u32> = (0..120).map(|bytes| rank.operation("MPI_Alltoall", 0, bytes)).collect();
        for i in 0..120 * 500u64 {
            let of = i % 120;
            rank.call(operations[of as usize], 50_000 * i, 50_000 * i + 100 * of + i * 7919 % 97);
        }
        rank
    });
    let trace = folder.trace(&ranks);
    let json = report(&[&trace, "--json"]).json();
    let shown: Vec<u64> =
        json["fingerprints"].as_array().unwrap().iter().map(|one| one["operation"].as_u64().unwrap()).collect();
    assert_eq!(shown, (20..120).collect::<Vec<u64>>());
    assert_eq!(json["overview"].as_array().unwrap().len(), 120);
    assert!(json["notes"][0].as_str().unwrap().starts_with("100 of 120 operations are shown"));
    let page = folder.path("page.html");
    report(&[&trace, "-o", &page]);
    let bytes = std::fs::metadata(&page).unwrap().len();
    assert!(bytes < 10_000_000, "{bytes} bytes");
}

#[test]
fn an_incomplete_trace_is_shown_and_is_a_finding() {
    let folder = Folder::new();
    let page = folder.path("page.html");
    let ran = report(&[&folder.trace(&killed()), "-o", &page]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{}", ran.stderr);
    assert!(Path::new(&page).exists());
}

#[test]
fn run_times_of_other_tools_have_a_fingerprint_as_well() {
    let folder = Folder::new();
    let rows: String = (0..40).map(|i| format!("{i},0,runtime,{}\n{i},0,misses,{}\n", 1000 + i, 3 * i)).collect();
    let csv = folder.file("times.csv", rows.as_bytes());
    let json = report(&["--from", "csv", &csv, "--json"]).json();
    let fingerprint = &json["fingerprints"][0];
    assert_eq!((fingerprint["times"].as_array().unwrap().len(), &fingerprint["repetitions"]), (1, &40.into()));
    assert_eq!(fingerprint["points"]["counters"][0]["slowest"][39], 117.0);
    let ran = report(&["--from", "csv", &csv, "--time", "global"]);
    assert_refused(&ran, "only --time local exists");
}

#[track_caller]
fn assert_refused(ran: &Ran, why: &str) {
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1), "{}", ran.stderr);
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_shown_or_written_is_told_in_a_line() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    let file = folder.file("file", b"");
    let nowhere = folder.path("no/such/page.html");
    let pictures = folder.path("pictures");
    let below_file = format!("{file}/pictures");
    for (arguments, why) in [
        (vec![trace.as_str(), "--operation", "9"], "no operation 9: there are operations 0 to 1"),
        (vec![&trace, "-o", &nowhere], "there is no folder"),
        (
            vec![&trace, "-o", &file],
            "is a file; the name of a page ends in .html, of a picture in .svg, .png, .pdf or .csv",
        ),
        (vec![&trace, "-o", &below_file], "file/pictures: Not a directory"),
        (vec![&trace, "-o", &pictures, "--plot", "pie"], "no plot pie: there are run-time, run-time-good, histogram"),
        (vec![&trace, "-o", "a.html", "--plot", "box"], "--plot chooses among pictures"),
        (
            vec![&trace, "-o", "a.html", "--size", "84x55"],
            "--size is for pictures: -o names a folder or a picture, not a.html",
        ),
        (vec![&trace, "-o", &pictures, "--size", "84"], "expected: width and height in mm, 40 to 1000, as in 84x55"),
        (vec![&trace, "-o", &pictures, "--size", "5x5"], "expected: width and height in mm"),
        (vec![&trace, "--plot", "box"], "--output <OUT>"),
        (vec![], "<FILE>"),
    ] {
        assert_refused(&report(&arguments), why);
    }
    assert!(!Path::new(&pictures).exists(), "nothing is made for a plot that does not exist");
}

#[test]
fn a_plot_alone_is_four_files_of_the_size_that_is_asked_for() {
    let folder = Folder::new();
    let (trace, pictures) = (folder.trace(&plain()), folder.path("pictures"));
    let arguments = [&trace, "-o", &pictures, "--plot", "histogram", "--operation", "0"];
    let ran = report(&[&arguments[..], &["--size", "84x55", "--title", "A <title>"]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let svg = std::fs::read_to_string(format!("{pictures}/0-MPI_Allreduce-8B-histogram.svg")).unwrap();
    // 84 mm of 96 units an inch.
    assert!(svg.contains("width=\"317.48\" height=\"207.87\"") && svg.contains(">A &lt;title&gt;</text>"), "{svg}");
    let pdf = std::fs::read(format!("{pictures}/0-MPI_Allreduce-8B-histogram.pdf")).unwrap();
    assert!(String::from_utf8_lossy(&pdf).contains("/MediaBox [0 0 238.11 155.91]"));
    let mut names: Vec<String> =
        std::fs::read_dir(&pictures).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let endings = names.iter().map(|name| name.strip_prefix("0-MPI_Allreduce-8B-histogram.").unwrap());
    assert_eq!(endings.collect::<Vec<_>>(), ["csv", "pdf", "png", "svg"]);
    report(&[&arguments[..], &["--title", ""]].concat());
    let svg = std::fs::read_to_string(format!("{pictures}/0-MPI_Allreduce-8B-histogram.svg")).unwrap();
    assert!(!svg.contains(">Histogram"), "{svg}");
}

/// Hunold and Carpen-Amarie 2016, figures 4 and 16, 10; Roth 2021, figures 4.3, 4.7 and 4.8.
#[test]
fn pictures_show_run_times_over_time_exits_metrics_and_each_rank() {
    let folder = Folder::new();
    // 1000 repetitions of two ranks: 100 twice as slow, and then a rise by a fifth; rank 1 leaves 500 ns behind rank 0.
    let mut random = Random::new(4);
    let noise: Vec<u64> = (0..1000).map(|_| (200.0 * random.uniform()) as u64).collect();
    let level = |k: u64| if k < 100 { 20_000 } else { 10_000 + 2 * k };
    let ranks: Vec<SyntheticRank> = (0..2)
        .map(|number| {
            let mut rank = SyntheticRank::new(number, 2);
            let operation = rank.operation("MPI_Allreduce", 0, 8);
            for k in 0..1000 {
                let begin = 1_000_000 + 100_000 * k;
                rank.call(operation, begin, begin + level(k) + noise[k as usize] + 500 * u64::from(number));
            }
            rank
        })
        .collect();
    let (trace, pictures) = (folder.trace(&ranks), folder.path("pictures"));
    assert_eq!(report(&[&trace, "-o", &pictures]).stderr, "");
    let svg = |name: &str| std::fs::read_to_string(format!("{pictures}/0-MPI_Allreduce-8B-{name}.svg")).unwrap();

    let drift = svg("drift");
    assert!(drift.contains(">Run time by bins; ") && drift.contains(">median<"), "{drift}");
    assert_eq!(layers(&drift, "median")[0].len(), 20);
    let json = report(&[&trace, "--json"]).json();
    let course = &json["fingerprints"][0]["times"][0]["course"];
    assert_eq!(
        (course["bins"][3]["repetitions"].as_u64(), course["bins"][3]["first_repetition"].as_u64()),
        (Some(50), Some(150))
    );
    // The warm-up is two of twenty bins; all others rise.
    assert!(course["tau"].as_f64().unwrap() > 0.6 && course["p"].as_f64().unwrap() < 1e-3, "{course}");
    let interval = &course["bins"][10]["median_interval_ns"];
    let median = course["bins"][10]["median_ns"].as_f64().unwrap();
    assert!(interval[0].as_f64().unwrap() <= median && median <= interval[1].as_f64().unwrap(), "{course}");

    let lags = svg("autocorrelation");
    assert!(lags.contains(">lag, repetitions<") && lags.contains(">95 % of independent repetitions<"), "{lags}");
    // What rises depends on the past: all 50 lags are beyond the limits.
    assert!(lags.contains(">50 of 50 lags beyond the limits<"), "{lags}");

    let departure = svg("departure");
    assert!(departure.contains(">Departure after the first rank<") && departure.contains("<image "), "{departure}");
    let heat = &json["fingerprints"][0]["heat"]["departure_ns"];
    assert_eq!((heat[0][5].as_f64(), heat[1][5].as_f64()), (Some(0.0), Some(500.0)));

    let metrics = svg("metrics");
    for name in ["cumulative mean", "cumulative median", "cumulative minimum", "running mean", "running median"] {
        assert_eq!(layers(&metrics, name)[0].len(), 1000, "{name}");
    }
    // The cumulative minimum falls where the warm-up ends, by the most of all differences.
    let differences = svg("metric-differences");
    assert!(differences.contains(">difference / median<"), "{differences}");
    let lowest = |name: &str| {
        let line = layers(&differences, name).remove(0);
        line.into_iter().enumerate().max_by(|a, b| a.1.1.total_cmp(&b.1.1)).unwrap()
    };
    assert_eq!(lowest("cumulative minimum").0, 100);
    assert!(lowest("cumulative minimum").1.1 > lowest("cumulative mean").1.1 + 20.0, "{:?}", lowest("cumulative mean"));
}

/// Roth 2021, figure 4.3: each dot is a rank in a repetition.
#[test]
fn a_counter_is_drawn_against_the_time_of_each_rank_with_its_coefficients() {
    let mut lines = "iteration id, MPI rank, metric name, value\n".to_owned();
    for repetition in 0..50 {
        for rank in 0..4 {
            let time = 1000 + repetition * 37 % 50 + 100 * rank;
            lines.push_str(&format!(
                "{repetition}, {rank}, runtime, {time}\n{repetition}, {rank}, misses, {}\n",
                9000 - 2 * time
            ));
        }
    }
    let folder = Folder::new();
    let (file, pictures) = (folder.file("ranks.csv", lines.as_bytes()), folder.path("pictures"));
    let ran = report(&["--from", "csv", &file, "-o", &pictures, "--plot", "counter-misses-ranks"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let mut files = std::fs::read_dir(&pictures).unwrap().map(|entry| entry.unwrap().path());
    let svg = files.find(|path| path.extension().is_some_and(|ending| ending == "svg")).unwrap();
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(svg.contains(">misses and run time of each rank: Pearson -1.00, Spearman -1.00<"), "{svg}");
    let categories = ["first", "warmup", "outlier", "good"];
    let dots: Vec<(f64, f64)> = categories.into_iter().flat_map(|name| layers(&svg, name)).flatten().collect();
    assert_eq!(dots.len(), 4 * 50);
    // On one line that falls: further right is further down, in steps of the same height.
    let slope = |a: (f64, f64), b: (f64, f64)| (b.1 - a.1) / (b.0 - a.0);
    let [left, right] =
        [f64::min as fn(f64, f64) -> f64, f64::max].map(|of| dots.iter().map(|dot| dot.0).reduce(of).unwrap());
    let at = |x: f64| *dots.iter().find(|dot| dot.0 == x).unwrap();
    let whole = slope(at(left), at(right));
    assert!(
        whole > 0.1
            && dots
                .iter()
                .filter(|dot| dot.0 > left + 50.0)
                .all(|&dot| (slope(at(left), dot) / whole - 1.0).abs() < 0.02)
    );
}

/// Three sizes of one function are a line; a function of one size is none.
#[test]
fn medians_of_a_run_are_drawn_over_message_sizes() {
    let folder = Folder::new();
    let mut rank = SyntheticRank::new(0, 1);
    let mut now = 1_000_000;
    for (function, bytes, level) in
        [("MPI_Bcast", 8, 1_000), ("MPI_Bcast", 1024, 4_000), ("MPI_Barrier", 0, 2_000), ("MPI_Bcast", 65_536, 90_000)]
    {
        let operation = rank.operation(function, 0, bytes);
        for k in 0..50 {
            rank.call(operation, now, now + level + k % 7);
            now += 2 * level;
        }
    }
    let trace = folder.trace(&[rank]);
    let (pictures, page) = (folder.path("pictures"), folder.path("page.html"));
    assert_eq!(report(&[&trace, "-o", &pictures, "--plot", "sizes"]).code, 0);
    let mut names: Vec<_> = std::fs::read_dir(&pictures).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["sizes.csv", "sizes.pdf", "sizes.png", "sizes.svg"]);
    let svg = std::fs::read_to_string(format!("{pictures}/sizes.svg")).unwrap();
    assert!(svg.contains(">MPI_Bcast, MPI_COMM_WORLD<") && !svg.contains("Barrier"), "{svg}");
    assert_eq!(report(&[&trace, "-o", &page]).code, 0);
    let page = std::fs::read_to_string(&page).unwrap();
    let (_, figure) = page.split_once("data-plot=\"sizes\"").unwrap();
    let values = figure.split_once("application/json\">").unwrap().1.split_once("</script>").unwrap().0;
    let values: Value = serde_json::from_str(values).unwrap();
    let overview = report(&[&trace, "--json"]).json()["overview"].clone();
    let number = |value: &Value| value.as_f64().unwrap();
    let medians = [0, 1, 3].map(|row: usize| number(&overview[row]["good_median"]["value_ns"]));
    assert_eq!(values["layers"][0]["line"][0], serde_json::json!([8, 1024, 65_536]));
    assert_eq!([0, 1, 2].map(|size: usize| number(&values["layers"][0]["line"][1][size])), medians);
    let interval = &overview[0]["good_median"]["interval"];
    let bar = [0, 1, 2, 3].map(|end: usize| number(&values["layers"][1]["bars"][0][end]));
    assert_eq!(bar, [8.0, 8.0, number(&interval["lower_ns"]), number(&interval["upper_ns"])]);
}

/// Rank 1 comes 60 us late to 200 barriers of 100 us, each millisecond.
#[test]
fn the_timeline_has_the_time_of_the_account() {
    let rank = |number| {
        let mut rank = SyntheticRank::new(number, 2);
        rank.header.leader = 0;
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        for k in 1..=200u64 {
            rank.call(barrier, 1_000_000 * k + 60_000 * u64::from(number), 1_000_000 * k + 100_000 + k % 2);
        }
        rank
    };
    let folder = Folder::new();
    let json = report(&[&folder.trace(&[rank(0), rank(1)]), "--json"]).json();
    let timeline = &json["run"]["timeline"];
    let length = timeline["to_ns"].as_f64().unwrap() - timeline["from_ns"].as_f64().unwrap();
    let total = |map: &str, row: usize| -> f64 {
        let cells = timeline[map][row].as_array().unwrap();
        cells.iter().map(|cell| cell.as_f64().unwrap() / 1000.0).sum::<f64>() / cells.len() as f64 * length
    };
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 0.01 * length, "{found}, {expected}");
    close(total("waiting", 0), 200.0 * 60_000.0);
    close(total("waiting", 1), 0.0);
    (0..2).for_each(|row| close(total("communicating", row), 200.0 * 40_000.0));
    // Around the slowest repetition rank 0 waits, and then both communicate; no other call is near.
    let detail = &timeline["details"][0];
    let bars: Vec<(u64, i64, char)> = detail["bars"].as_array().unwrap().iter().map(bar).collect();
    assert_eq!(bars, [(0, 60_000, 'w'), (0, 40_001, 'c'), (1, 40_001, 'c')], "{detail}");
}

/// Row, length in ns, and what was done.
fn bar(bar: &Value) -> (u64, i64, char) {
    let number = |place: usize| bar[place].as_i64().unwrap();
    (bar[0].as_u64().unwrap(), number(2) - number(1), bar[3].as_str().unwrap().chars().next().unwrap())
}

/// A limit on the size of files stands in for a disk that is full: writing fails in the midst of the page.
#[test]
fn a_full_disk_leaves_no_half_page() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    for out in ["page.html", "pictures"] {
        let line = "trap '' XFSZ; ulimit -f 8; exec \"$0\" report \"$1\" -o \"$2\" --operation 0";
        let output = Command::new("sh")
            .args(["-c", line, env!("CARGO_BIN_EXE_mpitrace"), &trace, &folder.path(out)])
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len(), stderr.lines().count()), (Some(2), 0, 1), "{stderr}");
        assert!(stderr.contains("cannot write ") && stderr.contains(": File too large"), "{stderr}");
    }
    assert!(!Path::new(&folder.path("page.html")).exists());
    let left = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".part"))
            .collect()
    };
    assert_eq!((left(&folder.path(".")), left(&folder.path("pictures"))), (vec![], vec![]));
}
