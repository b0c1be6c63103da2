//! `check --algorithm`: the checkers of MR.

mod common;

use common::{Files, json, seriatim};

const FIFO: &str =
    "# @object queue\n[1] call enqueue 1\n[1] return\n[1] call enqueue 2\n[1] return\n[1] call dequeue\n";

#[test]
fn each_checker_says_what_it_can_prove() {
    let files = Files::new();
    let good = &files.write("good.hist", format!("{FIFO}[1] return 1\n"));
    let wrong = &files.write("wrong.hist", format!("{FIFO}[1] return 2\n"));
    for (algorithm, is_exact) in
        [("enumerate", true), ("symbolic", true), ("saturate", false), ("counting(4)", false), ("counting(9)", false)]
    {
        let ran = seriatim(["check", "--algorithm", algorithm, wrong]);
        assert_eq!(ran.status, 1, "{algorithm}: {}", ran.out);
        let ran = seriatim(["check", "--json", "--algorithm", algorithm, good]);
        assert_eq!(ran.status, if is_exact { 0 } else { 3 }, "{algorithm}: {}", ran.out);
        let name = algorithm.split('(').next().unwrap();
        assert!(ran.out.contains(name), "{}", ran.out);
        assert_eq!(is_exact, json(&ran.out)[0]["verdict"] == "consistent", "{}", ran.out);
    }
    let ran = seriatim(["check", "--algorithm", "saturate", "--remove-matches", wrong]);
    assert_eq!(ran.status, 1);
    assert_eq!(seriatim(["check", "--algorithm", "counting(k)", good]).status, 2);
    assert_eq!(seriatim(["check", "--algorithm", "guess", good]).status, 2);
}

#[test]
fn their_certificates_verify() {
    let files = Files::new();
    let good = &files.write("good.hist", format!("{FIFO}[1] return 1\n"));
    let wrong = &files.write("wrong.hist", format!("{FIFO}[1] return 2\n"));
    let certificates = &files.path("out.cert");
    for algorithm in ["enumerate", "symbolic"] {
        seriatim(["check", "--algorithm", algorithm, "--certificate", certificates, good, wrong]);
        let ran = seriatim(["verify", certificates, good, wrong]);
        assert_eq!((ran.status, ran.out.lines().count()), (0, 2), "{algorithm}: {}", ran.out);
    }
}
