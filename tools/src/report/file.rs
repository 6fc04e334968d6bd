//! A file appears under its name when it is whole.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Writes a file through `write`, first as `NAME.part`. Nothing is left of one that could not be written to its end.
pub fn whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let part = beside(path);
    let written = (|| -> Result<()> {
        let mut file = BufWriter::with_capacity(1 << 16, create(&part)?);
        write(&mut file)?;
        file.flush()?;
        fs::rename(&part, path)?;
        Ok(())
    })();
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Makes a file under a name that others can guess: nothing that they may have put there is written to. What an earlier
/// run has left is removed.
pub fn create(part: &Path) -> io::Result<File> {
    match fs::remove_file(part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => File::create_new(part),
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().map(OsString::from).unwrap_or_default();
    name.push(".part");
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_have_put_under_the_name_is_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let [path, part, other] = ["page.html", "page.html.part", "other"].map(|name| folder.path().join(name));
        fs::write(&other, b"another file").unwrap();
        for link in [std::os::unix::fs::symlink, |from: &Path, to: &Path| fs::hard_link(from, to)] {
            link(&other, &part).unwrap();
            whole(&path, |file| Ok(file.write_all(b"whole")?)).unwrap();
            assert_eq!(
                (fs::read(&path).unwrap(), fs::read(&other).unwrap()),
                (b"whole".into(), b"another file".into())
            );
        }
    }

    #[test]
    fn a_file_that_is_not_finished_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        whole(&path, |file| Ok(file.write_all(b"whole")?)).unwrap();
        let full = || Err(std::io::Error::from(std::io::ErrorKind::StorageFull).into());
        let error = whole(&path, |file| {
            file.write_all(b"half")?;
            full()
        });
        assert!(format!("{:#}", error.unwrap_err()).starts_with(&format!("cannot write {}: ", path.display())));
        assert_eq!(fs::read(&path).unwrap(), b"whole", "what was there stays");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
