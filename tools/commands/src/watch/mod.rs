//! `mpitrace watch`: a running job, looked at without disturbing it.

mod choice;
mod frame;
pub mod node;
mod other_nodes;
mod pace;
mod screen;
mod seen;
mod stacks;
mod untraced;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use mpitrace_live as live;
use mpitrace_live::{Job, Observer, Snapshot, State, Stragglers, Waiting};
use mpitrace_show::output::{self, Output};
use mpitrace_trace::operations::Mismatch;
use mpitrace_words::places::{StuckFacts, WhereFacts};
use mpitrace_words::stack::Stack;
use serde::Serialize;

use self::other_nodes::{Nodes, Way};
use self::pace::{INTERVAL, PATIENCE, give_way};
use self::seen::Seen;
use self::stacks::{Taken, Which};

/// Show where the ranks of a running job are, and why it does not go on
///
/// Reads the records that the ranks keep in the memory of this node while they run. The ranks do not wait for that; a
/// rank is stopped only while its stack is read (--stacks). Without JOB it shows the one job of this user that runs
/// here. It looks once a second until the job has ended. If nothing has moved for the seconds of --stuck, it names the
/// ranks that are the cause.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The job: its key in --list, the batch system's number, or the process number of a rank or of its launcher
    job: Option<String>,
    /// Show the jobs of this user, or for root of all users, that run on this node
    #[arg(long, conflicts_with_all = ["job", "once", "stuck"])]
    list: bool,
    /// Show the job once and end: after a second, or if ranks may be stuck after the seconds of --stuck
    #[arg(long)]
    once: bool,
    /// Seconds without movement after which a cause is named
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    stuck: f64,
    /// The nodes of the job, as n[1-3],m5 [default: those of the batch system]
    #[arg(long)]
    nodes: Option<String>,
    /// The command that starts a program on one of the job's nodes, with %n for its name: 'mpirun -np 1 --host %n',
    /// 'mpiexec -n 1 -hosts %n' [default under Slurm: srun]
    #[arg(long, value_name = "WORDS")]
    by: Option<String>,
    /// The ranks whose stacks are shown, with source lines
    #[arg(long, value_enum, value_name = "WHICH", default_value = "waited")]
    stacks: Which,
    /// Wait without output until there is a verdict, show it and end with exit code 1; with 0 if the job ends first
    #[arg(long, conflicts_with_all = ["list", "once"])]
    until_stuck: bool,
    /// Run this shell command at each new verdict, with the screen as JSON on its standard input
    #[arg(long, value_name = "COMMAND", conflicts_with = "list")]
    on_stuck: Option<String>,
    /// As JSON, one value for each screen
    #[arg(long)]
    json: bool,
}

/// A look, by the keys of JSON.
#[derive(Debug, Serialize)]
struct Facts {
    job: String,
    /// The size of MPI_COMM_WORLD; null: no rank has left `MPI_Init`.
    ranks: Option<u32>,
    /// The places of the ranks that are seen.
    #[serde(rename = "where")]
    places: Vec<WhereFacts>,
    mismatches: Vec<Mismatch>,
    waiting: Waiting,
    stuck: Option<StuckFacts>,
    /// Where they were taken without a verdict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stacks: Vec<Stack>,
}

struct Watcher {
    folders: Vec<PathBuf>,
    key: String,
    stuck_s: f64,
    began: Instant,
    observer: Observer,
    stragglers: Stragglers,
    nodes: Nodes,
    taken: Taken,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let stuck_s = arguments.stuck;
    ensure!(stuck_s.is_finite() && stuck_s > 0.0, "--stuck {stuck_s}: a number of seconds above 0");
    give_way();
    let mut folders = super::recover::usual_folders();
    if let Some(process) = arguments.job.as_deref().and_then(|job| job.parse().ok()) {
        folders.extend(choice::folders_of(process));
        folders = super::recover::distinct(folders);
    }
    let mut jobs = choice::with_records(&folders);
    jobs.retain(|job| job.lives);
    if arguments.list {
        choice::list(&jobs, arguments.json, output)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(ranks) = arguments.job.as_deref().and_then(|wanted| untraced::ranks(&jobs, wanted)) {
        untraced::show(ranks, arguments.json, output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let key = match (arguments.job.as_deref(), &arguments.nodes) {
        // A node without a rank of the job, as a login node is.
        (Some(wanted), Some(_)) if !jobs.iter().any(|job| choice::fits(job, wanted)) => wanted.to_owned(),
        (wanted, _) => choice::choose(&jobs, wanted, &folders)?,
    };
    let mut watcher = Watcher::new(&jobs, key, folders, arguments)?;
    let last = if arguments.once { once(&mut watcher)? } else { again_and_again(&mut watcher, arguments, output)? };
    let Some(seen) = last else { return Ok(ExitCode::SUCCESS) };
    if arguments.once {
        show(&seen, arguments, output)?;
    }
    let has_finding = seen.stuck.is_some() || seen.view.mismatched > 0;
    Ok(if has_finding { ExitCode::from(crate::exit::FINDING) } else { ExitCode::SUCCESS })
}

/// Two looks, and more as long as ranks may be stuck and have not been looked at for long enough to say so.
fn once(watcher: &mut Watcher) -> Result<Option<Seen>> {
    let Some(_) = watcher.look()? else { bail!("the job has ended") };
    loop {
        sleep(INTERVAL.min(Duration::from_secs_f64(watcher.stuck_s)));
        let Some(seen) = watcher.look()? else { bail!("the job has ended") };
        let may_be_stuck = match seen.stuck {
            None => watcher.may_be_stuck(&seen.view.snapshot),
            Some(_) => watcher.taken.are_asked_for(),
        };
        // Another second, since looks are not taken at the moment. Stacks of other nodes take as long as the first
        // look.
        let longer = if seen.stuck.is_some() { PATIENCE } else { 2 * INTERVAL };
        if !may_be_stuck || watcher.seconds() > watcher.stuck_s + longer.as_secs_f64() {
            return Ok(Some(seen));
        }
    }
}

fn again_and_again(watcher: &mut Watcher, arguments: &Arguments, output: &mut Output) -> Result<Option<Seen>> {
    let mut last = None;
    loop {
        let Some(seen) = watcher.look()? else {
            eprintln!("mpitrace: the job has ended");
            return Ok(last);
        };
        let is_new = seen.stuck.is_some() && last.as_ref().is_none_or(|last: &Seen| last.stuck.is_none());
        let waits = arguments.until_stuck && (seen.stuck.is_none() || watcher.taken.are_asked_for() && is_new);
        if !waits {
            if output.style.attributes && !arguments.json && std::io::stdout().is_terminal() {
                // To the top, and nothing below what is written then.
                write!(output, "\x1b[H\x1b[2J")?;
                output.flush()?;
            }
            show(&seen, arguments, output)?;
            output.flush()?;
        }
        if let Some(command) = arguments.on_stuck.as_ref().filter(|_| is_new) {
            call(command, &Facts::new(&seen))?;
        }
        last = Some(seen);
        if arguments.until_stuck && !waits {
            return Ok(last);
        }
        sleep(INTERVAL);
    }
}

/// Runs a command of the shell, with the look on its standard input. Its exit code says nothing.
fn call(command: &str, facts: &Facts) -> Result<()> {
    let mut shell = Command::new("sh").args(["-c", command]).stdin(Stdio::piped()).spawn().context("sh")?;
    // A command that does not read it ends before it is written.
    let _ = shell.stdin.take().map(|mut input| output::json(&mut input, "watch", facts).is_ok());
    shell.wait()?;
    Ok(())
}

fn show(seen: &Seen, arguments: &Arguments, output: &mut Output) -> Result<()> {
    if arguments.json {
        return output::json(output, "watch", &Facts::new(seen));
    }
    let style = output.style;
    Ok(screen::write(seen, output, style)?)
}

impl Watcher {
    fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn new(jobs: &[Job], key: String, folders: Vec<PathBuf>, arguments: &Arguments) -> Result<Watcher> {
        let job = jobs.iter().find(|job| job.key == key);
        let nodes = match Way::new(job, &key, arguments.nodes.as_deref(), arguments.by.as_deref())? {
            None if job.is_none() => {
                bail!(
                    "{key}: no such job runs on this node; --by says how a program is started on the nodes of --nodes"
                )
            }
            None => Nodes::default(),
            Some(way) => {
                let mut nodes = Nodes::start(&way, &key)?;
                let began = Instant::now();
                while nodes.seen() < way.nodes.len() && began.elapsed() < PATIENCE && nodes.may_send() {
                    sleep(Duration::from_millis(20));
                }
                ensure!(job.is_some() || nodes.seen() > 0, "{key}: no such job runs on {}", way.nodes.join(", "));
                nodes
            }
        };
        let (stuck_s, began) = (arguments.stuck, Instant::now());
        Ok(Watcher {
            folders,
            key,
            stuck_s,
            began,
            observer: Observer::default(),
            stragglers: Stragglers::default(),
            nodes,
            taken: Taken::new(arguments.stacks),
        })
    }

    /// Looks at the job. `None`: it has ended.
    fn look(&mut self) -> Result<Option<Seen>> {
        let jobs = choice::with_records(&self.folders);
        let now = self.seconds();
        let job = jobs.iter().find(|job| job.key == self.key);
        let (mut summary, here) = self.observer.look(job, now)?;
        self.nodes.add_to(&mut summary);
        if !summary.lives {
            return Ok(None);
        }
        let mut view = summary.view();
        let waiting = self.stragglers.add(&summary, now);
        let stuck = live::verdict(&view.snapshot, self.stuck_s);
        self.taken.add_to(&mut view.snapshot, stuck.as_ref(), &here, &mut self.nodes, now);
        Ok(Some(Seen { job: self.key.clone(), summary, view, waiting, stuck }))
    }

    /// True if there would be a verdict if all ranks without a movement had not moved for long.
    fn may_be_stuck(&self, snapshot: &Snapshot) -> bool {
        let mut still = snapshot.clone();
        for rank in &mut still.ranks {
            let has_stamp = rank.state == State::InCall && rank.since_s.is_some() && !rank.has_threads;
            if !has_stamp && !rank.has_moved {
                rank.unmoved_s = f64::INFINITY;
            }
        }
        live::verdict(&still, self.stuck_s).is_some()
    }
}

impl Facts {
    fn new(seen: &Seen) -> Facts {
        let snapshot = &seen.view.snapshot;
        let mut places = WhereFacts::all(snapshot);
        places.extend(std::iter::repeat_with(WhereFacts::in_init).take(seen.summary.unplaced));
        Facts {
            job: seen.job.clone(),
            ranks: seen.summary.world_size,
            places,
            mismatches: seen.view.snapshot.mismatches.clone(),
            waiting: seen.waiting.clone(),
            stacks: if seen.stuck.is_some() { Vec::new() } else { Stack::all(snapshot) },
            stuck: seen.stuck.as_ref().map(|stuck| StuckFacts::new(snapshot, stuck)),
        }
    }
}
