//! Wrong usage, told in one line like everything else that goes wrong.

use clap::error::{Error, ErrorKind};

/// The error that the parser found, in one line; `None`: there is none, help or the version is asked for.
pub fn wrong(error: &Error) -> Option<String> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return None,
        _ => {}
    }
    let text = error.render().to_string();
    // Behind the message stand, after an empty line each, tips, how the command is used, and where more is to be read.
    let mut parts = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let message = parts.next().unwrap_or_default();
    let tip = parts.find(|part| part.starts_with("tip: ")).map(|tip| format!("; {tip}")).unwrap_or_default();
    Some(format!("{}{tip} (see --help)", message.strip_prefix("error: ").unwrap_or(&message)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, tests::NoBenchmark};
    use clap::Parser;

    #[test]
    fn every_mistake_is_one_line() {
        let cases = [
            ("mpitrace", "'mpitrace' requires a subcommand but one was not provided"),
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
            let told = wrong(&error).unwrap();
            assert!(told.starts_with(expected) && !told.contains('\n'), "{told}");
        }
    }

    #[test]
    fn help_is_no_mistake() {
        for option in ["--help", "--version"] {
            assert_eq!(wrong(&Cli::<NoBenchmark>::try_parse_from(["mpitrace", option]).unwrap_err()), None);
        }
    }
}
