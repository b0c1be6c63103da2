//! Rust code under a memory model: the crate [`explore`](mod@explore), and what needs a checker beside it.
//!
//! [`linearizable`] explores the small clients of an object, and asks of every execution whether its calls are
//! linearizable.

use std::collections::HashSet;

pub use explore::*;
use object::Sequential;

/// Explores the clients of an object, up to the smallest one that has an execution whose calls are not linearizable, or
/// that shows another finding.
///
/// A call comes before another in the linearization if it happens before it. (Calls that clients cannot order may take
/// effect in any order.)
///
/// ```
/// use seriatim::object::Sequential;
/// use seriatim::programs::sync::atomic::{AtomicU32, Ordering};
/// use seriatim::programs::{Builder, Object, clients, linearizable};
///
/// /// A counter that reads, and then writes.
/// struct Careless(AtomicU32);
///
/// impl Object for Careless {
///     type Operation = ();
///     type Return = u32;
///
///     fn new() -> Self {
///         Self(AtomicU32::new(0))
///     }
///
///     fn operations() -> Vec<()> {
///         vec![()]
///     }
///
///     fn call(&self, (): &()) -> u32 {
///         let old = self.0.load(Ordering::SeqCst);
///         self.0.store(old + 1, Ordering::SeqCst);
///         old
///     }
/// }
///
/// struct Counter;
///
/// impl Sequential for Counter {
///     type State = u32;
///     type Operation = ();
///     type Return = u32;
///
///     fn initial(&self) -> u32 {
///         0
///     }
///
///     fn steps(&self, &count: &u32, (): &()) -> impl IntoIterator<Item = (u32, u32)> {
///         Some((count + 1, count))
///     }
/// }
///
/// let verdict = linearizable::<Careless, _>(&Counter, &Builder::new(), clients(2..=3, 1..=3));
/// assert_eq!(verdict.broken.unwrap().client, [[()], [()]]);
/// ```
pub fn linearizable<O: Object, S>(specification: &S, builder: &Builder, clients: Clients) -> ObjectVerdict<O>
where
    S: Sequential<Operation = O::Operation, Return = O::Return>,
{
    object(builder, clients, |calls| is_linearizable(specification, calls))
}

/// Whether the calls have an order that the specification allows, in which each comes after those that precede it.
fn is_linearizable<O: Object, S>(specification: &S, calls: &Calls<O>) -> bool
where
    S: Sequential<Operation = O::Operation, Return = O::Return>,
{
    let count = calls.calls.len();
    let precedents: Vec<u64> = (0..count)
        .map(|call| (0..count).filter(|&other| calls.precedes(other, call)).fold(0, |set, other| set | 1 << other))
        .collect();
    // The calls that have taken effect, and the state after them.
    let mut seen = HashSet::new();
    let mut waiting = vec![(0_u64, specification.initial())];
    while let Some((done, state)) = waiting.pop() {
        if done.count_ones() as usize == count {
            return true;
        }
        for (at, call) in calls.calls.iter().enumerate() {
            if done >> at & 1 == 1 || precedents[at] & !done != 0 {
                continue;
            }
            for (next, result) in specification.steps(&state, &call.operation) {
                if result == call.result && seen.insert((done | 1 << at, next.clone())) {
                    waiting.push((done | 1 << at, next));
                }
            }
        }
    }
    false
}
