//! The C11 family on the command line: machines, verdicts, certificates, and explanations word by word.

use crate::common;
use common::{Files, command, seriatim};

#[test]
fn what_a_machine_yields_is_consistent_and_its_certificate_verifies() {
    let files = Files::new();
    for machine in ["ra", "rc20", "relaxed"] {
        for (format, perturb) in [("hist", "0"), ("jsonl", "0"), ("hist", "3")] {
            let history = &files.path(&format!("{machine}{perturb}.{format}"));
            let certificates = &files.path("out.cert");
            let flags = ["--operations", "200", "--locations", "3", "--rmws", "20", "--writes", "30", "--fences", "5"];
            let generate = ["gen", "--model", machine, "--perturb", perturb, "-o", history, "--histories", "5"];
            assert!(command().args(generate).args(flags).status().unwrap().success());
            let ran = seriatim(["check", "--model", machine, "--certificate", certificates, history]);
            assert_eq!(ran.status, i32::from(perturb != "0"), "{}", ran.out);
            let all = seriatim(["check", "--model", "all", "--certificate", certificates, history]);
            assert!(all.status < 2, "{}", all.err);
            let verified = seriatim(["verify", certificates, history]);
            assert_eq!(verified.status, 0, "{}{}", verified.out, verified.err);
        }
    }
}

#[test]
fn sequentially_consistent_accesses_are_an_error_under_rc20() {
    let files = Files::new();
    let path = &files.write("sc.hist", "[0] w.rel x 1\n[1] r.sc x 1\n");
    let ran = seriatim(["check", "--model", "rc20", path]);
    assert_eq!((ran.status, ran.out.as_str()), (2, ""));
    assert!(ran.err.starts_with(&format!("{path}:2:1: rc20 has no sequentially consistent accesses")), "{}", ran.err);
    assert!(ran.err.contains("[1] r.sc x 1"));
    // `all` means all models that fit.
    let ran = seriatim(["check", "--model", "all", path]);
    assert_eq!(ran.status, 0);
    assert!(!ran.out.contains("rc20"));
}

#[test]
fn orders_that_were_left_out_are_told_once() {
    let files = Files::new();
    let path = &files.write("plain.hist", "[0] w x 1\n[1] r x 1\n---\n[0] w x 1\n[1] r x 1\n");
    let ran = seriatim(["check", "--model", "rc20", path]);
    assert_eq!(ran.status, 0);
    assert_eq!(ran.err.matches("taken as relaxed").count(), 1, "{}", ran.err);
    assert_eq!(seriatim(["check", "--model", "ra", path]).err, "");
}

#[track_caller]
fn told(history: &str, model: &str, expected: &str) {
    let files = Files::new();
    let path = &files.write("h.hist", history);
    let ran = seriatim(["check", "--model", model, path]);
    assert_eq!(ran.out, format!("{path}: {model}: violation\n{expected}"), "{}", ran.out);
}

#[test]
fn read_coherence_names_the_path_through_fences() {
    told(
        "[0] w.rlx x 1\n[0] f.rel\n[0] w.rlx y 1\n[1] r.rlx y 1\n[1] f.acq\n[1] r.rlx x 0\n",
        "rc20",
        "  read coherence: line 6 [1] r.rlx x 0 returns the initial value of x, which line 1 [0] w.rlx x 1 had \
         overwritten:\n\
         \u{20}   line 1  [0] w.rlx x 1\n\
         \u{20}   line 2  [0] f.rel      later in thread 0\n\
         \u{20}   line 5  [1] f.acq      acquires line 2, through the write of line 3 and the read of line 4\n\
         \u{20}   line 6  [1] r.rlx x 0  later in thread 1\n",
    );
}

#[test]
fn atomicity_names_both_rmws() {
    told(
        "[0] u x 0 1\n[1] u x 0 2\n",
        "relaxed",
        "  atomicity: line 1 [0] u x 0 1 and line 2 [1] u x 0 2 both replace the initial value of x, and each would \
         have to come right after it\n",
    );
}

#[test]
fn thin_air_is_a_circle_of_reads() {
    told(
        "[0] r x 1\n[0] w y 1\n[1] r y 1\n[1] w x 1\n",
        "relaxed",
        "  thin air: a read depends on itself: each of these comes before the next, in a circle:\n\
         \u{20}   line 1  [0] r x 1\n\
         \u{20}   line 2  [0] w y 1  later in thread 0\n\
         \u{20}   line 3  [1] r y 1  reads from line 2\n\
         \u{20}   line 4  [1] w x 1  later in thread 1\n\
         \u{20}   line 1  [0] r x 1  reads from line 4\n",
    );
}

#[test]
fn writes_in_a_circle_give_the_reason_of_each_step() {
    told(
        "[0] w x 1\n[1] w x 2\n[2] r x 1\n[2] r x 2\n[3] r x 2\n[3] r x 1\n",
        "relaxed",
        "  no modification order of x: each of these must come before the next, in a circle:\n\
         \u{20}   line 1  [0] w x 1\n\
         \u{20}   line 2  [1] w x 2  by (1)\n\
         \u{20}   line 1  [0] w x 1  by (2)\n\
         \u{20}   (1) line 3 [2] r x 1 reads from line 1 [0] w x 1 and happens before line 4 [2] r x 2 in thread 2, \
         which reads from line 2 [1] w x 2, so line 1 comes before line 2\n\
         \u{20}       line 1  [0] w x 1\n\
         \u{20}       line 3  [2] r x 1  reads from line 1\n\
         \u{20}       line 4  [2] r x 2  later in thread 2\n\
         \u{20}   (2) line 5 [3] r x 2 reads from line 2 [1] w x 2 and happens before line 6 [3] r x 1 in thread 3, \
         which reads from line 1 [0] w x 1, so line 2 comes before line 1\n\
         \u{20}       line 2  [1] w x 2\n\
         \u{20}       line 5  [3] r x 2  reads from line 2\n\
         \u{20}       line 6  [3] r x 1  later in thread 3\n",
    );
}
