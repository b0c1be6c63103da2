//! Transactions in the formats of other tools. With `SERIATIM_SHARED_DATA` set, the same history in every format.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use format::{Format, InputError, ReadOptions, open, read};
use history::{History, KeyId, Method, Status, Value};

fn parse(bytes: &[u8], format: Option<Format>) -> Result<History, InputError> {
    let options = ReadOptions { format, ..ReadOptions::default() };
    read(Box::new(std::io::Cursor::new(bytes.to_vec())), &options).next().unwrap()
}

/// What a history says, up to the names of sessions and keys: keys are named by what is written to them, sessions are
/// sorted. Of transactions that are not committed, only the writes count.
fn canonical(history: &History, with_aborted: bool) -> (Vec<String>, Vec<String>) {
    let value = |read: Value, key: KeyId| {
        if read.as_list().is_none() && read == history.initial_value(key) { "?".to_owned() } else { history.show(read) }
    };
    let mut writes: BTreeMap<KeyId, Vec<String>> = BTreeMap::new();
    for operation in history.operations().iter().filter(|operation| operation.method != Method::Read) {
        writes.entry(operation.key).or_default().push(history.show(operation.argument));
    }
    let name = |key: KeyId| {
        let mut written = writes.get(&key).cloned().unwrap_or_default();
        written.sort();
        written.first().cloned().unwrap_or_default()
    };
    let mut sessions = vec![String::new(); history.processes().len()];
    let mut aborted = Vec::new();
    for (id, transaction) in history.transactions() {
        let mut shown = String::new();
        for operation in history.operations_of(id) {
            let text = match operation.method {
                Method::Read if transaction.status != Status::Committed => continue,
                Method::Read => format!("r {} {} ", name(operation.key), value(operation.result, operation.key)),
                _ => format!("w {} {} ", name(operation.key), history.show(operation.argument)),
            };
            if transaction.status == Status::Aborted {
                aborted.push(text);
            } else {
                shown += &text;
            }
        }
        if transaction.status != Status::Aborted {
            let session = &mut sessions[transaction.session.index()];
            write!(session, "{:?} {shown};", transaction.status).unwrap();
        }
    }
    sessions.retain(|session| !session.is_empty());
    sessions.sort();
    aborted.sort();
    (sessions, if with_aborted { aborted } else { Vec::new() })
}

fn shared() -> Option<PathBuf> {
    let Ok(data) = std::env::var("SERIATIM_SHARED_DATA") else {
        eprintln!("SERIATIM_SHARED_DATA is not set: nothing is compared");
        return None;
    };
    Some(Path::new(&data).join("transactions"))
}

#[test]
fn the_same_history_in_every_format() {
    let Some(data) = shared() else { return };
    let expected = [
        ("plume.txt", Format::Plume),
        ("dbcop.json", Format::Dbcop),
        ("dbcop-compact.json", Format::Dbcop),
        ("dbcop-text.hist", Format::Dbcop),
        ("history.bincode", Format::Bincode),
        ("cobra", Format::Cobra),
        ("jepsen.edn", Format::Edn),
        ("jepsen.json", Format::JsonLines),
    ];
    let mut count = 0;
    for folder in std::fs::read_dir(data.join("formats")).unwrap().map(|entry| entry.unwrap().path()) {
        if !folder.is_dir() {
            continue;
        }
        let ours = format::load(folder.join("history.hist")).unwrap();
        for (name, format) in expected.iter().filter(|(name, _)| folder.join(name).exists()) {
            let path = folder.join(name);
            let mut reader = open(&path, &ReadOptions::default()).unwrap();
            assert_eq!(reader.format(), Some(*format), "{}", path.display());
            let theirs = reader.next().unwrap().unwrap_or_else(|error| panic!("{}: {error:?}", path.display()));
            let has_aborted = *format != Format::Cobra;
            // The aborted writes of the specification's example name keys that Cobra's logs do not.
            if has_aborted {
                assert_eq!(canonical(&theirs, true), canonical(&ours, true), "{}", path.display());
            } else {
                assert_eq!(canonical(&theirs, false).0.len(), canonical(&ours, false).0.len());
            }
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
}

#[test]
fn the_histories_of_other_tools() {
    let Some(data) = shared() else { return };
    let table = std::fs::read_to_string(data.join("verdicts.tsv")).unwrap();
    let mut files: Vec<(&str, &str)> = table
        .lines()
        .filter_map(|line| line.split_once('\t').map(|(path, rest)| (path, rest.split('\t').next().unwrap())))
        .filter(|&(path, _)| path != "path")
        .collect();
    files.dedup();
    for (path, format) in files {
        let mut reader = open(&data.join(path), &ReadOptions::default()).unwrap();
        let expected = match format {
            "awdit-test" => Format::Awdit,
            "plume" => Format::Plume,
            "cobra" => Format::Cobra,
            "jepsen-edn" => Format::Edn,
            _ => Format::JsonLines,
        };
        assert_eq!(reader.format(), Some(expected), "{path}");
        let history = reader.next().unwrap().unwrap_or_else(|error| panic!("{path}: {error:?}"));
        assert!(history.is_of_transactions() && history.transaction_count() > 0, "{path}");
    }
}

#[test]
fn plume() {
    let history = parse(b"w(1,5,0,3)\nr(2,0,1,4)\nw(2,6,0,3)\nw(3,0,1,-1)\nr(1,5,1,4)\nr(3,0,1,4)\n", None).unwrap();
    assert_eq!(history.transaction_count(), 3);
    assert!(history.is_untimed());
    let statuses: Vec<Status> = history.transactions().map(|(_, transaction)| transaction.status).collect();
    assert_eq!(statuses, [Status::Committed, Status::Committed, Status::Aborted]);
    assert_eq!(history.initial_value(KeyId(0)), Value::ZERO);
    assert_eq!(history.initial_value(KeyId(2)), Value::NULL, "0 is written there");
    for (text, place, message) in [
        (&b"w(1,5,0,3)\nx(1,2,3,4)\n"[..], (2, 1), "`x(1,2,3,4)` is not understood here"),
        (b"w(1,5,0,3)\nw(1,5,1,3)\n", (2, 1), "this transaction is one of another session"),
        (b"w(1,5,0)\n", (1, 8), "`)` is not understood here"),
        (b"w(1,5,0,-2)\n", (1, 11), "`)` is not understood here"),
    ] {
        let error = parse(text, Some(Format::Plume)).unwrap_err();
        assert_eq!((error.line, error.column), place, "{error:?}");
        assert!(error.message.contains(message), "{error:?}");
    }
}

#[test]
fn awdit() {
    let history = parse(b"w 1 5\nr 2 007\n---\nr 1 5\n======\nw 2 7\n", None).unwrap();
    assert_eq!((history.transaction_count(), history.processes().len()), (3, 2));
    assert_eq!(history.initial(), Value::NULL);
    assert_eq!(history.operations()[1].result, Value::small(7));
    let error = parse(b"w 1 5\nw 1\n", Some(Format::Awdit)).unwrap_err();
    assert_eq!(error.line, 2);
}

#[test]
fn dbcop() {
    let text = "// two sessions\n[x:=1 y==?]\n[x:=2\n z==0 ]!\n---\n[x==1 w:=0 w==?]\n";
    let history = parse(text.as_bytes(), None).unwrap();
    assert_eq!((history.transaction_count(), history.processes().len()), (3, 2));
    assert_eq!(history.transaction(history::TransactionId(1)).status, Status::Aborted);
    assert_eq!(history.operations()[1].result, Value::ZERO);
    assert_eq!(history.operations()[6].result, Value::NULL, "0 is written to w, so that it is not initial");
    let json =
        br#"{"info":"x","data":[[{"committed":true,"events":[["w",0,1],{"Read":{"variable":1,"version":null}}]}],
        [{"events":[],"committed":false}]]}"#;
    let history = parse(json, None).unwrap();
    assert_eq!((history.transaction_count(), history.operations().len()), (2, 2));
    let bare = parse(br#"[[{"events":[["r",0,0]],"committed":true}]]"#, None).unwrap();
    assert_eq!(bare.operations().len(), 1);
    for (text, message) in [
        (&br#"[[{"events":[["r",0]],"committed":true}]]"#[..], "the variable or the version is missing"),
        (br#"[[{"events":[["w",0,null]],"committed":true}]]"#, "a write without a version"),
        (br#"[[{"events":[]}]]"#, "whether it is committed"),
        (br#"{"info":1}"#, "the sessions are missing"),
        (b"[x:=1 y=2]\n", "neither a read nor a write"),
        (b"[x:=1\n", "the file ends within a transaction"),
    ] {
        let error = parse(text, Some(Format::Dbcop)).unwrap_err();
        assert!(error.message.contains(message), "{error:?}");
    }
}

#[test]
fn bincode() {
    let mut bytes = Vec::new();
    for number in [0_u64, 1, 2, 1, 3, 0, 0, 0, 1, 1, 3] {
        bytes.extend(number.to_le_bytes());
    }
    for (is_write, variable, value, success) in [(1, 0_u64, 5_u64, 1), (1, 0, 6, 0), (0, 1, 7, 0)] {
        bytes.push(is_write);
        bytes.extend(variable.to_le_bytes());
        bytes.extend(value.to_le_bytes());
        bytes.push(success);
    }
    bytes.push(1);
    let history = parse(&bytes, None).unwrap();
    let statuses: Vec<Status> = history.transactions().map(|(_, transaction)| transaction.status).collect();
    assert_eq!(statuses, [Status::Committed, Status::Aborted]);
    assert_eq!(history.operations().len(), 2);
    bytes.push(0);
    assert_eq!(parse(&bytes, None).unwrap_err().message, "byte 143: there is something after the history");
    let error = parse(&bytes[..100], Some(Format::Bincode)).unwrap_err();
    assert_eq!(error.message, "byte 100: the file ends within a value");
}

#[test]
fn cobra() {
    let folder = tempfile::tempdir().unwrap();
    let record = |kind: u8, numbers: &[i64]| {
        [&[kind][..], &numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<_>>()].concat()
    };
    let log = [
        record(b'S', &[1]),
        record(b'R', &[0xbebe_ebee, 0xbebe_ebee, 4, 0]),
        record(b'R', &[0xbebe_ebee, 0x2333_2333, 9, 0]),
        record(b'W', &[77, 4, 0]),
        record(b'C', &[1]),
    ]
    .concat();
    std::fs::write(folder.path().join("T1.log"), &log).unwrap();
    std::fs::write(folder.path().join("T2.log"), b"").unwrap();
    std::fs::write(folder.path().join("notes.txt"), b"other").unwrap();
    let history = open(folder.path(), &ReadOptions::default()).unwrap().next().unwrap().unwrap();
    assert_eq!((history.transaction_count(), history.operations().len()), (1, 2));
    assert_eq!(history.operations()[0].result, Value::NULL);
    std::fs::write(folder.path().join("T2.log"), [&log[..], &record(b'W', &[1, 2, 3])].concat()).unwrap();
    let error = open(folder.path(), &ReadOptions::default()).unwrap().next().unwrap().unwrap_err();
    let at = log.len();
    assert_eq!(error.message, format!("T2.log, byte {at}: `W` outside of a transaction"));
    let timed = [record(b'S', &[1, 1000]), record(b'W', &[77, 4, 0]), record(b'C', &[1, 2000])].concat();
    std::fs::write(folder.path().join("T1.log"), &timed).unwrap();
    std::fs::write(folder.path().join("T2.log"), b"").unwrap();
    let options = ReadOptions { format: Some(Format::CobraTimed), ..ReadOptions::default() };
    let history = open(folder.path(), &options).unwrap().next().unwrap().unwrap();
    assert_eq!(history.transaction_times(), [[Some(1000), Some(2000)]]);
    assert!(open(folder.path(), &ReadOptions::default()).unwrap().next().unwrap().is_err());
}

#[test]
fn jepsen() {
    let edn = "{:index 0 :type :invoke :value [[:r 5 nil] [:r 6 nil]]}\n\
               {:index 1 :type :ok :value [[:r 5 nil] [:r 6 [1]]]}\n\
               {:process :nemesis, :type :info, :f :kill}\n\
               {:process 1, :type :invoke, :f :txn, :value [[:append 6 1] [:r 5 nil]]}\n\
               {:process 1, :type :info, :f :txn, :value [[:append 6 1] [:r 5 nil]]}\n\
               {:process 2, :type :invoke, :f :txn, :value [[:append 6 2]]}\n\
               {:process 2, :type :fail, :f :txn, :value [[:append 6 2]]}\n\
               {:process 3, :type :invoke, :f :txn, :value [[:append 6 3]]}\n\
               {:process 4, :type :ok, :f :txn, :value [[:r 6 [1 2]] [:r 5 []]]}\n";
    let history = parse(edn.as_bytes(), None).unwrap();
    let statuses: Vec<Status> = history.transactions().map(|(_, transaction)| transaction.status).collect();
    let unknown = Status::Indeterminate;
    assert_eq!(statuses, [Status::Committed, unknown, Status::Aborted, unknown, Status::Committed]);
    assert_eq!(history.operations()[0].result, Value::EMPTY_LIST, "what came before the first append is a list, too");
    assert_eq!(history.list(history.operations()[1].result), [Value::small(1)]);
    assert_eq!(history.operations().len(), 7);
    let registers = br#"{"type":"ok","process":0,"f":"txn","value":[["r","x",null],["w","x",[1,2]]]}"#;
    let history = parse(registers, None).unwrap();
    assert_eq!(history.initial(), Value::NULL);
    assert_eq!(history.show(history.operations()[1].argument), "[1,2]");
    // The long-fork workload of Jepsen.
    let fork = "{:process 0, :type :invoke, :f :write, :value [[:w 0 1]]}\n\
                {:process 0, :type :ok, :f :write, :value [[:w 0 1]]}\n\
                {:process 1, :type :invoke, :f :read, :value [[:r 0 nil] [:r 1 nil]]}\n\
                {:process 1, :type :ok, :f :read, :value [[:r 0 1] [:r 1 nil]]}\n";
    assert_eq!(parse(fork.as_bytes(), None).unwrap().transaction_count(), 2);
    for (text, message) in [
        (
            "{:process 0, :type :ok, :f :txn, :value [[:w 1 2] [:append 3 4]]}",
            "registers, one of lists, or one of sets",
        ),
        ("{:process 0, :type :ok, :f :txn, :value [[:inc 1 2]]}", "the versions that `inc` makes are not known"),
        ("{:process 0, :type :ok, :f :txn, :value 5}", "this is not a transaction"),
        ("{:process 0, :type :ok, :f :txn, :value [[:r 1]]}", "this read has returned no value"),
        ("{:process 0, :type :ok, :f :txn, :value [[:append 1 2] [:r 1 5]]}", "`5` is not a list"),
        (
            "{:process 0, :type :ok, :f :txn, :value []}\n{:process 0, :type :invoke, :f :transfer, :value {:from 1}}",
            "does not say which balances",
        ),
    ] {
        let error = parse(text.as_bytes(), None).unwrap_err();
        assert!(error.message.contains(message), "{error:?}");
    }
}

/// A set is a register for each element.
#[test]
fn sets() {
    let edn = "{:process 0, :type :invoke, :f :txn, :value [[:r x nil]]}\n\
               {:process 0, :type :ok, :f :txn, :value [[:r x #{1}]]}\n\
               {:process 1, :type :ok, :f :txn, :value [[:r x nil]]}\n\
               {:process 1, :type :invoke, :f :txn, :value [[:add x 1] [:add y 2]]}\n\
               {:process 1, :type :info, :f :txn, :value [[:add x 1] [:add y 2]]}\n\
               {:process 2, :type :invoke, :f :txn, :value [[:add x 3]]}\n\
               {:process 2, :type :fail, :f :txn, :value [[:add x 3]]}\n\
               {:process 3, :type :ok, :f :txn, :value [[:add x 4] [:r x #{4 9}]]}\n\
               {:process 4, :type :invoke, :f :txn, :value [[:add x 5]]}\n";
    let told = |history: &History| -> Vec<String> {
        let told = |id| -> String {
            let operations = history.operations_of(id).iter().map(|operation| {
                let value = if operation.method == Method::Read { operation.result } else { operation.argument };
                let method = if operation.method == Method::Read { "r" } else { "w" };
                format!("{method} {} {}", history.key_name(operation.key), history.show(value))
            });
            operations.collect::<Vec<_>>().join(", ")
        };
        history.transactions().map(|(id, _)| told(id)).collect()
    };
    let history = parse(edn.as_bytes(), None).unwrap();
    let none = "r x/3 null, r x/4 null, r x/5 null";
    let expected = [
        format!("{none}, r x/1 true"),
        format!("r x/1 null, {none}"),
        "w x/1 true, w y/2 true".to_owned(),
        "w x/3 true".to_owned(),
        "w x/4 true, r x/1 null, r x/3 null, r x/5 null, r x/4 true, r x/9 true".to_owned(),
        "w x/5 true".to_owned(),
    ];
    assert_eq!(told(&history), expected);
    // The set-full workload, said to be one of transactions. Its names may have the sign between set and element.
    let full = "{:process 0, :type :invoke, :f :add, :value \"a/b\"}\n\
                {:process 0, :type :ok, :f :add, :value \"a/b\"}\n\
                {:process 1, :type :invoke, :f :read, :value nil}\n\
                {:process 1, :type :ok, :f :read, :value #{\"a/b\"}}\n\
                {:process 1, :type :invoke, :f :read, :value nil}\n\
                {:process 1, :type :ok, :f :read, :value #{}}\n";
    let object = Some(history::Object::Transactions);
    let options = ReadOptions { object, ..ReadOptions::default() };
    let history = read(Box::new(full.as_bytes()), &options).next().unwrap().unwrap();
    assert_eq!(told(&history), ["w set/a/b true", "r set/a/b true", "r set/a/b null"]);
    let twice = "{:process 0, :type :ok, :f :txn, :value [[:add a b/c] [:add a/b c]]}";
    assert_eq!(told(&parse(twice.as_bytes(), None).unwrap()), ["w a/b/c true, w a/b/c' true"]);
    for (text, message) in [
        ("{:process 0, :type :ok, :f :txn, :value [[:add 1 2] [:w 3 4]]}", "or one of sets"),
        ("{:process 0, :type :ok, :f :txn, :value [[:add 1 2] [:r 1 2]]}", "the versions of a counter are not known"),
    ] {
        let error = parse(text.as_bytes(), None).unwrap_err();
        assert!(error.message.contains(message), "{error:?}");
    }
}
