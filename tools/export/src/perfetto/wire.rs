//! Protobuf's encoding of the fields of the messages that an export writes, by prost without its derive macros
//! (<https://protobuf.dev/programming-guides/encoding/>).

use prost::encoding::{WireType, encode_key, encode_varint};
pub use prost::encoding::{
    bool::encode as bool, double::encode as double, fixed64::encode as fixed64, int32::encode as int32,
    int64::encode as int64, string::encode as string, uint32::encode as uint32, uint64::encode as uint64,
};

/// A message: it appends its fields.
pub trait Message {
    /// Appends the fields that have a value, in the order of their declaration.
    fn encode(&self, buffer: &mut Vec<u8>);
}

/// A message in another one: its length stands before it.
pub fn message(number: u32, value: &impl Message, buffer: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, buffer);
    let start = buffer.len();
    value.encode(buffer);
    let length = buffer.len() - start;
    encode_varint(length as u64, buffer);
    // Its length stands behind it, and goes before it.
    buffer[start..].rotate_left(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the page on the encoding.
    struct Example {
        a: i32,
        b: String,
    }

    impl Message for Example {
        fn encode(&self, buffer: &mut Vec<u8>) {
            int32(1, &self.a, buffer);
            string(2, &self.b, buffer);
        }
    }

    fn bytes(write: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
        let mut buffer = vec![0xaa];
        write(&mut buffer);
        buffer.split_off(1)
    }

    #[test]
    fn the_length_of_a_message_stands_before_it() {
        let short = bytes(|to| message(3, &Example { a: 150, b: String::new() }, to));
        assert_eq!(short, [0x1a, 0x05, 0x08, 0x96, 0x01, 0x12, 0x00]);
        let long = bytes(|to| message(3, &Example { a: 1, b: "x".repeat(300) }, to));
        // 2 bytes of the number; 3 of the key and the length of the text, and the text.
        assert_eq!(long[..8], [0x1a, 0xb1, 0x02, 0x08, 0x01, 0x12, 0xac, 0x02]);
        assert_eq!(long.len(), 3 + 305);
    }
}
