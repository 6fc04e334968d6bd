//! The settings of the tracer that are options of `run`: one table, from which parser, help and environment come. All
//! others are variables only, which the job inherits.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, value_parser};
use mpitrace_synchronise::{Method, Synchronisation};

use super::sampling;

/// A setting: the variable that the tracer reads, and the option that sets it.
struct Setting {
    variable: &'static str,
    option: &'static str,
    short: Option<char>,
    value: Value,
    help: &'static str,
}

/// The value of an option.
enum Value {
    /// Any text; the name in help.
    Text(&'static str),
    /// One of these.
    OneOf(&'static str, &'static [&'static str]),
    /// Text that the function accepts; its error says what is expected.
    Checked(&'static str, fn(&str) -> Result<String, String>),
}

/// The variable of the trace's name, which `run` itself has to know.
pub const OUTPUT: &str = "MPITRACE_OUTPUT";

/// The variable of the folder in which the live records lie.
pub const SEGMENT_DIR: &str = "MPITRACE_SEGMENT_DIR";

/// The variable that switches the tracer off.
pub const DISABLE: &str = "MPITRACE_DISABLE";

/// The variable of the number that this command gives a job. It has no option.
pub const RUN: &str = "MPITRACE_RUN";

/// The variable that silences the tracer.
pub const VERBOSE: &str = "MPITRACE_VERBOSE";

/// The variable that allows stacks to be taken, or forbids it.
pub const STACKS: &str = "MPITRACE_STACKS";

/// The variable of the time after which a rank says that it is stuck.
pub const STUCK: &str = "MPITRACE_STUCK";

/// The variable of the samples a second.
pub const SAMPLE: &str = "MPITRACE_SAMPLE";

/// The variable that asks for the processes on the ranks' processors.
pub const PROCESSES: &str = "MPITRACE_PROCESSES";

/// All settings that have an option, in the order of help. docs/launching.md lists the same.
#[rustfmt::skip]
static SETTINGS: [Setting; 5] = [
    Setting { variable: OUTPUT, option: "output", short: Some('o'), value: Value::Text("FILE"),
        help: "The trace to write; %h host, %p process of rank 0, %j job, %s step, %a array index, %r restarts, %t start time, %d date, %u user, %x program" },
    Setting { variable: "MPITRACE_EVENTS", option: "events", short: Some('e'), value: Value::Text("EVENTS"),
        help: "Counters to read with each call, comma separated: instructions,cache-misses,..." },
    Setting { variable: "MPITRACE_CLOCKSYNC", option: "clock", short: None, value: Value::Checked("METHOD", clock),
        help: "How clocks are synchronised, with parameters after commas: hca3,fit_points=500" },
    Setting { variable: SAMPLE, option: "sample", short: None, value: Value::Checked("HZ", samples),
        help: "Sample the stacks of the ranks on this node HZ times per second of processor time, into FILE.observed" },
    Setting { variable: VERBOSE, option: "verbose", short: None, value: Value::OneOf("N", &["0", "1", "2"]),
        help: "0: the tracer is silent; 1: one line at the end; 2: more" },
];

fn clock(text: &str) -> Result<String, String> {
    let parsed = Synchronisation::parse(text).map(|_| text.to_owned());
    parsed.ok_or_else(|| format!("expected {}", Synchronisation::expected()))
}

fn samples(text: &str) -> Result<String, String> {
    let (least, most) = sampling::BOUNDS.into_inner();
    match text.trim().parse().is_ok_and(|hz| sampling::BOUNDS.contains(&hz) || hz == 0.0) {
        true => Ok(text.to_owned()),
        false => Err(format!("expected {least} to {most} samples a second, or 0")),
    }
}

impl Setting {
    fn arg(&self) -> Arg {
        let arg = Arg::new(self.variable).long(self.option).help(format!("{} [{}]", self.help, self.variable));
        let arg = self.short.map_or(arg.clone(), |short| arg.short(short));
        match self.value {
            Value::Text(name) => arg.value_name(name).value_parser(value_parser!(OsString)),
            Value::OneOf(name, values) => arg.value_name(name).value_parser(PossibleValuesParser::new(values)),
            Value::Checked(name, check) => arg.value_name(name).value_parser(check),
        }
    }

    /// The value for the variable, where the option is given.
    fn value(&self, matches: &ArgMatches) -> Option<OsString> {
        matches.get_raw(self.variable)?.next().map(OsStr::to_owned)
    }
}

/// The settings that are given as options.
#[derive(Clone, Debug, Default)]
pub struct Settings(Vec<(&'static str, OsString)>);

impl Settings {
    /// Those of a trace with this name, and no others.
    pub fn of_output(path: &Path) -> Settings {
        Settings(vec![(OUTPUT, path.into())])
    }

    /// The value of a variable's option, where it is given.
    pub fn get(&self, variable: &str) -> Option<&OsStr> {
        self.0.iter().find(|(name, _)| *name == variable).map(|(_, value)| value.as_os_str())
    }

    /// The variables and their values.
    pub fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> + '_ {
        self.0.iter().map(|(name, value)| (OsString::from(name), value.clone()))
    }
}

impl Args for Settings {
    fn augment_args(command: Command) -> Command {
        let methods: Vec<String> =
            Method::all().map(|method| format!("{}: {}", method.name(), method.help())).collect();
        let of_clock = format!(
            "How clocks are synchronised: {} [MPITRACE_CLOCKSYNC]\n\n{}",
            Synchronisation::expected(),
            methods.join("\n")
        );
        command.args(SETTINGS.iter().map(Setting::arg)).mut_arg("MPITRACE_CLOCKSYNC", |arg| arg.long_help(of_clock))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Settings::augment_args(command)
    }
}

impl FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Settings, Error> {
        let of = |setting: &Setting| Some((setting.variable, setting.value(matches)?));
        Ok(Settings(SETTINGS.iter().filter_map(of).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Settings::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use clap::{CommandFactory, Parser};

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

    #[test]
    fn every_option_sets_a_variable_of_the_tracer() {
        let of_tracer = variables_of_the_tracer();
        let unknown: Vec<&str> =
            SETTINGS.iter().map(|setting| setting.variable).filter(|variable| !of_tracer.contains(*variable)).collect();
        assert!(unknown.is_empty() && of_tracer.len() > SETTINGS.len(), "{unknown:?} of {of_tracer:?}");
    }

    #[test]
    fn the_documentation_lists_every_option_beside_its_variable() {
        let page = std::fs::read_to_string(root().join("docs/launching.md")).unwrap();
        for Setting { variable, option, short, .. } in &SETTINGS {
            let short = short.map_or_else(String::new, |short| format!("`-{short}`, "));
            let row = format!("| `{variable}` | {short}`--{option}` |");
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
        let found: Vec<(OsString, OsString)> = line.settings.variables().collect();
        assert_eq!(found, expected.map(|(name, value)| (name.into(), value.into())));
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
