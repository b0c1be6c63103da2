//! The logs of Jepsen, and the histories of its workloads: sets, counters, and what their methods tell.

use std::io::Cursor;

use format::{Format, ReadOptions, read};
use history::{Object, Value};

use super::{all, fault, one, rendered, written};

#[test]
fn jepsen_logs_with_tabs_or_blanks() {
    let expected = ["[3] cas 1 2 => true", "[4] read => 7"];
    let old = "INFO  jepsen.util - 3\t:invoke\t:cas\t[1 2]\nINFO  jepsen.core - Worker 1\n\
               INFO  jepsen.util - 3\t:ok\t:cas\t[1 2]\nINFO  jepsen.util - 4\t:invoke\t:read\tnil\n\
               INFO  jepsen.util - 4\t:ok\t:read\t7\n";
    let new =
        format!("2026-11-17 10:00:00,001{{GMT}}\tINFO\t[main] jepsen.cli: Test\n{old}").replace("util -", "util:");
    for log in [old, &old.replace('\t', " "), &old.replace('\t', "    "), &new, &new.replace('\t', " ")] {
        assert_eq!(rendered(&one(log)), expected, "{log}");
    }
    let fail = "INFO  jepsen.util - 3 :invoke :cas [1 2]\nINFO  jepsen.util - 3 :fail :cas [1 2] :timed-out\n";
    assert_eq!(rendered(&one(fail)), ["[3] cas 1 2 => false"]);
    assert_eq!(rendered(&one(&fail.replace("util -", "util:"))), ["[3] cas 1 2 (failed)"]);
}

#[test]
fn an_array_of_json_is_one_history() {
    let lines = "{\"process\":0,\"type\":\"invoke\",\"f\":\"write\",\"value\":1}\n\
                 {\"process\":0,\"type\":\"ok\",\"f\":\"write\",\"value\":1}\n";
    let array = format!("[{}]", lines.trim_end().replace('\n', ","));
    let spread = format!("\n [\n  {}\n]\n", lines.trim_end().replace('\n', " ,\n ").replace(':', " :\n  "));
    for text in [array.as_str(), &spread] {
        let history = one(text);
        assert_eq!(rendered(&history), ["[0] write 1"], "{text}");
        assert_eq!((history.object(), history.initial()), (Object::Register, Value::NULL));
        assert_eq!(
            read(Box::new(Cursor::new(text.to_owned())), &ReadOptions::default()).format(),
            Some(Format::JsonLines)
        );
    }
    let headed =
        one(&format!("[{{\"object\":\"queue\"}},{}]", lines.trim_end().replace('\n', ",").replace("write", "add")));
    assert_eq!(rendered(&headed), ["[0] enqueue 1"]);
    let vector = one("[{:object :queue} {:process 0, :type :invoke, :f :add, :value 1}]");
    assert_eq!(rendered(&vector), ["[0] enqueue 1 (pending)"]);
    assert!(one("[]").operations().is_empty());
    let error = fault("[\n  {\"process\": 0,\n   \"f\": \"frob\"}\n]");
    assert_eq!((error.line, error.column), (3, 9), "{error:?}");
    for (bad, what) in
        [("[{\"process\":0", "ends"), ("[{\"process\":0,\"f\":\"read\"} 5]", "array"), ("[{\"a\":1}]x", "array")]
    {
        assert!(
            all(bad, None).into_iter().any(|result| result.is_err_and(|error| error.message.contains(what))),
            "{bad}"
        );
    }
}

#[test]
fn the_set_workload_of_jepsen() {
    let event = |kind: &str, f: &str, value: &str| format!("{{:type :{kind}, :f :{f}, :value {value}, :process 0}}\n");
    let both = |f: &str, given: &str, returned: &str| event("invoke", f, given) + &event("ok", f, returned);
    let expected = ["[0] read => \"{}\"", "[0] add 2", "[0] add 1", "[0] read => \"{1,2}\""];
    for whole in ["#{2 1}", "[1 2]", "(2 1 1)"] {
        let text =
            both("read", "nil", "#{}") + &both("add", "2", "2") + &both("add", "1", "1") + &both("read", "nil", whole);
        let history = one(&text);
        assert_eq!(history.object(), Object::Set);
        let written_bare: Vec<String> = rendered(&history);
        assert_eq!(written_bare, expected.map(|line| line.replace("\"{}\"", "{}")), "{whole}");
        for format in [Format::Text, Format::JsonLines, Format::Edn] {
            assert_eq!(rendered(&one(&written(&history, format))), written_bare);
        }
    }
    let text = "# @object set\n[0] call read\n[0] return {3,1}\n[1] read => {}\n";
    assert_eq!(rendered(&one(text)), ["[0] read => \"{1,3}\"", "[1] read => {}"]);
    for bad in ["[0] call read\n[0] return 5\n", "[0] call read\n[0] return\n", "[0] read => {1\n"] {
        let error = fault(&format!("# @object set\n{bad}"));
        assert!(error.expected.unwrap().contains("all elements"), "{bad}");
    }
}

#[test]
fn the_counter_workload_of_jepsen() {
    let event = |kind: &str, f: &str, value: &str| format!("{{:type :{kind}, :f :{f}, :value {value}, :process 0}}\n");
    let both = |f: &str, given: &str, returned: &str| event("invoke", f, given) + &event("ok", f, returned);
    let text = "{:object :counter}\n".to_owned() + &both("add", "2", "2") + &both("add", "-1", "-1");
    let history = one(&(text + &both("read", "nil", "1")));
    assert_eq!(history.object(), Object::Counter);
    assert_eq!(rendered(&history), ["[0] add 2", "[0] add -1", "[0] read => 1"]);
    for format in [Format::Text, Format::JsonLines, Format::Edn] {
        assert_eq!(rendered(&one(&written(&history, format))), rendered(&history));
    }
    let text = "# @object max-register\n[0] call write-max 3\n[0] return\n[1] read => 3\n";
    assert_eq!(rendered(&one(text)), ["[0] write-max 3", "[1] read => 3"]);
}

#[test]
fn workloads_are_told_by_their_methods() {
    let first = |f: &str| format!("{{:process 0, :type :invoke, :f :{f}, :value nil}}\n");
    for (f, object) in [
        ("add", Object::Set),
        ("remove", Object::Set),
        ("acquire", Object::Mutex),
        ("release", Object::Mutex),
        ("dequeue", Object::Queue),
        ("read", Object::Register),
    ] {
        assert_eq!(one(&first(f)).object(), object, "{f}");
    }
    let append = "{:process 0, :type :invoke, :f :txn, :value [[:append 3 1] [:r 3 nil]]}\n";
    assert_eq!(one(append).object(), Object::Transactions);
    assert_eq!(one(&append.replace(":append", ":w")).object(), Object::Transactions);
    assert!(fault(&first("drain")).message.contains("`drain`"));
}
