//! Files that are damaged: never a panic, never wrong numbers.

use std::collections::BTreeMap;

use crate::support::{Folder, mpitrace, plain};
use serde_json::Value;

/// A generator of numbers that look random: xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// All rows by rank, operation and repetition, with how long each call took: where a part is lost, time may start
/// later, and whom a rank waited for is not known.
fn rows(stdout: &Value) -> BTreeMap<[u64; 3], Value> {
    let key = |row: &Value| ["rank", "operation", "repetition"].map(|key| row[key].as_u64().unwrap());
    let timeless = |row: &Value| {
        let mut row = row.clone();
        let [enter, exit] = ["enter_ns", "exit_ns"].map(|key| row[key].as_f64().unwrap());
        row["enter_ns"] = Value::Null;
        row["exit_ns"] = (exit - enter).into();
        row["waiting_ns"] = Value::Null;
        row
    };
    stdout.as_array().unwrap().iter().map(|row| (key(row), timeless(row))).collect()
}

#[test]
fn a_damaged_trace_is_refused_or_shows_what_is_whole() {
    let folder = Folder::new();
    let path = folder.trace(&plain());
    let whole = std::fs::read(&path).unwrap();
    let all = rows(&mpitrace(&["dump", "--json", &path]).json());
    let mut random = Random(88_172_645_463_325_252);
    let mut refused = 0;
    for trial in 0..150 {
        let mut bytes = whole.clone();
        match trial % 3 {
            0 => bytes.truncate(random.below(whole.len())),
            1 => {
                let bit = random.below(8);
                let at = random.below(whole.len());
                bytes[at] ^= 1 << bit;
            }
            // Headers and tables are a small part of the file: hit them on purpose.
            _ => {
                let start = [0, 4096][random.below(2)];
                let at = start + random.below(1500);
                bytes[at] = bytes[at].wrapping_add(1 + random.below(255) as u8);
            }
        }
        let path = folder.file("damaged.mpitrace", &bytes);
        let ran = mpitrace(&["dump", "--json", &path]);
        assert!([0, 1, 2].contains(&ran.code), "trial {trial}: {} {}", ran.code, ran.stderr);
        if ran.code == 2 {
            assert_eq!((ran.stdout.as_str(), ran.stderr.lines().count()), ("", 1), "{}", ran.stderr);
            refused += 1;
            continue;
        }
        // A bit may be in the padding behind a section, which is not read.
        for (key, row) in rows(&ran.json()) {
            assert_eq!(all.get(&key), Some(&row), "trial {trial}");
        }
        assert_eq!(mpitrace(&["info", &path]).code, ran.code);
    }
    assert!((20..150).contains(&refused), "{refused}");
}
