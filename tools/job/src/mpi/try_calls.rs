//! The child that makes calls of a library with the tracer preloaded, and beside them the same calls without it.
//!
//! One process does both: the function of the preloaded library is what a program finds under the name, the library's
//! own is what the loader gives for the library itself. So both meet the same memory, processor and frequency, a few
//! microseconds apart, and their difference is the tracer's alone.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use mpitrace_statistics::median;
use serde::{Deserialize, Serialize};

use super::abi::{Family, Handles};
use super::library::{Allreduce, Finalize, Init, Library};
use super::stamp;

/// The calls of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Turns: in each a block of traced calls, one of untraced calls and one of pairs of time stamps.
    pub turns: u32,
    /// Calls, or pairs, a block.
    pub calls: u32,
}

impl Request {
    /// Calls that the tracer must have recorded. The first turn warms up and is not among the results.
    pub fn recorded(self) -> u64 {
        (u64::from(self.turns) + 1) * u64::from(self.calls)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// True if a preloaded library takes the calls.
    pub intercepted: bool,
    pub times: Times,
}

/// Medians over the turns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Two time stamps, ns.
    pub timestamp_pair_ns: f64,
    /// A call of the library itself, ns.
    pub untraced_call_ns: f64,
    /// The time that a traced call takes beyond that, ns.
    pub traced_call_ns: f64,
    /// The latter in pairs of time stamps.
    pub ratio: f64,
}

/// Makes the calls: MPI_Allreduce of 8 bytes on MPI_COMM_SELF. What is found is written to `answer`.
pub fn try_calls(path: &Path, request: Request, answer: &Path) -> Result<()> {
    let library = Library::open(path).map_err(anyhow::Error::msg)?;
    // SAFETY: these are the functions' types.
    let (init, finalize, traced, untraced) = unsafe {
        (
            library.first_function::<Init>(c"MPI_Init"),
            library.first_function::<Finalize>(c"MPI_Finalize"),
            library.first_function::<Allreduce>(c"MPI_Allreduce"),
            library.function::<Allreduce>(c"MPI_Allreduce"),
        )
    };
    let (Some(init), Some(finalize), Some(traced), Some(untraced)) = (init, finalize, traced, untraced) else {
        bail!("{}: no MPI library", path.display());
    };
    // SAFETY: MPI_Init may be given two null pointers.
    ensure!(unsafe { init(std::ptr::null_mut(), std::ptr::null_mut()) } == 0, "MPI_Init failed");
    let handles = Family::new(&library).handles(&library).context("the library lacks MPI_COMM_SELF")?;
    let intercepted = traced as usize != untraced as usize;
    let times = measure(request, handles, traced, untraced)?;
    fs::write(answer, serde_json::to_vec(&Tried { intercepted, times })?)?;
    // SAFETY: MPI is initialised, and not used afterwards.
    ensure!(unsafe { finalize() } == 0, "MPI_Finalize failed");
    Ok(())
}

fn measure(request: Request, handles: Handles, traced: Allreduce, untraced: Allreduce) -> Result<Times> {
    let source = stamp::source();
    let calls = request.calls.max(1);
    let block = |function: Allreduce| -> Result<f64> {
        let (value, mut sum) = (1.0f64, 0.0f64);
        let mut failed = 0;
        let started = Instant::now();
        for _ in 0..calls {
            // SAFETY: MPI is initialised, the handles are this library's, and both buffers hold one double.
            failed |= unsafe {
                function(
                    (&raw const value).cast(),
                    (&raw mut sum).cast(),
                    1,
                    handles.double,
                    handles.sum,
                    handles.comm_self,
                )
            };
        }
        let ns = started.elapsed().as_nanos() as f64 / f64::from(calls);
        ensure!(failed == 0 && sum == 1.0, "MPI_Allreduce failed");
        Ok(ns)
    };
    let (mut pair, mut bare, mut added, mut ratio) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for turn in 0..=request.turns {
        // Each goes first in half of the turns: what the one before leaves in the caches is for neither.
        let (with, without) = match turn % 2 {
            0 => (block(traced)?, block(untraced)?),
            _ => {
                let without = block(untraced)?;
                (block(traced)?, without)
            }
        };
        let stamps = stamp::pair_ns(source, calls);
        if turn > 0 {
            pair.push(stamps);
            bare.push(without);
            added.push(with - without);
            ratio.push((with - without) / stamps);
        }
    }
    let middle = |mut values: Vec<f64>| median(&mut values).context("no turns");
    Ok(Times {
        timestamp_pair_ns: middle(pair)?,
        untraced_call_ns: middle(bare)?,
        traced_call_ns: middle(added)?,
        ratio: middle(ratio)?,
    })
}
