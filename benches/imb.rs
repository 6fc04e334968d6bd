//! Averages of the Intel MPI Benchmarks beside those of the trace: `cargo bench --bench imb`, after
//! tests/mpi/install.sh.
//!
//! IMB takes its time around the tracer's, so it says a little more: its loop and what the tracer does outside of its
//! two time stamps. Other work on the machine moves both columns.

use mpitrace_testing::binaries;

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

fn main() {
    let home = binaries::TARGET.join("mpi/impi");
    if !home.join("bin/IMB-MPI1").exists() {
        println!("skipped: no {}, see tests/mpi/install.sh", home.join("bin/IMB-MPI1").display());
        return;
    }
    binaries::build();
    let trace = std::env::temp_dir().join(format!("mpitrace-imb-{}.mpitrace", std::process::id()));
    let output = Command::new(home.join("bin/mpiexec.hydra"))
        .envs([("I_MPI_ROOT", home.as_os_str()), ("I_MPI_FABRICS", "shm".as_ref()), ("I_MPI_PIN", "0".as_ref())])
        .args(["-np", "2", "env", "MPITRACE_VERBOSE=0"])
        .arg(format!("LD_LIBRARY_PATH={}", home.join("lib").display()))
        .arg(format!("LD_PRELOAD={}", binaries::tracer().display()))
        .arg(format!("MPITRACE_OUTPUT={}", trace.display()))
        .arg(home.join("bin/IMB-MPI1"))
        .args(["-npmin", "2", "-iter", "1000", "-msglog", "3:10", "Allreduce"])
        .stdin(Stdio::null())
        .output()
        .expect("Intel's launcher");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    println!("| bytes | repetitions | us, by IMB | us, by the trace |");
    println!("|--:|--:|--:|--:|");
    let info = told("info", &trace);
    let rows = told("dump", &trace);
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let numbers: Option<Vec<f64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
        let Some(&[bytes, repetitions, _, _, average_us]) = numbers.as_deref() else { continue };
        let is_it = |operation: &&Value| {
            operation["function"] == "MPI_Allreduce"
                && operation["datatype"] == "MPI_FLOAT"
                && operation["bytes"].as_f64() == Some(bytes)
        };
        let operation = info["operations"].as_array().and_then(|all| all.iter().find(is_it)).expect("the operation");
        // Before the last so many come IMB's trial and warm-up.
        let first = operation["repetitions"].as_f64().expect("a number") - repetitions;
        println!("| {bytes} | {repetitions} | {average_us} | {:.3} |", mean_us(&rows, &operation["operation"], first));
    }
    let _ = std::fs::remove_file(trace);
}

fn told(command: &str, trace: &Path) -> Value {
    let output = Command::new(binaries::companion()).arg(command).arg(trace).arg("--json").output().expect("mpitrace");
    let mut told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    told.as_object_mut().and_then(|keys| keys.remove("rows")).unwrap_or(told)
}

/// Of all ranks' calls of an operation from a repetition on.
fn mean_us(rows: &Value, operation: &Value, first: f64) -> f64 {
    let number = |row: &Value, key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    let rows = rows.as_array().expect("rows").iter();
    let measured = rows.filter(|row| row["operation"] == *operation && number(row, "repetition") >= first);
    let times: Vec<f64> = measured.map(|row| number(row, "exit_ns") - number(row, "enter_ns")).collect();
    times.iter().sum::<f64>() / times.len() as f64 / 1e3
}
