//! What the features turn on, and what is said without them.

use seriatim::certificate::Tactic;
use seriatim::history::format::{ReadOptions, read};
use seriatim::memory::Strategy;
use seriatim::object::Algorithm;
use seriatim::{History, Model, Options, Verdict, check};

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
fn sat_offers_what_needs_a_solver() {
    let history = History::parse(BUFFERING).unwrap();
    let by = |strategy| check(&history, Model::Sc, &Options::default().strategy(strategy)).unwrap();
    assert_eq!(by(Strategy::Auto).verdict, Verdict::Violation);
    assert_eq!(by(Strategy::from_name("wsc+search").unwrap()).verdict, Verdict::Violation);

    let is_on = cfg!(feature = "sat");
    assert_eq!(Strategy::from_name("wsc+sat").is_some(), is_on);
    assert!(Algorithm::from_name("saturate").is_some());

    let decision = by(Strategy::Only(Tactic::WscSat));
    if is_on {
        assert_eq!((decision.verdict, decision.strategy), (Verdict::Violation, "wsc+sat"));
    } else {
        assert_eq!(decision.verdict, Verdict::Unknown);
        assert!(decision.reason.unwrap().contains("feature `sat`"));
    }
}
