//! Files of other tools that are not what they should be: one line that names the file and the row.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};

use crate::support::{Folder, mpitrace};

#[test]
fn a_bad_file_is_one_line_and_nothing_else() {
    let folder = Folder::new();
    let titles = "test nrep count runtime_sec\n";
    let cases: [(&str, &[u8], &str); 12] = [
        ("csv", b"", ": is empty"),
        ("csv", b"0,0,runtime,1\n1,0,runtime,NaN\n", ", line 2: the value 'NaN' is not finite"),
        ("csv", b"0,0,runtime,inf\n", ", line 1: the value 'inf' is not finite"),
        (
            "csv",
            b"0,0,runtime,1\n1,0,runtime\n",
            ", line 2: there are 3 columns, not the four iteration id, MPI rank, metric name, value",
        ),
        (
            "csv",
            b"1,0,runtime,1\n0,0,runtime,1\n",
            ", line 2: runtime of rank 0 is out of order: repetition 0 comes after repetition 1",
        ),
        ("csv", b"1,0,runtime,1\n1,0,runtime,1\n", ", line 2: runtime of rank 0 comes a second time for repetition 1"),
        ("csv", b"0,0,L1,1\n", ": has no row of the metric runtime, the run time in ns"),
        ("csv", b"0,0,\xff,1\n", ", line 1: is not text (UTF-8)"),
        (
            "csv",
            b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x01",
            ": is damaged, or was cut short, as a gzip file (incomplete deflate stream)",
        ),
        ("reprompi", b"\0\xff\n", ", line 1: is not text (UTF-8)"),
        ("reprompi", b"process test nrep count loc_tstart_sec\n", ", line 1: the column loc_tend_sec is missing"),
        (
            "reprompi",
            &[titles.as_bytes(), b"MPI_Bcast 0 8 nan\n"].concat(),
            ", line 2: runtime_sec 'nan' is not finite",
        ),
    ];
    for (format, bytes, expected) in cases {
        let file = folder.file("bad", bytes);
        let ran = mpitrace(&["diagnose", "--from", format, &file]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert_eq!(ran.stderr, format!("mpitrace: {file}{expected}\n"));
    }
}

#[test]
fn ranks_with_fewer_repetitions_are_told_and_counted() {
    let folder = Folder::new();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for repetition in 0..20 {
        for rank in 0..if repetition < 15 { 3 } else { 2 } {
            writeln!(encoder, "{repetition},{rank},runtime,{}", 100 + rank).unwrap();
        }
    }
    let file = folder.file("killed.csv.gz", &encoder.finish().unwrap());
    let ran = mpitrace(&["diagnose", "--from", "csv", &file, "--json"]);
    assert_eq!(ran.stderr, format!("mpitrace: {file}: 5 repetitions are missing on some rank and left out\n"));
    let json = ran.json();
    let operation = &json[0];
    let counts = ["ranks", "repetitions", "incomplete"].map(|key| operation[key].as_u64().unwrap());
    assert_eq!(counts, [3, 15, 5]);
    assert_eq!(operation["file"], file);
}
