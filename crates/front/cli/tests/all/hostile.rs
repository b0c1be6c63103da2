//! Names, values and file names that try to do something to the terminal, or to forge a line of output.

use crate::common;
use std::ffi::OsString;

use common::{Files, Ran, command, json, ran, seriatim};

/// A control sequence, its one-character form, marks of direction, characters without width, separators, a tag.
const EVIL: &str = "a\u{1b}[31m\u{9b}2J\u{202e}\u{2066}\u{200f}\u{61c}\u{200b}\u{feff}\u{2028}\u{2029}\u{7f}\u{e0041}b";

/// `EVIL` as a string of JSON, with a newline and a carriage return besides.
fn evil_json() -> String {
    serde_json::to_string(&format!("{EVIL}\n\r\tc: sc: consistent")).unwrap()
}

/// Asserts that the output has no control characters except newlines.
fn assert_harmless(ran: &Ran, what: &str) {
    for text in [&ran.out, &ran.err] {
        let bad = text.chars().find(|&c| c != '\n' && !history::is_visible(c));
        assert_eq!(bad, None, "{what}: {text:?}");
    }
}

/// Runs the command and, if the subcommand has `--json`, runs it again with `--json`.
fn run(arguments: &[&str]) -> Ran {
    let ran = common::seriatim_with(arguments);
    assert_harmless(&ran, &format!("{arguments:?}"));
    assert!(!ran.err.contains("bug"), "{}", ran.err);
    if matches!(arguments[0], "check" | "classify" | "explain" | "verify" | "kernel" | "monitor") {
        let as_json = common::seriatim_with(&[arguments, &["--json"]].concat());
        assert_harmless(&as_json, &format!("{arguments:?} --json"));
        assert_eq!(as_json.status, ran.status);
        assert!(json(&as_json.out).iter().all(|line| line["schema"] == 1), "{}", as_json.out);
    }
    ran
}

/// Histories whose threads, keys, values, labels and names are hostile, in text and in JSON Lines.
fn histories(files: &Files) -> Vec<String> {
    let e = EVIL;
    let j = evil_json();
    let violation = format!(
        "# @name {e}\n[{e}] w {e} {e}1 id={e}\n[{e}] w {e} {e}2\n[{e}2] r {e} {e}2\n[{e}2] r {e} {e}1 from={e}\n"
    );
    let access = |f: &str, value: &str| format!("{{\"process\":{j},\"f\":\"{f}\",\"key\":{j},\"value\":{value}}}\n");
    let stale = format!("{}{}{}", access("write", &j), access("write", "2"), access("read", &j));
    let thin = access("read", &j);
    let fine = format!("{}{}", access("write", &j), access("read", &j));
    let ambiguous = format!("{}{}{}", access("write", &j), access("write", &j), access("read", &j));
    let call = |kind: &str, f: &str, value: &str| {
        format!("{{\"process\":{j},\"type\":\"{kind}\",\"f\":\"{f}\",\"key\":{j},\"value\":{value}}}\n")
    };
    let queue = format!(
        "{{\"object\":\"queue\"}}\n{}{}{}{}",
        call("invoke", "enqueue", "1"),
        call("ok", "enqueue", "1"),
        call("invoke", "dequeue", "null"),
        call("ok", "dequeue", &j)
    );
    let register = format!("{}{}", call("invoke", "read", "null"), call("ok", "read", &j));
    [
        ("violation.hist", violation),
        ("unknown-method.hist", format!("[0] {e} x 1\n")),
        ("directive.hist", format!("# @object {e}\n[0] w x 1\n")),
        ("init.hist", format!("# @init {e} {e}\n[0] r {e} {e}3\n")),
        ("junk.hist", format!("{e}\n")),
        ("junk.jsonl", format!("{{\"process\":{j},\"f\":{j}}}\n")),
        ("junk.edn", format!("{{:process \"{e}\" :f :{e} :value \"{e}\"}}\n")),
        ("junk.axe", format!("0: M[{e}] := {e}\n")),
        ("junk", format!("{e} {e}\n")),
        ("stale.jsonl", stale),
        ("thin.jsonl", thin),
        ("fine.jsonl", fine),
        ("ambiguous.jsonl", ambiguous),
        ("queue.jsonl", queue),
        ("register.jsonl", register),
    ]
    .into_iter()
    .map(|(name, text)| files.write(name, text))
    .collect()
}

#[test]
fn no_subcommand_lets_the_content_of_a_history_reach_the_terminal() {
    let files = Files::new();
    let mut violations = 0;
    for path in histories(&files) {
        let certificates = &files.path("out.cert");
        let ran = run(&["check", "--certificate", certificates, &path]);
        violations += usize::from(ran.status == 1);
        run(&["check", "-m", "all", &path]);
        run(&["verify", certificates, &path]);
        let forged = std::fs::read_to_string(certificates).unwrap().replace("\"sc\"", &evil_json());
        run(&["verify", &files.write("forged.cert", forged), &path]);
        run(&["classify", &path]);
        run(&["explain", &path]);
        for kind in ["dot", "svg", "mermaid"] {
            assert_harmless(&common::seriatim_with(&["explain", "--to", kind, &path]), kind);
        }
        run(&["kernel", &path]);
        for model in ["ra", "rc20", "sc-observed", "linearizable"] {
            run(&["monitor", "--model", model, &path]);
            run(&["monitor", "--model", model, "--certificate", &files.path("monitor.cert"), &path]);
        }
        for format in ["text", "jsonl", "edn", "axe"] {
            // A converted history keeps its hostile text, so it goes to a file. Only the messages are looked at.
            let ran = run(&["convert", "--to", format, &path, "-o", &files.path("converted")]);
            assert_eq!(ran.out, "");
        }
    }
    assert!(violations >= 4, "{violations}");
}

#[test]
fn certificates_with_hostile_names_are_refused_quietly() {
    let files = Files::new();
    let good = &files.write("good.hist", "[0] w x 1\n[1] r x 1\n");
    let certificates = &files.path("out.cert");
    assert_eq!(seriatim(["check", "-m", "all", "--certificate", certificates, good]).status, 0);
    let text = std::fs::read_to_string(certificates).unwrap();
    let evil = evil_json();
    let line = text.lines().next().unwrap();
    // Every string of a certificate, one after the other, becomes hostile.
    let strings: Vec<(usize, &str)> = line.match_indices('"').collect();
    for pair in strings.chunks(2) {
        let [(start, _), (end, _)] = pair else { panic!("an odd number of quotes") };
        let forged = format!("{}{evil}{}\n", &line[..*start], &line[end + 1..]);
        assert_ne!(run(&["verify", &files.write("forged.cert", forged), good]).status, 0);
    }
    for init in [r#"["init","#, r#"{"init":"#] {
        let close = if init.starts_with('[') { "]" } else { "}" };
        let forged = line.replacen(r#""history":0"#, &format!(r#""history":0,"x":{init}{evil}{close}"#), 1);
        run(&["verify", &files.write("forged.cert", forged), good]);
    }
}

#[cfg(unix)]
#[test]
fn file_names_cannot_forge_lines() {
    let files = Files::new();
    let evil = format!("{EVIL}\n\r\tx: sc: consistent\ny");
    let e = evil.as_str();
    let good = &files.write(&format!("good{e}.hist"), "[0] w x 1\n");
    let bad = &files.write(&format!("bad{e}.hist"), "[0] q\n");
    let stale = &files.write(&format!("stale{e}.hist"), common::STALE);
    let queue = &files.write(&format!("queue{e}.hist"), "# @object queue\n[1] call enqueue 5\n[1] return\n");
    let none = &files.path(&format!("none{e}.hist"));
    let empty = &files.write(&format!("empty{e}.hist"), "");
    let directory = &files.path(&format!("empty{e}"));
    std::fs::create_dir(directory).unwrap();
    let certificates = &files.path(&format!("out{e}.cert"));
    let all = [good, bad, stale, queue, none, empty, directory];
    for file in all {
        let ran = run(&["check", file]);
        assert!(ran.out.lines().filter(|line| line.contains(": sc: ")).count() <= 1, "{}", ran.out);
        assert!(!ran.out.lines().any(|line| line.starts_with("y.hist")), "{}", ran.out);
        run(&["check", "-m", "sc", "--certificate", certificates, file]);
        run(&["check", &format!("{file}#7")]);
        run(&["verify", certificates, file]);
        run(&["verify", file, good]);
        run(&["classify", "--svg", &files.path("a.svg"), "--dot", &files.path("a.dot"), file]);
        for drawing in ["a.svg", "a.dot"] {
            let drawing = std::fs::read_to_string(files.path(drawing)).unwrap();
            assert!(drawing.chars().all(|c| c == '\n' || history::is_visible(c)), "{drawing:?}");
        }
        run(&["classify", "--svg", &format!("{directory}/none/{e}"), file]);
        run(&["kernel", file]);
        run(&["monitor", "--model", "ra", file]);
        run(&["monitor", "--model", "ra", "--certificate", &format!("{directory}/none/{e}"), file]);
        run(&["monitor", "--model", "ra", "--checkpoint", bad, file]);
        run(&["convert", "--to", "axe", file]);
        run(&["convert", "--to", "jsonl", file, "-o", &format!("{directory}/none/{e}")]);
        run(&["convert", file, "-o", &format!("{directory}/{e}")]);
        run(&["gen", "-o", file, "--format", "edn", "--object", "queue"]);
        run(&["gen", "-o", &format!("{directory}/none/{e}")]);
        run(&["man", &format!("{directory}/none/{e}")]);
        run(&["check", "--certificate", &format!("{directory}/none/{e}"), file]);
    }
    run(&["monitor", "--listen", &format!("unix:{directory}/none/{e}")]);
}

#[test]
fn arguments_are_no_better() {
    let evil = format!("{EVIL}\n\r");
    for arguments in [
        vec![evil.clone()],
        vec!["check".to_owned(), format!("--{evil}")],
        vec!["check".to_owned(), "--model".to_owned(), evil.clone(), "x".to_owned()],
        vec!["check".to_owned(), "--timeout".to_owned(), evil.clone(), "x".to_owned()],
        vec!["gen".to_owned(), "--object".to_owned(), evil.clone()],
        vec!["gen".to_owned(), "--seed".to_owned(), evil.clone()],
        vec!["monitor".to_owned(), "--algorithm".to_owned(), evil],
    ] {
        let ran = ran(command().args(arguments.iter().map(OsString::from)).output().unwrap());
        assert_eq!(ran.status, 2);
        assert_harmless(&ran, &format!("{arguments:?}"));
    }
}

#[test]
fn what_is_written_back_stays_byte_for_byte() {
    let files = Files::new();
    let line = format!("{{\"process\":0,\"f\":\"write\",\"key\":{},\"value\":1}}\n", evil_json());
    let path = &files.write("evil.jsonl", &line);
    let there = seriatim(["convert", "--to", "text", path]);
    assert_eq!(there.status, 0, "{}", there.err);
    let back = common::with_input(["convert", "--from", "text", "--to", "jsonl"], there.out.as_bytes());
    let keys = |text: &str| json(text).iter().map(|record| record["key"].clone()).collect::<Vec<_>>();
    assert_eq!(keys(&back.out).last(), keys(&line).last(), "{}", back.err);
}
