//! `mpitrace clock`, and what other commands tell of clocks.

use std::f64::consts::TAU;
use std::fs::File;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

use mpitrace_format::file;
use mpitrace_format::layout::{
    COLUMNS, CommunicatorEntry, FileHeader, LostRecords, NO_ROOT, OperationEntry, PartEntry, ProbeEntry, RankHeader,
    SyncEntry, TRUE_COLUMNS, ThreadEntry, communicator_flags,
};
use mpitrace_format::live_records::stored_columns;
use mpitrace_format::packed::{Numbering, Rows, column};
use mpitrace_format::part::{Blocks, Content, Times};
use mpitrace_format::strings;
use mpitrace_format::ticks::SimulatedClock;
use mpitrace_synchronise::{Exchange, Method, probe};
use mpitrace_testing::synthetic::SyntheticRank;
use serde_json::{Value, json};

use crate::support::{Folder, layers, mpitrace, plain};

#[test]
fn ranks_that_read_one_clock_have_no_offset_and_the_error_of_its_test() {
    let folder = Folder::new();
    let mut ranks = plain();
    let ran = mpitrace(&["clock", &folder.trace(&ranks)]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let expected = "\
method   none: all ranks read one clock
errors   not known: the ranks' clocks were not tested against each other
order    kept by all 120 exits checked

clock  ranks  ahead at start  drift   tested to
    0  0-1         reference         not tested
";
    assert_eq!(ran.stdout, expected);

    ranks.iter_mut().for_each(|rank| rank.header.domain_error = 45);
    let trace = folder.trace(&ranks);
    let expected = json!({
        "method": "none", "domains": [[0, 1]], "offset_ns": [0.0], "drift_ppm": [0.0], "tested_ns": [45.0],
        "sync_ns": 0.0, "synchronisations": 0, "max_ppm": null, "wander_ppb": null,
        "error_ns": {"max": 45.0, "median": 45.0}, "unseen_step_ns": null,
        "causality": {"checked": 120, "violated": 0, "violated_raw": 0}, "worst_violation": null, "steps": []
    });
    assert_eq!(mpitrace(&["clock", "--json", &trace]).json(), expected);
    assert_eq!(mpitrace(&["dump", "--json", &trace]).json()[0]["error_ns"], 45.0);
    let info = mpitrace(&["info", &trace]).stdout;
    assert!(
        info.contains("\nclock       tsc at 1.000 GHz; all ranks share one clock (checked to 45.0 ns)\n"),
        "{info}"
    );
}

/// Two ranks that meet in three barriers; the clock of rank 1 is behind by this, ns.
fn behind(nanoseconds: u64) -> [SyntheticRank; 2] {
    [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2);
        rank.header.domain_error = 45;
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        for enter in [1000, 20_000, 30_000].map(|enter| enter + 10_000 - u64::from(number) * nanoseconds) {
            rank.call(barrier, enter, enter + 800);
        }
        rank
    })
}

#[test]
fn times_that_break_the_order_of_calls_end_with_1() {
    let folder = Folder::new();
    let ran = mpitrace(&["clock", &folder.trace(&behind(1000))]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let expected = "\
order    violated by 3 of 6 exits checked: before an entry that they depend on, by more than the errors (3 by the times alone)
         the worst by 200 ns: rank 1 left MPI_Barrier (operation 0, repetition 0) before rank 0 had entered
";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);

    // Within the errors of both.
    let trace = folder.trace(&behind(870));
    let ran = mpitrace(&["clock", &trace]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("kept by all 6 exits checked, within the errors; 3 violated by the times alone\n"));
    let found = mpitrace(&["clock", "--json", &trace]).json();
    assert_eq!(found["causality"], json!({"checked": 6, "violated": 0, "violated_raw": 3}));
    let worst = json!({
        "by_ns": 70.0, "operation": 0, "function": "MPI_Barrier", "repetition": 0, "left": 1, "entered": 0
    });
    assert_eq!(found["worst_violation"], worst);
}

#[test]
fn synchronised_clocks_are_told_with_their_offsets_drifts_and_errors() {
    let folder = Folder::new();
    let clocks = ["", "offset_ns=1.5e9,ppm=37", "offset_ns=-2e6,ppm=-12.5,wander_ppb=50,wander_period_s=40"];
    let trace = run(&folder, Method::Joint, &clocks);
    let ran = mpitrace(&["clock", "--json", &trace]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let found = ran.json();
    assert_eq!((&found["method"], &found["domains"]), (&json!("joint"), &json!([[0], [1], [2]])));
    let near = |value: &Value, expected: f64, by: f64| {
        let value = value.as_f64().unwrap();
        assert!((value - expected).abs() <= by, "{value} is not {expected}");
    };
    // The first synchronisation comes after 10 ms, and 37 ppm of that are 370 ns.
    near(&found["offset_ns"][1], 1.5e9 + 370.0, 20.0);
    near(&found["drift_ppm"][1], 37.0, 0.01);
    // What a swing adds to the mean is below its height.
    near(&found["drift_ppm"][2], -12.5, 0.05);
    assert_eq!((&found["sync_ns"], &found["synchronisations"]), (&json!(7.0 * SYNC as f64), &json!(7)));
    assert_eq!((&found["max_ppm"], &found["wander_ppb"]), (&json!(500.0), &json!(100.0)));
    let [median, max] = ["median", "max"].map(|key| found["error_ns"][key].as_f64().unwrap());
    assert!(0.0 < median && median <= max && max < 500.0, "{median} {max}");
    assert_eq!(found["causality"], json!({"checked": 3 * CALLS, "violated": 0, "violated_raw": 0}));
    let truth = &found["truth"];
    let [off, rms] = ["max_ns", "rms_ns"].map(|key| truth[key].as_f64().unwrap());
    assert!(rms <= off && off < 200.0, "{off} {rms}");
    assert!(truth["coverage_95"].is_number() && truth["hard_bounds_held"].is_boolean());
    assert_eq!(found["steps"], json!([]));

    let page = mpitrace(&["clock", &trace]).stdout;
    assert!(page.starts_with("method   joint: 3 clocks in 7 synchronisations, 7.00 ms in all\n"), "{page}");
    let row: Vec<&str> = page.lines().find(|line| line.starts_with("    1")).unwrap().split_whitespace().collect();
    assert_eq!(row, ["1", "1", "1.50", "s", "37.000", "ppm", "one", "rank"]);
    let errors: Vec<Value> = mpitrace(&["dump", "--json", "--rank", "1", &trace]).json().as_array().unwrap().to_vec();
    assert!(errors.iter().all(|row| row["error_ns"].as_f64().unwrap() <= max));
    let info = mpitrace(&["info", &trace]).stdout;
    assert!(info.contains("; 3 clock domains (rank 0; rank 1; rank 2), synchronised by joint\n"), "{info}");
}

/// Hunold and Carpen-Amarie 2016, figures 1 and 5 to 8; Hoefler et al. 2010, figure 5.
#[test]
fn clocks_are_drawn_with_their_drift_their_offset_and_what_other_methods_leave() {
    let folder = Folder::new();
    let clocks = ["", "offset_ns=1.5e9,ppm=37", "offset_ns=-2e6,ppm=-12.5,wander_ppb=50,wander_period_s=40"];
    let trace = run(&folder, Method::Joint, &clocks);
    let drawn = |plot: &str| {
        let file = folder.path(&format!("{plot}.svg"));
        let ran = mpitrace(&["clock", &trace, "-o", &file, "--plot", plot]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{plot}");
        std::fs::read_to_string(file).unwrap()
    };
    let drift = drawn("drift");
    assert!(drift.contains(">Drift of the clocks against that of rank 0<") && drift.contains(">ahead, ms<"), "{drift}");
    let [fast, slow] = ["rank 1: +37.000 ppm", "rank 2: \u{2212}12."].map(|name| {
        let name = name.replace('\u{2212}', "-");
        let legend = drift
            .lines()
            .find_map(|line| line.split('>').nth(1)?.strip_suffix("</text").filter(|text| text.starts_with(&name)));
        let legend = legend.unwrap_or_else(|| panic!("no {name} in {drift}"));
        let [line] = &layers(&drift, legend)[..] else { panic!("{legend}: no line") };
        line.clone()
    });
    // The first rises from left to right by 37 parts where the second falls by 12.5: up is less from the top.
    let rise = |line: &[(f64, f64)]| line[0].1 - line[line.len() - 1].1;
    assert_eq!((fast.len(), slow.len()), (401, 401));
    assert!((rise(&fast) / rise(&slow) + 37.0 / 12.5).abs() < 0.05, "{} {}", rise(&fast), rise(&slow));

    let offset = drawn("offset");
    assert!(offset.contains(">rank 1: 1.50 s ahead at the start, +37.000 ppm; without its line"), "{offset}");
    // Each synchronisation of either clock, and a curve.
    assert_eq!(layers(&offset, "synchronisation").iter().map(Vec::len).collect::<Vec<_>>(), [SYNCS.len(); 2]);
    assert_eq!(layers(&offset, "offset").iter().map(Vec::len).collect::<Vec<_>>(), [401; 2]);
    assert!(layers(&offset, "95 % interval").len() == 2 && offset.contains(">ahead of its line, "), "{offset}");

    let methods = drawn("methods");
    assert!(methods.contains(">rank 2: global time by other methods, less that by joint<"), "{methods}");
    for method in ["linear", "skampi"] {
        let lines = layers(&methods, method);
        assert!(lines.len() == 2 && lines.iter().all(|line| line.len() == 401), "{method}: {}", lines.len());
    }
    // The one without a drift model is further off at the end than at the start.
    let skampi = &layers(&methods, "skampi")[0];
    assert!((skampi[400].1 - skampi[1].1).abs() > 20.0, "{:?} {:?}", skampi[1], skampi[400]);

    let duration = drawn("duration");
    assert!(duration.contains(">duration of the synchronisations, ms<"), "{duration}");
    // One synchronisation of 1 ms, two, and all seven; each clock a mark, the further the longer.
    let [skampi, linear, joint] = ["skampi: distance", "linear: distance", "joint: its 95 % error"].map(|name| {
        let [marks] = &layers(&duration, name)[..] else { panic!("no {name}: {duration}") };
        assert_eq!(marks.iter().filter(|mark| mark.0 == marks[0].0).count(), marks.len(), "{name}: {marks:?}");
        marks[0]
    });
    let far = |a: (f64, f64), b: (f64, f64)| b.0 - a.0;
    assert!((far(linear, joint) / far(skampi, linear) - 5.0).abs() < 0.02, "{skampi:?} {linear:?} {joint:?}");
    // Without a drift model it is off furthest, and lower is nearer.
    assert!(skampi.1 < linear.1, "{skampi:?} {linear:?}");

    let refused = mpitrace(&["clock", &trace, "-o", "clocks.gif"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    assert!(
        refused.stderr.ends_with("clocks.gif: the name of a picture ends in .svg, .png, .pdf or .csv\n"),
        "{}",
        refused.stderr
    );
    let one = mpitrace(&["clock", &folder.trace(&plain()), "-o", &folder.path("one.svg")]);
    assert!(one.code == 2 && one.stderr.ends_with("one.svg: nothing to show\n"), "{}", one.stderr);
}

#[test]
fn a_clock_that_stepped_is_told_with_the_times_around_it() {
    let folder = Folder::new();
    let trace = run(&folder, Method::Joint, &["", "offset_ns=1000,ppm=3,step_ns=2e5@35"]);
    let ran = mpitrace(&["clock", "--json", &trace]);
    assert_eq!(ran.code, 1);
    let found = ran.json();
    let steps = found["steps"].as_array().unwrap();
    assert_eq!((steps.len(), &steps[0]["domain"]), (1, &json!(1)));
    let number = |key: &str| steps[0][key].as_f64().unwrap();
    assert!((29.0..31.0).contains(&number("after_s")) && (39.0..41.0).contains(&number("before_s")), "{steps:?}");
    assert!((number("size_ns") - 200_000.0).abs() < 500.0, "{steps:?}");
    assert!((found["drift_ppm"][1].as_f64().unwrap() - 3.0).abs() < 0.02, "the step is no drift");
    let page = mpitrace(&["clock", &trace]).stdout;
    let line = page.lines().last().unwrap();
    assert!(line.starts_with("the clock of rank 1 jumped ahead by ") && line.ends_with(": split the trace there"));
    assert_eq!(mpitrace(&["clock", &run(&folder, Method::Joint, &["", "ppm=3,step_ns=-2e5@35"])]).code, 1);
}

/// A node that died has taken the records of its ranks along.
#[test]
fn clocks_without_one_of_them_are_related_by_what_is_left_or_said_not_to_be() {
    let folder = Folder::new();
    let trace = run(&folder, Method::Joint, &["", "offset_ns=1.5e9,ppm=37", "offset_ns=-2e6,ppm=-12.5"]);
    lose(&trace, 1);
    let found = mpitrace(&["clock", "--json", &trace]).json();
    assert_eq!((&found["method"], &found["domains"]), (&json!("joint"), &json!([[0], [2]])));
    assert!(found["truth"]["max_ns"].as_f64().unwrap() < 200.0, "{found}");

    // All probes were with rank 0.
    let trace = run(&folder, Method::Joint, &["", "offset_ns=1.5e9,ppm=37", "offset_ns=-2e6,ppm=-12.5"]);
    lose(&trace, 0);
    let found = mpitrace(&["clock", "--json", &trace]).json();
    assert_eq!((&found["method"], &found["domains"]), (&json!("none"), &json!([[1], [2]])));
}

/// Takes a rank's entry out of the table of a trace that `run` wrote.
fn lose(trace: &str, rank: u32) {
    let file = File::options().read(true).write(true).open(trace).unwrap();
    let mut parts = [0; 4];
    file.read_exact_at(&mut parts, offset_of!(FileHeader, parts) as u64).unwrap();
    let parts = u32::from_le_bytes(parts);
    let mut last = [0; size_of::<PartEntry>()];
    file.read_exact_at(&mut last, file::part_entry_offset(parts - 1)).unwrap();
    file.write_all_at(&last, file::part_entry_offset(rank)).unwrap();
    let length = file.metadata().unwrap().len();
    let job = SyntheticRank::new(rank, parts).header.job;
    file::write_header(&file, job, parts, parts - 1, length, false).unwrap();
}

#[test]
fn a_method_that_states_no_error_has_none() {
    let folder = Folder::new();
    let found = mpitrace(&["clock", "--json", &run(&folder, Method::Linear, &["", "ppm=37"])]).json();
    assert_eq!((&found["method"], &found["error_ns"]), (&json!("linear"), &json!({"max": null, "median": null})));
    assert!((found["drift_ppm"][1].as_f64().unwrap() - 37.0).abs() < 0.01);
    let page = mpitrace(&["clock", &folder.path("a.mpitrace")]).stdout;
    assert!(page.contains("\nerrors   not known: the method states none\n"), "{page}");
    assert_eq!((&found["max_ppm"], &found["wander_ppb"]), (&Value::Null, &Value::Null), "limits are those of bounds");
    assert!(!page.contains("hard bounds"), "{page}");
}

#[test]
fn a_file_that_is_no_trace_and_wrong_options_end_with_2_and_one_line() {
    let folder = Folder::new();
    for arguments in [&["clock", &folder.file("text", b"no trace")][..], &["clock", "--json", "--json", "a"]] {
        let ran = mpitrace(arguments);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1), "{}", ran.stderr);
    }
}

/// Barriers of a run, one every 20 ms.
const CALLS: u64 = 3000;
/// When clocks are synchronised: soon after the start, every 10 s, and at the end, ns.
const SYNCS: [u64; 7] =
    [10_000_000, 10_000_000_000, 20_000_000_000, 30_000_000_000, 40_000_000_000, 50_000_000_000, 60_010_000_000];
/// How long a synchronisation takes on the reference clock, ns.
const SYNC: u64 = 1_000_000;
/// The true tick at which simulated clocks begin. A tick is 1 ns.
const EPOCH: u64 = 1 << 40;

/// Writes the trace of a minute in which ranks with these clocks ("": the true one) meet in barriers, each in a domain
/// of its own, synchronised by a method that probes.
pub fn run(folder: &Folder, method: Method, clocks: &[&str]) -> String {
    let path = folder.path("a.mpitrace");
    let file = File::create(&path).unwrap();
    let parts = clocks.len() as u32;
    let mut offset = file::parts_start(parts);
    let mut job = [0; 16];
    for (rank, text) in (0..parts).zip(clocks) {
        let recorded = Recorded::new(rank, parts, method, text);
        let content = recorded.content();
        let entry = PartEntry { offset, length: content.length(), rank, padding: 0 };
        content.write_at(&file, offset).unwrap();
        file::write_part_entries(&file, rank, &[entry]).unwrap();
        offset += entry.length;
        job = recorded.header.job;
    }
    file::write_header(&file, job, parts, parts, offset, true).unwrap();
    path
}

/// The records of one rank.
struct Recorded {
    header: RankHeader,
    strings: Vec<u8>,
    communicator: CommunicatorEntry,
    operation: OperationEntry,
    syncs: Vec<SyncEntry>,
    probes: Vec<ProbeEntry>,
    /// Each entry, each exit; as the clock shows them, and truly.
    shown: [Vec<u64>; 2],
    truth: [Vec<u64>; 2],
}

impl Recorded {
    fn new(rank: u32, size: u32, method: Method, text: &str) -> Recorded {
        let clock = SimulatedClock::parse(text).unwrap();
        let show = |since: u64| clock.local(EPOCH + since, EPOCH, 1e9);
        let mut strings = vec![0; strings::FIRST as usize];
        let mut header = SyntheticRank::new(rank, size).header;
        (header.leader, header.domain) = (rank, rank);
        (header.clock_method, header.max_ppm, header.wander_ppb) = (method.number(), 500.0, 100.0);
        if !text.is_empty() {
            (header.pretended, header.pretended_epoch) = (add(&mut strings, text), EPOCH);
            header.pretended_hz = 1e9;
        }
        for (anchor, since) in [(&mut header.first_anchor, 0), (&mut header.last_anchor, SYNCS[6] + SYNC)] {
            (anchor.tick, anchor.raw_ns, anchor.realtime_ns) = (show(since), since, EPOCH + since);
        }
        let syncs = (0..).zip(SYNCS).map(|(index, since)| SyncEntry {
            index,
            begin: show(since),
            end: show(since).wrapping_add(SYNC),
            ..SyncEntry::default()
        });
        let probes = (0..).zip(SYNCS).filter(|_| rank > 0).map(|(sync, since)| {
            // Ticks of the reference, which is the true clock, and of this rank, in turn.
            let exchange = |number: u64, there: bool| {
                // 400 ns each way, and what looks like chance.
                let delay = |salt: u64| 400 + (number * 7919 + salt * 104_729 + since % 1_000_003) % 211;
                let sent = since + SYNC / 8 + 5000 * number + if there { 0 } else { 2500 };
                let (remote, received) = (sent + delay(1), sent + delay(1) + delay(2));
                let tick = |own: bool, since: u64| if own { show(since) } else { EPOCH + since };
                Exchange { sent: tick(there, sent), remote: tick(!there, remote), received: tick(there, received) }
            };
            let [forth, back] =
                [true, false].map(|there| (0..100).map(|number| exchange(number, there)).collect::<Vec<_>>());
            ProbeEntry { sync, ..probe(0, &forth, &back) }
        });
        // Ranks come one after the other, and leave 1 µs after the last has come.
        let calls = (1..=CALLS).map(|call| 20_000_000 * call);
        let late = |call: u64| (100.0 * (1.0 + (TAU * call as f64 / 1e9).sin())) as u64 * u64::from(rank);
        let truth = [
            calls.clone().map(|call| EPOCH + call + late(call)).collect::<Vec<_>>(),
            calls.map(|call| EPOCH + call + 1000 + 10 * u64::from(rank)).collect(),
        ];
        let communicator = CommunicatorEntry {
            key: [1, 2],
            calls: CALLS,
            size,
            rank,
            flags: communicator_flags::WORLD | communicator_flags::IDENTIFIED,
            ..CommunicatorEntry::default()
        };
        let function = add(&mut strings, "MPI_Barrier");
        Recorded {
            header,
            communicator,
            operation: OperationEntry { calls: CALLS, root: NO_ROOT, function, ..OperationEntry::default() },
            syncs: syncs.collect(),
            probes: probes.collect(),
            shown: truth.each_ref().map(|ticks| ticks.iter().map(|tick| show(tick - EPOCH)).collect()),
            truth,
            strings,
        }
    }

    fn content(&self) -> Content<'_> {
        let numbers: Vec<u64> = (0..CALLS).collect();
        let mut rows = Rows {
            enter: self.shown[0].clone(),
            exit: self.shown[1].clone(),
            position: numbers.clone(),
            repetition: numbers,
            operation: vec![0; CALLS as usize],
            others: Vec::new(),
        };
        let mut columns = stored_columns(0, &COLUMNS);
        if self.header.pretended != 0 {
            columns.extend(stored_columns(column::OTHERS, &TRUE_COLUMNS));
            rows.others = (column::OTHERS..).zip(self.truth.iter().cloned()).collect();
        }
        let mut blocks = Blocks::default();
        blocks.add(&rows, &Numbering::new(vec![self.operation.communicator]), 1, 0);
        Content {
            rank: self.header,
            incomplete: false,
            metadata: &[0],
            strings: &self.strings,
            communicators: bytes(std::slice::from_ref(&self.communicator)),
            operations: bytes(std::slice::from_ref(&self.operation)),
            threads: &[0; size_of::<ThreadEntry>()],
            times: Times::default(),
            partners: Vec::new(),
            counters: &[],
            syncs: bytes(&self.syncs),
            probes: bytes(&self.probes),
            interruptions: Vec::new(),
            histograms: Vec::new(),
            columns,
            blocks,
            messages: &[],
            message_blocks: Blocks::default(),
            lost: LostRecords::default(),
        }
    }
}

/// Adds a text to a string area.
fn add(strings: &mut Vec<u8>, text: &str) -> u32 {
    let reference = strings.len();
    strings.extend_from_slice(&(text.len() as u32).to_le_bytes());
    strings.extend_from_slice(text.as_bytes());
    strings.resize(reference + strings::space(text.len()) as usize, 0);
    reference as u32
}

/// The bytes of numbers, or of entries of a trace's tables.
fn bytes<T: Copy>(values: &[T]) -> &[u8] {
    // SAFETY: of the types that come here every byte is set: they have no padding, or the reader could not check them.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}
