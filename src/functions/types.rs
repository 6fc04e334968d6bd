//! Which predefined data types make the same type signature.
//!
//! MPI wants equal types on all ranks (MPI 4.1, section 3.3.1); programs mix the names that C and Fortran have for one
//! type of the machine, and these go together everywhere. So types are told apart by kind and width only, and what has
//! neither is not compared: MPI_BYTE and MPI_PACKED, pairs of values (MPI_2INT is two MPI_INT), logical types,
//! MPI_WCHAR.
//!
//! Derived types are told apart by the sequence of such types. Their name in a trace has the code of it.

/// A type of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Basic {
    kind: ElementKind,
    /// Bytes; `None`: the Fortran compiler's options decide.
    bytes: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ElementKind {
    /// A character, or an integer of one byte.
    Character,
    Signed,
    Unsigned,
    Float,
    Complex,
}

impl Basic {
    /// As a number, of which the lowest byte is the width; 0 is none.
    #[must_use]
    pub fn code(self) -> u32 {
        (self.kind as u32 + 1) << 8 | self.bytes.unwrap_or(0)
    }

    /// True if the types of these numbers are known to be different ones.
    #[must_use]
    pub fn codes_differ(one: u32, other: u32) -> bool {
        let [kinds, widths] = [8, 0].map(|shift| (one >> shift & 0xff, other >> shift & 0xff));
        let differ = |(one, other): (u32, u32)| one != 0 && other != 0 && one != other;
        differ(kinds) || kinds.0 == kinds.1 && differ(widths)
    }
}

/// Sets of the types of messages: a bit for each of `CLASSES`, for sequences of several and for all others.
pub mod classes {
    /// Messages of derived types with several basic types.
    pub const MIXED: u16 = 1 << 14;
    /// Messages that match several types or all: empty ones, those of types that are not compared.
    pub const OTHER: u16 = 1 << 15;
}

/// The classes of basic types that a set tells apart, each by the name of one of its types.
const CLASSES: [&str; 14] = [
    "MPI_CHAR",
    "MPI_SHORT",
    "MPI_INT",
    "MPI_LONG",
    "MPI_INTEGER",
    "MPI_UNSIGNED",
    "MPI_UNSIGNED_LONG",
    "MPI_FLOAT",
    "MPI_DOUBLE",
    "MPI_LONG_DOUBLE",
    "MPI_REAL",
    "MPI_C_FLOAT_COMPLEX",
    "MPI_C_DOUBLE_COMPLEX",
    "MPI_COMPLEX",
];

/// The set of the one type with this [`code`].
#[must_use]
pub fn class(code: u32) -> u16 {
    if is_sequence(code) {
        return classes::MIXED;
    }
    let found = CLASSES.iter().position(|name| basic(name).is_some_and(|basic| basic.code() == code));
    found.map_or(classes::OTHER, |place| 1 << place)
}

/// A number for the kind of the one type of a set; `None`: it is not compared.
#[must_use]
pub fn kind_of(set: u16) -> Option<u16> {
    // Of each class, then of sequences of several.
    const KINDS: [u16; 15] = [1, 2, 2, 2, 2, 3, 3, 4, 4, 4, 4, 5, 5, 5, 6];
    KINDS.get(set.trailing_zeros() as usize).copied()
}

/// The names of the types of a set, but [`classes::OTHER`]; of types that the Fortran compiler's options decide both.
pub fn names(set: u16) -> impl Iterator<Item = &'static str> {
    let all = CLASSES.into_iter().chain([DERIVED]).enumerate();
    all.filter(move |(place, _)| set >> place & 1 != 0).map(|(_, name)| match name {
        "MPI_REAL" => "MPI_REAL or MPI_DOUBLE_PRECISION",
        "MPI_COMPLEX" => "MPI_COMPLEX or MPI_DOUBLE_COMPLEX",
        name => name,
    })
}

/// The types of messages sent of which no receive can have taken one, by the sets of both.
#[must_use]
pub fn not_received(sent: u16, received: u16) -> u16 {
    // A receive of several types also takes what is like their beginning.
    let takes_all = received & (classes::OTHER | classes::MIXED) != 0;
    if takes_all { 0 } else { unlike(sent & !classes::OTHER, received) }
}

/// The types of receives of which no message can have been, by the sets of both.
#[must_use]
pub fn not_sent(received: u16, sent: u16) -> u16 {
    let fits_all = sent & classes::OTHER != 0;
    if fits_all { 0 } else { unlike(received & !(classes::OTHER | classes::MIXED), sent) }
}

/// The types of a set that are known to differ from all of another set.
fn unlike(set: u16, others: u16) -> u16 {
    // A sequence differs from each basic type.
    let codes = |set: u16| names(set).map(|name| code(name).unwrap_or(MIXED | 0xff01));
    let differs = |code: u32| codes(others).all(|other| Basic::codes_differ(code, other));
    (0..u16::BITS).map(|place| set & 1 << place).filter(|one| codes(*one).any(differs)).sum()
}

/// The name of every data type that a program made.
pub const DERIVED: &str = "derived";

/// In a code: of a sequence of different types.
const MIXED: u32 = 1 << 23;

/// True if the code is that of a sequence of different types.
#[must_use]
pub fn is_sequence(code: u32) -> bool {
    code & MIXED != 0
}

/// The code of a sequence of basic types, by their codes; 0: none.
#[must_use]
pub fn code_of(sequence: &[u32]) -> u32 {
    match sequence {
        [] => 0,
        [one] => *one,
        // FNV-1a, of which 22 bits differ from sequence to sequence; the lowest byte is not 0.
        several => {
            let step = |hash: u64, code: &u32| (hash ^ u64::from(*code)).wrapping_mul(0x0100_0000_01b3);
            MIXED | (several.iter().fold(0xcbf2_9ce4_8422_2325, step) >> 40) as u32 & (MIXED - 1) | 1
        }
    }
}

/// The name under which a trace has a derived type with this code.
#[must_use]
pub fn derived_name(code: u32) -> String {
    if code == 0 { DERIVED.to_owned() } else { format!("{DERIVED}#{code:x}") }
}

/// The name for people of a type with this name in a trace.
#[must_use]
pub fn plain_name(name: &str) -> &str {
    let (plain, code) = name.split_once('#').unwrap_or((name, ""));
    if plain == DERIVED && !code.is_empty() { plain } else { name }
}

/// The code of a type with this name in a trace; `None`: it is not compared.
#[must_use]
pub fn code(name: &str) -> Option<u32> {
    match name.strip_prefix(DERIVED) {
        Some(rest) => u32::from_str_radix(rest.strip_prefix('#')?, 16).ok(),
        None => basic(name).map(Basic::code),
    }
}

/// The type of this name, on machines on which int has 4 bytes and long and addresses have 8; `None`: it is not
/// compared.
#[must_use]
pub fn basic(name: &str) -> Option<Basic> {
    use ElementKind::{Character, Complex, Float, Signed, Unsigned};
    let (kind, bytes) = match name.strip_prefix("MPI_")? {
        "CHAR" | "CHARACTER" | "SIGNED_CHAR" | "UNSIGNED_CHAR" | "INT8_T" | "UINT8_T" | "INTEGER1" => (Character, 1),
        "SHORT" | "INT16_T" | "INTEGER2" => (Signed, 2),
        "INT" | "INT32_T" | "INTEGER4" => (Signed, 4),
        "LONG" | "LONG_LONG" | "LONG_LONG_INT" | "INT64_T" | "INTEGER8" | "AINT" | "OFFSET" | "COUNT" => (Signed, 8),
        "INTEGER16" => (Signed, 16),
        "UNSIGNED_SHORT" | "UINT16_T" => (Unsigned, 2),
        "UNSIGNED" | "UINT32_T" => (Unsigned, 4),
        "UNSIGNED_LONG" | "UNSIGNED_LONG_LONG" | "UINT64_T" => (Unsigned, 8),
        "REAL2" => (Float, 2),
        "FLOAT" | "REAL4" => (Float, 4),
        "DOUBLE" | "REAL8" => (Float, 8),
        "LONG_DOUBLE" | "REAL16" => (Float, 16),
        "COMPLEX4" => (Complex, 4),
        "C_COMPLEX" | "C_FLOAT_COMPLEX" | "CXX_FLOAT_COMPLEX" | "COMPLEX8" => (Complex, 8),
        "C_DOUBLE_COMPLEX" | "CXX_DOUBLE_COMPLEX" | "COMPLEX16" => (Complex, 16),
        "C_LONG_DOUBLE_COMPLEX" | "CXX_LONG_DOUBLE_COMPLEX" | "COMPLEX32" => (Complex, 32),
        "INTEGER" => return Some(Basic { kind: Signed, bytes: None }),
        "REAL" | "DOUBLE_PRECISION" => return Some(Basic { kind: Float, bytes: None }),
        "COMPLEX" | "DOUBLE_COMPLEX" => return Some(Basic { kind: Complex, bytes: None }),
        _ => return None,
    };
    Some(Basic { kind, bytes: Some(bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(one: &str, other: &str) -> bool {
        let both = [(one, other), (other, one)].map(|(one, other)| match (basic(one), basic(other)) {
            (Some(one), Some(other)) => Basic::codes_differ(one.code(), other.code()),
            _ => false,
        });
        assert_eq!(both[0], both[1], "{one} and {other}");
        both[0]
    }

    #[test]
    fn a_type_of_fortran_that_is_not_known_is_named_by_both() {
        let name = |datatype: &str| names(class(basic(datatype).unwrap().code())).collect::<Vec<_>>();
        assert_eq!(name("MPI_DOUBLE_PRECISION"), ["MPI_REAL or MPI_DOUBLE_PRECISION"]);
        assert_eq!(name("MPI_DOUBLE_PRECISION"), name("MPI_REAL"));
        assert_eq!((name("MPI_INTEGER"), name("MPI_REAL8")), (vec!["MPI_INTEGER"], vec!["MPI_DOUBLE"]));
    }

    #[test]
    fn names_of_one_type_go_together() {
        let types: [&[&str]; 8] = [
            &["MPI_CHAR", "MPI_SIGNED_CHAR", "MPI_UNSIGNED_CHAR", "MPI_INT8_T", "MPI_UINT8_T", "MPI_CHARACTER"],
            &["MPI_INT", "MPI_INT32_T", "MPI_INTEGER4"],
            &["MPI_LONG", "MPI_LONG_LONG", "MPI_LONG_LONG_INT", "MPI_INT64_T", "MPI_AINT", "MPI_OFFSET", "MPI_COUNT"],
            &["MPI_UNSIGNED", "MPI_UINT32_T"],
            &["MPI_UNSIGNED_LONG", "MPI_UNSIGNED_LONG_LONG", "MPI_UINT64_T"],
            &["MPI_FLOAT", "MPI_REAL4"],
            &["MPI_DOUBLE", "MPI_REAL8"],
            &["MPI_C_DOUBLE_COMPLEX", "MPI_CXX_DOUBLE_COMPLEX", "MPI_COMPLEX16"],
        ];
        for (number, names) in types.iter().enumerate() {
            for one in *names {
                names.iter().for_each(|other| assert!(!differ(one, other), "{one} and {other}"));
                for other in types[..number].iter().flat_map(|names| *names) {
                    assert!(differ(one, other), "{one} and {other}");
                }
            }
        }
    }

    #[test]
    fn derived_types_have_the_code_of_their_sequence() {
        let [int, double] = ["MPI_INT", "MPI_DOUBLE"].map(|name| basic(name).unwrap().code());
        let codes = [code_of(&[int]), code_of(&[int, double]), code_of(&[double, int])];
        assert_eq!(codes[0], int);
        for (place, one) in codes.iter().enumerate() {
            assert_eq!(code(&derived_name(*one)), Some(*one));
            assert_eq!(plain_name(&derived_name(*one)), DERIVED);
            assert!(codes[..place].iter().all(|other| Basic::codes_differ(*one, *other)), "{codes:x?}");
            assert!(codes.iter().all(|code| code >> 24 == 0));
        }
        assert_eq!((code_of(&[]), &derived_name(0)[..], code(DERIVED), code("MPI_INT")), (0, DERIVED, None, Some(int)));
        assert_eq!(["mine#1", "derived#", "MPI_INT"].map(plain_name), ["mine#1", "derived#", "MPI_INT"]);
    }

    #[test]
    fn sets_of_types_say_what_no_receive_takes_and_no_message_is() {
        let set = |names: &[&str]| names.iter().fold(0, |set, name| set | class(code(name).unwrap_or(0)));
        let mixed = class(code_of(&[1, 2]));
        let [int, float, long] = ["MPI_INT32_T", "MPI_REAL4", "MPI_LONG"].map(|name| set(&[name]));
        let cases = [
            (int, int, 0, 0),
            (int, float, int, float),
            (int | float, float, int, 0),
            (int, int | float, 0, float),
            (int, set(&["MPI_INTEGER"]), 0, 0),
            (set(&["MPI_INTEGER"]), int | long, 0, 0),
            (int, set(&["MPI_BYTE"]), 0, 0),
            (set(&["MPI_PACKED"]), int, 0, 0),
            (int | set(&["MPI_PACKED"]), float, int, 0),
            (int, float | set(&["MPI_PACKED"]), 0, float),
            (mixed, int, mixed, int),
            (int, mixed, 0, 0),
            (mixed, mixed, 0, 0),
        ];
        for (sent, received, expected_sent, expected_received) in cases {
            let found = (not_received(sent, received), not_sent(received, sent));
            assert_eq!(found, (expected_sent, expected_received), "{sent:x} {received:x}");
        }
        assert_eq!(names(int | float | mixed).collect::<Vec<_>>(), ["MPI_INT", "MPI_FLOAT", DERIVED]);
        assert!(CLASSES.iter().enumerate().all(|(place, name)| set(&[name]) == 1 << place));
        let kind = |place: usize| code(CLASSES[place]).unwrap() >> 8;
        for (one, other) in (0..CLASSES.len()).flat_map(|one| (0..CLASSES.len()).map(move |other| (one, other))) {
            let [first, second] = [one, other].map(|place| kind_of(1 << place));
            assert_eq!(first == second, kind(one) == kind(other), "{one} {other}");
        }
        assert_eq!([mixed, classes::OTHER, 0].map(kind_of), [Some(6), None, None]);
        assert_eq!(["MPI_SHORT_INT", "MPI_INTEGER16", "derived"].map(|name| set(&[name])), [classes::OTHER; 3]);
    }

    #[test]
    fn what_may_be_the_same_is_not_told_apart() {
        // A library for programs that are compiled with integers or reals of 8 bytes.
        let wide = [("MPI_INTEGER", ["MPI_INT", "MPI_LONG"]), ("MPI_REAL", ["MPI_FLOAT", "MPI_DOUBLE"])];
        let more = [("MPI_DOUBLE_PRECISION", ["MPI_DOUBLE", "MPI_REAL16"]), ("MPI_COMPLEX", ["MPI_C_COMPLEX"; 2])];
        for (fortran, names) in wide.into_iter().chain(more) {
            names.iter().for_each(|c| assert!(!differ(fortran, c), "{fortran} and {c}"));
        }
        assert!(differ("MPI_INTEGER", "MPI_REAL"));
        assert!(!Basic::codes_differ(0, basic("MPI_INT").unwrap().code()));
        for name in ["MPI_BYTE", "MPI_PACKED", "MPI_2INT", "MPI_DOUBLE_INT", "MPI_C_BOOL", "derived", "mine", ""] {
            assert_eq!(basic(name), None, "{name}");
        }
    }
}
