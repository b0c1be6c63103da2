//! Strings in double quotes, as JSON and EDN have them, and as the text format has words that need quotes.

use super::error::{Fault, utf8};

/// The length of the quoted string at the beginning of `bytes`, both quotes included, and whether it has escapes. The
/// string may hold any byte except an unescaped quote.
pub(super) fn quoted_length(bytes: &[u8]) -> Option<(usize, bool)> {
    let mut at = 1;
    let mut has_escapes = false;
    loop {
        let step = memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        at += step + 1;
        if bytes[at - 1] == b'"' {
            return Some((at, has_escapes));
        }
        has_escapes = true;
        at += 1;
    }
}

/// The text of a quoted string. `quoted` includes the quotes, and begins at offset `at` of its line.
pub(super) fn unquote(quoted: &[u8], at: usize) -> Result<String, Fault> {
    let inside = utf8(&quoted[1..quoted.len() - 1], at + 1)?;
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside.char_indices();
    while let Some((offset, character)) = rest.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        let fault = || Fault::new(at + 1 + offset, "this is not an escape sequence").expected("an escape of JSON");
        let (_, escape) = rest.next().ok_or_else(fault)?;
        text.push(match escape {
            '"' | '\\' | '/' => escape,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let first = code_unit(&mut rest).ok_or_else(fault)?;
                if (0xd800..0xdc00).contains(&first) {
                    let follows = rest.next().map(|(_, c)| c) == Some('\\') && rest.next().map(|(_, c)| c) == Some('u');
                    let second = if follows { code_unit(&mut rest) } else { None };
                    let second = second.filter(|unit| (0xdc00..0xe000).contains(unit)).ok_or_else(fault)?;
                    char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or_else(fault)?
                } else {
                    char::from_u32(first).ok_or_else(fault)?
                }
            }
            _ => return Err(fault()),
        });
    }
    Ok(text)
}

/// The four hexadecimal digits of a `\\u` escape.
fn code_unit(rest: &mut std::str::CharIndices) -> Option<u32> {
    (0..4).try_fold(0, |unit, _| Some(unit * 16 + rest.next()?.1.to_digit(16)?))
}

/// Appends `text` in double quotes. The escapes are those that JSON and EDN have in common.
pub(super) fn push_quoted(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for character in text.chars() {
        match character {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\0'..' ' | '\u{7f}'..='\u{9f}' => out.extend_from_slice(format!("\\u{:04x}", character as u32).as_bytes()),
            _ => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_unquoted() {
        for text in ["", "a b", "\"", "\\", "\n\r\t\u{8}\u{c}\0\u{7f}", "é漢\u{1f600}", "a=b#c,(d)"] {
            let mut quoted = Vec::new();
            push_quoted(&mut quoted, text);
            quoted.extend_from_slice(b" rest");
            let (length, _) = quoted_length(&quoted).unwrap();
            assert_eq!(length, quoted.len() - 5);
            assert_eq!(unquote(&quoted[..length], 0).unwrap(), text);
        }
        assert_eq!(unquote(br#""\ud83d\ude00\/""#, 0).unwrap(), "\u{1f600}/");
    }

    #[test]
    fn bad_strings_are_refused_where_they_are_bad() {
        for (quoted, at) in
            [(&br#""ab\x""#[..], 3), (br#""\u12g4""#, 1), (br#""\ud83dx""#, 1), (br#""\udc00""#, 1), (b"\"a\xff\"", 2)]
        {
            assert_eq!(unquote(quoted, 0).unwrap_err().at, at);
        }
        assert_eq!(quoted_length(b"\"abc"), None);
        assert_eq!(quoted_length(b"\"abc\\"), None);
        assert_eq!(quoted_length(b"\"abc\\\""), None);
    }
}
