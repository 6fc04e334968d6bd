//! `mpitrace scale`: how a program scales with its number of ranks, and what limits it.

mod runs;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, value_parser};
use mpitrace_report::page;
use mpitrace_report::page::figure::Figures;
use mpitrace_report::picture_option::PictureOption;
use mpitrace_report::pictures::{ENDINGS, Picture, Written};
use mpitrace_runs::{ScaleFacts, part_label, plots, write};
use mpitrace_scaling::{Mode, Refusal, Scaling};
use mpitrace_show::destination::{Content, write_file};
use mpitrace_show::output::{self, Output};
use mpitrace_show::text;
use mpitrace_source::options::named;

use runs::Runs;

/// Show how a program scales with its number of ranks, what takes longer than the ideal, and what will limit it
///
/// Each file is a run of one program; give several runs on each of two or more numbers of ranks. The table has the
/// efficiencies of POP with 95 % intervals from the repeated runs. Each part of the ranks' time (computing, waiting and
/// time in each collective function, with MPITRACE_CALLSITE=1 at each place that calls it) is held against the ideal
/// and has a law of growth. The time on twice the ranks is predicted, with the interval in which 95 of 100 runs are to
/// lie.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Traces of runs of one program
    #[arg(value_name = "FILE", required = true, num_args = 1..)]
    files: Vec<PathBuf>,
    /// The work: strong (of all ranks together the same) or weak (of each rank the same); without: told from the time
    /// outside of MPI, or from counted instructions
    #[arg(long, value_name = "MODE", value_parser = named::<Mode>())]
    mode: Option<Mode>,
    /// Predict so many ranks; without: twice the most
    #[arg(long, value_name = "RANKS", value_parser = value_parser!(u32).range(1..))]
    at: Option<u32>,
    /// Also a picture: FILE.svg, .png or .pdf, its values: FILE.csv, or a page: FILE.html
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    picture: PictureOption,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Where the pictures go.
enum Drawn {
    Picture(Written),
    Page,
}

impl Drawn {
    fn by_name(path: &Path, option: &PictureOption) -> Result<Drawn> {
        if path.extension().is_some_and(|ending| ending == "html") {
            if let Some(given) = option.given() {
                bail!("{given} is for pictures: {} is a page", path.display());
            }
            return Ok(Drawn::Page);
        }
        let written = Written::by_ending(path).with_context(|| {
            format!("{}: the name of a picture ends in {ENDINGS}, that of a page in .html", path.display())
        })?;
        option.check(written, path)?;
        Ok(Drawn::Picture(written))
    }
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    // Before anything is computed.
    let drawn = arguments
        .output
        .as_deref()
        .map(|path| Ok::<_, anyhow::Error>((path, Drawn::by_name(path, &arguments.picture)?)));
    let drawn = drawn.transpose()?;
    let Runs { program, facts, notes } = Runs::read(&arguments.files)?;
    let scaling = Scaling::new(&facts, arguments.mode, arguments.at);
    let scaling = scaling.map_err(|refusal| anyhow::anyhow!(refused(&refusal)))?;
    for note in &notes {
        eprintln!("mpitrace: {}", text::printable(note));
    }
    let facts = ScaleFacts::new(&program, scaling);
    if let Some((path, drawn)) = drawn {
        draw(&facts, path, &drawn, &arguments.picture)?;
    }
    match arguments.json {
        true => output::json(output, "scale", &facts)?,
        false => write(&facts, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::OneNumber(ranks) => {
            let ranks = text::count((*ranks).into(), "rank");
            format!("all runs that finished are on {ranks}: scaling takes runs on two or more numbers of ranks")
        }
        Refusal::BetweenModes(exponent) => format!(
            "the work of all ranks together grows as p^{:.2}, between strong (p^0) and weak scaling (p^1): \
             give --mode strong or --mode weak",
            exponent.value
        ),
    }
}

fn draw(facts: &ScaleFacts, path: &Path, drawn: &Drawn, option: &PictureOption) -> Result<()> {
    let labels: Vec<String> = facts.scaling.parts.iter().map(|part| part_label(&part.part)).collect();
    let plots = plots::plots(&facts.scaling, &labels);
    let title = format!("Scaling of {}", text::printable(&facts.program));
    match drawn {
        Drawn::Picture(written) => {
            let picture = Picture { name: title, plots, panel: plots::PANEL, columns: 3, above: None };
            written.write(&picture, &option.format(), path)
        }
        Drawn::Page => write_file(path, Content::Text, |file| {
            let mut figures = Figures::default();
            let drawn: String = plots.iter().map(|plot| figures.figure(&plot.title, plot, plots::PANEL, "")).collect();
            page::of_figures(&title, &facts.sentences, &[("By the number of ranks", drawn)], file)
        }),
    }
}
