//! The fingerprint of a real run, as its reader sees it: in a browser, as pictures, in a terminal.

use crate::support::browser::Browser;
use crate::support::companion::{self, mpitrace};
use crate::support::{Case, On, Test, Trace};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

pub const TESTS: &[Test] = &[
    Test::new("is_a_page_whose_plots_are_there_and_respond", page).on(On::Any).needs("chromium"),
    Test::new("is_drawn_in_a_terminal_and_as_pictures", terminal_and_pictures).on(On::Only(&["ompi4", "mpich4"])),
];

const RANKS: u32 = 2;

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

/// Where in the window the middle of an element is, or a place in the units of a plot's picture.
fn place(browser: &mut Browser, element: &str, at: Option<(f64, f64)>) -> (f64, f64) {
    browser.evaluate(&format!("{element}.scrollIntoView({{block: 'center'}})"));
    let edge = |browser: &mut Browser, key: &str| number(browser, &format!("{element}.getBoundingClientRect().{key}"));
    let (left, top) = (edge(browser, "left"), edge(browser, "top"));
    match at {
        Some((x, y)) => {
            let scale = edge(browser, "width") / number(browser, &format!("{element}.viewBox.baseVal.width"));
            (left + scale * x, top + scale * y)
        }
        None => (left + edge(browser, "width") / 2.0, top + edge(browser, "height") / 2.0),
    }
}

/// The names of the plots that are to be seen, each with the number of its marks.
fn plots(browser: &mut Browser) -> Vec<(String, u64)> {
    let found = browser.evaluate(
        "[...document.querySelectorAll('figure')].filter((figure) => figure.checkVisibility())
           .map((figure) => [figure.dataset.plot, figure.querySelectorAll('g[clip-path] > *').length])",
    );
    serde_json::from_value(found).expect("names and numbers")
}

/// A run in which Roth's rule finds the ten outliers. On a busy machine the minimum may come late, and then the rule takes
/// those before it for the warm-up.
fn with_outliers(case: &Case) -> Trace {
    let outliers = |trace: &Trace| {
        let words =
            ["categorize".as_ref(), "--method".as_ref(), "roth".as_ref(), "--json".as_ref(), trace.path.as_os_str()];
        companion::json(&mpitrace(&words))[0]["counts"]["outlier"].as_u64().expect("a number")
    };
    (0..20).map(|_| run(case)).find(|trace| outliers(trace) >= 10).expect("a run with its outliers")
}

fn page(case: &Case) {
    let trace = with_outliers(case);
    let file = case.folder.join("fingerprint.html");
    // By the rule that has one limit: what else a busy machine does to the run decides what `robust` calls an outlier.
    let arguments = [trace.path.as_os_str(), "--method".as_ref(), "roth".as_ref(), "-o".as_ref(), file.as_os_str()];
    assert_eq!(report(&arguments), "");
    assert!(fs::metadata(&file).expect("a page").len() < 2_000_000);
    let mut browser = Browser::start(&case.folder.join("browser"));
    browser.show_on("screen", "light");
    browser.open(&file);
    let names: Vec<String> = plots(&mut browser)
        .into_iter()
        .map(|(name, marks)| {
            assert!(marks > 0, "{name} is empty");
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
        "q-q",
        "box",
        "counter-messages-sent",
        "counter-messages-sent-repetition",
        "counter-bytes-sent",
        "counter-bytes-sent-repetition",
        "arrival",
        "rank-time",
    ];
    assert_eq!(names, wanted);
    timeline(&mut browser);
    narrow(&mut browser);
    hovers(&mut browser);
    zooms(&mut browser);
    switches(&mut browser);
    browser.screenshot(&case.folder.join("light.png"));
    let paper = "getComputedStyle(document.querySelector('figure svg > rect')).fill";
    assert_eq!(browser.evaluate(paper), "rgb(255, 255, 255)");
    browser.show_on("screen", "dark");
    browser.wait_for(&format!("{paper} === 'rgb(22, 24, 27)'"));
    browser.screenshot(&case.folder.join("dark.png"));
    // In the dark, too, paper is white.
    browser.show_on("print", "dark");
    browser.wait_for(&format!("{paper} === 'rgb(255, 255, 255)'"));
    let pdf = case.folder.join("fingerprint.pdf");
    browser.print(&pdf);
    assert!(fs::read(&pdf).expect("a PDF").starts_with(b"%PDF"));
    browser.show_on("screen", "light");
    assert_eq!(browser.errors(), Vec::<String>::new());
}

/// Is behind the summary, and shows the calls around a repetition.
fn timeline(browser: &mut Browser) {
    let order = browser.evaluate("[...document.querySelectorAll('main > *')].map((node) => node.id || node.localName)");
    assert_eq!(order, serde_json::json!(["header", "p", "ul", "timeline", "overview", "operation-0", "footer"]));
    let titles =
        browser.evaluate("[...document.querySelectorAll('#timeline summary')].map((node) => node.textContent)");
    assert!(titles[0].as_str().expect("a title").starts_with("the slowest repetition of operation 0"), "{titles}");
    browser.evaluate(
        "document.querySelector('#timeline details').open = true; \
         var whole = new Plot(document.querySelector('#timeline > figure')), \
             near = new Plot(document.querySelector('#timeline details figure'))",
    );
    let [near, whole] = ["near", "whole"].map(|plot| number(browser, &format!("{plot}.x.to - {plot}.x.from")));
    assert!(near > 0.0 && near < whole, "{near} of {whole} ns");
    // A call of each rank, and each has values.
    let bars = "near.layers.find((layer) => layer.name === 'communicating').bars";
    let ranks = browser.evaluate(&format!("[...new Set({bars}.map(([from, to, rank]) => rank))].sort()"));
    assert_eq!(ranks, serde_json::json!([0, 1]));
    let text = browser.evaluate(&format!(
        "(() => {{ const [from, to, rank] = {bars}[0]; \
         return near.text([near.x.place((from + to) / 2), near.y.place(rank)]); }})()"
    ));
    assert!(text.as_str().is_some_and(|text| text.contains("rank ") && text.contains(": communicating, ")), "{text}");
    browser.evaluate("document.querySelector('#timeline details').open = false");
}

/// No column is cut where the window is 800 pixels wide, and at 400 pixels the page itself is not wider.
fn narrow(browser: &mut Browser) {
    browser.width(Some(800));
    browser.wait_for("innerWidth === 800");
    let cut = browser.evaluate(
        "[...document.querySelectorAll('.scroll')].filter((node) => node.scrollWidth > node.clientWidth + 1)
           .map((node) => [node.textContent.slice(0, 60), node.scrollWidth, node.clientWidth])",
    );
    assert_eq!(cut, serde_json::json!([]));
    for width in [800, 400] {
        browser.width(Some(width));
        browser.wait_for(&format!("innerWidth === {width}"));
        assert!(number(browser, "document.documentElement.scrollWidth") <= f64::from(width));
    }
    browser.width(None);
    browser.wait_for("innerWidth > 1000");
}

/// The values of the last repetition, in which rank 0 waited, are shown, and values in each other plot.
fn hovers(browser: &mut Browser) {
    browser.evaluate(
        "var svg = document.querySelector('figure[data-plot=run-time] svg'), plot = new Plot(svg.closest('figure')), \
             mark = plot.marks.find(({ layer }) => layer?.rows?.includes(599)), \
             point = mark.points[mark.layer.rows.indexOf(599)]",
    );
    let (x, y) = (number(browser, "point[0]"), number(browser, "point[1]"));
    let at = place(browser, "svg", Some((x, y)));
    browser.mouse("mouseMoved", at);
    browser.wait_for("!tip.hidden");
    let text = browser.evaluate("tip.textContent");
    let text = text.as_str().expect("a text");
    for part in [
        "outlier\nrepetition: 599\nlocal: ",
        "longest on rank: 0\nlast to come was rank: 1",
        "messages-sent on that rank: 3",
        "messages-sent, sum of all ranks: 6",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    for name in ["histogram", "ecdf", "q-q", "box", "arrival"] {
        let svg = format!("document.querySelector('figure[data-plot={name}] svg')");
        browser.mouse("mouseMoved", (1.0, 1.0));
        let (x, y) = place(browser, &svg, None);
        // Somewhere around there are values.
        let is_shown = (-20..=20).any(|step| {
            browser.mouse("mouseMoved", (x + f64::from(step) * 8.0, y + f64::from(step % 4) * 25.0));
            browser.evaluate("!tip.hidden") == true
        });
        assert!(is_shown, "{name} shows no value");
    }
}

fn zooms(browser: &mut Browser) {
    let (x, y) = place(browser, "svg", None);
    let tick = "svg.querySelectorAll('.tick.zoomed').length";
    let shapes = "svg.querySelector('.good').getAttribute('d')";
    let before = browser.evaluate(shapes);
    assert_eq!(number(browser, tick), 0.0);
    browser.mouse("mouseMoved", (x, y));
    browser.mouse("mousePressed", (x, y));
    for step in [40.0, 80.0, 120.0] {
        browser.mouse("mouseMoved", (x + step, y + step / 3.0));
    }
    browser.mouse("mouseReleased", (x + 120.0, y + 40.0));
    assert!(number(browser, tick) >= 4.0, "new labels at round numbers");
    assert_ne!(browser.evaluate(shapes), before);
    let width = "(() => { const plot = plots.get(svg.closest('figure')).x; \
                 return plot.value(plot.end) - plot.value(plot.start); })()";
    let seen = number(browser, width);
    assert!(seen < 600.0 / 3.0 && seen > 0.0, "{seen} of 600 repetitions are seen");
    let reset = place(browser, "svg.closest('figure').querySelector('button')", None);
    browser.click(reset);
    assert_eq!(browser.evaluate(shapes), before);
    assert_eq!(number(browser, tick), 0.0);
    // The same by keys.
    for (key, is_zoomed) in [("+", true), ("ArrowRight", true), ("Escape", false)] {
        let press = format!("new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true }})");
        browser.evaluate(&format!("svg.closest('figure').dispatchEvent({press})"));
        assert_eq!(number(browser, tick) > 0.0, is_zoomed, "{key}");
    }
}

fn switches(browser: &mut Browser) {
    let shown = "[...document.querySelectorAll('.of-time')].filter((node) => node.getBoundingClientRect().width > 0)";
    let table = format!("{shown}[0].querySelector('.columns').textContent");
    let local = browser.evaluate(&table);
    let radio = |browser: &mut Browser, value: &str| {
        let at = place(browser, &format!("document.querySelector('input[value={value}]')"), None);
        browser.click(at);
        assert_eq!(
            browser.evaluate(&format!("{shown}.map((node) => node.className)")),
            serde_json::json!([format!("of-time {value}")])
        );
    };
    radio(browser, "last");
    assert_ne!(browser.evaluate(&table), local, "other numbers by another definition");
    radio(browser, "local");
    assert_eq!(browser.evaluate(&table), local);
    // The marks go with their category.
    let ink = "svg.querySelector('.outlier').getBoundingClientRect().width";
    assert!(number(browser, ink) > 20.0, "ten outliers leave ink");
    let outlier = "document.querySelector('input[value=outlier]')";
    let at = place(browser, outlier, None);
    browser.click(at);
    assert_eq!(number(browser, ink), 0.0, "hidden");
    let at = place(browser, outlier, None);
    browser.click(at);
    assert!(number(browser, ink) > 20.0, "and back");
}

fn terminal_and_pictures(case: &Case) {
    let trace = run(case);
    let text = report(&[trace.path.as_os_str()]);
    for part in
        ["0: MPI_Allreduce, 1000 B, MPI_COMM_WORLD, 1\u{d7}2\n", "600 repetitions", "\nRun time per repetition\n"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    // The command to enter next has the path of the trace, which is as long as it is.
    let path = trace.path.display().to_string();
    // Plots are no wider, in no terminal.
    assert!(text.lines().all(|line| line.replace(&path, "").chars().count() <= 160), "{text}");
    let folder = case.folder.join("pictures");
    write(&trace, &folder);
    let files: Vec<PathBuf> =
        fs::read_dir(&folder).expect("pictures").map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(files.len(), 84, "20 plots and the timeline, four times: {files:?}");
    for file in files {
        let bytes = fs::read(&file).expect("a picture");
        match file.extension().and_then(OsStr::to_str) {
            Some("svg") => assert!(bytes.starts_with(b"<svg ") && bytes.ends_with(b"</svg>\n"), "{}", file.display()),
            Some("pdf") => assert!(bytes.starts_with(b"%PDF") && bytes.ends_with(b"%%EOF\n"), "{}", file.display()),
            Some("csv") => assert!(bytes.starts_with(b"plot,x_axis,y_axis,set,"), "{}", file.display()),
            _ => assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 5000, "{}", file.display()),
        }
    }
}
