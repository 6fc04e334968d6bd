//! The stacks of samples as chains of the program's functions.

use std::collections::HashMap;

use mpitrace_format::samples::{EMPTY, Samples};

use crate::frame::{Frame, Kind};

/// The time in the kernel, as a frame.
const KERNEL: &str = "[kernel]";

/// A function of the program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    pub name: String,
    /// The source file, or the library; `None`: not known.
    pub file: Option<String>,
}

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
    /// True: the program was in the kernel, whose functions are none of it.
    in_kernel: bool,
}

/// All stacks of a run.
#[derive(Debug, Default)]
pub struct Stacks {
    pub functions: Vec<Function>,
    /// By the number of the stack, [`EMPTY`] included.
    pub chains: Vec<Chain>,
}

impl Stacks {
    pub fn new(samples: &Samples) -> Stacks {
        let frames: Vec<Frame> = samples.frames.iter().map(|text| Frame::parse(text)).collect();
        let (mut numbers, mut functions) = (HashMap::new(), Vec::new());
        let mut number = |frame: &Frame| {
            let function = Function { name: frame.function.to_owned(), file: frame.file.map(str::to_owned) };
            *numbers.entry(function).or_insert_with_key(|function: &Function| {
                functions.push(function.clone());
                functions.len() - 1
            })
        };
        let mut chains = vec![Chain::default()];
        for &(below, frame) in &samples.stacks {
            let mut chain = chains[below as usize].clone();
            let of = &frames[frame as usize];
            chain.in_kernel |= samples.frames[frame as usize] == KERNEL;
            match of.kind {
                _ if chain.in_kernel => {}
                Kind::Program => {
                    chain.calls.push(Call { function: number(of), frame });
                    // The operator of a reduction.
                    chain.in_mpi = false;
                }
                Kind::Mpi => chain.in_mpi = true,
                Kind::Other => {}
            }
            chains.push(chain);
        }
        Stacks { functions, chains }
    }

    pub fn of(&self, stack: u32) -> &Chain {
        self.chains.get(stack as usize).unwrap_or(&self.chains[EMPTY as usize])
    }
}
