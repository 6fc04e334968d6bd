//! The name of the trace: the pattern `MPITRACE_OUTPUT` and its `%` signs.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
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
pub fn make_folder_of(path: &Path, settings: &Settings, working: &Path) -> io::Result<()> {
    let (folder, fixed) = (path.parent().unwrap_or(path), meeting_folder(settings, working));
    if folder.starts_with(working) && !working.is_dir() || fixed == folder && folder.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(&fixed).and_then(|()| make_below(folder, &fixed))
}

/// Makes a folder whose name has a sign in it. In a folder for all users it is the user's own, and has the user's name:
/// the owner of one that users share can rename what others have there.
fn make_below(folder: &Path, fixed: &Path) -> io::Result<()> {
    let Some(parent) = folder.parent().filter(|_| !fixed.starts_with(folder)) else { return Ok(()) };
    make_below(parent, fixed)?;
    let (mode, refused) = (file::mode_in(Some(parent)), |why: &str| Err(io::Error::other(why)));
    match folder.metadata() {
        Ok(found) if mode == 0o666 || [0, system::user()].contains(&found.uid()) => return Ok(()),
        Ok(_) => return refused("it is another user's"),
        Err(_) if mode != 0o666 && folder.file_name() != Some(OsStr::new(&system::user_name())) => {
            return refused("users share it: the first folder with a sign has to be %u, as in /logs/%u/%d");
        }
        Err(_) => {}
    }
    let made = DirBuilder::new().mode(mode | mode >> 2 & 0o111).create(folder);
    // By another process, maybe, and of another user.
    made.or_else(|error| if folder.is_dir() { make_below(folder, fixed) } else { Err(error) })
}

/// Makes the folder of the trace when the run begins, and says so where that fails: at the end it is too late for
/// another one.
pub fn make_folder(settings: &Settings, folder: &Path) {
    let path = path_of(settings, folder, std::process::id());
    if let Err(error) = make_folder_of(&path, settings, folder) {
        log::failure(&format!(
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
