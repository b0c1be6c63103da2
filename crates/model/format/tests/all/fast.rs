//! The fast reader of the text format agrees with the general one: on lines of the common shapes, on other lines, and
//! on lines that were changed at random. The fast reader stops before a line that begins with a blank. So if all lines
//! of a text are indented, the general reader reads all of it.

use crate::common;
use common::Random;
use format::stream::{Item, Stream};
use format::{Format, InputError, ReadOptions, read};
use history::{History, Object};

fn cases() -> u64 {
    let cases = std::env::var("SERIATIM_CASES").map_or(1, |cases| cases.parse().expect("a number"));
    4000 * cases
}

/// A value: mostly a number, of any length.
fn value(random: &mut Random) -> String {
    const ODD: [&str; 22] = [
        "0x1",
        "0x0001",
        "0xFFFFFFFFFFFFFFFFFF",
        "+7",
        "empty",
        "true",
        "false",
        "null",
        "nil",
        "007",
        "00",
        "-5",
        "12345678",
        "123456789",
        "1234567890123456",
        "99999999999999999999",
        "\"a b\"",
        "word",
        "a-longer-word",
        "5)",
        "0",
        "ok",
    ];
    match random.below(12) {
        0 => random.pick(&ODD).to_owned(),
        1 => (random.next() >> random.below(64)).to_string(),
        _ => random.below(1000).to_string(),
    }
}

fn key(random: &mut Random) -> String {
    match random.below(10) {
        0 => random
            .pick(&["location", "locations", "0x80", "0x0080", "128", "\"a b\"", "=", "key=3", "x=1", ""])
            .to_owned(),
        _ => format!("x{}", random.below(5)),
    }
}

/// A line with an instant, a call or a return. The open operations are tracked, so that most lines are valid.
fn line(random: &mut Random, object: Object, open: &mut [Option<bool>; 4]) -> String {
    let process = random.below(open.len());
    let name = match random.below(40) {
        0 => random.pick(&[" 1", "01", "\"1\"", "1234567", "c1", ""]).to_owned(),
        _ => process.to_string(),
    };
    let has_calls = object != Object::Memory || open[0].is_some();
    let (kind, names) = random.pick(object.methods());
    let mut method = if random.chance(8) { random.pick(names) } else { names[0] }.to_owned();
    if object == Object::Memory {
        method.push_str(random.pick(&["", "", ".rlx", ".acq", ".rel", ".acqrel", ".sc", ".bad"]));
    }
    let gap = if random.chance(30) { random.pick(&["  ", "\t", "", "\r"]) } else { " " };
    let mut line = vec![format!("[{name}]{gap}")];
    if !has_calls {
        line.push(method.clone());
        if !method.starts_with('f') {
            line.push(format!(" {}{gap}{}", key(random), value(random)));
        }
        if method.starts_with('u') {
            line.push(format!(" {}", value(random)));
        }
    } else if open[process].is_some_and(|is_open| is_open ^ random.chance(60)) {
        open[process] = Some(false);
        let ends = ["return", "return", "return", "return", "return", "return", "fail", "info", "Return"];
        line.push(random.pick(&ends).to_owned());
        if random.chance(2) {
            line.push(format!("{gap}{}", value(random)));
        }
    } else {
        open[process] = Some(true);
        line.push(format!("call{gap}{method}"));
        if object == Object::Memory && !random.chance(10) {
            line.push(format!(" {}", key(random)));
        }
        if kind.takes_argument() ^ random.chance(20) {
            let value = value(random);
            line.push(if random.chance(10) { format!("({value})") } else { format!("{gap}{value}") });
        }
        if names[0] == "cas" {
            line.push(format!(" {}", value(random)));
        }
        if object != Object::Memory && random.chance(4) {
            line.push(format!("{gap}key={}", key(random)));
        }
    }
    let rest = match random.below(40) {
        0 => random.pick(&[" id=a", " from=a", " id=b", " po=3", " time=5", " ", " # no", " id=", " key="]),
        1 => random.pick(&["\r", "\t", "\0", "\x04", "é", "\x0c"]),
        _ => "",
    };
    line.concat() + rest
}

/// The lines of one or more histories, ended by enough bytes to fill the window of the fast reader.
fn lines(random: &mut Random) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for _ in 0..=random.below(3) {
        let object = random.pick(&Object::ALL);
        if !random.chance(10) {
            // The same lines mean plain data where the object is not built in.
            let name = if random.chance(8) { "account" } else { object.name() };
            lines.push(format!("# @object {name}").into_bytes());
        }
        let has_calls = random.chance(2);
        let mut open = [if has_calls { Some(false) } else { None }; 4];
        for _ in 0..random.below(60) {
            lines.push(line(random, object, &mut open).into_bytes());
        }
        lines.push(b"---".to_vec());
    }
    for _ in 0..random.below(3) {
        let at = random.below(lines.len());
        let line = &mut lines[at];
        let byte = random.pick(b" \t\r[]=().#-09az\"\xff\0");
        match random.below(3) {
            0 if !line.is_empty() => drop(line.remove(random.below(line.len()))),
            1 if !line.is_empty() => {
                let at = random.below(line.len());
                line[at] = byte;
            }
            _ => line.insert(random.below(line.len() + 1), byte),
        }
    }
    let end = if random.chance(6) { "\r" } else { "" };
    for line in &mut lines {
        line.extend_from_slice(end.as_bytes());
    }
    lines.push([b'#'; 200].to_vec());
    lines
}

fn text(lines: &[Vec<u8>], indent: &str) -> Vec<u8> {
    lines.iter().flat_map(|line| [indent.as_bytes(), line, b"\n"].concat()).collect()
}

fn show_error(error: &InputError, indent: usize) -> String {
    let InputError { line, column, text, message, expected } = error;
    // An error about the whole file, or about an earlier line, has no indentation.
    let indent = if text.starts_with(' ') { indent } else { 0 };
    format!("{line}:{}: {message} ({expected:?}) in {:?}", *column as usize - indent, &text[indent..])
}

fn show(history: &History) -> String {
    let (object, operations) = (history.object(), history.operations());
    let (moments, times, expected) = (history.moments(), history.times(), history.expected_values());
    let (labels, sources, program_indices) = (history.labels(), history.sources(), history.program_indices());
    let names = [history.processes(), history.keys()]
        .map(|names| names.iter().map(|&name| history.show(name)).collect::<Vec<_>>());
    let words: Vec<_> =
        operations.iter().map(|one| [one.argument, one.result].map(|value| history.show(value))).collect();
    format!(
        "{object:?} {operations:#?} {moments:?} {times:?} {expected:?} {labels:?} {sources:?} {program_indices:?} \
         {names:?} {words:?}"
    )
}

/// The result of reading a text as a file.
fn whole(text: Vec<u8>, indent: usize) -> Vec<String> {
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    read(Box::new(std::io::Cursor::new(text)), &options)
        .map(|read| read.map_or_else(|error| show_error(&error, indent), |history| show(&history)))
        .collect()
}

/// The result of reading a text event by event.
fn streamed(mut text: &[u8], indent: usize) -> Vec<String> {
    let mut stream = Stream::new(&ReadOptions { format: Some(Format::Text), ..ReadOptions::default() }).expect("text");
    std::iter::from_fn(|| stream.next(&mut text))
        .map(|item| match item {
            Ok(Item::Event(event)) => format!("{event:?}"),
            Ok(Item::End) => "end".to_owned(),
            Err(error) => show_error(&error, indent),
        })
        .collect()
}

#[test]
fn the_fast_reader_agrees_with_the_general_one() {
    for case in 0..cases() {
        let mut random = Random(case);
        let lines = lines(&mut random);
        let [fast, general] = ["", " "].map(|indent| text(&lines, indent));
        let shown = String::from_utf8_lossy(&fast).into_owned();
        assert_eq!(streamed(&fast, 0), streamed(&general, 1), "case {case}:\n{shown}");
        assert_eq!(whole(fast, 0), whole(general, 1), "case {case}:\n{shown}");
    }
}
