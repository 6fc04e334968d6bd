//! The rows of `dump --json`.

use anyhow::Result;
use mpitrace_show::destination::{Content, Destination};
use mpitrace_show::output::JsonRows;

use super::rows::Calls;

/// The output of `dump --json`.
pub fn export(calls: &Calls, operation: Option<usize>, destination: &mut Destination) -> Result<()> {
    destination.stream(Content::Text, |sink| {
        let mut list = JsonRows::new(sink, "dump")?;
        calls.each(operation.into(), |row| list.push(&row))?;
        list.end()
    })
}
