//! Wrong usage, told in one line like everything else that goes wrong.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;
use clap::error::{Error, ErrorKind};

/// The error that the parser found, in one line; `None`: there is none, help or the version is asked for.
pub fn wrong(program: &Command, error: &Error) -> Option<String> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return None;
        }
        _ => {}
    }
    let text = error.render().to_string();
    // Behind the message stand, after an empty line each, tips, how the command is used, and where more is to be read.
    let mut parts = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let message = parts.next().unwrap_or_default();
    let names_hidden = |text: &String| {
        let hidden = program.get_subcommands().filter(|command| command.is_hide_set());
        hidden.into_iter().any(|command| text.contains(&format!("'{}'", command.get_name())))
    };
    let tip = parts.find(|part| part.starts_with("tip: ")).filter(|tip| !names_hidden(tip));
    let tip = tip.map(|tip| format!("; {tip}")).unwrap_or_default();
    Some(format!("{}{tip} (see --help)", message.strip_prefix("error: ").unwrap_or(&message)))
}

/// The command line with `summary` before a trace that it names without a command.
pub fn with_command(program: &Command, mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_trace = |word: &OsString| {
        let path = Path::new(word);
        program.find_subcommand(word).is_none()
            && (path.extension().is_some_and(|ending| ending == "mpitrace") || path.is_file())
    };
    if arguments.get(1).is_some_and(is_trace) {
        arguments.insert(1, "summary".into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, tests::NoBenchmark};
    use clap::{CommandFactory, Parser};

    #[test]
    fn every_mistake_is_one_line() {
        let cases = [
            ("mpitrace no-such", "unrecognized subcommand 'no-such'"),
            ("mpitrace info", "the following required arguments were not provided: <FILE>..."),
            ("mpitrace info --no-such x", "unexpected argument '--no-such' found"),
            ("mpitrace dump x --operation first", "invalid value 'first' for '--operation <N>'"),
            (
                "mpitrace dump x --limi 3",
                "unexpected argument '--limi' found; tip: a similar argument exists: '--limit'",
            ),
            ("mpitrace dump x --csv --json", "the argument '--csv' cannot be used with '--json'"),
            (
                "mpitrace categorize x --method guess",
                "invalid value 'guess' for '--method <METHOD>' [possible values: robust, roth]",
            ),
        ];
        for (line, expected) in cases {
            let error = Cli::<NoBenchmark>::try_parse_from(line.split(' ')).unwrap_err();
            let told = wrong(&Cli::<NoBenchmark>::command(), &error).unwrap();
            assert!(told.starts_with(expected) && !told.contains('\n'), "{told}");
        }
    }

    #[test]
    fn hidden_commands_are_not_named() {
        for line in ["mpitrace watch-nod", "mpitrace probe", "mpitrace mann", "mpitrace benchmarks"] {
            let told = wrong(
                &Cli::<NoBenchmark>::command(),
                &Cli::<NoBenchmark>::try_parse_from(line.split(' ')).unwrap_err(),
            )
            .unwrap();
            assert!(!["watch-node", "probe-mpi", "'man'"].iter().any(|hidden| told.contains(hidden)), "{told}");
        }
    }

    #[test]
    fn a_trace_alone_is_summed_up() {
        let program = Cli::<NoBenchmark>::command();
        let with = |words: &[&str]| with_command(&program, words.iter().map(OsString::from).collect());
        assert_eq!(with(&["mpitrace", "a.mpitrace", "--json"]), ["mpitrace", "summary", "a.mpitrace", "--json"]);
        assert_eq!(with(&["mpitrace", "info", "a.mpitrace"]), ["mpitrace", "info", "a.mpitrace"]);
        assert_eq!(with(&["mpitrace", "no-such"]), ["mpitrace", "no-such"]);
    }

    #[test]
    fn help_is_no_mistake() {
        for words in [&["mpitrace"][..], &["mpitrace", "--help"], &["mpitrace", "--version"]] {
            assert_eq!(
                wrong(&Cli::<NoBenchmark>::command(), &Cli::<NoBenchmark>::try_parse_from(words).unwrap_err()),
                None
            );
        }
    }
}
