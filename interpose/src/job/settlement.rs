//! Answers that many ranks read alike: symbolic links, which are made once, whole or not at all, and by one rank.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::time::Duration;

use mpitrace_platform::time::{Instant, sleep};

use crate::base::own_file;
use crate::base::ticks;

/// How long a rank waits to read an answer that is known to exist.
const PATIENCE_FOR_AN_ANSWER: Duration = Duration::from_secs(60);

/// Makes the link, if there is none, and reads what it says; and whether it was made here. `None`: it can be neither
/// made nor read. A link of another user than `owner`, if one is given, is none.
///
/// In the folder of the trace a link is never read before one was to be made: a network file system would remember that
/// there is none.
pub fn settle(link: &Path, answer: &str, owner: Option<u32>) -> Option<(String, bool)> {
    if symlink(answer, link).is_ok() {
        return Some((answer.to_owned(), true));
    }
    // A link that is there already has many error numbers: sshfs gives EPERM. So another one is tried.
    let other = link.with_extension(format!("{}-{:x}", std::process::id(), ticks::now()));
    if symlink(answer, &other).is_err() {
        // This folder takes no links, from any rank: there is no answer to wait for.
        return read(link, owner).map(|answer| (answer, false));
    }
    let _ = std::fs::remove_file(other);
    // There is an answer, by which the others act. A network file system may show it late.
    let started = Instant::now();
    loop {
        if let Ok(answer) = std::fs::read_link(link) {
            // All ranks of the node see the same owner, and act without the answer of another user.
            return is_owned(link, owner).then(|| (answer.to_string_lossy().into_owned(), false));
        }
        if started.elapsed() > PATIENCE_FOR_AN_ANSWER {
            return None;
        }
        sleep(Duration::from_millis(10));
    }
}

/// The text of a link. A link of another user than `owner`, if one is given, is none.
pub fn read(link: &Path, owner: Option<u32>) -> Option<String> {
    let answer = std::fs::read_link(link).ok()?;
    is_owned(link, owner).then(|| answer.to_string_lossy().into_owned())
}

fn is_owned(link: &Path, owner: Option<u32>) -> bool {
    owner.is_none() || link.symlink_metadata().ok().map(|found| found.uid()) == owner
}

/// True if the folder of a link has it, found without its name: a network file system would remember that there is
/// none.
pub fn is_listed(link: &Path) -> bool {
    let names = link.parent().and_then(|folder| own_file::names_in(folder).ok()).unwrap_or_default();
    names.iter().any(|name| Some(name.as_os_str()) == link.file_name())
}
