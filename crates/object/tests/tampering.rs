//! Certificates that claim too much are refused.

use certificate::object::Core;
use certificate::{Certificate, Evidence, Model, Verdict, verify};
use history::{History, Object, OperationId};
use object::{ObjectHistory, Options, check};

fn certificate(history: &History) -> Certificate {
    let view = ObjectHistory::new(history).expect("an object history");
    let decision = check(&view, &Options { witness: true, ..Options::default() });
    Certificate::new(0, history, Model::Linearizable, &decision).expect("evidence")
}

const OBJECTS: [Object; 7] = [
    Object::Register,
    Object::Queue,
    Object::Stack,
    Object::PriorityQueue,
    Object::Set,
    Object::Semaphore,
    Object::KeyValue,
];

/// No core, of whatever operations, proves a violation of a history that is linearizable; and no violation has a witness.
#[test]
fn a_linearizable_history_has_no_core() {
    for object in OBJECTS {
        for seed in 0..300 {
            let history = workload::object::small(object, seed);
            let claimed = certificate(&history);
            let count = history.operations.len() as u32;
            let ids = || (0..count).map(OperationId);
            if claimed.verdict == Verdict::Violation {
                let order = ids().collect();
                let results = Vec::new();
                let evidence = Evidence::Linearizations(vec![certificate::object::Linearization { order, results }]);
                let forged = Certificate { verdict: Verdict::Consistent, evidence, ..claimed };
                assert!(verify(&forged, &history).is_err(), "{object:?} {seed}");
                continue;
            }
            let mut cores: Vec<Core> = Vec::new();
            for a in ids() {
                cores.extend([Core::NeverInserted(a), Core::Stuck(a), Core::Unpaired(a)]);
                for b in ids() {
                    let stay = |insert| certificate::object::Stay { insert, remove: None };
                    let zone = |called| certificate::object::Zone { write: None, returned: None, called };
                    let written =
                        |write| certificate::object::Zone { write: Some(write), returned: Some(write), called: b };
                    cores.push(Core::TooEarly { insert: a, remove: b });
                    cores.push(Core::Covered { removal: a, by: vec![stay(b)] });
                    cores.push(Core::Tangled(vec![stay(a), stay(b)]));
                    cores.push(Core::Overtaken { first: stay(a), second: stay(b) });
                    cores.push(Core::Zones([zone(a), written(b)]));
                    for c in ids() {
                        let stay = certificate::object::Stay { insert: a, remove: Some(b) };
                        let other = certificate::object::Stay { insert: c, remove: None };
                        cores.push(Core::RemovedTwice { insert: a, removes: [b, c] });
                        cores.push(Core::Covered { removal: c, by: vec![stay] });
                        cores.push(Core::Overtaken { first: other, second: stay });
                        cores.push(Core::Tangled(vec![stay, other]));
                    }
                }
            }
            for core in cores {
                let forged = Certificate {
                    verdict: Verdict::Violation,
                    evidence: Evidence::Core(core.clone()),
                    ..claimed.clone()
                };
                assert!(verify(&forged, &history).is_err(), "{object:?} {seed}: {core:?}");
            }
        }
    }
}

/// An order with two operations exchanged is refused unless it is a linearization; one that lacks an operation always.
#[test]
fn an_order_that_is_none_is_refused() {
    let mut refused = 0;
    for object in OBJECTS {
        for seed in 0..300 {
            let history = workload::object::small(object, seed);
            let claimed = certificate(&history);
            let Evidence::Linearizations(orders) = &claimed.evidence else { continue };
            for (at, linearization) in orders.iter().enumerate() {
                for place in 0..linearization.order.len() {
                    let mut shorter = orders.clone();
                    let dropped = shorter[at].order.remove(place);
                    let has_returned = history.operation(dropped).outcome == history::Outcome::Ok;
                    let forged = Certificate { evidence: Evidence::Linearizations(shorter), ..claimed.clone() };
                    assert!(!has_returned || verify(&forged, &history).is_err(), "{object:?} {seed}");

                    let mut turned = orders.clone();
                    let last = turned[at].order.len() - 1;
                    turned[at].order.swap(place, last);
                    let forged = Certificate { evidence: Evidence::Linearizations(turned), ..claimed.clone() };
                    refused += u32::from(verify(&forged, &history).is_err());
                }
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}
