//! SATURATE against the definition, on thousands of small histories near the boundary, and on longer runs.

mod common;

use baseline::refinement::{Finding, Options, SATURATE, Step, check, invocation, scan};
use common::{has_theory, objects, text};
use history::{History, Object};
use model::{Certificate, Decided, Model, Verdict};
use monitor::saturate::{NOT_UNIQUE, Propagation, Removal};
use object::{Endpoint, ObjectHistory};
use verify::verify;
use workload::object::{Fault, ObjectConfig};

const CASES: u64 = 2000;

fn decide(history: &History, remove_matches: bool) -> Decided {
    let view = ObjectHistory::new(history).expect("an object history");
    check(&view, SATURATE, &Options { remove_matches, ..Options::default() })
}

/// Whether SATURATE can tell the matches of every object.
fn tells_matches(history: &History) -> bool {
    let view = ObjectHistory::new(history).expect("an object history");
    let reason = Finding::Unknown(NOT_UNIQUE);
    view.parts().all(|part| scan(&part, SATURATE, Options::default()).finding != reason)
}

#[test]
fn saturate_is_sound() {
    println!("violations found, of those that there are:");
    for object in objects().filter(|&object| has_theory(object)) {
        let (mut violations, mut unique, mut found) = (0, 0, [0; 2]);
        for seed in 0..CASES {
            let history = workload::object::small(object, seed);
            let is_violation = !oracle::object::linearizable(&history);
            violations += u64::from(is_violation);
            unique += u64::from(is_violation && tells_matches(&history));
            for (at, remove_matches) in [false, true].into_iter().enumerate() {
                let decision = decide(&history, remove_matches);
                let context = || format!("seed {seed}, {decision:?}\n{}", text(&history));
                match decision.verdict {
                    Verdict::Violation => {
                        assert!(is_violation, "{}", context());
                        let certificate = Certificate::new(0, &history, Model::Linearizable, &decision);
                        let refusal = verify(&certificate.expect("evidence"), &history);
                        assert!(refusal.is_ok(), "{refusal:?}: {}", context());
                        found[at] += u64::from(tells_matches(&history));
                    }
                    Verdict::Consistent => assert!(!is_violation, "{}", context()),
                    Verdict::Unknown => {}
                }
            }
        }
        // Unit propagation misses only violations that depend on operations that never return, or on removed matches.
        let most = found[0] * 100 >= unique * 98 && found[1] * 100 >= unique * 97;
        assert!(most, "{object:?}: {found:?} of {unique} violations are found");
        println!(
            "{}: {violations}; with unique values {unique}: SATURATE {}, with removal {}",
            object.name(),
            found[0],
            found[1],
        );
    }
}

/// Longer runs, in which more operations overlap. The fast algorithms give the right verdicts.
#[test]
fn saturate_is_sound_on_longer_runs() {
    let faults = [None, Some(Fault::OutOfOrder(4)), Some(Fault::Lost), Some(Fault::Duplicated), Some(Fault::LateEmpty)];
    for object in objects().filter(|&object| has_theory(object)) {
        let (mut violations, mut found) = (0, [0; 2]);
        for seed in 0..400 {
            let config = ObjectConfig {
                threads: 2 + seed as u32 % 6,
                operations: 60,
                progress: [10, 30, 66][seed as usize % 3],
                values: if object == Object::Set { 3 } else { 0 },
                pending: [0, 0, 20][seed as usize / 3 % 3],
                fault: faults[seed as usize % 5],
                faults: 2,
                seed,
                ..ObjectConfig::new(object)
            };
            let history = workload::object::history(&config);
            let view = ObjectHistory::new(&history).expect("an object history");
            let exact = object::check(&view, &object::ObjectOptions::default());
            violations += u64::from(exact.verdict == Verdict::Violation);
            for (at, remove_matches) in [false, true].into_iter().enumerate() {
                let decision = decide(&history, remove_matches);
                if decision.verdict == Verdict::Violation {
                    assert_eq!(exact.verdict, Verdict::Violation, "seed {seed}\n{}", text(&history));
                    found[at] += 1;
                }
            }
        }
        println!("{}: {violations} violations; SATURATE {}, with removal {}", object.name(), found[0], found[1]);
        let most = found[0] * 10 >= violations * 9 && found[1] * 10 >= violations * 9;
        assert!(most, "{object:?}: {found:?} of {violations} violations are found");
    }
}

/// What a monitor with removal remembers does not grow with the run.
#[test]
fn removal_forgets() {
    for object in objects().filter(|&object| has_theory(object)) {
        let mut sizes = [0; 2];
        for (at, operations) in [2_000, 20_000].into_iter().enumerate() {
            let values = u32::from(object == Object::Set);
            let config = ObjectConfig { operations, inserts: 45, values, seed: 7, ..ObjectConfig::new(object) };
            let history = workload::object::history(&config);
            let view = ObjectHistory::new(&history).expect("an object history");
            let part = view.parts().next().expect("one object");
            let mut monitor =
                Propagation::new(part.object, part.capacity, part.initial, Removal::WhenSettled).expect("a theory");
            for event in part.events() {
                match event {
                    Endpoint::Nothing => {}
                    Endpoint::Call(at) => monitor.call(at, invocation(&part.calls[at as usize])),
                    Endpoint::Return(number) => {
                        let step = monitor.return_(number, part.calls[number as usize].result);
                        assert_eq!(step, Step::Possible);
                        sizes[at] = sizes[at].max(monitor.size());
                    }
                }
            }
        }
        println!("{}: at most {} operations remembered of 2000, {} of 20000", object.name(), sizes[0], sizes[1]);
        assert!(sizes[1] <= 4 * sizes[0] + 64, "{object:?}: {sizes:?}");
    }
}
