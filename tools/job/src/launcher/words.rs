//! A launcher's command line, word by word.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub command: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    pub note: Option<String>,
}

/// Rewrites what follows the launcher, context by context: a lone `:` divides the programs of one job.
pub(super) fn options(
    command: &[OsString],
    launcher: usize,
    rewrite: impl Fn(&[OsString], bool) -> Vec<OsString>,
) -> Job {
    let mut rewritten = command[..=launcher].to_vec();
    for (number, context) in command[launcher + 1..].split(|word| word == ":").enumerate() {
        if number > 0 {
            rewritten.push(":".into());
        }
        rewritten.extend(rewrite(context, number == 0));
    }
    Job { command: rewritten, environment: Vec::new(), note: None }
}

/// `NAME=VALUE` or `NAME`.
pub(super) fn split(word: &OsStr) -> (OsString, Option<OsString>) {
    let bytes = word.as_bytes();
    match bytes.iter().position(|&byte| byte == b'=') {
        Some(at) => {
            let [name, value] = [&bytes[..at], &bytes[at + 1..]].map(|part| OsStr::from_bytes(part).to_owned());
            (name, Some(value))
        }
        None => (word.to_owned(), None),
    }
}

pub(super) fn assignment(name: &OsStr, value: &OsStr) -> OsString {
    let mut assignment = name.to_owned();
    assignment.push("=");
    assignment.push(value);
    assignment
}
