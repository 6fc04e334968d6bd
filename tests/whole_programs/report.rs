//! The fingerprint of a real run, as its reader sees it: in a browser, as pictures, in a terminal.

use crate::support::browser::Browser;
use crate::support::companion::mpitrace;
use crate::support::{Case, On, Test, Trace};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

pub const TESTS: &[Test] = &[
    Test::new("is_a_page_whose_plots_are_there_and_respond", page).on(On::Any).needs("chromium"),
    Test::new("of_two_runs_lies_over_each_other", compared).on(On::Any).needs("chromium").second_tier(),
    Test::new("is_drawn_in_a_terminal_and_as_pictures", drawn).on(On::Only(&["ompi4", "mpich4"])),
];

const RANKS: u32 = 2;
const REPETITIONS: usize = 600;

fn run(case: &Case) -> Trace {
    let launch = case.launch(RANKS, "scattered.c").trace().set("MPITRACE_EVENTS", "messages-sent,bytes-sent");
    let outcome = launch.run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.trace
}

#[track_caller]
fn report(arguments: &[&OsStr]) -> String {
    let all: Vec<&OsStr> = std::iter::once(OsStr::new("report")).chain(arguments.iter().copied()).collect();
    let finished = mpitrace(&all);
    assert_eq!((finished.code, finished.stderr.as_str()), (0, ""), "report {arguments:?}");
    finished.stdout
}

fn write(trace: &Trace, out: &Path) {
    assert_eq!(report(&[trace.path.as_os_str(), "-o".as_ref(), out.as_os_str()]), "");
}

/// A number out of the page.
#[track_caller]
fn number(browser: &mut Browser, expression: &str) -> f64 {
    let found = browser.evaluate(expression);
    found.as_f64().unwrap_or_else(|| panic!("{expression} is {found}"))
}

/// Where in the window the middle of an element, or a place in a plot's canvas, is.
fn place(browser: &mut Browser, element: &str, at: Option<(f64, f64)>) -> (f64, f64) {
    browser.evaluate(&format!("{element}.scrollIntoView({{block: 'center'}})"));
    let edge = |browser: &mut Browser, key: &str| number(browser, &format!("{element}.getBoundingClientRect().{key}"));
    let (left, top) = (edge(browser, "left"), edge(browser, "top"));
    match at {
        Some((x, y)) => (left + x, top + y),
        None => (left + edge(browser, "width") / 2.0, top + edge(browser, "height") / 2.0),
    }
}

/// Each plot's name, and how many different colours it has.
fn colours(browser: &mut Browser) -> Vec<(String, u64)> {
    let found = browser.evaluate(
        "[...document.querySelectorAll('canvas')].map((canvas) => {
            const context = canvas.getContext('2d');
            const data = new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
            return [canvas.dataset.plot, new Set(data).size];
        })",
    );
    serde_json::from_value(found).expect("names and numbers")
}

fn page(case: &Case) {
    let trace = run(case);
    let file = case.folder.join("fingerprint.html");
    // By the rule that has one limit: what else a busy machine does to the run decides what `robust` calls an outlier.
    let arguments = [trace.path.as_os_str(), "--method".as_ref(), "roth".as_ref(), "-o".as_ref(), file.as_os_str()];
    assert_eq!(report(&arguments), "");
    let mut browser = Browser::start(&case.folder.join("browser"));
    browser.prefer("light");
    browser.open(&file);
    browser.wait_for(BUILT);
    let names: Vec<String> = colours(&mut browser)
        .into_iter()
        .map(|(name, colours)| {
            assert!(colours > 3, "{name} is empty: {colours} colours");
            name
        })
        .collect();
    let wanted = [
        "timeline",
        "run-time",
        "run-time-good",
        "histogram",
        "histogram-good",
        "ecdf",
        "box",
        "metrics",
        "autocorrelation",
        "arrival",
        "rank-time",
        "counter-messages-sent",
        "counter-messages-sent-repetition",
        "counter-bytes-sent",
        "counter-bytes-sent-repetition",
    ];
    assert_eq!(names, wanted);
    timeline(&mut browser);
    narrow(&mut browser);
    hovers(&mut browser);
    zooms(&mut browser);
    switches(&mut browser);
    gives_its_data(&mut browser);
    let light = colours(&mut browser);
    browser.screenshot(&case.folder.join("light.png"));
    browser.prefer("dark");
    browser.wait_for("palette().paper === '#16181b'");
    browser.screenshot(&case.folder.join("dark.png"));
    assert_eq!(colours(&mut browser).len(), light.len());
    // In the dark, too, paper is white.
    browser.evaluate(
        "var printed = null; addEventListener('beforeprint', () => { \
         printed = [palette().paper, Math.round(sections[0].plots[1].canvas.getBoundingClientRect().width)]; })",
    );
    let pdf = case.folder.join("fingerprint.pdf");
    browser.print(&pdf);
    let printed = browser.evaluate("printed");
    assert_eq!(printed[0], "#ffffff");
    // Two plots beside each other on 180 mm, which are 680 pixels.
    assert!((300..340).contains(&printed[1].as_i64().expect("a width")), "{printed}");
    assert!(fs::read(&pdf).expect("a PDF").starts_with(b"%PDF"));
    browser.prefer("light");
    assert_eq!(browser.errors(), Vec::<String>::new());
}

/// One operation and the timeline are drawn.
const BUILT: &str = "sections.length === 1 && lazy.length === 2 && \
                     lazy.every((section) => section.built && section.plots.every((plot) => plot.pen))";

/// Stands behind the summary, and shows the calls around a repetition.
fn timeline(browser: &mut Browser) {
    let order =
        browser.evaluate("[...document.querySelectorAll('#report > *')].map((node) => node.id || node.localName)");
    assert_eq!(order, serde_json::json!(["header", "timeline", "overview", "operation-0", "footer"]));
    let choose = |browser: &mut Browser, value: &str| {
        browser.evaluate(&format!(
            "{{ const list = document.querySelector('select[data-choice=show]'); list.value = '{value}';
               list.dispatchEvent(new Event('change')); }}"
        ));
    };
    let width = "timelines[0].plots[0].pen.x.to";
    let whole = number(browser, width);
    choose(browser, "0");
    let near = number(browser, width);
    assert!(near > 0.0 && near < whole, "{near} of {whole} ns");
    let shown = browser.evaluate("report.run.timeline.details[0]");
    assert!(shown["title"].as_str().expect("a title").starts_with("the slowest repetition of operation 0"), "{shown}");
    // A call of each rank, and each tells of itself.
    let bars = "report.run.timeline.details[0].bars";
    let ranks = browser.evaluate(&format!("[...new Set({bars}.map(([rank]) => rank))].sort()"));
    assert_eq!(ranks, serde_json::json!([0, 1]));
    let told = browser.evaluate(&format!(
        "(() => {{ const plot = timelines[0].plots[0], [row, from, to] = {bars}[0];
           return plot.what.hover([plot.pen.x.place((from + to) / 2), plot.pen.y.place(row)], plot.pen, plot.state); }})()"
    ));
    assert!(told.as_str().is_some_and(|told| told.starts_with("rank ") && told.contains('\n')), "{told}");
    choose(browser, "-1");
    assert_eq!(number(browser, width), whole);
}

/// No column is cut where the window is 800 pixels wide.
fn narrow(browser: &mut Browser) {
    browser.width(Some(800));
    browser.wait_for("innerWidth === 800");
    let cut = browser.evaluate(
        "[...document.querySelectorAll('.scroll')].filter((node) => node.scrollWidth > node.clientWidth + 1)
           .map((node) => [node.textContent.slice(0, 60), node.scrollWidth, node.clientWidth])",
    );
    assert_eq!(cut, serde_json::json!([]));
    assert!(number(browser, "document.documentElement.scrollWidth") <= 800.0);
    browser.width(None);
    browser.wait_for("innerWidth > 1000");
}

/// The last repetition, in which rank 0 waited, tells of itself.
fn hovers(browser: &mut Browser) {
    browser.evaluate("var plot = sections[0].plots[0], points = report.fingerprints[0].points");
    let at = |axis: &str, value: &str| format!("plot.pen.{axis}.place({value})");
    let x = number(browser, &at("x", "points.repetition[599]"));
    let y = number(browser, &at("y", "points.run_time_ns[0][599]"));
    let at = place(browser, "plot.canvas", Some((x, y)));
    browser.mouse("mouseMoved", at);
    browser.wait_for("!tip.hidden");
    let text = browser.evaluate("tip.textContent");
    let text = text.as_str().expect("a text");
    for part in
        ["repetition 599: outlier", "longest on rank 0, last to come was rank 1", "messages-sent: 3 on that rank"]
    {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    for name in ["histogram", "ecdf", "box", "metrics", "autocorrelation", "arrival"] {
        let canvas = format!("document.querySelector('canvas[data-plot={name}]')");
        browser.mouse("mouseMoved", (1.0, 1.0));
        let (x, y) = place(browser, &canvas, None);
        // Somewhere around there something is told of.
        let told = (-20..=20).any(|step| {
            browser.mouse("mouseMoved", (x + f64::from(step) * 8.0, y + f64::from(step % 4) * 25.0));
            let waits =
                "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(!tip.hidden))))";
            browser.evaluate(waits) == true
        });
        assert!(told, "{name} tells nothing");
    }
}

fn zooms(browser: &mut Browser) {
    let (x, y) = place(browser, "plot.canvas", None);
    let width = "plot.pen.x.to - plot.pen.x.from";
    let before = number(browser, width);
    browser.mouse("mouseMoved", (x, y));
    browser.mouse("mousePressed", (x, y));
    for step in [40.0, 80.0, 120.0] {
        browser.mouse("mouseMoved", (x + step, y + step / 3.0));
    }
    browser.mouse("mouseReleased", (x + 120.0, y + 40.0));
    let after = number(browser, width);
    assert!(after < before / 3.0 && after > 0.0, "{after} of {before} repetitions are seen");
    let reset = place(browser, "plot.figure.querySelector('button')", None);
    browser.click(reset);
    assert_eq!(number(browser, width), before);
}

fn switches(browser: &mut Browser) {
    let table = "document.querySelector('.fingerprint .columns').textContent";
    let local = browser.evaluate(table);
    let choose = |browser: &mut Browser, name: &str, value: &str| {
        browser.evaluate(&format!(
            "{{ const list = document.querySelector('select[data-choice=\"{name}\"]'); list.value = '{value}';
               list.dispatchEvent(new Event('change')); }}"
        ));
    };
    choose(browser, "run time", "2");
    assert_eq!(browser.evaluate("timed(sections[0].state).time"), "last");
    assert_ne!(browser.evaluate(table), local, "other numbers by another definition");
    choose(browser, "run time", "0");
    assert_eq!(browser.evaluate(table), local);
    // A colour goes with its category.
    let ink = "(() => { const rgb = [1, 3, 5].map((i) => parseInt(palette().outlier.slice(i, i + 2), 16)); \
               const canvas = sections[0].plots[0].canvas; \
               const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data; \
               let count = 0; \
               for (let i = 0; i < data.length; i += 4) if (rgb.every((value, j) => data[i + j] === value)) count++; \
               return count; })()";
    assert!(number(browser, ink) > 20.0, "ten outliers leave ink");
    let outlier = place(browser, "document.querySelector('input[data-category=outlier]')", None);
    browser.click(outlier);
    assert_eq!(number(browser, ink), 0.0, "hidden");
    browser.click(outlier);
    assert!(number(browser, ink) > 20.0, "and back");
    choose(browser, "counters", "sum");
    let sum = number(browser, "points.counters[0].sum[599]");
    assert_eq!(sum, 6.0, "three messages of either rank");
}

fn gives_its_data(browser: &mut Browser) {
    let csv = browser.evaluate("csv(report.fingerprints[0])");
    let csv = csv.as_str().expect("a text");
    assert_eq!(csv.lines().count(), REPETITIONS + 1);
    let head = "repetition,local_ns,category_local,global_ns,category_global,last_ns,category_last,\
                longest_on_rank,last_in_rank,\
                messages-sent,messages-sent largest,messages-sent sum,bytes-sent,bytes-sent largest,bytes-sent sum";
    assert_eq!(csv.lines().next(), Some(head));
    browser.evaluate(
        "var copied = null; document.addEventListener('copy', (event) => { \
         copied = getSelection().toString() || document.activeElement.value; })",
    );
    let button = place(browser, "document.querySelector('.fingerprint .downloads button')", None);
    browser.click(button);
    let copied = browser.evaluate("copied");
    let copied = copied.as_str().expect("something was copied");
    assert!(copied.starts_with("name\tunit\tall\t") && copied.contains("\nmedian\tns\t"), "{copied}");
}

fn compared(case: &Case) {
    let (a, b) = (run(case), run(case));
    let file = case.folder.join("compared.html");
    let arguments = ["--compare".as_ref(), a.path.as_os_str(), b.path.as_os_str(), "-o".as_ref(), file.as_os_str()];
    assert_eq!(report(&arguments), "");
    let mut browser = Browser::start(&case.folder.join("browser"));
    browser.open(&file);
    browser.wait_for("sections.length === 1 && sections[0].built && sections[0].plots.every((plot) => plot.pen)");
    let drawn = colours(&mut browser);
    let names: Vec<&str> = drawn.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["run-time", "density", "ecdf", "ecdf-good"]);
    assert!(drawn.iter().all(|(_, colours)| *colours > 3), "{drawn:?}");
    browser.screenshot(&case.folder.join("compared.png"));
    assert_eq!(browser.errors(), Vec::<String>::new());

    let json: Value = serde_json::from_str(&report(&[&arguments[..3], &["--json".as_ref()]].concat())).expect("JSON");
    let distance = &json["pairs"][0]["distances"][0];
    assert!(distance["wasserstein_ns"].as_f64() >= Some(0.0), "{distance}");
    let terminal = report(&arguments[..3]);
    assert!(terminal.contains("MPI_Allreduce/1000/2/-, local run time"), "{terminal}");
}

fn drawn(case: &Case) {
    let trace = run(case);
    let text = report(&[trace.path.as_os_str()]);
    for part in
        ["0: MPI_Allreduce, 1000 B, MPI_COMM_WORLD, 1\u{d7}2\n", "600 repetitions", "\nrun time per repetition\n"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let folder = case.folder.join("pictures");
    write(&trace, &folder);
    let files: Vec<PathBuf> =
        fs::read_dir(&folder).expect("pictures").map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(files.len(), 48, "14 plots, a sheet and the timeline, three times: {files:?}");
    for file in files {
        let bytes = fs::read(&file).expect("a picture");
        match file.extension().and_then(OsStr::to_str) {
            Some("svg") => assert!(bytes.starts_with(b"<svg ") && bytes.ends_with(b"</svg>\n"), "{}", file.display()),
            Some("pdf") => assert!(bytes.starts_with(b"%PDF") && bytes.ends_with(b"%%EOF\n"), "{}", file.display()),
            _ => assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 5000, "{}", file.display()),
        }
    }
}
