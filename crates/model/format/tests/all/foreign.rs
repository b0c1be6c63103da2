//! Records of Porcupine, etcd's robustness tests, tipocket and Maelstrom, and Jepsen's `history.txt`, made by the
//! grammar of each tool.

use format::{Format, InputError, ReadOptions, Reader, Writer, open, read_bytes};
use history::{History, Object};

fn reader(text: &str) -> Reader {
    read_bytes(text.as_bytes().to_vec(), &ReadOptions::default())
}

fn one(text: &str) -> History {
    let mut reader = reader(text);
    let history = reader.next().expect("a history").unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    assert!(reader.next().is_none());
    history
}

fn error(text: &str) -> InputError {
    reader(text).next().expect("an answer").expect_err(text)
}

/// The history in our text, without times.
fn shown(history: &History) -> String {
    let mut writer = Writer::new(Vec::new(), Format::Text);
    writer.write(history).unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    let lines = text.lines().map(|line| line.split(" time=").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// An operation of etcd's robustness tests.
fn operation(client: u32, times: [u32; 2], input: &str, output: &str) -> String {
    let [call, ret] = times;
    format!("{{\"ClientId\":{client},\"Input\":{input},\"Call\":{call},\"Output\":{output},\"Return\":{ret}}}\n")
}

fn put(key: &str, value: &str, lease: u32) -> String {
    format!(
        r#"{{"Type":"put-operation","Range":{{"Start":"","End":"","Limit":0}},"Put":{{"Key":"{key}","Value":{{"Value":
        "{value}","Hash":0}},"LeaseID":{lease}}},"Delete":{{"Key":""}}}}"#
    )
}

fn txn(conditions: &str, success: &str, failure: &str) -> String {
    format!(
        r#"{{"Type":"txn","LeaseGrant":null,"Range":null,"Txn":{{"Conditions":{conditions},"OperationsOnSuccess":
        {success},"OperationsOnFailure":{failure}}},"Defragment":null}}"#
    )
}

fn txn_output(failure: bool, results: &str, revision: u32) -> String {
    format!(r#"{{"Txn":{{"Failure":{failure},"Results":{results}}},"Range":null,"Revision":{revision},"Error":""}}"#)
}

const RANGE: &str = r#"{"Type":"range","Range":{"Start":"a","End":"b","Limit":2,"Revision":0},"Txn":null}"#;

#[test]
fn etcd() {
    let found = r#"{"Txn":null,"Range":{"KVs":[{"Key":"a","Value":{"Value":"","Hash":77},"ModRevision":2,"Version":1}],
        "Count":1},"Revision":2,"Error":""}"#;
    let conditional = txn(
        r#"[{"Key":"a","ExpectedRevision":2},{"Key":"c","ExpectedVersion":3}]"#,
        r#"[{"Type":"delete-operation","Delete":{"Key":"a"}}]"#,
        r#"[{"Type":"range-operation","Range":{"Start":"a","End":"","Limit":0}}]"#,
    );
    let text = [
        // In the order of their ends; the reader sorts them.
        operation(2, [5, 7], RANGE, found),
        operation(1, [1, 6], &txn("null", &format!("[{}]", put("a", "x y", 0)), "null"), &txn_output(false, "[{}]", 2)),
        operation(1, [6, 9], &conditional, &txn_output(true, r#"[{"KVs":null,"Count":0}]"#, 2)),
        operation(3, [8, 9], &txn("null", &format!("[{}]", put("b", "1", 0)), "[]"), r#"{"Error":"timeout"}"#),
        operation(
            3,
            [10, 11],
            &txn("null", &format!("[{}]", put("b", "2", 0)), "[]"),
            r#"{"Revision":5,
            "PartialResponse":true}"#,
        ),
        operation(4, [10, 12], RANGE, r#"{"Error":"timeout"}"#),
        operation(4, [13, 14], r#"{"Type":"range","Range":{"Start":"a","Revision":1}}"#, r#"{"Revision":-1}"#),
        operation(4, [15, 16], r#"{"Type":"leaseGrant","LeaseGrant":{"LeaseID":1}}"#, r#"{"Revision":5}"#),
        operation(4, [17, 18], r#"{"Type":"compact","Compact":{"Revision":1}}"#, r#"{"Revision":-1}"#),
        operation(4, [19, 20], r#"{"Type":"defragment"}"#, "{}"),
    ]
    .concat();
    let history = one(&text);
    assert_eq!((history.object(), history.object_name()), (Object::Open, "etcd"));
    let shown_events = shown(&history);
    let events: Vec<&str> = shown_events.lines().collect();
    let calls = [
        "# @object etcd",
        r#"[1] call put "a=x%20y""#,
        r#"[2] call range "a~b,limit=2""#,
        r#"[1~1] call txn "if(a@2,c.3)then(delete(a))else(range(a))""#,
    ];
    assert_eq!(events[..4], calls);
    let all = events.join("\n");
    for part in [
        r#"return "rev=2""#,
        r#"return "rev=2,count=1,a=#77@2.1""#,
        r#"return "rev=2,else(range(count=0))""#,
        "[3] info",
        r#"[3'] call put "b=2""#,
        r#"return "rev=5""#,
    ] {
        assert!(all.contains(part), "{part}\n{all}");
    }
    let mut reader = reader(&text);
    assert!(reader.next().is_some_and(|it| it.is_ok()));
    let dropped = ["compactions: 1", "defragmentations: 1", "grants of leases: 1", "reads of older revisions: 1"];
    assert_eq!(reader.dropped(), [&dropped[..], &["reads that failed: 1"]].concat());
    // It is read again from every format that can say it.
    for format in [Format::Text, Format::JsonLines, Format::Edn] {
        let mut writer = Writer::new(Vec::new(), format);
        writer.write(&history).unwrap();
        let again = read_bytes(writer.finish().unwrap(), &ReadOptions { format: Some(format), ..Default::default() });
        let again: Vec<History> = again.map(Result::unwrap).collect();
        assert_eq!(shown(&again[0]), shown(&history), "{}", format.name());
    }
}

#[test]
fn what_etcd_does_that_is_not_judged() {
    let leased = txn("null", &format!("[{}]", put("a", "1", 7)), "null");
    let revoke = r#"{"Type":"leaseRevoke","LeaseRevoke":{"LeaseID":7}}"#;
    let good = operation(1, [1, 2], RANGE, r#"{"Range":{"KVs":[],"Count":0},"Revision":1}"#);
    for (input, message) in [
        (leased.as_str(), "a lease"),
        (revoke, "a lease"),
        (r#"{"Type":"watch"}"#, "a request of the type `watch`"),
        (r#"{"Type":"txn","Txn":{"OperationsOnSuccess":[{"Type":"move"}]}}"#, "an operation of the type `move`"),
        (r#"{"Op":7,"Key":"x"}"#, "the model of this operation is not known"),
        (r#"{"Op":0,"Key":"x"}"#, "the operations above are those of another model"),
    ] {
        let error = error(&format!("{good}{}", operation(1, [3, 4], input, r#"{"Value":"1"}"#)));
        assert!(error.message.contains(message), "{error:?}");
        assert_eq!(error.line, 2, "{error:?}");
    }
    let error = error(&format!("{good}{}", operation(1, [9, 4], RANGE, r#"{"Range":{},"Revision":1}"#)));
    assert!(error.message.contains("returns before it is called"), "{error:?}");
}

#[test]
fn the_clients_of_etcd_make_one_history() {
    let folder = tempfile::tempdir().unwrap();
    for client in [2, 10] {
        let directory = folder.path().join(format!("client-{client}"));
        std::fs::create_dir(&directory).unwrap();
        let text = operation(client, [1, 2], RANGE, r#"{"Range":{"KVs":[],"Count":0},"Revision":1}"#);
        std::fs::write(directory.join("operations.json"), text).unwrap();
        std::fs::write(directory.join("watch.json"), "{}").unwrap();
    }
    let histories: Vec<History> = open(folder.path(), &ReadOptions::default()).unwrap().map(Result::unwrap).collect();
    assert_eq!(histories.len(), 1);
    assert_eq!(histories[0].operations().len(), 2);
    std::fs::write(folder.path().join("client-10/operations.json"), "{\"ClientId\":1}").unwrap();
    let error = open(folder.path(), &ReadOptions::default()).unwrap().next().unwrap().unwrap_err();
    assert!(error.message.starts_with("client-10/operations.json: "), "{error:?}");
}

#[test]
fn a_map_of_porcupine() {
    let text = r#"[
  {"ClientId":0,"Input":{"Op":1,"Key":"x","Value":"ab"},"Call":10,"Output":{"Value":""},"Return":20},
  {"ClientId":1,"Input":{"Op":"append","Key":"x","Value":"c"},"Call":12,"Output":{"Value":""},"Return":25},
  {"ClientId":0,"Input":{"Op":0,"Key":"x","Value":""},"Call":30,"Output":{"Value":"abc"},"Return":40}
]"#;
    let history = one(text);
    assert_eq!(history.object(), Object::KeyValue);
    let expected = "# @object kv\n[0] call put ab key=x\n[1] call append c key=x\n[0] return\n[1] return\n\
                    [0] call get key=x\n[0] return abc\n";
    assert_eq!(shown(&history), expected);
}

#[test]
fn tipocket() {
    let line = |action: &str, process: i32, data: &str| {
        format!("{{\"action\":\"{action}\",\"proc\":{process},\"time\":\"2020-01-01T00:00:00Z\",\"data\":{data}}}\n")
    };
    let registers = [
        line("invoke", 1, r#"{"Op":1,"Key":7,"Val":5}"#),
        line("invoke_nemesis", -1, r#"{"Name":"kill"}"#),
        line("return", 1, r#"{"Val":0,"Unknown":false}"#),
        line("invoke", 2, r#"{"Op":0,"Key":7,"Val":0}"#),
        line("invoke", 1, r#"{"Op":2,"Key":7,"Val":0}"#),
        line("return", 2, r#"{"Val":5,"Unknown":false}"#),
        line("return", 1, r#"{"Val":0,"Unknown":true,"Error":"timeout"}"#),
        line("dump", 0, "[]"),
    ]
    .concat();
    let expected = "# @object register\n[1] call write 5 key=7\n[1] return\n[2] call read key=7\n\
                    [1] call write 0 key=7\n[2] return 5\n[1] info\n";
    assert_eq!(shown(&one(&registers)), expected);
    let mut reader = reader(&registers);
    assert!(reader.next().is_some_and(|it| it.is_ok()));
    assert_eq!(reader.dropped(), ["dumped states: 1", "events of the nemesis: 1"]);

    let mop = |kind: &str, value: &str| format!(r#"{{"type":"{kind}","m":{{"key":"1","value":{value}}}}}"#);
    let invoke = |mops: &str| line("invoke", 1, &format!(r#"{{"type":"invoke","value":[{mops}]}}"#));
    let end =
        |kind: &str, mops: &str| line("return", 1, &format!(r#"{{"Result":{{"type":"{kind}","value":[{mops}]}}}}"#));
    let lists = [
        invoke(&format!("{},{}", mop("append", "5"), mop("read", "null"))),
        end("ok", &format!("{},{}", mop("append", "5"), mop("read", "[5]"))),
        invoke(&mop("append", "6")),
        end("fail", &mop("append", "6")),
        invoke(&mop("append", "7")),
        end("unknown", &mop("append", "7")),
    ]
    .concat();
    let history = one(&lists);
    assert_eq!(history.object(), Object::Transactions);
    let shown = shown(&history);
    for part in ["a 1 5", "r 1 [5]", "abort", "info"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let registers = [invoke(&mop("write", "5")), end("ok", &mop("write", "5"))].concat();
    assert_eq!(one(&registers).object(), Object::Transactions);

    let bank = line("invoke", 1, r#"{"Op":1,"From":1,"To":2,"Amount":5}"#);
    assert!(error(&bank).message.contains("what this client of tipocket records is not known"));
    assert!(error(&line("return", 1, "{}")).message.contains("has not called"));
}

#[test]
fn history_txt() {
    let text = "0\t:invoke\t:write\t1\n:nemesis\t:info\t:start\t\"cut off\"\n0\t:ok\t:write\t1\n\
                1\t:invoke\t:cas\t[1 2]\n1\t:fail\t:cas\t[1 2]\n1\t:invoke\t:read\tnil\n\
                1\t:ok\t:read\t1\t[:some \"error\"]\n";
    let expected = "# @object register\n# @initial null\n[0] call write 1\n[0] return\n[1] call cas 1 2\n[1] fail\n\
                    [1] call read\n[1] return 1\n";
    assert_eq!(shown(&one(text)), expected);
    // Aligned with blanks.
    let aligned = "10   :invoke :read  nil\n10   :ok     :read  nil\n";
    assert_eq!(one(aligned).operations().len(), 1);
}

/// The workloads of Maelstrom that are about consistency, as its store holds them.
#[test]
fn maelstrom() {
    let lin_kv = r#"{:process 0, :type :invoke, :f :write, :value [1 5], :index 0, :time 1}
{:process 0, :type :ok, :f :write, :value [1 5], :index 1, :time 2}
{:process 1, :type :invoke, :f :cas, :value [1 [5 6]], :index 2, :time 3}
{:process 1, :type :fail, :f :cas, :value [1 [5 6]], :error [:precondition-failed "expected 5"], :index 3, :time 4}
{:process 1, :type :invoke, :f :read, :value [1 nil], :index 4, :time 5}
{:process 1, :type :ok, :f :read, :value [1 5], :index 5, :time 6}"#;
    assert_eq!(one(lin_kv).object(), Object::Register);
    let broadcast = r"{:process 0, :type :invoke, :f :broadcast, :value 1, :index 0}
{:process 0, :type :ok, :f :broadcast, :value 1, :index 1}
{:process 1, :type :invoke, :f :read, :value nil, :index 2}
{:process 1, :type :ok, :f :read, :value [1], :index 3}";
    let history = one(broadcast);
    assert_eq!(history.object(), Object::Set);
    assert!(shown(&history).contains("[0] call add 1\n"), "{}", shown(&history));
    let g_set = broadcast.replace(":broadcast", ":add").replace('}', ", :final? true}");
    assert_eq!(one(&g_set).object(), Object::Set);
    let append = r"{:process 0, :type :invoke, :f :txn, :value [[:append 1 2] [:r 1 nil]]}
{:process 0, :type :ok, :f :txn, :value [[:append 1 2] [:r 1 [2]]]}";
    assert_eq!(one(append).object(), Object::Transactions);
    let echo = "{:process 0, :type :invoke, :f :echo, :value \"hi\"}";
    assert!(error(echo).message.contains("no method is called `echo`"));
}
