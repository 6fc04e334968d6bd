//! `mpitrace benchmark algorithms`: faster algorithms of Open MPI for a program.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, value_parser};
use mpitrace_analysis::run::Run;
use mpitrace_commands::{shuffled, traces_of};
use mpitrace_format::algorithms::collective_of;
use mpitrace_format::metadata;
use mpitrace_job::launcher;
use mpitrace_show::output::{self, Output};
use mpitrace_show::text;
use mpitrace_source::{Source, Traced};
use serde::Serialize;

use super::share;
use crate::algorithms::decide::{Better, FEWEST, decide};
use crate::algorithms::effect::{Effect, Verdict};
use crate::algorithms::launches::{self, Replayed};
use crate::algorithms::rules::{self, Rule};
use crate::algorithms::worth::{self, Worth};
use crate::algorithms::{REPLAY, effect};
use crate::synchronisation_check::command;

/// Find algorithms of Open MPI that are faster for a program, and prove it
///
/// The operations of FILE that take the most time are replayed under each algorithm of the component `tuned`, with the
/// arrival pattern of their ranks. An algorithm that is proven to be faster than the library's own choice by 5 % or
/// more gets a rule. Then the program runs with and without these rules, in random order, and a last line says if the
/// whole program became faster. The output folder gets the rules (rules.conf) and all traces.
///
/// Exit code 1: the program is slower with the rules.
#[derive(Debug, Args)]
#[command(override_usage = "mpitrace benchmark algorithms [OPTIONS] FILE... -- LAUNCHER ...")]
pub struct Arguments {
    /// The trace of the program; all files if one run left several
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Launches of the replay
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = value_parser!(u32).range(i64::from(FEWEST)..=1000))]
    launches: u32,
    /// Runs of the program with and without the rules
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u32).range(i64::from(FEWEST)..=1000))]
    runs: u32,
    /// Only operations that take this share of the ranks' time or more, without waiting for late ranks
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = share)]
    share: f64,
    /// The compiler of the MPI library [default: mpicc beside the launcher]
    #[arg(long, value_name = "PROGRAM")]
    compiler: Option<PathBuf>,
    /// A new folder for the rules and the traces
    #[arg(short, long, value_name = "DIR", default_value = "mpitrace-algorithms")]
    output: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// The command that starts the program
    #[arg(value_name = "LAUNCHER", required = true, last = true)]
    command: Vec<OsString>,
}

/// The result.
#[derive(Debug, Serialize)]
struct Outcome {
    rows: Vec<ReplayedRow>,
    /// The rules file; `None`: no algorithm is proven to be faster.
    rules: Option<PathBuf>,
    /// The variables by which the library takes them.
    variables: Vec<String>,
    /// The whole program with the rules and without them.
    program: Option<Effect>,
    sentence: String,
}

/// An operation that was replayed.
#[derive(Debug, Serialize)]
struct ReplayedRow {
    operation: usize,
    function: &'static str,
    bytes: u64,
    ranks: u32,
    /// Its part of the ranks' time, without waiting for late ranks.
    share: f64,
    /// How late the last rank comes, in the median.
    late_ns: f64,
    /// The library's own choice first. Medians over the launches, from the last entry to the last exit.
    algorithms: Vec<Algorithm>,
    better: Option<Faster>,
}

/// An algorithm of the replay.
#[derive(Debug, Serialize)]
struct Algorithm {
    number: u32,
    name: Option<String>,
    median_ns: Option<f64>,
}

/// The algorithm that gets a rule: how much less time it takes, below 0.
#[derive(Debug, Serialize)]
struct Faster {
    number: u32,
    name: Option<String>,
    difference: f64,
    interval: [f64; 2],
    p: f64,
}

/// Replays, decides, and runs the program.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let source = Source::read(&arguments.files, None)?;
    let traced = source.traced().context("only a trace has arrival patterns")?;
    check_library(traced)?;
    let place = program(&arguments.command, traced)?;
    let operations = worth::worth(&source, traced, arguments.share);
    ensure!(
        !operations.is_empty(),
        "no collective that has a choice of algorithms takes {} % of the ranks' time: nothing is to be gained",
        100.0 * arguments.share
    );
    let folder = &arguments.output;
    let new = fs::create_dir(folder);
    new.with_context(|| format!("{}: cannot be made; move it away, or name another folder (-o)", folder.display()))?;
    let folder = std::path::absolute(folder)?;
    let replayed = replay(arguments, place, &operations, &folder)?;
    let measured: Vec<_> = replayed.iter().map(|replayed| replayed.measured.clone()).collect();
    let decided = decide(&measured);
    let rows: Vec<ReplayedRow> =
        (0..operations.len()).map(|at| ReplayedRow::new(&operations[at], &replayed[at], &decided[at])).collect();
    let (rules, variables, program) = match decided.iter().any(Option::is_some) {
        true => {
            let file = folder.join("rules.conf");
            let rule = |(one, row): (&Worth, &ReplayedRow)| Some(one.rule(row.better.as_ref()?.number));
            let all: Vec<Rule> = operations.iter().zip(&rows).filter_map(rule).collect();
            fs::write(&file, rules::file(&all)).with_context(|| file.display().to_string())?;
            let variables = variables(&all, &file);
            let effect = try_rules(arguments, place, &variables, &rows, &folder)?;
            (Some(file), variables, Some(effect))
        }
        false => (None, Vec::new(), None),
    };
    let mut outcome = Outcome { rows, rules, variables, program, sentence: String::new() };
    outcome.sentence = outcome.words();
    if arguments.json {
        output::json(output, "benchmark-algorithms", &outcome)?;
    } else {
        outcome.write(output)?;
    }
    let is_slower = outcome.program.is_some_and(|program| program.verdict == Verdict::Slower);
    Ok(ExitCode::from(u8::from(is_slower)))
}

fn check_library(Traced { run: Run { trace, .. }, .. }: &Traced) -> Result<()> {
    let metadata = trace.parts.first().map(|part| part.metadata()).unwrap_or_default();
    let library = metadata::get(&metadata, "library").unwrap_or(metadata::UNKNOWN);
    let name = library.lines().next().unwrap_or_default().trim();
    ensure!(name.contains("Open MPI"), "the program ran on {name}: only Open MPI's algorithms can be chosen by rules");
    Ok(())
}

/// The place of the traced program in the command.
fn program(words: &[OsString], Traced { run: Run { trace, .. }, .. }: &Traced) -> Result<usize> {
    let launcher = launcher::find(words).context("the command has no launcher of MPI programs")?;
    let traced = command(trace);
    let file = |word: &OsStr| Path::new(word).file_name().map(OsStr::to_owned);
    let name = traced.split_whitespace().next().and_then(|word| file(word.as_ref()));
    let name = name.context("the trace does not have the program's name")?;
    ensure!(words.iter().all(|word| word != ":"), "jobs of several programs (`:`) cannot be replayed");
    let is_program = |word: &OsString| file(word).as_ref() == Some(&name);
    let place = words.iter().skip(launcher + 1).position(is_program);
    let place = place.with_context(|| format!("the command does not start {}, whose trace this is", name.display()))?;
    Ok(launcher + 1 + place)
}

/// Replays the operations, and reads what was measured.
fn replay(arguments: &Arguments, place: usize, operations: &[Worth], folder: &Path) -> Result<Vec<Replayed>> {
    let [program, source, plan] = ["replay", "replay.c", "plan"].map(|name| folder.join(name));
    fs::write(&source, REPLAY).with_context(|| source.display().to_string())?;
    fs::write(&plan, worth::plan(operations)).with_context(|| plan.display().to_string())?;
    let compiler = arguments.compiler.clone().unwrap_or_else(|| compiler(&arguments.command));
    let compiled = Command::new(&compiler).arg("-O2").arg("-o").arg(&program).arg(&source).output();
    let compiled = compiled.with_context(|| format!("{}: cannot be started (--compiler)", compiler.display()))?;
    if !compiled.status.success() {
        let why = String::from_utf8_lossy(&compiled.stderr);
        bail!("{}: {}", compiler.display(), why.lines().next().unwrap_or("failed"));
    }
    let mut words = arguments.command[..place].to_vec();
    words.extend([program.into_os_string(), plan.into_os_string()]);
    let name = folder.join("replay.mpitrace");
    let code = shuffled(&[&words], arguments.launches, &name)?;
    ensure!(code == 0, "the replay ended with exit code {code}: nothing is decided");
    launches::read(&traces_of(0, 1, arguments.launches, &name), operations.len())
}

/// `mpicc.openmpi` beside `mpirun.openmpi`.
fn compiler(words: &[OsString]) -> PathBuf {
    let launcher = launcher::find(words).map(|place| Path::new(&words[place]));
    let compiler_beside = |launcher: &Path| {
        let name = launcher.file_name()?.to_str()?;
        let ending = name.split_once('.').map(|(_, ending)| format!(".{ending}")).unwrap_or_default();
        Some(launcher.with_file_name(format!("mpicc{ending}")))
    };
    launcher.and_then(compiler_beside).unwrap_or_else(|| "mpicc".into())
}

/// The variables by which the library takes the rules. Version 5 has an algorithm that a variable forces go before the
/// rules, version 4 after them.
fn variables(rules: &[Rule], file: &Path) -> Vec<String> {
    let name = |rule: &Rule| format!("coll_tuned_{}_algorithm", collective_of(rule.collective.function));
    let forced: BTreeSet<String> = rules.iter().map(name).collect();
    let switch = [("coll_tuned_use_dynamic_rules".to_owned(), "1".to_owned())];
    let file = ("coll_tuned_dynamic_rules_filename".to_owned(), file.display().to_string());
    let all = switch.into_iter().chain([file]).chain(forced.into_iter().map(|name| (name, "0".to_owned())));
    all.map(|(name, value)| format!("OMPI_MCA_{name}={value}")).collect()
}

/// Runs the program with and without the rules.
fn try_rules(
    arguments: &Arguments,
    place: usize,
    variables: &[String],
    rows: &[ReplayedRow],
    folder: &Path,
) -> Result<Effect> {
    let words = &arguments.command;
    let mut with = words.clone();
    let set = std::iter::once("env".into()).chain(variables.iter().map(OsString::from));
    with.splice(place..place, set);
    let name = folder.join("program.mpitrace");
    let code = shuffled(&[words, &with], arguments.runs, &name)?;
    ensure!(code == 0, "a run ended with exit code {code}: nothing is compared");
    let [without, with] = [0, 1].map(|job| traces_of(job, 2, arguments.runs, &name));
    let wanted: Vec<effect::Wanted> = rows.iter().filter_map(ReplayedRow::wanted).collect();
    effect::effect(&without, &with, &wanted)
}

impl ReplayedRow {
    fn new(one: &Worth, replayed: &Replayed, decided: &Option<Better>) -> ReplayedRow {
        let name = |place: usize| replayed.names.get(place).cloned().flatten();
        let algorithm = |(place, measured): (usize, &crate::algorithms::decide::Measured)| Algorithm {
            number: measured.algorithm,
            name: name(place),
            median_ns: mpitrace_statistics::median(&mut measured.medians_ns.clone()),
        };
        let faster = |better: &Better| Faster {
            number: replayed.measured[better.place].algorithm,
            name: name(better.place),
            difference: better.share,
            interval: better.interval,
            p: better.p,
        };
        ReplayedRow {
            operation: one.operation,
            function: one.collective.function,
            bytes: one.bytes,
            ranks: one.ranks,
            share: one.share,
            late_ns: one.late_ns(),
            algorithms: replayed.measured.iter().enumerate().map(algorithm).collect(),
            better: decided.as_ref().map(faster),
        }
    }

    fn wanted(&self) -> Option<effect::Wanted<'_>> {
        let name = self.better.as_ref()?.name.as_deref()?;
        Some(effect::Wanted { function: self.function, bytes: self.bytes, ranks: self.ranks, name })
    }

    fn words(&self) -> String {
        let ReplayedRow { operation, function, bytes, ranks, .. } = self;
        let called = |name: &Option<String>, number: u32| name.clone().unwrap_or_else(|| format!("algorithm {number}"));
        let default = self
            .algorithms
            .first()
            .and_then(|default| default.name.clone())
            .unwrap_or_else(|| "the library's own".into());
        let found = match &self.better {
            Some(Faster { number, name, difference, interval, p }) => {
                let [low, high] = interval.map(|end| 100.0 * end);
                let name = called(name, *number);
                let (difference, p) = (100.0 * difference, text::number(*p));
                format!("{name} ({number}) instead of {default}: {difference:+.1} % ({low:+.1} to {high:+.1} %), p {p}")
            }
            None if self.algorithms.len() < 2 => "could not be replayed".into(),
            None => format!("none of {} algorithms is proven to be faster than {default}", self.algorithms.len() - 1),
        };
        let bytes = text::bytes(*bytes);
        let share = 100.0 * self.share;
        format!("operation {operation}: {function}, {bytes}, {ranks} ranks, {share:.0} % of their time: {found}")
    }
}

impl Outcome {
    fn words(&self) -> String {
        match &self.program {
            Some(program) => format!("With the rules the program is {}.", program.words()),
            None => "No algorithm is proven to be faster: there are no rules.".into(),
        }
    }

    fn write(&self, output: &mut Output) -> Result<()> {
        for row in &self.rows {
            writeln!(output, "{}", row.words())?;
        }
        writeln!(output, "{}", self.sentence)?;
        if self.rules.is_some() {
            writeln!(output, "Rules: {}", self.variables.join(" "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::Collective;

    #[test]
    fn the_rules_come_with_the_variables_by_which_they_are_taken() {
        let rule =
            |function, bytes| Rule { collective: Collective::named(function).unwrap(), ranks: 4, bytes, algorithm: 1 };
        let rules = [rule("MPI_Reduce_scatter_block", 8), rule("MPI_Bcast", 8), rule("MPI_Bcast", 16)];
        let expected = [
            "OMPI_MCA_coll_tuned_use_dynamic_rules=1",
            "OMPI_MCA_coll_tuned_dynamic_rules_filename=/a/rules.conf",
            "OMPI_MCA_coll_tuned_bcast_algorithm=0",
            "OMPI_MCA_coll_tuned_reduce_scatter_block_algorithm=0",
        ];
        assert_eq!(variables(&rules, Path::new("/a/rules.conf")), expected);
    }

    #[test]
    fn the_compiler_is_the_one_beside_the_launcher() {
        let of = |line: &str| compiler(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of("timeout 9 /opt/bin/mpirun -np 2 ./a"), Path::new("/opt/bin/mpicc"));
        assert_eq!(of("mpiexec.openmpi ./a"), Path::new("mpicc.openmpi"));
        assert_eq!(of("./a"), Path::new("mpicc"));
    }
}
