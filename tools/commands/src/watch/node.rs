//! One node's share of a look at a job of several nodes.
//!
//! On each other node runs this program, started by the job's launcher, and writes a frame to standard output after
//! each look: a line of JSON with what it and the nodes whose frames it reads know.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use mpitrace_job::stacks::Namer;
use mpitrace_live::Observer;
use mpitrace_show::output::Output;

use super::choice;
use super::frame::Frame;
use super::other_nodes::{Nodes, Way};
use super::pace;

/// How long a job that is not there yet is waited for.
const PATIENCE: Duration = pace::PATIENCE;

/// Write what this node knows of a job to standard output, a look a second (`mpitrace watch` starts this)
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Arguments {
    /// The job: its key, the first characters of it, or the batch system's number
    job: String,
    /// Other nodes, whose looks this one passes on
    nodes: Option<String>,
    /// The words that start a program on one of them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    launcher: Vec<String>,
}

/// Writes frames until the job has ended, or no process reads them any more.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    pace::give_way();
    let folders = crate::recover::usual_folders();
    let began = Instant::now();
    let mut was_there = false;
    let (mut namer, asked) = (Namer::default(), questions());
    let mut below = match &arguments.nodes {
        Some(list) => {
            let nodes = list.split(',').map(str::to_owned).collect();
            let way = Way { nodes, launcher: arguments.launcher.clone() };
            Nodes::start(&way, &arguments.job)?
        }
        None => Nodes::default(),
    };
    let mut observer = Observer::default();
    loop {
        let jobs = choice::with_records(&folders);
        let job = jobs.into_iter().find(|job| choice::is_named(job, &arguments.job));
        let (summary, processes) = observer.look(job.as_ref(), began.elapsed().as_secs_f64())?;
        let mut frame = Frame { summary, stacks: BTreeMap::new() };
        for (ranks, of_all) in asked.try_iter() {
            let here = processes.iter().filter(|(rank, _)| ranks.contains(rank));
            frame.stacks.extend(here.map(|(&rank, process)| (rank, namer.of_process(process, of_all))));
            below.ask(&ranks, of_all);
        }
        frame.stacks.extend(below.stacks());
        below.add_to(&mut frame.summary);
        let is_there = frame.summary.nodes > 0;
        was_there |= is_there;
        // The last one says how the ranks have ended.
        if was_there {
            frame.write(output)?;
            output.flush()?;
        }
        if !is_there && (was_there || began.elapsed() > PATIENCE) {
            return Ok(ExitCode::SUCCESS);
        }
        sleep(pace::INTERVAL);
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
