//! `mpitrace run`: runs a job with the tracer in its ranks, or some jobs several times.

mod afterwards;
mod ending;
mod failed_end;
mod plan;
mod series;
mod settings;
mod traces;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use clap::{Args, value_parser};
use mpitrace_job::launcher::{self, Flavour, Tracer};
use mpitrace_job::observer::Observer;
use mpitrace_job::observer::metrics::Metrics;
use mpitrace_job::observer::sampling::Sampling;
use mpitrace_job::observer::standing::Standstill;
use mpitrace_job::process;

use crate::recover;
use settings::{DISABLE, OUTPUT, PROCESSES, RUN, SAMPLE, SEGMENT_DIR, STACKS, Settings, VERBOSE};
use traces::Traces;

const PREFIX: &str = "MPITRACE_";

/// Run a job with the tracer preloaded into its ranks
///
/// Other commands may come before the launcher (timeout 60 mpirun ...). All MPITRACE_ variables of the environment
/// reach the ranks: MPITRACE_CALLSITE=1 adds the source line of each call, MPITRACE_P2P=records a record of each
/// message, MPITRACE_PROCESSES=1 the processes on the ranks' processors. An option takes precedence over its variable.
/// A program without a launcher is traced itself. The exit code is the job's. When the job has ended, a summary of its
/// trace is printed on stderr (see `mpitrace summary`; not with --verbose 0). If the job does not end normally, the
/// records on this node are recovered at once (see `mpitrace recover`), and the last lines say which rank ended first
/// and where the others were.
///
/// With --runs the job is run N times into N traces: -o x.mpitrace gives x.1.mpitrace, x.2.mpitrace and so on. Several
/// jobs, with --and between their commands, run in turn, or with --shuffle in random order: x.a.1.mpitrace,
/// x.b.1.mpitrace. The exit code is then the first that is not 0.
#[derive(Debug, Args)]
#[command(override_usage = "mpitrace run [OPTIONS] -- LAUNCHER ... [--and LAUNCHER ...]")]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    /// The tracer's library, if it is not beside this program
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Run each job N times, into N traces
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=100_000))]
    runs: Option<u32>,
    /// In random order
    #[arg(long)]
    shuffle: bool,
    /// Rewrite a file DIR/*.prom every 5 s while the job runs: its ranks on this node as OpenMetrics text
    #[arg(long, value_name = "DIR")]
    metrics: Option<PathBuf>,
    /// Print the stacks of ranks that begin and end no MPI call for S seconds, once. Without it the stacks of ranks
    /// that do not move for 10 s are kept for the trace alone
    #[arg(long, value_name = "S", value_parser = stuck)]
    stuck: Option<Duration>,
    /// The job's stdout goes to stderr: stdout has other data.
    #[arg(skip)]
    is_aside: bool,
    /// The command that starts the job; --and separates several jobs
    #[arg(value_name = "LAUNCHER", required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    run_all(arguments).map(ExitCode::from)
}

/// Runs each of these jobs so many times in random order, into traces with this name and a label: the exit code. They
/// are [`traces_of`]. What the jobs print goes to stderr.
///
/// # Errors
/// No tracer, or a job that cannot be started.
pub fn shuffled(commands: &[&[OsString]], runs: u32, output: &Path) -> Result<u8> {
    run_all(&Arguments {
        settings: Settings::of_output(output),
        library: None,
        runs: Some(runs),
        shuffle: true,
        metrics: None,
        stuck: None,
        is_aside: true,
        command: commands.join(&OsString::from(plan::AND)),
    })
}

/// The traces of one of so many jobs that are run so many times.
pub fn traces_of(job: usize, jobs: usize, runs: u32, output: &Path) -> Vec<PathBuf> {
    let all = plan::plan(jobs, runs, false).into_iter().filter(|planned| planned.job == job);
    all.map(|planned| plan::labelled(output, &planned.label)).collect()
}

/// The value of `--stuck`.
fn stuck(text: &str) -> Result<Duration, String> {
    let given = text.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    given.filter(|limit| !limit.is_zero()).ok_or_else(|| "expected a number of seconds above 0".to_owned())
}

/// Refuses what the environment asks for and no tracer does any more, before the job starts.
fn refuse_removed(environment: impl Iterator<Item = (OsString, OsString)>) -> Result<()> {
    for (name, value) in environment {
        let name = name.to_string_lossy();
        if let Some(why) = mpitrace_format::settings::removed(&name, &value.to_string_lossy()) {
            bail!("{name} {why}");
        }
    }
    Ok(())
}

fn run_all(arguments: &Arguments) -> Result<u8> {
    refuse_removed(std::env::vars_os())?;
    let library = launcher::locate(arguments.library.as_deref())?;
    let commands = plan::jobs(&arguments.command)?;
    let output = match (arguments.settings.get(OUTPUT), std::env::var_os(OUTPUT)) {
        (Some(path), _) => Some(PathBuf::from(path)),
        // Of one run the variable reaches the ranks as it is.
        (None, variable) => variable.filter(|_| arguments.runs.is_some() || commands.len() > 1).map(PathBuf::from),
    };
    let output = output.as_deref().map(output_name).transpose()?;
    let jobs = commands.into_iter().map(Job::new).collect::<Vec<_>>();
    let run_one = |job: &Job, output: Option<&Path>| run_once(job, arguments, &library, output);
    let code = match &jobs[..] {
        [job] if arguments.runs.is_none() => run_one(job, output.as_deref())?,
        jobs => {
            let (runs, shuffle) = (arguments.runs.unwrap_or(1), arguments.shuffle);
            series::run(runs, shuffle, jobs.len(), output, |job, output| run_one(&jobs[job], output))?
        }
    };
    Ok(code)
}

/// Runs a job to its end: its exit code. What it has left behind is recovered.
fn run_once(job: &Job, arguments: &Arguments, library: &OsStr, output: Option<&Path>) -> Result<u8> {
    let number = fresh_number();
    let mut variables = variables(arguments, output, std::env::vars_os());
    variables.retain(|(name, _)| name != RUN);
    variables.push((RUN.into(), number.to_string().into()));
    let tracer = Tracer {
        library: library.to_owned(),
        preloaded: std::env::var_os("LD_PRELOAD"),
        variables,
        slurm_export: std::env::var_os("SLURM_EXPORT_ENV").filter(|list| !list.is_empty()),
    };
    let setting = |name: &str| arguments.settings.get(name).map(OsStr::to_owned).or_else(|| std::env::var_os(name));
    let output = output.map(Path::to_owned).or_else(|| setting(OUTPUT).map(PathBuf::from));
    let traces = Traces::before(output.as_deref());
    let mut folders = recover::folders_with(setting(SEGMENT_DIR).map(PathBuf::from));
    let text = |name| setting(name).map(|value: OsString| value.to_string_lossy().into_owned());
    let stacks = Standstill::new(text(STACKS).as_deref(), arguments.stuck);
    let sampling = Sampling::new(text(SAMPLE).as_deref(), text(PROCESSES).as_deref());
    let sampling = sampling.map(|sampling| if stacks.is_some() { sampling } else { sampling.without_asleep() });
    let metrics = arguments.metrics.as_ref().map(|folder| Metrics::new(folder, number));
    let observer = Observer::start(number, &folders, stacks, sampling, metrics);
    let code = job.run(&tracer, arguments.is_aside)?;
    let mut observed = observer.finish();

    // A folder that took no blocks has them beside the trace.
    folders.extend(traces.folder().map(Path::to_owned));
    let endings = ending::recover(number, &folders, output.as_deref(), &observed, code);
    let new = traces.since();
    let is_off = |name, off| setting(name).is_some_and(|value| value == off);
    if let Some(sampling) = observed.sampling.take() {
        sampling.write(&new, is_off(VERBOSE, "0"));
    }
    if is_off(VERBOSE, "0") {
        return Ok(code);
    }
    endings.iter().for_each(|ending| ending.say(&observed));
    let is_one_of_many = arguments.runs.is_some() || arguments.command.iter().any(|word| word == plan::AND);
    if !is_one_of_many {
        let was_started = !process::NOT_STARTED.contains(&code);
        if new.is_empty() && !observed.began && was_started && traces.folder().is_some() && !is_off(DISABLE, "1") {
            eprintln!("mpitrace: {UNTRACED}");
        }
        // Of a job that has not ended well, it matters where the ranks were.
        if endings.is_empty() {
            afterwards::summarize(&new);
        }
    }
    let failed = match (&endings[..], &new[..]) {
        ([ending], _) if ending.is_in_finalize() => failed_end::line(code, ending.path(), false),
        ([], [trace]) => failed_end::line(code, trace, true),
        _ => None,
    };
    failed.inspect(|line| eprintln!("mpitrace: {line}"));
    Ok(code)
}

const UNTRACED: &str = "there is no trace: no rank entered MPI_Init with the tracer (not an MPI program, a statically \
    linked one, a script that changes LD_PRELOAD, MPI opened by dlmopen, or ranks started by another launcher; \
    `mpitrace doctor` shows what works here)";

/// A number that no other job has, by which its ranks are known. Not 0.
fn fresh_number() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    ((since.as_nanos() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32 ^ std::process::id() | 1
}

struct Job {
    command: Vec<OsString>,
    launcher: Option<(usize, Flavour)>,
}

impl Job {
    fn new(command: Vec<OsString>) -> Self {
        let launcher = launcher::find(&command).and_then(|word| Some((word, flavour(&command[word])?)));
        Job { command, launcher }
    }

    fn run(&self, tracer: &Tracer, is_aside: bool) -> Result<u8> {
        let job = launcher::job(&self.command, self.launcher, tracer);
        if let Some(note) = &job.note {
            eprintln!("mpitrace: {note}");
        }
        let [program, rest @ ..] = &job.command[..] else {
            bail!("no command to run: `mpitrace run -- mpirun -np 2 ./program`");
        };
        let mut command = Command::new(program);
        command.args(rest).envs(job.environment);
        if is_aside {
            command.stdout(std::io::stderr());
        }
        Ok(process::run(&mut command)?)
    }
}

fn flavour(launcher: &OsStr) -> Option<Flavour> {
    match launcher::ask(launcher) {
        Ok(Some(flavour)) => Some(flavour),
        Ok(None) => {
            let name = launcher.to_string_lossy();
            eprintln!("mpitrace: {name} is not a known launcher: ranks on other hosts may not be traced");
            None
        }
        // That it cannot be started is said when it is to be started.
        Err(_) => None,
    }
}

/// The tracer's variables: those of the environment, and over them those of the options.
fn variables(
    arguments: &Arguments,
    output: Option<&Path>,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let options = arguments.settings.variables().filter(|(name, _)| *name != OUTPUT);
    let options = options.chain(output.map(|path| (OUTPUT, path.as_os_str())));
    let mut variables: Vec<(OsString, OsString)> =
        environment.filter(|(name, _)| name.as_encoded_bytes().starts_with(PREFIX.as_bytes())).collect();
    for (name, value) in options {
        variables.retain(|(other, _)| *other != name);
        variables.push((name.into(), value.to_owned()));
    }
    variables.sort();
    variables
}

/// The trace's name as the ranks need it, which may start in another folder.
fn output_name(path: &Path) -> Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let folder = absolute.parent().unwrap_or(Path::new("/"));
    // Of a name that is yet to be filled in nothing can be said here.
    if !folder.to_string_lossy().contains('%') && !folder.is_dir() {
        bail!("{}: no folder {} to write it to", path.display(), folder.display());
    }
    if absolute.is_dir() || path.as_os_str() == OsStr::new("") {
        bail!("{}: is a folder, not the name of a trace", path.display());
    }
    Ok(absolute)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn options_go_before_variables_and_all_variables_are_passed_on() {
        let line = Line::parse_from(["run", "--verbose", "2", "-e", "cycles,r01", "--", "mpirun", "-np", "2"]);
        let environment = [("MPITRACE_VERBOSE", "0"), ("MPITRACE_FUTURE", "x"), ("HOME", "/")];
        let environment = environment.map(|(name, value)| (name.into(), value.into()));
        let expected = [("MPITRACE_EVENTS", "cycles,r01"), ("MPITRACE_FUTURE", "x"), ("MPITRACE_VERBOSE", "2")];
        let found = variables(&line.arguments, None, environment.into_iter());
        assert_eq!(found, expected.map(|(name, value)| (name.into(), value.into())));
        assert_eq!(line.arguments.command, ["mpirun", "-np", "2"]);
    }

    #[test]
    fn a_removed_setting_is_refused_with_the_way_out() {
        let environment = |name: &str, value: &str| std::iter::once((name.into(), value.into()));
        let refused = refuse_removed(environment("MPITRACE_STUCK", "60")).unwrap_err().to_string();
        assert!(refused.starts_with("MPITRACE_STUCK was removed: `mpitrace run --stuck S`"), "{refused}");
        assert!(refuse_removed(environment("MPITRACE_FULL", "spill")).is_ok());
        for wrong in ["0", "-1", "soon", "nan", "1e300"] {
            assert!(stuck(wrong).is_err(), "{wrong}");
        }
        assert_eq!(stuck("0.5"), Ok(Duration::from_millis(500)));
    }

    #[test]
    fn the_name_of_the_trace_is_made_absolute() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(output_name(Path::new("a-%p.mpitrace")).unwrap(), here.join("a-%p.mpitrace"));
        assert!(output_name(Path::new("/nonexistent/a")).is_err());
        assert!(output_name(Path::new("/nonexistent/%h/a")).is_ok());
        assert!(output_name(Path::new("/")).is_err());
    }
}
