//! Arbitrary bytes and damaged files: every parser answers, without a panic and without a hang. The fuzz targets call
//! the same functions. `SERIATIM_FUZZ_CASES` sets the number of cases here.

use crate::common;
use std::io::Cursor;

use common::{Profile, Random, print, random_history, random_transactions};
use format::{Format, ReadOptions, Writer, fuzz, read_sized};

type Target = (fn(&[u8]), Option<Format>);

const TARGETS: [Target; 11] = [
    (fuzz::text, Some(Format::Text)),
    (fuzz::json_lines, Some(Format::JsonLines)),
    (fuzz::edn, Some(Format::Edn)),
    (fuzz::axe, Some(Format::Axe)),
    (fuzz::detect, None),
    (fuzz::stream, None),
    (fuzz::plume, Some(Format::Plume)),
    (fuzz::dbcop, Some(Format::Dbcop)),
    (fuzz::transactions, None),
    (fuzz::cobra, None),
    (fuzz::foreign, None),
];

fn cases() -> u64 {
    std::env::var("SERIATIM_FUZZ_CASES").map_or(2000, |cases| cases.parse().expect("a number"))
}

#[test]
fn arbitrary_bytes() {
    const ALPHABET: &[u8] = b"[]{}()#:;,\"\\=@<> \t\n\r01-.abcfnrtuwx_";
    for case in 0..cases() {
        let mut random = Random(case);
        let length = random.below(120);
        let is_raw = random.chance(4);
        let bytes: Vec<u8> =
            (0..length).map(|_| if is_raw { random.next() as u8 } else { random.pick(ALPHABET) }).collect();
        for (target, _) in TARGETS {
            target(&bytes);
        }
    }
}

fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    const PIECES: [&[u8]; 25] = [
        b"\n",
        b"---\n",
        b"\"",
        b"[",
        b"]",
        b"{",
        b"}",
        b"nil",
        b"null",
        b"[0] return\n",
        b" from=a",
        b" id=a",
        b"99999999999999999999",
        b"\xff\xfe",
        b"#_",
        b"check\n",
        b"\\u",
        b"[a] begin\n",
        b"[a] commit\n",
        b"[0] r x [1,2]\n",
        b"[:append 1 2]",
        b"[\"w\",1,2]",
        b"{:f :txn, :process 1, :type :ok, :value [[:r 1 [2 3]]]}\n",
        b"[x:=1 y==?]!\n",
        b"w(0,0,1,-1)\n",
    ];
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(5) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => drop(bytes.splice(at..at, random.pick(&PIECES).iter().copied())),
            3 => {
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
}

/// A log of Cobra, a history in bincode, or one of AWDIT.
fn binary(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    match random.below(3) {
        0 => {
            for transaction in 0..random.below(4) as i64 {
                let mut record = |kind: u8, numbers: &[i64]| {
                    bytes.push(kind);
                    bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
                };
                record(b'S', &[transaction]);
                record(b'W', &[random.next() as i64, 1, 0]);
                record(b'R', &[0xbebe_ebee, random.pick(&[0xbebe_ebee, 0x2333_2333, 5]), 2, 0]);
                record(b'C', &[transaction]);
            }
        }
        1 => {
            let mut put = |number: u64| bytes.extend(number.to_le_bytes());
            [0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1].into_iter().for_each(&mut put);
            bytes.push(random.below(2) as u8);
            bytes.extend([0; 8]);
            bytes.extend(random.next().to_le_bytes());
            bytes.extend([random.below(2) as u8, 1]);
        }
        _ => bytes.extend(b"w 1 2\nr 1 2\n---\nr 2 007\n===\nr 1 2\n"),
    }
    bytes
}

#[test]
fn damaged_files() {
    for case in 0..cases() {
        let mut random = Random(case);
        for (target, format) in TARGETS {
            let format = format.unwrap_or_else(|| random.pick(&Format::WRITTEN));
            let histories: Vec<_> = match format {
                Format::Axe => (0..=random.below(3)).map(|_| random_history(random.next(), Profile::Axe)).collect(),
                Format::Plume | Format::Dbcop => vec![random_transactions(random.next(), false)],
                _ if random.chance(3) => {
                    let lists = random.chance(2);
                    (0..=random.below(3)).map(|_| random_transactions(random.next(), lists)).collect()
                }
                _ => (0..=random.below(3)).map(|_| random_history(random.next(), Profile::Anything)).collect(),
            };
            let mut writer = Writer::new(Vec::new(), format);
            let mut bytes = match histories.iter().try_for_each(|history| writer.write(history)) {
                Ok(()) => writer.finish().unwrap(),
                Err(_) => binary(&mut random),
            };
            if random.chance(4) {
                bytes = binary(&mut random);
            }
            mutate(&mut random, &mut bytes);
            target(&bytes);
        }
    }
}

#[cfg(feature = "compression")]
#[test]
fn damaged_compressed_files() {
    for case in 0..cases() / 10 {
        let mut random = Random(case);
        let text = print(&[random_history(random.next(), Profile::Anything)], Format::Text);
        let mut packed = if random.chance(2) {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut encoder, &text).unwrap();
            encoder.finish().unwrap()
        } else {
            zstd::encode_all(&text[..], 1).unwrap()
        };
        mutate(&mut random, &mut packed);
        fuzz::detect(&packed);
    }
}

/// Damaged records of other tools.
#[test]
fn damaged_records() {
    let records = [
        r#"{"ClientId":1,"Input":{"Type":"txn","Txn":{"Conditions":[{"Key":"a","ExpectedRevision":0}],
"OperationsOnSuccess":[{"Type":"put-operation","Put":{"Key":"a","Value":{"Value":"1"}}}]}},"Call":1,
"Output":{"Txn":{"Results":[{}]},"Revision":2},"Return":2}
{"ClientId":2,"Input":{"Type":"range","Range":{"Start":"a","End":"b","Limit":2}},"Call":3,"Output":{"Range":{"KVs":
[{"Key":"a","Value":{"Hash":7},"ModRevision":2}],"Count":1},"Revision":2},"Return":4}"#,
        r#"[{"ClientId":1,"Input":{"Op":1,"Key":"x","Value":"5"},"Call":1,"Output":{},"Return":2},
{"ClientId":1,"Input":{"Op":"get","Key":"x"},"Call":2,"Output":{"Value":"5"},"Return":2}]"#,
        r#"{"action":"invoke","proc":1,"data":{"type":"invoke","value":[{"type":"append","m":{"key":"1","value":5}}]}}
{"action":"return","proc":1,"data":{"Result":{"type":"ok","value":[{"type":"append","m":{"key":"1","value":5}}]}}}"#,
        r#"{"action":"invoke","proc":1,"data":{"Op":1,"Key":7,"Val":5}}
{"action":"return","proc":1,"data":{"Val":0,"Unknown":false}}"#,
    ];
    for case in 0..cases() / 4 {
        let mut random = Random(case);
        let mut bytes = random.pick(&records).as_bytes().to_vec();
        mutate(&mut random, &mut bytes);
        fuzz::foreign(&bytes);
        fuzz::detect(&bytes);
    }
}

/// A file may grow between the moment when its size is asked for and the moment when it is read.
#[test]
fn an_input_that_is_longer_than_it_said_is_read_to_its_end() {
    let text = "[0] w x 1\n[1] r x 1\n".repeat(20_000);
    for size in [0, 1, 5, 6, 7, 9, 10, 20, 1_000, text.len() - 1, text.len(), text.len() + 1] {
        for format in [None, Some(Format::Text)] {
            let options = ReadOptions { format, ..ReadOptions::default() };
            let input = Box::new(Cursor::new(text.clone()));
            let history = read_sized(input, Some(size as u64), options).next().expect("a history");
            assert_eq!(history.expect("a good one").operations().len(), 40_000, "size {size}");
        }
    }
}
