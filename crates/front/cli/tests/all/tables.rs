//! Parquet and Arrow IPC: converted there and back, checked, split, and damaged.

use crate::common;
use std::fs;

use common::{Files, GOOD, STALE, STORE_BUFFERING, command, json, seriatim, seriatim_with, with_input};

/// Files of all kinds of histories.
fn kinds(files: &Files) -> Vec<String> {
    let memory = files.write(
        "memory.hist",
        format!("{GOOD}---\n{STALE}---\n{STORE_BUFFERING}---\n[0] u.acqrel x 0 1\n[1] f.sc\n# @final x 1\n"),
    );
    let mut all = vec![memory];
    for object in ["queue", "register", "set", "kv", "exchanger"] {
        let path = files.path(&format!("{object}.hist"));
        let flags = ["--operations", "60", "--threads", "3", "--histories", "3", "-o", &path];
        assert_eq!(seriatim_with(&[&["gen", "--object", object], &flags[..]].concat()).status, 0);
        all.push(path);
    }
    let path = files.path("transactions.hist");
    assert_eq!(seriatim(["gen", "--model", "snapshot-isolation", "--operations", "60", "-o", &path]).status, 0);
    all.push(path);
    all
}

#[test]
fn conversion_there_and_back_changes_nothing() {
    let files = Files::new();
    for path in kinds(&files) {
        let original = seriatim(["convert", "--to", "jsonl", &path]);
        let verdicts = |path: &str| {
            let ran = seriatim(["check", "-m", "all", "--json", path]);
            let shown = json(&ran.out).into_iter().map(|line| [line["model"].clone(), line["verdict"].clone()]);
            (ran.status, shown.collect::<Vec<_>>())
        };
        let expected = verdicts(&path);
        for extension in ["parquet", "arrow"] {
            let there = &files.path(&format!("there.{extension}"));
            let ran = seriatim(["convert", &path, "-o", there]);
            assert_eq!((ran.status, &ran.err), (0, &original.err), "{path}");
            assert_eq!(seriatim(["convert", "--to", "jsonl", there]).out, original.out, "{path} in {extension}");
            assert_eq!(verdicts(there), expected, "{path} in {extension}");
            // From a pipe, the content tells the format.
            let content = fs::read(there).unwrap();
            assert_eq!(with_input(["convert", "--to", "jsonl"], &content).out, original.out);
        }
    }
}

#[test]
fn every_command_that_reads_histories_reads_tables() {
    let files = Files::new();
    let text = &files.write("bad.hist", STALE);
    let table = &files.path("bad.parquet");
    assert_eq!(seriatim(["convert", text, "-o", table]).status, 0);
    for arguments in [&["check", "-m", "sc,tso"][..], &["classify"], &["shrink"], &["explain"], &["kernel"]] {
        // Rows are counted as lines are.
        let [of_text, of_table] = [text, table].map(|path| {
            let ran = seriatim_with(&[arguments, &[path]].concat());
            (ran.status, ran.out.replace("bad.hist", "bad").replace("bad.parquet", "bad"))
        });
        assert_eq!(of_table, of_text, "{arguments:?}");
    }
    let certificates = &files.path("cert");
    assert_eq!(seriatim(["check", "--certificate", certificates, table]).status, 1);
    assert_eq!(seriatim(["verify", certificates, table]).status, 0);
    assert_eq!(seriatim(["verify", certificates, text]).status, 0);
    let ran = with_input(["monitor", "--model", "sc-observed"], &fs::read(table).unwrap());
    assert_eq!(ran.status, 2, "{}", ran.err);
}

#[test]
fn a_damaged_table_is_an_input_error_and_the_rest_is_checked() {
    let files = Files::new();
    let text = &files.write("two.hist", format!("{GOOD}---\n{GOOD}"));
    let table = &files.path("two.parquet");
    assert_eq!(seriatim(["convert", text, "-o", table]).status, 0);
    let whole = fs::read(table).unwrap();
    let cut = &files.write("cut.parquet", &whole[..whole.len() - 9]);
    let ran = seriatim(["check", cut, table]);
    assert_eq!((ran.status, ran.out.lines().count()), (2, 2));
    assert!(ran.err.contains("cut.parquet: this is not Parquet, or it is cut off"), "{}", ran.err);
    assert_eq!(seriatim(["check", "--skip-unreadable", cut, table]).status, 0);
    // No byte of a file makes the command panic, hang or say something about nothing.
    for at in (0..whole.len()).step_by(23) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        let damaged = &files.write("damaged.parquet", damaged);
        let ran = seriatim(["check", damaged]);
        assert!((0..=3).contains(&ran.status), "{at}: {}", ran.err);
        assert!(!ran.err.contains("bug in seriatim"), "{at}: {}", ran.err);
    }
}

#[test]
fn a_table_is_resumed_and_split_like_any_corpus() {
    let files = Files::new();
    let table = &files.path("corpus.parquet");
    let flags = ["gen", "--operations", "20", "--histories", "300", "--format", "parquet", "-o", table];
    assert_eq!(command().args(flags).status().unwrap().code(), Some(0));
    let whole = seriatim(["check", table]);
    assert_eq!((whole.status, whole.out.lines().count()), (0, 300), "{}", whole.err);
    let states: Vec<String> = (1..=3).map(|number| files.path(&format!("{number}"))).collect();
    for (number, state) in (1..).zip(&states) {
        let ran = seriatim(["check", table, "--state", state, "--shard", &format!("{number}/3")]);
        assert_eq!((ran.status, ran.out.lines().count()), (0, 100));
    }
    let merged = seriatim(["merge", &states[0], &states[1], &states[2]]);
    assert_eq!((merged.status, merged.out), (0, whole.out));
}
