//! Integers of similar size, bit-packed: a patched frame of reference.
//!
//! The values come in frames of 128. A frame has a base and a width; a value in [base, base + 2^width) takes `width`
//! bits, and each other one is listed behind them. [Zukowski2006]
//!
//! | bytes | what |
//! |---|---|
//! | 1 | width in bits, 0 to 64 |
//! | 1 | exceptions |
//! | number | base, signed |
//! | ceil(values width / 8) | value - base of each value, the lowest bits first; 0 for an exception |
//! | for each exception 1 + number | its index in the frame, and value - base, signed |
//!
//! All arithmetic is modulo 2^64: a value may be read as signed or unsigned.

use super::number;

/// Values of a frame; the last one may have fewer.
const FRAME: usize = 128;
/// A value is read by one load of 8 bytes, in which it may begin at any of the first 8 bits: wider ones need two.
const ONE_LOAD: u32 = 56;

/// Appends the frames of these values.
pub(super) fn put(bytes: &mut Vec<u8>, values: &[u64]) {
    values.chunks(FRAME).for_each(|frame| put_frame(bytes, frame));
}

/// Takes the frames of `count` values, and appends the values to `values`; `None` where the bytes are no such frames.
pub(super) fn take(bytes: &mut &[u8], count: usize, values: &mut Vec<u64>) -> Option<()> {
    // Each frame takes three bytes at least, which bounds what is allocated for a false count.
    if count.div_ceil(FRAME) > bytes.len() / 3 {
        return None;
    }
    values.reserve(count);
    let mut left = count;
    while left > 0 {
        let length = left.min(FRAME);
        take_frame(bytes, length, values)?;
        left -= length;
    }
    Some(())
}

fn put_frame(bytes: &mut Vec<u8>, frame: &[u64]) {
    let Shape { base, width, .. } = Shape::choose(frame);
    let start = bytes.len();
    bytes.extend([width as u8, 0]);
    number::put_signed(bytes, base as i64);
    let mut exceptions = [0; FRAME];
    let mut count = 0;
    let mut packed = [0; FRAME * 8];
    let (mut word, mut filled, mut end) = (0, 0, 0);
    let outside = outside(width);
    for (index, &value) in frame.iter().enumerate() {
        let mut above = value.wrapping_sub(base);
        if above & outside != 0 {
            exceptions[count] = index as u8;
            count += 1;
            above = 0;
        }
        word |= above << filled;
        filled += width;
        if filled >= u64::BITS {
            packed[end..end + 8].copy_from_slice(&word.to_le_bytes());
            end += 8;
            filled -= u64::BITS;
            word = if filled == 0 { 0 } else { above >> (width - filled) };
        }
    }
    bytes.extend_from_slice(&packed[..end]);
    bytes.extend_from_slice(&word.to_le_bytes()[..filled.div_ceil(8) as usize]);
    bytes[start + 1] = count as u8;
    for &index in &exceptions[..count] {
        bytes.push(index);
        number::put_signed(bytes, frame[usize::from(index)].wrapping_sub(base) as i64);
    }
}

fn take_frame(bytes: &mut &[u8], length: usize, values: &mut Vec<u64>) -> Option<()> {
    let header = bytes.split_off(..2)?;
    let (width, exceptions) = (u32::from(header[0]), header[1]);
    let base = number::take_signed(bytes)? as u64;
    let packed = bytes.split_off(..(length * width as usize).div_ceil(8))?;
    let first = values.len();
    match width {
        0 => values.resize(first + length, base),
        1..=ONE_LOAD => unpack_narrow(packed, width, base, length, values),
        57..=64 => unpack_wide(packed, width, base, length, values),
        _ => return None,
    }
    for _ in 0..exceptions {
        let index = usize::from(*bytes.split_off_first()?);
        let value = base.wrapping_add(number::take_signed(bytes)? as u64);
        *values[first..].get_mut(index)? = value;
    }
    Some(())
}

fn unpack_narrow(packed: &[u8], width: u32, base: u64, length: usize, values: &mut Vec<u64>) {
    // The last values are read from a copy, so that a load never goes beyond the bytes.
    let mut padded = [0; FRAME * ONE_LOAD as usize / 8 + 8];
    padded[..packed.len()].copy_from_slice(packed);
    let mask = (1 << width) - 1;
    values.extend((0..length).map(|index| {
        let bit = index * width as usize;
        let mut load = [0; 8];
        load.copy_from_slice(&padded[bit / 8..bit / 8 + 8]);
        base.wrapping_add(u64::from_le_bytes(load) >> (bit % 8) & mask)
    }));
}

fn unpack_wide(packed: &[u8], width: u32, base: u64, length: usize, values: &mut Vec<u64>) {
    let mask = (1u128 << width) - 1;
    values.extend((0..length).map(|index| {
        let bit = index * width as usize;
        let end = packed.len().min(bit / 8 + 9);
        let mut load = [0; 16];
        load[..end - bit / 8].copy_from_slice(&packed[bit / 8..end]);
        base.wrapping_add((u128::from_le_bytes(load) >> (bit % 8) & mask) as u64)
    }));
}

/// The bits that a value that is packed in so many does not have.
fn outside(width: u32) -> u64 {
    u64::MAX.checked_shl(width).unwrap_or(0)
}

/// The base and the width of a frame.
#[derive(Clone, Copy, Debug)]
struct Shape {
    base: u64,
    width: u32,
    /// Bits of the packed values and of the exceptions, at most.
    bits: u32,
}

/// Cells into which the values in the width are counted, to find a part of it in which nearly all lie.
const CELLS: u32 = 64;

impl Shape {
    /// One that takes few bytes: the width is the best one above the lowest value. Then the base is raised as long as
    /// nearly all values lie in a half (a quarter, ...) of what the width holds.
    fn choose(frame: &[u64]) -> Shape {
        let lowest = frame.iter().map(|&value| value as i64).min().unwrap_or(0) as u64;
        let mut best = Shape::above(frame, lowest);
        while let Some(base) = best.raised(frame) {
            let raised = Shape::above(frame, base);
            if raised.bits >= best.bits {
                break;
            }
            best = raised;
        }
        best
    }

    /// The best width above a base.
    fn above(frame: &[u64], base: u64) -> Shape {
        // How many values have a distance of so many bits, and what those below the base take as exceptions.
        let mut of_length = [0u8; u64::BITS as usize + 1];
        let (mut below, mut all) = (0, 0);
        for &value in frame {
            let above = value.wrapping_sub(base);
            if (above as i64) < 0 {
                below += exception_bits(above as i64);
            } else {
                // One bit more spares the question whether it is 0.
                of_length[(above << 1 | 1).ilog2() as usize] += 1;
                all |= above;
            }
        }
        let count = frame.len() as u32;
        let widest = u64::BITS - all.leading_zeros();
        let mut best = Shape { base, width: widest, bits: count * widest + below };
        if below > count * (u64::BITS - widest) {
            // All fit: what is below is far above, modulo 2^64.
            best = Shape { base, width: u64::BITS, bits: count * u64::BITS };
        }
        let mut outside = below;
        for width in (0..widest).rev() {
            // The most that a distance of one bit more takes.
            outside += u32::from(of_length[width as usize + 1]) * exception_bits(i64::MAX >> (62 - width));
            if outside >= best.bits {
                break;
            }
            let bits = count * width + outside;
            if bits < best.bits {
                best = Shape { base, width, bits };
            }
        }
        best
    }

    /// A higher base, the lowest of the values above some cells, above which a smaller width seems to be better.
    fn raised(&self, frame: &[u64]) -> Option<u64> {
        let in_cells = self.width.min(CELLS.ilog2());
        let (shift, outside) = (self.width - in_cells, outside(self.width));
        let mut cells = [0u8; CELLS as usize];
        let mut inside = 0;
        for &value in frame {
            let above = value.wrapping_sub(self.base);
            if above & outside == 0 {
                cells[(above >> shift) as usize % CELLS as usize] += 1;
                inside += 1;
            }
        }
        // How many values lie below each cell: no more than a frame has.
        let mut below = [0u8; CELLS as usize + 1];
        for (cell, calls) in cells.iter().enumerate() {
            below[cell + 1] = below[cell] + calls;
        }
        let exception = exception_bits(i64::MAX >> (63 - self.width.min(63)));
        let mut best = (0, 0, 0);
        for narrower in 1..=in_cells {
            let window = 1 << (in_cells - narrower);
            let windows = below[window..=1 << in_cells].iter().zip(&below);
            let held = windows.map(|(end, start)| end - start).max().unwrap_or(0);
            let gain = (frame.len() as u32 * narrower).saturating_sub((inside - u32::from(held)) * exception);
            if gain > best.0 {
                best = (gain, window, held);
            }
        }
        let (gain, window, held) = best;
        let first = below[window..].iter().zip(&below).position(|(end, start)| end - start == held)?;
        if gain == 0 || first == 0 {
            return None;
        }
        let distances = frame.iter().map(|value| value.wrapping_sub(self.base));
        let lowest = distances.filter(|&above| above >= (first as u64) << shift && above & outside == 0).min()?;
        Some(self.base.wrapping_add(lowest))
    }
}

/// Bits of an exception that is so far above the base.
fn exception_bits(above: i64) -> u32 {
    8 + 8 * number::signed_length(above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back(values: &[u64]) -> usize {
        let mut bytes = Vec::new();
        put(&mut bytes, values);
        let mut rest = &bytes[..];
        let mut found = Vec::new();
        take(&mut rest, values.len(), &mut found).unwrap();
        assert_eq!((found.as_slice(), rest), (values, &[][..]));
        bytes.len()
    }

    /// As run times are: narrow, wide, negative, with outliers.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        let value = (0u32..65, any::<u64>()).prop_map(|(bits, value)| value.checked_shr(bits).unwrap_or(0));
        let near = (any::<u64>(), 0u32..64).prop_flat_map(move |(base, bits)| {
            let value = (0u32..40, any::<u64>()).prop_map(move |(odds, value)| match odds {
                0 => value,
                _ => base.wrapping_add(value & ((1 << bits) - 1)),
            });
            proptest::collection::vec(value, 0..400)
        });
        prop_oneof![proptest::collection::vec(value, 0..400), near]
    }

    proptest! {
        #[test]
        fn all_values_come_back(values in values()) {
            there_and_back(&values);
        }

        #[test]
        fn bytes_that_are_no_frames_are_refused_or_are_values(bytes: Vec<u8>, count in 0usize..1000) {
            let mut found = Vec::new();
            if take(&mut &bytes[..], count, &mut found).is_some() {
                prop_assert_eq!(found.len(), count);
            }
        }
    }

    #[test]
    fn a_frame_takes_what_its_values_need() {
        assert_eq!(there_and_back(&[1_000_000; FRAME]), 2 + 3);
        let noise: Vec<u64> = (0..128).map(|index| 5000 + index * 37 % 64).collect();
        assert_eq!(there_and_back(&noise), 2 + 2 + 128 * 6 / 8);
        let mut outliers = noise.clone();
        (outliers[3], outliers[77]) = (1 << 40, u64::MAX);
        assert_eq!(there_and_back(&outliers), 2 + 2 + 128 * 6 / 8 + (1 + 6) + (1 + 2));
        // All 64 bits: what cannot be packed takes little more than as it is.
        let wide: Vec<u64> = (0..128u64).map(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        assert!(there_and_back(&wide) <= 128 * 8 + 12);
    }
}
