//! Numbers beyond the literals of `history::literal`: floating-point numbers that are whole, and numbers in a list or a
//! map that is one value.
//!
//! JSON knows no integers, and pandas writes a column of integers with a gap as `2.0`. So where a format has such
//! numbers, `2.0` and `2e0` are 2. A list or a map that is the value of a register is a word, the text of which has
//! every integer in canonical form: `[0x1,2]` and `[1,2]` are one value.

use history::literal::{LONGEST, Number, number};

use super::string::quoted_length;

/// The decimal digits of a floating-point number that is whole; none if it is not whole, or no such number.
pub(super) fn whole(text: &[u8]) -> Option<String> {
    let (sign, rest) = match text {
        [b'-', rest @ ..] => ("-", rest),
        [b'+', rest @ ..] => ("", rest),
        _ => ("", text),
    };
    if !rest.first()?.is_ascii_digit() {
        return None;
    }
    let run = |from: usize| rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let before = run(0);
    let mut at = before;
    let mut digits = rest[..before].to_vec();
    let mut shift = 0_i64;
    if rest.get(at) == Some(&b'.') {
        let after = run(at + 1);
        digits.extend_from_slice(&rest[at + 1..][..after]);
        shift -= i64::try_from(after).ok()?;
        at += 1 + after;
    }
    if let Some(b'e' | b'E') = rest.get(at) {
        let exponent = std::str::from_utf8(&rest[at + 1..]).ok()?;
        shift = shift.checked_add(exponent.parse::<i64>().ok()?)?;
        at = rest.len();
    }
    if at == before || at < rest.len() {
        return None;
    }
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    digits.drain(..zeros);
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    for _ in shift..0 {
        digits.pop().filter(|&digit| digit == b'0')?;
    }
    let zeros = usize::try_from(shift.max(0)).ok().filter(|&zeros| zeros < LONGEST)?;
    digits.resize(digits.len() + zeros, b'0');
    (digits.len() < LONGEST).then(|| format!("{sign}{}", String::from_utf8_lossy(&digits)))
}

/// How the numbers in a list or a map are written.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Inside {
    /// White space means nothing, a string may be a number unless it is the name of a field or `{"word":"5"}`, and
    /// there are floating-point numbers.
    Json,
    /// White space separates, and a string is no number.
    Edn,
}

/// The text of a list or a map, with its integers in canonical form.
pub(super) fn in_canonical_form(text: &[u8], inside: Inside) -> Vec<u8> {
    let is_json = inside == Inside::Json;
    let ends_token = |byte: &u8| byte.is_ascii_whitespace() || b",\"()[]{}".contains(byte) || is_json && *byte == b':';
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let rest = &text[at..];
        let length = match byte {
            b'"' => quoted_length(rest).map_or(1, |(length, _)| length),
            byte if ends_token(byte) => 1,
            _ => rest.iter().position(ends_token).unwrap_or(rest.len()),
        };
        let (token, rest) = rest.split_at(length);
        at += length;
        if is_json && byte.is_ascii_whitespace() {
            continue;
        }
        let is_text = || rest.trim_ascii_start().starts_with(b":") || out.ends_with(b"{\"word\":");
        let literal = match token {
            [b'"', inside @ .., b'"'] if is_json && !is_text() => inside,
            [digits @ .., b'N'] if !is_json => digits,
            token => token,
        };
        let canonical = match number(literal) {
            Some(Number::Small(value)) => value.as_integer().map(|number| number.to_string()),
            Some(Number::Large(digits)) => Some(digits),
            None => whole(token).filter(|_| is_json),
        };
        out.extend_from_slice(canonical.as_ref().map_or(token, |digits| digits.as_bytes()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_whole() {
        for (text, digits) in [
            ("2.0", "2"),
            ("-2.", "-2"),
            ("+02.00", "2"),
            ("0.0", "0"),
            ("-0e5", "0"),
            ("2e3", "2000"),
            ("2.50E+1", "25"),
            ("1200e-2", "12"),
            ("1.8446744073709551615e19", "18446744073709551615"),
            ("0e99999999999999999", "0"),
        ] {
            assert_eq!(whole(text.as_bytes()).as_deref(), Some(digits), "{text}");
        }
        for text in [
            "2",
            "2.5",
            "12e-2",
            "-",
            "",
            ".5",
            "e3",
            "2e",
            "2.0x",
            "1.2.3",
            "0x1.0",
            "1e1000",
            "1e99999999999999999999",
            "nan",
        ] {
            assert_eq!(whole(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn numbers_in_lists_and_maps() {
        for (inside, text, expected) in [
            (Inside::Json, "[0x1 , -02,\"0x3\",2.0]", "[1,-2,3,2]"),
            (Inside::Json, "{\"01\" : \"01\"}", "{\"01\":1}"),
            (Inside::Json, "[{ \"word\" : \"5\" }]", "[{\"word\":\"5\"}]"),
            (Inside::Edn, "[0x1 -02 \"0x3\" 2.0]", "[1 -2 \"0x3\" 2.0]"),
            (Inside::Edn, "{:a 0x0A 5N #{+1 b-1}}", "{:a 10 5 #{1 b-1}}"),
        ] {
            assert_eq!(String::from_utf8(in_canonical_form(text.as_bytes(), inside)).unwrap(), expected);
        }
    }
}
