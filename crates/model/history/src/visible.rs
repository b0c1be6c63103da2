//! Makes text from outside safe to show to a person.
//!
//! A name, a value or a file name may hold any character. A newline forges a line of output. An escape sequence moves
//! the cursor. A bidirectional mark turns the text around. A zero-width character hides. So all text that is shown goes
//! through [`visible`]. A history that is written back to a file does not: it keeps its bytes.

use std::borrow::Cow;

/// Whether a character is shown as itself, and does nothing else to a terminal or to the text around it. Control and
/// format characters are not visible. Neither are separators other than the blank, and characters without a meaning
/// (private or unassigned).
pub fn is_visible(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    // The standard library knows which characters show. A combining mark shows only after another character, so one is
    // put before it.
    let mut text = [b'a', 0, 0, 0, 0];
    let length = 1 + character.encode_utf8(&mut text[1..]).len();
    str::from_utf8(&text[..length]).is_ok_and(|text| text.escape_debug().count() == 2)
}

/// The text, with every character that is not visible written as in Rust: `\n`, `\u{1b}`. A second application changes
/// nothing more.
///
/// ```
/// assert_eq!(history::visible("x\u{1b}[2J: consistent\ny"), "x\\u{1b}[2J: consistent\\ny");
/// assert_eq!(history::visible("größe"), "größe");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_visible) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_visible(character) {
            shown.push(character);
        } else {
            shown.extend(character.escape_default());
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_something_else_than_show_is_escaped() {
        let ranges = ['\0'..='\u{1f}', '\u{7f}'..='\u{9f}', '\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}'];
        let others = ['\u{ad}', '\u{61c}', '\u{feff}', '\u{e0001}', '\u{e0041}', '\u{fff9}', '\u{a0}', '\u{e000}'];
        let isolates = '\u{2060}'..='\u{206f}';
        for character in ranges.into_iter().flatten().chain(others).chain(isolates) {
            assert!(!is_visible(character), "{character:?}");
            let text = format!("a{character}b");
            let shown = visible(&text);
            assert!(shown.starts_with("a\\") && shown.ends_with('b') && shown.is_ascii(), "{shown}");
            assert_eq!(visible(&shown), shown);
        }
    }

    #[test]
    fn letters_of_all_scripts_stay() {
        for text in ["plain text, with 'quotes' \"and\" \\backslash", "größe", "日本語", "नमस्ते", "e\u{301}", "🦀", ""]
        {
            assert!(matches!(visible(text), Cow::Borrowed(shown) if shown == text), "{text}");
        }
    }
}
