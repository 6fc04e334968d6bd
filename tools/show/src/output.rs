//! Where data goes: standard output, buffered, coloured only for a person, and JSON lists that never lie in memory
//! whole.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;

use anyhow::Result;
use mpitrace_synchronise::Method;
use serde::{Serialize, Serializer};

use crate::text;

/// The width of what is no terminal, unless COLUMNS states one.
const UNKNOWN_WIDTH: usize = 100;

/// How a page is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// With a terminal's attributes; not in a pipe or a file, nor under NO_COLOR.
    pub attributes: bool,
    /// Columns.
    pub width: usize,
}

/// The attributes in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// Titles.
    Bold,
    /// Out of the ordinary.
    Yellow,
    /// Wrong.
    Red,
    /// A first repetition.
    Magenta,
    /// A good repetition.
    Cyan,
}

impl Style {
    /// Without attributes, of the width of what is no terminal.
    pub const PLAIN: Style = Style { attributes: false, width: UNKNOWN_WIDTH };

    /// As suits a stream of this process.
    pub fn for_stream(stream: &(impl IsTerminal + AsFd)) -> Style {
        let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let terminal = stream.is_terminal().then(|| terminal_size::terminal_size_of(stream)).flatten();
        let width = terminal.map(|(width, _)| width.0.into());
        let stated = || variable("COLUMNS")?.parse().ok();
        // https://no-color.org: any value but the empty one.
        let is_dumb = variable("TERM").is_none_or(|terminal| terminal == "dumb");
        Style {
            attributes: stream.is_terminal() && variable("NO_COLOR").is_none() && !is_dumb,
            width: width.or_else(stated).filter(|&width| width > 0).unwrap_or(UNKNOWN_WIDTH),
        }
    }

    /// True if all is to be printed, however much.
    pub fn is_wide(self) -> bool {
        self.width == usize::MAX
    }

    /// The text with the attribute, where this style has any.
    pub fn paint(self, attribute: Attribute, text: &str) -> String {
        let code = match attribute {
            Attribute::Bold => 1,
            Attribute::Yellow => 33,
            Attribute::Red => 31,
            Attribute::Magenta => 35,
            Attribute::Cyan => 36,
        };
        if self.attributes { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Standard output; in tests a file in its place. Lines of a page that are too wide are wrapped.
pub struct Output {
    writer: BufWriter<Box<dyn Write + Send>>,
    /// The line of a page that has not ended.
    line: Vec<u8>,
    is_data: bool,
    /// How pages are written.
    pub style: Style,
}

impl Output {
    fn new(writer: Box<dyn Write + Send>, style: Style) -> Output {
        Output { writer: BufWriter::with_capacity(1 << 16, writer), line: Vec::new(), is_data: false, style }
    }

    /// The process' standard output.
    pub fn stdout() -> Self {
        let stdout = io::stdout();
        let style = Style::for_stream(&stdout);
        Output::new(Box::new(stdout), style)
    }

    /// A file in its place.
    pub fn file(file: std::fs::File) -> Self {
        Output::new(Box::new(file), Style::PLAIN)
    }

    /// Writes all columns and rows of pages, however wide.
    pub fn widen(&mut self) {
        self.style.width = usize::MAX;
    }
}

/// A place for data, as JSON and CSV, whose lines stay as they are.
pub trait DataSink {
    /// The sink, for all that is written from now on.
    fn data(&mut self) -> &mut dyn Write;
}

impl DataSink for Output {
    fn data(&mut self) -> &mut dyn Write {
        self.is_data = true;
        self
    }
}

macro_rules! always_data {
    ($($sink:ty),*) => { $(
        impl DataSink for $sink {
            fn data(&mut self) -> &mut dyn Write {
                self
            }
        }
    )* };
}

always_data! { Vec<u8>, std::process::ChildStdin, dyn Write + Send + '_ }

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_data {
            return self.writer.write(bytes);
        }
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end_line()?;
        self.writer.flush()
    }
}

impl Output {
    fn end_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let is_long = line.len() > self.style.width;
        let text = if is_long { std::str::from_utf8(&line).ok() } else { None };
        let too_wide = text.filter(|line| text::columns(line.trim_end()) > self.style.width);
        match too_wide {
            // It is copied into a shell.
            Some(line) if !line.starts_with("Next: ") => text::wrapped(line.trim_end(), self.style.width)
                .iter()
                .try_for_each(|line| writeln!(self.writer, "{line}"))?,
            _ => self.writer.write_all(&line)?,
        }
        self.line = line;
        self.line.clear();
        Ok(())
    }
}

/// True if writing failed since the reader has gone.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let kind = match cause.downcast_ref::<io::Error>() {
            Some(error) => Some(error.kind()),
            None => cause.downcast_ref::<serde_json::Error>().and_then(|error| error.io_error_kind()),
        };
        kind == Some(io::ErrorKind::BrokenPipe)
    })
}

/// The envelope of every JSON output: the schema of its keys, and the keys of a value.
#[derive(Serialize)]
struct Envelope<'v, T> {
    schema: String,
    #[serde(flatten)]
    value: &'v T,
}

/// The version of a form counts the changes of its keys by which a reader of the form before would fail.
fn schema(form: &str) -> String {
    format!("mpitrace/{form}/1")
}

/// One value as indented JSON: an object with the value's keys and its schema. `form` is the command's name, and of a
/// command with several outputs also that of the output: `info`, `watch-list`.
pub fn json<T: Serialize>(output: &mut (impl DataSink + ?Sized), form: &str, value: &T) -> Result<()> {
    let output = output.data();
    serde_json::to_writer_pretty(&mut *output, &Envelope { schema: schema(form), value })?;
    writeln!(output)?;
    Ok(())
}

/// A result as one line of JSON.
pub fn json_text<T: Serialize>(form: &str, value: &T) -> Result<String> {
    Ok(serde_json::to_string(&Envelope { schema: schema(form), value })?)
}

/// A method of synchronisation by its name.
pub fn method_name<S: Serializer>(method: &Method, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(method.name())
}

/// A list as JSON: an object with its schema and the list as `rows`, a line each. `form` is as of [`json`].
pub fn json_rows<T: Serialize>(
    output: &mut (impl DataSink + ?Sized),
    form: &str,
    mut rows: impl Iterator<Item = Result<T>>,
) -> Result<()> {
    let mut written = JsonRows::new(output, form)?;
    rows.try_for_each(|row| written.push(&row?))?;
    written.end()
}

/// The rows of such a list, written one by one.
pub struct JsonRows<'a> {
    output: &'a mut dyn Write,
    empty: bool,
}

impl<'a> JsonRows<'a> {
    /// Opens the list.
    pub fn new(output: &'a mut (impl DataSink + ?Sized), form: &str) -> Result<Self> {
        let output = output.data();
        write!(output, "{{\"schema\":\"{}\",\"rows\":[", schema(form))?;
        Ok(JsonRows { output, empty: true })
    }

    /// Adds a row.
    pub fn push<T: Serialize>(&mut self, row: &T) -> Result<()> {
        self.output.write_all(if self.empty { b"\n" } else { b",\n" })?;
        self.empty = false;
        serde_json::to_writer(&mut *self.output, row)?;
        Ok(())
    }

    /// Closes the list.
    pub fn end(self) -> Result<()> {
        writeln!(self.output, "{}]}}", if self.empty { "" } else { "\n" })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_any_length_is_valid() {
        for length in 0..3 {
            let mut bytes = Vec::new();
            json_rows(&mut bytes, "dump", (0..length).map(Ok)).unwrap();
            let read: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            let rows: Vec<i32> = (0..length).collect();
            assert_eq!(read, serde_json::json!({"schema": "mpitrace/dump/1", "rows": rows}));
        }
    }

    #[test]
    fn an_object_has_its_schema_beside_its_keys() {
        let mut bytes = Vec::new();
        json(&mut bytes, "clock", &serde_json::json!({"method": "joint"})).unwrap();
        let read: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(read, serde_json::json!({"schema": "mpitrace/clock/1", "method": "joint"}));
    }

    #[test]
    fn a_closed_pipe_is_told_from_other_errors() {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_broken_pipe(&anyhow::Error::from(closed()).context("rows")));
        assert!(is_broken_pipe(&anyhow::Error::from(serde_json::Error::io(closed()))));
        assert!(!is_broken_pipe(&io::Error::from(io::ErrorKind::StorageFull).into()));
    }
}
