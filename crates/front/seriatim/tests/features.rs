//! What the features turn on, and what is said without them.

use seriatim::format::{ReadOptions, read};
use seriatim::memory::Strategy;
use seriatim::{Model, Options, Verdict, check};

/// `[0] w x 1`, compressed with gzip.
const PACKED: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x8b\x36\x88\x55\x28\x57\xa8\x50\x30\xe4\x02\x00\xd2\
    \x38\x79\xea\x0a\x00\x00\x00";

/// Store buffering, which `sc` forbids.
const BUFFERING: &str = "[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n";

#[test]
fn compression_reads_compressed_files() {
    let first = read(Box::new(PACKED), &ReadOptions::default()).next().unwrap();
    if cfg!(feature = "compression") {
        assert_eq!(first.unwrap().operations().len(), 1);
    } else {
        assert!(first.unwrap_err().message.contains("feature `compression`"));
    }
}

#[test]
fn a_tactic_is_asked_for_by_its_name() {
    let history = format::parse(BUFFERING).unwrap();
    for name in ["auto", "search", "wsc+search"] {
        let strategy = Strategy::from_name(name).unwrap();
        let decision = check(&history, Model::Sc, &Options::default().strategy(strategy)).unwrap();
        assert_eq!(decision.verdict, Verdict::Violation, "{name}");
    }
}
