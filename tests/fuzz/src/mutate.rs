//! Mutations that keep the shape of a file: most change a structure or a section where it lies. libFuzzer's own, which
//! insert and remove bytes, would move all that follows, and offsets would lead to it no more.
//!
//! Also part of the companion's tests.

use std::ops::Range;

/// A generator of numbers that look random: xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end.max(1)
    }
}

/// The mutation of another maker: of the first so many bytes, of which so many may be used. The new size.
pub type Other = fn(&mut [u8], usize, usize) -> usize;

/// Changes the first `size` of these bytes; all may be used. The new size.
pub fn file(bytes: &mut [u8], size: usize, seed: u32, places: fn(&[u8]) -> Vec<Range<usize>>, other: Other) -> usize {
    let mut random = Random(u64::from(seed) << 1 | 1);
    let found = places(&bytes[..size]);
    if found.is_empty() || random.below(12) == 0 {
        let longest = bytes.len();
        return other(bytes, size, longest);
    }
    for _ in 0..=random.below(4) {
        let place = found[random.below(found.len())].clone();
        match random.below(5) {
            0 => within(&mut bytes[place], other),
            1 => copy(bytes, place, &found[random.below(found.len())].clone()),
            _ => word(&mut bytes[place], size as u64, &mut random),
        }
    }
    size
}

/// One of the other maker's mutations, without a change of the length.
fn within(place: &mut [u8], other: Other) {
    let mut changed = place.to_vec();
    let length = changed.len();
    let size = other(&mut changed, length, length).min(length);
    place[..size].copy_from_slice(&changed[..size]);
}

/// Copies the bytes at one place to another.
fn copy(bytes: &mut [u8], from: Range<usize>, to: &Range<usize>) {
    let length = from.len().min(to.len());
    bytes.copy_within(from.start..from.start + length, to.start);
}

/// A number of 4 or 8 bytes becomes another: one at which arithmetic ends, one near it, or one near what it was.
fn word(place: &mut [u8], size: u64, random: &mut Random) {
    let width = if random.below(2) == 0 { 4 } else { 8 };
    if place.len() < width {
        return;
    }
    let at = random.below(place.len() / 4 - width / 4 + 1) * 4;
    let mut old = [0; 8];
    old[..width].copy_from_slice(&place[at..at + width]);
    let old = u64::from_le_bytes(old);
    let new = match random.below(8) {
        0 => 0,
        1 => u64::MAX >> random.below(64),
        2 => 1 << random.below(64),
        3 => old ^ 1 << random.below(8 * width),
        4 => old.wrapping_add(random.below(9) as u64).wrapping_sub(4),
        5 => size.wrapping_add(random.below(9) as u64).wrapping_sub(4),
        // Of floats: not a number, infinite, and the largest.
        6 => [f64::NAN, f64::INFINITY, f64::MAX, -f64::MAX, f64::MIN_POSITIVE][random.below(5)].to_bits(),
        _ => random.next(),
    };
    place[at..at + width].copy_from_slice(&new.to_le_bytes()[..width]);
}
