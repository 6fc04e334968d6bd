//! One file for each command: its options, and what it does.

mod algorithms;
mod enough;
mod guidelines;
mod means;
mod metrics;
mod models;
mod round_trips;
mod schemes;
mod synchronisation_check;
mod work;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use mpitrace_commands::Benchmark;
use mpitrace_show::output::Output;

/// Apply the methods of benchmarks and of the literature to a trace
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Scheme(schemes::Arguments),
    Synchronisation(synchronisation_check::Arguments),
    Metrics(metrics::Arguments),
    Enough(enough::Arguments),
    Work(work::Arguments),
    Algorithms(algorithms::Arguments),
    Models(models::Arguments),
    Guidelines(guidelines::Arguments),
    RoundTrips(round_trips::Arguments),
    Means(means::Arguments),
}

impl Benchmark for Arguments {
    fn run(&self, output: &mut Output) -> Result<ExitCode> {
        match &self.command {
            Command::Scheme(arguments) => schemes::run(arguments, output),
            Command::Synchronisation(arguments) => synchronisation_check::run(arguments, output),
            Command::Metrics(arguments) => metrics::run(arguments, output),
            Command::Enough(arguments) => enough::run(arguments, output),
            Command::Work(arguments) => work::run(arguments, output),
            Command::Algorithms(arguments) => algorithms::run(arguments, output),
            Command::Models(arguments) => models::run(arguments, output),
            Command::Guidelines(arguments) => guidelines::run(arguments, output),
            Command::RoundTrips(arguments) => round_trips::run(arguments, output),
            Command::Means(arguments) => means::run(arguments, output),
        }
    }
}

/// A number between 0 and 1, as an option has it.
fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err("not a number between 0 and 1".into()),
    }
}
