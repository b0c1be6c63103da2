//! Objects of the user's own. The examples run. On random small runs of their objects, the search agrees with the
//! definition, every certificate verifies, and forged ones are refused.

use crate::common;
#[allow(dead_code)]
#[path = "../../examples/account.rs"]
mod account;
#[allow(dead_code)]
#[path = "../../examples/bounded_queue.rs"]
mod bounded_queue;
#[allow(dead_code)]
#[path = "../../examples/counter.rs"]
mod counter;
#[allow(dead_code)]
#[path = "../../examples/lease.rs"]
mod lease;

use std::fmt::Debug;

use common::run;
use format::{Format, ReadOptions, Writer, read};
use history::OperationId;
use model::object::{Core, Linearization};
use model::{Certificate, Evidence, Model, Verdict};
use object::{Calls, ObjectOptions, Sequential, Timed, check_calls, recorded};
use verify::{specification, verify};
use workload::random::SplitMix64;

#[test]
fn the_examples_run() {
    account::main();
    bounded_queue::main();
    counter::main();
    lease::main();
}

/// Whether the calls that are left can be put into an order, by trying every one.
fn can_finish<S: Sequential>(
    specification: &S,
    calls: &Calls<S>,
    left: &[usize],
    states: &[(usize, S::State)],
) -> bool {
    if left.iter().all(|&at| calls[at].ret().is_none()) {
        return true;
    }
    left.iter().any(|&at| {
        let call = &calls[at];
        let is_first = left.iter().all(|&other| calls[other].ret().is_none_or(|ret| ret >= call.call));
        // All parts together are one object here, so that the split into parts is tested, too. A part is named by its
        // first call.
        let of = (0..calls.len())
            .find(|&other| specification.part(&calls[other].operation) == specification.part(&call.operation))
            .expect("itself");
        let known = states.iter().find(|(part, _)| *part == of);
        let state = known.map_or_else(|| specification.initial(), |(_, state)| state.clone());
        is_first
            && specification.steps(&state, &call.operation).into_iter().any(|(after, returned)| {
                let rest: Vec<usize> = left.iter().copied().filter(|&other| other != at).collect();
                let mut states: Vec<_> = states.iter().filter(|(part, _)| *part != of).cloned().collect();
                states.push((of, after));
                call.result().is_none_or(|result| *result == returned)
                    && can_finish(specification, calls, &rest, &states)
            })
    })
}

fn agrees<S: Sequential>(specification: &S, operation: impl Fn(&mut SplitMix64) -> S::Operation)
where
    S::Operation: Debug,
    S::Return: Clone + Debug,
{
    const CASES: u64 = 4000;
    let options = ObjectOptions { witness: true, ..ObjectOptions::default() };
    let (mut violations, mut refused) = (0, 0);
    for seed in 0..CASES {
        let mut random = SplitMix64::new(seed);
        let calls = run(specification, &mut random, &operation);
        let all: Vec<usize> = (0..calls.len()).filter(|&at| calls[at].may_have_happened()).collect();
        let expected =
            if can_finish(specification, &calls, &all, &[]) { Verdict::Consistent } else { Verdict::Violation };
        let decision = check_calls(specification, &calls, &options);
        assert_eq!(decision.verdict, expected, "{seed}: {calls:?}");
        let evidence = decision.evidence.expect("evidence");
        let verified = specification::verify(specification, &calls, expected, &evidence);
        assert_eq!(verified, Ok(()), "{seed}: {calls:?} {evidence:?}");
        violations += u64::from(expected == Verdict::Violation);

        // No evidence proves a wrong verdict: no call can be blamed, and no order is accepted.
        let ids = || (0..calls.len() as u32).map(OperationId);
        for blamed in ids().filter(|_| expected == Verdict::Consistent) {
            let forged = Evidence::Core(Core::Stuck(blamed));
            assert!(specification::verify(specification, &calls, Verdict::Violation, &forged).is_err(), "{seed}");
        }
        let mut order: Vec<OperationId> = ids().collect();
        for at in (1..order.len()).rev() {
            order.swap(at, random.below(at as u64 + 1) as usize);
        }
        let forged = Evidence::Linearizations(vec![Linearization { order, results: Vec::new() }]);
        let accepted = specification::verify(specification, &calls, Verdict::Consistent, &forged).is_ok();
        assert!(!accepted || expected == Verdict::Consistent, "{seed}");
        refused += u64::from(!accepted);
        assert!(specification::verify(specification, &calls, Verdict::Consistent, &Evidence::DecideAgain).is_err());
    }
    assert!(violations > CASES / 20 && violations < CASES * 9 / 10 && refused > CASES / 10, "{violations}, {refused}");
}

#[test]
fn accounts() {
    use account::Request;
    agrees(&account::Accounts, |random| {
        let amount = random.between(1, 3).into();
        let request = random.pick(&[0, 1, 2]);
        let request = [Request::Deposit(amount), Request::Withdraw(amount), Request::Balance][request].clone();
        (random.pick(&["ann", "bob"]).to_owned(), request)
    });
}

#[test]
fn counters() {
    agrees(&counter::Counter, |random| random.pick(&[None, Some(1), Some(2)]));
}

#[test]
fn bounded_queues() {
    use bounded_queue::{Action, BoundedQueue};
    for capacity in [1, 2] {
        agrees(&BoundedQueue(capacity), |random| {
            let value = random.between(1, 4);
            let action = random.pick(&[0, 1, 2, 2]);
            [Action::Put(value), Action::Offer(value), Action::Poll][action].clone()
        });
    }
}

#[test]
fn leases() {
    use lease::Request;
    agrees(&lease::Lease, |random| {
        let token = random.between(1, 3);
        let request = random.pick(&[0, 0, 1, 2]);
        [Request::Acquire, Request::Write(token), Request::Release(token)][request].clone()
    });
}

/// The first call at whose return no order is left is the one that is blamed.
#[test]
fn the_first_is_blamed() {
    let calls = [
        Timed::returned(None, [0, 1], 0),
        Timed::returned(None, [2, 3], 7),
        Timed::returned(Some(7), [4, 5], 7),
        Timed::returned(None, [6, 7], 8),
    ];
    let decision = check_calls(&counter::Counter, &calls, &ObjectOptions::default());
    assert_eq!(decision.evidence, Some(Evidence::Core(Core::Stuck(OperationId(1)))));
}

/// Operations at equal moments overlap. If a call returns before it is called, nothing can be decided.
#[test]
fn moments() {
    let calls = [Timed::returned(Some(1), [5, 5], 1), Timed::returned(None, [5, 5], 0)];
    assert_eq!(check_calls(&counter::Counter, &calls, &ObjectOptions::default()).verdict, Verdict::Consistent);
    let calls = [Timed::returned(Some(1), [5, 4], 1)];
    assert_eq!(check_calls(&counter::Counter, &calls, &ObjectOptions::default()).verdict, Verdict::Unknown);
}

/// A recorded history in every format: the same calls, the same certificate, which belongs to that history only.
#[test]
fn recorded_histories() {
    let text = "# @object account\n[0] call deposit 5\n[1] call withdraw 3\n[1] return ok\n[0] return ok\n\
                [0] call balance\n[0] return 2\n[1] call withdraw 9\n[1] fail\n[1] call deposit 1\n";
    let parse = |bytes: Vec<u8>, format| {
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let mut reader = read(Box::new(std::io::Cursor::new(bytes)), &options);
        reader.next().expect("a history").expect("a good one")
    };
    let history = parse(text.into(), Format::Text);
    let options = ObjectOptions { witness: true, ..ObjectOptions::default() };
    let calls = recorded(&history, account::read_operation).expect("operations");
    let decision = check_calls(&account::Accounts, &calls, &options);
    assert_eq!(decision.verdict, Verdict::Consistent);
    let certificate = Certificate::new(0, &history, Model::Linearizable, &decision).expect("a certificate");
    let json = certificate.to_json(&history);
    for format in [Format::Text, Format::JsonLines, Format::Edn] {
        let mut writer = Writer::new(Vec::new(), format);
        writer.write(&history).expect("writing to memory");
        let again = parse(writer.finish().expect("writing to memory"), format);
        let certificate = Certificate::from_json(&json, &again).expect("a certificate");
        let verified =
            specification::verify_recorded(&account::Accounts, account::read_operation, &certificate, &again);
        assert_eq!(verified, Ok(()));
        // The verifier of the built-in objects has no specification of this object.
        assert!(verify(&certificate, &again).is_err());
    }
    let other = parse(text.replace("withdraw 3", "withdraw 4").into(), Format::Text);
    let verified = specification::verify_recorded(&account::Accounts, account::read_operation, &certificate, &other);
    assert!(verified.is_err());
    let strange = parse(text.replace("deposit 1", "borrow 1").into(), Format::Text);
    let error = recorded(&strange, account::read_operation).expect_err("an account has no such method");
    assert!(error.to_string().contains("borrow 1"), "{error}");
}
