//! The archive: a Parquet file with the rows of all runs that were seen, those of traces that are gone as well.

use std::collections::BTreeMap;
use std::path::{Path, absolute};

use anyhow::{Context, Result};
use mpitrace_export::parquet;
use mpitrace_show::destination::{Content, write_file};

use super::columns;
use super::row::RunRow;

/// The column with a whole row as JSON, from which it is read again.
const WHOLE: &str = "row";

/// The rows of the archive and these, which replace those of the same traces; the archive has all of them then.
///
/// # Errors
/// A file that is no archive, or that cannot be written: it stays as it was.
pub fn merged(file: &Path, rows: Vec<RunRow>) -> Result<Vec<RunRow>> {
    let mut all: BTreeMap<(String, Option<String>), RunRow> = BTreeMap::new();
    // The file that a trace was in may have another one since.
    let mut add = |row: RunRow| drop(all.insert((row.file.clone(), row.started.clone()), row));
    if file.exists() {
        for text in parquet::read_texts(file, WHOLE)? {
            add(serde_json::from_str(&text).with_context(|| format!("{}: is no archive of jobs", file.display()))?);
        }
    }
    for row in rows {
        let whole = absolute(&row.file).map_or_else(|_| row.file.clone(), |path| path.to_string_lossy().into_owned());
        add(RunRow { file: whole, ..row });
    }
    let rows: Vec<RunRow> = all.into_values().collect();
    let texts = rows.iter().map(serde_json::to_string).collect::<Result<Vec<String>, _>>()?;
    let columns = columns::of_rows(&rows).texts(WHOLE, texts.iter().map(|text| Some(text.as_str())));
    write_file(file, Content::Compressed, |sink| parquet::write(columns, sink))?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::row::tests::row;

    #[test]
    fn rows_stay_when_their_traces_are_gone_and_are_replaced_by_newer_ones() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("jobs.parquet");
        let of = |name: &str, seconds: f64| RunRow { file: format!("/t/{name}"), seconds, ..row() };
        assert_eq!(merged(&file, vec![of("a", 1.0), of("b", 2.0)]).unwrap().len(), 2);
        // b is gone, a was read again, c is new.
        let found = merged(&file, vec![of("a", 3.0), of("c", 4.0)]).unwrap();
        assert_eq!(found, [of("a", 3.0), of("b", 2.0), of("c", 4.0)]);
        assert_eq!(merged(&file, Vec::new()).unwrap(), found);
        let later = RunRow { started: Some("2026-11-23T08:30:00Z".into()), ..of("a", 5.0) };
        assert_eq!(merged(&file, vec![later]).unwrap().len(), 4, "another run in the file of that name");
        // What is no archive is not overwritten.
        std::fs::write(&file, "something else").unwrap();
        assert!(merged(&file, vec![of("a", 1.0)]).is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "something else");
    }
}
