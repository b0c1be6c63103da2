//! Histories with the verdicts of other tools and of enumerated axioms, read where they lie: `SERIATIM_SHARED_DATA`.

use crate::common;
use std::path::{Path, PathBuf};

use common::{checker, decide};
use history::History;
use model::{Model, Verdict};
use serde_json::Value;

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("SERIATIM_SHARED_DATA").map(|folder| Path::new(&folder).join("transactions"));
    if folder.is_none() {
        eprintln!("skipped: SERIATIM_SHARED_DATA is not set");
    }
    folder.filter(|folder| folder.is_dir())
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn compare(history: &History, expected: &Value, name: &str) {
    let checker = checker(history).unwrap_or_else(|| panic!("{name}: the sources are known"));
    for (level, verdict) in expected["verdicts"].as_object().unwrap() {
        let model = Model::from_name(level).unwrap();
        let decision = decide(history, &checker, model);
        let found = if decision.verdict == Verdict::Consistent { "consistent" } else { "violation" };
        assert_eq!(found, verdict, "{name}: {level}");
    }
    let bad: Vec<&str> = checker.resolved().bad.iter().map(|bad| bad.anomaly.name()).collect();
    if let Some(anomaly) = expected["reads"].as_array().and_then(|reads| reads.first()) {
        assert!(bad.contains(&anomaly.as_str().unwrap()), "{name}: {bad:?} and not {anomaly}");
    }
}

#[test]
fn named_and_random_histories_have_their_verdicts() {
    let Some(folder) = folder() else { return };
    for (folder, list) in [(folder.clone(), "named.expected.jsonl"), (folder.join("random"), "expected.jsonl")] {
        let expected = lines(&folder.join(list));
        let mut compared = 0;
        let mut files: Vec<&str> = expected.iter().map(|line| line["file"].as_str().unwrap()).collect();
        files.dedup();
        for file in files {
            let histories: Vec<History> =
                format::load_all(folder.join(file)).unwrap().collect::<Result<_, _>>().unwrap();
            for line in expected.iter().filter(|line| line["file"] == file) {
                let number = line["history"].as_u64().unwrap() as usize;
                compare(&histories[number], line, &format!("{file} {number} {}", line["name"]));
                compared += 1;
            }
        }
        assert!(compared > 50);
    }
}

#[test]
fn formats_and_other_tools_have_their_verdicts() {
    let Some(folder) = folder() else { return };
    for line in lines(&folder.join("formats/expected.jsonl")) {
        let name = line["folder"].as_str().unwrap();
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(folder.join("formats").join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files {
            let history = match format::load(&file) {
                Ok(history) => history,
                Err(error) => panic!("{}: {error}", file.display()),
            };
            let mut expected = line.clone();
            if history.is_untimed() {
                let verdicts = expected["verdicts"].as_object_mut().unwrap();
                verdicts.retain(|level, _| !level.starts_with("str"));
            }
            compare(&history, &expected, &file.display().to_string());
        }
    }
    let table = std::fs::read_to_string(folder.join("verdicts.tsv")).unwrap();
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let history = match format::load(folder.join(fields[0])) {
            Ok(history) => history,
            Err(error) => panic!("{}: {error}", fields[0]),
        };
        let checker = checker(&history).unwrap_or_else(|| panic!("{line}: the sources are known"));
        let decision = decide(&history, &checker, Model::from_name(fields[2]).unwrap());
        let found = if decision.verdict == Verdict::Consistent { "consistent" } else { "violation" };
        assert_eq!(found, fields[3], "{line}");
    }
}
