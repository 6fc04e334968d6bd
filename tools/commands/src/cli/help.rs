//! `--help` on one screen.

use std::ffi::OsString;

use clap::Command;
use clap::error::Error;

/// Lines that a page of help has at most: as many as a tall terminal shows.
const MOST: usize = 60;

/// The page in place of one that the parser has made too long: each option in the words of `-h`, below the whole
/// description of the command. `None`: that page fits.
pub fn shorter(mut program: Command, error: &Error, arguments: &[OsString]) -> Option<String> {
    if error.render().to_string().lines().count() <= MOST {
        return None;
    }
    program.build();
    let mut command = &mut program;
    let words = arguments.iter().skip(1).filter_map(|word| word.to_str());
    for word in words.filter(|word| *word != "help") {
        if command.find_subcommand(word).is_some() {
            command = command.find_subcommand_mut(word)?;
        }
    }
    let whole = command.get_long_about().or_else(|| command.get_about()).cloned().unwrap_or_default();
    let page = command.clone().about(whole).render_help().to_string();
    let page = page.replace(" (see more with '--help')", "");
    Some(format!("{}\n\nThe manual page ({}) describes each value.\n", page.trim_end(), manual(command)))
}

/// The name of its manual page.
fn manual(command: &Command) -> String {
    command.get_bin_name().unwrap_or_else(|| command.get_name()).replace(' ', "-")
}
