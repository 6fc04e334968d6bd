//! `mpitrace overhead`: what the tracer costs here.

mod machine;
mod measure;

pub use measure::costs;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use mpitrace_job::launcher;
use mpitrace_job::mpi;
use mpitrace_show::output::{self, Output};
use mpitrace_show::table::{Table, number, text};

/// Measure what tracing adds to a call on this machine, beside two bare time stamps
///
/// A process of one rank makes MPI_Allreduce calls of 8 bytes on MPI_COMM_SELF, with and without the tracer in turn,
/// and pairs of time stamps between them. A warning appears if other programs kept the machine busy. No compiler is
/// needed; a launcher only if MPI_Init needs one: name it after `--`. The trace of this process is checked and removed.
#[derive(Debug, Args)]
#[command(override_usage = "mpitrace overhead [OPTIONS] [-- LAUNCHER ...]")]
pub struct Arguments {
    /// Also measure with these counters, as MPITRACE_EVENTS takes them; may be given several times
    #[arg(short, long, value_name = "EVENTS")]
    events: Vec<String>,
    /// The MPI library [default: the first that works of those of `doctor`]
    #[arg(long, value_name = "FILE")]
    mpi: Option<PathBuf>,
    /// The tracer's library, if it is not beside this program
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// The command that starts the process, for one rank: srun -n 1
    #[arg(value_name = "LAUNCHER", last = true)]
    launcher: Vec<OsString>,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let tracer = launcher::locate(arguments.library.as_deref())?;
    let libraries = mpi::libraries(arguments.mpi.as_deref())?;
    if libraries.is_empty() {
        bail!("no MPI library was found; put its mpirun on the PATH, or name it with --mpi");
    }
    let costs = costs(&tracer, &libraries, &arguments.launcher, &arguments.events)?;
    if let Some(warning) = costs.machine.warning() {
        eprintln!("mpitrace: {warning}");
    }
    if arguments.json {
        output::json(output, "overhead", &costs)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(output, "{} ({})", costs.library, costs.path)?;
    if let Some(processor) = &costs.machine.processor {
        writeln!(output, "on {processor}")?;
    }
    let mut table = Table::new(&[text("a call"), number("ns"), number("of two time stamps")]);
    let row = |name: String, ns: f64, ratio: f64| vec![name, format!("{ns:.1}"), format!("{ratio:.2}")];
    let times = &costs.cost.times;
    let pair = times.timestamp_pair_ns;
    table.row(row("two bare time stamps".to_owned(), pair, 1.0));
    table.row(row("untraced".to_owned(), times.untraced_call_ns, times.untraced_call_ns / pair));
    table.row(row("traced, added".to_owned(), times.traced_call_ns, times.ratio));
    for (events, cost) in &costs.with_counters {
        table.row(row(format!("traced with {events}, added"), cost.times.traced_call_ns, cost.times.ratio));
    }
    let style = output.style;
    table.write(output, style)?;
    Ok(ExitCode::SUCCESS)
}
