//! The stacks of samples as chains of the program's functions.

use std::collections::HashMap;

use mpitrace_format::samples::{EMPTY, Samples};

use crate::frame::{Frame, Kind};

/// The time in the kernel, as a frame.
const KERNEL: &str = "[kernel]";

/// A frame of the program on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function's number.
    pub function: usize,
    /// The index of the frame's text, which has the line.
    pub frame: u32,
}

/// A stack.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// The program's frames, the outermost first.
    pub calls: Vec<Call>,
    /// True: the innermost of them, or what it called, is of the MPI library.
    pub in_mpi: bool,
    /// The library's function that the innermost of them called, as the index of the frame's text.
    pub called: Option<u32>,
    /// True: the program was in the kernel, whose functions are none of it.
    in_kernel: bool,
}

/// All stacks of a run.
#[derive(Debug, Default)]
pub struct Stacks {
    /// By the number of the stack, [`EMPTY`] included.
    pub chains: Vec<Chain>,
    /// By frame: true if its line is known.
    pub has_line: Vec<bool>,
}

impl Stacks {
    pub fn new<'s>(samples: &'s Samples) -> Stacks {
        let frames: Vec<Frame<'s>> = samples.frames.iter().map(|text| Frame::parse(text)).collect();
        // By name and file.
        let mut numbers: HashMap<(&str, Option<&str>), usize> = HashMap::new();
        let mut number = |frame: &Frame<'s>| {
            let next = numbers.len();
            *numbers.entry((frame.function, frame.file)).or_insert(next)
        };
        let mut chains = vec![Chain::default()];
        for &(below, frame) in &samples.stacks {
            let mut chain = chains[below as usize].clone();
            let of = &frames[frame as usize];
            chain.in_kernel |= samples.frames[frame as usize] == KERNEL;
            match of.kind {
                _ if chain.in_kernel => {}
                // Callers in Python are not known where it runs: then a library's function is better than none.
                Kind::PythonLibrary if !chain.calls.is_empty() => chain.called = chain.called.or(Some(frame)),
                Kind::Program | Kind::PythonLibrary => {
                    chain.calls.push(Call { function: number(of), frame });
                    // The operator of a reduction.
                    (chain.in_mpi, chain.called) = (false, None);
                }
                Kind::Mpi => chain.in_mpi = true,
                Kind::Other => chain.called = chain.called.or(Some(frame)),
            }
            chains.push(chain);
        }
        Stacks { chains, has_line: frames.iter().map(|frame| frame.line.is_some()).collect() }
    }

    /// The functions on a stack, by its number among those of the samples.
    pub fn chain(&self, stack: u32) -> &Chain {
        self.chains.get(stack as usize).unwrap_or(&self.chains[EMPTY as usize])
    }
}
