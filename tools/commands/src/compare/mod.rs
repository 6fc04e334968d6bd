//! `mpitrace compare`: sets of runs, tested two by two.

mod changed;
mod chosen;
pub mod factors;
mod figures;
mod forest;
pub mod identity;
pub mod job;
mod json;
mod page;
mod pair;
mod question;
mod reduce;
mod result;
mod runs;
mod sentence;
pub mod side;

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use mpitrace_changes::{Identity, pair};
use mpitrace_report::picture_option::PictureOption;
use mpitrace_show::destination::{Content, write_file};
use mpitrace_show::output::{self, Output};
use mpitrace_show::progress::Progress;
use mpitrace_show::text;
use mpitrace_source::options::{FromOption, ReductionOption, TimeOption, named};
use mpitrace_statistics::categories::Rule;
use mpitrace_statistics::comparison::{Alternative, Settings, Test, Verdict};
use mpitrace_trace::run_time::RunTime;
use mpitrace_words::changes::{Decided, JobFacts, Subject};
use serde::Serialize;
use serde_json::Value;

use crate::exit::FINDING;
use chosen::Chosen;
use figures::{Figure, FigureOutput};
use pair::Pair;
use question::Question;
use result::{Compared, OneSided};
use side::{OfOperation, Side};

/// Compare sets of runs: what changed and where, which is faster, by how much, and whether it is chance
///
/// Each file is a run. The first line says how much longer the job of B takes and where, the first table has all parts
/// of the difference, which add up. The rows of the second table are first the whole job, from MPI_Init to
/// MPI_Finalize, its ranks' time in MPI, and the geometric mean of all operations, then the operations. In each run the
/// first repetition, the warm-up and outliers are left out and counted; each run becomes one number: the median of the
/// rest. The numbers of A and B are tested (asterisks: p at most 0.05, 0.01, 0.001). Tests and intervals are corrected
/// for the number of operations. Of more than two sets each is compared with each, also corrected. A crossing: one side
/// is faster in the median and slower in the 95th percentile, outliers included, and the intervals of both are
/// disjoint; it needs two runs a side. Recorded settings that differ between the sides are listed: they may be the
/// reason. Exit code 1 if the job of B takes longer, or B is slower in an operation.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The runs of A
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    a: Vec<PathBuf>,
    /// The runs of B
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    b: Vec<PathBuf>,
    /// The runs of a third set, up to --f
    #[arg(long, value_name = "FILE", num_args = 1..)]
    c: Vec<PathBuf>,
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "c", hide = true)]
    d: Vec<PathBuf>,
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "d", hide = true)]
    e: Vec<PathBuf>,
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "e", hide = true)]
    f: Vec<PathBuf>,
    /// The alternative of the test; less: A's run times are less than B's
    #[arg(long, default_value = Alternative::default().name(), value_parser = named::<Alternative>())]
    alternative: Alternative,
    /// The test: permutation of the runs, Welch's t-test of the logarithms (welch), or the rank-sum test (wilcoxon),
    /// which needs more runs
    #[arg(long, default_value = Test::default().name(), value_parser = named::<Test>())]
    test: Test,
    #[command(flatten)]
    rule: ReductionOption,
    #[command(flatten)]
    time: TimeOption,
    #[command(flatten)]
    from: FromOption,
    /// Also a picture: FILE.svg, .png or .pdf, its values: FILE.csv, or a page with all pictures: FILE.html
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The runs of each set, in their order, are so many trials; without: each run is one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    trials: Option<u32>,
    /// The content of the picture; without: forest
    #[arg(long, value_enum, requires = "output")]
    plot: Option<Figure>,
    /// The names of the sets in pictures, in their order, with commas between them
    #[arg(long, value_name = "NAMES", requires = "output", value_delimiter = ',')]
    names: Vec<String>,
    /// Only this function in pictures, such as MPI_Bcast, or this operation, as the table has it
    #[arg(long, value_name = "NAME", requires = "output")]
    only: Option<String>,
    #[command(flatten)]
    picture: PictureOption,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// The sets that were given, with their letters.
    fn sets(&self) -> Vec<(char, &Vec<PathBuf>)> {
        let all = [&self.a, &self.b, &self.c, &self.d, &self.e, &self.f];
        ('A'..).zip(all).filter(|(_, files)| !files.is_empty()).collect()
    }

    fn question(&self, sets: usize) -> Question {
        let pairs = sets * (sets - 1) / 2;
        Question {
            settings: Settings { test: self.test, alternative: self.alternative, pairs },
            rule: self.rule.rule,
            time: self.time.time,
            from: self.from.format,
            trials: self.trials.map(|trials| trials as usize),
        }
    }
}

/// The JSON of all comparisons.
#[derive(Serialize)]
struct Found<'f> {
    /// The change of the time of the job between A and B; `null`: a side was not traced.
    job: Option<&'f JobFacts>,
    /// Between the other pairs of sets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_jobs: Vec<&'f JobFacts>,
    rows: Vec<Value>,
}

/// The runs of a set by the rules that hold without options, a file each but where one run left several.
///
/// # Errors
/// A file that cannot be used; the message names it.
pub fn read_set(name: char, files: &[PathBuf]) -> Result<Side> {
    let (settings, rule) = (Settings::default(), Rule::default());
    let question = Question { settings, rule, time: RunTime::Local, from: None, trials: None };
    let runs = runs::group(name, files, None)?;
    Side::read(&runs, &question, &Progress::new(runs.len() as u64))
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let sets = arguments.sets();
    let question = arguments.question(sets.len());
    // Before anything is computed.
    let chosen = match arguments.output.as_deref() {
        Some(path) => Some((path, FigureOutput::by_name(path, arguments.plot, &arguments.picture)?)),
        None => None,
    };
    if !arguments.names.is_empty() && arguments.names.len() != sets.len() {
        let letters: Vec<String> = sets.iter().map(|(letter, _)| letter.to_string()).collect();
        bail!(
            "--names: {} for {} sets, {}; give each one a name, with commas between them",
            text::count(arguments.names.len() as u64, "name"),
            sets.len(),
            letters.join(", ")
        );
    }
    let names = arguments.names.iter().map(|name| text::printable(name.trim()).into_owned()).collect::<Vec<_>>();
    let mut known = HashSet::new();
    if let Some(name) = names.iter().find(|name| name.is_empty() || !known.insert(*name)) {
        bail!(
            "--names: each set needs a name of its own: '{name}' is {}",
            if name.is_empty() { "none" } else { "given twice" }
        );
    }
    let drawn = Chosen { trials: question.trials, names: &names, only: arguments.only.as_deref() };
    let runs: Vec<Vec<runs::Files>> =
        sets.iter().map(|(name, files)| runs::group(*name, files, question.from)).collect::<Result<_>>()?;
    if let Some(trials) = question.trials
        && let Some(((name, _), runs)) = sets.iter().zip(&runs).find(|(_, runs)| !runs.len().is_multiple_of(trials))
    {
        bail!("{name}: {} runs cannot be shared out evenly among {trials} trials", runs.len());
    }
    let progress = Progress::new(runs.iter().map(|runs| runs.len() as u64).sum());
    let sides: Vec<Side> = runs.iter().map(|runs| Side::read(runs, &question, &progress)).collect::<Result<_>>()?;
    drop(progress);
    let mut notes: Vec<String> = sets.iter().zip(&sides).flat_map(|((name, _), side)| side.notes(*name)).collect();
    let places: Vec<(usize, usize)> =
        (0..sets.len()).flat_map(|one| (one + 1..sets.len()).map(move |other| (one, other))).collect();
    let mut common: Vec<Vec<[&OfOperation; 2]>> = Vec::new();
    let mut one_sided: Vec<Vec<OneSided>> = Vec::new();
    for &(one, other) in &places {
        let names = [sets[one].0, sets[other].0];
        let paired = pair(&sides[one].identities(), &sides[other].identities(), names);
        if paired.pairs.is_empty() && sides[one].common(&sides[other]).is_empty() {
            let of = |side: &Side| side.keys().unwrap_or_else(|| "none".into());
            let [a, b] = names;
            bail!(
                "{a} and {b} have no operation in common; {a} has {}, {b} has {}",
                of(&sides[one]),
                of(&sides[other])
            );
        }
        notes.extend(runs::in_both(sets[one], sets[other]));
        notes.extend(paired.notes);
        let both = |&(a, b): &(usize, usize)| [&sides[one].operations[a], &sides[other].operations[b]];
        common.push(paired.pairs.iter().map(both).collect());
        let alone = |side: usize, places: Vec<usize>| {
            let operations = &sides[[one, other][side]].operations;
            places.into_iter().map(move |at| OneSided { side, operation: &operations[at] }).collect::<Vec<_>>()
        };
        let mut alone: Vec<OneSided> =
            [alone(0, paired.only_a), alone(1, paired.only_b)].into_iter().flatten().collect();
        let seconds = |one: &OneSided| one.operation.typical().map_or(0.0, |(seconds, _)| seconds);
        alone.sort_by(|one, other| seconds(other).total_cmp(&seconds(one)));
        one_sided.push(alone);
    }
    let overall: Vec<Option<[OfOperation; 2]>> = common.iter().map(|common| side::overall(common)).collect();
    let mut pairs: Vec<Pair> = Vec::new();
    for ((&(one, other), one_sided), (common, overall)) in places.iter().zip(one_sided).zip(common.iter().zip(&overall))
    {
        let names = [sets[one].0, sets[other].0];
        // The whole job is one question, not one among those about its operations.
        let mut alone = sides[one].common(&sides[other]);
        alone.extend(overall.iter().map(|[a, b]| [a, b]));
        let mut compared: Vec<Compared> =
            alone.iter().flat_map(|one| result::compare(&[*one], names, &question)).collect();
        let whole = compared.len();
        compared.extend(result::compare(common, names, &question));
        notes.extend(result::notes(&compared[whole..], &question));
        let factors = factors::between(&sides[one].recorded, &sides[other].recorded);
        let same: Vec<(&Identity, &Identity)> = common.iter().map(|[a, b]| (&a.identity, &b.identity)).collect();
        let of_job = compared[..whole].iter().find(|one| one.identity.function == identity::JOB);
        let job = of_job.and_then(|compared| {
            let subject = Subject::of_sides(names);
            job::facts([&sides[one], &sides[other]], &same, &compared.comparison, &factors, names, &subject)
        });
        pairs.push(Pair { names, compared, whole, factors, job, one_sided });
    }
    let mut said: HashSet<&String> = HashSet::new();
    for note in notes.iter().filter(|note| said.insert(note)) {
        eprintln!("mpitrace: {}", text::printable(note));
    }
    match chosen {
        Some((path, FigureOutput::Page)) => write_file(path, Content::Text, |file| figures::page(&pairs, drawn, file))?,
        Some((path, FigureOutput::Picture(figure, written))) => {
            let picture = figures::picture(figure, &pairs, drawn)?;
            let picture = picture.with_context(|| format!("{}: nothing to show", path.display()))?;
            written.write(&picture, &arguments.picture.format(), path)?;
        }
        None => {}
    }
    if arguments.json {
        let mut jobs = pairs.iter().map(|pair| pair.job.as_ref());
        let rows = pairs.iter().flat_map(|pair| {
            let tested = pair.compared.iter().map(|one| one.json(&question, &pair.factors));
            tested.chain(pair.one_sided.iter().map(|one| one.json(&question, pair.names, &pair.factors)))
        });
        let found = Found { job: jobs.next().flatten(), other_jobs: jobs.flatten().collect(), rows: rows.collect() };
        output::json(output, "compare", &found)?;
    } else {
        page::write(&pairs, output)?;
    }
    // A job may be slower for what lies outside of the operations that both sides have.
    let takes_longer = |pair: &Pair| pair.job.as_ref().is_some_and(|job| job.decided == Decided::Longer);
    let has_slower = |pair: &Pair| pair.compared[pair.whole..].iter().any(|one| one.comparison.verdict() == Verdict::A);
    let is_slower = |pair: &Pair| pair.names[0] == 'A' && (takes_longer(pair) || has_slower(pair));
    Ok(if pairs.iter().any(is_slower) { ExitCode::from(FINDING) } else { ExitCode::SUCCESS })
}
