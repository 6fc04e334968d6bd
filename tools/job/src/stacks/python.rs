//! The frames of a Python program, read from the interpreter's structures in its memory: CPython 3.11 to 3.13.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use mpitrace_platform::python::{self, Layout, Memory as _};
use object::{Object, ObjectSegment, ObjectSymbol, ReadCache};

use super::frames;
use super::memory::{Map, Memory, Pages};

/// No more frames or threads.
const MOST: usize = 4096;
/// The files of Python's own code begin so.
const FROZEN: &str = "<frozen";
/// Modules of Python and of others lie in a folder of this name.
const LIBRARY: &str = "/lib/python";
/// Code within a function that has no name of its own: it is the function's. The last one may be called by others.
const NAMELESS: [&str; 4] = ["<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"];

/// The name and the file of a code; `None`: it is one of Python's own.
type Names = Option<[Arc<str>; 2]>;

/// An interpreter in another process.
pub struct Interpreter {
    memory: Memory,
    layout: &'static Layout,
    /// The second number of its version.
    minor: u64,
    /// The first thread of the main interpreter.
    threads: u64,
    /// Where a thread's state has the number of the thread.
    native: u64,
    /// The type of code, and the loop that runs it.
    code_type: u64,
    evaluate: Range<u64>,
    /// Where the file and the name of a code are, and the texts.
    known: HashMap<u64, ([u64; 2], Names)>,
}

/// The findings of `read` in the interpreter of a process by the ranges of its symbols.
fn of_interpreter<T>(
    maps: &[Map],
    root: &str,
    mut read: impl FnMut(&dyn Fn(&[u8]) -> Option<Range<u64>>) -> Option<T>,
) -> Option<T> {
    let begins = |map: &&Map| map.offset == 0 && frames::is_python(&map.path);
    maps.iter().filter(begins).find_map(|map| {
        let cache = ReadCache::new(File::open(format!("{root}{}", map.path)).ok()?);
        let object = object::File::parse(&cache).ok()?;
        let first = object.segments().next()?.address() & !0xfff;
        read(&|name| {
            let symbol = object.dynamic_symbols().find(|symbol| symbol.name_bytes() == Ok(name))?;
            let start = map.range.start.wrapping_sub(first).wrapping_add(symbol.address());
            Some(start..start.checked_add(symbol.size())?)
        })
    })
}

impl Interpreter {
    /// The interpreter of a process. `None`: it has none, or one of another version.
    pub fn find(memory: Memory, maps: &[Map], root: &str) -> Option<Interpreter> {
        of_interpreter(maps, root, |at| {
            let minor = memory.word(at(b"Py_Version")?.start)? >> 16 & 0xff;
            let runtime = at(b"_PyRuntime")?.start;
            // From 3.13 on the first words say where the fields of the larger structures are.
            let [interpreters, threads, native] = match minor {
                11 => [40, 16, 160],
                12 => [40, 72, 144],
                _ if memory.word(runtime + 16)? != 0 => return None,
                _ => [memory.word(runtime + 5 * 8)?, memory.word(runtime + 9 * 8)?, 160],
            };
            let interpreter = memory.word(runtime.wrapping_add(interpreters))?;
            let threads = memory.word(interpreter.wrapping_add(threads))?;
            let (code_type, evaluate) = (at(b"PyCode_Type")?.start, at(b"_PyEval_EvalFrameDefault")?);
            let layout = Layout::of_version(minor)?;
            Some(Interpreter { memory, layout, minor, threads, native, code_type, evaluate, known: HashMap::new() })
        })
    }

    /// The function of Python that the interpreter's loop runs in a sample, as `Solver.step (solver.py:12)`, by an
    /// address in the loop and the bytes of the loop's frame. The line is known where the loop has called nothing.
    /// `None`: the function is not known, or the address is not in the loop.
    ///
    /// The loop of 3.11 keeps the address of the function's first instruction in its frame, and code is seldom freed:
    /// it can be read after the sample was taken. Callers in Python are not in the frame. Until the loop has begun the
    /// word is an older one; then no register points into that code. `registers`: those of the loop, if it has called
    /// nothing.
    pub fn function(&mut self, address: u64, frame: &[u8], registers: Option<&[u8]>) -> Option<Arc<str>> {
        if self.minor != 11 || !self.evaluate.contains(&address) {
            return None;
        }
        let of_code = words(frame).filter_map(|word| {
            let code = word.checked_sub(self.layout.instructions)?;
            // As all of Python's objects lie, and so that few words are looked up.
            (code % 16 == 0 && self.word(code, 8) == Some(self.code_type)).then_some(code)
        });
        let mut codes = of_code.collect::<Vec<u64>>().into_iter();
        let code = codes.next()?;
        if codes.any(|other| other != code) {
            return None;
        }
        let first = code.wrapping_add(self.layout.instructions);
        let behind = first.wrapping_add(2 * self.word(code, 16)?.min(1 << 30));
        let within = |all| words(all).filter(|word| (first..behind).contains(word)).collect::<Vec<u64>>();
        let pointers = registers.map(within);
        if pointers.as_ref().is_some_and(Vec::is_empty) {
            return None;
        }
        let memory = self.memory;
        let [name, file] = self.names_of(&memory, code)?;
        // The loop has gone on to the next instruction, or is at one.
        let last = pointers.iter().flatten().filter(|pointer| **pointer > first).max();
        let line = last.and_then(|next| self.layout.line(&self.memory, code, next - 2)?);
        Some(text(&name, &file, line).into())
    }

    /// The name and the file of a code; `None`: it is one of Python's own, or cannot be read.
    fn names_of(&mut self, memory: &impl python::Memory, code: u64) -> Names {
        let word = |offset: u64| memory.word(code.wrapping_add(offset));
        let names = [word(self.layout.names[0])?, word(self.layout.names[1])?];
        if let Some((known, texts)) = self.known.get(&code)
            && *known == names
        {
            return texts.clone();
        }
        let [file, name] = names.map(|name| self.layout.text(memory, name));
        let (file, name) = (file?, name?);
        let texts = (!file.starts_with(FROZEN)).then(|| [name.into(), file.into()]);
        self.known.insert(code, (names, texts.clone()));
        texts
    }

    /// The functions of Python in which a thread is while it runs, the outermost first. `None`: it runs none, or it has
    /// called or left a function meanwhile.
    pub fn chain(&mut self, tid: u32) -> Option<Vec<Arc<str>>> {
        let (layout, pages) = (self.layout, Pages::new(self.memory));
        let thread = self.thread(&pages, tid)?;
        let before = layout.innermost(&pages, thread)?;
        let code_before = layout.code(&pages, before)?;
        let (mut texts, mut next) = (Vec::new(), Some(before));
        while let Some(frame) = next.filter(|_| texts.len() < MOST) {
            let code = layout.code(&pages, frame)?;
            // Frames of C have other things there.
            if pages.word(code.wrapping_add(8)) == Some(self.code_type)
                && let Some([name, file]) = self.names_of(&pages, code)
                && !NAMELESS[..3].iter().any(|nameless| name.ends_with(nameless))
            {
                texts.push(text(&name, &file, layout.line_of(&pages, frame, code)?).into());
            }
            next = layout.outer(&pages, frame);
        }
        texts.reverse();
        let is_there = layout.innermost(&self.memory, thread) == Some(before)
            && layout.code(&self.memory, before) == Some(code_before);
        (is_there && !texts.is_empty()).then_some(texts)
    }

    /// The state of a thread of the process.
    fn thread(&self, memory: &impl python::Memory, tid: u32) -> Option<u64> {
        let word = |address: u64, offset: u64| memory.word(address.wrapping_add(offset));
        let next = |thread: &u64| word(*thread, 8);
        let mut threads = std::iter::successors(Some(self.threads), next).take_while(|thread| *thread != 0).take(MOST);
        threads.find(|&thread| word(thread, self.native) == Some(tid.into()))
    }

    /// The frames of a thread of the process, the outermost first; none where it runs no Python.
    pub fn frames(&self, tid: u32) -> Vec<String> {
        let Some(thread) = self.thread(&self.memory, tid) else { return Vec::new() };
        let first = self.layout.innermost(&self.memory, thread);
        let frames = std::iter::successors(first, |frame| self.layout.outer(&self.memory, *frame)).take(MOST);
        let mut texts: Vec<String> = frames.filter_map(|frame| self.frame(frame)).collect();
        texts.reverse();
        texts
    }

    fn word(&self, address: u64, offset: u64) -> Option<u64> {
        self.memory.word(address.wrapping_add(offset))
    }

    /// `Solver.step (solver.py:12)`.
    fn frame(&self, frame: u64) -> Option<String> {
        let place = self.layout.place(&self.memory, frame).filter(|place| !place.file.starts_with(FROZEN))?;
        // The frame below it has the function's line.
        if NAMELESS[..3].iter().any(|nameless| place.name.ends_with(nameless)) {
            return None;
        }
        Some(text(&place.name, &place.file, place.line))
    }
}

/// `Solver.step (solver.py:12)`; of a library with its folders, as `findall (python3.11/re/__init__.py:240)`.
fn text(name: &str, file: &str, line: Option<i64>) -> String {
    let mut name = name;
    while let Some(rest) = NAMELESS.iter().find_map(|nameless| name.strip_suffix(nameless)) {
        name = rest.strip_suffix(".<locals>.").unwrap_or("<module>");
    }
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    let file = match file.rfind(LIBRARY) {
        Some(at) => &file[at + LIBRARY.len() - "python".len()..],
        None => file.rsplit('/').next().unwrap_or(file),
    };
    format!("{} ({file}{line})", name.replace("<locals>.", ""))
}

/// True if both texts are of one function, at whichever line.
pub fn are_same(one: &str, other: &str) -> bool {
    let function = |text: &str| match text.rsplit_once(':') {
        Some((function, line)) if line.trim_end_matches(')').bytes().all(|sign| sign.is_ascii_digit()) => {
            function.to_owned()
        }
        _ => text.trim_end_matches(')').to_owned(),
    };
    function(one) == function(other)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::{are_same, text};

    #[test]
    fn a_function_is_the_same_at_another_line() {
        assert!(are_same("f (a.py:3)", "f (a.py)") && are_same("f (a.py:3)", "f (a.py:12)"));
        assert!(!are_same("f (a.py:3)", "g (a.py:3)") && !are_same("f (a.py)", "f (b.py)"));
    }

    #[test]
    fn a_function_is_told_with_its_file_and_one_of_a_library_with_its_folders() {
        assert_eq!(text("Solver.step", "/home/me/solver.py", Some(12)), "Solver.step (solver.py:12)");
        assert_eq!(text("step", "solver.py", None), "step (solver.py)");
        assert_eq!(text("<module>", "/a/b.py", Some(3)), "<module> (b.py:3)");
        assert_eq!(text("f.<locals>.<listcomp>", "a.py", Some(3)), "f (a.py:3)");
        assert_eq!(text("f.<locals>.g.<locals>.<genexpr>", "a.py", Some(3)), "f.g (a.py:3)");
        assert_eq!(text("f.<locals>.<lambda>", "a.py", Some(3)), "f.<lambda> (a.py:3)");
        assert_eq!(text("<listcomp>", "a.py", Some(3)), "<module> (a.py:3)");
        assert_eq!(text("findall", "/usr/lib/python3.11/re/__init__.py", None), "findall (python3.11/re/__init__.py)");
        let numpy = "/x/venv/lib/python3.11/site-packages/numpy/core.py";
        assert_eq!(text("dot", numpy, Some(1)), "dot (python3.11/site-packages/numpy/core.py:1)");
    }
}
