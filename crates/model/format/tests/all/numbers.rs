//! Numbers that are written in several ways are one number, as value and as location, in every format. They are printed
//! as the file first wrote them.

use format::{Format, ReadOptions, Writer, read_bytes, render_operation};
use history::{History, OperationId};

/// A table with named columns is told by its content.
fn read_as(text: &str, format: impl Into<Option<Format>>) -> Result<History, String> {
    let options = ReadOptions { format: format.into(), ..ReadOptions::default() };
    let mut reader = read_bytes(text.as_bytes().to_vec(), &options);
    let history = reader.next().expect("a history");
    history.map_err(|error| format!("{}:{}: {}", error.line, error.column, error.message))
}

fn read(text: &str) -> History {
    read_as(text, Format::Text).unwrap()
}

fn rendered(history: &History) -> Vec<String> {
    (0..history.operations().len() as u32).map(|id| render_operation(history, OperationId(id))).collect()
}

fn written(history: &History, format: Format) -> String {
    let mut writer = Writer::new(Vec::new(), format);
    writer.write(history).unwrap();
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

/// The same trace in four formats: two locations, each written in two ways, and two values.
#[test]
fn one_rule_for_every_format() {
    let text = "[0] w 0x80 1\n[0] w 0xc0 0xDEAD\n[1] r 192 0xdead\n[0x1] r 0x0080 0x00000001\n";
    let csv = "thread,op,address,value\n0,store,0x80,1\n0,store,0xc0,0xDEAD\n1,load,192,0xdead\n\
               0x1,load,0x0080,0x00000001\n";
    let jsonl = r#"{"process":0,"f":"w","key":"0x80","value":1}
{"process":0,"f":"w","key":"0xc0","value":"0xDEAD"}
{"process":1,"f":"r","key":192,"value":"0xdead"}
{"process":"0x1","f":"r","key":"0x0080","value":"0x00000001"}
"#;
    let edn = "{:process 0 :f :w :key 0x80 :value 1}\n{:process 0 :f :w :key 0xc0 :value 0xDEAD}\n\
               {:process 1 :f :r :key 192 :value 0xdead}\n{:process 0x1 :f :r :key 0x0080 :value 0x00000001}\n";
    let expected = ["[0] w 0x80 1", "[0] w 0xc0 0xDEAD", "[1] r 0xc0 0xDEAD", "[1] r 0x80 1"];
    for (text, format) in
        [(text, Some(Format::Text)), (csv, None), (jsonl, Some(Format::JsonLines)), (edn, Some(Format::Edn))]
    {
        let history = read_as(text, format).unwrap();
        assert_eq!((history.keys().len(), history.processes().len()), (2, 2), "{format:?}");
        let [first, second, third, fourth] = history.operations() else { panic!("four operations") };
        assert_eq!((first.key, first.argument), (fourth.key, fourth.result), "{format:?}");
        assert_eq!((second.key, second.argument), (third.key, third.result), "{format:?}");
        assert_eq!(rendered(&history), expected, "{format:?}");
        for format in [Format::Text, Format::JsonLines, Format::Edn] {
            let again = read_as(&written(&history, format), format).unwrap();
            assert_eq!(rendered(&again), expected, "{format:?}");
        }
    }
}

#[test]
fn a_number_is_printed_as_the_file_first_wrote_it() {
    for (text, expected) in [
        ("[0] w x 1\n[1] r x 0x1\n", ["[0] w x 1", "[1] r x 1"]),
        ("[0] w x 0x1\n[1] r x 1\n", ["[0] w x 0x1", "[1] r x 0x1"]),
        ("[0] w x +1\n[1] r x 01\n", ["[0] w x +1", "[1] r x +1"]),
        ("[0] w x -0\n[1] r x 0\n", ["[0] w x -0", "[1] r x -0"]),
        // As a location, as a value and as a process, a number may have different forms.
        ("[0] w 0x0 0\n[0x00] r 0 0x0\n", ["[0] w 0x0 0", "[0] r 0x0 0"]),
        // Larger than 64 bits.
        (
            "[0] w x 0xFFFFFFFFFFFFFFFFFFFF\n[1] r x 1208925819614629174706175\n",
            ["[0] w x 0xFFFFFFFFFFFFFFFFFFFF", "[1] r x 0xFFFFFFFFFFFFFFFFFFFF"],
        ),
        (
            "[0] w x 1208925819614629174706175\n[1] r x 0xffffffffffffffffffff\n",
            ["[0] w x 1208925819614629174706175", "[1] r x 1208925819614629174706175"],
        ),
    ] {
        let history = read(text);
        assert_eq!(rendered(&history), expected, "{text}");
        assert_eq!(history.operations()[0].argument, history.operations()[1].result, "{text}");
        assert_eq!(rendered(&read(&written(&history, Format::Text))), expected, "{text}");
    }
    let calls = read("# @object queue\n[0] call enqueue 7\n[0] return\n[1] call dequeue\n[1] return 0x7\n");
    assert_eq!(rendered(&calls), ["[0] enqueue 7", "[1] dequeue => 7"]);
}

/// To axe, `v3` and `M[3]` are one location, and a number in brackets may be spelled in several ways.
#[test]
fn locations_of_axe_are_known_by_their_numbers() {
    let trace = "0: M[3] := 1\n0: v3 := 0x2\n1: M[03] == 2\n1: { M[0x3] == 2; v03 := 5 }\n1: w3 == 0\nfinal v3 == 5\n";
    let history = read_as(trace, Format::Axe).unwrap();
    assert_eq!(history.keys().len(), 2);
    let expected =
        ["[0] w \"M[3]\" 1", "[0] w \"M[3]\" 0x2", "[1] r \"M[3]\" 0x2", "[1] u \"M[3]\" 0x2 5", "[1] r w3 0"];
    assert_eq!(rendered(&history), expected);
    assert_eq!(history.finals().len(), 1);
    let again = read_as(&written(&history, Format::Axe), Format::Axe).unwrap();
    assert_eq!(
        rendered(&again)[..4],
        ["[0] w \"M[3]\" 1", "[0] w \"M[3]\" 2", "[1] r \"M[3]\" 2", "[1] u \"M[3]\" 2 5"]
    );
    // The next trace has locations of its own.
    let mut reader = read_bytes(
        b"0: v3 := 1\ncheck\n1: M[3] := 1\ncheck\n".to_vec(),
        &ReadOptions { format: Some(Format::Axe), ..ReadOptions::default() },
    );
    let names: Vec<String> = reader.by_ref().map(|history| rendered(&history.unwrap()).concat()).collect();
    assert_eq!(names, ["[0] w v3 1", "[1] w \"M[3]\" 1"]);
}

/// JSON and CSV have floating-point numbers. One that is whole is that integer; the others are words.
#[test]
fn whole_floating_point_numbers_are_integers() {
    let jsonl = "{\"process\":0,\"f\":\"w\",\"key\":128.0,\"value\":1}\n\
                 {\"process\":1.0,\"f\":\"r\",\"key\":\"0x80\",\"value\":1e0}\n\
                 {\"process\":1,\"f\":\"r\",\"key\":128,\"value\":1.5}\n";
    let csv = "thread,op,address,value,new,size\n0,store,128.0,1,,4.0\n1.0,load,0x80,1.0,,4\n1,load,128,1.5,,\n";
    for (text, format) in [(jsonl, Some(Format::JsonLines)), (csv, None)] {
        let history = read_as(text, format).unwrap();
        assert_eq!(rendered(&history), ["[0] w 128 1", "[1] r 128 1", "[1] r 128 1.5"], "{format:?}");
        assert_eq!((history.keys().len(), history.processes().len()), (1, 2), "{format:?}");
    }
    // As pandas writes integers of which some are missing.
    let history = read("[0] w x 2\n[1] u x 2 3\n[1] r y 0\n");
    let csv = "thread,op,address,value,new\n0.0,w,x,2.0,\n1.0,u,x,2.0,3.0\n1.0,r,y,0.0,\n";
    assert_eq!(rendered(&read_as(csv, None).unwrap()), rendered(&history));
}

/// A list or a map that is one value has the numbers in it.
#[test]
fn numbers_in_lists_and_maps_are_numbers() {
    let jsonl = r#"{"process":0,"f":"w","key":"x","value":["0x1",{"a":2}]}
{"process":1,"f":"r","key":"x","value":[ 1, {"a": 2.0}]}
"#;
    let edn = "{:process 0 :f :w :key [0x1 :a] :value [0xDEAD {:b 01}]}\n\
               {:process 1 :f :r :key [1 :a] :value [57005 {:b 1}]}\n";
    for (text, format) in [(jsonl, Format::JsonLines), (edn, Format::Edn)] {
        let history = read_as(text, format).unwrap();
        let [write, read] = history.operations() else { panic!("two operations") };
        assert_eq!((write.key, write.argument), (read.key, read.result), "{format:?}: {:?}", rendered(&history));
        assert_eq!(rendered(&read_as(&written(&history, format), format).unwrap()), rendered(&history));
    }
}

#[test]
fn words_are_no_numbers() {
    let history = read("[0] w x \"0x1\"\n[0] w x 0x1\n[0] w x 1_0\n[0] w x 0x\n[0] w x \"5\"\n[0] w x 5\n");
    let values: Vec<_> = history.operations().iter().map(|operation| operation.argument.bits()).collect();
    let distinct: std::collections::BTreeSet<_> = values.iter().collect();
    assert_eq!(distinct.len(), values.len());
    for format in [Format::Text, Format::JsonLines, Format::Edn] {
        let again = read_as(&written(&history, format), format).unwrap();
        assert_eq!(rendered(&again), rendered(&history), "{format:?}");
    }
    assert!(written(&history, Format::JsonLines).contains(r#""value":{"word":"5"}"#));
}

/// The values of a `kv` are texts: `append` puts them together.
#[test]
fn texts_are_no_numbers() {
    let text = "# @object kv\n[0] call put 007 key=0x1\n[0] return\n[1] call get key=1\n[1] return 7\n";
    let history = read(text);
    assert_eq!(history.keys().len(), 1);
    assert_ne!(history.operations()[0].argument, history.operations()[1].result);
    assert_eq!(rendered(&history), ["[0] put \"007\" key=0x1", "[1] get => 7 key=0x1"]);
}

#[test]
fn accesses_of_mixed_sizes_are_refused() {
    let table = |rows: &str| format!("thread,op,address,value,size\n{rows}");
    for (rows, error) in [
        ("0,store,0x80,1,4\n1,load,0x84,1,8\n", "3:15: this access has a size of 8, and that on line 2 has 4"),
        ("0,store,0x80,1,8\n1,load,0x84,0,8\n", "3:15: the 8 bytes at 0x84 overlap those at 0x80, on line 2, partly"),
        ("0,store,0x84,1,8\n1,load,0x80,0,8\n", "3:15: the 8 bytes at 0x80 overlap those at 0x84, on line 2, partly"),
        ("0,store,0x80,1,0\n", "2:16: `0` is not a size"),
        ("0,store,0x80,1,-4\n", "2:16: `-4` is not a size"),
        ("0,store,0x80,1,0x10000000000000000\n", "2:16: `0x10000000000000000` is not a size"),
        // An access that does not state its size is as large as the others, whichever comes first.
        ("0,store,0x80,1,4\n1,load,0x82,1,\n", "3:1: the 4 bytes at 0x82 overlap those at 0x80, on line 2, partly"),
        ("0,store,0x80,1,\n1,load,0x82,1,4\n", "2:1: the 4 bytes at 0x80 overlap those at 0x82, on line 3, partly"),
        ("0,store,-2,1,4\n1,load,0x0,1,4\n", "3:14: the 4 bytes at 0x0 overlap those at -2, on line 2, partly"),
        ("0,store,0x80,1,word\n", "2:16: `word` is not a size"),
    ] {
        let refused = read_as(&table(rows), None).unwrap_err();
        assert!(refused.starts_with(error), "{refused}");
    }
    let same = table("0,store,0x80,1,4\n1,load,0x84,0,4\n1,fence,,,\n1,load,name,0,4\n1,load,0x80,1,\n");
    assert_eq!(read_as(&same, None).unwrap().operations().len(), 5);
    let apart = table(&format!("0,store,{},1,4\n1,load,{},1,4\n", i128::MIN, i128::MAX));
    assert_eq!(read_as(&apart, None).unwrap().operations().len(), 2);
    let lines = "{\"process\":0,\"f\":\"w\",\"key\":128,\"value\":1,\"size\":4}\n\
                 {\"process\":1,\"f\":\"r\",\"key\":\"0x82\",\"value\":1,\"size\":\"4\"}\n";
    let refused = read_as(lines, Format::JsonLines).unwrap_err();
    assert!(refused.contains("the 4 bytes at 0x82 overlap those at 128, on line 1, partly"), "{refused}");
}
