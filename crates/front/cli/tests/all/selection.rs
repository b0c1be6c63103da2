//! Which histories the output speaks of: `FILE#k`, names, `--first`, `--smallest`, and the lines of `--json`.

use crate::common;
use common::{Files, GOOD, STALE, STORE_BUFFERING, json, seriatim, seriatim_with, with_input};
use serde_json::{Value, json};

/// A thin-air read: two operations.
const THIN: &str = "[0] w x 1\n[0] r x 3\n";

fn corpus(files: &Files) -> String {
    let name = "# @name store buffering\n";
    files.write("c.hist", format!("{GOOD}---\n{name}{STORE_BUFFERING}---\n{STALE}---\n{THIN}---\n[0] q\n---\n{THIN}"))
}

/// The lines of verdicts.
fn verdicts(out: &str) -> Vec<&str> {
    out.lines().filter(|line| !line.starts_with(' ')).collect()
}

#[test]
fn one_history_of_a_file_is_selected() {
    let files = Files::new();
    let path = &corpus(&files);
    let third = &format!("{path}#2");
    let ran = seriatim(["check", third]);
    assert_eq!((ran.status, verdicts(&ran.out)), (1, vec![format!("{third}: sc: violation").as_str()]));
    assert_eq!(json(&seriatim(["check", "--json", third]).out)[0]["history"], 2);
    // A bad history matters only if it is the one that is asked for.
    assert_eq!((seriatim(["check", &format!("{path}#0")]).status, ran.err.as_str()), (0, ""));
    assert_eq!(seriatim(["check", &format!("{path}#4")]).status, 2);
    // Several histories of one file, and a whole file.
    let ran = seriatim(["check", &format!("{path}#3"), &format!("{path}#0"), &files.write("g.hist", GOOD)]);
    assert_eq!(verdicts(&ran.out).len(), 3);
    let beyond = seriatim(["check", &format!("{path}#791")]);
    assert_eq!((beyond.status, beyond.out.as_str()), (2, ""));
    assert!(beyond.err.contains("there is no history 791 in this file: it holds 6"), "{}", beyond.err);
    // Other subcommands take `FILE#k`, too.
    assert_eq!(seriatim(["kernel", third]).status, 1);
    assert_eq!(seriatim(["classify", &format!("{path}#1")]).status, 0);
    assert_eq!(seriatim(["convert", "--to", "text", third]).out, format!("# @object memory\n{STALE}"));
    assert_eq!(seriatim(["convert", "--to", "text", &format!("{path}#9")]).status, 2);
    let certificates = &files.path("out.cert");
    assert_eq!(seriatim(["check", "--certificate", certificates, third]).status, 1);
    assert_eq!(seriatim(["verify", "--all", certificates, third]).status, 0);
}

#[test]
fn a_file_that_is_really_called_so_wins() {
    let files = Files::new();
    let path = corpus(&files);
    let real = &files.write("c.hist#2", GOOD);
    let ran = seriatim(["check", "--format", "text", real]);
    assert_eq!((ran.status, verdicts(&ran.out)), (0, vec![format!("{real}: sc: consistent").as_str()]));
    // Without a number, or without such a file, the whole argument is a file name.
    for name in [format!("{path}#"), format!("{path}#+1"), format!("{path}#x"), files.path("none#1")] {
        let ran = seriatim(["check", &name]);
        assert!(ran.status == 2 && ran.err.starts_with(&format!("{name}: ")), "{}", ran.err);
    }
}

#[test]
fn names_are_told() {
    let files = Files::new();
    let path = &corpus(&files);
    let ran = seriatim(["check", path]);
    assert!(ran.out.contains(&format!("{path}#1: sc: violation\n  name: store buffering\n")), "{}", ran.out);
    assert!(!seriatim(["check", "--quiet", path]).out.contains("name"));
    assert!(seriatim(["classify", path]).out.contains("\n  name: store buffering\n"));
    let second = &format!("{path}#1");
    for arguments in [&["check", "-m", "cc"][..], &["check"], &["classify"], &["kernel"]] {
        let ran = seriatim_with(&[arguments, &["--json", second]].concat());
        assert_eq!(json(&ran.out)[0]["name"], "store buffering", "{arguments:?}");
    }
    let named = "# @name n\n[0] w x 1\n---\n[0] w x 1\n";
    let ran = with_input(["monitor", "--model", "ra", "--json"], named.as_bytes());
    let names: Vec<Value> = json(&ran.out).iter().map(|line| line["name"].clone()).collect();
    assert_eq!(names, [json!("n"), Value::Null]);
}

#[test]
fn the_first_violation_ends_the_run_however_many_workers_there_are() {
    let files = Files::new();
    let path = &corpus(&files);
    for jobs in ["1", "2", "7"] {
        let ran = seriatim(["check", "--first", "--jobs", jobs, path]);
        let lines = [format!("{path}#0: sc: consistent"), format!("{path}#1: sc: violation")];
        assert_eq!((ran.status, verdicts(&ran.out)), (1, lines.iter().map(String::as_str).collect()));
        assert_eq!(ran.err, "");
        // Of several models, the first one that is violated is reported.
        let ran = seriatim(["check", "--first", "--json", "-m", "cc,tso,sc,wsc", "--jobs", jobs, path]);
        let last = json(&ran.out).pop().unwrap();
        assert_eq!((ran.status, &last["history"], &last["model"]), (1, &json!(1), &json!("sc")));
    }
    let good = &files.write("good.hist", format!("{GOOD}---\n{GOOD}"));
    assert_eq!(verdicts(&seriatim(["check", "--first", good]).out).len(), 2);
    assert_eq!(seriatim(["check", "--first", "--smallest", good]).status, 2);
}

#[test]
fn a_hard_history_behind_the_first_violation_is_not_waited_for() {
    let files = Files::new();
    let hard = &files.path("hard.hist");
    let made = seriatim(["gen", "--object", "queue", "--operations", "2000", "--values", "3", "-o", hard]);
    assert_eq!(made.status, 0);
    let begin = std::time::Instant::now();
    let stale = &files.write("stale.hist", STALE);
    let ran = seriatim(["check", "--first", "--jobs", "2", "--timeout", "600", "--algorithm", "search", stale, hard]);
    assert_eq!(ran.status, 1);
    assert!(begin.elapsed().as_secs() < 60);
}

#[test]
fn of_all_violations_the_smallest_is_told() {
    let files = Files::new();
    let path = &corpus(&files);
    let certificates = &files.path("out.cert");
    for jobs in ["1", "5"] {
        let ran = seriatim(["check", "--smallest", "--jobs", jobs, "--certificate", certificates, path]);
        // The bad history is still reported.
        assert_eq!((ran.status, verdicts(&ran.out)), (2, vec![format!("{path}#3: sc: violation").as_str()]));
        assert!(ran.out.contains("thin-air") && ran.err.contains("no method is called"), "{}", ran.err);
        assert_eq!(std::fs::read_to_string(certificates).unwrap().lines().count(), 1);
    }
    let lines = json(&seriatim(["check", "--smallest", "--json", path]).out);
    assert!(lines.len() == 2 && lines[0].get("error").is_some() && lines[1]["history"] == 3, "{lines:?}");
    let good = &files.write("good.hist", format!("{GOOD}---\n{GOOD}"));
    let ran = seriatim(["check", "--smallest", good]);
    assert_eq!((ran.status, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("no violation found in 2 histories"), "{}", ran.err);
}

#[test]
fn lines_of_json_explain_violations() {
    let files = Files::new();
    let path = &files.write("mp.hist", "[0] w x 1\n[0] w y 1\n[1] r y 1\n[1] r x 0\n");
    let line = &json(&seriatim(["check", "--json", path]).out)[0];
    let text = seriatim(["check", path]).out;
    let told: Vec<String> = line["explanation"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| format!("  {}", line["text"].as_str().unwrap()))
        .collect();
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), told);
    assert_eq!(
        line["explanation"][0]["operations"],
        json!([
            {"operation": 3, "line": 4, "thread": "1", "text": "[1] r x 0"},
            {"operation": 0, "line": 1, "thread": "0", "text": "[0] w x 1"},
        ])
    );
    assert_eq!(line["explanation"][3]["operations"][0]["line"], 3);
    assert!(json(&seriatim(["check", "--json", "--quiet", path]).out)[0].get("explanation").is_none());
    let classified = &json(&seriatim(["classify", "--json", path]).out)[0];
    let mut broken = classified["weakest_broken"].as_array().unwrap().iter().map(|model| model.as_str().unwrap());
    assert!(broken.any(|it| classified["models"][it]["explanation"][0]["text"].is_string()), "{classified}");
    let queue = "# @object queue\n[1] call enqueue 1\n[1] return\n[1] call dequeue\n[1] return 2\n";
    let line = &json(&with_input(["check", "--json", "-"], queue.as_bytes()).out)[0];
    assert_eq!(line["explanation"][0]["operations"][0]["text"], "[1] dequeue => 2");
    // A final value is not on a line.
    let line = &json(&with_input(["check", "--json", "-"], b"# @final x 1\n[0] w x 1\n[0] w x 2\n").out)[0];
    let end = &line["explanation"][0]["operations"][0];
    assert!(end["text"] == "[0] r x 1" && end.get("line").is_none(), "{line}");
}

#[test]
fn bad_input_is_a_line_of_json_too() {
    let files = Files::new();
    let bad = &files.write("bad.hist", format!("{GOOD}---\n[0] q x\n"));
    let none = &files.path("none.hist");
    let queue = &files.write("queue.hist", "# @object queue\n[1] call enqueue 5\n[1] return\n");
    for command in ["check", "classify", "kernel"] {
        let ran = seriatim([command, "--json", bad, none]);
        let lines = json(&ran.out);
        assert_eq!((ran.status, lines.len()), (2, 3), "{command}: {}", ran.out);
        let error = &lines[1]["error"];
        assert_eq!((&lines[1]["file"], &lines[1]["history"]), (&json!(bad), &json!(1)));
        assert_eq!((&error["line"], &error["column"], &error["text"]), (&json!(4), &json!(5), &json!("[0] q x")));
        assert!(error["message"].is_string() && error["expected"].is_string());
        assert!(lines[1].get("verdict").is_none());
        assert!(lines[2]["error"]["message"].is_string() && lines[2].get("history").is_none());
        // Standard error still has the error as text.
        assert!(ran.err.contains(&format!("{bad}:4:5: ")) && ran.err.contains(&format!("{none}: ")), "{}", ran.err);
    }
    let misfit = &json(&seriatim(["check", "--json", "-m", "sc", queue]).out)[0];
    assert!(misfit["error"]["expected"].as_str().unwrap().contains("linearizable fits a queue"), "{misfit}");
    let ran = seriatim(["monitor", "--json", "--model", "ra", bad]);
    assert_eq!((ran.status, json(&ran.out)[1]["error"]["line"].clone()), (2, json!(4)), "{}", ran.out);
}

#[test]
fn verify_says_what_has_no_certificate() {
    let files = Files::new();
    let path = &files.write("c.hist", format!("{GOOD}---\n{STALE}---\n{GOOD}---\n{STORE_BUFFERING}"));
    let certificates = &files.path("out.cert");
    assert_eq!(seriatim(["check", "--certificate", certificates, path]).status, 1);
    let ran = seriatim(["verify", "--all", certificates, path]);
    assert_eq!((ran.status, ran.err.as_str(), ran.out.lines().count()), (0, "", 4));
    let text = std::fs::read_to_string(certificates).unwrap();
    for (kept, without) in [(vec![0, 1, 2], 1), (vec![1, 3], 2), (vec![3], 3)] {
        let lines: Vec<&str> = text.lines().enumerate().filter(|(at, _)| kept.contains(at)).map(|(_, it)| it).collect();
        let some = &files.write("some.cert", lines.join("\n"));
        let ran = seriatim(["verify", some, path]);
        assert_eq!((ran.status, ran.out.lines().count()), (0, kept.len()), "{}", ran.err);
        assert!(ran.err.contains(&format!("{without} of 4 histories")), "{}", ran.err);
        assert_eq!(seriatim(["verify", "--all", some, path]).status, 1);
        let lines = json(&seriatim(["verify", "--json", some, path]).out);
        let (last, judged) = lines.split_last().unwrap();
        assert_eq!((&last["histories"], &last["without_certificate"]), (&json!(4), &json!(without)));
        assert!(judged.iter().all(|line| line["verified"] == true && line["model"] == "sc" && line["file"] == *path));
    }
    let lie = &files.write("lie.cert", text.replace("\"consistent\"", "\"violation\""));
    let ran = seriatim(["verify", "--json", lie, path]);
    assert!(
        ran.status != 0 && json(&ran.out).iter().any(|line| line["verified"] == false && line["reason"].is_string())
    );
}
