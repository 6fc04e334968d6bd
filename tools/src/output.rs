//! Where data goes: standard output, buffered, coloured only for a person, and JSON lists that never lie in memory
//! whole.

use std::io::{self, BufWriter, IsTerminal, Write};

use anyhow::Result;
use mpitrace_synchronise::Method;
use serde::{Serialize, Serializer};

/// How text may be decorated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Not at all: a pipe, a file, or NO_COLOR.
    Plain,
    /// With the terminal's attributes.
    Terminal,
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
    /// The text with the attribute, where this style has any.
    pub fn paint(self, attribute: Attribute, text: &str) -> String {
        let code = match attribute {
            Attribute::Bold => 1,
            Attribute::Yellow => 33,
            Attribute::Red => 31,
            Attribute::Magenta => 35,
            Attribute::Cyan => 36,
        };
        match self {
            Style::Plain => text.to_owned(),
            Style::Terminal => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// Standard output; in tests a file in its place.
pub struct Output {
    writer: BufWriter<Box<dyn Write + Send>>,
    /// How text may be decorated.
    pub style: Style,
}

impl Output {
    /// The process' standard output.
    pub fn stdout() -> Self {
        let stdout = io::stdout();
        // https://no-color.org: any value but the empty one.
        let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
        let style = if stdout.is_terminal() && !forbidden && !dumb { Style::Terminal } else { Style::Plain };
        Output { writer: BufWriter::with_capacity(1 << 16, Box::new(stdout)), style }
    }

    /// A file in its place.
    #[cfg(test)]
    pub fn file(file: std::fs::File) -> Self {
        Output { writer: BufWriter::new(Box::new(file)), style: Style::Plain }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
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
pub fn json<T: Serialize>(output: &mut dyn Write, form: &str, value: &T) -> Result<()> {
    serde_json::to_writer_pretty(&mut *output, &Envelope { schema: schema(form), value })?;
    writeln!(output)?;
    Ok(())
}

/// The same as text in one line.
#[cfg(feature = "arrow")]
pub fn json_text<T: Serialize>(form: &str, value: &T) -> Result<String> {
    Ok(serde_json::to_string(&Envelope { schema: schema(form), value })?)
}

/// A method of synchronisation by its name.
pub fn method_name<S: Serializer>(method: &Method, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(method.name())
}

/// A list as JSON: an object with its schema and the list as `rows`, a line each. `form` is as of [`json`].
pub fn json_rows<T: Serialize>(
    output: &mut dyn Write,
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
    pub fn new(output: &'a mut dyn Write, form: &str) -> Result<Self> {
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
