//! What a node has: asked by a shell, since nothing of the tracer may be there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use serde::Serialize;

/// How a node's line begins.
const MARK: &str = "mpitrace-node";
/// Prints one line. $1 the tracer, $2 the companion, $3 the MPI library, $4 the folder of the trace with a file `token`
/// that holds $5, $6 the folder of the trace buffers. Values come without blanks.
const SCRIPT: &str = r#"
seen() { if [ -r "$1" ]; then echo 1; else echo 0; fi; }
shared=0 writable=0
if [ "$(cat "$4/token" 2>/dev/null)" = "$5" ]; then
    shared=1
    if (: >"$4/$(uname -n).$$") 2>/dev/null; then writable=1; fi
fi
live=none
if [ -d "$6" ] && [ -w "$6" ]; then live=$(df -Pk "$6" 2>/dev/null | tail -n 1 | tr -s ' ' | cut -d' ' -f4); fi
echo "mpitrace-node host=$(uname -n) boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)" \
    "time=$(date +%s) tracer=$(seen "$1") companion=$(seen "$2") mpi=$(seen "$3") shared=$shared writable=$writable" \
    "live_kib=$live paranoid=$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null)" \
    "pmix=${PMIX_NAMESPACE:+1} pmi=${PMI_FD:+1}${PMI_RANK:+1}"
"#;

/// What a process that the launcher started on a node saw there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Node {
    /// The node's name.
    pub host: String,
    /// Identifies its running kernel.
    pub boot_id: String,
    /// Whether it has the tracer, this program and the MPI library, under the same paths.
    pub tracer: bool,
    pub companion: bool,
    pub mpi: bool,
    /// Whether it sees the folder of the trace that this host sees, and may write there.
    pub shared: bool,
    pub writable: bool,
    /// KiB free for trace buffers; null: the folder is not there, or cannot be written.
    pub live_kib: Option<u64>,
    /// Its setting perf_event_paranoid.
    pub perf_event_paranoid: Option<i32>,
    /// The interface by which the launcher serves MPI libraries there: pmix, pmi; null: none.
    pub interface: Option<&'static str>,
    /// Seconds by which its CLOCK_REALTIME is ahead of this host's; 0 where it agrees to the seconds that asking took.
    pub clock_ahead_s: i64,
}

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'w> {
    pub tracer: &'w Path,
    pub companion: &'w Path,
    pub mpi: &'w Path,
    /// The folder of the trace.
    pub folder: &'w Path,
    /// What its file `token` holds.
    pub token: &'w str,
    /// The folder of the trace buffers.
    pub live: &'w Path,
}

/// The command that asks, for a launcher to start.
pub fn command(wanted: &Wanted<'_>) -> Vec<OsString> {
    let words: [OsString; 10] = [
        "sh".into(),
        "-c".into(),
        SCRIPT.into(),
        "sh".into(),
        wanted.tracer.into(),
        wanted.companion.into(),
        wanted.mpi.into(),
        wanted.folder.into(),
        wanted.token.into(),
        wanted.live.into(),
    ];
    words.to_vec()
}

/// The nodes' lines among the output of a launcher, which began and ended at these times, s since 1970.
pub fn all(output: &str, began: i64, ended: i64) -> Vec<Node> {
    let of_line = |line: &str| {
        let pairs: BTreeMap<&str, &str> =
            line.split_once(MARK)?.1.split_whitespace().filter_map(|pair| pair.split_once('=')).collect();
        let yes = |name: &str| pairs.get(name) == Some(&"1");
        let time: i64 = pairs.get("time")?.parse().ok()?;
        let interface = match (yes("pmix"), pairs.get("pmi").is_some_and(|value| !value.is_empty())) {
            (true, _) => Some("pmix"),
            (_, true) => Some("pmi"),
            _ => None,
        };
        Some(Node {
            host: (*pairs.get("host")?).to_owned(),
            boot_id: (*pairs.get("boot")?).to_owned(),
            tracer: yes("tracer"),
            companion: yes("companion"),
            mpi: yes("mpi"),
            shared: yes("shared"),
            writable: yes("writable"),
            live_kib: pairs.get("live_kib").and_then(|value| value.parse().ok()),
            perf_event_paranoid: pairs.get("paranoid").and_then(|value| value.parse().ok()),
            interface,
            clock_ahead_s: (time - ended).max(0) + (time - began + 1).min(0),
        })
    };
    output.lines().filter_map(of_line).collect()
}

impl Node {
    /// What keeps a trace of all ranks from being written, and what to do; `None`: nothing.
    pub fn problem(&self, wanted: &Wanted<'_>) -> Option<String> {
        let host = &self.host;
        let lacks = [(self.tracer, wanted.tracer), (self.companion, wanted.companion), (self.mpi, wanted.mpi)];
        if let Some((_, path)) = lacks.iter().find(|(has, _)| !has) {
            return Some(format!("{host} lacks {}: each node must find it under this path", path.display()));
        }
        let folder = wanted.folder.parent().unwrap_or(wanted.folder).display();
        if !self.shared {
            return Some(format!(
                "{host} does not share {folder}: name a folder that all nodes share with MPITRACE_OUTPUT"
            ));
        }
        (!self.writable).then(|| format!("{host} cannot write to {folder}: name another folder with MPITRACE_OUTPUT"))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_node_says_what_it_has_and_what_it_lacks() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "x7").unwrap();
        let here = std::env::current_exe().unwrap();
        let wanted = Wanted {
            tracer: &here,
            companion: &here,
            mpi: Path::new("/nonexistent/libmpi.so"),
            folder: folder.path(),
            token: "x7",
            live: folder.path(),
        };
        let asked = |wanted: &Wanted<'_>| {
            let command = command(wanted);
            let output = Command::new(&command[0]).args(&command[1..]).output().unwrap();
            let output = format!("a warning\n0: {}", String::from_utf8(output.stdout).unwrap());
            let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64;
            let nodes = all(&output, now - 60, now);
            assert_eq!(nodes.len(), 1, "{output}");
            nodes[0].clone()
        };
        let node = asked(&wanted);
        assert!(node.tracer && node.companion && !node.mpi && node.shared && node.writable, "{node:?}");
        assert!(node.live_kib.is_some() && node.clock_ahead_s == 0, "{node:?}");
        assert!(node.problem(&wanted).unwrap().contains("lacks /nonexistent/libmpi.so"));
        let elsewhere = Wanted { token: "another folder's", mpi: &here, live: Path::new("/nonexistent"), ..wanted };
        let node = asked(&elsewhere);
        assert!(!node.shared && !node.writable && node.live_kib.is_none(), "{node:?}");
        assert!(node.problem(&elsewhere).unwrap().contains("does not share"));
    }

    #[test]
    fn clocks_that_differ_by_more_than_asking_took_are_found() {
        let ahead = |time: i64| all(&format!("mpitrace-node host=n boot=b time={time}"), 1000, 1003)[0].clock_ahead_s;
        assert_eq!([999, 1000, 1003, 1004, 8203, 900].map(ahead), [0, 0, 0, 1, 7200, -99]);
    }
}
