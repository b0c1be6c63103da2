//! Every algorithm against the definition, on thousands of small histories near the boundary; every certificate
//! verified.

use crate::common;
use common::{has_fast, objects, text};
use history::History;
use model::{Certificate, Decided, Model, Verdict};
use object::{Algorithm, ObjectHistory, ObjectOptions, check};
use verify::verify;

fn decide(history: &History, algorithm: Algorithm) -> Decided {
    let view = ObjectHistory::new(history).expect("an object history");
    check(&view, &ObjectOptions { witness: true, algorithm, ..ObjectOptions::default() })
}

#[test]
fn all_algorithms_agree_with_the_definition() {
    let cases = workload::small::cases(6000);
    for object in objects() {
        let (mut violations, mut fast) = (0, 0);
        for seed in 0..cases {
            let history = workload::object::small_with_peeks(object, seed);
            let expected =
                if oracle::object::linearizable(&history) { Verdict::Consistent } else { Verdict::Violation };
            violations += u64::from(expected == Verdict::Violation);
            for algorithm in [Algorithm::Auto, Algorithm::Fast, Algorithm::Search] {
                let decision = decide(&history, algorithm);
                if algorithm == Algorithm::Fast && decision.verdict == Verdict::Unknown {
                    continue;
                }
                fast += u64::from(algorithm == Algorithm::Fast);
                let context = || format!("seed {seed}, {algorithm:?}, {decision:?}\n{}", text(&history));
                assert_eq!(decision.verdict, expected, "{}", context());
                let certificate = Certificate::new(0, &history, Model::Linearizable, &decision).expect("evidence");
                let json = certificate.to_json(&history);
                let read = Certificate::from_json(&json, &history).expect("its own JSON");
                assert_eq!(read, certificate, "{}", context());
                if let Err(refusal) = verify(&read, &history) {
                    panic!("{refusal}: {}", context());
                }
            }
        }
        assert!(violations > cases / 10 && violations < cases * 9 / 10, "{object:?}: {violations} violations");
        // An object without a fast algorithm is decided by the search alone.
        assert!(!has_fast(object) || fast > cases / 3, "{object:?}: {fast} by the fast algorithm");
    }
}
