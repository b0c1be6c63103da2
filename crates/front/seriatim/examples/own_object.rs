//! An object of your own: a lease that one client holds at a time. You write only its specification. The search
//! decides, and the same specification verifies the certificate. `crates/solve/object/examples` has more examples.

use std::error::Error;

use seriatim::object::{ObjectOptions, Recorded, Sequential, check_calls, recorded};
use seriatim::verifier::specification::verify_recorded;
use seriatim::{Certificate, Model, Verdict};

struct Lease;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Request {
    Acquire(String),
    Release(String),
}

impl Sequential for Lease {
    /// The client that holds the lease.
    type State = Option<String>;
    type Operation = Request;
    /// Whether the lease was granted, or given back.
    type Return = bool;

    fn initial(&self) -> Self::State {
        None
    }

    fn steps(&self, holder: &Self::State, request: &Request) -> impl IntoIterator<Item = (Self::State, bool)> {
        Some(match request {
            Request::Acquire(client) if holder.is_none() => (Some(client.clone()), true),
            Request::Release(client) if holder.as_ref() == Some(client) => (None, true),
            _ => (holder.clone(), false),
        })
    }
}

/// Reads an operation of a recorded history, and its result.
fn read(call: &Recorded) -> Option<(Request, Option<bool>)> {
    let request = match (call.method, call.arguments) {
        ("acquire", [client]) => Request::Acquire(client.to_string()),
        ("release", [client]) => Request::Release(client.to_string()),
        _ => return None,
    };
    Some((request, call.result.map(|result| result == "granted")))
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    // Ann has not given the lease back when Bob gets it.
    let history = seriatim::parse(
        "# @object lease\n\
         [0] call acquire ann\n\
         [0] return granted\n\
         [1] call acquire bob\n\
         [1] return granted\n\
         [0] call release ann\n\
         [0] return granted\n",
    )?;
    let calls = recorded(&history, read)?;
    let decision = check_calls(&Lease, &calls, &ObjectOptions::default());
    assert_eq!(decision.verdict, Verdict::Violation);
    let certificate = Certificate::new(0, &history, Model::Linearizable, &decision).ok_or("a violation is proved")?;
    println!("{}", certificate.to_json(&history));
    verify_recorded(&Lease, read, &certificate, &history)?;
    Ok(())
}
