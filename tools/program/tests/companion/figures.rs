//! Pictures for papers: of each kind that a command draws the size, the texts, the ticks and the marks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use mpitrace_synchronise::Method;
use mpitrace_testing::synthetic::{self, SyntheticRank};

use crate::clock;
use crate::support::{Folder, Ran, mpitrace, plain};

/// 84 x 60 mm in the units of each format.
const SIZE: [&str; 2] = ["--size", "84x60"];
const SVG_SIZE: &str = "width=\"317.48\" height=\"226.77\"";
const PDF_SIZE: &str = "/MediaBox [0 0 238.11 170.08]";
const PNG_SIZE: [u32; 2] = [992, 709];
/// 300 dots an inch.
const PER_METRE: u32 = 11_811;

/// The standard output of a tool of poppler; `None`: it is not installed, which is said.
fn poppler(tool: &str, arguments: &[&str]) -> Option<String> {
    if Command::new(tool).arg("-v").stderr(Stdio::null()).stdout(Stdio::null()).status().is_err() {
        assert!(std::env::var_os("NOTHING_SKIPPED").is_none(), "{tool} of poppler-utils is not installed");
        eprintln!("skipped: {tool} of poppler-utils is not installed");
        return None;
    }
    let ran = Command::new(tool).args(arguments).output().unwrap();
    assert!(ran.status.success(), "{tool} {arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    Some(String::from_utf8(ran.stdout).unwrap())
}

/// The texts of an SVG, as they are read.
fn texts(svg: &str) -> Vec<String> {
    let of = svg.lines().filter(|line| line.starts_with("<text"));
    let plain =
        |text: &str| text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    of.filter_map(|line| Some(plain(line.split_once('>')?.1.strip_suffix("</text>")?))).collect()
}

fn dense(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

/// Checks a picture in all formats; `start` is its path without the ending.
fn check(start: &str) -> String {
    let svg = std::fs::read_to_string(format!("{start}.svg")).unwrap();
    assert!(svg.contains(SVG_SIZE), "{start}: {}", &svg[..300]);
    let png = std::fs::read(format!("{start}.png")).unwrap();
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert_eq!([number(16), number(20)], PNG_SIZE, "{start}.png");
    let at = png.windows(4).position(|name| name == b"pHYs").unwrap_or_else(|| panic!("{start}.png: no pHYs"));
    assert_eq!((number(at + 4), number(at + 8), png[at + 12]), (PER_METRE, PER_METRE, 1), "{start}.png");
    let file = format!("{start}.pdf");
    let pdf = std::fs::read(&file).unwrap();
    assert!(String::from_utf8_lossy(&pdf).contains(PDF_SIZE), "{file}");
    if let Some(found) = poppler("pdftotext", &["-raw", &file, "-"]) {
        let found = dense(&found);
        for text in texts(&svg).iter().filter(|text| !text.is_empty()) {
            assert!(found.contains(&dense(text)), "{file}: no {text} in {found}");
        }
        let fonts = poppler("pdffonts", &[&file]).unwrap();
        let fonts: Vec<Vec<&str>> = fonts.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        // name type encoding emb sub uni object: the type is two words.
        assert!(fonts.len() == 1 && fonts[0][4..7] == ["yes"; 3], "{file}: {fonts:?}");
    }
    let csv = std::fs::read_to_string(format!("{start}.csv")).unwrap();
    assert!(csv.starts_with("plot,x_axis,y_axis,set,layer,mark,x,y,x_end,y_end,text\n"), "{csv}");
    assert!(csv.lines().count() > 1 || svg.contains(">nothing to show<"), "{start}.csv: {csv}");
    svg
}

/// Marks of a set: their grey, and all forms (dashes of lines, or the steps of shapes) that they have.
fn looks(svg: &str) -> BTreeMap<String, (f64, BTreeSet<String>)> {
    let mut found: BTreeMap<String, (f64, BTreeSet<String>)> = BTreeMap::new();
    for line in svg.lines().filter(|line| line.starts_with("<path") && line.contains("data-layer")) {
        let value = |name: &str| Some(line.split_once(&format!(" {name}=\""))?.1.split('"').next()?.to_owned());
        let colour = ["stroke", "fill"].into_iter().filter_map(value).find(|colour| colour.starts_with('#')).unwrap();
        let channel = |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap());
        let grey = 0.299 * channel(1) + 0.587 * channel(3) + 0.114 * channel(5);
        let data = value("d").unwrap();
        let shape = data.split('M').nth(1).unwrap_or("").split_once(' ').map_or("", |(_, rest)| rest);
        let shape = shape.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let form = match value("stroke-dasharray") {
            Some(dash) => format!("dashes {dash}"),
            None if shape.starts_with('L') => "solid".to_owned(),
            None => shape.to_owned(),
        };
        found.entry(value("class").unwrap()).or_insert((grey, BTreeSet::new())).1.insert(form);
    }
    found
}

/// A set of runs for each name, of a function in several sizes.
fn sets(folder: &Folder, names: &[&str], runs: u64) -> Vec<Vec<String>> {
    let run = |name: &str, level: u64, number: u64| {
        let mut rank = SyntheticRank::new(0, 1);
        let mut now = 1_000_000;
        for bytes in [0, 8, 1024, 65_536] {
            let operation = rank.operation("MPI_Bcast", 0, bytes);
            // Without bytes all sets take as long.
            let level = if bytes == 0 { 100 } else { level };
            for k in 0..60 {
                let took = (2_000 + bytes) * level * (100 + number) / 10_000 + k * 7 % 23;
                rank.call(operation, now, now + took);
                now += 2 * took;
            }
        }
        let path = folder.path(&format!("{name}{number}.mpitrace"));
        synthetic::write(Path::new(&path), &[rank]).unwrap();
        path
    };
    let of =
        |(place, name): (usize, &&str)| (0..runs).map(|number| run(name, 100 + 15 * place as u64, number)).collect();
    names.iter().enumerate().map(of).collect()
}

fn compare(sets: &[Vec<String>], options: &[&str]) -> Ran {
    let mut arguments = vec!["compare".to_owned()];
    for (letter, files) in ('a'..).zip(sets) {
        arguments.push(format!("--{letter}"));
        arguments.extend(files.iter().cloned());
    }
    mpitrace(&arguments.iter().map(String::as_str).chain(options.iter().copied()).collect::<Vec<_>>())
}

/// Draws a picture in each format.
fn in_each_format(start: &str, draw: &dyn Fn(&[&str]) -> Ran) -> String {
    for ending in ["svg", "png", "pdf", "csv"] {
        let file = format!("{start}.{ending}");
        let look = if ending == "csv" { &[][..] } else { &[SIZE[0], SIZE[1], "--title", ""] };
        let ran = draw(&[&["-o", &file][..], look].concat());
        assert!(ran.code < 2, "{file}: {}", ran.stderr);
    }
    check(start)
}

#[test]
fn each_picture_of_a_comparison_has_its_size_texts_ticks_and_marks() {
    let folder = Folder::new();
    let letters = ["a", "b", "c", "d", "e", "f"];
    let all = sets(&folder, &letters, 2);
    let names = "3 rings,default,no <sm>,fourth,fifth,sixth";
    for plot in ["sizes", "normalised", "runs", "histogram", "drift", "trials"] {
        // The trials and the medians of all sizes are one picture.
        let only = if matches!(plot, "runs" | "histogram" | "drift") { "MPI_Bcast/1024/1/-" } else { "MPI_Bcast" };
        let start = folder.path(plot);
        let arguments = ["--plot", plot, "--only", only, "--names", names];
        let svg = in_each_format(&start, &|more| compare(&all, &[&arguments[..], more].concat()));
        let texts = texts(&svg);
        for name in names.split(',') {
            assert!(texts.iter().any(|text| text == name), "{plot}: no {name} in {texts:?}");
        }
        assert!(
            !texts.iter().any(|text| text.contains("by message size") || text == only),
            "{plot}: a title {texts:?}"
        );
        if matches!(plot, "sizes" | "normalised" | "trials") {
            let ticks = svg.lines().filter(|line| line.contains("class=\"tick\"") && line.contains("\"middle\""));
            let ticks: Vec<String> = ticks.flat_map(self::texts).filter(|text| !text.contains('*')).collect();
            let bytes = |label: &String| {
                let (number, prefix) = label.split_once(' ').unwrap_or((label, ""));
                let scale = ["", "Ki", "Mi", "Gi"].iter().position(|known| *known == prefix).unwrap();
                number.parse::<u64>().unwrap() << (10 * scale)
            };
            let sizes: Vec<u64> = ticks.iter().map(bytes).collect();
            assert!(sizes.len() > 3 && sizes[0] == 0 && sizes.is_sorted(), "{plot}: {ticks:?}");
            assert!(sizes[1..].iter().all(|size| size.is_power_of_two()), "{plot}: {ticks:?}");
        }
        // Without colours each set has a grey and a form of its own.
        let looks = looks(&svg.replace("no &lt;sm&gt;", "third"));
        let of_sets = ["3 rings", "default", "third", "fourth", "fifth", "sixth"].map(|name| &looks[name]);
        for (place, one) in of_sets.iter().enumerate() {
            for other in &of_sets[..place] {
                assert!((one.0 - other.0).abs() > 20.0, "{plot}: {} and {} in grey", one.0, other.0);
                assert!(one.1.is_disjoint(&other.1), "{plot}: {:?} and {:?}", one.1, other.1);
            }
        }
    }
    let start = folder.path("forest");
    let two = sets(&folder, &["a", "b"], 6);
    let svg = in_each_format(&start, &|more| compare(&two, &[&["--names", "3 rings,default"][..], more].concat()));
    let says = "default takes less | longer than 3 rings: time of default / time of 3 rings";
    assert!(texts(&svg).iter().any(|text| text == says), "{:?}", texts(&svg));
    let looks = looks(&svg);
    assert!(looks["none found"].1.is_disjoint(&looks["a difference"].1), "{looks:?}");
    // Two plots are below each other where the width is for one.
    let file = folder.path("distribution.svg");
    let arguments = ["-o", &file, "--plot", "distribution", "--only", "MPI_Bcast/8/1/-", "--size"];
    let refused = compare(&two, &[&arguments[..], &["84x60"]].concat());
    let why = "--size 84x60 has no room for 2 plots: at least 84x80, or choose among them\n";
    assert!(refused.code == 2 && refused.stderr.ends_with(why), "{}", refused.stderr);
    assert_eq!(compare(&two, &[&arguments[..], &["84x90"]].concat()).code, 1);
    let svg = std::fs::read_to_string(&file).unwrap();
    assert!(svg.contains("width=\"317.48\" height=\"340.16\""), "{}", &svg[..300]);
}

#[test]
fn what_is_drawn_is_also_a_table_and_labels_and_unit_can_be_chosen() {
    let folder = Folder::new();
    let all = sets(&folder, &["a", "b"], 6);
    let [svg, csv] = ["sizes.svg", "sizes.csv"].map(|name| folder.path(name));
    let chosen = ["--plot", "sizes", "--names", "3 rings,default", "--unit", "us"];
    let drawn = compare(
        &all,
        &[&chosen[..], &["-o", &svg, "--x-label", "Size [B]", "--y-label", "Latency [us]", "--title", "Broadcast"]]
            .concat(),
    );
    assert_eq!(drawn.code, 1, "{}", drawn.stderr);
    let found = texts(&std::fs::read_to_string(&svg).unwrap());
    for text in ["Size [B]", "Latency [us]", "Broadcast"] {
        assert!(found.iter().any(|known| known == text), "no {text} in {found:?}");
    }
    assert!(!found.iter().any(|text| text.contains("message size") || text.contains("median over")), "{found:?}");

    assert_eq!(compare(&all, &[&chosen[..], &["-o", &csv]].concat()).code, 1);
    let csv = std::fs::read_to_string(&csv).unwrap();
    let rows: Vec<Vec<&str>> = csv
        .lines()
        .filter(|line| line.contains(",3 rings,3 rings,point,"))
        .map(|line| line.rsplit(',').take(5).collect())
        .collect();
    // The median of (2000 + bytes) ns of six runs, whose levels are 100 to 105 %, and of k * 7 % 23.
    let expected = [0, 8, 1024, 65_536].map(|bytes| (2_000 + bytes) as f64 * 1.025 / 1e3);
    assert_eq!(rows.iter().map(|row| row[4]).collect::<Vec<_>>(), ["0", "8", "1024", "65536"]);
    for (row, expected) in rows.iter().zip(expected) {
        let value: f64 = row[3].parse().unwrap();
        assert!(value > expected && value < expected + 0.03, "{row:?} {expected}");
    }
    assert!(csv.contains(",\"message size, bytes\",\"median over the runs, µs\",default,interval,bar,"), "{csv}");
    assert!(csv.contains(",default,asterisks,label,"), "{csv}");
}

#[test]
fn each_picture_of_a_report_has_its_size_and_its_texts() {
    let folder = Folder::new();
    let pictures = folder.path("pictures");
    let ranks = [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2);
        let mut now = 1_000_000;
        for bytes in [8, 1024] {
            let operation = rank.operation("MPI_Bcast", 0, bytes);
            for k in 0..300u64 {
                let took = 1_000 + bytes + k * 7919 % 101 + if k < 20 { 5_000 } else { 0 };
                let late = 30 * u64::from(number);
                rank.call(operation, now + late, now + took + late);
                now += 2 * took;
            }
        }
        rank
    });
    let trace = folder.trace(&ranks);
    let look = ["-o", &pictures, SIZE[0], SIZE[1], "--title", "", "--unit", "us"];
    let ran = mpitrace(&[&["report", &trace][..], &look].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let mut starts = BTreeSet::new();
    for entry in std::fs::read_dir(&pictures).unwrap() {
        starts.insert(entry.unwrap().path().with_extension("").to_str().unwrap().to_owned());
    }
    // The plots of both operations, the timeline and the medians by size.
    assert_eq!(starts.len(), 2 * 14 + 2, "{starts:?}");
    for start in &starts {
        let texts = texts(&check(start));
        let is_other = |text: &String| ["ns", "ms", "s"].iter().any(|unit| text.ends_with(&format!(", {unit}")));
        assert!(!texts.iter().any(is_other), "{start}: {texts:?}");
    }
    let sizes = looks(&std::fs::read_to_string(format!("{pictures}/sizes.svg")).unwrap());
    assert!(sizes.contains_key("MPI_Bcast, MPI_COMM_WORLD"), "{sizes:?}");

    // One picture is one file.
    let file = folder.path("ecdf.pdf");
    let of_one = |more: &[&str]| mpitrace(&[&["report", &trace, "-o", &file][..], more].concat());
    assert_eq!(of_one(&["--plot", "ecdf", "--operation", "1", SIZE[0], SIZE[1]]).code, 0);
    assert!(String::from_utf8_lossy(&std::fs::read(&file).unwrap()).contains(PDF_SIZE));
    for (more, why) in [
        (
            &["--plot", "ecdf"][..],
            "and there is a plot ecdf of the operations 0, 1: choose with --operation, or let -o",
        ),
        (&[], "ecdf.pdf: holds one picture: choose it with --plot, or let -o name a folder"),
    ] {
        let refused = of_one(more);
        assert!(refused.code == 2 && refused.stderr.contains(why), "{}", refused.stderr);
        assert_eq!((refused.stdout.as_str(), refused.stderr.lines().count()), ("", 1));
    }
}

#[test]
fn each_picture_of_clocks_has_its_size_and_its_texts() {
    let folder = Folder::new();
    let trace = clock::run(&folder, Method::Joint, &["", "offset_ns=1.5e9,ppm=37"]);
    for plot in ["drift", "offset", "methods", "duration"] {
        let start = folder.path(plot);
        let svg = in_each_format(&start, &|more| mpitrace(&[&["clock", &trace, "--plot", plot][..], more].concat()));
        // No two lines of a plot look alike in grey.
        let looks = looks(&svg);
        let lines: Vec<_> =
            ["linear", "skampi", "offset", "hard bounds"].iter().filter_map(|name| looks.get(*name)).collect();
        for (place, one) in lines.iter().enumerate() {
            assert!(lines[..place].iter().all(|other| one.1.is_disjoint(&other.1)), "{plot}: {lines:?}");
        }
    }
}

#[test]
fn an_option_that_has_no_meaning_is_one_line_with_the_way_out() {
    let folder = Folder::new();
    let all = sets(&folder, &["a", "b"], 6);
    let trace = folder.trace(&plain());
    let (csv, html, svg) = (folder.path("a.csv"), folder.path("a.html"), folder.path("a.svg"));
    let pictures = folder.path("pictures");
    for (options, why) in [
        (&["-o", &csv, "--size", "84x60"][..], "--size is for pictures: "),
        (&["-o", &html, "--unit", "us"], "--unit is for pictures: "),
        (&["-o", &html, "--y-label", "a"], "--y-label is for pictures: "),
        (
            &["-o", &svg, "--names", "a"],
            "--names: 1 name for 2 sets, A, B; give each one a name, with commas between them",
        ),
        (&["-o", &svg, "--names", "a,"], "--names: each set needs a name of its own: '' is none"),
        (&["-o", &svg, "--names", "a, a"], "--names: each set needs a name of its own: 'a' is given twice"),
        (&["-o", &svg, "--plot", "normalised", "--unit", "s"], "--unit: this picture has no axis of times"),
        (&["-o", &svg, "--only", "MPI_Reduce"], "--only MPI_Reduce: not compared; there are MPI_Bcast, and each row"),
        (&["-o", &svg, "--unit", "h"], "invalid value 'h' for '--unit <UNIT>'"),
        (&["--size", "84x60"], "--output <FILE>"),
        (&["-o", &svg, "--size", "84"], "expected: width and height in mm, 40 to 1000, as in 84x55"),
    ] {
        let refused = compare(&all, options);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{options:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(why), "{options:?}: {}", refused.stderr);
    }
    // A letter that the font does not have is told, and SVG has it.
    for (file, told) in [(folder.path("a.pdf"), true), (svg, false)] {
        let drawn = compare(&all, &["-o", &file, "--names", "\u{3b1},b"]);
        let why = "a.pdf: the built-in font has no '\u{3b1}', which is shown as ?: SVG takes the reader's fonts\n";
        assert_eq!((drawn.code < 2, drawn.stderr.ends_with(why)), (true, told), "{}", drawn.stderr);
    }
    let refused = mpitrace(&["report", &trace, "-o", &pictures, "--x-label", "a"]);
    let why = "--x-label is for one kind of plot: choose it with --plot\n";
    assert!(refused.code == 2 && refused.stderr.ends_with(why), "{}", refused.stderr);
    let refused = mpitrace(&["clock", &trace, "-o", &csv, "--title", ""]);
    assert!(refused.code == 2 && refused.stderr.contains("--title is for pictures: "), "{}", refused.stderr);
}
