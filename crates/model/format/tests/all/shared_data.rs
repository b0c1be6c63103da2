//! The recorded histories of other tools. `SERIATIM_SHARED_DATA` names their folder. Without it, these tests are
//! skipped, and say so. With it, a missing file is a failure.

use crate::common;
use std::fs;
use std::path::{Path, PathBuf};

use common::{canonical, parse_valid, print};
use format::{Format, ReadOptions, looks_like_history, open};
use history::{History, Object, Outcome};

fn shared(folder: &str) -> Option<PathBuf> {
    let Some(data) = std::env::var_os("SERIATIM_SHARED_DATA") else {
        eprintln!("skipped: SERIATIM_SHARED_DATA is not set");
        return None;
    };
    Some(Path::new(&data).join(folder))
}

fn read_all(path: &Path) -> Vec<History> {
    let reader = open(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    reader.map(|result| result.unwrap_or_else(|error| panic!("{}: {error:?}", path.display()))).collect()
}

fn round_trip(histories: &[History], formats: &[Format]) {
    let expected: Vec<String> = histories.iter().map(canonical).collect();
    for &format in formats {
        let again = parse_valid(print(histories, format), format);
        assert_eq!(again.iter().map(canonical).collect::<Vec<_>>(), expected);
    }
}

/// The rows of a table of verdicts, without its first line.
fn rows(folder: &Path) -> Vec<Vec<String>> {
    let path = folder.join("verdicts.tsv");
    let table = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    table.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

const CALLS: [Format; 3] = [Format::Text, Format::JsonLines, Format::Edn];

#[test]
fn violin() {
    let Some(folder) = shared("violin") else { return };
    let rows = rows(&folder);
    assert!(rows.len() > 1000);
    for row in rows {
        let histories = read_all(&folder.join(&row[0]));
        assert_eq!(histories.len(), 1, "{}", row[0]);
        assert_eq!(histories[0].object().name(), row[1], "{}", row[0]);
        assert_eq!(histories[0].operations().len().to_string(), row[2], "{}", row[0]);
        round_trip(&histories, &CALLS);
    }
}

#[test]
fn porcupine() {
    let Some(folder) = shared("porcupine") else { return };
    let rows = rows(&folder);
    assert!(rows.len() > 30);
    for row in rows {
        let path = folder.join(&row[0]);
        assert!(looks_like_history(&path).unwrap());
        let histories = read_all(&path);
        assert_eq!(histories.len(), 1, "{}", row[0]);
        let object = if row[0].starts_with("kv") { Object::KeyValue } else { Object::Register };
        assert_eq!(histories[0].object(), object, "{}", row[0]);
        let calls = fs::read_to_string(&path).unwrap().matches(":invoke").count();
        assert_eq!(histories[0].operations().len(), calls, "{}", row[0]);
        let is_log = object == Object::Register;
        assert!(!is_log || histories[0].operations().iter().all(|operation| operation.outcome != Outcome::Fail));
        round_trip(&histories, &CALLS);
    }
}

#[test]
fn knossos() {
    let Some(folder) = shared("knossos") else { return };
    let rows = rows(&folder);
    assert!(rows.len() > 8);
    for row in rows {
        let path = folder.join(&row[0]);
        let histories = read_all(&path);
        assert_eq!(histories.len(), 1, "{}", row[0]);
        assert_eq!(histories[0].object(), Object::Register, "{}", row[0]);
        let text = fs::read_to_string(&path).unwrap();
        let events = text.lines().filter(|line| !line.trim_start().starts_with(';'));
        let calls: usize = events.map(|line| line.matches(":invoke").count()).sum();
        assert_eq!(histories[0].operations().len(), calls, "{}", row[0]);
        round_trip(&histories, &CALLS);
    }
}

#[test]
fn axe() {
    let Some(folder) = shared("axe") else { return };
    for name in ["litmus", "random"] {
        let folder = folder.join(name);
        let histories = read_all(&folder.join("tests.axe"));
        let verdicts = fs::read_to_string(folder.join("SC.txt")).expect("a verdict per trace");
        assert_eq!(histories.len(), verdicts.lines().count(), "{name}");
        assert!(histories.iter().all(|history| history.name().is_some() && !history.operations().is_empty()));
        round_trip(&histories, &[Format::Text, Format::JsonLines, Format::Edn, Format::Axe]);
        assert!(!looks_like_history(&folder.join("SC.txt")).unwrap());
    }
}

#[test]
fn what_is_not_a_history_is_not_taken_for_one() {
    let Some(folder) = shared("") else { return };
    for name in ["README.md", "axe/LICENSE", "violin/LICENSE.violin", "violin/verdicts.tsv", "porcupine/verdicts.tsv"] {
        assert!(!looks_like_history(&folder.join(name)).unwrap(), "{name}");
    }
}
