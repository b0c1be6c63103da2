//! A lease that may run out, with calls in memory. The object may choose: a client that asks while the lease is held
//! may be refused, or may get the lease because it ran out. Each holder has a token of its own.

use model::Verdict;
use object::{ObjectOptions, Sequential, Timed, check_calls};
use verify::specification;

pub(crate) struct Lease;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Request {
    /// Asks for the lease.
    Acquire,
    /// Writes with a token, which is accepted if it is the last that was given out.
    Write(u32),
    /// Gives the lease back.
    Release(u32),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reply {
    Granted(u32),
    Refused,
    Accepted,
}

/// The last token, and whether it is held.
type State = (u32, bool);

impl Sequential for Lease {
    type State = State;
    type Operation = Request;
    type Return = Reply;

    fn initial(&self) -> State {
        (0, false)
    }

    fn steps(&self, &(token, is_held): &State, request: &Request) -> impl IntoIterator<Item = (State, Reply)> {
        let granted = ((token + 1, true), Reply::Granted(token + 1));
        let same = |reply| vec![((token, is_held), reply)];
        match *request {
            Request::Acquire if is_held => vec![granted, ((token, true), Reply::Refused)],
            Request::Acquire => vec![granted],
            Request::Write(with) if with == token => same(Reply::Accepted),
            Request::Release(with) if with == token && is_held => vec![((token, false), Reply::Accepted)],
            Request::Write(_) | Request::Release(_) => same(Reply::Refused),
        }
    }
}

pub(crate) fn main() {
    let calls = [
        Timed::returned(Request::Acquire, [0, 1], Reply::Granted(1)),
        Timed::returned(Request::Release(1), [2, 3], Reply::Accepted),
        Timed::returned(Request::Acquire, [4, 5], Reply::Granted(2)),
        // The lease ran out, and another client gets it.
        Timed::returned(Request::Acquire, [6, 7], Reply::Granted(3)),
        // Yet the earlier holder can still write.
        Timed::returned(Request::Write(2), [8, 9], Reply::Accepted),
    ];
    let decision = check_calls(&Lease, &calls, &ObjectOptions::default());
    assert_eq!(decision.verdict, Verdict::Violation);
    let evidence = decision.evidence.expect("a violation has evidence");
    specification::verify(&Lease, &calls, decision.verdict, &evidence).expect("it proves the violation");
    println!("a write of one who holds nothing: {evidence:?}");
}
