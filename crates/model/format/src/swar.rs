//! Works on eight bytes at a time, in a machine word (SWAR: SIMD within a register). The lowest byte is the first.
//!
//! The fields of a line are short, and their lengths vary. A mispredicted branch costs more than all other work on a
//! field. So fields are found here without a branch that depends on the length.

/// A word with this byte in all eight places.
pub(super) const fn repeat(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

/// The first eight of `bytes`; if there are fewer, zeros follow.
#[inline]
pub(super) fn load(bytes: &[u8]) -> u64 {
    if let Some(word) = bytes.first_chunk() {
        return u64::from_le_bytes(*word);
    }
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// The highest bit of each byte that is zero. This is right up to the first zero byte, and may be wrong after it.
pub(super) const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(repeat(1)) & !word & repeat(0x80)
}

/// How many bytes come before the first whose bit is set in `marks`; eight if none is.
pub(super) const fn before(marks: u64) -> u32 {
    marks.trailing_zeros() / 8
}

/// How many of the bytes, from the first, are decimal digits.
pub(super) const fn digit_count(word: u64) -> u32 {
    let digits = word ^ repeat(b'0');
    before((digits.wrapping_add(repeat(0x80 - 10)) | digits) & repeat(0x80))
}

/// The number that the first `count` bytes spell. They are decimal digits; `count` is from 1 to 8.
pub(super) const fn number(word: u64, count: u32) -> u64 {
    // The word is filled with leading zeros. Then neighbours are joined: digits to pairs, pairs to groups of four, and
    // these to all eight digits.
    let digits = (word ^ repeat(b'0')) << (64 - 8 * count);
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    low.wrapping_add(high) >> 32
}

/// How many bytes of a string come before its first quote, backslash or control character.
pub(super) const fn plain_count(word: u64) -> u32 {
    let controls = word.wrapping_sub(repeat(b' ')) & !word & repeat(0x80);
    before(zeros(word ^ repeat(b'"')) | zeros(word ^ repeat(b'\\')) | controls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_up_to_eight_digits() {
        for text in ["0", "7", "10", "99", "123", "4096", "65536", "123456", "7654321", "98765432", "10000000"] {
            for end in *b"\n]}, \x00\xff" {
                let mut bytes = [end; 8];
                bytes[..text.len()].copy_from_slice(text.as_bytes());
                let word = load(&bytes);
                assert_eq!(digit_count(word) as usize, text.len());
                assert_eq!(number(word, text.len() as u32), text.parse::<u64>().unwrap());
            }
            assert_eq!(digit_count(load(text.as_bytes())) as usize, text.len());
        }
        for end in 0..=255u8 {
            let count = digit_count(load(&[b'1', b'9', end, b'0', 0xff]));
            assert_eq!(count, if end.is_ascii_digit() { 4 } else { 2 }, "{end}");
        }
    }

    #[test]
    fn the_plain_part_of_a_string() {
        for byte in 0..=255u8 {
            for at in 0..8 {
                for filler in [b'a', 0xff, b'!', 0x80] {
                    let mut bytes = [filler; 8];
                    bytes[at] = byte;
                    let is_plain = byte >= b' ' && byte != b'"' && byte != b'\\';
                    assert_eq!(plain_count(load(&bytes)) as usize, if is_plain { 8 } else { at }, "{bytes:?}");
                }
            }
        }
    }
}
