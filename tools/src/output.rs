//! Where data goes: standard output, buffered, coloured only for a person, and JSON lists that never lie in memory
//! whole.

use std::io::{self, BufWriter, IsTerminal, Write};

use anyhow::Result;
use serde::Serialize;

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
    /// What is out of the ordinary.
    Yellow,
    /// What is wrong.
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
        let style = match stdout.is_terminal() && !forbidden && !dumb {
            true => Style::Terminal,
            false => Style::Plain,
        };
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

/// Whether writing failed since the reader has gone.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let kind = match cause.downcast_ref::<io::Error>() {
            Some(error) => Some(error.kind()),
            None => cause.downcast_ref::<serde_json::Error>().and_then(|error| error.io_error_kind()),
        };
        kind == Some(io::ErrorKind::BrokenPipe)
    })
}

/// One value as indented JSON.
pub fn json<T: Serialize>(output: &mut dyn Write, value: &T) -> Result<()> {
    serde_json::to_writer_pretty(&mut *output, value)?;
    writeln!(output)?;
    Ok(())
}

/// A JSON list that is written element by element, a line each.
pub struct JsonList<'a> {
    output: &'a mut dyn Write,
    empty: bool,
}

impl<'a> JsonList<'a> {
    /// Opens the list.
    pub fn new(output: &'a mut dyn Write) -> Result<Self> {
        write!(output, "[")?;
        Ok(JsonList { output, empty: true })
    }

    /// Adds an element.
    pub fn push<T: Serialize>(&mut self, element: &T) -> Result<()> {
        self.output.write_all(if self.empty { b"\n" } else { b",\n" })?;
        self.empty = false;
        serde_json::to_writer(&mut *self.output, element)?;
        Ok(())
    }

    /// Closes the list.
    pub fn end(self) -> Result<()> {
        writeln!(self.output, "{}]", if self.empty { "" } else { "\n" })?;
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
            let mut list = JsonList::new(&mut bytes).unwrap();
            (0..length).for_each(|number| list.push(&number).unwrap());
            list.end().unwrap();
            let read: Vec<i32> = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(read, (0..length).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_closed_pipe_is_told_from_other_errors() {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_broken_pipe(&anyhow::Error::from(closed()).context("rows")));
        assert!(is_broken_pipe(&anyhow::Error::from(serde_json::Error::io(closed()))));
        assert!(!is_broken_pipe(&io::Error::from(io::ErrorKind::StorageFull).into()));
    }
}
