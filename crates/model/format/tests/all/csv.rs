//! Tables with named columns.

use format::{Format, ReadOptions, Writer, open, read_bytes};
use history::{History, Object};

fn read(text: &str) -> Result<History, String> {
    let mut reader = read_bytes(text.as_bytes().to_vec(), &ReadOptions::default());
    let history = reader.next().unwrap().map_err(|error| format!("{}:{}: {}", error.line, error.column, error.message));
    assert!(reader.next().is_none());
    history
}

fn text(history: &History) -> String {
    let mut writer = Writer::new(Vec::new(), Format::Text);
    writer.write(history).unwrap();
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

#[test]
fn a_table_is_read() {
    let table = "# a trace
Core, Time ,OP,Address,Data,New,comment,po

0,5,store,x,1,,first,0
1,7,LOAD,\"x\",1,,\"a, \"\"b\"\"\",1
1,8,rmw,\"x\",1,2,,2
1,9,fence,,,,,0
";
    let history = read(table).unwrap();
    assert_eq!(history.object(), Object::Memory);
    let expected = "# @object memory
[0] w x 1 time=5 po=0
[1] r x 1 time=7 po=1
[1] u x 1 2 time=8 po=2
[1] f time=9 po=0
";
    let sorted = |text: &str| {
        text.lines()
            .map(|line| line.split(' ').map(str::to_owned).collect())
            .map(|mut it: Vec<String>| {
                it.sort();
                it
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(sorted(&text(&history)), sorted(expected));
    assert_eq!(history.operations()[1].line, 5);
    // Fewer fields than columns: the rest is empty. Other names of the columns, and memory orders.
    let history = read("tid,kind,location,value,order\n7,w,y,3,rel\n8,r,y,3,acq\n8,f\n").unwrap();
    assert_eq!(text(&history), "# @object memory\n[7] w.rel y 3\n[8] r.acq y 3\n[8] f\n");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (table, message) in [
        ("thread,op,value\n0,r,1\n", "there is no column `address`"),
        ("thread,op,address,value,core\n", "a column that there is already"),
        ("thread,op,address,value\n0,jump,x,1\n", "2:3: `jump` is no operation"),
        ("thread,op,address,value\n0,r,x\n", "2:6: the field `value` is missing"),
        ("thread,op,address,value\n0,rmw,x,1\n", "the field `new` is missing"),
        ("thread,op,address,value\n0,r,x,1,2\n", "more fields"),
        ("thread,op,address,value\n0,r,\"x,1\n", "2:5: this quote is not closed"),
        ("thread,op,address,value\n0,r,\"x\"y,1\n", "something follows"),
        ("thread,op,address,value,po\n0,r,x,1,-1\n", "`-1` is not an index in program order"),
        ("thread,op,address,value,time\n0,r,x,1,soon\n", "`soon` is not a time"),
        ("thread,op,address,value,order\n0,r,x,1,fast\n", "`fast` is no memory order"),
    ] {
        let error = read(table).unwrap_err();
        assert!(error.contains(message), "{table:?}: {error}");
    }
    let options = ReadOptions { object: Some(Object::Queue), ..ReadOptions::default() };
    let mut reader = read_bytes(b"thread,op,address,value\n0,r,x,1\n".to_vec(), &options);
    assert!(reader.next().unwrap().unwrap_err().to_string().contains("not of a queue"));
}

#[test]
fn the_extension_names_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.csv");
    std::fs::write(&path, "thread,op,address,value\r\n0,w,x,1\r\n").unwrap();
    let history = open(&path, &ReadOptions::default()).unwrap().next().unwrap().unwrap();
    assert_eq!(text(&history), "# @object memory\n[0] w x 1\n");
    assert!(format::looks_like_history(&path).unwrap());
}

/// Any bytes behind a header are read, or refused with a place.
#[test]
fn arbitrary_bytes() {
    let mut state = 7u64;
    let mut next = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let pieces: [&[u8]; 14] =
        [b"0", b"r", b"x", b",", b",", b",", b"\n", b"\"", b"fence", b"rmw", b" ", b"\xff", b"#", b"1"];
    for _ in 0..3000 {
        let mut bytes = b"thread,op,address,value,new,order,po,time,end\n".to_vec();
        for _ in 0..next(30) {
            bytes.extend_from_slice(pieces[next(pieces.len() as u64) as usize]);
        }
        for result in read_bytes(bytes, &ReadOptions::default()) {
            if let Err(error) = result {
                assert!(!error.to_string().is_empty());
            }
        }
    }
}
