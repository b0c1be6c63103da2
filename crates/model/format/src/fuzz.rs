//! The functions that the fuzz targets call, one for each parser. Each reads arbitrary bytes and writes the histories
//! back. It fails if a history that the parser read is not read again from the text that the writer made of it.

use std::io::{self, Cursor};

use super::stream::Stream;
use super::{Format, ReadOptions, Writer, cobra, read, read_cobra};
use history::history::History;

/// Text.
pub fn text(data: &[u8]) {
    round_trip(data, Some(Format::Text));
}

/// JSON Lines.
pub fn json_lines(data: &[u8]) {
    round_trip(data, Some(Format::JsonLines));
}

/// EDN, and Jepsen's logs.
pub fn edn(data: &[u8]) {
    round_trip(data, Some(Format::Edn));
}

/// Traces of axe.
pub fn axe(data: &[u8]) {
    round_trip(data, Some(Format::Axe));
}

/// Plume's transactions.
pub fn plume(data: &[u8]) {
    round_trip(data, Some(Format::Plume));
}

/// dbcop's transactions, in JSON and in text.
pub fn dbcop(data: &[u8]) {
    round_trip(data, Some(Format::Dbcop));
}

/// AWDIT's transactions, and dbcop's bincode: formats that are only read.
pub fn transactions(data: &[u8]) {
    for format in [Format::Awdit, Format::Bincode] {
        readable(&histories(data.to_vec(), Some(format)));
    }
}

/// Records of Porcupine and of tipocket: formats that are only read.
pub fn foreign(data: &[u8]) {
    for format in [Format::Porcupine, Format::Tipocket] {
        readable(&histories(data.to_vec(), Some(format)));
    }
}

/// Cobra's logs: the data is cut into two of them.
pub fn cobra(data: &[u8]) {
    let (first, second) = data.split_at(data.len() / 2);
    for format in [Format::Cobra, Format::CobraTimed] {
        let log = |(name, bytes): (&str, &[u8])| {
            let bytes = bytes.to_vec();
            let open = move || Ok(Box::new(Cursor::new(bytes)) as Box<dyn io::Read + Send>);
            cobra::Log { name: name.to_owned(), open: Box::new(open) }
        };
        let logs = [("a.log", first), ("b.log", second), ("c.log", data)].map(log).into();
        let found: Vec<History> = read_cobra(logs, format, &ReadOptions::default()).flatten().collect();
        readable(&found);
    }
}

/// Asserts that histories survive the text format.
fn readable(found: &[History]) {
    let once = write(found, Format::Text);
    let again = write(&histories(once.clone(), Some(Format::Text)), Format::Text);
    assert_eq!(String::from_utf8_lossy(&once), String::from_utf8_lossy(&again));
}

/// Whatever format and compression it is.
pub fn detect(data: &[u8]) {
    round_trip(data, None);
}

/// Events one by one: every line gets an answer, and the stream moves on.
pub fn stream(data: &[u8]) {
    let mut data = data.to_vec();
    data.push(b'\n');
    for format in [None, Some(Format::Text), Some(Format::JsonLines)] {
        let mut stream = Stream::new(&ReadOptions { format, ..ReadOptions::default() }).expect("a format of streams");
        let mut lines = &data[..];
        while stream.next(&mut lines).is_some() {}
        assert!(lines.is_empty());
        assert_eq!(stream.line() as usize, 1 + memchr::memchr_iter(b'\n', &data).count());
    }
}

fn histories(data: Vec<u8>, format: Option<Format>) -> Vec<History> {
    read(Box::new(Cursor::new(data)), &ReadOptions { format, ..ReadOptions::default() }).flatten().collect()
}

fn write(histories: &[History], format: Format) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), format);
    for history in histories {
        writer.write(history).expect("what a format has said, it can say");
    }
    writer.finish().expect("a vector takes all")
}

fn round_trip(data: &[u8], format: Option<Format>) {
    let found = histories(data.to_vec(), format);
    if let Some(format) = format {
        let once = write(&found, format);
        let again = write(&histories(once.clone(), Some(format)), format);
        let once = String::from_utf8_lossy(&once);
        let again = String::from_utf8_lossy(&again);
        // axe has few names for locations. Comments say what the others were, and the second time there are none.
        let is_old_name = |line: &str| line.contains(" was ") || line.ends_with(" had no name");
        let is_kept = |line: &&str| !(format == Format::Axe && line.starts_with("# v") && is_old_name(line));
        assert!(once.lines().filter(is_kept).eq(again.lines().filter(is_kept)), "{once}\n{again}");
    }
}
