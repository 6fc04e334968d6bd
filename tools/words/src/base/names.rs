//! The names by which a run is known to people: of its program, of its user, and from its metadata.

use std::ffi::CStr;
use std::path::Path;

use mpitrace_format::metadata::{self, UNKNOWN};
use mpitrace_show::shell;

/// The value of this name, where it is known.
pub fn value_of(known: &[(String, String)], name: &str) -> Option<String> {
    metadata::get(known, name).filter(|value| *value != UNKNOWN && !value.is_empty()).map(str::to_owned)
}

/// The name of the program in a command line: of an interpreter that of its script.
pub fn program(command: &str) -> Option<String> {
    let name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let mut words = command.split_whitespace();
    let first = name(words.next()?);
    let script = words.find(|word| !word.starts_with('-')).filter(|_| first.starts_with("python"));
    Some(script.map_or(first, name))
}

/// The name of a user, or the number of one who has no name.
pub fn user_name(uid: u32) -> String {
    let mut buffer = [0; 4096];
    // SAFETY: passwd is a structure of numbers and pointers, for which zeros are valid.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    // SAFETY: all pointers are to live memory, the buffer's length is that given; `found` is null or `&entry` after it.
    let failed = unsafe { libc::getpwuid_r(uid, &raw mut entry, buffer.as_mut_ptr(), buffer.len(), &raw mut found) };
    if failed != 0 || found.is_null() {
        return uid.to_string();
    }
    // SAFETY: the name is a text that ends in 0 within the buffer, which lives.
    unsafe { CStr::from_ptr(entry.pw_name) }.to_string_lossy().into_owned()
}

/// The path by which a command line in this folder names the file: one word of a shell.
pub fn file_here(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let relative = here.and_then(|here| path.strip_prefix(here).ok());
    shell::quoted(relative.unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn a_program_is_named_by_its_file_or_its_script() {
        let cases = [
            ("/opt/app/bin/solver -n 3", "solver"),
            ("python3 -u /home/x/train.py --fast", "train.py"),
            ("python3", "python3"),
        ];
        for (command, expected) in cases {
            assert_eq!(program(command).as_deref(), Some(expected));
        }
        assert_eq!(program(""), None);
    }
}
