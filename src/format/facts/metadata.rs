//! The run metadata (Hunold & Carpen-Amarie 2016, table VI): names and values as text.
//!
//! Stored as: the number of pairs, then for each pair the name and the value, a text being its length in bytes and its
//! UTF-8 bytes; numbers are varints (7 bits a byte, least first, top bit: more follow). That is what postcard makes of
//! a list of pairs.

use crate::packed::number;

/// Names and values. A name that starts with `env.` is a variable of the environment.
pub type Metadata = Vec<(String, String)>;

/// When the rank's process was started, ns of CLOCK_MONOTONIC_RAW, as the kernel has it: to 10 ms.
pub const STARTED_NS: &str = "process_started_ns";

/// How the rank's process ended, where `mpitrace run` saw that it left its records behind: `exit code 4`,
/// `signal 11 (SIGSEGV)`.
pub const ENDED: &str = "ended";

/// How much earlier the rank's process may have ended than `mpitrace run` saw it, ns. The rank's last anchor is that
/// moment.
pub const END_ERROR_NS: &str = "end_error_ns";

/// For how long the rank had begun and ended no call of MPI when `mpitrace run` saw its process end: at least and,
/// behind a blank and where it is known, at most so many ns.
pub const STILL_NS: &str = "still_ns";

/// The longest time for which `mpitrace run` saw the rank begin and end no call of MPI before it went on, ns. It was at
/// least so long. The time in MPI_Init does not count.
pub const LONGEST_PAUSE_NS: &str = "longest_pause_ns";

/// For how long before its end the rank had done nothing but poll, as `mpitrace run` saw it: it made no other call, and
/// no other thread of its process ran, ns.
pub const POLLED_NS: &str = "polled_ns";

/// Where its end was not seen: the time from the entry of MPI_Init to when the rank's process was found to have ended,
/// ns.
pub const DEAD_BY_NS: &str = "dead_by_ns";

/// When the job of the rank ended, as `mpitrace run` or the batch system dates it: the time from the entry of MPI_Init,
/// ns.
pub const JOB_END_NS: &str = "job_end_ns";

/// The exit code of the launcher, on each rank that has [`ENDED`].
pub const EXIT_CODE: &str = "exit_code";

/// The stacks of the rank where `mpitrace run` saw that it did not go on: frames on lines of their own, an empty line
/// between threads.
pub const STACKS: &str = "stacks";

/// Why there is none of those stacks.
pub const NO_STACK: &str = "no_stack";

/// The value that stands for one that cannot be seen from inside the program.
pub const UNKNOWN: &str = "unknown";

/// The bytes of a part's FACTORS section.
///
/// ```
/// use mpitrace_format::metadata::{decode, encode, get};
///
/// let metadata = vec![("compiler".to_owned(), "gcc 14".to_owned())];
/// assert_eq!(decode(&encode(&metadata)), Some(metadata.clone()));
/// assert_eq!((get(&metadata, "compiler"), get(&metadata, "program")), (Some("gcc 14"), None));
/// ```
pub fn encode(metadata: &Metadata) -> Vec<u8> {
    let mut bytes = Vec::new();
    number::put(&mut bytes, metadata.len() as u64);
    metadata.iter().flat_map(|(name, value)| [name, value]).for_each(|text| put_text(&mut bytes, text));
    bytes
}

/// Reads the bytes of a FACTORS section; `None` where they are not such a list.
///
/// The claimed length of the list is not trusted: a pair takes two bytes at least, which bounds what is allocated.
///
/// ```
/// use mpitrace_format::metadata::decode;
///
/// // One pair; the name has 1 byte, the value 2.
/// assert_eq!(decode(b"\x01\x01a\x02bc"), Some(vec![("a".to_owned(), "bc".to_owned())]));
/// assert_eq!(decode(b"\x01\x01a"), None);
/// ```
pub fn decode(bytes: &[u8]) -> Option<Metadata> {
    let mut rest = bytes;
    let pairs = number::take(&mut rest)?;
    if pairs > bytes.len() as u64 / 2 {
        return None;
    }
    (0..pairs).map(|_| Some((take_text(&mut rest)?, take_text(&mut rest)?))).collect()
}

/// The value of this name.
///
/// ```
/// use mpitrace_format::metadata::get;
///
/// assert_eq!(get(&[("nodes".to_owned(), "4".to_owned())], "nodes"), Some("4"));
/// ```
pub fn get<'a>(metadata: &'a [(String, String)], name: &str) -> Option<&'a str> {
    metadata.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

pub(crate) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    number::put(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

/// The text that `rest` begins with; leaves what is behind it.
pub(crate) fn take_text(rest: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(number::take(rest)?).ok()?;
    let text = rest.split_off(..length)?;
    std::str::from_utf8(text).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_claimed_length_beyond_the_bytes_is_refused() {
        assert_eq!(decode(&[0xff, 0xff, 0xff, 0xff, 0x0f, 1, b'a']), None);
        assert_eq!(decode(&[1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]), None);
    }

    proptest! {
        /// Earlier traces were written by postcard, and its readers read those of today.
        #[test]
        fn the_bytes_are_those_of_postcard(
            metadata in prop::collection::vec(("\\PC{0,200}", "\\PC{0,300}"), 0..200)
        ) {
            let bytes = postcard::to_stdvec(&metadata).unwrap();
            prop_assert_eq!(encode(&metadata), bytes.clone());
            prop_assert_eq!(decode(&bytes), Some(metadata));
        }

        #[test]
        fn what_postcard_refuses_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let expected = postcard::take_from_bytes::<Metadata>(&bytes).ok().map(|(metadata, _)| metadata);
            prop_assert_eq!(decode(&bytes), expected);
        }

        #[test]
        fn what_is_cut_off_is_refused(
            metadata in prop::collection::vec(("[a-z]{0,9}", "[a-z]{0,9}"), 1..9), cut in 1usize..9
        ) {
            let bytes = encode(&metadata);
            prop_assert_eq!(decode(&bytes[..bytes.len().saturating_sub(cut)]), None);
        }
    }
}
