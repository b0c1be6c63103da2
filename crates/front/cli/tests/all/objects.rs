//! Linearizability on the command line.

use crate::common;
use common::{Files, json, seriatim, seriatim_with};
use history::Object;

/// The names of the objects that have calls and returns.
fn objects() -> impl Iterator<Item = &'static str> {
    Object::ALL.into_iter().filter(|&object| object != Object::Memory).map(Object::name)
}

#[test]
fn generated_runs_are_linearizable_and_their_certificates_verify() {
    let files = Files::new();
    for object in objects() {
        let shapes = [
            &["--pending", "20"][..],
            &["--keys", "3"],
            &["--values", "5", "--threads", "3"],
            &["--peeks", "20"],
            &["--peeks", "20", "--progress", "20", "--pending", "5"],
            &["--rmws", "30", "--pending", "5"],
        ];
        for extra in shapes {
            let path = &files.path("run.hist");
            let certificates = &files.path("run.cert");
            let mut arguments = vec!["gen", "--object", object, "--operations", "200", "--histories", "3", "-o", path];
            arguments.extend(extra);
            assert_eq!(seriatim_with(&arguments).status, 0);
            let ran = seriatim(["check", "--json", "--certificate", certificates, path]);
            let records = json(&ran.out);
            assert_eq!((ran.status, records.len()), (0, 3), "{object} {extra:?}: {}{}", ran.out, ran.err);
            assert!(records.iter().all(|record| record["model"] == "linearizable"));
            let ran = seriatim(["verify", certificates, path]);
            assert_eq!(ran.status, 0, "{object} {extra:?}: {}", ran.out);
            // A certificate belongs to the history, whatever its format.
            let converted = &files.path("run.jsonl");
            assert_eq!(seriatim(["convert", "--to", "jsonl", path, "-o", converted]).status, 0);
            let ran = seriatim(["verify", certificates, converted]);
            assert_eq!(ran.status, 0, "{object} {extra:?}: {}", ran.out);
        }
    }
}

/// The command has no specification of an object that is not built in; it converts its histories all the same.
#[test]
fn an_object_that_is_not_built_in() {
    let files = Files::new();
    let text = "# @object account\n[0] call transfer 5 savings\n[0] return ok\n";
    let path = &files.write("a.hist", text);
    let ran = seriatim(["check", path]);
    assert_eq!((ran.status, &*ran.out), (2, ""));
    assert!(ran.err.contains("no specification of `account` is built in"), "{}", ran.err);
    assert!(ran.err.contains("tagged-semaphore"), "{}", ran.err);
    let ran = seriatim(["convert", "--to", "jsonl", path]);
    assert!(ran.out.contains(r#""f":"transfer","value":[5,"savings"]"#), "{}{}", ran.out, ran.err);
}

#[test]
fn what_goes_wrong_is_found_and_explained() {
    let files = Files::new();
    for object in ["queue", "stack", "pqueue", "set", "register", "kv", "counter", "max-register"] {
        for wrong in ["k-fifo", "lost", "duplicated", "late-empty"] {
            let path = &files.path("run.hist");
            let certificates = &files.path("run.cert");
            let values = if object == "set" { "5" } else { "0" };
            let arguments = [
                "gen",
                "--object",
                object,
                "--operations",
                "400",
                "--values",
                values,
                "--wrong",
                wrong,
                "--faults",
                "20",
                "--peeks",
                "15",
            ];
            assert_eq!(seriatim_with(&[&arguments[..], &["-o", path]].concat()).status, 0);
            let ran = seriatim(["check", "--certificate", certificates, path]);
            assert_eq!(ran.status, 1, "{object} {wrong}: {}", ran.out);
            assert!(ran.out.lines().count() > 2 && ran.out.contains("line "), "{object} {wrong}: {}", ran.out);
            assert_eq!(seriatim(["verify", certificates, path]).status, 0);
        }
    }
}

/// A fault that happens once is seen in every run.
#[test]
fn what_goes_wrong_once_shows_in_every_run() {
    let files = Files::new();
    let path = &files.path("runs.hist");
    for object in objects() {
        for wrong in ["k-fifo", "lost", "duplicated", "late-empty"] {
            let arguments = ["gen", "--object", object, "--wrong", wrong, "--histories", "20", "--operations", "100"];
            let made = seriatim_with(&[&arguments[..], &["-o", path]].concat());
            assert_eq!((made.status, made.err.as_str()), (0, ""), "{object} {wrong}");
            let ran = seriatim(["check", "--json", path]);
            let violations = json(&ran.out).iter().filter(|record| record["verdict"] == "violation").count();
            assert_eq!((ran.status, violations), (1, 20), "{object} {wrong}: {}", ran.out);
        }
    }
    let made = seriatim(["gen", "--object", "queue", "--wrong", "k-fifo", "--operations", "1", "-o", path]);
    assert_eq!(made.status, 0);
    assert!(made.err.contains("may not show: it takes 4 operations"), "{}", made.err);
}

#[test]
fn all_formats_hold_the_same_run() {
    let files = Files::new();
    for object in objects() {
        let text = &files.path("run.hist");
        let common = ["gen", "--object", object, "--operations", "100", "--pending", "30", "--keys", "2", "-o"];
        assert_eq!(seriatim_with(&[&common[..], &[text]].concat()).status, 0);
        for extension in ["jsonl", "edn"] {
            let other = &files.path(&format!("run.{extension}"));
            assert_eq!(seriatim_with(&[&common[..], &[other]].concat()).status, 0);
            let ran = seriatim(["check", other]);
            assert_eq!(ran.status, 0, "{object} {extension}: {}{}", ran.out, ran.err);
            let converted = seriatim(["convert", "--to", "text", other]).out;
            let events = |text: &str| text.lines().filter(|line| line.starts_with('[')).count();
            assert_eq!(events(&converted), events(&std::fs::read_to_string(text).unwrap()), "{object} {extension}");
        }
    }
}

#[test]
fn the_algorithm_can_be_chosen_and_is_told() {
    let files = Files::new();
    let unique =
        &files.write("u.hist", "# @object queue\n[0] call enqueue 1\n[0] return\n[0] call dequeue\n[0] return 1\n");
    let twice = &files.write(
        "t.hist",
        "# @object queue\n[0] call enqueue 1\n[0] return\n[0] call enqueue 1\n[0] return\n[0] call dequeue\n[0] \
         return 1\n",
    );
    let strategy = |algorithm: &str, file: &str| {
        let ran = seriatim(["check", "--json", "--algorithm", algorithm, file]);
        let record = json(&ran.out).remove(0);
        (record["verdict"].as_str().unwrap().to_owned(), record["strategy"].as_str().unwrap().to_owned())
    };
    let consistent = |strategy: &str| ("consistent".to_owned(), strategy.to_owned());
    assert_eq!(strategy("auto", unique), consistent("fast"));
    assert_eq!(strategy("search", unique), consistent("lockstep"));
    assert_eq!(strategy("auto", twice), consistent("lockstep"));
    assert_eq!(strategy("fast", twice).0, "unknown");
    assert_eq!(seriatim(["check", "--algorithm", "fast", twice]).status, 3);
    let stack = "# @object stack\n[0] call push 1\n[0] return\n[0] call push 1\n[0] return\n";
    assert_eq!(strategy("auto", &files.write("s.hist", stack)), consistent("levels"));
    let queue = "# @object pqueue\n[0] call insert 1\n[0] return\n[0] call insert 1\n[0] return\n";
    assert_eq!(strategy("auto", &files.write("p.hist", queue)), consistent("fast"));
    assert_eq!(strategy("search", &files.path("p.hist")), consistent("search"));
    // Two queues, of which only one needs more than the fast algorithm.
    let both = "# @object queue\n[0] call enqueue 1 key=a\n[0] return\n[0] call enqueue 1 key=b\n[0] return\n\
                [0] call enqueue 1 key=b\n[0] return\n";
    let both = &files.write("b.hist", both);
    assert_eq!(strategy("auto", both), consistent("fast+lockstep"));
    // `--algorithm` takes each strategy that is printed, and reaches the same decision.
    for (printed, file) in [("fast", unique), ("lockstep", twice), ("fast+lockstep", both)] {
        assert_eq!(strategy(printed, file), consistent(printed));
    }
    assert_eq!(strategy("levels", &files.path("s.hist")), consistent("levels"));
    let other = &json(&seriatim(["check", "--json", "--algorithm", "levels", twice]).out)[0];
    assert_eq!(other["reason"], "the search of a queue is `lockstep`, not `levels`");
}

#[test]
fn a_violation_is_told_in_words() {
    let files = Files::new();
    let queue = &files.write(
        "q.hist",
        "# @object queue\n[0] call enqueue 1\n[0] return\n[0] call enqueue 2\n[0] return\n\
         [1] call dequeue\n[1] return 2\n[1] call dequeue\n[1] return 1\n",
    );
    let ran = seriatim(["check", queue]);
    assert_eq!(
        ran.out,
        format!(
            "{queue}: linearizable: violation\n  out of order: 1 was enqueued before 2, and dequeued after it:\n    \
             line 2  [0] enqueue 1\n    line 4  [0] enqueue 2     called after line 2 returned\n    \
             line 6  [1] dequeue => 2  removed what line 4 enqueued\n    \
             line 8  [1] dequeue => 1  removed what line 2 enqueued; called after line 6 returned\n    \
             • the queue would have to contain, the front first: 1, 2, and 1 again behind them\n    \
             • for line 6 [1] dequeue => 2, the queue would have to contain 2 in front\n    \
             • while line 6 is open, before it takes effect, it contains, the front first: 1, 2\n"
        )
    );
}
