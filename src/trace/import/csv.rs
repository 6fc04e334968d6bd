//! Rows of iteration id, MPI rank, metric name and value: what Roth's scripts write (seed thesis, section 4.1).
//!
//! A line of titles may come first. The metric `runtime` is the run time in ns, any other is a counter. One file is one
//! operation. Rows may stand in any order, as long as the repetitions of each metric ascend on each rank.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::input::Lines;
use super::series::{self, Series};
use super::{Counter, ForeignError, Measured, Member, number, whole};

/// The metric that is the run time.
const RUN_TIME: &str = "runtime";
/// The columns, for messages.
const COLUMNS: &str = "iteration id, MPI rank, metric name, value";

/// Reads the file, compressed with gzip or not.
///
/// # Errors
/// The file cannot be read; a row has another number of columns, or something in it that is no (finite) number;
/// repetitions come twice or out of order; there is no run time at all, or not of a rank that has counters.
///
/// ```
/// use mpitrace_trace::import::csv;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("allreduce.csv");
/// let rows = "0,0,runtime,2000\n0,1,runtime,2500\n1,0,runtime,1900\n1,1,runtime,1800\n";
/// std::fs::write(&path, format!("iteration,rank,metric,value\n{rows}"))?;
/// let measured = csv::read(&path)?;
/// assert_eq!((measured.ranks, measured.run_time_ns), (2, vec![2500.0, 1900.0]));
/// std::fs::write(&path, "0,0,runtime,soon\n")?;
/// assert!(csv::read(&path).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path) -> Result<Measured, ForeignError> {
    let mut lines = Lines::open(path)?;
    let mut metrics = Metrics::default();
    let mut is_first = true;
    while let Some((number, line)) = lines.next()? {
        let outcome = fields(line).and_then(|fields| metrics.add(&fields, is_first));
        outcome.map_err(|what| ForeignError::line(path, number, what))?;
        is_first = false;
    }
    metrics.measured(path)
}

/// The fields of a line. One that begins with a quote may have commas in it, and doubled quotes.
fn fields(line: &str) -> Result<Vec<Cow<'_, str>>, String> {
    let (mut is_blank, mut is_quoted, mut is_open) = (true, false, false);
    let is_end = |letter: char| {
        is_quoted |= is_blank && letter == '"';
        // A doubled quote ends what is quoted and begins it again.
        is_open ^= is_quoted && letter == '"';
        let is_end = letter == ',' && !is_open;
        is_blank = is_end || (is_blank && letter.is_whitespace());
        is_quoted &= !is_end;
        is_end
    };
    let fields = line.split(is_end).map(str::trim);
    let fields = fields.map(|field| match field.strip_prefix('"').and_then(|field| field.strip_suffix('"')) {
        Some(quoted) if quoted.contains('"') => Cow::Owned(quoted.trim().replace("\"\"", "\"")),
        Some(quoted) => Cow::Borrowed(quoted.trim()),
        None => Cow::Borrowed(field),
    });
    let fields = fields.collect();
    if is_open { Err("a quoted field does not end in its line".to_owned()) } else { Ok(fields) }
}

enum CsvRow<'r> {
    Titles,
    Value { repetition: u64, rank: u32, metric: &'r str, value: f64 },
}

impl<'r> CsvRow<'r> {
    fn new(fields: &'r [Cow<'_, str>]) -> Result<CsvRow<'r>, String> {
        let [repetition, rank, metric, value] = match fields {
            [repetition, rank, metric, value] => [repetition, rank, metric, value].map(AsRef::as_ref),
            [_] => return Err(format!("there is 1 column, not the four {COLUMNS}")),
            _ => return Err(format!("there are {} columns, not the four {COLUMNS}", fields.len())),
        };
        let is_number = |text: &str| text.parse::<f64>().is_ok();
        // Titles have no number where numbers stand: a row that is wrong in one place is not taken for titles.
        if [repetition, rank, value].iter().all(|text| !is_number(text) && !text.is_empty()) {
            return Ok(CsvRow::Titles);
        }
        if metric.is_empty() {
            return Err("the metric has no name".to_owned());
        }
        let value = number(value, "the value")?;
        if metric == RUN_TIME && value < 0.0 {
            return Err(format!("the run time {value} is negative"));
        }
        let (repetition, rank) = (whole(repetition, "the iteration id")?, whole(rank, "the rank")?);
        Ok(CsvRow::Value { repetition, rank, metric, value })
    }
}

/// The values by metric, in the order in which these first come, and rank.
#[derive(Debug, Default)]
struct Metrics {
    all: Vec<(String, BTreeMap<u32, Series<f64>>)>,
    by_name: HashMap<String, usize>,
    /// The metric of the row before: the next one often has it too.
    last: usize,
}

impl Metrics {
    fn add(&mut self, fields: &[Cow<'_, str>], is_first: bool) -> Result<(), String> {
        match CsvRow::new(fields)? {
            CsvRow::Titles if is_first => Ok(()),
            CsvRow::Titles => Err("the iteration id is not a whole number from 0 on".to_owned()),
            CsvRow::Value { repetition, rank, metric, value } => self.push(repetition, rank, metric, value),
        }
    }

    fn push(&mut self, repetition: u64, rank: u32, metric: &str, value: f64) -> Result<(), String> {
        if self.all.get(self.last).is_none_or(|(name, _)| name != metric) {
            self.last = self.by_name.get(metric).copied().unwrap_or_else(|| {
                self.by_name.insert(metric.to_owned(), self.all.len());
                self.all.push((metric.to_owned(), BTreeMap::new()));
                self.all.len() - 1
            });
        }
        let series = self.all[self.last].1.entry(rank).or_default();
        series.push(repetition, value).map_err(|what| format!("{metric} of rank {rank} {what}"))
    }

    fn measured(self, path: &Path) -> Result<Measured, ForeignError> {
        let Some(times) = self.by_name.get(RUN_TIME).map(|&run_time| &self.all[run_time].1) else {
            let what = match self.all.len() {
                0 => "has no rows".to_owned(),
                _ => format!("has no row of the metric {RUN_TIME}, the run time in ns"),
            };
            return Err(ForeignError::unusable(path, what));
        };
        let of_counters = self.all.iter().flat_map(|(_, ranks)| ranks.keys());
        if let Some(rank) = of_counters.filter(|rank| !times.contains_key(rank)).min() {
            return Err(ForeignError::unusable(path, format!("has counters of rank {rank}, and no {RUN_TIME} of it")));
        }
        let ranks: Vec<u32> = times.keys().copied().collect();
        let times: Vec<&Series<f64>> = times.values().collect();
        let common = series::common(&times);
        let mut notes = Vec::new();
        let member = |(&rank, times): (&u32, &&Series<f64>)| Member {
            rank,
            duration_ns: common.column(times, f64::NAN),
            stamps: None,
        };
        let members: Vec<Member> = ranks.iter().zip(&times).map(member).collect();
        let mut counters = Vec::new();
        for (text, series) in self.all.iter().filter(|(name, _)| name != RUN_TIME) {
            let values = ranks.iter().map(|rank| series.get(rank).map(|series| common.column(series, f64::NAN)));
            let values: Vec<Option<Vec<f64>>> = values.collect();
            let missing = values.iter().flatten().flatten().filter(|value| value.is_nan()).count();
            let without = values.iter().filter(|values| values.is_none()).count();
            if missing > 0 {
                notes.push(format!("{text} has no value in {missing} of the rows that have a {RUN_TIME}"));
            }
            if without > 0 {
                notes.push(format!("{text} is missing on {without} of {} ranks", ranks.len()));
            }
            counters.push(Counter { name: text.clone(), values });
        }
        let rows = 0..common.repetition.len();
        let longest = |row: usize| members.iter().map(|member| member.duration_ns[row]).fold(f64::NAN, f64::max);
        Ok(Measured {
            path: path.to_owned(),
            ranks: ranks.len() as u32,
            run_time_ns: rows.map(longest).collect(),
            repetition: common.repetition,
            incomplete: common.incomplete,
            members,
            counters,
            notes,
            ..Measured::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Measured, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, text).unwrap();
        super::read(&path).map_err(|error| {
            error.to_string().strip_prefix(path.to_str().unwrap()).expect("the file is named").to_owned()
        })
    }

    #[test]
    fn blanks_and_titles_do_not_matter_and_values_are_not_rounded() {
        let titled =
            "iteration id, MPI rank, metric name, value\n 0 , 0 ,runtime, 0.30000000000000004 \n\n0,1,runtime,3e1\n";
        let found = read(titled).unwrap();
        assert_eq!(found.repetition, [0]);
        assert_eq!(found.run_time_ns, [30.0]);
        assert_eq!(found.members[0].duration_ns, [0.1 + 0.2]);
        assert_eq!(read("0,0,runtime,0.30000000000000004\n0,1,runtime,30").unwrap().run_time_ns, [30.0]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_row() {
        for text in ["\u{feff}0,0,runtime,30\n", "\u{feff}\"0\",0,runtime,30\n", "\u{feff}a,b,c,d\n0,0,runtime,30\n"] {
            assert_eq!(read(text).expect(text).run_time_ns, [30.0]);
        }
        // It is one at the start of a file only.
        let told = read("0,0,runtime,1\n\u{feff}1,0,runtime,1\n").unwrap_err();
        assert!(told.starts_with(", line 2: the iteration id "), "{told}");
    }

    #[test]
    fn a_metric_in_quotes_may_have_commas() {
        let found = read("0,0,runtime,1\n0,0,\"a, \"\"b\"\"\",2\n").unwrap();
        assert_eq!((found.counters[0].name.as_str(), found.counters.len()), ("a, \"b\"", 1));
    }

    #[test]
    fn fields_of_any_column_may_be_quoted() {
        // As write.csv of R writes them, and with blanks.
        let rows = [
            r#""iteration","rank","metric","value""#,
            r#""0", " 0 " ,"runtime","3e1""#,
            r#""0",0,"5"",""",2"#,
            r#"0,0,5" disk,4"#,
        ];
        let found = read(&rows.join("\n")).unwrap();
        assert_eq!(found.run_time_ns, [30.0]);
        let names: Vec<&str> = found.counters.iter().map(|counter| counter.name.as_str()).collect();
        assert_eq!(names, [r#"5",""#, r#"5" disk"#]);
        assert_eq!(fields(r#""",, "a"b,c""""#).unwrap(), ["", "", r#""a"b"#, r#"c""""#]);
    }

    #[test]
    fn ranks_that_ended_earlier_leave_incomplete_repetitions() {
        let found =
            read("0,0,runtime,1\n1,0,runtime,2\n2,0,runtime,3\n0,7,runtime,4\n0,7,L3,9\n1,7,runtime,1\n").unwrap();
        assert_eq!((found.ranks, found.incomplete), (2, 1));
        assert_eq!(found.repetition, [0, 1]);
        assert_eq!(found.run_time_ns, [4.0, 2.0]);
        assert_eq!(found.counters[0].values[0], None);
        let of_seven = found.counters[0].values[1].as_ref().unwrap();
        assert!(of_seven[0] == 9.0 && of_seven[1].is_nan());
        let notes = ["L3 has no value in 1 of the rows that have a runtime", "L3 is missing on 1 of 2 ranks"];
        assert_eq!(found.notes, notes);
    }

    #[test]
    fn every_mistake_names_its_line() {
        let four = "iteration id, MPI rank, metric name, value";
        let cases = [
            ("", ": is empty".to_owned()),
            ("a,b,c,d\n", ": has no rows".to_owned()),
            ("0,0,runtime\n", format!(", line 1: there are 3 columns, not the four {four}")),
            ("0,0,runtime,1\n1\n", format!(", line 2: there is 1 column, not the four {four}")),
            ("0,0,runtime,1\n\n1,0,runtime,2,\n", format!(", line 3: there are 5 columns, not the four {four}")),
            ("0,0,runtime,nan\n", ", line 1: the value 'nan' is not finite".to_owned()),
            ("h,h,h,h\n0,0,runtime,-inf\n", ", line 2: the value '-inf' is not finite".to_owned()),
            ("0,0,runtime,1e999\n", ", line 1: the value '1e999' is not finite".to_owned()),
            ("0,0,runtime,fast\n", ", line 1: the value 'fast' is not a number".to_owned()),
            ("0,0,runtime,\n", ", line 1: the value '' is not a number".to_owned()),
            ("0,0,runtime,-1\n", ", line 1: the run time -1 is negative".to_owned()),
            ("0,0,,1\n", ", line 1: the metric has no name".to_owned()),
            ("0,0,\"\",1\n", ", line 1: the metric has no name".to_owned()),
            ("0,0,runtime,1\n0,0,\"a\nb\",1\n", ", line 2: a quoted field does not end in its line".to_owned()),
            ("0,0,\"a\"\",1\n", ", line 1: a quoted field does not end in its line".to_owned()),
            ("0.5,0,runtime,1\n", ", line 1: the iteration id '0.5' is not a whole number from 0 on".to_owned()),
            ("x,0,runtime,1\n", ", line 1: the iteration id 'x' is not a whole number from 0 on".to_owned()),
            ("0,-1,runtime,1\n", ", line 1: the rank '-1' is not a whole number from 0 on".to_owned()),
            ("0,0,runtime,1\na,b,c,d\n", ", line 2: the iteration id is not a whole number from 0 on".to_owned()),
            (
                "0,0,runtime,1\n0,0,runtime,1\n",
                ", line 2: runtime of rank 0 comes a second time for repetition 0".to_owned(),
            ),
            (
                "5,1,L3,1\n3,1,L3,1\n",
                ", line 2: L3 of rank 1 is out of order: repetition 3 comes after repetition 5".to_owned(),
            ),
            ("0,0,L3,1\n", ": has no row of the metric runtime, the run time in ns".to_owned()),
            ("0,0,runtime,1\n0,4,L3,1\n", ": has counters of rank 4, and no runtime of it".to_owned()),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text).expect_err(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_row_has_a_limit_and_what_is_said_of_one_is_short() {
        use std::io::Write;
        // 64 MiB behind the first row, in quotes, are some 64 KiB.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv.gz");
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(b"0,0,runtime,1\n\n1,0,\"").unwrap();
        (0..64).for_each(|_| encoder.write_all("x".repeat(1 << 20).as_bytes()).unwrap());
        std::fs::write(&path, encoder.finish().unwrap()).unwrap();
        let told = super::read(&path).unwrap_err().to_string();
        assert_eq!(told, format!("{}, line 3: the line is too long", path.display()));
        // Rows that are short are read, however many there are.
        let rows: String = (0..200_000).map(|i| format!("{i},0,runtime,1\n")).collect();
        assert!(rows.len() as u64 > 2 << 20);
        assert_eq!(read(&rows).unwrap().repetition.len(), 200_000);
        let told = read(&format!("0,0,runtime,\"{}\x1b[2J\"\n", "9".repeat(10))).unwrap_err();
        assert_eq!(told, ", line 1: the value '9999999999\\u{1b}[2J' is not a number");
        assert!(read(&format!("0,0,runtime,{}x\n", "9".repeat(100_000))).unwrap_err().len() < 400);
    }

    #[test]
    fn what_is_compressed_is_read_and_damage_is_told() {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv.gz");
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        (0..1000).for_each(|i| writeln!(encoder, "{i},0,runtime,{}", i * 7919 % 1000).unwrap());
        let bytes = encoder.finish().unwrap();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(super::read(&path).unwrap().repetition.len(), 1000);
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2] ^= 0xff;
        for bad in [&bytes[..bytes.len() / 2], &damaged, &bytes[..4]] {
            std::fs::write(&path, bad).unwrap();
            let told = super::read(&path).unwrap_err().to_string();
            let begin = format!("{}: is damaged, or was cut short, as a gzip file (", path.display());
            // Damage in the middle makes other rows, until the checksum at the end tells.
            let other_rows = bad.len() == bytes.len() && told.contains(", line ");
            assert!((told.starts_with(&begin) || other_rows) && !told.contains('\n'), "{told}");
        }
    }
}
