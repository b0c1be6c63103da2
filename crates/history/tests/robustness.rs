//! Arbitrary bytes and damaged files: every parser answers, without a panic and without a hang. The fuzz targets call
//! the same functions. `SERIATIM_FUZZ_CASES` sets the number of cases here.

mod common;

use common::{Profile, Random, print, random_history};
use history::format::{Format, fuzz};

type Target = (fn(&[u8]), Option<Format>);

const TARGETS: [Target; 6] = [
    (fuzz::text, Some(Format::Text)),
    (fuzz::json_lines, Some(Format::JsonLines)),
    (fuzz::edn, Some(Format::Edn)),
    (fuzz::axe, Some(Format::Axe)),
    (fuzz::detect, None),
    (fuzz::stream, None),
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
    const PIECES: [&[u8]; 17] = [
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

#[test]
fn damaged_files() {
    for case in 0..cases() {
        let mut random = Random(case);
        for (target, format) in TARGETS {
            let format = format.unwrap_or_else(|| random.pick(&Format::ALL));
            let profile = if format == Format::Axe { Profile::Axe } else { Profile::Anything };
            let histories: Vec<_> = (0..=random.below(3)).map(|_| random_history(random.next(), profile)).collect();
            let mut bytes = print(&histories, format);
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
