//! The name of the trace: the pattern `MPITRACE_OUTPUT` and its `%` signs.

use std::path::{Path, PathBuf};

use crate::boundary::system;
use crate::job::batch::{self, Factor};
use crate::job::metadata;
use crate::job::settings::Settings;

/// `MPITRACE_OUTPUT` with its `%` signs replaced, absolute; `process` is put for `%p`.
pub fn path_of(settings: &Settings, folder: &Path, process: u32) -> PathBuf {
    let mut path = String::new();
    let mut rest = pattern(settings);
    while let Some((before, sign)) = rest.split_once('%') {
        path.push_str(before);
        let value = sign.chars().next().and_then(|sign| value_of(sign, process));
        match value {
            // The signs are one byte long.
            Some(value) => {
                path.push_str(&value.replace('/', "_"));
                rest = &sign[1..];
            }
            None => {
                path.push('%');
                rest = sign;
            }
        }
    }
    path.push_str(rest);
    folder.join(path)
}

/// What a `%` sign is replaced by; `None`: it is none.
fn value_of(sign: char, process: u32) -> Option<String> {
    let factor = |factor| batch::value(factor).unwrap_or_else(|| "0".to_owned());
    Some(match sign {
        'h' => system::host(),
        'p' => process.to_string(),
        'j' => batch::value(Factor::Job).unwrap_or_else(|| process.to_string()),
        's' => factor(Factor::Step),
        'a' => factor(Factor::ArrayIndex),
        'r' => factor(Factor::Restart),
        't' => metadata::local_time(c"%Y%m%d-%H%M%S"),
        '%' => "%".to_owned(),
        _ => return None,
    })
}

/// The folder in which the nodes of a job meet: that of the trace, as far as its name is the same on all ranks, so that
/// of a pattern the part before the first `%` sign counts.
pub fn meeting_folder(settings: &Settings, folder: &Path) -> PathBuf {
    let fixed = pattern(settings).split('%').next().unwrap_or_default();
    let last = fixed.rfind('/').map_or("", |end| &fixed[..=end]);
    folder.join(last)
}

fn pattern(settings: &Settings) -> &str {
    settings.output.as_deref().unwrap_or("mpitrace-%j.mpitrace")
}

/// `a.mpitrace` -> `a.NAME.mpitrace`.
pub fn with_name(path: &Path, name: &str) -> PathBuf {
    let ending = path.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
    path.with_extension(format!("{name}{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(output: &str) -> Settings {
        Settings { output: Some(output.to_owned()), ..Settings::read() }
    }

    #[test]
    fn the_signs_of_an_output_name_are_replaced() {
        assert_eq!(path_of(&settings("a%%b-%p-%x%"), Path::new("/x"), 7), Path::new("/x/a%b-7-%x%"));
        assert_eq!(path_of(&settings("é%é%p"), Path::new("/x"), 7), Path::new("/x/é%é7"));
    }

    #[test]
    fn a_name_goes_before_the_ending() {
        assert_eq!(with_name(Path::new("x/a.b.mpitrace"), "node1"), Path::new("x/a.b.node1.mpitrace"));
        assert_eq!(with_name(Path::new("a"), "rank1"), Path::new("a.rank1"));
    }

    #[test]
    fn the_nodes_meet_where_no_sign_is_replaced() {
        let of = |output| meeting_folder(&settings(output), Path::new("/started"));
        assert_eq!(of("a.mpitrace"), Path::new("/started/"));
        assert_eq!(of("traces/%h/a.mpitrace"), Path::new("/started/traces/"));
        assert_eq!(of("/scratch/%j.mpitrace"), Path::new("/scratch/"));
        assert_eq!(of("/scratch/run-%j/a.mpitrace"), Path::new("/scratch/"));
    }
}
