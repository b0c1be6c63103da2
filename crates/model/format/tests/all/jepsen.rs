//! What Jepsen's workloads are read as.

use format::{Format, ReadOptions, read_bytes, render_operation};
use history::{History, Object, OperationId};

fn read_as(text: &str, object: Option<Object>, format: Format) -> Result<History, String> {
    let options = ReadOptions { format: Some(format), object, ..ReadOptions::default() };
    let mut reader = read_bytes(text.as_bytes().to_vec(), &options);
    reader.next().expect("a history").map_err(|error| format!("{}: {}", error.line, error.message))
}

fn edn(text: &str, object: Option<Object>) -> Result<History, String> {
    read_as(text, object, Format::Edn)
}

fn rendered(history: &History) -> Vec<String> {
    (0..history.operations().len() as u32).map(|id| render_operation(history, OperationId(id))).collect()
}

/// A bank with reads only was read as a register, whose values nobody wrote.
#[test]
fn a_bank_is_refused_with_what_to_give() {
    let reads = "{:type :invoke, :f :read, :value nil, :process 0}\n\
                 {:type :ok, :f :read, :value {0 10, 1 10}, :process 0}\n";
    let transfer = "{:type :invoke, :f :transfer, :value {:from 0, :to 1, :amount 5}, :process 1}\n";
    for text in [reads, &format!("{reads}{transfer}"), transfer] {
        let refused = edn(text, None).unwrap_err();
        assert!(refused.contains("the bank workload does not say which balances"), "{refused}");
        assert!(edn(text, Some(Object::Transactions)).unwrap_err().contains("the bank workload"));
    }
    // Who says that it is a register has one.
    assert_eq!(edn(reads, Some(Object::Register)).unwrap().object(), Object::Register);
    let json = "{\"type\":\"invoke\",\"f\":\"read\",\"process\":0}\n\
                {\"type\":\"ok\",\"f\":\"read\",\"process\":0,\"value\":{\"0\":10,\"1\":10}}\n";
    assert!(read_as(json, None, Format::JsonLines).unwrap_err().contains("the bank workload"));
}

/// Sets by independent keys were read as one set that has keys and sets for elements.
#[test]
fn sets_of_transactions_have_keys() {
    let text = "{:type :invoke, :f :add, :value [7 1], :process 0}\n{:type :ok, :f :add, :value [7 1], :process 0}\n\
                {:type :invoke, :f :read, :value [7 nil], :process 1}\n\
                {:type :ok, :f :read, :value [7 #{1}], :process 1}\n\
                {:type :invoke, :f :read, :value [8 nil], :process 1}\n\
                {:type :ok, :f :read, :value [8 #{}], :process 1}\n";
    let history = edn(text, Some(Object::Transactions)).unwrap();
    assert_eq!(rendered(&history), ["[0] w 7/1 true", "[1] r 7/1 true"]);
}

/// Sets to which nobody added were read as registers with a value that nobody wrote.
#[test]
fn a_set_may_stay_empty() {
    for value in ["#{}", "[]"] {
        let text = format!(
            "{{:type :invoke, :f :read, :value nil, :process 0}}\n{{:type :ok, :f :read, :value {value}, :process 0}}\n"
        );
        let history = edn(&text, Some(Object::Transactions)).unwrap();
        assert_eq!((history.operations().len(), history.transaction_count()), (0, 1));
        assert_eq!(rendered(&edn(&text, None).unwrap()), ["[0] read => {}"]);
    }
    let keyed = "{:type :invoke, :f :read, :value [7 nil], :process 0}\n\
                 {:type :ok, :f :read, :value [7 #{}], :process 0}\n\
                 {:type :info, :f :kill, :value #{:n1}, :process :nemesis}\n";
    assert_eq!(rendered(&edn(keyed, None).unwrap()), ["[0] read => {} key=7"]);
    // Reads of a register that nobody writes.
    for value in ["nil", "5", "[7 5]", "[5]"] {
        let text = keyed.replace("[7 #{}]", value).replace("[7 nil]", "nil");
        assert_eq!(edn(&text, None).unwrap().object(), Object::Register, "{value}");
    }
    let json = "{\"process\":0,\"type\":\"invoke\",\"f\":\"read\"}\n\
                {\"process\":0,\"type\":\"ok\",\"f\":\"read\",\"value\" : [ ]}\n";
    assert_eq!(rendered(&read_as(json, None, Format::JsonLines).unwrap()), ["[0] read => {}"]);
}

#[test]
fn a_read_that_is_called_needs_no_value() {
    let text = "{:type :invoke, :f :txn, :value [[:r :x] [:w :y 1]], :process 0}\n\
                {:type :ok, :f :txn, :value [[:r :x nil] [:w :y 1]], :process 0}\n";
    assert_eq!(rendered(&edn(text, None).unwrap()), ["[0] r x null", "[0] w y 1"]);
    let returned = text.replace("[:r :x nil]", "[:r :x]");
    assert_eq!(edn(&returned, None).unwrap_err(), "2: this read has returned no value");
}

#[test]
fn events_of_the_tester_alone_are_no_history() {
    let event = "{:type :info, :f :start, :process :nemesis, :value nil}";
    for text in [format!("[{event} {event}]"), format!("{{:object :queue}}\n{event}\n")] {
        let refused = edn(&text, None).unwrap_err();
        assert_eq!(refused, "1: this history has only events of the tester, such as its nemesis", "{text}");
    }
    let json = "[{\"process\":\"nemesis\",\"type\":\"info\",\"f\":\"start\",\"value\":null}]";
    assert!(read_as(json, None, Format::JsonLines).unwrap_err().contains("only events of the tester"));
}
