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
/// A frame's base is one of its lowest values: the one with this many below it.
const BELOW: [usize; 6] = [0, 1, 2, 4, 8, 16];
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
    let (base, width) = choose(frame);
    let exceptions = frame.iter().filter(|&&value| !fits(value, base, width)).count();
    bytes.extend([width as u8, exceptions as u8]);
    number::put_signed(bytes, base);
    let (mut word, mut filled) = (0u128, 0);
    for &value in frame {
        let packed = if fits(value, base, width) { value.wrapping_sub(base as u64) } else { 0 };
        word |= u128::from(packed) << filled;
        filled += width;
        while filled >= 8 {
            bytes.push(word as u8);
            word >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        bytes.push(word as u8);
    }
    for (index, &value) in frame.iter().enumerate() {
        if !fits(value, base, width) {
            bytes.push(index as u8);
            number::put_signed(bytes, value.wrapping_sub(base as u64) as i64);
        }
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

fn fits(value: u64, base: i64, width: u32) -> bool {
    let above = value.wrapping_sub(base as u64);
    value as i64 >= base && (width == 64 || above >> width == 0)
}

/// The base and the width that take the fewest bytes, among some bases.
fn choose(frame: &[u64]) -> (i64, u32) {
    let mut sorted = [0i64; FRAME];
    let sorted = &mut sorted[..frame.len()];
    sorted.iter_mut().zip(frame).for_each(|(place, &value)| *place = value as i64);
    sorted.sort_unstable();
    let mut best = (u32::MAX, (0, 64));
    // Bits for all exceptions from an index on.
    let mut behind = [0; FRAME + 1];
    for below in BELOW.into_iter().filter(|&below| below < sorted.len()) {
        let base = sorted[below];
        let bits = |value: i64| 8 + 8 * number::signed_length(value.wrapping_sub(base));
        let before: u32 = sorted[..below].iter().map(|&value| bits(value)).sum();
        behind[sorted.len()] = 0;
        for index in (below..sorted.len()).rev() {
            behind[index] = behind[index + 1] + bits(sorted[index]);
        }
        for width in 0..=64 {
            let outside = sorted.partition_point(|&value| value < base || fits(value as u64, base, width));
            let cost = frame.len() as u32 * width + before + behind[outside] + 8 * number::signed_length(base);
            if cost < best.0 {
                best = (cost, (base, width));
            }
            if outside == sorted.len() {
                break;
            }
        }
    }
    best.1
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
