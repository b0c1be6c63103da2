//! What people call the columns of tables. Case does not matter, and `-` and a space are like `_`.
//!
//! | column | other names |
//! | --- | --- |
//! | `process` | `thread`, `core`, `cpu`, `hart`, `tid`, `client`, `process_id`, `thread_id` |
//! | `f` | `op`, `operation`, `kind`, `method`; `type`, if no other column says what is done |
//! | `key` | `address`, `addr`, `location`, `loc`, `variable` |
//! | `value` | `data`, `val` |
//! | `history` | `history_id` |
//! | `order` | `memory_order` |
//! | `size` | `bytes` |
//!
//! Two columns of a table that mean the same are an error: nobody knows which one counts.

#[cfg(any(feature = "arrow", test))]
pub(super) const HISTORY: &[&str] = &["history", "history_id"];
pub(super) const PROCESS: &[&str] =
    &["process", "thread", "core", "cpu", "hart", "tid", "client", "process_id", "thread_id"];
pub(super) const METHOD: &[&str] = &["f", "op", "operation", "kind", "method"];
pub(super) const KEY: &[&str] = &["key", "address", "addr", "location", "loc", "variable"];
pub(super) const VALUE: &[&str] = &["value", "data", "val"];
pub(super) const ORDER: &[&str] = &["order", "memory_order"];
pub(super) const SIZE: &[&str] = &["size", "bytes"];

/// A name of a column as the lists above have it.
pub(super) fn plain(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace(['-', ' '], "_")
}

/// Whether a name of a column is one of these.
pub(super) fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.contains(&&plain(name)[..])
}

/// What test benches call the operations on a memory, as the other formats have it: `r`, `w`, `u` or `f`.
pub(super) fn access(name: &str) -> Option<&'static str> {
    Some(match &name.to_ascii_lowercase()[..] {
        "r" | "read" | "load" | "ld" => "r",
        "w" | "write" | "store" | "st" => "w",
        "u" | "rmw" | "swap" | "amo" | "exchange" => "u",
        "f" | "fence" | "sync" | "barrier" | "mfence" => "f",
        _ => return None,
    })
}

/// The same for a name in quotes, as a cell of a table has it. Names that need no other word are left alone.
#[cfg(feature = "arrow")]
pub(super) fn quoted_access(cell: &[u8]) -> Option<&'static [u8]> {
    if cell.len() <= 3 {
        return None;
    }
    let name = std::str::from_utf8(cell.strip_prefix(b"\"")?.strip_suffix(b"\"")?).ok()?;
    match (name, access(name)?) {
        ("exchange", _) => None,
        (_, "r") => Some(b"\"r\""),
        (_, "w") => Some(b"\"w\""),
        (_, "u") => Some(b"\"u\""),
        _ => Some(b"\"f\""),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_names_are_in_the_documents() {
        let rows = |text: &str, mark: &str| -> Vec<String> {
            let lines = text.lines().filter_map(|line| line.strip_prefix(mark));
            let lines = lines.skip_while(|&line| line != "| column | other names |");
            lines.take_while(|line| line.starts_with('|')).map(str::to_owned).collect()
        };
        let here = rows(include_str!("columns.rs"), "//! ");
        let told = rows(include_str!("../../../../docs/formats/tables.md"), "");
        assert!(here.len() > 5);
        assert_eq!(here, told);
        let row = |names: &[&str]| -> String {
            let rest: Vec<String> = names[1..].iter().map(|name| format!("`{name}`")).collect();
            format!("| `{}` | {}", names[0], rest.join(", "))
        };
        for names in
            [super::HISTORY, super::PROCESS, super::METHOD, super::KEY, super::VALUE, super::ORDER, super::SIZE]
        {
            assert!(here.iter().any(|line| line.starts_with(&row(names))), "{names:?}");
        }
    }
}
