//! The other nodes of a job: on each of them this program is started, and sends what it sees.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use anyhow::{Context, Error, Result, ensure};
use mpitrace_live::{Job, Summary};
use mpitrace_words::info::nodes::{expand, short};

use super::frame::{Frame, Threads};

/// The sign for the name of a node in the words of --by.
const NODE: &str = "%n";
/// One program starts no more of them: those start the others.
const BRANCHES: usize = 8;

#[derive(Debug, Default)]
pub struct Nodes {
    children: Vec<Child>,
    /// The last look of each.
    frames: Arc<Frames>,
}

type Frames = Mutex<BTreeMap<String, Frame>>;

#[derive(Debug, PartialEq, Eq)]
pub struct Way {
    pub nodes: Vec<String>,
    /// The words that start a program on one of them, with [`NODE`] for its name.
    pub launcher: Vec<String>,
}

impl Way {
    /// As the options say it, else as the batch system of the job has it. `None`: the job has no other nodes, or it is
    /// not known how they are reached. `job` is `None` where none of its ranks is on this node; `wanted` is the name
    /// that was given then, and a number is Slurm's.
    ///
    /// # Errors
    /// Options that cannot be followed.
    pub fn new(job: Option<&Job>, wanted: &str, nodes: Option<&str>, launcher: Option<&str>) -> Result<Option<Way>> {
        let here = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let elsewhere = job.filter(|job| job.world_size().is_some_and(|ranks| ranks as usize > job.segments.len()));
        let known = nodes.map(str::to_owned).or_else(|| elsewhere?.metadata("job_nodes"));
        let Some(known) = known else { return Ok(None) };
        let nodes = expand(&known).with_context(|| format!("--nodes {known}: not a list of nodes, as n[1-3],m5"))?;
        let batch = match job {
            Some(job) => job.metadata("batch_system").zip(job.metadata("job")),
            None => wanted.parse::<u32>().is_ok().then(|| ("Slurm".to_owned(), wanted.to_owned())),
        };
        Way::among(nodes, here.trim(), launcher, batch.as_ref().map(|(system, job)| (system.as_str(), job.as_str())))
    }

    fn among(
        mut nodes: Vec<String>,
        here: &str,
        launcher: Option<&str>,
        batch: Option<(&str, &str)>,
    ) -> Result<Option<Way>> {
        nodes.retain(|node| short(node) != short(here));
        let launcher: Vec<String> = match (launcher, batch) {
            (Some(words), _) => words.split_ascii_whitespace().map(str::to_owned).collect(),
            (None, Some(("Slurm", job))) => {
                let words = ["srun", "--overlap", &format!("--jobid={job}"), "-N1", "-n1", "-w", NODE];
                words.map(str::to_owned).to_vec()
            }
            (None, _) => return Ok(None),
        };
        ensure!(
            launcher.iter().any(|word| word.contains(NODE)),
            "--by {}: needs {NODE} in place of the name of a node, as in --by 'mpirun -np 1 --host {NODE}'",
            launcher.join(" ")
        );
        Ok((!nodes.is_empty()).then_some(Way { nodes, launcher }))
    }
}

impl Nodes {
    /// Starts this program on each node, by way of others where there are many.
    ///
    /// # Errors
    /// The launcher cannot be started.
    pub fn start(way: &Way, key: &str) -> Result<Nodes> {
        let program = std::env::current_exe().context("the path of this program")?;
        let mut nodes = Nodes::default();
        for branch in way.nodes.chunks(way.nodes.len().div_ceil(BRANCHES).max(1)) {
            let [node, below @ ..] = branch else { continue };
            let words: Vec<String> = way.launcher.iter().map(|word| word.replace(NODE, node)).collect();
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).arg(&program).args(["watch-node", key]);
            if !below.is_empty() {
                command.arg(below.join(",")).args(&way.launcher);
            }
            let mut child = command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .with_context(|| format!("{} does not start", words[0]))?;
            if let Some(output) = child.stdout.take() {
                let (frames, node) = (Arc::downgrade(&nodes.frames), node.clone());
                thread::spawn(move || read_all(output, &node, &frames));
            }
            nodes.children.push(child);
        }
        Ok(nodes)
    }

    /// True if some of the programs have not ended.
    pub fn may_send(&mut self) -> bool {
        self.children.iter_mut().any(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// How many nodes have sent a look, and have not ended.
    pub fn seen(&self) -> usize {
        locked(&self.frames).values().map(|frame| frame.summary.nodes).sum()
    }

    /// Asks for the stacks of these ranks, or of all of their threads. A node that cannot be asked does not answer.
    pub fn ask(&mut self, ranks: &[u32], of_all: bool) {
        let line = serde_json::json!([ranks, of_all]);
        let inputs = self.children.iter_mut().filter_map(|child| child.stdin.as_mut());
        inputs.for_each(|input| drop(writeln!(input, "{line}")));
    }

    /// The stacks that have come since this was called last.
    pub fn stacks(&self) -> Vec<(u32, Threads)> {
        locked(&self.frames).values_mut().flat_map(|frame| std::mem::take(&mut frame.stacks)).collect()
    }

    /// Adds the last look of each node: it is kept until there is another.
    pub fn add_to(&self, summary: &mut Summary) {
        locked(&self.frames).values().for_each(|frame| summary.add(frame.summary.clone()));
    }
}

fn locked(frames: &Frames) -> MutexGuard<'_, BTreeMap<String, Frame>> {
    frames.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the last frame of a node until it sends no more.
fn read_all(output: ChildStdout, node: &str, frames: &Weak<Frames>) {
    for line in BufReader::new(output).lines() {
        // A frame that is cut because this program has ended its sender is no error.
        let Some(frames) = frames.upgrade() else { return };
        match line.map_err(Error::from).and_then(|line| Ok(serde_json::from_str::<Frame>(&line)?)) {
            Ok(mut frame) => {
                let mut frames = locked(&frames);
                // Stacks come once, and may not have been taken yet.
                let mut stacks = frames.remove(node).map(|before| before.stacks).unwrap_or_default();
                stacks.append(&mut frame.stacks);
                frames.insert(node.to_owned(), Frame { stacks, ..frame });
            }
            Err(error) => {
                eprintln!("mpitrace: {node}: {error}");
                break;
            }
        }
    }
    // The last look at a job that has ended there says how; of one that goes on nothing more is known.
    let Some(frames) = frames.upgrade() else { return };
    let mut frames = locked(&frames);
    if frames.get(node).is_some_and(|frame| frame.summary.nodes > 0) {
        frames.remove(node);
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.frames = Arc::default();
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_other_nodes_are_reached_as_the_batch_system_or_the_user_says() {
        let nodes = || names(&["n1", "n2.site", "n3"]);
        let way = |launcher, batch| Way::among(nodes(), "n2", launcher, batch).unwrap();
        let slurm = way(None, Some(("Slurm", "17"))).unwrap();
        assert_eq!(slurm.nodes, names(&["n1", "n3"]));
        assert_eq!(slurm.launcher.join(" "), "srun --overlap --jobid=17 -N1 -n1 -w %n");
        let own = way(Some("mpirun -np 1 --host %n"), Some(("Slurm", "17"))).unwrap();
        assert_eq!(own.launcher.join(" "), "mpirun -np 1 --host %n");
        assert_eq!(way(None, Some(("PBS", "17"))), None);
        assert_eq!(way(None, None), None);
        assert_eq!(Way::among(names(&["n2"]), "n2.site", Some("ssh %n"), None).unwrap(), None);
        assert!(Way::among(nodes(), "n2", Some("ssh"), None).is_err());
    }
}
