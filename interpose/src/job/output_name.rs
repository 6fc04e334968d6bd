//! The name of the trace: the pattern `MPITRACE_OUTPUT` and its `%` signs.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use mpitrace_format::file;

use crate::base::batch::{self, Factor};
use crate::base::{log, system};
use crate::job::settings::Settings;

/// `MPITRACE_OUTPUT` with its `%` signs replaced, absolute; `process` is put for `%p`.
pub fn path_of(settings: &Settings, folder: &Path, process: u32) -> PathBuf {
    folder.join(file::filled(OsStr::from_bytes(pattern(settings)), |sign| value_of(sign, settings, process)))
}

/// Makes the folder of a file, and those that it lies in, where they are not there; but not the working directory,
/// which the program may have removed.
///
/// A folder whose name has a sign in it may be that of other users too: in one for all users it becomes one for all.
pub fn make_folder_of(path: &Path, settings: &Settings, working: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let removed = || folder.starts_with(working) && !working.is_dir();
    if folder.is_dir() || removed() {
        return Ok(());
    }
    let pattern = Path::new(OsStr::from_bytes(pattern(settings)));
    let has_sign = pattern.parent().is_some_and(|folder| folder.as_os_str().as_bytes().contains(&b'%'));
    if has_sign { make_shared(folder) } else { std::fs::create_dir_all(folder) }
}

fn make_shared(folder: &Path) -> io::Result<()> {
    let Some(parent) = folder.parent() else { return Ok(()) };
    if !parent.is_dir() {
        make_shared(parent)?;
    }
    match std::fs::create_dir(folder) {
        // By another user, maybe.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.and_then(|()| match file::mode_for_all(parent) {
            Some(mode) => std::fs::set_permissions(folder, mode),
            None => Ok(()),
        }),
    }
}

/// Makes the folder of the trace when the run begins, and says so where that fails: at the end it is too late for
/// another one.
pub fn make_folder(settings: &Settings, folder: &Path) {
    let path = path_of(settings, folder, std::process::id());
    if let Err(error) = make_folder_of(&path, settings, folder) {
        log::line(&format!(
            "cannot make the folder {}: {error}; no trace can be written: set MPITRACE_OUTPUT to a file in another folder",
            path.parent().unwrap_or(&path).display()
        ));
    }
}

/// The file beside the trace that blocks of this process are written to where the segment's folder takes none. No other
/// process has the name.
pub fn block_file(settings: &Settings, folder: &Path, rank: u32) -> PathBuf {
    let process = std::process::id();
    let mut path = path_of(settings, folder, process).into_os_string();
    path.push(format!(".{}-{process}.rank{rank}.blocks", system::host().replace('/', "_")));
    path.into()
}

/// The replacement of a `%` sign; `None`: it is none.
fn value_of(sign: u8, settings: &Settings, process: u32) -> Option<String> {
    let factor = |factor| batch::value(factor).unwrap_or_else(|| "0".to_owned());
    Some(match sign {
        b'h' => system::host(),
        b'p' => process.to_string(),
        b'j' => batch::value(Factor::Job).unwrap_or_else(|| process.to_string()),
        b's' => factor(Factor::Step),
        b'a' => factor(Factor::ArrayIndex),
        b'r' => factor(Factor::Restart),
        b't' => system::local_time(settings.started, c"%Y%m%d-%H%M%S"),
        b'd' => system::local_time(settings.started, c"%Y%m%d"),
        b'u' => system::user_name(),
        b'x' => Path::new(&std::env::args_os().next()?).file_name()?.to_string_lossy().into_owned(),
        b'%' => "%".to_owned(),
        _ => return None,
    })
}

/// The folder in which the nodes of a job meet: that of the trace, as far as its name is the same on all ranks, so that
/// of a pattern the part before the first `%` sign counts.
pub fn meeting_folder(settings: &Settings, folder: &Path) -> PathBuf {
    let fixed = pattern(settings).split(|&byte| byte == b'%').next().unwrap_or_default();
    let last = fixed.iter().rposition(|&byte| byte == b'/').map_or(&[][..], |end| &fixed[..=end]);
    folder.join(OsStr::from_bytes(last))
}

fn pattern(settings: &Settings) -> &[u8] {
    settings.output.as_ref().map_or(b"mpitrace-%j.mpitrace", |pattern| pattern.as_bytes())
}

/// `a.mpitrace` -> `a.NAME.mpitrace`.
pub fn with_name(path: &Path, name: &str) -> PathBuf {
    let mut ending = OsString::from(name);
    if let Some(extension) = path.extension() {
        ending.push(".");
        ending.push(extension);
    }
    path.with_extension(ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    fn settings(output: &str) -> Settings {
        Settings { output: Some(output.into()), ..Settings::read() }
    }

    #[test]
    fn the_signs_of_an_output_name_are_replaced() {
        assert_eq!(path_of(&settings("a%%b-%p-%y%"), Path::new("/x"), 7), Path::new("/x/a%b-7-%y%"));
        assert_eq!(path_of(&settings("é%é%p"), Path::new("/x"), 7), Path::new("/x/é%é7"));
        let odd = Settings { output: Some(OsString::from_vec(b"%\xff%p\xfe".to_vec())), ..Settings::read() };
        assert_eq!(path_of(&odd, Path::new("/x"), 7).as_os_str().as_bytes(), b"/x/%\xff7\xfe");
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
