//! Numbers of variable length: 7 bits a byte, the lowest first, the top bit set where more follow.

/// The most bytes that a number of 64 bits takes.
const LONGEST: u32 = 10;

/// Appends a number.
pub(crate) fn put(bytes: &mut Vec<u8>, number: u64) {
    let mut left = number;
    while left >= 0x80 {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
}

/// Appends a number that may be negative, small ones of both signs in few bytes: 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
pub(crate) fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put(bytes, zigzag(number));
}

/// How many bytes [`put_signed`] takes for it.
pub(crate) fn signed_length(number: i64) -> u32 {
    (64 - (zigzag(number) | 1).leading_zeros()).div_ceil(7)
}

/// Takes the number that `bytes` begin with; `None` where they end within it, or it has more than 64 bits.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..LONGEST {
        let byte = *bytes.split_off_first()?;
        // Nine bytes hold 63 bits: one bit is left for the tenth.
        if place == LONGEST - 1 && byte > 1 {
            return None;
        }
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Takes a number that may be negative.
pub(crate) fn take_signed(bytes: &mut &[u8]) -> Option<i64> {
    let coded = take(bytes)?;
    Some((coded >> 1) as i64 ^ -((coded & 1) as i64))
}

fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back_in_the_stated_length() {
        for number in [0, 1, -1, 63, 64, -64, -65, 1 << 40, i64::MAX, i64::MIN] {
            let mut bytes = Vec::new();
            put_signed(&mut bytes, number);
            assert_eq!(bytes.len() as u32, signed_length(number), "{number}");
            assert_eq!(take_signed(&mut &bytes[..]), Some(number));
            assert_eq!(take_signed(&mut &bytes[..bytes.len() - 1]), None, "cut short");
        }
        assert_eq!(take(&mut &[0xff; 12][..]), None, "more than 64 bits");
    }
}
