//! Objects: every execution of every small client, with the calls that it made.
//!
//! A *client* is some threads, each with the calls that it makes, on one object. Clients are tried in the order of
//! their size, so the first that shows something is a smallest one. Threads without roles are alike, so a client and
//! the same client with its threads in another order are one.
//!
//! A call *precedes* another if it happens before it: its last event happens before whatever the other does. This is
//! what real time is to recorded calls: clients cannot tell more.

use std::cell::RefCell;
use std::fmt;
use std::ops::RangeInclusive;
use std::rc::Rc;

use super::runtime;
use super::sync::Arc;
use super::{Builder, Finding, Verdict, thread};
use crate::exploration::{Counts, ExplorationEnding};
use crate::graph::{Graph, HAPPENS};

/// An object that clients call.
pub trait Object: 'static {
    /// What a client asks for.
    type Operation: Clone + Ord + fmt::Debug + 'static;
    /// What it gets.
    type Return: Clone + Eq + fmt::Debug + 'static;

    /// A new object.
    fn new() -> Self;

    /// The operations that clients use.
    fn operations() -> Vec<Self::Operation>;

    /// The operations of each role, if not every thread may use all of them: of a queue for a single producer and a
    /// single consumer those of the producer, and those of the consumer. No two threads have the same role then. At
    /// first there is one role for all.
    fn roles() -> Vec<Vec<Self::Operation>> {
        vec![Self::operations()]
    }

    /// A call.
    fn call(&self, operation: &Self::Operation) -> Self::Return;
}

/// The clients to try: how many threads they have, and how many calls each thread makes.
#[derive(Clone, Debug)]
pub struct Clients {
    threads: RangeInclusive<usize>,
    calls: RangeInclusive<usize>,
}

/// All clients with so many threads, of which each makes so many calls.
pub fn clients(threads: RangeInclusive<usize>, calls: RangeInclusive<usize>) -> Clients {
    Clients { threads, calls }
}

impl Clients {
    /// The clients in the order of their size.
    fn of<T: Clone + Ord>(self, roles: &[Vec<T>]) -> Vec<Vec<Vec<T>>> {
        let sequences: Vec<Vec<Vec<T>>> = roles.iter().map(|role| self.sequences(role)).collect();
        let mut all = Vec::new();
        for threads in self.threads {
            let mut client = Vec::new();
            match &sequences[..] {
                [one] => alike(one, threads, one.len(), &mut client, &mut all),
                roles => with_roles(roles, threads, &mut client, &mut all),
            }
        }
        all.retain(|client: &Vec<Vec<T>>| !client.is_empty());
        all.sort_by_key(|client| (client.iter().map(Vec::len).sum::<usize>(), client.len()));
        all
    }

    /// What a thread may call.
    fn sequences<T: Clone>(&self, operations: &[T]) -> Vec<Vec<T>> {
        let mut sequences: Vec<Vec<T>> = Vec::new();
        let mut longest = vec![Vec::new()];
        for length in 1..=*self.calls.end() {
            let longer = |sequence: &Vec<T>| {
                let sequence = sequence.clone();
                operations.iter().map(move |operation| [&sequence[..], std::slice::from_ref(operation)].concat())
            };
            longest = longest.iter().flat_map(longer).collect();
            if self.calls.contains(&length) {
                sequences.extend(longest.iter().cloned());
            }
        }
        sequences
    }
}

/// Adds every client with so many more threads, all of which may call the same, in one order: the numbers of their
/// sequences do not increase.
fn alike<T: Clone>(
    sequences: &[Vec<T>],
    threads: usize,
    below: usize,
    client: &mut Vec<Vec<T>>,
    all: &mut Vec<Vec<Vec<T>>>,
) {
    if threads == 0 {
        return all.push(client.clone());
    }
    for at in 0..below {
        client.push(sequences[at].clone());
        alike(sequences, threads - 1, at + 1, client, all);
        client.pop();
    }
}

/// Adds every client with so many more threads, each with another of these roles.
fn with_roles<T: Clone>(roles: &[Vec<Vec<T>>], threads: usize, client: &mut Vec<Vec<T>>, all: &mut Vec<Vec<Vec<T>>>) {
    if threads == 0 {
        return all.push(client.clone());
    }
    for (at, role) in roles.iter().enumerate() {
        for sequence in role {
            client.push(sequence.clone());
            with_roles(&roles[at + 1..], threads - 1, client, all);
            client.pop();
        }
    }
}

/// A call that was made.
#[derive(Clone, Debug)]
pub struct Called<O: Object> {
    /// The thread of the client, from 0.
    pub thread: usize,
    /// What it asked for.
    pub operation: O::Operation,
    /// What it got.
    pub result: O::Return,
    /// How many events the thread had before the call, and after it.
    events: [u32; 2],
    /// The number of the thread in the run.
    number: u32,
}

/// The calls of one execution.
#[derive(Debug)]
pub struct Calls<O: Object> {
    /// All calls, those of each thread in their order.
    pub calls: Vec<Called<O>>,
    /// Whether a call precedes another.
    before: Vec<Vec<bool>>,
}

impl<O: Object> Calls<O> {
    fn new(mut calls: Vec<Called<O>>, graph: &Graph) -> Self {
        // The calls of one thread were recorded in their order.
        calls.sort_by_key(|call| call.thread);
        let precedes = |one: usize, other: usize| {
            let (early, late) = (&calls[one], &calls[other]);
            if early.thread == late.thread {
                return one < other;
            }
            let Some(last) = late.events[0].checked_sub(1) else { return false };
            let last = graph.threads[late.number as usize][last as usize];
            graph.clock(last as usize, HAPPENS)[early.number as usize] >= early.events[1]
        };
        let all = 0..calls.len();
        let before = all.clone().map(|one| all.clone().map(|other| precedes(one, other)).collect()).collect();
        Self { calls, before }
    }

    /// Whether a call precedes another; calls are given by their places in [`Calls::calls`].
    pub fn precedes(&self, one: usize, other: usize) -> bool {
        one != other && self.before[one][other]
    }
}

/// What the clients of an object have shown.
#[derive(Debug)]
pub struct ObjectVerdict<O: Object> {
    /// How many clients were explored, and their executions.
    pub clients: usize,
    /// How many executions there are of each kind, of all clients together.
    pub counts: Counts,
    /// Whether every execution of every client was visited.
    pub is_complete: bool,
    /// The smallest client that breaks the object: the calls of each thread.
    pub broken: Option<Broken<O>>,
}

/// A client that breaks an object.
#[derive(Debug)]
pub struct Broken<O: Object> {
    /// The calls of each thread.
    pub client: Vec<Vec<O::Operation>>,
    /// The calls of the execution that was refused, with their results; none if there is another finding.
    pub calls: Option<Calls<O>>,
    /// What was found, and where.
    pub verdict: Verdict,
}

impl<O: Object> fmt::Display for ObjectVerdict<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(broken) = &self.broken else {
            let all = if self.is_complete { "all " } else { "" };
            return write!(f, "{} clients, no finding in {all}{} executions", self.clients, self.counts.executions);
        };
        writeln!(f, "the smallest client that breaks it, of {} tried:", self.clients)?;
        for (thread, calls) in broken.client.iter().enumerate() {
            writeln!(f, "  thread {thread}: {calls:?}")?;
        }
        if let Some(calls) = &broken.calls {
            for call in &calls.calls {
                writeln!(f, "  thread {}: {:?} returns {:?}", call.thread, call.operation, call.result)?;
            }
        }
        write!(f, "{}", broken.verdict)
    }
}

/// Explores the clients of an object, and asks of the calls of every complete execution whether they are allowed. Stops
/// at the first client that breaks the object.
///
/// `seriatim::programs::linearizable` asks whether they are linearizable.
///
/// ```
/// use explore::sync::atomic::{AtomicU32, Ordering};
/// use explore::{Builder, Object, clients};
///
/// /// A counter that forgets.
/// struct Counter(AtomicU32);
///
/// impl Object for Counter {
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
///         let old = self.0.load(Ordering::Relaxed);
///         self.0.store(old + 1, Ordering::Relaxed);
///         old
///     }
/// }
///
/// let verdict = explore::object::<Counter>(&Builder::new(), clients(2..=3, 1..=2), |calls| {
///     // No two calls return the same.
///     let mut results: Vec<u32> = calls.calls.iter().map(|call| call.result).collect();
///     results.sort_unstable();
///     results.windows(2).all(|pair| pair[0] != pair[1])
/// });
/// assert_eq!(verdict.broken.unwrap().client, [[()], [()]]);
/// ```
pub fn object<O: Object>(
    builder: &Builder,
    clients: Clients,
    mut is_allowed: impl FnMut(&Calls<O>) -> bool,
) -> ObjectVerdict<O> {
    let mut all = ObjectVerdict { clients: 0, counts: Counts::default(), is_complete: true, broken: None };
    for client in clients.of(&O::roles()) {
        all.clients += 1;
        let (shared, record) = (Rc::new(client.clone()), Rc::new(RefCell::new(Vec::new())));
        let of_run = Rc::clone(&record);
        let code: Rc<dyn Fn()> = Rc::new(move || run::<O>(&shared, &of_run));
        let mut refused = None;
        let verdict = builder.explore(&code, &mut |graph, ending| {
            let calls = std::mem::take(&mut *record.borrow_mut());
            if ending == ExplorationEnding::Complete {
                let calls = Calls::new(calls, graph);
                if !is_allowed(&calls) {
                    refused = Some(calls);
                    return Some(Finding::Refused);
                }
            }
            None
        });
        all.counts += verdict.counts;
        all.is_complete &= verdict.is_complete;
        if verdict.finding.is_some() {
            all.broken = Some(Broken { client, calls: refused, verdict });
            break;
        }
        if builder.is_late(0) {
            all.is_complete = false;
            break;
        }
    }
    all
}

/// Runs a client.
fn run<O: Object>(client: &Rc<Vec<Vec<O::Operation>>>, record: &Rc<RefCell<Vec<Called<O>>>>) {
    record.borrow_mut().clear();
    let object = Arc::new(O::new());
    let threads: Vec<_> = (0..client.len())
        .map(|thread| {
            let (object, client, record) = (Arc::clone(&object), Rc::clone(client), Rc::clone(record));
            thread::spawn(move || {
                for operation in &client[thread] {
                    let run = runtime::expect();
                    let before = run.had();
                    let result = object.call(operation);
                    let number = thread::current().number();
                    let events = [before, run.had()];
                    let operation = operation.clone();
                    record.borrow_mut().push(Called { thread, operation, result, events, number });
                }
            })
        })
        .collect();
    for thread in threads {
        drop(thread.join());
    }
}
