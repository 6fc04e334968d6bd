//! The `MPITRACE_` variables of the environment.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::SystemTime;

use mpitrace_format::settings::{is_removed, removed as why_removed};
use mpitrace_format::ticks::Groups;
use mpitrace_platform::time::time_of_day;
use mpitrace_synchronise::{Method, Synchronisation};

use crate::interruptions::watch::means;

#[derive(Debug)]
pub struct Settings {
    pub disabled: bool,
    /// `MPITRACE_OUTPUT` as it was given, with its `%` signs; the name of a file need not be UTF-8.
    pub output: Option<OsString>,
    pub capacity: u64,
    /// `MPITRACE_KEEP=account`: a sample of the repetitions is kept.
    pub is_sample: bool,
    pub output_max: u64,
    pub segment_folder: Option<PathBuf>,
    /// `MPITRACE_JOINT`: the user states that all ranks are traced.
    pub joint: bool,
    pub synchronisation: Synchronisation,
    /// `MPITRACE_RESYNC`, s; 0: only at Init and Finalize.
    pub resync_seconds: f64,
    pub test_clock: Groups,
    pub events: Vec<String>,
    /// `MPITRACE_P2P`: what is known of point-to-point calls.
    pub p2p: PointToPoint,
    pub call_site: bool,
    /// `MPITRACE_CHECK`: each collective is compared with the other ranks' before it is entered.
    pub check: bool,
    /// `MPITRACE_PVARS`: names and patterns.
    pub pvars: Vec<String>,
    /// `MPITRACE_INTERRUPTIONS`: one of [`means`].
    pub interruptions: u8,
    /// `MPITRACE_COMMAND`: the command lines are recorded with their arguments.
    pub has_arguments: bool,
    /// `MPITRACE_ENVIRONMENT`: the variables that are recorded, by their names, or by beginnings of names with a `*`.
    /// `None`: those that steer MPI libraries.
    pub environment: Option<Vec<String>>,
    /// `MPITRACE_STACKS`: other processes of the user may read the stacks.
    pub stacks: bool,
    /// `MPITRACE_RUN`: the number that `mpitrace run` gave the job; 0: none. Not for users.
    pub run: u32,
    pub verbose: u8,
    /// Rank 0's warnings, a line each.
    pub warnings: Vec<String>,
    /// When they were read: the run's start.
    pub started: SystemTime,
}

/// The amount that is recorded of point-to-point calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub enum PointToPoint {
    Off,
    /// Time and partner of those that can wait, between two collectives.
    Sums,
    /// Also a record of each.
    Records,
}

/// The most records that a rank may be asked to keep: the index of a record is 32 bits wide in the companion.
const MOST_RECORDS: u64 = u32::MAX as u64 - 1;

/// `MPITRACE_CAPACITY` with `MPITRACE_KEEP=account`: 24 to 96 KiB, by the columns that are in use.
const SAMPLED: u64 = 1024;

/// `MPITRACE_RESYNC=auto`, s.
const AUTOMATIC_RESYNC: f64 = 10.0;

impl Settings {
    /// Reads the environment. What is unknown or unreadable becomes a warning and the default.
    pub fn read() -> Settings {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.to_string_lossy().into_owned();
            name.starts_with("MPITRACE_").then_some((name, value))
        });
        Settings::from_variables(variables)
    }

    fn from_variables(variables: impl Iterator<Item = (String, OsString)>) -> Settings {
        let mut settings = Settings {
            disabled: false,
            output: None,
            capacity: 0,
            is_sample: false,
            output_max: u64::MAX,
            segment_folder: None,
            joint: false,
            synchronisation: Synchronisation::new(Method::Joint),
            resync_seconds: AUTOMATIC_RESYNC,
            test_clock: Groups::default(),
            events: Vec::new(),
            p2p: PointToPoint::Sums,
            call_site: false,
            check: false,
            pvars: Vec::new(),
            interruptions: means::ANY,
            has_arguments: true,
            environment: None,
            stacks: false,
            run: 0,
            verbose: 1,
            warnings: Vec::new(),
            started: time_of_day(),
        };
        let (mut of_observer, mut capacity) = (false, None);
        for (name, given) in variables.filter(|(_, value)| !value.is_empty()) {
            let value = given.to_string_lossy().into_owned();
            let (text, is_set) = (value.trim(), [("0", false), ("1", true)]);
            let expected = match name.as_str() {
                "MPITRACE_OUTPUT" => set(&mut settings.output, Some(Some(given)), ""),
                "MPITRACE_SEGMENT_DIR" => set(&mut settings.segment_folder, Some(Some(PathBuf::from(given))), ""),
                "MPITRACE_EVENTS" => set(&mut settings.events, Some(list(&value)), ""),
                "MPITRACE_PVARS" => set(&mut settings.pvars, Some(list(&value)), ""),
                "MPITRACE_CLOCKSYNC" => {
                    let parsed = Synchronisation::parse(&value);
                    set(&mut settings.synchronisation, parsed, Synchronisation::expected())
                }
                "MPITRACE_RESYNC" => {
                    let seconds = if text == "auto" { Some(AUTOMATIC_RESYNC) } else { text.parse().ok() };
                    let seconds = seconds.filter(|seconds| *seconds >= 0.0 && seconds.is_finite());
                    set(&mut settings.resync_seconds, seconds, "a number of seconds, 0 or auto")
                }
                // Of the observer of `mpitrace run`.
                "MPITRACE_SAMPLE" | "MPITRACE_PROCESSES" => {
                    of_observer |= text != "0";
                    None
                }
                // Of a benchmark that calls mpitrace_enough.
                "MPITRACE_ENOUGH" => None,
                "MPITRACE_RUN" => set(&mut settings.run, Some(text.parse().unwrap_or(0)), ""),
                "MPITRACE_TEST_CLOCK" => set(
                    &mut settings.test_clock,
                    Groups::parse(&value),
                    "a list such as 1:offset_ns=1.5e9,ppm=37;2-3:offset_ns=-2e9,step_ns=40000@30",
                ),
                "MPITRACE_DISABLE" => set(&mut settings.disabled, chosen(text, &is_set), "0 or 1"),
                "MPITRACE_JOINT" => set(&mut settings.joint, chosen(text, &is_set), "0 or 1"),
                "MPITRACE_STACKS" => set(&mut settings.stacks, chosen(text, &is_set), "0 or 1"),
                "MPITRACE_COMMAND" => set(&mut settings.has_arguments, chosen(text, &is_set), "0 or 1"),
                "MPITRACE_ENVIRONMENT" => {
                    let names = if text == "0" { Vec::new() } else { list(text) };
                    set(&mut settings.environment, Some(Some(names)), "")
                }
                "MPITRACE_P2P" => {
                    let all = [("0", PointToPoint::Off), ("1", PointToPoint::Sums), ("records", PointToPoint::Records)];
                    set(&mut settings.p2p, chosen(text, &all), "0, 1 or records")
                }
                "MPITRACE_CHECK" => set(&mut settings.check, chosen(text, &is_set), "0 or 1"),
                "MPITRACE_CALLSITE" => set(&mut settings.call_site, chosen(text, &is_set), "0 or 1"),
                "MPITRACE_INTERRUPTIONS" => {
                    let all = [("0", means::OFF), ("1", means::ANY), ("page", means::PAGE), ("rseq", means::SEQUENCE)];
                    set(&mut settings.interruptions, chosen(text, &all), "0, 1, page or rseq")
                }
                "MPITRACE_KEEP" => set(
                    &mut settings.is_sample,
                    chosen(text, &[("calls", false), ("account", true)]),
                    "calls or account",
                ),
                "MPITRACE_OUTPUT_MAX" => set(&mut settings.output_max, text.parse().ok(), "a number of bytes"),
                "MPITRACE_VERBOSE" => {
                    set(&mut settings.verbose, chosen(text, &[("0", 0), ("1", 1), ("2", 2)]), "0, 1 or 2")
                }
                "MPITRACE_CAPACITY" => {
                    let records = text.parse().ok().filter(|records| (1..=MOST_RECORDS).contains(records));
                    set(&mut capacity, records.map(Some), "a number of records from 1 to 4294967294")
                }
                // The installation's.
                "MPITRACE_ROOT" | "MPITRACE_LIBRARY" => None,
                removed if is_removed(removed) => {
                    settings.warnings.extend(why_removed(removed, text).map(|why| format!("{removed} {why}")));
                    None
                }
                unknown => {
                    settings.warnings.push(format!("{unknown} is not a setting of mpitrace; it is ignored"));
                    None
                }
            };
            if let Some(expected) = expected {
                settings.warnings.push(format!("{name}={value} is not {expected}; the default is used"));
            }
        }
        if settings.is_sample {
            settings.p2p = if settings.p2p == PointToPoint::Off { PointToPoint::Off } else { PointToPoint::Sums };
        }
        settings.capacity = capacity.unwrap_or(if settings.is_sample { SAMPLED } else { 1 << 20 });
        if of_observer && settings.run == 0 {
            settings.warnings.push("MPITRACE_SAMPLE and MPITRACE_PROCESSES need `mpitrace run`".to_owned());
        }
        settings
    }

    /// The folders to try for the trace buffer, in order.
    pub fn segment_folders(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = self.segment_folder.iter().cloned().collect();
        folders.extend([PathBuf::from("/dev/shm"), std::env::temp_dir()]);
        folders
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// The value of the choice with this name.
fn chosen<T: Copy>(text: &str, choices: &[(&str, T)]) -> Option<T> {
    choices.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice)
}

/// Sets a value where one could be read; else `expected`, as the warning says it.
fn set<T>(place: &mut T, value: Option<T>, expected: &'static str) -> Option<&'static str> {
    match value {
        Some(value) => {
            *place = value;
            None
        }
        None => Some(expected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        Settings::from_variables(variables.iter().map(|(name, value)| (name.to_string(), value.into())))
    }

    #[test]
    fn what_cannot_be_read_is_warned_about_once_and_the_default_stands() {
        let read = settings(&[("MPITRACE_CAPACITY", "many"), ("MPITRACE_COLOUR", "1")]);
        assert_eq!(read.capacity, 1 << 20);
        assert_eq!(
            read.warnings,
            [
                "MPITRACE_CAPACITY=many is not a number of records from 1 to 4294967294; the default is used",
                "MPITRACE_COLOUR is not a setting of mpitrace; it is ignored",
            ]
        );
    }

    #[test]
    fn a_setting_that_was_removed_has_one_warning_with_the_way_out() {
        let read = settings(&[("MPITRACE_FULL", "ring"), ("MPITRACE_STUCK", "60")]);
        let [full, stuck] = &read.warnings[..] else { panic!("{:?}", read.warnings) };
        assert!(full.starts_with("MPITRACE_FULL was removed") && full.contains("MPITRACE_OUTPUT_MAX"), "{full}");
        assert!(stuck.starts_with("MPITRACE_STUCK was removed") && stuck.contains("--stuck"), "{stuck}");
        assert!(settings(&[("MPITRACE_FULL", "spill"), ("MPITRACE_STUCK", "0")]).warnings.is_empty());
    }

    #[test]
    fn of_the_environment_a_list_of_names_is_recorded_or_nothing() {
        let read = |value| settings(&[("MPITRACE_ENVIRONMENT", value)]).environment;
        assert_eq!(read("UCX_TLS, OMP_*"), Some(vec!["UCX_TLS".to_owned(), "OMP_*".to_owned()]));
        assert_eq!((read("0"), read("")), (Some(Vec::new()), None));
        assert!(!settings(&[("MPITRACE_COMMAND", "0")]).has_arguments);
        let refused = settings(&[("MPITRACE_COMMAND", "no")]);
        assert_eq!(refused.warnings, ["MPITRACE_COMMAND=no is not 0 or 1; the default is used"]);
        assert!(refused.has_arguments);
    }

    #[test]
    fn an_empty_variable_and_those_of_the_installation_are_as_good_as_none() {
        let names = ["MPITRACE_ROOT", "MPITRACE_LIBRARY"].map(|name| (name, "/opt/mpitrace"));
        assert!(settings(&[&names[..], &[("MPITRACE_CAPACITY", "")]].concat()).warnings.is_empty());
    }
}
