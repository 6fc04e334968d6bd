//! Hash maps without std's random numbers, for want of which it panics.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A hash map that costs a multiplication a word: its keys come from the program, not from an enemy.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;
/// A set of such keys.
pub type FastSet<K> = HashSet<K, BuildHasherDefault<Mix>>;

/// See [`FastMap`].
#[derive(Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }
    fn write_i32(&mut self, word: i32) {
        self.write_u64(word as u32 as u64);
    }
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
