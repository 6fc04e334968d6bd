//! The settings of the tracer that are options of `run`. All others are variables only, which the job inherits.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Args;
use mpitrace_job::observer::sampling;
use mpitrace_synchronise::{Method, Synchronisation};

/// The variable of the trace's name, which `run` itself has to know.
pub const OUTPUT: &str = "MPITRACE_OUTPUT";
pub const SEGMENT_DIR: &str = "MPITRACE_SEGMENT_DIR";
pub const DISABLE: &str = "MPITRACE_DISABLE";
/// The variable of the number that this command gives a job. It has no option.
pub const RUN: &str = "MPITRACE_RUN";
pub const VERBOSE: &str = "MPITRACE_VERBOSE";
pub const STACKS: &str = "MPITRACE_STACKS";
pub const SAMPLE: &str = "MPITRACE_SAMPLE";
pub const PROCESSES: &str = "MPITRACE_PROCESSES";
const EVENTS: &str = "MPITRACE_EVENTS";
const CLOCK: &str = "MPITRACE_CLOCKSYNC";

/// The settings that are given as options. The name of an argument is the variable that it sets; docs/launching.md
/// lists them.
#[derive(Clone, Debug, Default, Args)]
pub struct Settings {
    /// The trace to write; %h host, %p process of rank 0, %j job, %s step, %a array index, %r restarts, %t start time,
    /// %d date, %u user, %x program [MPITRACE_OUTPUT]
    #[arg(id = OUTPUT, short = 'o', long = "output", value_name = "FILE")]
    output: Option<OsString>,
    /// Counters to read with each call, comma separated: instructions,cache-misses,... [MPITRACE_EVENTS]
    #[arg(id = EVENTS, short = 'e', long = "events", value_name = "EVENTS")]
    events: Option<OsString>,
    /// How clocks are synchronised, with parameters after commas: hca3,fit_points=500 [MPITRACE_CLOCKSYNC]
    #[arg(id = CLOCK, long = "clock", value_name = "METHOD", value_parser = clock, long_help = clock_help())]
    clock: Option<String>,
    /// Sample the stacks of the ranks on this node HZ times per second of processor time, into FILE.observed; 50 if not
    /// given, 0: not at all [MPITRACE_SAMPLE]
    #[arg(id = SAMPLE, long = "sample", value_name = "HZ", value_parser = samples)]
    sample: Option<String>,
    /// 0: the tracer is silent; 1: one line at the end; 2: more [MPITRACE_VERBOSE]
    #[arg(id = VERBOSE, long = "verbose", value_name = "N", value_parser = ["0", "1", "2"])]
    verbose: Option<String>,
}

fn clock(text: &str) -> Result<String, String> {
    let parsed = Synchronisation::parse(text).map(|_| text.to_owned());
    parsed.ok_or_else(|| format!("expected {}", Synchronisation::expected()))
}

fn clock_help() -> String {
    let methods: Vec<String> = Method::all().map(|method| format!("{}: {}", method.name(), method.help())).collect();
    let expected = Synchronisation::expected();
    format!("How clocks are synchronised: {expected} [MPITRACE_CLOCKSYNC]\n\n{}", methods.join("\n"))
}

fn samples(text: &str) -> Result<String, String> {
    let (least, most) = sampling::BOUNDS.into_inner();
    match text.trim().parse().is_ok_and(|hz| sampling::BOUNDS.contains(&hz) || hz == 0.0) {
        true => Ok(text.to_owned()),
        false => Err(format!("expected {least} to {most} samples a second, or 0")),
    }
}

impl Settings {
    pub fn of_output(path: &Path) -> Settings {
        Settings { output: Some(path.into()), ..Settings::default() }
    }

    pub fn get(&self, variable: &str) -> Option<&OsStr> {
        self.variables().find(|(name, _)| *name == variable).map(|(_, value)| value)
    }

    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &OsStr)> {
        let all = [
            (OUTPUT, self.output.as_deref()),
            (EVENTS, self.events.as_deref()),
            (CLOCK, self.clock.as_deref().map(OsStr::new)),
            (SAMPLE, self.sample.as_deref().map(OsStr::new)),
            (VERBOSE, self.verbose.as_deref().map(OsStr::new)),
        ];
        all.into_iter().filter_map(|(variable, value)| Some((variable, value?)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use clap::{Arg, CommandFactory, Parser};

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        settings: Settings,
    }

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// The sources of the preloaded library that read settings, wherever they lie.
    fn settings_sources(folder: &Path, found: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                settings_sources(&path, found);
            } else if path.ends_with("settings.rs") {
                found.push_str(&std::fs::read_to_string(&path).unwrap());
            }
        }
    }

    /// The variables in string literals of the part that is not tests.
    fn variables_of_the_tracer() -> BTreeSet<String> {
        let mut source = String::new();
        settings_sources(&root().join("interpose/src"), &mut source);
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        let literals = source.split('"').skip(1).step_by(2);
        let is_variable = |text: &&str| {
            text.strip_prefix("MPITRACE_")
                .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
        };
        literals.filter(is_variable).map(str::to_owned).collect()
    }

    /// The options, without --help.
    fn options() -> Vec<Arg> {
        Line::command().get_arguments().filter(|option| option.get_id() != "help").cloned().collect()
    }

    #[test]
    fn every_option_sets_a_variable_of_the_tracer() {
        let of_tracer = variables_of_the_tracer();
        let options = options();
        let variables = options.iter().map(|option| option.get_id().as_str());
        let unknown: Vec<&str> = variables.filter(|variable| !of_tracer.contains(*variable)).collect();
        assert!(unknown.is_empty() && of_tracer.len() > options.len(), "{unknown:?} of {of_tracer:?}");
        let words = ["run", "-o", "a", "-e", "cycles", "--clock", "joint", "--sample", "100", "--verbose", "1"];
        let given = Line::try_parse_from(words).unwrap().settings;
        for option in &options {
            let (variable, help) = (option.get_id().as_str(), option.get_help().unwrap().to_string());
            assert!(given.get(variable).is_some() && help.ends_with(&format!("[{variable}]")), "{variable}: {help}");
        }
    }

    #[test]
    fn the_documentation_lists_every_option_beside_its_variable() {
        let page = std::fs::read_to_string(root().join("docs/launching.md")).unwrap();
        for option in options() {
            let (variable, long) = (option.get_id(), option.get_long().unwrap());
            let short = option.get_short().map_or_else(String::new, |short| format!("`-{short}`, "));
            let row = format!("| `{variable}` | {short}`--{long}` |");
            assert!(page.contains(&row), "docs/launching.md lacks: {row}");
        }
    }

    #[test]
    fn the_documentation_lists_every_clock_method() {
        let page = std::fs::read_to_string(root().join("docs/clocks.md")).unwrap();
        for method in Method::all() {
            let Synchronisation { fit_points, exchanges, .. } = Synchronisation::new(method);
            let number = |number: u32| if number == 0 { "-".to_owned() } else { number.to_string() };
            let row =
                format!("| `{}` | {} | {}, {} |", method.name(), method.help(), number(fit_points), number(exchanges));
            assert!(page.contains(&row), "docs/clocks.md lacks: {row}");
        }
    }

    #[test]
    fn the_clock_takes_what_its_variable_takes() {
        for text in ["auto", "hca3,fit_points=500", "joint, max_ppm=20,wander_ppb=3"] {
            let line = Line::try_parse_from(["run", "--clock", text]).unwrap();
            assert_eq!(line.settings.get("MPITRACE_CLOCKSYNC"), Some(OsStr::new(text)));
        }
        for method in Method::all() {
            assert!(Line::try_parse_from(["run", "--clock", method.name()]).is_ok(), "{}", method.name());
        }
    }

    #[test]
    fn options_become_variables() {
        let words = ["run", "--verbose", "0", "--clock", "joint", "-e", "cycles,r01"];
        let line = Line::try_parse_from(words).unwrap();
        let expected = [("MPITRACE_EVENTS", "cycles,r01"), ("MPITRACE_CLOCKSYNC", "joint"), ("MPITRACE_VERBOSE", "0")];
        let found: Vec<(&str, &OsStr)> = line.settings.variables().collect();
        assert_eq!(found, expected.map(|(name, value)| (name, OsStr::new(value))));
    }

    #[test]
    fn an_unusable_value_is_refused_with_the_option_and_what_is_expected() {
        let cases = [
            ("--clock", "hca4", "joint"),
            ("--clock", "hca3,fit_points", "fit_points=N"),
            ("--verbose", "3", "0, 1, 2"),
        ];
        for (option, value, expected) in cases {
            let words = ["run", option, value].into_iter().filter(|word| !word.is_empty());
            let error = Line::try_parse_from(words).unwrap_err();
            let told = crate::usage::wrong(&Line::command(), &error).unwrap();
            let name = option.split('=').next().unwrap_or_default();
            assert!(told.contains(name) && told.contains(expected) && !told.contains('\n'), "{told}");
        }
    }
}
