//! Where an export goes: standard output, a file or a folder, and never half of it under the final name.
//!
//! Output lies beside the destination as `OUT.part` and gets its name when it is whole and safe on the disk.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::output::{DataSink, Output};

/// The output of a format.
pub type Sink<'a> = dyn Write + Send + 'a;

/// The place that an output goes to: standard output, a file, a device or a folder.
pub struct Destination<'o> {
    place: Target,
    stdout: &'o mut Output,
}

enum Target {
    Stdout,
    /// A file, or what is to become one.
    File(PathBuf),
    /// A device or a named pipe, which has its name already.
    Device(PathBuf),
    /// A folder that is there, or whose name ends in a slash.
    Folder(PathBuf),
}

/// The content of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Lines for anybody: compressed where the name ends in `.gz`.
    Text,
    /// Bytes that readers know compressed as well.
    Binary,
    /// Bytes that are compressed within.
    Compressed,
}

impl<'o> Destination<'o> {
    /// The destination called `out`, which may be none of the files that are read.
    pub fn new(out: &Path, stdout: &'o mut Output, inputs: &[PathBuf]) -> Result<Destination<'o>> {
        if out.as_os_str() == "-" {
            return Ok(Destination { place: Target::Stdout, stdout });
        }
        ensure!(!out.as_os_str().is_empty(), "-o is empty");
        let place = match fs::metadata(out) {
            Ok(there) if there.is_dir() => Target::Folder(out.to_owned()),
            Ok(there) if !there.is_file() => Target::Device(out.to_owned()),
            Ok(there) => {
                let same = |input: &PathBuf| {
                    fs::metadata(input).is_ok_and(|input| (input.dev(), input.ino()) == (there.dev(), there.ino()))
                };
                ensure!(!inputs.iter().any(same), "{}: is the trace itself; name another file", out.display());
                // What a link leads to is replaced, not the link.
                Target::File(fs::canonicalize(out).with_context(|| out.display().to_string())?)
            }
            Err(_) if out.as_os_str().as_encoded_bytes().ends_with(b"/") => Target::Folder(out.to_owned()),
            Err(_) => Target::File(out.to_owned()),
        };
        Ok(Destination { place, stdout })
    }

    /// True if it is a folder, which several files go to.
    pub fn is_folder(&self) -> bool {
        matches!(self.place, Target::Folder(_))
    }

    /// True if it is a pipe, or anything else that cannot be found again by a name of its own.
    pub fn is_pipe(&self) -> bool {
        matches!(self.place, Target::Stdout | Target::Device(_))
    }

    /// The path, as messages name it; `-` for standard output.
    pub fn path(&self) -> &Path {
        match &self.place {
            Target::Stdout => Path::new("-"),
            Target::File(path) | Target::Device(path) | Target::Folder(path) => path,
        }
    }

    /// One stream.
    ///
    /// # Errors
    /// It is a folder; it is a terminal and the content no text; it cannot be written.
    pub fn stream(&mut self, content: Content, write: impl FnOnce(&mut Sink) -> Result<()>) -> Result<()> {
        match &self.place {
            Target::Stdout => {
                let terminal = io::stdout().is_terminal();
                ensure!(!terminal || content == Content::Text, "this format is not for a terminal: -o FILE, or a pipe");
                self.stdout.data();
                let mut watched = Watched { inner: &mut *self.stdout, failed: None };
                let written = write(&mut watched);
                watched.failed.map_or(written, |failed| Err(failed.into()))
            }
            Target::Device(path) => {
                let device = File::options().write(true).open(path);
                let file = device.with_context(|| format!("cannot write {}", path.display()))?;
                write_all(file, path, content, write).map(drop)
            }
            Target::File(path) => write_file(path, content, write),
            Target::Folder(path) => bail!("{}: is a folder, and this format makes one file", path.display()),
        }
    }

    /// A file within the folder, which is made where it is missing. What else lies there stays.
    pub fn member(&self, name: &str, content: Content, write: impl FnOnce(&mut Sink) -> Result<()>) -> Result<()> {
        let folder = self.path();
        fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        write_file(&folder.join(name), content, write)
    }

    /// A folder of the format's own: `write` fills it under another name.
    ///
    /// # Errors
    /// There is something under its name, or under `OUT.part`; it is no folder; it cannot be written.
    pub fn folder(&self, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let path = match &self.place {
            Target::Folder(path) => path,
            Target::File(path) if !path.exists() => path,
            Target::File(path) => bail!("{}: is a file, and this format makes a folder", path.display()),
            _ => bail!("this format makes a folder and cannot go into a pipe: -o FOLDER"),
        };
        let empty = fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none());
        ensure!(empty, "{}: is not empty; name a new folder", path.display());
        let part = beside(path);
        ensure!(!part.exists(), "{}: is left of an interrupted export; remove it", part.display());
        let fail = || format!("cannot write {}", path.display());
        fs::create_dir(&part).with_context(fail)?;
        let written = write(&part).and_then(|()| fs::rename(&part, path).with_context(fail));
        if written.is_err() {
            let _ = fs::remove_dir_all(&part);
        }
        written
    }
}

/// A file under its final name, or nothing.
pub fn write_file(path: &Path, content: Content, write: impl FnOnce(&mut Sink) -> Result<()>) -> Result<()> {
    let part = beside(path);
    let fail = || format!("cannot write {}", path.display());
    let file = create(&part).with_context(fail)?;
    let written = write_all(file, path, content, write).and_then(|file| {
        // Some file systems tell only here that they are full.
        file.sync_all().with_context(fail)?;
        fs::rename(&part, path).with_context(fail)
    });
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

/// Makes a file under a name that others can guess: nothing that they may have put there is written to. What an earlier
/// run has left is removed.
fn create(part: &Path) -> io::Result<File> {
    match fs::remove_file(part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => File::create_new(part),
    }
}

fn write_all(file: File, path: &Path, content: Content, write: impl FnOnce(&mut Sink) -> Result<()>) -> Result<File> {
    let compress = path.extension().is_some_and(|ending| ending == "gz");
    ensure!(
        !compress || content != Content::Compressed,
        "{}: this format is compressed already: use a name without .gz",
        path.display()
    );
    let mut watched = Watched { inner: BufWriter::with_capacity(1 << 18, file), failed: None };
    let mut result = if compress {
        let mut encoder = GzEncoder::new(&mut watched, Compression::default());
        write(&mut encoder).and_then(|()| Ok(encoder.finish().map(drop)?))
    } else {
        write(&mut watched)
    };
    if result.is_ok() {
        result = watched.flush().map_err(anyhow::Error::from);
    }
    let fail = || format!("cannot write {}", path.display());
    match (watched.failed, result) {
        // Not what a library between made of it.
        (Some(failed), _) => Err(failed).with_context(fail),
        (None, Err(error)) => Err(error),
        (None, Ok(())) => watched.inner.into_inner().map_err(io::IntoInnerError::into_error).with_context(fail),
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.components().collect::<PathBuf>().into_os_string();
    name.push(".part");
    name.into()
}

/// Keeps the first error, as the system gave it.
struct Watched<W> {
    inner: W,
    failed: Option<io::Error>,
}

impl<W: Write> Watched<W> {
    fn watch<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() != io::ErrorKind::Interrupted
        {
            let copy = || error.raw_os_error().map_or(error.kind().into(), io::Error::from_raw_os_error);
            self.failed.get_or_insert_with(copy);
        }
        result
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(bytes);
        self.watch(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.watch(result)
    }
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
            write_file(&path, Content::Text, |file| Ok(file.write_all(b"whole")?)).unwrap();
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
        write_file(&path, Content::Text, |file| Ok(file.write_all(b"whole")?)).unwrap();
        let error = write_file(&path, Content::Text, |file| {
            file.write_all(b"half")?;
            bail!("no more")
        });
        assert_eq!(error.unwrap_err().to_string(), "no more");
        // The file is full, and a library between says less of it.
        let full = Path::new("/dev/full");
        let error = write_all(File::options().write(true).open(full).unwrap(), full, Content::Binary, |file| {
            file.write_all(&[0; 1 << 19]).map_err(|_| anyhow::anyhow!("no more"))
        });
        let expected = format!("cannot write /dev/full: {}", io::Error::from_raw_os_error(libc::ENOSPC));
        assert_eq!(format!("{:#}", error.unwrap_err()), expected);
        assert_eq!(fs::read(&path).unwrap(), b"whole", "what was there stays");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
