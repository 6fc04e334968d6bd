//! Several users trace into one folder of a site: none can read, rename or remove what is another's, and the group of the
//! site reads all. What killed jobs leave root recovers for its user.

use crate::support::{Case, On, Outcome, TARGET, Test, Trace, binaries, companion, litter, process};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Libraries whose launchers run for users without an entry in /etc/passwd.
const LIBRARIES: On = On::Only(&["mpich5", "mpich5-abi"]);
const GROUP: u32 = 7100;

pub const TESTS: &[Test] = &[
    Test::new("of_one_site_keep_their_traces_to_themselves", private).on(LIBRARIES).where_permitted(is_root),
    Test::new("leave_records_that_root_recovers_for_them_alone", recovered_by_root)
        .on(LIBRARIES)
        .where_permitted(is_root),
    Test::new("whose_folder_cannot_be_made_have_it_in_the_log", logged).on(LIBRARIES).where_permitted(has_no_log),
];

fn is_root() -> Result<(), String> {
    // SAFETY: takes nothing, and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    let is_closed = |folder: &&Path| folder.metadata().is_ok_and(|folder| folder.mode() & 0o001 == 0);
    match TARGET.ancestors().find(is_closed) {
        _ if !is_root => Err("no other users without root".to_owned()),
        Some(folder) => Err(format!("other users may not enter {}, in which this is built", folder.display())),
        None => Ok(()),
    }
}

fn has_no_log() -> Result<(), String> {
    if Path::new("/dev/log").exists() { Err("a daemon has the system's log".to_owned()) } else { is_root() }
}

/// The words before a command of a user, in this group.
fn as_user(user: u32, group: u32) -> Vec<OsString> {
    let words = [format!("--reuid={user}"), format!("--regid={group}"), "--clear-groups".into(), "env".into()];
    ["setpriv".into()].into_iter().chain(words).chain([format!("LOGNAME=u{user}")]).map(OsString::from).collect()
}

/// True if a shell of the user does this.
fn can(case: &Case, (user, group): (u32, u32), command: &str) -> bool {
    let mut words = as_user(user, group);
    words.extend(["sh".into(), "-c".into(), command.into()]);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    process::run(command, &case.folder.join("shell"), Duration::from_secs(60)).code == 0
}

/// A job of this user with a trace of this name.
fn job(case: &Case, user: u32, pattern: &Path, verbose: &str) -> Outcome {
    let segments = case.folder.join("live");
    fs::create_dir_all(&segments).expect("a folder");
    fs::set_permissions(&segments, fs::Permissions::from_mode(0o1777)).expect("its mode");
    let launch = case.launch(2, "repeat.c").trace().set("MPITRACE_OUTPUT", pattern).set("MPITRACE_VERBOSE", verbose);
    let traced = launch.set("MPITRACE_SEGMENT_DIR", &segments).run_under(&as_user(user, user));
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    traced
}

/// All traces below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let found = entries.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] });
    found.filter(|path| path.extension().is_some_and(|ending| ending == "mpitrace")).collect()
}

/// A folder for all users, of this group.
fn site(case: &Case) -> PathBuf {
    let site = case.folder.join("logs");
    fs::create_dir(&site).expect("a folder");
    chown(&site, None, Some(GROUP)).expect("its group");
    fs::set_permissions(&site, fs::Permissions::from_mode(0o3777)).expect("its mode");
    site
}

fn private(case: &Case) {
    let site = site(case);
    let pattern = site.join("%u/%d/%x-%p.mpitrace");
    let users = [7001, 7002, 7003];
    for user in users {
        let traced = job(case, user, &pattern, "1");
        assert!(traced.lines_with("cannot").is_empty(), "{}", traced.stderr);
        let own = below(&site.join(format!("u{user}")));
        let [trace] = &own[..] else { panic!("{own:?}: {}", traced.stderr) };
        let name = trace.display();
        assert!(can(case, (user, user), &format!("cat {name}")));
        assert!(can(case, (7050, GROUP), &format!("cat {name}")), "the group of the site reads all");
        assert!(!can(case, (7050, GROUP), &format!("echo >> {name}")), "and changes nothing");
        assert_eq!(Trace::new(trace.clone()).info().records, 20);
    }
    for trace in below(&site) {
        let owner = users.into_iter().find(|user| trace.starts_with(site.join(format!("u{user}")))).expect("its user");
        let (name, folder) = (trace.display(), site.join(format!("u{owner}")));
        for other in users.into_iter().filter(|user| *user != owner) {
            let other = (other, other);
            let tries = [
                format!("cat {name}"),
                format!("ls {}", folder.display()),
                format!("mv {name} {name}.old"),
                format!("mv {0} {0}.old", folder.display()),
                format!("rm -rf {}", folder.display()),
            ];
            let done: Vec<&String> = tries.iter().filter(|command| can(case, other, command)).collect();
            assert!(done.is_empty() && trace.exists(), "{other:?}: {done:?}");
        }
    }
    // One that another user has made under this name gets no trace.
    assert!(can(case, (7002, 7002), &format!("mkdir -m 777 {}/u7004", site.display())));
    let traced = job(case, 7004, &pattern, "1");
    assert!(traced.stderr.contains("it is another user's"), "{}", traced.stderr);
    assert_eq!(below(&site.join("u7004")), [""; 0].map(PathBuf::from));
}

fn logged(case: &Case) {
    let log = UnixDatagram::bind("/dev/log").expect("the system's log");
    fs::set_permissions("/dev/log", fs::Permissions::from_mode(0o666)).expect("for all users");
    let site = site(case);
    let traced = job(case, 7001, &site.join("%d/%p.mpitrace"), "0");
    fs::remove_file("/dev/log").expect("the socket");
    log.set_nonblocking(true).expect("a flag");
    let mut said = Vec::new();
    loop {
        let mut text = [0; 4096];
        match log.recv(&mut text) {
            Ok(length) => said.push(String::from_utf8_lossy(&text[..length]).into_owned()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(traced.lines_with("mpitrace").is_empty(), "{}", traced.stderr);
    let [text] = &said[..] else { panic!("once: {said:?}") };
    assert!(text.starts_with("<12>mpitrace[") && text.contains("cannot make the folder"), "{text}");
}

/// Kills a job of this user within a call, so that its records stay.
fn kill(case: &Case, user: u32, segments: &Path, verbose: &str) {
    let launch = case.launch(2, "death.c").arg("kill").trace().set("MPITRACE_VERBOSE", verbose);
    let killed = launch.set("MPITRACE_SEGMENT_DIR", segments).run_under(&as_user(user, user));
    litter::sweep();
    assert_ne!(killed.code, 0, "{}", killed.stderr);
    let left = |file: &PathBuf| file.metadata().is_ok_and(|file| file.uid() == user);
    assert_eq!(files(segments).iter().filter(|file| left(file)).count(), 2, "{}", killed.stderr);
}

/// The files in a folder, not what is below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// Root recovers the records of all users, each with the rights of its user: nobody else can read the trace, and a link
/// or file of a user gives nobody the rights of root.
fn recovered_by_root(case: &Case) {
    let segments = case.folder.join("live");
    fs::create_dir(&segments).expect("a folder");
    fs::set_permissions(&segments, fs::Permissions::from_mode(0o1777)).expect("its mode");
    let site = site(case);
    [7001, 7002].into_iter().for_each(|user| kill(case, user, &segments, "0"));
    // Of a third user: a file that is no segment, links to what is root's, and the name of the first trace.
    let precious = case.folder.join("precious");
    fs::write(&precious, "root's").expect("a file");
    fs::set_permissions(&precious, fs::Permissions::from_mode(0o600)).expect("its mode");
    let link = |to: &Path| format!("ln -s {} {}", precious.display(), to.display());
    let scribbled = format!("echo scribbled > {}/mpitrace-7003-a.segment", segments.display());
    let traps = [scribbled, link(&segments.join("mpitrace-7003-b.segment")), link(&site.join("left.mpitrace"))];
    for trap in &traps {
        assert!(can(case, (7003, 7003), trap), "{trap}");
    }
    let recover = |words: &[&str]| {
        let mut all: Vec<OsString> = vec!["recover".into(), segments.clone().into()];
        all.extend(words.iter().map(OsString::from));
        companion::mpitrace(&all)
    };
    let left = files(&segments);

    let list = companion::json(&recover(&["--list", "--json"]));
    let rows = list.as_array().expect("rows");
    let of = |key: &str| -> Vec<&Value> { rows.iter().map(|row| &row[key]).collect() };
    assert_eq!(of("user"), ["7001", "7001", "7002", "7002"]);
    assert_eq!(
        (of("job"), of("rank")),
        (vec![&json!(0), &json!(0), &json!(1), &json!(1)], vec![&json!(0), &json!(1), &json!(0), &json!(1)])
    );
    assert!(rows.iter().all(|row| row["records"].as_u64().is_some_and(|calls| calls >= 50)), "{list:#}");
    let said = recover(&["--list"]).stdout;
    assert!(said.lines().next().is_some_and(|line| line.contains("user")) && said.contains("7002"), "{said}");
    // A user has one's own.
    let own = format!("{} recover {} --list --json", binaries::companion().display(), segments.display());
    assert!(can(case, (7002, 7002), &format!("test $({own} | grep -c '\"rank\"') = 2")));

    // Which one is to be said; a folder of root alone is none for a user's trace.
    let site_trace = site.join("left.mpitrace").display().to_string();
    let refused = recover(&["-o", &site_trace]);
    assert!(
        refused.code == 2 && refused.stderr.contains(" of 7001, 2 ranks") && refused.stderr.contains(" of 7002, "),
        "{}",
        refused.stderr
    );
    let closed = case.folder.join("closed");
    fs::create_dir(&closed).expect("a folder");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("its mode");
    let name = rows[2]["name"].as_str().expect("a name");
    let refused = recover(&["--job", name, "-o", &closed.join("x.mpitrace").display().to_string()]);
    assert_eq!((refused.code, refused.stderr.lines().count()), (2, 1), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("no folder") || refused.stderr.contains("7002, whose job it was, cannot write there"),
        "{}",
        refused.stderr
    );
    assert_eq!(files(&segments), left);

    let one = companion::json(&recover(&["--job", name, "-o", &site_trace, "--json"]));
    let all = companion::json(&recover(&["--job", "all", "-o", &site_trace, "--json"]));
    let file = |rows: &Value| PathBuf::from(rows[0]["file"].as_str().expect("a trace"));
    let traces = [(7002, file(&one)), (7001, file(&all))];
    for (user, trace) in &traces {
        let (name, found) = (trace.display(), trace.metadata().expect("a trace"));
        assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (*user, GROUP, 0o640), "{name}");
        assert!(can(case, (*user, *user), &format!("cat {name}")) && can(case, (7050, GROUP), &format!("cat {name}")));
        assert!(!can(case, (7003, 7003), &format!("cat {name}")), "{name}");
        let info = Trace::new(trace.clone()).info();
        assert_eq!((info.complete, info.ranks, info.only("MPI_Allreduce").bytes), (false, 2, 8));
    }
    assert_eq!(traces[0].1.parent(), Some(site.as_path()));
    // What is no segment stays, and so does what is root's.
    assert_eq!(files(&segments).len(), 2, "{:?}", files(&segments));
    assert_eq!(fs::read_to_string(&precious).expect("root's file"), "root's");
    // Another folder, in which the site does not share traces: for the user alone.
    kill(case, 7001, &segments, "0");
    let shared = case.folder.join("shared");
    fs::create_dir(&shared).expect("a folder");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).expect("its mode");
    let done = companion::json(&recover(&["-o", &shared.join("x.mpitrace").display().to_string(), "--json"]));
    let found = file(&done).metadata().expect("a trace");
    assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (7001, 7001, 0o600));
}
