//! One node's share of a look at a job of several nodes: the last records of its ranks, and their processes.
//!
//! On each other node runs this program, started by the job's launcher, and writes a frame to standard output after
//! each look: a line of JSON that says how long the copies are, and the copies.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;
use mpitrace::live::look::Copy;
use mpitrace::live::place::Seen;
use mpitrace::live::process::Process;
use mpitrace::live::{self, Job, Starting};
use mpitrace_format::live::copy::Copied;
use serde::{Deserialize, Serialize};

use super::choice;
use super::nodes::{Nodes, Way};
use super::stacks::Threads;
use crate::output::{DataSink, Output};
use crate::process;
use crate::stacks::Namer;

/// How long a job that is not there yet is waited for.
const PATIENCE: Duration = super::PATIENCE;
/// No node contributes more.
const LONGEST: u64 = 1 << 32;

/// Write what this node knows of a job to standard output, a look a second (`mpitrace watch` starts this)
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Arguments {
    /// The job: its key, the first characters of it, or the batch system's number
    job: String,
    /// Records to be copied of each rank
    records: u64,
    /// Other nodes, whose looks this one passes on
    nodes: Option<String>,
    /// The words that start a program on one of them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    launcher: Vec<String>,
}

/// The line before the copies.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Head {
    nodes: usize,
    world_size: Option<u32>,
    starting: Vec<Starting>,
    unreadable: Vec<String>,
    ranks: Vec<RankHead>,
    /// Of the ranks that were asked for.
    #[serde(default)]
    stacks: BTreeMap<u32, Threads>,
}

/// The line of a rank, before the copy of its segment.
#[derive(Debug, Deserialize, Serialize)]
struct RankHead {
    bytes: u64,
    left_out: u64,
    /// The process; null: it has ended.
    process: Option<Process>,
}

/// One node's share of a look.
#[derive(Debug, Default)]
pub struct Frame {
    /// How many nodes it is of.
    pub nodes: usize,
    pub world_size: Option<u32>,
    pub starting: Vec<Starting>,
    pub unreadable: Vec<String>,
    pub copies: Vec<Copy>,
    /// The stacks of ranks that were asked for since the last look.
    pub stacks: BTreeMap<u32, Threads>,
}

/// Writes frames until the job has ended, or no process reads them any more.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    super::give_way();
    let folders = crate::commands::recover::usual_folders();
    let began = Instant::now();
    let mut was_there = false;
    let (mut namer, asked) = (Namer::default(), questions());
    let mut below = match &arguments.nodes {
        Some(list) => {
            let nodes = list.split(',').map(str::to_owned).collect();
            let way = Way { nodes, launcher: arguments.launcher.clone() };
            Nodes::start(&way, &arguments.job, arguments.records)?
        }
        None => Nodes::default(),
    };
    loop {
        let jobs = live::with_records(&folders, process::user());
        let job = jobs.into_iter().find(|job| choice::is_named(job, &arguments.job));
        let mut frame = job.as_ref().map(|job| Frame::new(job, arguments.records)).unwrap_or_default();
        for (ranks, of_all) in asked.try_iter() {
            let processes = frame.processes().into_iter().filter(|(rank, _)| ranks.contains(rank));
            frame.stacks = processes.map(|(rank, process)| (rank, namer.of_process(&process, of_all))).collect();
            below.ask(&ranks, of_all);
        }
        frame.stacks.extend(below.stacks());
        below.add_to(&mut frame);
        was_there |= frame.nodes > 0;
        if frame.nodes > 0 {
            frame.write(output)?;
            output.flush()?;
        } else if was_there || began.elapsed() > PATIENCE {
            return Ok(ExitCode::SUCCESS);
        }
        sleep(super::INTERVAL);
    }
}

/// The ranks whose stacks are asked for on standard input, and whether with all of their threads.
fn questions() -> Receiver<(Vec<u32>, bool)> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let lines = std::io::stdin().lines().map_while(Result::ok);
        lines.filter_map(|line| serde_json::from_str(&line).ok()).try_for_each(|question| sender.send(question))
    });
    receiver
}

impl Frame {
    /// Of the ranks on this node.
    pub fn new(job: &Job, records: u64) -> Frame {
        let (copies, unreadable) = job.copies(records);
        Frame {
            nodes: 1,
            world_size: job.world_size(),
            starting: job.starting.clone(),
            unreadable,
            copies,
            stacks: BTreeMap::new(),
        }
    }

    /// The processes of the ranks that live, as long as they are of this node.
    pub fn processes(&self) -> HashMap<u32, Process> {
        let process = |copy: &Copy| match &copy.seen {
            Seen::Lives(process) if process.pid > 0 => Some((copy.copied.rank()?, process.clone())),
            _ => None,
        };
        let starting = self.starting.iter().filter_map(|starting| Some((starting.place?.0, starting.process.clone())));
        starting.chain(self.copies.iter().filter_map(process)).collect()
    }

    /// True if a process of the job is known to live.
    pub fn lives(&self) -> bool {
        !self.starting.is_empty() || self.copies.iter().any(|copy| matches!(copy.seen, Seen::Lives(_)))
    }

    fn write(&self, output: &mut impl DataSink) -> Result<()> {
        let output = output.data();
        let rank = |copy: &Copy| RankHead {
            bytes: copy.copied.bytes().len() as u64,
            left_out: copy.copied.left_out,
            process: match &copy.seen {
                Seen::Lives(process) => Some(process.clone()),
                _ => None,
            },
        };
        let head = Head {
            nodes: self.nodes,
            world_size: self.world_size,
            starting: self.starting.clone(),
            unreadable: self.unreadable.clone(),
            ranks: self.copies.iter().map(rank).collect(),
            stacks: self.stacks.clone(),
        };
        serde_json::to_writer(&mut *output, &head)?;
        output.write_all(b"\n")?;
        for copy in &self.copies {
            output.write_all(copy.copied.bytes())?;
        }
        Ok(())
    }

    /// The next frame of a node. `None`: there are no more.
    ///
    /// # Errors
    /// The input is no frame.
    pub fn read(input: &mut impl BufRead, node: &str) -> Result<Option<Frame>> {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let head: Head = serde_json::from_str(&line)?;
        let path = Path::new(node);
        let mut copies = Vec::new();
        for rank in head.ranks {
            ensure!(rank.bytes <= LONGEST, "a copy of {} bytes", rank.bytes);
            let mut bytes = Vec::new();
            input.by_ref().take(rank.bytes).read_to_end(&mut bytes)?;
            ensure!(bytes.len() as u64 == rank.bytes, "ended while it was read");
            let seen = match rank.process {
                Some(process) => Seen::Lives(process),
                None => Seen::Ended,
            };
            let mut copied = Copied::of_bytes(PathBuf::from(path), &bytes);
            copied.left_out = rank.left_out;
            copies.push(Copy { copied, seen });
        }
        Ok(Some(Frame {
            nodes: head.nodes,
            world_size: head.world_size,
            starting: head.starting,
            unreadable: head.unreadable,
            copies,
            stacks: head.stacks,
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Seek;

    use mpitrace::live::process::Task;

    use super::*;

    #[test]
    fn a_frame_comes_as_it_was_written() {
        let process = Process { pid: 7, threads: vec![Task { tid: 8, state: 'S', waits_in: Some("x".into()) }] };
        let copy = |seen| Copy { copied: Copied::of_bytes("a".into(), &[5; 24]), seen };
        let frame = Frame {
            nodes: 2,
            world_size: Some(4),
            starting: vec![Starting { process: process.clone(), place: Some((3, 4)), is_in_init: false }],
            unreadable: vec!["a: is too short".into()],
            copies: vec![copy(Seen::Lives(process.clone())), copy(Seen::Ended)],
            stacks: [(3, vec![Ok(vec!["main".to_owned()]), Err("why".to_owned())])].into(),
        };
        // The head is longer than lines of a page may be.
        let mut file = tempfile::tempfile().unwrap();
        let mut output = Output::file(file.try_clone().unwrap());
        frame.write(&mut output).unwrap();
        frame.write(&mut output).unwrap();
        output.flush().unwrap();
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        let mut input = &bytes[..];
        for _ in 0..2 {
            let found = Frame::read(&mut input, "n2").unwrap().unwrap();
            assert_eq!(
                (found.world_size, &found.starting, &found.unreadable),
                (Some(4), &frame.starting, &frame.unreadable)
            );
            assert_eq!((found.nodes, found.copies.len(), &found.stacks), (2, 2, &frame.stacks));
            assert_eq!(found.copies[0].seen, Seen::Lives(process.clone()));
            assert_eq!((&found.copies[1].seen, found.copies[1].copied.bytes()), (&Seen::Ended, &[5; 24][..]));
        }
        assert!(Frame::read(&mut input, "n2").unwrap().is_none());
        let error = Frame::read(&mut &bytes[..bytes.len() / 2 - 3], "n2").unwrap_err().to_string();
        assert_eq!(error, "ended while it was read");
    }
}
