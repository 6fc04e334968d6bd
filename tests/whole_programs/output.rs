//! Where the trace goes.

use crate::support::{Case, On, Outcome, Test, Trace, build, litter};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub const TESTS: &[Test] = &[
    Test::new("that_exists_is_never_overwritten", never_overwritten),
    Test::new("is_named_by_host_and_process", placeholders),
    Test::new("is_in_the_working_directory_by_default", default_name),
    Test::new("that_cannot_be_written_harms_nobody", unwritable),
    Test::new("is_in_folders_that_are_made", folders),
    Test::new("has_the_rights_that_the_umask_leaves", rights),
    Test::new("in_a_folder_for_all_users_is_for_its_user_alone", for_all_users),
    Test::new("is_opened_and_synchronised_once_for_all_ranks_of_a_node", once_for_all),
    // In the child MPI_Finalize of the other libraries fails.
    Test::new("is_not_written_by_a_child_that_was_forked_off", forked).on(On::Only(&["mpich5", "mpich5-abi"])),
];

/// The traces in the folder of the test.
fn traces(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder").flatten().map(|entry| entry.path());
    let mut traces: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "mpitrace")).collect();
    traces.sort();
    traces
}

fn forked(case: &Case) {
    let traced = case.launch(2, "forked_exit.c").trace().run();
    let plain = case.launch(2, "forked_exit.c").run();
    // The launcher prints the number of a process.
    let of_ranks = |outcome: &Outcome| -> Vec<String> {
        outcome.stdout.lines().filter(|line| line.starts_with("rank ")).map(str::to_owned).collect()
    };
    assert_eq!(of_ranks(&traced), of_ranks(&plain), "{}", traced.stderr);
    assert!(traced.stdout.contains("rank 1: status of the child 0\n"), "{}", traced.stdout);
    assert_eq!(traced.code == 0, plain.code == 0, "exit codes {} and {}", traced.code, plain.code);
    assert_eq!(traces(&case.folder), Vec::<PathBuf>::new(), "{}", traced.stderr);
    // The live records outlive the child.
    let trace = case.recover_soon();
    assert_eq!((trace.info().records, trace.info().missing), (80, vec![]), "{}", traced.stderr);
}

fn never_overwritten(case: &Case) {
    let first = case.folder.join("mine.mpitrace");
    fs::write(&first, "somebody's").expect("a file of that name");
    for _ in 0..2 {
        let traced = case.launch(2, "repeat.c").set("MPITRACE_OUTPUT", &first).trace().run();
        assert_eq!(traced.code, 0, "{}", traced.stderr);
    }
    assert_eq!(fs::read_to_string(&first).expect("the file"), "somebody's");
    let others = ["mine.2.mpitrace", "mine.3.mpitrace"].map(|name| case.folder.join(name));
    assert_eq!(traces(&case.folder), [others[0].clone(), others[1].clone(), first]);
    for path in others {
        assert_eq!(Trace::new(path).info().records, 20);
    }
}

/// Of four ranks the first makes the file, which all write through one descriptor, and synchronises it, and the name in
/// the folder. So it is where the ranks meet in memory and by messages.
fn once_for_all(case: &Case) {
    let counter = build::shared_library(case.mpi, "count_files.c");
    for joint in ["0", "1"] {
        let folder = case.folder.join(format!("joint{joint}"));
        fs::create_dir(&folder).expect("a folder for the trace");
        let counted = case.folder.join(format!("counted{joint}"));
        let launch = case.launch(4, "repeat.c").preload(counter.clone()).set("COUNT_BELOW", &folder);
        let launch = launch.set("COUNT_INTO", &counted).set("MPITRACE_JOINT", joint);
        let output = folder.join("a.mpitrace");
        let traced = launch.trace().set("MPITRACE_OUTPUT", &output).run();
        assert_eq!(traced.code, 0, "{}", traced.stderr);
        let info = Trace::new(output).info();
        assert_eq!((info.complete, info.ranks, info.records), (true, 4, 40), "{}", traced.stderr);
        let text = fs::read_to_string(counted).expect("what the ranks have counted");
        let sum = |kind: &str| -> u64 {
            let words: Vec<_> = text.split_whitespace().collect();
            let pairs = words.windows(2).filter(|pair| pair[0] == kind);
            pairs.map(|pair| pair[1].parse::<u64>().expect("a number")).sum()
        };
        assert_eq!(["create", "open", "sync", "link"].map(sum), [1, 0, 2, 1], "joint {joint}: {text}");
    }
}

fn placeholders(case: &Case) {
    let pattern = case.folder.join("of-%h-%p.mpitrace");
    let traced = case.launch(2, "repeat.c").set("MPITRACE_OUTPUT", &pattern).trace().run();
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    let found = traces(&case.folder);
    assert_eq!(found.len(), 1, "{found:?}");
    let name = found[0].file_name().unwrap_or_default().to_string_lossy().into_owned();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("the host's name");
    let process = name.strip_prefix(&format!("of-{}-", host.trim())).and_then(|rest| rest.strip_suffix(".mpitrace"));
    assert!(process.is_some_and(|pid| pid.parse::<u32>().is_ok()), "{name}");
    assert_eq!(Trace::new(found[0].clone()).info().records, 20);
}

fn default_name(case: &Case) {
    let traced = case.launch(2, "repeat.c").preload(crate::support::tracer()).run();
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    let found = traces(&case.folder);
    assert_eq!(found.len(), 1, "{found:?}");
    let name = found[0].file_name().unwrap_or_default().to_string_lossy().into_owned();
    assert!(name.starts_with("mpitrace-"), "{name}");
    assert_eq!(Trace::new(found[0].clone()).info().records, 20);
}

fn unwritable(case: &Case) {
    let file = case.folder.join("file");
    fs::write(&file, "").expect("a file where a folder is asked for");
    let plain = case.launch(2, "repeat.c").run();
    for output in [file.join("run.mpitrace"), PathBuf::from("/proc/no-such-folder/run.mpitrace")] {
        let traced = case.launch(2, "repeat.c").set("MPITRACE_OUTPUT", &output).trace().run();
        traced.same_as(&plain);
        let said = traced.lines_with(&output.display().to_string());
        assert_eq!(said.len(), 1, "one line that names {}:\n{}", output.display(), traced.stderr);
        let folder = output.parent().expect("a folder").display().to_string();
        let at_start = traced.lines_with(&format!("cannot make the folder {folder}: "));
        assert!(at_start.len() == 1 && at_start[0].contains("set MPITRACE_OUTPUT"), "{}", traced.stderr);
        assert_eq!(case.recover().info().records, 20, "nothing is lost");
    }
}

fn folders(case: &Case) {
    for (number, keep) in ["account", "calls"].into_iter().enumerate() {
        let pattern = format!("traces/{number}/%p/run.mpitrace");
        let launch = case.launch(2, "repeat.c").arg("1000").set("MPITRACE_KEEP", keep).set("MPITRACE_CAPACITY", "100");
        let traced = launch.set("MPITRACE_OUTPUT", &pattern).trace().run();
        assert_eq!((traced.code, traced.lines_with("cannot").len()), (0, 0), "{}", traced.stderr);
        let of_processes: Vec<_> =
            fs::read_dir(case.folder.join(format!("traces/{number}"))).expect("made").flatten().collect();
        let found: Vec<_> = of_processes.iter().flat_map(|folder| traces(&folder.path())).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        let info = Trace::new(found[0].clone()).info();
        assert_eq!((info.records + info.dropped, info.dropped == 0), (2000, keep == "calls"));
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).permissions().mode() & 0o7777
}

/// A folder with this mode, whatever the umask is.
fn made(path: &Path, mode: u32) {
    fs::create_dir(path).expect("a folder");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
}

/// The only entry of a folder.
fn only(folder: &Path) -> PathBuf {
    let found: Vec<PathBuf> = fs::read_dir(folder).expect("the folder").flatten().map(|entry| entry.path()).collect();
    let [one] = &found[..] else { panic!("{found:?} in {}", folder.display()) };
    one.clone()
}

/// As a site has it, whose module traces every job into one folder: each user has a folder there, or root makes those
/// of the days.
fn for_all_users(case: &Case) {
    for (of_site, of_user, of_trace) in [(0o1777, 0o700, 0o600), (0o3777, 0o2750, 0o640)] {
        let site = case.folder.join(format!("{of_site:o}"));
        made(&site, of_site);
        let run = |pattern: &str| {
            let launch = case.launch(2, "repeat.c").set("LOGNAME", "a-user").trace();
            let traced = launch.set("MPITRACE_OUTPUT", site.join(pattern)).run();
            assert_eq!(traced.code, 0, "{}", traced.stderr);
            traced
        };
        let traced = run("%u/%d/%x-%j.mpitrace");
        assert!(traced.lines_with("cannot").is_empty(), "{}", traced.stderr);
        let user = only(&site);
        let day = only(&user);
        let name = day.file_name().unwrap_or_default().to_string_lossy().into_owned();
        assert!(name.len() == 8 && name.parse::<u32>().is_ok_and(|date| date > 20_000_000), "{name}");
        assert_eq!((user.file_name(), mode(&user)), (Some("a-user".as_ref()), of_user));
        let trace = only(&day);
        assert!(trace.file_name().unwrap_or_default().to_string_lossy().starts_with("repeat"), "{}", trace.display());
        assert_eq!(Trace::new(trace).info().records, 20);
        // A folder that users share would be its first user's.
        let traced = run(&format!("x%d/{name}-%u.mpitrace"));
        assert!(traced.stderr.contains("has to be %u, as in /logs/%u/%d"), "{}", traced.stderr);
        assert_eq!(only(&site), user);
        assert_eq!(case.recover().info().records, 20, "nothing is lost");
        made(&site.join(format!("x{name}")), of_site);
        run("x%d/%u.mpitrace");
        let trace = site.join(format!("x{name}/a-user.mpitrace"));
        assert_eq!(mode(&trace), of_trace);
    }
}

/// A trace has those of any file that the user makes, also one that is recovered; live records never have more than
/// their owner's.
fn rights(case: &Case) {
    let mode = |path: &Path| mode(path) & 0o777;
    let under = |umask: &str| ["sh", "-c", &format!("umask {umask}; exec \"$@\""), "sh"].map(Into::into);
    for (umask, expected) in [("027", 0o640), ("000", 0o666)] {
        let traced = case.launch(2, "repeat.c").behind(&under(umask)).trace().run();
        assert_eq!((traced.code, mode(&traced.trace.path)), (0, expected), "umask {umask}: {}", traced.stderr);
    }
    case.launch(2, "death.c").arg("kill").behind(&under("000")).trace().run();
    litter::sweep();
    let left = case.segments.left();
    assert!(!left.is_empty(), "a killed job leaves its live records");
    assert!(left.iter().all(|name| mode(&case.segments.0.join(name)) == 0o600), "{left:?}");
    // The umask of this process is what it was started with.
    let other = case.folder.join("a file");
    fs::write(&other, "").expect("a file");
    assert_eq!(mode(&case.recover().path), mode(&other));
}
