//! The public surface of a crate, read from its source.
//!
//! An item is public if it is written `pub` and stands in a module that can be reached: the root, and each `pub mod` of
//! a module that can be reached. `pub use` is an item of its own, so an item of a private module counts where it is
//! offered. Methods count with their type, fields do not: a field is changed together with its type. Tests, and what
//! stands behind the feature `research`, do not count.
//!
//! The reading is by lines, as rustfmt writes them. It needs no compiler, and a new item always shows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::{Crate, files, read};

/// The public items of a crate, one a line, in the order of the source.
pub fn of(room: &Crate) -> Vec<String> {
    let mut items = Vec::new();
    module(&room.folder.join("src"), &room.folder.join("src/lib.rs"), &room.name, &mut items);
    items
}

/// The public types of a crate, each with the file that declares it: those of a public module, and those that such a
/// module offers from a private one.
pub fn types(room: &Crate) -> BTreeSet<(String, PathBuf)> {
    let root = room.folder.join("src");
    let of_item = |item: &String| -> Vec<(String, PathBuf)> {
        let Some((path, item)) = item.split_once(": ") else { return Vec::new() };
        let module = path.split("::").skip(1).fold(root.clone(), |folder, name| folder.join(name));
        if let Some(used) = item.strip_prefix("use ") {
            return offered(&root, &module, used);
        }
        let name = KINDS.iter().find_map(|kind| item.strip_prefix(kind)?.strip_prefix(' '));
        name.map(|name| (name.to_owned(), file_of(&module))).into_iter().collect()
    };
    of(room).iter().flat_map(of_item).collect()
}

/// The kinds of types.
const KINDS: [&str; 5] = ["struct", "enum", "trait", "type", "union"];

/// The file of a module whose submodules stand in `folder`.
fn file_of(folder: &Path) -> PathBuf {
    let candidates = [folder.join("lib.rs"), folder.with_extension("rs"), folder.join("mod.rs")];
    candidates.into_iter().find(|file| file.exists()).unwrap_or_default()
}

/// The types of the same crate among those that `pub use` of a module offers. `module` is where its submodules stand. A
/// type is of the crate if the file of the named module, or one below it, declares it.
fn offered(root: &Path, module: &Path, used: &str) -> Vec<(String, PathBuf)> {
    let (path, names) = used
        .split_once("::{")
        .map(|(path, names)| (path, names.trim_end_matches('}')))
        .or_else(|| used.rsplit_once("::"))
        .unwrap_or(("", used));
    let begin = if path.starts_with("crate") { root } else { module };
    let place = path.split("::").filter(|part| *part != "crate").fold(begin.to_owned(), |place, part| place.join(part));
    let mut below = files(&place);
    below.push(file_of(&place));
    let declares = |file: &Path, name: &str| {
        let is_it = |line: &str| {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            line.starts_with("pub ") && words.windows(2).any(|pair| KINDS.contains(&pair[0]) && pair[1] == name)
        };
        file.exists() && read(file).lines().any(is_it)
    };
    let names = names.split(", ").map(|name| name.split(" as ").last().unwrap_or(name));
    names.filter_map(|name| Some((name.to_owned(), below.iter().find(|file| declares(file, name))?.clone()))).collect()
}

/// Adds the items of the module in `file`, whose submodules stand in `folder`.
fn module(folder: &Path, file: &Path, path: &str, items: &mut Vec<String>) {
    if !file.exists() {
        return;
    }
    let text = read(file);
    let mut is_for_research = false;
    let mut owner = None;
    for line in text.lines() {
        if line.starts_with("#[cfg(test)]") {
            break;
        }
        if line.trim_start().starts_with("#[cfg(feature = \"research\")]") {
            is_for_research = true;
            continue;
        }
        if line.trim_start().starts_with('#') || line.trim_start().starts_with("//") {
            continue;
        }
        let is_skipped = std::mem::take(&mut is_for_research);
        if let Some(head) = line.strip_prefix("impl") {
            owner = (!head.contains(" for ")).then(|| type_of(head)).flatten().filter(|name| !is_private(&text, name));
        } else if line.starts_with('}') {
            owner = None;
        }
        let Some(item) = item(line).filter(|_| !is_skipped) else { continue };
        match (&owner, line.starts_with("    ")) {
            (Some(owner), true) if item.starts_with("fn ") || item.starts_with("const ") => {
                items.push(format!("{path}::{owner}: {item}"));
            }
            (_, true) => {}
            (_, false) => {
                if let Some(name) = item.strip_prefix("mod ") {
                    let (own, nested) = (folder.join(format!("{name}.rs")), folder.join(name));
                    let path = format!("{path}::{name}");
                    items.push(path.clone());
                    let file = if own.exists() { own } else { nested.join("mod.rs") };
                    module(&nested, &file, &path, items);
                } else {
                    items.push(format!("{path}: {item}"));
                }
            }
        }
    }
}

/// Whether a type is declared in this text, and is not public.
fn is_private(text: &str, name: &str) -> bool {
    let declares = |line: &str| {
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let kinds = ["struct", "enum", "union"];
        !line.starts_with("pub ") && words.windows(2).any(|pair| kinds.contains(&pair[0]) && pair[1] == name)
    };
    text.lines().filter(|line| !line.starts_with([' ', '/'])).any(declares)
}

/// The type of `impl<'a> Name<'a> {`.
fn type_of(head: &str) -> Option<String> {
    let mut depth = 0;
    let mut rest = String::new();
    for character in head.chars() {
        match character {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ if depth == 0 => rest.push(character),
            _ => {}
        }
    }
    rest.split_whitespace().next().map(|name| name.trim_end_matches('{').to_owned())
}

/// The kind and the name of a public item, such as `fn check`, or what a `pub use` offers.
fn item(line: &str) -> Option<String> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    if let Some(used) = rest.strip_prefix("use ") {
        return Some(format!("use {}", used.trim_end_matches(';')));
    }
    let words: Vec<&str> = rest.split(|c: char| c.is_whitespace() || "(<:;={".contains(c)).collect();
    let kinds = ["fn", "struct", "enum", "trait", "type", "mod", "static", "union", "macro"];
    if let Some(at) = words.iter().position(|word| kinds.contains(word)) {
        return words.get(at + 1).map(|name| format!("{} {name}", words[at]));
    }
    (words[0] == "const").then(|| format!("const {}", words[1]))
}
