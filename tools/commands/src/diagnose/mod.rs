//! `mpitrace diagnose`: why repetitions are slow.

mod causes;
mod correlations;
mod diagnosed;
mod findings;
mod groups;
mod metrics;
mod page;
mod samples;
mod switch;
mod words;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use mpitrace_analysis::causes::{Causes, Counted};
use mpitrace_analysis::diagnosis::{Examination, Repetitions};
use mpitrace_analysis::run::Run;
use mpitrace_show::output::{JsonRows, Output};
use mpitrace_show::progress::{self, Progress};
use mpitrace_source::memory;
use mpitrace_source::options::{Input, RuleOption, TimeOption};
use mpitrace_source::{Source, Traced};

use diagnosed::Diagnosed;
use page::Page;
use switch::Switch;

/// Name the causes of slow repetitions, with the time that each one costs
///
/// The time that slow repetitions take beyond the fast ones is attributed to what was recorded: waiting for a late rank
/// and why it was late, time off the processor, migrations, delays by the tracer, the first call. Then a test compares
/// the counters and timers of each rank, and the times of its requests, between the good repetitions and the warm-up,
/// the outliers and the modes. It is corrected for the number of tests and for dependent repetitions.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    time: TimeOption,
    /// Only this operation
    #[arg(long, value_name = "N")]
    operation: Option<usize>,
    #[command(flatten)]
    rule: RuleOption,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let source = progress::during("reading", || Source::open(&arguments.input))?;
    let (time, rule) = (arguments.time.time, arguments.rule.rule);
    source.check(arguments.operation, time)?;
    source.warn(time);
    source.warn_of_memory(arguments.operation, memory::METRICS);
    if source.traced().is_some_and(|traced| !traced.run.clock.is_synchronised()) {
        eprintln!("mpitrace: the clocks of the ranks are not synchronised: late ranks cannot be found");
    }
    let sampled = source.traced().map(Traced::samples).transpose()?.flatten();
    let with_samples = sampled.as_ref().zip(source.traced().map(|traced| &traced.run));
    let progress = Progress::new(source.wanted(arguments.operation).count() as u64);
    let mut each = source.wanted(arguments.operation).map(|number| {
        let mut times = source.run_times(number, time)?;
        if let Some((sampled, Run { trace, operations, .. })) = with_samples {
            sampled.correct(trace, &operations.operations[number], &mut times.run_time_ns);
        }
        let found = rule.apply(&times.repetition, &times.run_time_ns)?;
        let remarks = found.remarks(&times.repetition, &times.run_time_ns);
        let categories = found.categories;
        let examination =
            Examination::new(Repetitions { run_time_ns: &times.run_time_ns, category: &categories.category });
        let examined = metrics::examined(&source, number, &examination);
        let diagnosis = examination.conclude(examined);
        let causes = match source.traced().map(|traced| &traced.run) {
            Some(Run { trace, operations, clock, .. }) => {
                let (operation, counted) = (&operations.operations[number], Counted::counters(&diagnosis));
                let rows = operation.complete();
                Causes::new(trace, clock, operation, &rows, &diagnosis.groups, &categories.category, &counted)
            }
            None => Causes::explained_by_counters(&diagnosis),
        };
        let algorithms = source.algorithms(number).unwrap_or_default();
        let switch = Switch::new(&algorithms, &categories.category, &times.run_time_ns);
        let hot = with_samples.map(|(sampled, Run { trace, operations, .. })| {
            samples::hot(sampled, trace, &operations.operations[number], &diagnosis.groups)
        });
        progress.step();
        let has_metrics = !diagnosis.metrics.is_empty() && !diagnosis.groups.is_empty();
        let diagnosed = Diagnosed {
            description: &source.operations()[number],
            method: rule.name(),
            time,
            warmup_end: categories.warmup_end,
            remarks,
            notes: source.notes(number),
            sentences: Vec::new(),
            not_recorded: not_recorded(&source, number, with_samples.is_some()),
            all_ns: times.run_time_ns.iter().sum(),
            sampled_repetitions: has_metrics.then_some(diagnosis.looked_at),
            causes,
            switch,
            findings: findings::found(&diagnosis),
            hot: hot.unwrap_or_default(),
            sample_rate: sampled.as_ref().and_then(samples::rate),
            correlations: if arguments.json { correlations::correlations(&source, number) } else { Vec::new() },
            categories,
            diagnosis,
        };
        Ok(Diagnosed { sentences: words::sentences(&diagnosed), ..diagnosed })
    });
    if arguments.json {
        let mut list = JsonRows::new(output, "diagnose")?;
        each.try_for_each(|diagnosed: Result<Diagnosed>| {
            let diagnosed = diagnosed?;
            progress.aside(|| list.push(&diagnosed))
        })?;
        list.end()?;
    } else {
        let pages: Vec<Page> = each.map(|diagnosed| Ok(Page::new(&diagnosed?))).collect::<Result<_>>()?;
        progress.aside(|| page::write(pages, arguments.operation.is_some(), output))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Evidence that might show a cause of slow repetitions of an operation, and was not recorded.
fn not_recorded(source: &Source, operation: usize, has_samples: bool) -> Vec<&'static str> {
    let is_synchronised = source.traced().is_some_and(|traced| traced.run.clock.is_synchronised());
    let missing = [
        (!is_synchronised, "waiting for late ranks"),
        (source.counters(operation).is_empty(), "counters"),
        (!has_samples, "samples of the code"),
    ];
    missing.into_iter().filter(|(is_missing, _)| *is_missing).map(|(_, what)| what).collect()
}
