//! The frames of a Python program, read from the interpreter's structures in its memory: CPython 3.11 to 3.13.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use object::{Object, ObjectSegment, ObjectSymbol, ReadCache};

use super::frames;
use super::memory::{Map, Memory};

/// No more frames, threads or characters.
const MOST: usize = 4096;
/// The value of `owner` of a frame between Python's and the interpreter's.
const OWNED_BY_C: u8 = 3;

/// `PyCodeObject.co_filename` and `co_qualname`.
const FILE: u64 = 112;
const NAME: u64 = 128;
/// The files of Python's own code begin so.
const FROZEN: &str = "<frozen";

/// Where the fields of the structures are, bytes; as `offsetof` has them in the headers of 3.11.7, 3.12.1 and 3.13.0.
struct Layout {
    /// `PyThreadState.native_thread_id`.
    native: u64,
    /// From a thread state to the pointer to its frame: offsets to follow.
    frame: &'static [u64],
    /// `_PyInterpreterFrame.f_code`, `previous`, `owner`; the instruction is at 56 in each.
    code: u64,
    previous: u64,
    owner: u64,
    /// `PyCodeObject.co_firstlineno` and `co_code_adaptive`.
    first_line: u64,
    instructions: u64,
    /// The size of `PyASCIIObject` and of `PyCompactUnicodeObject`, behind which the characters are.
    text: [u64; 2],
}

#[rustfmt::skip]
const LAYOUTS: [(u64, Layout); 3] = [
    (11, Layout { native: 160, frame: &[56, 8], code: 32, previous: 48, owner: 69, first_line: 72, instructions: 184,
        text: [48, 72] }),
    (12, Layout { native: 144, frame: &[56, 0], code: 0, previous: 8, owner: 70, first_line: 68, instructions: 192,
        text: [40, 56] }),
    (13, Layout { native: 160, frame: &[72], code: 0, previous: 8, owner: 70, first_line: 68, instructions: 200,
        text: [40, 56] }),
];

/// An interpreter in another process.
pub struct Interpreter {
    memory: Memory,
    layout: &'static Layout,
    /// The second number of its version.
    minor: u64,
    /// The first thread of the main interpreter.
    threads: u64,
    /// The type of code, and the loop that runs it.
    code_type: u64,
    evaluate: Range<u64>,
    /// The file and the name of a code, and its function; `None`: one of Python's own.
    known: HashMap<u64, ([u64; 2], Option<Arc<str>>)>,
}

/// What `read` finds in the interpreter of a process by the ranges of its symbols.
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
    /// That of a process. `None`: it has none, or one of another version.
    pub fn find(memory: Memory, maps: &[Map], root: &str) -> Option<Interpreter> {
        of_interpreter(maps, root, |at| {
            let minor = memory.word(at(b"Py_Version")?.start)? >> 16 & 0xff;
            let (_, layout) = LAYOUTS.iter().find(|(known, _)| *known == minor)?;
            let runtime = at(b"_PyRuntime")?.start;
            // From 3.13 on the first words say where the fields of the larger structures are.
            let [interpreters, threads] = match minor {
                11 => [40, 16],
                12 => [40, 72],
                _ if memory.word(runtime + 16)? != 0 => return None,
                _ => [memory.word(runtime + 5 * 8)?, memory.word(runtime + 9 * 8)?],
            };
            let interpreter = memory.word(runtime.wrapping_add(interpreters))?;
            let threads = memory.word(interpreter.wrapping_add(threads))?;
            let (code_type, evaluate) = (at(b"PyCode_Type")?.start, at(b"_PyEval_EvalFrameDefault")?);
            Some(Interpreter { memory, layout, minor, threads, code_type, evaluate, known: HashMap::new() })
        })
    }

    /// The function of Python that the interpreter's loop runs in a sample, as `Solver.step (solver.py)`, by an address in
    /// the loop and the bytes of the loop's frame. `None`: it is not known, or the address is not in the loop.
    ///
    /// The loop of 3.11 keeps the address of the function's first instruction in its frame, and code is seldom freed: it
    /// can be read after the sample was taken. Callers in Python are not in the frame. Until the loop has begun the word
    /// is an older one; then no register points into that code. `registers`: those of the loop, if it has called nothing.
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
        if registers.is_some_and(|all| !words(all).any(|word| (first..behind).contains(&word))) {
            return None;
        }
        let names = [self.word(code, FILE)?, self.word(code, NAME)?];
        match self.known.get(&code) {
            Some((known, name)) if *known == names => name.clone(),
            _ => {
                let (file, name) = (self.text(names[0])?, self.text(names[1])?);
                let name = (!file.starts_with(FROZEN)).then(|| format!("{name} ({})", last_of(&file)).into());
                self.known.insert(code, (names, name.clone()));
                name
            }
        }
    }

    /// The frames of a thread of the process, the outermost first; none where it runs no Python.
    pub fn frames(&self, tid: u32) -> Vec<String> {
        let next = |thread: &u64| self.word(*thread, 8);
        let mut threads = std::iter::successors(Some(self.threads), next).take_while(|thread| *thread != 0).take(MOST);
        let Some(thread) = threads.find(|&thread| self.word(thread, self.layout.native) == Some(tid.into())) else {
            return Vec::new();
        };
        let first = self.layout.frame.iter().try_fold(thread, |address, offset| self.word(address, *offset));
        let frames = std::iter::successors(first, |frame| self.word(*frame, self.layout.previous));
        let frames = frames.take_while(|frame| *frame != 0).take(MOST);
        let mut texts: Vec<String> = frames.filter_map(|frame| self.frame(frame)).collect();
        texts.reverse();
        texts
    }

    fn word(&self, address: u64, offset: u64) -> Option<u64> {
        self.memory.word(address.wrapping_add(offset))
    }

    /// `Solver.step (solver.py:12)`.
    fn frame(&self, frame: u64) -> Option<String> {
        let Layout { code, owner, first_line, instructions, .. } = self.layout;
        if self.memory.read(frame.wrapping_add(*owner), 1)? == [OWNED_BY_C] {
            return None;
        }
        let code = self.word(frame, *code)?;
        let [file, name, table] = [FILE, NAME, 136].map(|offset| self.word(code, offset));
        let (file, name) = (self.text(file?)?, self.text(name?)?);
        if file.starts_with(FROZEN) {
            return None;
        }
        let length = self.word(table?, 16)?.min(1 << 20) as usize;
        let table = self.memory.read(table?.wrapping_add(32), length)?;
        let first = self.word(code, *first_line)? as u32;
        let unit = self.word(frame, 56)?.wrapping_sub(code.wrapping_add(*instructions)) / 2;
        let line = line(&table, first.into(), unit).map(|line| format!(":{line}")).unwrap_or_default();
        Some(format!("{name} ({}{line})", last_of(&file)))
    }

    /// A string of Python.
    fn text(&self, address: u64) -> Option<String> {
        let (length, state) = (self.word(address, 16)?.min(MOST as u64) as usize, self.word(address, 32)?);
        let (size, is_ascii) = ((state >> 2 & 7) as usize, state >> 6 & 1 == 1);
        let at = self.layout.text[usize::from(!is_ascii)];
        let bytes = self.memory.read(address.wrapping_add(at), length * size)?;
        let character = |bytes: &[u8]| {
            let number = bytes.iter().rev().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
            char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)
        };
        Some(bytes.chunks(size.max(1)).map(character).collect())
    }
}

fn last_of(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word))
}

/// The line of an instruction by the table of its code (Objects/locations.md of CPython). An entry begins with a byte
/// whose highest bit is set: the kind of the entry, and how many instructions it is of.
fn line(table: &[u8], first: i64, instruction: u64) -> Option<i64> {
    let (mut line, mut at) = (first, 0);
    let mut rest = table;
    while let [head, behind @ ..] = rest {
        let length = behind.iter().position(|byte| byte & 0x80 != 0).unwrap_or(behind.len());
        let (entry, next) = behind.split_at(length);
        let kind = head >> 3 & 15;
        line += match kind {
            10..=12 => i64::from(kind - 10),
            13 | 14 => signed(entry),
            _ => 0,
        };
        at += u64::from(head & 7) + 1;
        if instruction < at {
            return Some(line).filter(|_| kind != 15);
        }
        rest = next;
    }
    None
}

/// A number in groups of six bits, the lowest first; its lowest bit is the sign.
fn signed(bytes: &[u8]) -> i64 {
    let length = bytes.iter().position(|byte| byte & 0x40 == 0).unwrap_or(bytes.len()).min(8);
    let groups = bytes.iter().take(length + 1).enumerate();
    let number = groups.fold(0i64, |number, (index, byte)| number | i64::from(byte & 0x3f) << (6 * index));
    if number & 1 == 1 { -(number >> 1) } else { number >> 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_an_instruction_is_found_in_the_table_of_its_code() {
        // Two instructions without a change, one of the next line, three 70 lines before, one without a line.
        let table = [0x81, 0x00, 0x80 | 11 << 3, 1, 2, 0x80 | 13 << 3 | 2, 0x40 | 13, 2, 0x80 | 15 << 3];
        let lines: Vec<Option<i64>> = (0..8).map(|unit| line(&table, 100, unit)).collect();
        let expected = [Some(100), Some(100), Some(101), Some(31), Some(31), Some(31), None, None];
        assert_eq!(lines, expected);
    }
}
