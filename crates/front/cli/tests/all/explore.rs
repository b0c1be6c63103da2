//! `seriatim explore`: what it prints, and its exit status.

use crate::common;
use std::path::Path;

use common::{Files, seriatim, with_input};

const SB: &str = "C SB
{ [x] = 0; [y] = 0; }
P0 (atomic_int* x, atomic_int* y) {
  atomic_store(x, 1);
  int r0 = atomic_load(y);
}
P1 (atomic_int* x, atomic_int* y) {
  atomic_store(y, 1);
  int r0 = atomic_load(x);
}
~exists (0:r0=0 /\\ 1:r0=0)
";

/// The example of `docs/programs-litmus.md` is true.
#[test]
fn the_example_of_the_document() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/programs-litmus.md");
    let text = std::fs::read_to_string(path).unwrap();
    let example = text.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let test = example.strip_prefix("$ cat sb.litmus\n").unwrap();
    let (test, answer) = test.split_once("$ seriatim explore sb.litmus\n").unwrap();
    let files = Files::new();
    let ran = seriatim(["explore", &files.write("sb.litmus", test)]);
    assert_eq!((ran.out.trim_end(), ran.status), (answer.trim_end(), 0), "{ran:?}");
}

#[test]
fn text() {
    let ran = with_input(["explore", "--model", "sc,tso", "-"], SB.as_bytes());
    let expected = "Test SB Forbidden
States 3
0:r0=0; 1:r0=1;
0:r0=1; 1:r0=0;
0:r0=1; 1:r0=1;
Ok
Witnesses
Positive: 3 Negative: 0
Condition ~exists (0:r0=0 /\\ 1:r0=0)
Observation SB Never 0 3
Executions SB sc 3 blocked 0 deadlocks 0 races 0

Test SB Forbidden
States 4
0:r0=0; 1:r0=0;
0:r0=0; 1:r0=1;
0:r0=1; 1:r0=0;
0:r0=1; 1:r0=1;
No
Witnesses
Positive: 3 Negative: 1
Condition ~exists (0:r0=0 /\\ 1:r0=0)
Observation SB Sometimes 1 3
Executions SB tso 4 blocked 0 deadlocks 0 races 0

";
    assert_eq!((ran.out.as_str(), ran.status), (expected, 1), "{ran:?}");
}

#[test]
fn json() {
    let ran = with_input(["explore", "--json", "--model", "c20", "-"], SB.as_bytes());
    assert_eq!(ran.status, 0, "{ran:?}");
    let mut line: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(line["micros"].take().is_u64());
    let expected = serde_json::json!({
        "schema": 1, "file": "-", "test": "SB", "model": "c20", "executions": 3, "blocked": 0, "deadlocks": 0,
        "failed": 0, "races": 0, "condition": "~exists", "reachable": false, "verdict": "ok", "complete": true,
        "micros": null,
        "outcomes": [
            {"0:r0": 0, "1:r0": 1, "count": 1},
            {"0:r0": 1, "1:r0": 0, "count": 1},
            {"0:r0": 1, "1:r0": 1, "count": 1},
        ],
    });
    assert_eq!(line, expected);
}

#[test]
fn faults() {
    let files = Files::new();
    let bad = files.write("bad.litmus", "C bad\n{}\nP0 (int* x) { int r = x; }\n");
    let good = files.write("good.litmus", SB);
    let ran = seriatim(["explore", "--model", "rc20", &bad, &good, &files.path("none")]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.out.is_empty(), "{ran:?}");
    for part in
        ["bad.litmus:3:23: `x` is a location", "  expected `*x`", "good.litmus: rc20 has no sequentially", "none: "]
    {
        assert!(ran.err.contains(part), "{part}: {ran:?}");
    }
    let ran = seriatim(["explore", "--json", &bad]);
    let line: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((line["error"]["line"].as_u64(), line["error"]["column"].as_u64()), (Some(3), Some(23)));
    // An exploration that is not complete.
    let endless = files.write("endless.litmus", "C t\n{}\nP0 (int* x) { while (1) *x = 1; }\nforall (true)");
    let ran = seriatim(["explore", "--max-steps", "5", &endless]);
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(ran.out.contains("\nLoop Ok\n"), "{ran:?}");
}

#[test]
fn directories_are_walked() {
    let files = Files::new();
    files.write("tests/b.litmus", SB);
    files.write("tests/more/a.litmus", SB);
    files.write("tests/README.md", "no test");
    let ran = seriatim(["explore", "--json", &files.path("tests")]);
    let file = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["file"].to_string();
    let found: Vec<String> = ran.out.lines().map(file).collect();
    let [first, second] = &found[..] else { panic!("{ran:?}") };
    assert!(first.ends_with("b.litmus\"") && second.ends_with("a.litmus\""), "{ran:?}");
}

/// Random runs: a seed that has shown an outcome shows it again. Without all executions a verdict may be open.
#[test]
fn at_random() {
    let files = Files::new();
    let path = files.write("sb.litmus", SB);
    let ran = seriatim(["explore", "--mode", "random", "--runs", "200", "--json", "--model", "tso", &path]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let line: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((line["executions"].as_u64(), line["complete"].as_bool()), (Some(200), Some(false)));
    assert_eq!(line["outcomes"].as_array().unwrap().len(), 4, "{line}");
    let seed = line["seeds"][0].to_string();
    for strategy in ["uniform", "pct", "pctwm"] {
        let ran = seriatim(["explore", "--mode", "random", "--strategy", strategy, "--runs", "50", "-m", "sc", &path]);
        assert_eq!(ran.status, 3, "{ran:?}");
        assert!(ran.out.contains("\nLoop Ok\n"), "{ran:?}");
    }
    let ran = seriatim(["explore", "--mode", "random", "--runs", "1", "--seed", &seed, "--model", "tso", &path]);
    assert!(ran.out.contains("States 1\n0:r0=0; 1:r0=0;\nLoop No\n"), "{ran:?}");
}

/// However many workers there are, the answer is the same.
#[test]
fn jobs() {
    let thread = |at: usize| format!("P{at} (atomic_int* x) {{ int r = atomic_fetch_add(x, 1); }}\n");
    let test = format!("C adds\n{{}}\n{}forall (x=7)\n", (0..7).map(thread).collect::<String>());
    let files = Files::new();
    let path = files.write("adds.litmus", test);
    for (symmetry, executions) in [("never", 5040), ("auto", 1)] {
        let alone = seriatim(["explore", "--symmetry", symmetry, "--jobs", "1", &path]);
        let counted = format!("Executions adds c20 {executions} ");
        assert!(alone.status == 0 && alone.out.contains(&counted), "{alone:?}");
        assert_eq!(seriatim(["explore", "--symmetry", symmetry, "--jobs", "3", &path]).out, alone.out);
    }
}

/// Every outcome has a history that the model allows, with the final values of the outcome, and a drawing.
#[test]
fn witnesses() {
    let files = Files::new();
    let test = "C a/../b
{ int a[2] = {0, 7}; }
P0 (atomic_int* x, atomic_int* a) { atomic_store_explicit(x, 1, memory_order_relaxed);
  int r = atomic_exchange_explicit(a + 1, 7, memory_order_acq_rel); }
P1 (atomic_int* x, atomic_int* a) { atomic_store_explicit(x, 2, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire); int r = atomic_fetch_add_explicit(a + 1, 0, memory_order_relaxed); }
exists (x=1 /\\ 1:r=7)
";
    let path = files.write("t.litmus", test);
    let folder = files.path("out");
    for model in ["rc20", "ra", "tso", "sc"] {
        let ran = seriatim(["explore", "--json", "--witness", &folder, "--model", model, &path]);
        assert_eq!(ran.status, 0, "{ran:?}");
        let line: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let witnesses = line["witnesses"].as_array().unwrap();
        assert_eq!(witnesses.len(), line["outcomes"].as_array().unwrap().len());
        for (witness, outcome) in witnesses.iter().zip(line["outcomes"].as_array().unwrap()) {
            let witness = witness.as_str().unwrap();
            assert_eq!(Path::new(witness).parent(), Some(Path::new(&folder)));
            let text = std::fs::read_to_string(witness).unwrap();
            assert!(text.contains(&format!("# @final x {}", outcome["x"])), "{text}");
            let ran = seriatim(["check", "--model", model, witness]);
            assert_eq!(ran.status, 0, "{ran:?}\n{text}");
            let drawing = std::fs::read_to_string(witness.replace(".hist", ".dot")).unwrap();
            assert!(drawing.starts_with("digraph") && drawing.contains("->"), "{drawing}");
            let picture = std::fs::read_to_string(witness.replace(".hist", ".svg")).unwrap();
            assert!(picture.starts_with("<svg") && picture.contains(">po<"), "{picture}");
        }
    }
    let ran = seriatim(["explore", "--witness", &path, &path]);
    assert!(ran.status == 2 && ran.err.contains("a witness cannot be written"), "{ran:?}");
}

/// A weak compare-exchange that fails without a reason is explored, and the answer says if it is not.
#[test]
fn weak_exchanges_fail() {
    let files = Files::new();
    let test = "C w\n{}\nP0 (atomic_uchar* x) { int e = 0; int ok = atomic_compare_exchange_weak(x, &e, 257); }
exists (0:ok=0)\n";
    let path = files.write("w.litmus", test);
    let ran = seriatim(["explore", &path]);
    assert!(ran.status == 0 && ran.out.contains("Sometimes 1 1") && !ran.out.contains("Weak"), "{ran:?}");
    let ran = seriatim(["explore", "--spurious", "0", &path]);
    assert!(ran.status == 1 && ran.out.contains("Weak w compare-exchanges are taken as strong\n"), "{ran:?}");
    let ran = seriatim(["explore", "--spurious", "0", "--json", &path]);
    let line: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&line["spurious"], &line["outcomes"][0]["0:ok"]), (&0.into(), &1.into()));
    let ran = seriatim(["explore", "--mode", "random", "--runs", "50", &path]);
    assert!(ran.status == 0 && ran.out.contains("blocked 0"), "{ran:?}");
}

/// Executions that fail have no final state: the answer says how many there are.
#[test]
fn executions_that_fail_are_told() {
    let files = Files::new();
    let text = "C d\n{}\nP0 (atomic_int* x) { int r = 1 / atomic_load(x); }\nP1 (atomic_int* x) { atomic_store(x, 1); }
forall (0:r=1)\n";
    let ran = seriatim(["explore", &files.write("d.litmus", text)]);
    assert!(ran.out.contains("Failed d 1 execution: a thread divided by zero or left an array\n"), "{ran:?}");
    assert!(ran.out.contains("Executions d c20 1 blocked 0"), "{ran:?}");
}

/// A test of which no execution ends says so, shows one, and is a fault if liveness was asked for.
#[test]
fn livelocks_are_told() {
    let files = Files::new();
    let lock = files.write(
        "lock.litmus",
        "C lock\n{}\nP0 (atomic_int* x) { int r; do { r = atomic_exchange(x, 1); } while (r == 1); }
P1 (atomic_int* x) { int r; do { r = atomic_exchange(x, 1); } while (r == 1); }\n",
    );
    let ran = seriatim(["explore", "--max-steps", "10", &lock]);
    let lines = "Endless lock no execution ends, for one:\n  P0 u.sc x 0 -> 1; then it ends\n  \
                 P1 goes round: u.sc x 1 -> 1\n";
    assert!(ran.status == 1 && ran.out.contains(lines), "{ran:?}");
    let ran = seriatim(["explore", "--max-steps", "10", "--liveness", "--json", &lock]);
    let line: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(ran.status == 1 && line["endless"]["certain"] == true, "{ran:?}");
    assert_eq!(line["endless"]["threads"][1], "P1 goes round: u.sc x 1 -> 1");

    // One that gives the lock back has no such execution. If one thread does not, the other may wait for ever.
    for (gives_back, status) in [(true, 0), (false, 1)] {
        let end = if gives_back { "atomic_store(x, 0);" } else { "" };
        let text = format!(
            "C lock\n{{}}\nP0 (atomic_int* x) {{ int r; do {{ r = atomic_exchange(x, 1); }} while (r == 1); {end} }}
P1 (atomic_int* x) {{ int r; do {{ r = atomic_exchange(x, 1); }} while (r == 1); atomic_store(x, 0); }}\n"
        );
        let half = files.write("half.litmus", &text);
        let ran = seriatim(["explore", "--liveness", &half]);
        let is_told = ran.out.contains("Endless lock some execution never ends, for one:\n  P0 u.sc x 0 -> 1; then");
        assert!(ran.status == status && is_told != gives_back, "{ran:?}");
    }

    // It may end after more steps, so nothing is certain.
    let counts = "C counts\n{}\nP0 (atomic_int* x) { for (int i = 0; i < 50; i++) atomic_store(x, i); }\n";
    let counts = files.write("counts.litmus", counts);
    let ran = seriatim(["explore", "--max-steps", "10", "--liveness", &counts]);
    assert!(ran.status == 3 && ran.out.contains("no execution ends within 10 steps of a thread"), "{ran:?}");
    let ran = seriatim(["explore", "--liveness", &counts]);
    assert!(ran.status == 0 && !ran.out.contains("Endless"), "{ran:?}");
}

/// A test in which so many threads add to a counter.
fn counter(threads: usize) -> String {
    let thread = |at| format!("P{at} (atomic_int* x) {{ int r = atomic_fetch_add(x, 1); }}\n");
    let threads: String = (0..threads).map(thread).collect();
    format!("C inc\n{{ [x] = 0; }}\n{threads}~exists (0:r=77)\n")
}

#[test]
fn threads_of_the_same_code_change_their_names() {
    let states = "States 4\n0:r=0;\n0:r=1;\n0:r=2;\n0:r=3;\nOk\n";
    let ran = with_input(["explore", "-"], counter(4).as_bytes());
    assert!(ran.out.contains(states) && ran.out.contains("Executions inc c20 1 blocked 0"), "{ran:?}");
    assert!(ran.out.contains("Symmetry inc P0 P1 P2 P3 have the same code"), "{ran:?}");
    let ran = with_input(["explore", "--symmetry", "never", "-"], counter(4).as_bytes());
    assert!(ran.out.contains(states) && ran.out.contains("Executions inc c20 24 blocked 0"), "{ran:?}");
    assert!(!ran.out.contains("Symmetry"), "{ran:?}");
    let ran = with_input(["explore", "--json", "-"], counter(2).as_bytes());
    let line: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(line["alike"], serde_json::json!([[0, 1]]));
}

#[test]
fn how_many_there_are() {
    let ran = with_input(["explore", "--estimate", "-"], counter(4).as_bytes());
    assert_eq!((&*ran.out, ran.status), ("Estimate inc c20 1 in all, visited within a second\n\n", 0), "{ran:?}");
    // There are 12!, which nobody visits in a tenth of a second.
    let ran = with_input(["explore", "--symmetry", "never", "--timeout", "0.1", "-"], counter(12).as_bytes());
    let line = ran.out.lines().find(|line| line.starts_with("Covered inc ")).unwrap_or_else(|| panic!("{ran:?}"));
    assert!(line.contains(" visited of about ") && line.ends_with(" percent"), "{line}");
    assert_eq!(ran.status, 3);
}
