//! Where CPython 3.8 to 3.13 has the frames of a thread, and what a frame says of its place in the source.
//!
//! The offsets are those that `offsetof` gives with the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1 and 3.13.0.
//! Structures do not change within a minor version.

/// No more characters of a name.
const MOST: usize = 4096;
/// The value of `owner` of a frame between Python's and the interpreter's.
const OWNED_BY_C: u8 = 3;
/// `ob_size` and `ob_sval` of a `PyBytesObject`.
const BYTES: [u64; 2] = [16, 32];

/// The memory that an interpreter is in.
pub trait Memory {
    /// So many bytes from this address on. `None`: they cannot be read.
    fn read(&self, address: u64, length: usize) -> Option<Vec<u8>>;

    /// A word.
    fn word(&self, address: u64) -> Option<u64> {
        Some(u64::from_ne_bytes(self.read(address, 8)?.try_into().ok()?))
    }
}

/// How the table with a code's lines is written.
#[derive(Clone, Copy, Debug)]
enum Lines {
    /// 3.8, 3.9 (`Objects/lnotab_notes.txt`): bytes of code before a change of the line, and the change.
    Changes,
    /// 3.10 (the same file): bytes of code, and the change of the line before them; -128: they have none.
    Ranges,
    /// From 3.11 on (`Objects/locations.md`).
    Locations,
}

/// Where the fields of the structures are, bytes.
#[derive(Debug)]
pub struct Layout {
    /// From a thread state to the pointer to its frame: offsets to follow.
    frame: &'static [u64],
    /// Places in a frame: its code, the frame that has called it, its instruction, and from 3.11 on its owner.
    code: u64,
    previous: u64,
    instruction: u64,
    owner: Option<u64>,
    /// The place of the first line in a code object.
    first_line: u64,
    /// Its file, its name and the table of lines.
    pub names: [u64; 3],
    /// From 3.11 on the instructions, of two bytes each.
    pub instructions: u64,
    lines: Lines,
    /// The size of `PyASCIIObject` and of `PyCompactUnicodeObject`, behind which the characters are.
    text: [u64; 2],
}

/// The layout of 3.8 and 3.9.
const FIRST: Layout = Layout {
    frame: &[24],
    code: 32,
    previous: 24,
    instruction: 104,
    owner: None,
    first_line: 40,
    names: [104, 112, 120],
    instructions: 0,
    lines: Lines::Changes,
    text: [48, 72],
};
/// The layout of 3.13.
const LAST: Layout = Layout {
    frame: &[72],
    code: 0,
    previous: 8,
    instruction: 56,
    owner: Some(70),
    first_line: 68,
    names: [112, 128, 136],
    instructions: 200,
    lines: Lines::Locations,
    text: [40, 56],
};
/// From 3.8 on.
static LAYOUTS: [Layout; 6] = [
    FIRST,
    FIRST,
    Layout { instruction: 96, lines: Lines::Ranges, ..FIRST },
    Layout {
        frame: &[56, 8],
        code: 32,
        previous: 48,
        owner: Some(69),
        first_line: 72,
        instructions: 184,
        text: [48, 72],
        ..LAST
    },
    Layout { frame: &[56, 0], instructions: 192, ..LAST },
    LAST,
];

/// The function and the line of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonPlace {
    /// The file of its code.
    pub file: String,
    /// The function; from 3.11 on with its class.
    pub name: String,
    /// The line that it is at.
    pub line: Option<i64>,
}

impl Layout {
    /// The layout of Python 3 of this minor version.
    pub fn of_version(minor: u64) -> Option<&'static Layout> {
        LAYOUTS.get(usize::try_from(minor.checked_sub(8)?).ok()?)
    }

    /// The innermost frame of a thread by its `PyThreadState`.
    pub fn innermost(&self, memory: &impl Memory, thread: u64) -> Option<u64> {
        let mut offsets = self.frame.iter();
        offsets.try_fold(thread, |address, offset| word(memory, address, *offset)).filter(|&frame| frame != 0)
    }

    /// The frame that has called this one.
    pub fn outer(&self, memory: &impl Memory, frame: u64) -> Option<u64> {
        word(memory, frame, self.previous).filter(|&frame| frame != 0)
    }

    /// The code of a frame.
    pub fn code(&self, memory: &impl Memory, frame: u64) -> Option<u64> {
        word(memory, frame, self.code)
    }

    /// The difference between instructions. Code may lie where other code has lain: so there is what the table of lines
    /// is made of, too, by its ends and length.
    pub fn instruction(&self, memory: &impl Memory, frame: u64, code: u64) -> Option<[u64; 7]> {
        let [file, _, table] = self.names;
        let table = word(memory, code, table)?;
        let length = word(memory, table, BYTES[0])?;
        // Eight bytes are there of the shortest, and before the first one is a field of the object.
        let [head, tail] = [0, length.wrapping_sub(8)].map(|from| word(memory, table, BYTES[1].wrapping_add(from)));
        let first = word(memory, code, self.first_line)? << 32 | length & 0xffff_ffff;
        Some([code, self.counter(memory, frame)?, word(memory, code, file)?, table, first, head?, tail?])
    }

    /// The address of the instruction; before 3.11 its number.
    fn counter(&self, memory: &impl Memory, frame: u64) -> Option<u64> {
        let counter = word(memory, frame, self.instruction)?;
        // Before 3.11 an int, beside another one.
        Some(if matches!(self.lines, Lines::Locations) { counter } else { counter & 0xffff_ffff })
    }

    /// The place of a frame. `None`: it is none of Python's.
    pub fn place(&self, memory: &impl Memory, frame: u64) -> Option<PythonPlace> {
        if let Some(owner) = self.owner
            && memory.read(frame.wrapping_add(owner), 1)? == [OWNED_BY_C]
        {
            return None;
        }
        let code = self.code(memory, frame)?;
        let [file, name, _] = self.names.map(|offset| word(memory, code, offset));
        let line = self.line_of(memory, frame, code)?;
        Some(PythonPlace { file: self.text(memory, file?)?, name: self.text(memory, name?)?, line })
    }

    /// The line that a frame of this code is at. `Some(None)`: it has none.
    pub fn line_of(&self, memory: &impl Memory, frame: u64, code: u64) -> Option<Option<i64>> {
        self.line(memory, code, self.counter(memory, frame)?)
    }

    /// The line of a code at the address of an instruction; before 3.11 at its number. `Some(None)`: it has none.
    pub fn line(&self, memory: &impl Memory, code: u64, counter: u64) -> Option<Option<i64>> {
        let [_, _, table] = self.names;
        let table = word(memory, code, table)?;
        let length = word(memory, table, BYTES[0])?.min(1 << 20) as usize;
        let table = memory.read(table.wrapping_add(BYTES[1]), length)?;
        let first = i64::from(word(memory, code, self.first_line)? as u32);
        Some(match self.lines {
            Lines::Changes => Some(by_changes(&table, first, counter)),
            Lines::Ranges => by_ranges(&table, first, counter * 2),
            Lines::Locations => {
                by_locations(&table, first, counter.wrapping_sub(code.wrapping_add(self.instructions)) / 2)
            }
        })
    }

    /// A string of Python.
    pub fn text(&self, memory: &impl Memory, address: u64) -> Option<String> {
        let (length, state) = (word(memory, address, 16)?.min(MOST as u64) as usize, word(memory, address, 32)?);
        let (size, is_ascii) = ((state >> 2 & 7) as usize, state >> 6 & 1 == 1);
        let at = self.text[usize::from(!is_ascii)];
        let bytes = memory.read(address.wrapping_add(at), length * size)?;
        let character = |bytes: &[u8]| {
            let number = bytes.iter().rev().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
            char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)
        };
        Some(bytes.chunks(size.max(1)).map(character).collect())
    }
}

fn word(memory: &impl Memory, address: u64, offset: u64) -> Option<u64> {
    memory.word(address.wrapping_add(offset))
}

/// The line of the code at a byte.
fn by_changes(table: &[u8], first: i64, byte: u64) -> i64 {
    let (mut line, mut at) = (first, 0);
    for entry in table.chunks_exact(2) {
        at += u64::from(entry[0]);
        if at > byte {
            break;
        }
        line += i64::from(entry[1].cast_signed());
    }
    line
}

/// The line of the code at a byte, where that has one.
fn by_ranges(table: &[u8], first: i64, byte: u64) -> Option<i64> {
    let (mut line, mut end) = (first, 0);
    for entry in table.chunks_exact(2) {
        end += u64::from(entry[0]);
        let change = entry[1].cast_signed();
        if change != i8::MIN {
            line += i64::from(change);
        }
        if byte < end {
            return (change != i8::MIN).then_some(line);
        }
    }
    None
}

/// The line of an instruction. An entry begins with a byte whose highest bit is set: the kind of the entry, and how
/// many instructions it is of.
fn by_locations(table: &[u8], first: i64, instruction: u64) -> Option<i64> {
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
        let lines: Vec<Option<i64>> = (0..8).map(|unit| by_locations(&table, 100, unit)).collect();
        let expected = [Some(100), Some(100), Some(101), Some(31), Some(31), Some(31), None, None];
        assert_eq!(lines, expected);
    }

    #[test]
    fn the_tables_before_3_11_are_of_bytes() {
        // Line 10 for 4 bytes, then 12 for 2, then 9.
        let lines: Vec<i64> = (0..8).map(|byte| by_changes(&[4, 2, 2, 0xfd], 10, byte)).collect();
        assert_eq!(lines, [10, 10, 10, 10, 12, 12, 9, 9]);
        // Line 10 for 4 bytes, none for 2, then 9.
        let lines: Vec<Option<i64>> = (0..9).map(|byte| by_ranges(&[4, 0, 2, 0x80, 2, 0xff], 10, byte)).collect();
        let expected = [[Some(10); 4].as_slice(), &[None, None, Some(9), Some(9), None]].concat();
        assert_eq!(lines, expected);
    }
}
