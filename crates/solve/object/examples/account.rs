//! A bank account as an object of your own: its specification, a recorded history, the verdict and the certificate.
//!
//! Several accounts are independent objects. The key of an operation says which account it is on.

use std::io::Cursor;

use format::{ReadOptions, read};
use model::{Certificate, Model, Verdict};
use object::{ObjectOptions, Recorded, Sequential, check_calls, recorded};
use verify::specification;

/// Accounts that cannot be overdrawn.
pub(crate) struct Accounts;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Request {
    Deposit(i64),
    Withdraw(i64),
    Balance,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reply {
    Done,
    Refused,
    Amount(i64),
}

impl Sequential for Accounts {
    type State = i64;
    type Operation = (String, Request);
    type Return = Reply;

    fn initial(&self) -> i64 {
        0
    }

    fn steps(&self, &balance: &i64, (_, request): &Self::Operation) -> impl IntoIterator<Item = (i64, Reply)> {
        Some(match *request {
            Request::Deposit(amount) => (balance + amount, Reply::Done),
            Request::Withdraw(amount) if amount <= balance => (balance - amount, Reply::Done),
            Request::Withdraw(_) => (balance, Reply::Refused),
            Request::Balance => (balance, Reply::Amount(balance)),
        })
    }

    fn part(&self, (account, _): &Self::Operation) -> impl Eq + std::hash::Hash {
        account.clone()
    }
}

/// Reads an operation of a recorded history, and its result.
pub(crate) fn read_operation(call: &Recorded) -> Option<((String, Request), Option<Reply>)> {
    let request = match (call.method, call.arguments) {
        ("deposit", [amount]) => Request::Deposit(amount.parse().ok()?),
        ("withdraw", [amount]) => Request::Withdraw(amount.parse().ok()?),
        ("balance", []) => Request::Balance,
        _ => return None,
    };
    let reply = match call.result {
        None => None,
        Some("ok") => Some(Reply::Done),
        Some("refused") => Some(Reply::Refused),
        Some(amount) => Some(Reply::Amount(amount.parse().ok()?)),
    };
    Some(((call.key.unwrap_or_default().to_owned(), request), reply))
}

const HISTORY: &str = "\
# @object account
[0] call deposit 5 key=ann
[1] call balance key=ann
[0] return ok
[0] call withdraw 5 key=ann
[1] return 5
[1] call withdraw 5 key=ann
[0] return ok
[1] return ok
";

pub(crate) fn main() {
    let mut reader = read(Box::new(Cursor::new(HISTORY)), &ReadOptions::default());
    let history = reader.next().expect("one history").expect("a good one");
    let calls = recorded(&history, read_operation).expect("all of them are operations of an account");
    let decision = check_calls(&Accounts, &calls, &ObjectOptions::default());
    assert_eq!(decision.verdict, Verdict::Violation);
    let certificate = Certificate::new(0, &history, Model::Linearizable, &decision).expect("a violation has evidence");
    println!("{}", certificate.to_json(&history));
    specification::verify_recorded(&Accounts, read_operation, &certificate, &history).expect("it proves the violation");
}
