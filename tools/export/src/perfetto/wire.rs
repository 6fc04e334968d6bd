//! Protobuf's encoding, of the types that the messages of an export use
//! (<https://protobuf.dev/programming-guides/encoding/>).

/// The type of a field on the wire.
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Delimited = 2,
}

/// A message: it appends its fields.
pub trait Message {
    /// Appends the fields that have a value, in the order of their declaration.
    fn encode(&self, buffer: &mut Vec<u8>);
}

/// Seven bits a byte, the lowest first; the highest bit is set in all bytes but the last.
fn varint(mut value: u64, buffer: &mut Vec<u8>) {
    while value >= 0x80 {
        buffer.push((value as u8) | 0x80);
        value >>= 7;
    }
    buffer.push(value as u8);
}

fn key(number: u32, wire: Wire, buffer: &mut Vec<u8>) {
    varint((u64::from(number) << 3) | wire as u64, buffer);
}

pub fn uint64(number: u32, value: &u64, buffer: &mut Vec<u8>) {
    key(number, Wire::Varint, buffer);
    varint(*value, buffer);
}

pub fn uint32(number: u32, value: &u32, buffer: &mut Vec<u8>) {
    uint64(number, &u64::from(*value), buffer);
}

/// A negative number takes ten bytes, as one of 64 bits.
pub fn int64(number: u32, value: &i64, buffer: &mut Vec<u8>) {
    uint64(number, &value.cast_unsigned(), buffer);
}

pub fn int32(number: u32, value: &i32, buffer: &mut Vec<u8>) {
    int64(number, &i64::from(*value), buffer);
}

pub fn bool(number: u32, value: &bool, buffer: &mut Vec<u8>) {
    uint64(number, &u64::from(*value), buffer);
}

pub fn fixed64(number: u32, value: &u64, buffer: &mut Vec<u8>) {
    key(number, Wire::Fixed64, buffer);
    buffer.extend(value.to_le_bytes());
}

pub fn double(number: u32, value: &f64, buffer: &mut Vec<u8>) {
    fixed64(number, &value.to_bits(), buffer);
}

pub fn string(number: u32, value: &str, buffer: &mut Vec<u8>) {
    key(number, Wire::Delimited, buffer);
    varint(value.len() as u64, buffer);
    buffer.extend(value.as_bytes());
}

/// A message in another one: its length stands before it.
pub fn message(number: u32, value: &impl Message, buffer: &mut Vec<u8>) {
    key(number, Wire::Delimited, buffer);
    let start = buffer.len();
    value.encode(buffer);
    let length = buffer.len() - start;
    varint(length as u64, buffer);
    // Its length stands behind it, and goes before it.
    buffer[start..].rotate_left(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the page on the encoding.
    struct Example {
        a: i32,
        b: &'static str,
    }

    impl Message for Example {
        fn encode(&self, buffer: &mut Vec<u8>) {
            int32(1, &self.a, buffer);
            string(2, self.b, buffer);
        }
    }

    fn bytes(write: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
        let mut buffer = vec![0xaa];
        write(&mut buffer);
        buffer.split_off(1)
    }

    #[test]
    fn numbers_are_those_of_the_description() {
        assert_eq!(bytes(|to| int32(1, &150, to)), [0x08, 0x96, 0x01]);
        assert_eq!(bytes(|to| string(2, "testing", to)), *b"\x12\x07testing");
        assert_eq!(bytes(|to| int64(1, &-2, to)), [0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
        assert_eq!(bytes(|to| bool(3, &true, to)), [0x18, 0x01]);
        assert_eq!(bytes(|to| double(5, &1.0, to)), [0x29, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        // A field from the sixteenth on has a key of two bytes.
        assert_eq!(bytes(|to| uint32(17, &0, to)), [0x88, 0x01, 0x00]);
    }

    #[test]
    fn the_length_of_a_message_stands_before_it() {
        let short = bytes(|to| message(3, &Example { a: 150, b: "" }, to));
        assert_eq!(short, [0x1a, 0x05, 0x08, 0x96, 0x01, 0x12, 0x00]);
        let text: &'static str = Box::leak("x".repeat(300).into_boxed_str());
        let long = bytes(|to| message(3, &Example { a: 1, b: text }, to));
        // 2 bytes of the number; 3 of the key and the length of the text, and the text.
        assert_eq!(long[..8], [0x1a, 0xb1, 0x02, 0x08, 0x01, 0x12, 0xac, 0x02]);
        assert_eq!(long.len(), 3 + 305);
    }
}
