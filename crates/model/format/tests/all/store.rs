//! Jepsen's block files. The files are made here, by the grammar of the format.

use format::{ReadOptions, read_bytes};
use history::{History, Object};
use proptest::prelude::*;

/// A writer of Fressian. Integers take their longest form, or the packed one of a single byte.
#[derive(Default)]
struct Fressian {
    bytes: Vec<u8>,
    /// The records whose names were written.
    records: Vec<&'static str>,
    /// The keywords that were put into the cache.
    cached: Vec<&'static str>,
}

impl Fressian {
    fn code(&mut self, code: u8) -> &mut Self {
        self.bytes.push(code);
        self
    }

    fn integer(&mut self, number: i64) -> &mut Self {
        match number {
            -1 => self.code(0xff),
            0..=63 => self.code(number as u8),
            -4096..4096 => self.code((0x50 + (number >> 8)) as u8).code(number as u8),
            _ => {
                self.code(0xf8).bytes.extend(number.to_be_bytes());
                self
            }
        }
    }

    fn string(&mut self, text: &str) -> &mut Self {
        match text.len() {
            short @ ..8 => self.code(0xda + short as u8),
            long => self.code(0xe3).integer(long as i64),
        };
        self.bytes.extend(text.as_bytes());
        self
    }

    fn keyword(&mut self, name: &'static str) -> &mut Self {
        if let Some(place) = self.cached.iter().position(|cached| *cached == name) {
            return self.code(0x80 + place as u8);
        }
        self.cached.push(name);
        self.code(0xcd).code(0xca).code(0xf7).string(name)
    }

    fn record(&mut self, name: &'static str, fields: u8) -> &mut Self {
        if let Some(place) = self.records.iter().position(|record| *record == name) {
            return self.code(0xa0 + place as u8);
        }
        self.records.push(name);
        self.code(0xef).string(name).code(fields)
    }

    fn operation(&mut self, index: i64, kind: &'static str, process: i64, f: &'static str, value: i64) -> &mut Self {
        self.record("jepsen.history.Op", 7).integer(index).integer(1_000_000_007 * index);
        self.keyword(kind).integer(process).keyword(f);
        if value < 0 {
            self.code(0xf7)
        } else {
            self.integer(value)
        };
        self.code(0xf7)
    }
}

/// A write of 1, and then a read of this value.
fn operations(fressian: &mut Fressian, read: i64) {
    fressian.operation(0, "invoke", 0, "write", 1).operation(1, "ok", 0, "write", 1);
    fressian.operation(2, "invoke", 70, "read", -1).operation(3, "ok", 70, "read", read);
}

struct File {
    bytes: Vec<u8>,
    header: usize,
    blocks: Vec<(u32, u64)>,
}

impl File {
    fn new(version: u32, header: usize) -> Self {
        let mut bytes = b"JEPSEN".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend([0; 8]);
        Self { bytes, header, blocks: Vec::new() }
    }

    fn block(&mut self, id: u32, kind: u16, data: &[u8]) {
        let offset = self.bytes.len() as u64;
        let mut header = vec![0; self.header];
        header[..8].copy_from_slice(&((self.header + data.len()) as u64).to_be_bytes());
        header[12..14].copy_from_slice(&kind.to_be_bytes());
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(data);
        checksum.update(&header);
        header[8..12].copy_from_slice(&checksum.finalize().to_be_bytes());
        self.bytes.extend(header);
        self.bytes.extend(data);
        self.blocks.push((id, offset));
    }

    fn finish(mut self, root: u32) -> Vec<u8> {
        let mut data = root.to_be_bytes().to_vec();
        for (id, offset) in &self.blocks {
            data.extend(id.to_be_bytes());
            data.extend(offset.to_be_bytes());
        }
        let at = self.bytes.len() as u64;
        self.block(0, 1, &data);
        self.bytes[10..18].copy_from_slice(&at.to_be_bytes());
        self.bytes
    }
}

/// The map of a test whose history is in this block.
fn test(history: u8) -> Vec<u8> {
    let mut test = Fressian::default();
    test.code(0xc0).code(0xe8).keyword("name").string("a test \"of\" words").keyword("history");
    test.record("block-ref", 1).code(history);
    test.bytes
}

/// A file of version 1: two streams in a big vector.
fn with_streams(header: usize, read: i64) -> Vec<u8> {
    let mut file = File::new(1, header);
    let [mut first, mut second] = [Fressian::default(), Fressian::default()];
    first.operation(0, "invoke", 0, "write", 1).operation(1, "ok", 0, "write", 1);
    second.operation(2, "invoke", 70, "read", -1).operation(3, "ok", 70, "read", read);
    file.block(7, 4, &first.bytes);
    file.block(8, 4, &second.bytes);
    let mut vector = 4_u64.to_be_bytes().to_vec();
    for (index, id) in [(0_u64, 7_u32), (2, 8)] {
        vector.extend(index.to_be_bytes());
        vector.extend(id.to_be_bytes());
    }
    file.block(1, 5, &vector);
    file.block(2, 2, &test(1));
    file.finish(2)
}

/// A file of version 0: a list of operations, and a test in two parts.
fn with_list(read: i64) -> Vec<u8> {
    let mut file = File::new(0, 28);
    let mut list = Fressian::default();
    list.code(0xed);
    operations(&mut list, read);
    list.code(0xfd);
    file.block(1, 2, &list.bytes);
    let mut head = 3_u32.to_be_bytes().to_vec();
    head.extend([0xc0, 0xe4]);
    file.block(2, 3, &head);
    let mut rest = 0_u32.to_be_bytes().to_vec();
    rest.extend(test(1));
    file.block(3, 3, &rest);
    file.finish(2)
}

fn read(bytes: Vec<u8>) -> Result<History, String> {
    read_bytes(bytes, &ReadOptions::default()).next().expect("a history or an error").map_err(|error| error.to_string())
}

#[test]
fn all_versions_give_the_history_that_edn_gives() {
    let edn = "{:type :invoke, :process 0, :f :write, :value 1}\n{:type :ok, :process 0, :f :write, :value 1}\n\
               {:type :invoke, :process 70, :f :read, :value nil}\n{:type :ok, :process 70, :f :read, :value 1}\n";
    let wanted = read(edn.as_bytes().to_vec()).unwrap();
    for file in [with_streams(28, 1), with_streams(14, 1), with_list(1)] {
        let history = read(file).unwrap();
        assert_eq!(history.object(), Object::Register);
        assert_eq!(history.operations().len(), 2);
        assert_eq!(history.moments(), wanted.moments());
        let shown = |history: &History| {
            let one = |id| format::render_operation(history, history::OperationId(id));
            [one(0), one(1)]
        };
        assert_eq!(shown(&history), shown(&wanted));
    }
}

#[test]
fn damage_is_told_with_its_place() {
    let whole = with_streams(28, 1);
    let mut flipped = whole.clone();
    flipped[60] ^= 1;
    let wrong = read(flipped).unwrap_err();
    assert!(wrong.contains("byte 18 of the block file: the checksum of this block is wrong"), "{wrong}");
    let mut newer = whole.clone();
    newer[9] = 2;
    assert!(read(newer).unwrap_err().contains("version 2"));
    let mut unfinished = whole.clone();
    unfinished[10..18].fill(0);
    assert!(read(unfinished).unwrap_err().contains("no index"));
    for length in 6..whole.len() {
        read(whole[..length].to_vec()).unwrap_err();
    }
    let mut file = File::new(1, 28);
    file.block(2, 2, &test(1));
    assert!(read(file.finish(2)).unwrap_err().contains("does not have the block 1"));
}

#[test]
fn values_of_all_kinds_are_balanced() {
    // A list of maps, sets, entries, arrays, big integers, floats, bytes and strings in chunks.
    let mut values = Fressian::default();
    values.code(0xc0).code(0xec).integer(8);
    values.keyword("process").integer(0).keyword("type").keyword("invoke").keyword("f").keyword("write");
    values.keyword("value").code(0xee);
    values.code(0xc1).code(0xe5).integer(5);
    values.record("map-entry", 2).integer(1).integer(-4096);
    values.code(0xb3).integer(2).integer(1).integer(2);
    values.code(0xc6).code(0xd2).code(0xff).code(0x00);
    values.code(0xfa).bytes.extend(2.5_f64.to_be_bytes());
    values.code(0xe2).integer(2).bytes.extend(b"ab");
    values.string("c\"\n");
    values.code(0xfb).code(0xfc).code(0xf5).code(0xf6).code(0xf7);
    values.code(0xfd);
    let mut file = File::new(1, 28);
    file.block(1, 4, &values.bytes);
    file.block(2, 2, &test(1));
    let history = read(file.finish(2)).unwrap();
    let shown = format::render_operation(&history, history::OperationId(0));
    for part in ["#{5}", "[1 -4096]", "[1 2]", "-256", "2.5", "abc", "0.0 1.0 true false nil"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

#[test]
fn depth_is_limited() {
    let mut file = File::new(1, 28);
    file.block(1, 4, &vec![0xe5; 100_000]);
    file.block(2, 2, &test(1));
    assert!(read(file.finish(2)).unwrap_err().contains("too deep"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever a block holds, there is a history or an error.
    #[test]
    fn arbitrary_blocks(kind in 1_u16..6, data in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut file = File::new(1, 28);
        file.block(1, kind, &data);
        file.block(2, 2, &test(1));
        let _ = read(file.finish(2));
        let mut file = File::new(1, 14);
        file.block(2, kind, &data);
        let _ = read(file.finish(2));
    }

    #[test]
    fn arbitrary_bytes(tail in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = b"JEPSEN".to_vec();
        bytes.extend(tail);
        let _ = read(bytes);
    }
}
