//! The public surface of each crate is the one in `testing/surface`: to add a public item is a conscious act.
//!
//! `SERIATIM_UPDATE_SURFACE=1 cargo test -p seriatim-house --test surface` writes the lists anew. Read the difference.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use house::{crates, root, shown, surface};

#[test]
fn a_public_item_is_a_conscious_act() {
    let folder = root().join("testing/surface");
    let mut differences = Vec::new();
    let mut expected_files = BTreeSet::new();
    for room in crates() {
        let file = folder.join(format!("{}.txt", room.name));
        expected_files.insert(file.clone());
        let now = surface::of(&room).join("\n") + "\n";
        if std::env::var_os("SERIATIM_UPDATE_SURFACE").is_some() {
            fs::write(&file, &now).expect("the list can be written");
        }
        let listed = fs::read_to_string(&file).unwrap_or_default();
        let [now, listed] = [&now, &listed].map(|text| text.lines().collect::<BTreeSet<_>>());
        differences.extend(now.difference(&listed).map(|item| format!("+ {item}")));
        differences.extend(listed.difference(&now).map(|item| format!("- {item}")));
    }
    let help = "if you mean it: SERIATIM_UPDATE_SURFACE=1 cargo test -p seriatim-house --test surface";
    assert!(differences.is_empty(), "the public surface has changed; {help}\n{}", differences.join("\n"));
    let files = fs::read_dir(folder).expect("the lists").map(|entry| entry.expect("a file").path());
    assert_eq!(files.collect::<BTreeSet<_>>(), expected_files, "a list for each crate, and no other");
}

/// At most one public type of a name, in the whole product.
#[test]
fn a_public_type_has_a_name_of_its_own() {
    let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for room in crates() {
        for (name, file) in surface::types(&room) {
            by_name.entry(name).or_default().push(shown(&file));
        }
    }
    by_name.retain(|_, files| files.len() > 1);
    let not_shared: Vec<&str> = SHARED.into_iter().filter(|name| !by_name.contains_key(*name)).collect();
    assert!(not_shared.is_empty(), "only one public type has this name now, so take it off the list: {not_shared:?}");
    by_name.retain(|name, _| !SHARED.contains(&name.as_str()));
    let found: Vec<String> = by_name.iter().map(|(name, files)| format!("{name}: {}", files.join(", "))).collect();
    assert!(found.is_empty(), "public types that share a name:\n{}", found.join("\n"));
}

/// Names that several public types still have. Most of them are the words for an explored program, which has
/// values, steps and executions as a history has. The list only gets shorter.
const SHARED: [&str; 8] = ["Call", "Execution", "Explanation", "Model", "Next", "Source", "Step", "Value"];
