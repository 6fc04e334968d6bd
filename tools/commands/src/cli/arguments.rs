//! The command line: its commands. The options of a command are declared beside it.

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use mpitrace_show::output::Output;

use crate::{
    categorize, clock, compare, completions, diagnose, doctor, dump, export, gate, info, jobs, man, overhead, recover,
    report, run, scale, stats, summary, watch,
};

/// Traces the MPI calls of unmodified programs, and shows where their time went.
#[derive(Debug, Parser)]
#[command(
    name = "mpitrace",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "`mpitrace FILE` is `mpitrace summary FILE`. Exit codes: 0: done. 1, after the output: the trace is \
                  incomplete; calls do not belong together (info, summary); a job is stuck (watch); times contradict \
                  each other (clock); B is slower (compare, gate); a trace cannot be read (jobs); tracing will not \
                  work (doctor). 2: wrong usage, or a file that cannot be read. 3: the runs of `gate` do not decide. \
                  `run` has the exit code of the job."
)]
// `B` are the commands of the laboratory, which is built on this library.
pub struct Cli<B: Benchmark> {
    /// The command.
    #[command(subcommand)]
    pub command: Command<B>,
    /// Print all columns and rows, however wide
    #[arg(long, global = true)]
    pub wide: bool,
}

/// `mpitrace benchmark`: commands for research on benchmarks.
pub trait Benchmark: clap::Args {
    /// Does it.
    ///
    /// # Errors
    /// Wrong usage, a file that cannot be read or used, output that cannot be written.
    fn run(&self, output: &mut Output) -> Result<ExitCode>;
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command<B: Benchmark> {
    Run(run::Arguments),
    Watch(watch::Arguments),
    Summary(summary::Arguments),
    Info(info::Arguments),
    Dump(dump::Arguments),
    Categorize(categorize::Arguments),
    Stats(stats::Arguments),
    Diagnose(diagnose::Arguments),
    Clock(clock::Arguments),
    Compare(compare::Arguments),
    Scale(scale::Arguments),
    Gate(gate::Arguments),
    Jobs(jobs::Arguments),
    Export(export::Arguments),
    Report(report::Arguments),
    Benchmark(B),
    Recover(recover::Arguments),
    Doctor(doctor::Arguments),
    Overhead(overhead::Arguments),
    WatchNode(watch::node::Arguments),
    ProbeMpi(doctor::probe::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

impl<B: Benchmark> Command<B> {
    /// Does it.
    pub fn run(self, output: &mut Output) -> Result<ExitCode> {
        match self {
            Command::Run(arguments) => run::run(&arguments),
            Command::Watch(arguments) => watch::run(&arguments, output),
            Command::Summary(arguments) => summary::run(&arguments, output),
            Command::Info(arguments) => info::run(&arguments, output),
            Command::Dump(arguments) => dump::run(&arguments, output),
            Command::Categorize(arguments) => categorize::run(&arguments, output),
            Command::Stats(arguments) => stats::run(&arguments, output),
            Command::Diagnose(arguments) => diagnose::run(&arguments, output),
            Command::Clock(arguments) => clock::run(&arguments, output),
            Command::Compare(arguments) => compare::run(&arguments, output),
            Command::Scale(arguments) => scale::run(&arguments, output),
            Command::Gate(arguments) => gate::run(&arguments, output),
            Command::Jobs(arguments) => jobs::run(&arguments, output),
            Command::Export(arguments) => export::run(&arguments, output),
            Command::Report(arguments) => report::run(&arguments, output),
            Command::Benchmark(arguments) => arguments.run(output),
            Command::Recover(arguments) => recover::run(&arguments, output),
            Command::Doctor(arguments) => doctor::run(&arguments, output),
            Command::Overhead(arguments) => overhead::run(&arguments, output),
            Command::WatchNode(arguments) => watch::node::run(&arguments, output),
            Command::ProbeMpi(arguments) => doctor::probe::run(&arguments),
            Command::Completions(arguments) => completions::run(&arguments, &Cli::<B>::command(), output),
            Command::Man(arguments) => man::run(&arguments, Cli::<B>::command()),
        }
    }
}

#[cfg(test)]
pub mod tests {
    use std::process::ExitCode;

    use anyhow::Result;
    use clap::CommandFactory;
    use mpitrace_show::output::Output;

    /// This library by itself has no laboratory.
    #[derive(Debug, clap::Args)]
    pub struct NoBenchmark;

    impl super::Benchmark for NoBenchmark {
        fn run(&self, _: &mut Output) -> Result<ExitCode> {
            Ok(ExitCode::SUCCESS)
        }
    }

    #[test]
    fn the_declared_options_do_not_contradict_each_other() {
        super::Cli::<NoBenchmark>::command().debug_assert();
    }
}
