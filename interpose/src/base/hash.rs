//! Hash maps without std's random numbers, for want of which it panics.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A hash map that costs a multiplication a word: its keys come from the program, not from an enemy.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;
/// A set with the hash function of [`FastMap`].
pub type FastSet<K> = HashSet<K, BuildHasherDefault<Mix>>;

/// The hasher of a [`FastMap`].
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

/// A 128-bit hash, the same on all ranks of all machines.
pub fn mix(words: &[u64]) -> [u64; 2] {
    // The multipliers of splitmix64, and the fractional bits of the golden ratio and of the square root of 2 to start.
    let mut hash = [0x9e37_79b9_7f4a_7c15u64, 0x6a09_e667_f3bc_c908];
    for (lane, multiplier) in [(0, 0xbf58_476d_1ce4_e5b9u64), (1, 0x94d0_49bb_1331_11eb)] {
        for &word in words {
            let mut state = (hash[lane] ^ word).wrapping_mul(multiplier);
            state ^= state >> 31;
            hash[lane] = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        hash[lane] ^= hash[lane] >> 32;
    }
    hash
}
