//! Bad input: each error says where it is and what is wrong, and the rest of a corpus is still read.

#![allow(clippy::format_collect)] // inputs are made of lines

use crate::common;
use std::io::Cursor;

use common::parse;
use format::{Format, InputError, ReadOptions, looks_like_history, open, read};
use history::{OperationId, Source};

fn fault(input: &str) -> InputError {
    parse(input.into(), None).remove(0).expect_err(input)
}

#[track_caller]
fn check(input: &str, line: u32, column: u32, message: &str) {
    let error = fault(input);
    assert_eq!((error.line, error.column), (line, column), "{error:?}");
    assert!(error.message.contains(message), "{error:?}");
    let shown = input.lines().nth(line as usize - 1).unwrap_or_default();
    assert_eq!(error.text, shown.trim_start_matches('\u{feff}'));
}

#[test]
fn text() {
    check("[0] w x\n", 1, 8, "a value is missing");
    check("[0] w x 1\n  [0] w x 1 2\n", 2, 13, "`2` is not understood here");
    check("[0] w x 1 # remark\n", 1, 11, "`#` is not understood");
    check("[0] w x 1 frm=a\n", 1, 11, "`frm=a`");
    check("[0] w.foo x 1\n", 1, 7, "`foo` is not a memory order");
    check("[0] enqeue 1\n", 1, 5, "no method is called `enqeue`");
    check("# @object queue\n[0] call w 1\n", 2, 10, "a queue has no method `w`");
    check("# @object 7up\n", 1, 11, "no object is called `7up`");
    check("# @object queue remark\n", 1, 17, "`remark`");
    check("# @capacity many\n", 1, 13, "`many` is not a capacity");
    check("[0] call enqueue 1\n[0] call enqueue 2\n", 2, 1, "calls again before its operation of line 1 returned");
    check("[0] call enqueue 1\n[0] enqueue 2\n", 2, 1, "calls again");
    check("# @object queue\n[0] return\n", 2, 1, "no operation open");
    check("[0] call enqueue 1\n[0] info\n[0] return\n", 3, 1, "(line 1) has already ended as `info`");
    check("[0] call enqueue 1\n[0] return 1\n", 2, 12, "not what enqueue returns");
    check("[0] call read\n[0] return\n", 2, 11, "not what read returns");
    check("[0] call cas 1 2\n[0] return 7\n", 2, 12, "not what cas returns");
    check("[0] call push(1\n", 1, 16, "do not end here");
    check("[0] call push(1,2)\n", 1, 16, "do not end here");
    check("[0] w x 1 id=a\n[1] w x 2 id=a\n", 2, 11, "line 1 and line 2 have the same label `a`");
    check("[0] w x 1 id=init\n", 1, 11, "`init`");
    check("[0] w x 1 from=a\n", 1, 11, "does not read");
    check("[0] r x 1 from=b\n", 1, 16, "has the label `b`");
    check("[0] r x 1 po=-1\n", 1, 14, "`-1`");
    check("[0] w x \"a\n", 1, 9, "no end");
    check("[0 w x 1\n", 1, 3, "white space in the word");
    check("[] w x 1\n", 1, 2, "a process is missing");
    check("[0]\n", 1, 4, "the operation is missing");
    check("[0] w x 1\nhello world\n", 2, 1, "`hello` does not begin a line");
    check("é\n", 1, 1, "not a history");
    check("[0] w é 1 2\n", 1, 11, "`2`");
}

#[test]
fn json_lines() {
    check("{\"process\":0,\"f\":\"w\",\"key\":\"x\",\"value\":1\n", 1, 41, "ends too early");
    check("{\"process\":0,\"f\":\"w\",\"key\":\"x\",\"value\":01}\n", 1, 40, "`01`");
    check("{\"process\":0,\"f\":\"w\",\"key\":\"x\"}\n", 1, 18, "a value is missing");
    check("{\"process\":0,\"f\":\"w\",\"value\":1}\n", 1, 18, "needs a location");
    check("{\"f\":\"w\",\"key\":\"x\",\"value\":1}\n", 1, 1, "the process is missing");
    check("{\"process\":0,\"type\":\"start\",\"f\":\"w\"}\n", 1, 21, "not a type of event");
    check("{\"process\":0,\"type\":\"ok\",\"f\":\"read\",\"value\":1}\n", 1, 12, "no operation open");
    check("{\"process\":0,\"f\":\"r\",\"key\":\"x\",\"value\":1,\"value\":2}\n", 1, 50, "given before");
    check("{\"process\":0} x\n", 1, 15, "`x` after the object");
    check(
        "{\"process\":0,\"type\":\"invoke\",\"f\":\"write\",\"value\":1}\n\
            {\"process\":0,\"type\":\"ok\",\"f\":\"read\",\"value\":1}\n",
        2,
        30,
        "has another operation open, write",
    );
    check(
        "{\"process\":0,\"type\":\"invoke\",\"f\":\"write\",\"value\":1}\n\
            {\"process\":0,\"type\":\"ok\",\"f\":\"write\",\"value\":2}\n",
        2,
        46,
        "has another value",
    );
}

#[test]
fn contradictions() {
    check("# @init x 5\n# @init x 5\n# @init x 6\n[0] r x 5\n", 3, 4, "the initial value of x is already 5");
    check("# @final x 5\n[0] r x 5\n# @final x nil\n", 3, 4, "the final value of x is already 5");
}

#[test]
fn edn() {
    check("{:process 0 :f :write :key :x :value 1", 1, 39, "ends within");
    check("[{:process 0 :f :write :key :x :value 1}", 1, 41, "ends within a vector");
    check("{:process 0 :f :write :key :x :value}", 1, 37, "has no value");
    check("{:process 0 :f :write :key :x :value ]}", 1, 38, "closes nothing");
    check("[{:process 0\n  :type :invoke\n  :f :zap\n  :value 1}\n {:process 0}]", 3, 6, "no method is called `zap`");
    check("[{:process 0 :type :invoke :f :read},\n {:process 0 :type :done :f :read :value 1}]", 2, 20, "`:done`");
    check("{:process 0 :f :read :key :x\n :value 1 :value 2}", 2, 18, "given before");
    check(" {:f :read :value nil :key :x}", 1, 2, "the process is missing");
    assert!(fault(&format!("{{:process {}", "[".repeat(100_000))).message.contains("too deep"));
    assert!(fault(&format!("{{:process {}", "#_[".repeat(100_000))).message.contains("too deep"));
    assert!(fault(&format!("{}{{:process 0}}", "#_".repeat(100_000))).message.contains("too deep"));
}

#[test]
fn axe() {
    check("0: x = 1\ncheck\n", 1, 1, "not a history");
    check("0: x := 1\n0: x = 1\ncheck\n", 2, 6, "`=`");
    check("0: x := 1\n0: < x == 1; y := 2 >\n", 2, 14, "two locations");
    check("0: x := 1 @ 5\n", 1, 14, "too early");
    check("0: x := 1 y\n", 1, 11, "`y`");
    assert!(matches!(
        read(
            Box::new(Cursor::new("0: x := 1\n")),
            &ReadOptions { format: Some(Format::Axe), object: Some(history::Object::Queue), ..ReadOptions::default() }
        )
        .next(),
        Some(Err(_))
    ));
}

#[test]
fn after_an_error_the_next_history_is_read() {
    let text = "[0] w x 1\n---\n[0] bad\n[0] worse\n---\n---\n[0] w x 2\n---\n[0] r x 1 from=nobody\n---\n[0] w x 3\n";
    let results = parse(text.into(), None);
    let is_valid: Vec<bool> = results.iter().map(Result::is_ok).collect();
    assert_eq!(is_valid, [true, false, true, false, true]);
    assert_eq!(results[1].as_ref().unwrap_err().line, 3);
    assert_eq!(results[4].as_ref().unwrap().operations()[0].line, 11);
    let json = "{\"object\":\"queue\"}\n{\"process\":0,\"f\":\"enqueue\",\"value\":1}\n\
        {\"object\":\"qeue\"}\nnonsense\n{\"object\":\"queue\"}\n";
    let is_valid: Vec<bool> = parse(json.into(), None).iter().map(Result::is_ok).collect();
    assert_eq!(is_valid, [true, false, true]);
    let edn = "[{:process 0 :f :nonsense}{:process 0 :f :more}] [{:process 0 :type :invoke :f :read}]";
    let is_valid: Vec<bool> = parse(edn.into(), None).iter().map(Result::is_ok).collect();
    assert_eq!(is_valid, [false, true]);
    let axe = "0: x := 1\ncheck\n0: nonsense\n0: x := 2\ncheck\n0: x := 3\ncheck\n";
    let is_valid: Vec<bool> = parse(axe.into(), None).iter().map(Result::is_ok).collect();
    assert_eq!(is_valid, [true, false, true]);
}

#[test]
fn nothing_is_an_error() {
    for input in ["", "\n\n", "# only a comment\n", "---\n---\n", "\u{feff}"] {
        let results = parse(input.into(), None);
        assert_eq!(results.len(), 1, "{input:?}");
        assert!(results[0].as_ref().unwrap_err().message.contains("no"), "{input:?}");
        for format in Format::ALL {
            assert!(parse(input.into(), Some(format))[0].is_err() || format == Format::Edn, "{input:?} as {format:?}");
        }
    }
}

#[test]
fn references_may_look_ahead() {
    let history = parse("[0] r x 1 from=a\n[1] w x 1 id=a\n".into(), None).remove(0).unwrap();
    assert_eq!(history.source(OperationId(0)), Some(Source::Operation(OperationId(1))));
}

#[test]
fn binary_junk() {
    let junk: Vec<u8> = (0..100_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8 | 0x80).collect();
    assert!(parse(junk.clone(), None)[0].is_err());
    for format in Format::ALL {
        let error = parse(junk.clone(), Some(format)).remove(0).unwrap_err();
        assert!(error.text.chars().count() < 300);
    }
    let mut junk = b"[0] w x 1\n[0] w x ".to_vec();
    junk.resize(40 << 20, b'1');
    let error = parse(junk, None).remove(0).unwrap_err();
    assert_eq!(error.line, 2);
    assert!(error.message.contains("16 MiB"), "{error:?}");
    let error = parse(b"[0] w x 1\n[0] w a\xff\xfe 1\n".to_vec(), None).remove(0).unwrap_err();
    assert_eq!((error.line, error.column), (2, 8));
    assert!(error.message.contains("UTF-8"));
}

#[test]
fn long_lines_are_read() {
    let word = "a".repeat(3 << 20);
    let text = format!("[0] w x {word}\n[1] r x {word}\n");
    let history = parse(text.into_bytes(), None).remove(0).unwrap();
    assert_eq!(history.operations()[0].argument, history.operations()[1].result);
    let maps: String =
        (0..50_000).map(|n| format!("{{:process {n}, :type :invoke, :f :write, :value {n}}} ")).collect();
    let history = parse(format!("[{maps}]").into_bytes(), None).remove(0).unwrap();
    assert_eq!(history.operations().len(), 50_000);
    let error = parse(format!("[{maps} oops]").into_bytes(), None).remove(0).unwrap_err();
    assert_eq!((error.line, error.column as usize), (1, maps.len() + 3));
}

#[test]
fn many_threads_and_large_numbers() {
    let text: String = (0..10_000).map(|n| format!("[{n}] w x{n} {n}\n[{n}] r x{n} {n}\n")).collect();
    let history = parse(text.into_bytes(), None).remove(0).unwrap();
    assert_eq!((history.processes().len(), history.keys().len(), history.operations().len()), (10_000, 10_000, 20_000));
    for (at, operation) in history.operations().iter().enumerate() {
        assert_eq!((operation.process.index(), operation.key.index()), (at / 2, at / 2));
        assert_eq!(operation.line as usize, at + 1);
    }
    let history = parse(b"[1099511627776] w 1099511627776 18446744073709551616\n".to_vec(), None).remove(0).unwrap();
    assert_eq!(history.processes()[0].as_integer(), Some(1 << 40));
    assert_eq!(history.show(history.operations()[0].argument), "18446744073709551616");
}

#[test]
fn common_lines_mean_the_same_in_every_spelling() {
    let lines = [
        "[3] w x17 12345",
        "[03] w x17 0",
        "[3] r x17 00",
        "[3] r x1234567 99999999",
        "[3] w x17 123456789",
        "[3] w x -1",
    ];
    let plain: String = (0..200).map(|n| format!("{}\n", lines[n * 7 % 6])).collect();
    let loose: String = plain.lines().map(|line| format!("  {}  \r\n", line.replace(' ', "\t"))).collect();
    let [plain, loose] = [plain, loose].map(|text| parse(text.into_bytes(), Some(Format::Text)).remove(0).unwrap());
    assert_eq!(common::canonical(&plain), common::canonical(&loose));
    assert_eq!(plain.processes().len(), 1, "03 is 3");
}

#[cfg(feature = "compression")]
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    encoder.finish().unwrap()
}

#[cfg(feature = "compression")]
#[test]
fn compressed_and_truncated() {
    let text: String = (0..5000).map(|n| format!("[{}] w x {n}\n", n * 7 % 11)).collect();
    for packed in [gzip(text.as_bytes()), zstd::encode_all(text.as_bytes(), 1).unwrap()] {
        assert_eq!(parse(packed.clone(), None).remove(0).unwrap().operations().len(), 5000);
        for length in [5, packed.len() / 2, packed.len() - 1] {
            let results = parse(packed[..length].to_vec(), None);
            assert!(results[0].is_err(), "{length}");
            assert_eq!(results.len(), 1);
        }
    }
    let two = [gzip(b"[0] w x 1\n"), gzip(b"[0] w x 2\n")].concat();
    assert_eq!(parse(two, None).remove(0).unwrap().operations().len(), 2);
}

#[cfg(not(feature = "compression"))]
#[test]
fn compressed_files_are_refused() {
    for (magic, name) in [(&b"\x1f\x8b\x08\x00"[..], "gzip"), (b"\x28\xb5\x2f\xfd", "zstd")] {
        let results = parse([magic, b"and so on"].concat(), None);
        let [Err(error)] = &results[..] else { panic!("{results:?}") };
        let message = &error.message;
        assert!(message.contains(name) && message.contains("feature `compression`"), "{message}");
    }
}

/// Who gives a table of Parquet or Arrow to a build without them is told what to do.
#[cfg(not(feature = "arrow"))]
#[test]
fn tables_are_refused_with_the_feature_that_reads_them() {
    for (magic, name) in [(&b"PAR1"[..], "parquet"), (b"ARROW1\0\0", "arrow")] {
        let results = parse([magic, b"and so on", magic].concat(), None);
        let [Err(error)] = &results[..] else { panic!("{results:?}") };
        assert_eq!(error.message, format!("this is {name}, and Seriatim was built without the feature `arrow`"));
        assert!(error.expected.as_deref().is_some_and(|expected| expected.contains("--features arrow")), "{error:?}");
    }
}

#[test]
fn files_and_their_formats() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let histories: &[(&str, &[u8])] = &[
        ("a.hist", b""),
        ("b.log", b"INFO  jepsen.util - 0\t:invoke\t:read\tnil\n"),
        ("c.txt", b"{:process 0, :type :invoke, :f :get, :key \"0\", :value nil}\n"),
        ("d", b"[0] w x 1\n"),
        ("e", b"# SB\n0: M[0] := 1\ncheck\n"),
        ("f.dat", b"{\"object\":\"queue\"}\n"),
        ("g.JSONL.gz", b""),
        #[cfg(feature = "compression")]
        ("h.bin", &gzip(b"# @object queue\n")),
        ("i", b"; Jepsen\n[{:process 0, :type :invoke, :f :read}]\n"),
    ];
    for &(name, content) in histories {
        assert!(looks_like_history(&file(name, content)).unwrap(), "{name}");
    }
    let others: [(&str, &[u8]); 9] = [
        ("README.md", b"# Histories\n\nSome words.\n"),
        ("verdicts.tsv", b"file\tobject\tverdict\na.hist\tqueue\tviolation\n"),
        ("LICENSE", b"MIT License\n\nCopyright (c) 2015\n"),
        ("SC.txt", b"OK\nNO\nOK\n"),
        ("package.json", b"{\n  \"name\": \"x\"\n}\n"),
        ("links.md", b"[1]: https://example.org\n[2] a note\n"),
        ("empty", b""),
        ("junk", b"\x00\x01\x02\xff\n"),
        ("notes.md", b"# Notes\n\n1. first\n2. second\n"),
    ];
    for (name, content) in others {
        assert!(!looks_like_history(&file(name, content)).unwrap(), "{name}");
    }
    assert_eq!(open(&folder.path().join("b.log"), &ReadOptions::default()).unwrap().format(), Some(Format::Edn));
    assert_eq!(open(&folder.path().join("e"), &ReadOptions::default()).unwrap().format(), Some(Format::Axe));
    assert_eq!(open(&folder.path().join("README.md"), &ReadOptions::default()).unwrap().format(), None);
    assert!(open(folder.path(), &ReadOptions::default()).is_err());
    assert!(open(&folder.path().join("none"), &ReadOptions::default()).is_err());
    for format in Format::ALL {
        assert_eq!(Format::from_name(format.name()), Some(format));
    }
}
