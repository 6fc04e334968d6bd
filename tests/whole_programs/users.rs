//! Several users trace into one folder of a site: none can read, rename or remove what is another's, and the group of the
//! site reads all.

use crate::support::{Case, On, Outcome, Test, Trace, process};
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Libraries whose launchers run for users without an entry in /etc/passwd.
const LIBRARIES: On = On::Only(&["mpich5", "mpich5-abi"]);
const GROUP: u32 = 7100;

pub const TESTS: &[Test] = &[
    Test::new("of_one_site_keep_their_traces_to_themselves", private).on(LIBRARIES).where_permitted(is_root),
    Test::new("whose_folder_cannot_be_made_have_it_in_the_log", logged).on(LIBRARIES).where_permitted(has_no_log),
];

fn is_root() -> Result<(), String> {
    // SAFETY: takes nothing, and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    if is_root { Ok(()) } else { Err("no other users without root".to_owned()) }
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
