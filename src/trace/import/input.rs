//! A text file, compressed with gzip or not.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use mpitrace_format::layout::FILE_MAGIC;

use super::ForeignError;

/// The first bytes of a gzip file (RFC 1952, 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The byte order mark, in UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();
/// Bytes read at once.
const BLOCK: usize = 1 << 18;

/// Opens a text. What is compressed is told by its first bytes, not by its name.
fn open(path: &Path) -> Result<Box<dyn BufRead>, ForeignError> {
    // Not blocking: a pipe without a writer would hold us here.
    let opened = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = opened.map_err(|error| ForeignError::io(path, &error))?;
    let metadata = file.metadata().map_err(|error| ForeignError::io(path, &error))?;
    if !metadata.is_file() {
        return Err(ForeignError::unusable(path, "is not a file"));
    }
    let mut reader = BufReader::with_capacity(BLOCK, file);
    let first = reader.fill_buf().map_err(|error| ForeignError::io(path, &error))?;
    if first.starts_with(&FILE_MAGIC) {
        return Err(ForeignError::unusable(path, "is a trace: it is read without --from"));
    }
    let zipped = first.starts_with(&GZIP);
    let mut reader: Box<dyn BufRead> = match zipped {
        true => Box::new(BufReader::with_capacity(BLOCK, MultiGzDecoder::new(reader))),
        false => Box::new(reader),
    };
    let first = reader.fill_buf().map_err(|error| reading_error(path, error))?;
    if first.is_empty() {
        return Err(ForeignError::unusable(path, "is empty"));
    }
    // As spreadsheets begin a text.
    let mark = if first.starts_with(MARK) { MARK.len() } else { 0 };
    reader.consume(mark);
    Ok(reader)
}

/// An error while reading: of the file, or of what is compressed in it.
fn reading_error(path: &Path, error: std::io::Error) -> ForeignError {
    use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    match error.kind() {
        InvalidData | InvalidInput | UnexpectedEof => {
            ForeignError::unusable(path, format!("is damaged, or was cut short, as a gzip file ({error})"))
        }
        _ => ForeignError::io(path, &error),
    }
}

/// The lines of a text, with their numbers from 1, that are not blank.
pub(super) struct Lines<'p> {
    path: &'p Path,
    reader: Box<dyn BufRead>,
    bytes: Vec<u8>,
    number: u64,
}

/// No line of a table is longer, bytes; what is longer is another kind of file.
const LONGEST_LINE: u64 = 1 << 20;

impl<'p> Lines<'p> {
    pub(super) fn open(path: &'p Path) -> Result<Lines<'p>, ForeignError> {
        Ok(Lines { path, reader: open(path)?, bytes: Vec::new(), number: 0 })
    }

    pub(super) fn next(&mut self) -> Result<Option<(u64, &str)>, ForeignError> {
        loop {
            self.bytes.clear();
            let mut limited = self.reader.by_ref().take(LONGEST_LINE);
            let read = limited.read_until(b'\n', &mut self.bytes);
            self.number += 1;
            match read.map_err(|error| reading_error(self.path, error))? as u64 {
                0 => return Ok(None),
                LONGEST_LINE => return Err(ForeignError::line(self.path, self.number, "the line is too long")),
                _ if self.bytes.trim_ascii().is_empty() => {}
                _ => break,
            }
        }
        match std::str::from_utf8(self.bytes.trim_ascii()) {
            Ok(line) => Ok(Some((self.number, line))),
            Err(_) => Err(ForeignError::line(self.path, self.number, "is not text (UTF-8)")),
        }
    }
}
