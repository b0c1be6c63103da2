//! Integer literals: the one rule by which a token of any format is a number.
//!
//! A literal is a sign (`+`, `-` or none), and decimal digits or `0x` and hexadecimal digits of either case. Leading
//! zeros mean nothing: `010` is ten. So `1`, `+1`, `01`, `0x1` and `0x0001` are one number, and `-0` is zero. There is
//! no `_` in it, and no blank. A token of more than [`LONGEST`] bytes is no literal.
//!
//! The *canonical* text of a number is its decimal form without leading zeros and without a plus.

use std::fmt::Write as _;

use crate::value::Value;

/// The longest literal. Conversion takes a time that is quadratic in the length.
pub const LONGEST: usize = 1000;

/// A literal, taken apart.
#[derive(Copy, Clone, Debug)]
struct Literal<'a> {
    is_negative: bool,
    is_hexadecimal: bool,
    /// The digits without leading zeros; none for zero.
    digits: &'a [u8],
}

impl<'a> Literal<'a> {
    fn new(text: &'a [u8]) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let (is_negative, rest) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        let (is_hexadecimal, digits) = match rest {
            [b'0', b'x' | b'X', digits @ ..] => (true, digits),
            _ => (false, rest),
        };
        let is_digit = |byte: &u8| if is_hexadecimal { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
        if digits.is_empty() || !digits.iter().all(is_digit) {
            return None;
        }
        let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
        Some(Self { is_negative, is_hexadecimal, digits: &digits[zeros..] })
    }

    /// The number, if a [`Value`] holds it as an integer.
    fn small(&self) -> Option<Value> {
        let radix = if self.is_hexadecimal { 16 } else { 10 };
        if self.digits.len() > 19 {
            return None;
        }
        let digit = |byte: u8| (byte as char).to_digit(radix).map_or(0, i128::from);
        let number = self.digits.iter().fold(0_i128, |number, &byte| number * i128::from(radix) + digit(byte));
        Value::integer(i64::try_from(if self.is_negative { -number } else { number }).ok()?)
    }

    fn canonical(&self) -> String {
        let sign = if self.is_negative && !self.digits.is_empty() { "-" } else { "" };
        let digits = match (self.digits, self.is_hexadecimal) {
            ([], _) => "0".to_owned(),
            (digits, true) => decimal(digits),
            (digits, false) => String::from_utf8_lossy(digits).into_owned(),
        };
        format!("{sign}{digits}")
    }
}

/// The decimal form of hexadecimal digits.
fn decimal(digits: &[u8]) -> String {
    const LIMB: u64 = 1_000_000_000_000_000_000;
    // The least significant limb comes first.
    let mut limbs = vec![0_u64];
    for &digit in digits {
        let mut carry = (digit as char).to_digit(16).map_or(0, u64::from);
        for limb in &mut limbs {
            let sum = *limb * 16 + carry;
            (*limb, carry) = (sum % LIMB, sum / LIMB);
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    let mut text = limbs.last().map_or_else(String::new, u64::to_string);
    for limb in limbs.iter().rev().skip(1) {
        let _ = write!(text, "{limb:018}");
    }
    text
}

/// A number that a literal stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Number {
    /// It fits the 62 bits of an integer.
    Small(Value),
    /// It does not; its canonical text.
    Large(String),
}

/// The number that a token stands for; none if the token is no literal.
pub fn number(text: &[u8]) -> Option<Number> {
    // Most tokens that are no literals are told by their first byte.
    if !matches!(text.first(), Some(b'0'..=b'9' | b'+' | b'-')) {
        return None;
    }
    let literal = Literal::new(text)?;
    Some(literal.small().map_or_else(|| Number::Large(literal.canonical()), Number::Small))
}

/// Whether a token is a literal but for the canonical text of a large number, which is its word.
pub fn is_literal(text: &str) -> bool {
    match number(text.as_bytes()) {
        None => false,
        Some(Number::Small(_)) => true,
        Some(Number::Large(canonical)) => canonical != text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(n: i64) -> Option<Number> {
        Value::integer(n).map(Number::Small)
    }

    #[test]
    fn one_number_has_many_literals() {
        for (n, texts) in [
            (0, &["0", "-0", "+0", "00", "0x0", "-0x0", "0x0000"][..]),
            (1, &["1", "+1", "01", "0x1", "0x00000001", "+0x1", "0X1"]),
            (-26, &["-26", "-026", "-0x1a", "-0x1A", "-0X001a"]),
            (0xdead, &["57005", "0xdead", "0xDEAD", "0xDeAd"]),
            ((1 << 61) - 1, &["2305843009213693951", "0x1fffffffffffffff"]),
            (-(1 << 61), &["-2305843009213693952", "-0x2000000000000000"]),
        ] {
            for text in texts {
                assert_eq!(number(text.as_bytes()), small(n), "{text}");
                assert!(is_literal(text));
            }
        }
    }

    #[test]
    fn large_numbers_have_one_canonical_text() {
        for (canonical, texts) in [
            ("2305843009213693952", &["2305843009213693952", "0x2000000000000000", "+02305843009213693952"][..]),
            ("18446744073709551615", &["0xffffffffffffffff", "0x0FFFFFFFFFFFFFFFF"]),
            ("-18446744073709551616", &["-0x10000000000000000"]),
            ("340282366920938463463374607431768211456", &["0x100000000000000000000000000000000"]),
            ("1000000000000000000", &[]),
            ("10000000000000000000000000000000000000", &["0x785ee10d5da46d900f436a000000000"]),
        ] {
            for text in texts {
                assert_eq!(number(text.as_bytes()), Some(Number::Large(canonical.to_owned())), "{text}");
                assert_eq!(is_literal(text), *text != canonical, "{text}");
            }
        }
    }

    #[test]
    fn other_tokens_are_words() {
        let long = "1".repeat(LONGEST + 1);
        for text in ["", "+", "-", "0x", "-0x", "x", "1_000", "0x_1", "1.0", "1e3", "--1", "0b1", "0xg", "1 ", "0o7"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
        assert_eq!(number(long.as_bytes()), None);
        assert!(number(&long.as_bytes()[1..]).is_some());
    }
}
