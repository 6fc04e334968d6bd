//! The line of titles, and rows under it.

use crate::import::{number, whole};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Process,
    Test,
    Repetition,
    Count,
    Bytes,
    ErrorCode,
    RunTime,
    LocalStart,
    LocalEnd,
    GlobalStart,
    GlobalEnd,
}

/// The titles, those of ReproMPI's library (`benchmark_lib/results_output.c`) among them. The first of a field is its
/// name in messages.
const TITLES: [(&str, Field); 13] = [
    ("process", Field::Process),
    ("proc", Field::Process),
    ("test", Field::Test),
    ("measure_type", Field::Test),
    ("nrep", Field::Repetition),
    ("count", Field::Count),
    ("msize_bytes", Field::Bytes),
    ("errorcode", Field::ErrorCode),
    ("runtime_sec", Field::RunTime),
    ("loc_tstart_sec", Field::LocalStart),
    ("loc_tend_sec", Field::LocalEnd),
    ("gl_tstart_sec", Field::GlobalStart),
    ("gl_tend_sec", Field::GlobalEnd),
];

/// True if a line has the titles of rows, or of a summary.
pub(super) fn are_titles(line: &str) -> bool {
    let has = |title| line.split_ascii_whitespace().any(|word| word == title);
    has("total_nrep") || has("nrep") && ["runtime_sec", "loc_tstart_sec", "loc_tend_sec"].into_iter().any(has)
}

#[derive(Debug)]
pub(super) struct Titles {
    fields: Vec<Field>,
}

impl Titles {
    pub(super) fn new(line: &str) -> Result<Titles, String> {
        let mut fields: Vec<Field> = Vec::new();
        for title in line.split_ascii_whitespace() {
            if title == "total_nrep" {
                let way_out = "run ReproMPI without --summary, or give the file that its --output-file names";
                return Err(format!("this is a summary: {way_out}"));
            }
            let known = TITLES.iter().find(|(name, _)| *name == title);
            let field = known.ok_or_else(|| format!("the column '{title}' is not one of ReproMPI's"))?.1;
            if fields.contains(&field) {
                return Err(format!("the column '{title}' comes twice"));
            }
            fields.push(field);
        }
        let titles = Titles { fields };
        titles.need(&[Field::Test, Field::Repetition])?;
        if !titles.has(Field::RunTime) {
            titles.need(&[Field::Process, Field::LocalStart, Field::LocalEnd])?;
        }
        if titles.has(Field::GlobalStart) || titles.has(Field::GlobalEnd) {
            titles.need(&[Field::Process, Field::LocalStart, Field::LocalEnd, Field::GlobalStart, Field::GlobalEnd])?;
        }
        Ok(titles)
    }

    fn has(&self, field: Field) -> bool {
        self.fields.contains(&field)
    }

    fn need(&self, fields: &[Field]) -> Result<(), String> {
        match fields.iter().find(|field| !self.has(**field)) {
            Some(missing) => Err(format!("the column {} is missing", name_of(*missing))),
            None => Ok(()),
        }
    }
}

fn name_of(field: Field) -> &'static str {
    TITLES.iter().find(|(_, known)| *known == field).map_or("", |(name, _)| name)
}

/// The content of one row. Times in seconds, as they are printed.
#[derive(Debug)]
pub(super) struct PrintedRow<'l> {
    pub(super) test: &'l str,
    pub(super) size: Size,
    pub(super) repetition: u64,
    /// The rank, where the row is of one.
    pub(super) process: Option<u32>,
    /// True if the repetition kept to its window.
    pub(super) valid: bool,
    pub(super) seconds: f64,
    /// Entry and exit in global time.
    pub(super) global: Option<(f64, f64)>,
}

/// The message size, as it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Size {
    Unknown,
    /// In elements.
    Count(u64),
    Bytes(u64),
}

impl<'l> PrintedRow<'l> {
    pub(super) fn new(titles: &Titles, line: &'l str) -> Result<PrintedRow<'l>, String> {
        let columns = line.split_ascii_whitespace().count();
        if columns != titles.fields.len() {
            return Err(format!("there are {columns} columns, the titles are {}", titles.fields.len()));
        }
        let mut row = PrintedRow {
            test: "",
            size: Size::Unknown,
            repetition: 0,
            process: None,
            valid: true,
            seconds: f64::NAN,
            global: None,
        };
        let mut local = [f64::NAN; 2];
        let mut global = [f64::NAN; 2];
        for (&field, word) in titles.fields.iter().zip(line.split_ascii_whitespace()) {
            let name = name_of(field);
            match field {
                // The library prints how the ranks' times came to one, too: then the row is of no single rank.
                Field::Process if ["min", "max", "mean"].contains(&word) => {}
                Field::Process => row.process = Some(whole(word, name)?),
                Field::Test => row.test = word,
                Field::Repetition => row.repetition = whole(word, name)?,
                Field::Count => row.size = Size::Count(whole(word, name)?),
                Field::Bytes => row.size = Size::Bytes(whole(word, name)?),
                Field::ErrorCode => row.valid = whole::<u64>(word, name)? == 0,
                Field::RunTime => row.seconds = number(word, name)?,
                Field::LocalStart => local[0] = number(word, name)?,
                Field::LocalEnd => local[1] = number(word, name)?,
                Field::GlobalStart => global[0] = number(word, name)?,
                Field::GlobalEnd => global[1] = number(word, name)?,
            }
        }
        if !titles.has(Field::RunTime) {
            row.seconds = local[1] - local[0];
        }
        if row.seconds < 0.0 {
            return Err("the run time is negative".to_owned());
        }
        row.global = titles.has(Field::GlobalStart).then_some((global[0], global[1]));
        Ok(row)
    }
}
