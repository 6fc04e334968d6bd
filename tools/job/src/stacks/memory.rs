//! The memory of another process: what is mapped there, and its bytes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use mpitrace_platform::python;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    pub range: Range<u64>,
    /// The place of its first byte in the file.
    pub offset: u64,
    /// The file, or a name in brackets; empty: memory alone.
    pub path: String,
}

#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub pid: u32,
}

impl Memory {
    /// The ranges that it has mapped; none where they cannot be read.
    pub fn maps(self) -> Vec<Map> {
        let text = std::fs::read(format!("/proc/{}/maps", self.pid)).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().filter_map(Map::parse).collect()
    }

    /// So many bytes from this address on, or fewer where there are no more. `None`: there are none, or they may not be
    /// read.
    pub fn read(self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0u8; length];
        let to = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: length };
        let from = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: length };
        // SAFETY: the kernel writes no more than `length` bytes to `bytes`, and checks the other process' addresses.
        let read = unsafe { libc::process_vm_readv(self.pid as libc::pid_t, &raw const to, 1, &raw const from, 1, 0) };
        bytes.truncate(usize::try_from(read).ok()?);
        (!bytes.is_empty()).then_some(bytes)
    }
}

impl python::Memory for Memory {
    fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        Memory::read(*self, address, length)
    }
}

/// Bytes that are read at a time: many words of one structure need one system call.
const PAGE: u64 = 4096;

/// The memory of another process as it was when each of its pages was read first.
#[derive(Debug)]
pub struct Pages {
    memory: Memory,
    read: RefCell<HashMap<u64, Vec<u8>>>,
}

impl Pages {
    pub fn new(memory: Memory) -> Pages {
        Pages { memory, read: RefCell::default() }
    }
}

impl python::Memory for Pages {
    fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut all = self.read.borrow_mut();
        let (mut bytes, end) = (Vec::new(), address.checked_add(length as u64)?);
        let mut at = address;
        while at < end {
            let begin = at - at % PAGE;
            let read = || self.memory.read(begin, PAGE as usize).unwrap_or_default();
            let page = all.entry(begin).or_insert_with(read);
            let wanted = page.get((at - begin) as usize..page.len().min((end - begin) as usize)).unwrap_or_default();
            bytes.extend_from_slice(wanted);
            if wanted.is_empty() {
                break;
            }
            at += wanted.len() as u64;
        }
        (!bytes.is_empty()).then_some(bytes)
    }
}

impl Map {
    /// Reads a line of /proc/PID/maps.
    fn parse(line: &str) -> Option<Map> {
        let mut words = line.splitn(6, ' ');
        let (first, end) = words.next()?.split_once('-')?;
        let [first, end, offset] = [first, end, words.nth(1)?].map(|word| u64::from_str_radix(word, 16).ok());
        let path = words.nth(2).unwrap_or_default().trim_start().to_owned();
        Some(Map { range: first?..end?, offset: offset?, path })
    }
}

#[cfg(test)]
mod tests {
    use super::python::Memory as _;
    use super::*;

    #[test]
    fn the_memory_of_a_process_is_read() {
        let own = Memory { pid: std::process::id() };
        let word = 0x1234_5678_9abc_def0u64;
        let address = &raw const word as u64;
        assert_eq!((own.word(address), own.word(8)), (Some(word), None));
        // Over several pages, and as it was.
        let mut many = vec![7u8; 3 * PAGE as usize];
        let pages = Pages::new(own);
        let read = |many: &[u8]| pages.read(many.as_ptr() as u64, many.len());
        assert_eq!(read(&many), Some(many.clone()));
        many.fill(8);
        assert_eq!((read(&many), pages.word(8)), (Some(vec![7; many.len()]), None));
        assert!(own.maps().iter().any(|map| map.path == "[stack]" || map.range.contains(&address)));
        let line = "7f1c00000000-7f1c00021000 r-xp 00001000 08:01 1234    /usr/lib/a b.so";
        let map = Map { range: 0x7f1c_0000_0000..0x7f1c_0002_1000, offset: 0x1000, path: "/usr/lib/a b.so".into() };
        assert_eq!(Map::parse(line), Some(map));
    }
}
