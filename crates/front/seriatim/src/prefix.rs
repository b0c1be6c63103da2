//! The longest beginning of a history that has a linearization, and the operation at whose return all orders died.
//!
//! A beginning of a history is some of its first events; a call that has not returned by then is pending. Every
//! beginning of a linearizable history is linearizable. So there is one return after which no beginning of a violating
//! history is linearizable any more, and it is found by halving. An operation that was called after that return is in
//! no order. One that was open at that return may have taken effect before it, or not: a beginning in which it returns
//! tells.

use history::{BuildError, History, HistoryEvent, OperationId, Replay};
use model::{Evidence, Model, Verdict};

use crate::{Decision, Options, check};

/// The longest beginning that has a linearization.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prefix {
    /// The operation whose return is the next event, after which no order is left.
    pub died: OperationId,
    /// The evidence that the beginning is linearizable. Its operations have the numbers of the whole history.
    pub witness: Evidence,
    /// For each other operation that is open there and returns later: its evidence if the beginning is linearizable
    /// with its return, too; none if no order is left then, either.
    pub open: Vec<(OperationId, Option<Evidence>)>,
}

/// Of how many open operations it is asked whether they can return.
const OPEN: usize = 32;

/// Finds the longest beginning of a history that is linearizable. There is none to find if the whole history is
/// linearizable or has no calls, and none is found if a check gives up. The time limit of the options holds for each
/// check.
///
/// ```
/// use seriatim::{History, Options, OperationId, longest_prefix};
///
/// let text = "[a] call enqueue 1\n[a] return\n[a] call enqueue 2\n[a] return\n[b] call dequeue\n[b] return 2\n";
/// let prefix = longest_prefix(&seriatim::parse(text)?, &Options::default()).expect("a violation");
/// assert_eq!(prefix.died, OperationId(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn longest_prefix(history: &History, options: &Options) -> Option<Prefix> {
    let events: Vec<HistoryEvent> = history.events().collect();
    let options = options.clone().witness(true);
    let play = |length: usize, end: Option<OperationId>| -> Result<History, BuildError> {
        let mut replay = Replay::new(history);
        for &event in events[..length].iter().chain(end.map(HistoryEvent::End).iter()) {
            replay.play(event)?;
        }
        replay.finish()
    };
    let decide = |length: usize, end: Option<OperationId>| -> Option<Decision> {
        check(&play(length, end).ok()?, Model::Linearizable, &options).ok()
    };
    let whole = decide(events.len(), None)?;
    if whole.verdict != Verdict::Violation {
        return None;
    }
    // The beginning of length `low` is linearizable, and the one of length `high` is not. The last event of what the
    // evidence names is a good guess.
    let named = whole.evidence.map(|evidence| evidence.operations()).unwrap_or_default();
    let last = events.iter().rposition(|event| named.binary_search(&event.operation()).is_ok());
    let mut guesses = last.into_iter().flat_map(|last| [last + 1, last]);
    let (mut low, mut high) = (0, events.len());
    while low + 1 < high {
        let guess = guesses.next().filter(|&guess| low < guess && guess < high);
        let middle = guess.unwrap_or(low.midpoint(high));
        match decide(middle, None)?.verdict {
            Verdict::Consistent => low = middle,
            Verdict::Violation => high = middle,
            Verdict::Unknown => return None,
        }
    }
    let HistoryEvent::End(died) = events[low] else { return None };
    let witness = decide(low, None)?.evidence?;
    let returned: Vec<bool> = {
        let mut returned = vec![false; history.operations().len()];
        for event in &events[..low] {
            returned[event.operation().index()] = matches!(event, HistoryEvent::End(_) | HistoryEvent::Instant(_));
        }
        returned
    };
    let calls = events[..low].iter().map(|event| event.operation()).filter(|id| !returned[id.index()] && *id != died);
    let later = calls.filter(|&id| events[low..].contains(&HistoryEvent::End(id))).take(OPEN);
    let open = later.filter_map(|id| {
        let decision = decide(low, Some(id))?;
        match decision.verdict {
            Verdict::Consistent => Some((id, Some(decision.evidence?))),
            Verdict::Violation => Some((id, None)),
            Verdict::Unknown => None,
        }
    });
    let open = open.collect();
    Some(Prefix { died, witness, open })
}
