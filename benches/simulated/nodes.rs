//! Two virtual nodes with a rank each in place of two ranks on one node: `NODES=2`.
//!
//! The benchmark starts itself again on the head node of tests/cluster/cluster.sh, so that one cluster serves all of
//! its runs. Needs root and what that script needs.

use std::path::Path;
use std::process::{Command, exit};

use super::binaries;

/// The folder of the benchmark that has started this one on the cluster.
const FOLDER: &str = "MPITRACE_BENCH_FOLDER";

/// True if each rank is to have a node of its own.
pub fn wanted() -> bool {
    match std::env::var("NODES").as_deref() {
        Err(_) | Ok("1") => false,
        Ok("2") => true,
        Ok(other) => panic!("NODES is 1 or 2, not {other}"),
    }
}

/// The folder of this benchmark, where it runs on the cluster.
pub fn folder() -> Option<std::path::PathBuf> {
    std::env::var_os(FOLDER).map(Into::into)
}

/// Runs this benchmark again on a cluster, and ends with its exit code.
pub fn run_on_cluster(folder: &Path) -> ! {
    let root = mpitrace_testing::root();
    let me = std::env::current_exe().expect("the path of this benchmark");
    let mut command = Command::new(root.join("tests/cluster/cluster.sh"));
    command.arg(folder.join("cluster")).arg(me).env(FOLDER, folder);
    command.env("KEEP", format!("{} {} {}", root.display(), binaries::TARGET.display(), folder.display()));
    let status = command.status();
    let _ = std::fs::remove_dir_all(folder);
    match status {
        Ok(status) => exit(status.code().unwrap_or(1)),
        Err(error) => panic!("{command:?}: {error}"),
    }
}

/// The words that a launcher needs to start a rank on each node by `at`.
pub fn words(launcher: &str, folder: &Path) -> Vec<String> {
    let at = folder.join("cluster/bin/at").display().to_string();
    let version = Command::new(launcher).arg("--version").output().expect("the launcher states its version");
    let version = String::from_utf8_lossy(&[version.stdout, version.stderr].concat()).into_owned();
    let words: &[&str] = if version.contains("(OpenRTE) 4") {
        &["--mca", "plm_rsh_agent", &at, "--host", "n1,n2", "--bind-to", "none"]
    } else if version.contains("Open MPI") || version.contains("OpenRTE") {
        &["--mca", "plm_ssh_agent", &at, "--host", "n1,n2", "--bind-to", "none"]
    } else {
        &["-launcher", "ssh", "-launcher-exec", &at, "-hosts", "n1:1,n2:1"]
    };
    words.iter().map(ToString::to_string).collect()
}
