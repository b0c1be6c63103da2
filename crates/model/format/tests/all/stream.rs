//! Events that are read one by one make the same histories as the whole files, wherever the stream was saved and
//! restored.

use crate::common;
use common::{Profile, Random, parse_valid, print, random_history};
use format::stream::{Item, SourceName, Stream, StreamEvent, What};
use format::{Format, ReadOptions};
use history::{History, Object, OperationId, Outcome, Source};

const FORMATS: [Format; 2] = [Format::Text, Format::JsonLines];

fn stream(format: Option<Format>) -> Stream {
    Stream::new(&ReadOptions { format, ..ReadOptions::default() }).expect("both are formats of streams")
}

/// The events of each history, read a few lines at a time by a stream that is saved and restored in between.
fn events(text: &[u8], format: Option<Format>, random: &mut Random) -> Vec<Vec<StreamEvent>> {
    let mut stream = stream(format);
    let mut histories = vec![Vec::new()];
    let mut rest = text;
    while !rest.is_empty() {
        let end = random.below(rest.len() + 1);
        let end = rest[end..].iter().position(|&byte| byte == b'\n').map_or(rest.len(), |at| end + at + 1);
        let (mut lines, after) = rest.split_at(end);
        rest = after;
        loop {
            if random.chance(20) {
                let saved = postcard::to_stdvec(&stream).unwrap();
                stream = postcard::from_bytes(&saved).unwrap();
            }
            match stream.next(&mut lines) {
                None => break,
                Some(Ok(Item::Event(event))) => histories.last_mut().unwrap().push(event),
                Some(Ok(Item::End)) => histories.push(Vec::new()),
                Some(Err(error)) => panic!("{error:?} in {}", String::from_utf8_lossy(text)),
            }
        }
        assert!(lines.is_empty());
    }
    histories
}

/// Asserts that the events are those of the history.
fn assert_same(history: &History, events: &[StreamEvent], text: &str) {
    let mut open: Vec<Option<usize>> = vec![None; history.processes().len()];
    let mut operations = Vec::new();
    let mut moments = Vec::new();
    for (moment, event) in (0..).zip(events) {
        let process = event.operation.process.index();
        match event.what {
            What::Begin => panic!("no transactions here: {text}"),
            What::Instant | What::Call => {
                let id = OperationId(operations.len() as u32);
                open[process] = (event.what == What::Call).then_some(operations.len());
                operations.push(event.operation);
                moments.push([moment, if event.what == What::Call { History::NEVER } else { moment }]);
                assert_eq!(history.expected(id), Some(event.expected).filter(|value| value.is_some()), "{text}");
                assert_eq!(history.program_index(id), event.index, "{text}");
            }
            What::End => {
                let at = open[process].take().expect("what ends was called");
                operations[at] = event.operation;
                if event.operation.outcome != Outcome::Info {
                    moments[at][1] = moment;
                }
            }
        }
    }
    assert_eq!(operations, history.operations(), "{text}");
    if history.has_calls() {
        assert_eq!(moments, history.moments(), "{text}");
    }
    // A label stands at the event that names it, which may be either end of an operation.
    let mut labels: Vec<_> = events.iter().map(|event| event.label).filter(|label| label.is_some()).collect();
    labels.sort_unstable_by_key(|label| label.bits());
    let mut expected: Vec<_> = history.labels().iter().map(|&(_, label)| label).collect();
    expected.sort_unstable_by_key(|label| label.bits());
    assert_eq!(labels, expected, "{text}");
    let sources = events.iter().filter(|event| event.source != SourceName::None).count();
    assert_eq!(sources, history.sources().len(), "{text}");
    let initial = events.iter().filter(|event| event.source == SourceName::Init).count();
    assert_eq!(initial, history.sources().iter().filter(|(_, source)| *source == Source::Init).count(), "{text}");
}

#[test]
fn a_stream_is_the_histories_of_the_file() {
    let mut count = 0;
    for case in 0..1500 {
        let mut random = Random(case);
        let mut histories: Vec<History> =
            (0..=random.below(2)).map(|_| random_history(random.next(), Profile::Anything)).collect();
        // A stream has no open objects.
        histories.retain(|history| history.object() != Object::Open);
        if histories.is_empty() {
            continue;
        }
        for format in FORMATS {
            let text = print(&histories, format);
            let shown = String::from_utf8_lossy(&text).into_owned();
            let parsed = parse_valid(text.clone(), format);
            let found = events(&text, Some(format), &mut random);
            assert_eq!(found.len(), parsed.len(), "{shown}");
            for (history, events) in parsed.iter().zip(&found) {
                assert_same(history, events, &shown);
                count += events.len();
            }
        }
    }
    assert!(count > 10_000, "{count}");
}

#[test]
fn the_format_is_told_by_the_first_line_that_tells() {
    let mut random = Random(0);
    for (text, format) in [
        ("# a comment\n\n[0] w x 1\n[1] r x 1 po=3\n", Format::Text),
        ("# @object queue\n[0] call enqueue 1\n[0] return\n", Format::Text),
        ("\n{\"process\":0,\"f\":\"w\",\"key\":\"x\",\"value\":1}\n", Format::JsonLines),
    ] {
        let history = &parse_valid(text.as_bytes().to_vec(), format)[0];
        assert_same(history, &events(text.as_bytes(), None, &mut random)[0], text);
    }
    let mut other = stream(None);
    let error = other.next(&mut &b"0: x := 1\n"[..]).unwrap().unwrap_err();
    assert!(error.message.contains("text or JSON Lines"), "{error}");
    assert!(Stream::new(&ReadOptions { format: Some(Format::Edn), ..ReadOptions::default() }).is_err());
}

#[test]
fn after_an_error_the_next_history_is_read() {
    let text =
        b"[0] w x 1\n[0] dance\n[0] w x 2\n---\n# @object queue\n[0] call enqueue 1\n# @capacity 3\n---\n[0] r y 0\n";
    let mut stream = stream(None);
    let mut lines = &text[..];
    let mut found = Vec::new();
    while let Some(item) = stream.next(&mut lines) {
        found.push(match item {
            Ok(Item::Event(_)) => "event".to_owned(),
            Ok(Item::End) => "end".to_owned(),
            Err(error) => format!("{}: {error}", error.line),
        });
    }
    let expected = [
        "event",
        "2: a memory has no method `dance`",
        "end",
        "event",
        "7: in a stream, a directive comes before the first event of its history",
        "end",
        "event",
    ];
    assert_eq!(found, expected);
    assert_eq!(stream.line(), 10);
}

#[test]
fn a_header_with_an_error_ends_the_history_before_it() {
    let text = b"{\"process\":0,\"f\":\"w\",\"key\":\"x\",\"value\":1}\n{\"object\":\"kettle\"}\n{\"process\":0}\n\
        {\"object\":\"memory\",\"init\":{\"f\":7}}\n{\"process\":0,\"f\":\"r\",\"key\":\"f\",\"value\":7}\n";
    let mut stream = stream(None);
    let mut lines = &text[..];
    let mut next = || stream.next(&mut lines);
    assert!(matches!(next(), Some(Ok(Item::Event(_)))));
    assert!(matches!(next(), Some(Ok(Item::End))));
    assert!(matches!(next(), Some(Err(error)) if error.line == 2));
    assert!(matches!(next(), Some(Ok(Item::End))));
    let Some(Ok(Item::Event(event))) = next() else { panic!("the last line is an event") };
    assert!(next().is_none());
    assert_eq!(stream.initial_value(event.operation.key).as_integer(), Some(7));
}
