//! ReproMPI's raw output (hunsa/reprompi, `results_output.c`): settings as `#@name=value`, a line of titles, and a row
//! for each repetition, with `-v` for each process and repetition. Times are in seconds there. Each call and message
//! size is an operation.

mod job;
mod titles;

use std::path::Path;

use super::input::Lines;
use super::{ForeignError, Measured};
use job::Jobs;
use titles::{PrintedRow, Titles};

/// The settings in lines `#@name=value` before the titles.
#[derive(Debug, Default)]
struct Settings {
    datatype: Option<String>,
    datatype_bytes: Option<u64>,
    reduction: Option<String>,
    root: Option<i32>,
    processes: Option<u32>,
    /// How run times were computed out of the times of the processes, where it says so.
    run_time: Option<String>,
}

/// Reads the file, compressed with gzip or not.
///
/// # Errors
/// The file cannot be read; there is no line of titles, or one of a summary, or a second one; a row does not fit the
/// titles, or has something in it that is no (finite) number; repetitions come twice or out of order.
///
/// ```
/// use mpitrace_trace::import::reprompi;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("raw.txt");
/// let rows = "MPI_Bcast 0 8 0.0000021\nMPI_Bcast 1 8 0.0000019\n";
/// std::fs::write(&path, format!("#@nprocs=4\ntest nrep count runtime_sec\n{rows}"))?;
/// let measured = &reprompi::read(&path)?[0];
/// assert_eq!((measured.function.as_deref(), measured.ranks, measured.repetition.len()), (Some("MPI_Bcast"), 4, 2));
/// assert!((measured.run_time_ns[0] - 2100.0).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path) -> Result<Vec<Measured>, ForeignError> {
    let mut lines = Lines::open(path)?;
    let mut settings = Settings::default();
    let mut titles: Option<Titles> = None;
    let mut jobs = Jobs::default();
    let mut skipped = 0;
    while let Some((number, line)) = lines.next()? {
        let outcome = if let Some(setting) = line.strip_prefix("#@") {
            settings.take(setting)
        } else if line.starts_with('#') {
            Ok(())
        } else if titles::are_titles(line) {
            match titles {
                Some(_) => Err("a second run begins here: each run needs a file of its own".to_owned()),
                None => Titles::new(line).map(|found| titles = Some(found)),
            }
        } else {
            match &titles {
                Some(titles) => PrintedRow::new(titles, line).and_then(|row| jobs.push(&row)),
                // A launcher's or a library's talk.
                None => {
                    skipped += 1;
                    Ok(())
                }
            }
        };
        outcome.map_err(|what| ForeignError::line(path, number, what))?;
    }
    if titles.is_none() {
        let what = "has no line of titles (test, nrep, count, runtime_sec or more): it is not ReproMPI's raw output";
        return Err(ForeignError::unusable(path, what));
    }
    let mut measured = jobs.measured(path, &settings);
    if measured.is_empty() {
        return Err(ForeignError::unusable(path, "has titles and no rows"));
    }
    if skipped > 0 {
        measured.iter_mut().for_each(|one| one.notes.push(format!("{skipped} lines before the titles were skipped")));
    }
    Ok(measured)
}

impl Settings {
    fn take(&mut self, setting: &str) -> Result<(), String> {
        let Some((name, value)) = setting.split_once('=') else { return Ok(()) };
        let wrong = |_| format!("{name} '{value}' is not a whole number");
        let text = || Some(value.to_owned());
        match name {
            "datatype" => self.datatype = text(),
            "datatype_size_bytes" => self.datatype_bytes = Some(value.parse().map_err(wrong)?),
            "operation" => self.reduction = text(),
            "root_proc" => self.root = Some(value.parse().map_err(wrong)?),
            "nprocs" => self.processes = Some(value.parse().map_err(wrong)?),
            "runtime_type" => self.run_time = text(),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Measured>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, text).unwrap();
        super::read(&path).map_err(|error| {
            error.to_string().strip_prefix(path.to_str().unwrap()).expect("the file is named").to_owned()
        })
    }

    /// The output of `print_common_settings`.
    const SETTINGS: &str = "#Command-Line Arguments: ./bin/mpibenchmark --nrep=3\n#MPI calls:\n#\tMPI_Allreduce\n\
        #@operation=MPI_BOR\n#@datatype=MPI_INT\n#@datatype_extent_bytes=4\n#@datatype_size_bytes=4\n#@root_proc=0\n\
        #@nprocs=2\n#@clocksync=None\n#@procsync=MPI_Barrier\n#@runtime_type=max\n";

    /// `printf` of `print_results_header` and `print_runtimes`.
    fn plain(rows: &[(&str, u64, u64, &str)]) -> String {
        let titles = format!("{:>50} {:>10} {:>12} {:>14} \n", "test", "nrep", "count", "runtime_sec");
        let row = |(test, nrep, count, time): &(&str, u64, u64, &str)| {
            format!("{test:>50} {nrep:>10} {count:>12} {time:>14}\n")
        };
        format!("{SETTINGS}{titles}{}", rows.iter().map(row).collect::<String>())
    }

    #[test]
    fn each_call_and_size_is_an_operation() {
        let rows = [
            ("MPI_Allreduce", 0, 2, "0.0000269400"),
            ("MPI_Allreduce", 1, 2, "0.0000271800"),
            ("MPI_Bcast", 0, 2, "0.0000010000"),
            ("MPI_Barrier", 0, 2, "0.0000010000"),
            ("MPI_Allreduce", 0, 4, "0.0000500000"),
        ];
        let found = read(&(plain(&rows) + "# Benchmark started at Sat Nov 21\n# Execution time: 0s\n")).unwrap();
        let name = |one: &Measured| {
            (one.function.clone().unwrap(), one.bytes.unwrap(), one.datatype.is_some(), one.root, one.reduction.clone())
        };
        let expected = [
            ("MPI_Allreduce".to_owned(), 8, true, None, Some("MPI_BOR".to_owned())),
            ("MPI_Bcast".to_owned(), 8, true, Some(0), None),
            ("MPI_Barrier".to_owned(), 0, false, None, None),
            ("MPI_Allreduce".to_owned(), 16, true, None, Some("MPI_BOR".to_owned())),
        ];
        assert_eq!(found.iter().map(name).collect::<Vec<_>>(), expected);
        assert_eq!(found[0].repetition, [0, 1]);
        assert_eq!(found[0].ranks, 2);
        assert!(found[0].run_time_ns.iter().zip([26_940.0, 27_180.0]).all(|(a, b): (&f64, f64)| (a - b).abs() < 1e-6));
        assert!(found[0].members.is_empty());
    }

    #[test]
    fn with_v_each_process_has_its_times() {
        let text = "#@datatype_size_bytes=1\n\
            process test nrep count errorcode loc_tstart_sec loc_tend_sec gl_tstart_sec gl_tend_sec \n\
            0 MPI_Bcast 0 8 0 100.0000000000 100.0000500000 200.0000000000 200.0000500000\n\
            0 MPI_Bcast 1 8 0 101.0000000000 101.0000100000 201.0000000000 201.0000100000\n\
            0 MPI_Bcast 2 8 0 102.0000000000 102.0000100000 202.0000000000 202.0000100000\n\
            1 MPI_Bcast 0 8 0 7.0000000000 7.0000300000 200.0000100000 200.0000400000\n\
            1 MPI_Bcast 1 8 1 8.0000000000 8.0000300000 201.0000100000 201.0000400000\n\
            1 MPI_Bcast 2 8 0 9.0000000000 9.0000300000 202.0000100000 202.0000400000\n";
        let found = read(text).unwrap().remove(0);
        assert_eq!((found.ranks, found.incomplete), (2, 0));
        assert_eq!(found.repetition, [0, 2]);
        assert_eq!(found.notes, ["1 of 3 repetitions missed their window (errorcode) and are left out"]);
        let close = |found: &[f64], expected: &[f64]| {
            // 100 ps are printed, of times that f64 holds to 0.03 ps.
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.1), "{found:?} {expected:?}");
        };
        close(&found.run_time_ns, &[50_000.0, 30_000.0]);
        close(&found.members[1].duration_ns, &[30_000.0, 30_000.0]);
        let stamps = found.members[1].stamps.as_ref().unwrap();
        close(&stamps.enter_ns, &[10_000.0, 2_000_010_000.0]);
        close(&stamps.exit_ns, &[40_000.0, 2_000_040_000.0]);
    }

    #[test]
    fn a_killed_run_leaves_ranks_with_fewer_repetitions() {
        let text = "process test nrep count loc_tstart_sec loc_tend_sec \n\
            0 MPI_Bcast 0 8 1.0 1.1\n0 MPI_Bcast 1 8 2.0 2.1\n0 MPI_Bcast 2 8 3.0 3.1\n1 MPI_Bcast 0 8 1.0 1.2\n";
        let found = read(text).unwrap().remove(0);
        assert_eq!((found.repetition.as_slice(), found.incomplete), ([0].as_slice(), 2));
        assert!(found.members[0].stamps.is_none());
        assert_eq!(found.notes, ["the size of the data type is not stated: counts are taken as bytes"]);
        // The whole output of one of the two processes is missing.
        let cut = text.replace("1 MPI_Bcast 0 8 1.0 1.2\n", "");
        let found = read(&format!("#@nprocs=2\n{cut}")).unwrap().remove(0);
        assert_eq!((found.repetition.len(), found.incomplete), (0, 3));
    }

    #[test]
    fn every_mistake_names_its_line() {
        let titles = "test nrep count runtime_sec\n";
        let cases = [
            (
                "hello\n".to_owned(),
                ": has no line of titles (test, nrep, count, runtime_sec or more): it is not ReproMPI's raw output",
            ),
            (titles.to_owned(), ": has titles and no rows"),
            (
                "test count total_nrep valid_nrep mean_sec\n".to_owned(),
                ", line 1: this is a summary: run ReproMPI without --summary, or give the file that its --output-file names",
            ),
            ("test nrep count runtime_sec color\n".to_owned(), ", line 1: the column 'color' is not one of ReproMPI's"),
            ("test count runtime_sec nrep nrep\n".to_owned(), ", line 1: the column 'nrep' comes twice"),
            ("process test nrep count loc_tstart_sec\n".to_owned(), ", line 1: the column loc_tend_sec is missing"),
            (
                "test nrep count loc_tstart_sec loc_tend_sec gl_tend_sec\n".to_owned(),
                ", line 1: the column process is missing",
            ),
            (
                "process test nrep count loc_tstart_sec loc_tend_sec gl_tend_sec\n".to_owned(),
                ", line 1: the column gl_tstart_sec is missing",
            ),
            (format!("{titles}MPI_Bcast 0 8\n"), ", line 2: there are 3 columns, the titles are 4"),
            (format!("{titles}MPI_Bcast 0 8 nan\n"), ", line 2: runtime_sec 'nan' is not finite"),
            (format!("{titles}MPI_Bcast 0 8 x\n"), ", line 2: runtime_sec 'x' is not a number"),
            (format!("{titles}MPI_Bcast 0 8 -1\n"), ", line 2: the run time is negative"),
            (format!("{titles}MPI_Bcast 0.1 8 1\n"), ", line 2: nrep '0.1' is not a whole number from 0 on"),
            (format!("{titles}MPI_Bcast 0 -8 1\n"), ", line 2: count '-8' is not a whole number from 0 on"),
            (
                format!("{titles}MPI_Bcast 1 8 1\nMPI_Bcast 1 8 1\n"),
                ", line 3: MPI_Bcast with count 8 comes a second time for repetition 1",
            ),
            (
                format!("{titles}MPI_Bcast 1 8 1\nMPI_Bcast 0 8 1\n"),
                ", line 3: MPI_Bcast with count 8 is out of order: repetition 0 comes after repetition 1",
            ),
            (
                format!("{titles}MPI_Bcast 0 8 1\n{titles}MPI_Bcast 0 8 1\n"),
                ", line 3: a second run begins here: each run needs a file of its own",
            ),
            ("#@nprocs=two\n".to_owned(), ", line 1: nprocs 'two' is not a whole number"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(&text).expect_err(&text), expected, "{text:?}");
        }
    }
}
