//! What places and values are called where people read them.
//!
//! A place is called by what the code calls it where it is made: in `is_taken: AtomicBool::new(false)` and in
//! `let is_taken = Arc::new(AtomicBool::new(false))` that is `is_taken`. The source is looked up, since nothing else
//! knows it. If it is not there, or says no name, the place is called by its line. Places that this crate has made for
//! itself have no such line, and are numbered.

use std::collections::BTreeMap;
use std::panic::Location;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::names::token_number;
use super::place::Look;
use super::runtime::Code;
use crate::program::Value;

/// By file: its text, if it can be read.
static SOURCES: Mutex<BTreeMap<&str, Option<Arc<str>>>> = Mutex::new(BTreeMap::new());

/// A source is looked for in this folder and in those above it: the paths of a workspace begin at its root.
fn source(file: &'static str) -> Option<Arc<str>> {
    let read = || {
        let folder = std::env::current_dir().ok()?;
        folder.ancestors().find_map(|folder| std::fs::read_to_string(folder.join(file)).ok()).map(Arc::from)
    };
    let mut sources = SOURCES.lock().unwrap_or_else(PoisonError::into_inner);
    sources.entry(file).or_insert_with(read).clone()
}

/// Titles for places, given where they were made. No two are the same.
pub(super) fn titles(origins: impl IntoIterator<Item = Option<Code>>) -> Vec<String> {
    let mut titles: Vec<String> = Vec::new();
    for (number, origin) in origins.into_iter().enumerate() {
        let title = origin.filter(|&code| !is_own(code)).map_or_else(|| format!("x{number}"), title);
        let candidates = (2..).map(|more| format!("{title}.{more}"));
        let free = std::iter::once(title.clone()).chain(candidates).find(|it| !titles.contains(it));
        titles.extend(free);
    }
    titles
}

/// Whether a place was made by this crate.
fn is_own(code: Code) -> bool {
    Path::new(code.file()).starts_with(Path::new(Location::caller().file()).parent().unwrap_or(Path::new("/")))
}

fn title(code: Code) -> String {
    let line = source(code.file()).and_then(|text| {
        let line = text.lines().nth(code.line() as usize - 1)?;
        line.get(..code.column() as usize - 1).map(str::to_owned)
    });
    line.and_then(|line| name_before(&line).map(str::to_owned)).unwrap_or_else(|| {
        let file = Path::new(code.file()).file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
        format!("{file}:{}:{}", code.line(), code.column())
    })
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The name that is given to what stands after this text: a field, a variable, a static.
fn name_before(text: &str) -> Option<&str> {
    let mut text = text.trim_end();
    // What is around it: `Arc::new(`, `[`, `[const {`.
    while let Some(outer) = text.strip_suffix(['(', '[', '{']) {
        text = outer.trim_end();
        let path = text.trim_end_matches(|character| is_word(character) || ":<>".contains(character));
        if text.ends_with(is_word) {
            text = path.trim_end();
        }
    }
    let before = text.strip_suffix('=').or_else(|| text.strip_suffix(':'))?;
    if before.ends_with([':', '=', '!', '<', '>', '+', '-']) {
        return None;
    }
    // The type of a variable or static is left out.
    let before = match before.split_once(": ") {
        Some((name, _)) if text.ends_with('=') => name,
        _ => before,
    };
    let before = before.trim_end();
    let start = before.rfind(|character| !is_word(character)).map_or(0, |at| at + 1);
    let name = before.get(start..)?;
    name.starts_with(|first: char| first.is_alphabetic() || first == '_').then_some(name)
}

/// A value of a place as its type shows it.
pub(super) fn shown(value: Value, look: Look) -> String {
    if let Some((number, tag)) = token_number(value) {
        let tag = if tag == 0 { String::new() } else { format!("+{tag}") };
        return format!("object-{number}{tag}");
    }
    match look {
        Look::Word => value.to_string(),
        Look::Bool => (value & 1 == 1).to_string(),
        Look::Signed(shift) => (value >> shift).to_string(),
        Look::Unsigned(shift) => ((value as u64) >> shift).to_string(),
        Look::Address if value == 0 => "null".to_owned(),
        Look::Address => format!("{value:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::name_before;

    #[test]
    fn names() {
        for (text, name) in [
            ("    let x = ", Some("x")),
            ("    let mut x: Foo<Bar> = ", Some("x")),
            ("static LOCK: Mutex<u32> = ", Some("LOCK")),
            ("    is_taken: ", Some("is_taken")),
            ("let lock = Arc::new(Lock { is_taken: ", Some("is_taken")),
            ("let x = Arc::new(", Some("x")),
            ("let all = Arc::new([const { ", Some("all")),
            ("let slots = [", Some("slots")),
            ("    slots: [Data::new(", Some("slots")),
            ("let both = Arc::new((", Some("both")),
            ("    (a, ", None),
            ("    Self(", None),
            ("    x.y == ", None),
            ("", None),
        ] {
            assert_eq!(name_before(text), name, "{text}");
        }
    }
}
