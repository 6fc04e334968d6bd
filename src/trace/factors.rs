//! The experimental factors of a run (seed paper of Hunold & Carpen-Amarie, table VI): names and values as text.
//!
//! Stored as postcard of a list of pairs, which is: the number of pairs, then for each pair the name and the value, a text
//! being its length in bytes and its UTF-8 bytes; numbers are varints (7 bits a byte, least first, top bit: more follow).

/// Names and values. A name that starts with `env.` is a variable of the environment.
pub type Factors = Vec<(String, String)>;

/// The value that stands for a factor that cannot be seen from inside the program.
pub const UNKNOWN: &str = "unknown";

/// The bytes of a part's FACTORS section.
pub fn encode(factors: &Factors) -> Vec<u8> {
    postcard::to_stdvec(factors).unwrap_or_default()
}

/// Reads the bytes of a FACTORS section; `None` where they are not such a list.
///
/// The claimed length of the list is not trusted: a pair takes two bytes at least, which bounds what is allocated.
pub fn decode(bytes: &[u8]) -> Option<Factors> {
    let (pairs, mut rest) = postcard::take_from_bytes::<u64>(bytes).ok()?;
    if pairs > bytes.len() as u64 / 2 {
        return None;
    }
    let mut factors = Vec::with_capacity(pairs as usize);
    for _ in 0..pairs {
        let (pair, remaining) = postcard::take_from_bytes::<(String, String)>(rest).ok()?;
        factors.push(pair);
        rest = remaining;
    }
    Some(factors)
}

/// The value of the factor with this name.
pub fn get<'a>(factors: &'a [(String, String)], name: &str) -> Option<&'a str> {
    factors.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_come_back_as_they_were() {
        let factors = vec![("library".into(), "Open MPI 4.1".into()), ("env.X".into(), String::new())];
        assert_eq!(decode(&encode(&factors)), Some(factors));
    }

    #[test]
    fn a_claimed_length_beyond_the_bytes_is_refused() {
        assert_eq!(decode(&[0xff, 0xff, 0xff, 0xff, 0x0f, 1, b'a']), None);
    }
}
