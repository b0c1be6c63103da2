//! Certificates that claim too much are refused.

use crate::common;
use common::objects;
use history::{History, OperationId};
use model::object::{Core, Stay};
use model::{Certificate, Evidence, Model, Verdict};
use object::{ObjectHistory, ObjectOptions, check};
use verify::verify;

fn certificate(history: &History) -> Certificate {
    let view = ObjectHistory::new(history).expect("an object history");
    let decision = check(&view, &ObjectOptions { witness: true, ..ObjectOptions::default() });
    Certificate::new(0, history, Model::Linearizable, &decision).expect("evidence")
}

/// No core proves a violation of a linearizable history, whatever its operations are. And no witness proves that a
/// violation is linearizable.
#[test]
fn a_linearizable_history_has_no_core() {
    for object in objects() {
        for seed in 0..100 {
            let history = workload::object::small_with_peeks(object, seed);
            let claimed = certificate(&history);
            let count = history.operations().len() as u32;
            let ids = || (0..count).map(OperationId);
            if claimed.verdict == Verdict::Violation {
                let order = ids().collect();
                let results = Vec::new();
                let evidence = Evidence::Linearizations(vec![model::object::Linearization { order, results }]);
                let forged = Certificate { verdict: Verdict::Consistent, evidence, ..claimed };
                assert!(verify(&forged, &history).is_err(), "{object:?} {seed}");
                continue;
            }
            let mut cores: Vec<Core> = Vec::new();
            for a in ids() {
                cores.extend([Core::NeverInserted(a), Core::Stuck(a), Core::Unpaired(a)]);
                for b in ids() {
                    let stay = |insert| Stay::new(insert, None);
                    let seen = |insert, peek| Stay { insert, remove: None, peeks: Box::new([peek]) };
                    let zone = |called| model::object::Zone { write: None, returned: None, called };
                    let written = |write| model::object::Zone { write: Some(write), returned: Some(write), called: b };
                    cores.push(Core::TooEarly { insert: a, remove: b });
                    cores.push(Core::Covered { removal: a, by: vec![stay(b)] });
                    cores.push(Core::Tangled(vec![stay(a), stay(b)]));
                    cores.push(Core::Overtaken { first: stay(a), second: stay(b) });
                    cores.push(Core::Zones([zone(a), written(b)]));
                    for c in ids() {
                        let gone = Stay::new(a, Some(b));
                        cores.push(Core::RemovedTwice { insert: a, removes: [b, c] });
                        cores.push(Core::TooLate { insert: a, remove: b, peek: c });
                        for one in [gone, seen(a, b)] {
                            cores.push(Core::Covered { removal: c, by: vec![one.clone()] });
                            cores.push(Core::Overtaken { first: stay(c), second: one.clone() });
                            cores.push(Core::Circle(vec![stay(c), one.clone()]));
                            cores.push(Core::Tangled(vec![one, stay(c)]));
                        }
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

/// An order with two operations exchanged is refused, unless it is a linearization. An order that lacks an operation is
/// always refused.
#[test]
fn an_order_that_is_none_is_refused() {
    let mut refused = 0;
    for object in objects() {
        for seed in 0..300 {
            let history = workload::object::small_with_peeks(object, seed);
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
