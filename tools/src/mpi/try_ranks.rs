//! A rank of a small job: calls on MPI_COMM_WORLD, and a line that says which rank it is.

use std::fmt::{self, Display, Formatter};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::abi::Family;
use super::library::{Allreduce, CommNumber, Finalize, Init, Library};

/// How the line begins.
const MARK: &str = "mpitrace-rank";

/// What a rank says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its rank in MPI_COMM_WORLD.
    pub rank: u32,
    /// The size of MPI_COMM_WORLD.
    pub size: u32,
    /// Whether a preloaded library takes its calls.
    pub intercepted: bool,
}

impl Display for Said {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        write!(to, "{MARK} {} {} {}", self.rank, self.size, self.intercepted)
    }
}

impl Said {
    /// What the ranks of a job have said among its output.
    pub fn all(output: &str) -> Vec<Said> {
        let of_line = |line: &str| {
            // A launcher may put the rank's number before each line.
            let words: Vec<&str> = line.split_once(MARK)?.1.split_whitespace().collect();
            let [rank, size, intercepted] = words[..] else { return None };
            Some(Said { rank: rank.parse().ok()?, size: size.parse().ok()?, intercepted: intercepted.parse().ok()? })
        };
        output.lines().filter_map(of_line).collect()
    }
}

/// Makes so many calls of MPI_Allreduce, of 8 bytes on MPI_COMM_WORLD, and prints its rank on standard output.
///
/// # Errors
/// A library that cannot be loaded or lacks a function, a call that fails.
pub fn try_ranks(path: &Path, calls: u32) -> Result<()> {
    let library = Library::open(path).map_err(anyhow::Error::msg)?;
    // SAFETY: these are the functions' types.
    let (init, finalize, allreduce, untraced, rank, size) = unsafe {
        (
            library.first_function::<Init>(c"MPI_Init"),
            library.first_function::<Finalize>(c"MPI_Finalize"),
            library.first_function::<Allreduce>(c"MPI_Allreduce"),
            library.function::<Allreduce>(c"MPI_Allreduce"),
            library.function::<CommNumber>(c"MPI_Comm_rank"),
            library.function::<CommNumber>(c"MPI_Comm_size"),
        )
    };
    let (Some(init), Some(finalize), Some(allreduce), Some(untraced), Some(rank), Some(size)) =
        (init, finalize, allreduce, untraced, rank, size)
    else {
        bail!("{}: no MPI library", path.display());
    };
    // SAFETY: MPI_Init may be given two null pointers.
    ensure!(unsafe { init(std::ptr::null_mut(), std::ptr::null_mut()) } == 0, "MPI_Init failed");
    let handles = Family::of(&library).handles(&library).context("the library lacks MPI_COMM_WORLD")?;
    let number = |function: CommNumber| -> Result<u32> {
        let mut number = -1;
        // SAFETY: MPI is initialised, the handle is this library's, and the number outlives the call.
        ensure!(unsafe { function(handles.comm_world, &raw mut number) } == 0, "MPI_Comm_rank or _size failed");
        Ok(u32::try_from(number)?)
    };
    let said = Said { rank: number(rank)?, size: number(size)?, intercepted: allreduce as usize != untraced as usize };
    let (value, mut sum) = (1.0f64, 0.0f64);
    for _ in 0..calls {
        // SAFETY: as above; both buffers hold one double.
        let result = unsafe {
            allreduce(
                (&raw const value).cast(),
                (&raw mut sum).cast(),
                1,
                handles.double,
                handles.sum,
                handles.comm_world,
            )
        };
        ensure!(result == 0 && sum == f64::from(said.size), "MPI_Allreduce failed");
    }
    println!("{said}");
    // SAFETY: MPI is initialised, and not used afterwards.
    ensure!(unsafe { finalize() } == 0, "MPI_Finalize failed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ranks_say_is_found_among_other_lines() {
        let said = [Said { rank: 1, size: 2, intercepted: true }, Said { rank: 0, size: 2, intercepted: false }];
        let output = format!("warning\n{}\n1: {}\nmpitrace-rank x 2 true\n", said[0], said[1]);
        assert_eq!(Said::all(&output), said);
    }
}
