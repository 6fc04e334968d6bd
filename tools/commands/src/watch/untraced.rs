//! A job that was started without the tracer: where its ranks on this node are, by their stacks alone.

use std::io::Write;

use anyhow::{Result, ensure};
use mpitrace_job::stacks::{Namer, threads_of};
use mpitrace_live::process::Process;
use mpitrace_live::{Job, Starting};
use mpitrace_show::output::{self, Output};
use mpitrace_show::text;
use mpitrace_words::untraced::{Facts, Look};

use super::choice;

/// The ranks of the job that the process with this number belongs to, if it is no job that is traced.
pub fn ranks(jobs: &[Job], wanted: &str) -> Option<Vec<Starting>> {
    let pid: u32 = wanted.parse().ok()?;
    let is_traced = jobs.iter().any(|job| choice::fits(job, wanted));
    Some(Starting::of_job(pid)).filter(|ranks| !is_traced && !ranks.is_empty())
}

pub fn show(ranks: Vec<Starting>, as_json: bool, output: &mut Output) -> Result<()> {
    let mut namer = Namer::default();
    let look = |of: &Starting| {
        let (rank, size) = of.place?;
        let pid = of.process.pid;
        let process = Process::read(pid, &threads_of(pid))?;
        Some(Look { rank, size, process: pid, stacks: namer.of_process(&process, false) })
    };
    let looks: Vec<Look> = ranks.iter().filter_map(look).collect();
    ensure!(!looks.is_empty(), "the job has ended");
    let facts = Facts::new(&looks);
    if as_json {
        return output::json(output, "watch-untraced", &facts);
    }
    facts.lines().iter().try_for_each(|line| Ok(writeln!(output, "{}", text::printable(line))?))
}
