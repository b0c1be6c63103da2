//! `seriatim explore --compare`: outcome logs beside what a model allows.

use crate::common;
use common::{Files, seriatim, seriatim_with, with_input};

const SB: &str = "X86 SB
{ x=0; y=0; }
 P0          | P1          ;
 MOV [x],$1  | MOV [y],$1  ;
 MOV EAX,[y] | MOV EAX,[x] ;
exists (0:EAX=0 /\\ 1:EAX=0)
";

const MP: &str = "C MP
{ [x] = 0; [y] = 0; }
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_release);
}
P1 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_acquire);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=1 /\\ 1:r1=0 /\\ x=1)
";

/// As litmus7 prints: two tests, one of them twice, with values in hexadecimal and registers in small letters.
const LOG: &str = "Version 7.56
Test SB Allowed
Histogram (3 states)
12    *>0:EAX=0x0; 1:EAX=0x0;
30    :>0:eax=0; 1:eax=1;
Ok

Witnesses
Positive: 12, Negative: 30
Condition exists (0:EAX=0 /\\ 1:EAX=0) is validated
Observation SB Sometimes 12 30
Time SB 0.10

Test OTHER Allowed
Histogram (1 states)
5     :>0:EAX=label; 
Ok
";

#[test]
fn what_a_machine_showed() {
    let files = Files::new();
    let test = files.write("sb.litmus", SB);
    // A value that cannot be compared is an error if its test is compared. The other test is not.
    let log = files.write("bad.log", LOG.replace("0x0; 1:", "label; 1:"));
    let ran = seriatim(["explore", "--compare", &log, &test]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.err.contains("bad.log:4:9: this value is not an integer"), "{ran:?}");
    let twice = LOG.to_owned() + "Test SB Allowed\nHistogram (1 states)\n8 :>0:EAX=0; 1:EAX=1;\nOk\n";
    let log = files.write("good.log", twice);
    let ran = seriatim(["explore", "--model", "sc,tso", "--compare", &log, &test]);
    let expected = "SB: sc: violation
  seen 12 times, not allowed: 0:EAX=0; 1:EAX=0;
  outcomes: 2 seen, 3 allowed, 2 of them not seen
  not seen: 0:EAX=1; 1:EAX=0;
  not seen: 0:EAX=1; 1:EAX=1;
SB: tso: consistent
  outcomes: 2 seen, 4 allowed, 2 of them not seen
  not seen: 0:EAX=1; 1:EAX=0;
  not seen: 0:EAX=1; 1:EAX=1;
";
    assert_eq!((ran.out.as_str(), ran.status), (expected, 1), "{ran:?}");
    assert_eq!(seriatim(["explore", "--model", "tso", "--compare", &log, &test]).status, 0);
    let ran = seriatim(["explore", "--json", "--model", "tso", "--compare", &log, &test]);
    let line = &common::json(&ran.out)[0];
    assert_eq!(line["verdict"], "consistent");
    assert_eq!(line["seen"][1], serde_json::json!({"state": {"0:EAX": 0, "1:EAX": 1}, "count": 38, "allowed": true}));
    assert_eq!(line["unseen"].as_array().unwrap().len(), 2);
}

/// What this command prints is such a log, and so is what `run` prints.
#[test]
fn our_own_outcomes_are_allowed() {
    let files = Files::new();
    let (sb, mp) = (files.write("sb.litmus", SB), files.write("mp.litmus", MP));
    let log = seriatim(["explore", &sb, &mp]).out;
    let ran = with_input(["explore", "--compare", "-", &sb, &mp], log.as_bytes());
    let all: Vec<&str> = ran.out.lines().filter(|line| !line.starts_with("  ")).collect();
    assert_eq!((ran.status, all), (0, vec!["SB: tso: consistent", "MP: c20: consistent"]), "{ran:?}");
    assert_eq!(ran.out.matches(" 0 of them not seen").count(), 2, "{ran:?}");
    let log = files.write("run.log", seriatim(["run", "--program", &sb, "--seconds", "0.1"]).out);
    assert_eq!(seriatim(["explore", "--model", "tso", "--compare", &log, &sb]).status, 0);
}

#[test]
fn logs_that_do_not_fit() {
    let files = Files::new();
    let test = files.write("sb.litmus", SB);
    for (log, message) in [
        ("", "this is not an outcome log"),
        ("Test MP Allowed\nStates 1\n0:EAX=0;\nOk\n", "there is no test SB in this log"),
        ("Test SB Allowed\nStates 1\n0:EAX=0;\nOk\n", "do not have 1:EAX"),
        ("States 1\n0:EAX=0;\nOk\n", "this outcome belongs to no test"),
        ("Test SB Allowed\nStates 1\n0:EAX=0; 0:EAX=1;\n", "this variable has two values"),
        ("Test SB Allowed\nHistogram (1 states)\nmany:>0:EAX=0;\n", "not how often an outcome was seen"),
        ("Test SB Allowed\nStates 1\n0:EAX=0; 99;\n", "not the value of a variable"),
    ] {
        let ran = seriatim(["explore", "--compare", &files.write("x.log", log), &test]);
        assert_eq!(ran.status, 2, "{log}: {ran:?}");
        assert!(ran.err.contains(message), "{log}: {ran:?}");
    }
    assert_eq!(seriatim(["explore", "--compare", &files.path("none.log"), &test]).status, 2);
}

/// A test that was not explored to the end cannot say that an outcome is forbidden.
#[test]
fn an_exploration_that_is_not_complete() {
    let files = Files::new();
    let test = files.write("sb.litmus", SB);
    let log = files.write("x.log", "Test SB Allowed\nStates 1\n0:EAX=9; 1:EAX=9;\nOk\n");
    let flags = ["explore", "--mode", "random", "--runs", "50", "--compare", &log, &test];
    let ran = seriatim_with(&flags);
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(ran.out.starts_with("SB: tso: unknown\n"), "{ran:?}");
}
