//! Histories of other tools through the commands: etcd's robustness tests, tipocket, Jepsen's `history.txt`.

use crate::common;
use common::{Files, seriatim};

/// A request of etcd, and its answer.
fn line(client: u32, times: [u32; 2], input: &str, output: &str) -> String {
    let [call, ret] = times;
    format!("{{\"ClientId\":{client},\"Input\":{input},\"Call\":{call},\"Output\":{output},\"Return\":{ret}}}\n")
}

const PUT: &str = r#"{"Type":"txn","Txn":{"OperationsOnSuccess":[{"Type":"put-operation","Put":{"Key":"a","Value":
    {"Value":"1"}}}]}}"#;
const PUT_DONE: &str = r#"{"Txn":{"Failure":false,"Results":[{}]},"Revision":2}"#;
const RANGE: &str = r#"{"Type":"range","Range":{"Start":"a","End":"","Limit":0,"Revision":0}}"#;

#[test]
fn a_report_of_etcd() {
    let files = Files::new();
    let stale = r#"{"Range":{"KVs":[],"Count":0},"Revision":1}"#;
    let fresh = r#"{"Range":{"KVs":[{"Key":"a","Value":{"Value":"1"},"ModRevision":2}],"Count":1},"Revision":2}"#;
    let first = line(1, [1, 5], PUT, PUT_DONE) + &line(1, [6, 7], r#"{"Type":"compact"}"#, "{}");
    files.write("reports/good/client-1/operations.json", &first);
    files
        .write("reports/good/client-2/operations.json", line(2, [2, 4], RANGE, stale) + &line(2, [8, 9], RANGE, fresh));
    files.write("reports/bad/client-1/operations.json", &first);
    files.write("reports/bad/client-2/operations.json", line(2, [8, 9], RANGE, stale));
    let (good, bad) = (files.path("reports/good"), files.path("reports/bad"));
    let ran = seriatim(["check", &good]);
    assert_eq!((ran.status, ran.out), (0, format!("{good}: linearizable: consistent\n")), "{}", ran.err);
    let proof = files.path("proof.jsonl");
    let ran = seriatim(["check", "--certificate", &proof, &bad]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.contains("[2] range a => \"rev=1,count=0\" cannot have returned that"), "{ran:?}");
    assert_eq!(seriatim(["verify", &proof, &bad]).status, 0);
    // Two reports below one folder are two histories.
    assert_eq!(seriatim(["check", &files.path("reports")]).out.matches(": linearizable: ").count(), 2);
    let ran = seriatim(["convert", "--to", "jsonl", &bad]);
    assert_eq!((ran.status, ran.err), (0, format!("{bad}: left out: compactions: 1\n")));
    let again = files.write("again.jsonl", ran.out);
    assert_eq!(seriatim(["check", &again]).status, 1);
    assert_eq!(seriatim(["report", &bad, "-o", &files.path("page.html")]).status, 1);
    assert_eq!(seriatim(["explain", &bad]).status, 1);
    // A run that was kept is refused when the file of a client has changed.
    let state = files.path("run.state");
    assert_eq!(seriatim(["check", "--state", &state, &good]).status, 0);
    assert_eq!(seriatim(["check", "--state", &state, &good]).status, 0);
    files.write("reports/good/client-2/operations.json", line(2, [8, 9], RANGE, fresh));
    assert_eq!(seriatim(["check", "--state", &state, &good]).status, 2);
    // An operation that the object does not have.
    let strange = files.write("strange.hist", "# @object etcd\n[0] call put x\n[0] return \"rev=2\"\n");
    let ran = seriatim(["check", &strange]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.err.contains("the object has no such operation"), "{ran:?}");
}

#[test]
fn a_store_with_a_printed_history() {
    let files = Files::new();
    let text = "0\t:invoke\t:write\t1\n0\t:ok\t:write\t1\n1\t:invoke\t:read\tnil\n1\t:ok\t:read\tnil\n";
    let history = files.write("store/history.txt", text);
    files.write("store/results.edn", "{:valid? false}");
    let ran = seriatim(["check", "--quiet", &files.path("store")]);
    assert_eq!((ran.status, ran.out), (1, format!("{history}: linearizable: violation\n")));
}

#[test]
fn a_history_of_tipocket() {
    let files = Files::new();
    let text = r#"{"action":"invoke","proc":1,"time":"2020-05-01T12:00:00Z","data":{"Op":1,"Key":7,"Val":5}}
{"action":"return","proc":1,"time":"2020-05-01T12:00:01Z","data":{"Val":0,"Unknown":false}}
{"action":"invoke","proc":2,"time":"2020-05-01T12:00:02Z","data":{"Op":0,"Key":7,"Val":0}}
{"action":"return","proc":2,"time":"2020-05-01T12:00:03Z","data":{"Val":0,"Unknown":false}}
"#;
    let path = files.write("history.log", text);
    let ran = seriatim(["check", "--quiet", &path]);
    assert_eq!((ran.status, ran.out), (1, format!("{path}: linearizable: violation\n")), "{}", ran.err);
    let bank = files.write("bank.log", r#"{"action":"invoke","proc":1,"data":{"Op":1,"From":1,"To":2}}"#);
    let ran = seriatim(["check", &bank]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("what this client of tipocket records is not known"), "{ran:?}");
}
