//! Plays a witness step by step: what each step does to the memory, to the store buffers, or to the object.
//!
//! A witness says that a history is allowed, and a person wants to see it happen. [`replay`] gives the steps of each
//! order of the witness, and what each step changes. What is where at a step is [what was there at the start](start),
//! with all changes up to that step applied. So a player of a million steps needs no more room than the changes.
//!
//! The witness must be one that was verified, or that a checker made. Anything else gives steps without a meaning.

use std::collections::{BTreeMap, VecDeque};

use history::{History, KeyId, Method, Object, Operation, OperationId, ProcessId, Value};

use crate::object_steps;
use model::Level;
use model::{Evidence, Model, transaction};

pub use crate::object::play::possible_contents;

/// A piece of what is somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A value of the history.
    Value(Value),
    /// A number that was computed: a priority, a sum, how often a lock is held.
    Number(i128),
    /// A text, or a part of one.
    Text(String),
    /// A write in a store buffer: the location and the value.
    Write(KeyId, Value),
}

impl Piece {
    /// The piece as text.
    pub fn show(&self, history: &History) -> String {
        match self {
            Self::Value(value) => history.show(*value),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Write(key, value) => format!("{}={}", history.key_name(*key), history.show(*value)),
        }
    }
}

/// What an object may hold while an operation is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Possible {
    /// What it holds.
    pub contents: Vec<Piece>,
    /// Whether the operation can return what it returned, if it takes effect now.
    pub allows: bool,
}

/// A place that holds something.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cell {
    /// A location of the memory.
    Location(KeyId),
    /// The store buffer of a process: under `pso`, the one for this location.
    Buffer(ProcessId, Option<KeyId>),
    /// The object of this key.
    Object(KeyId),
}

/// What a step does to a place, which holds pieces in an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateChange {
    /// This piece takes the place of all.
    Set(Piece),
    /// This piece is added at the end.
    Append(Piece),
    /// The first piece is removed.
    RemoveFirst,
    /// The last piece is removed.
    RemoveLast,
    /// This piece is added. The order does not matter.
    Insert(Piece),
    /// One such piece is removed.
    Delete(Piece),
}

/// What happens in a step.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReplayAction {
    /// The operation takes effect.
    Perform,
    /// The write enters the store buffer.
    Buffer,
    /// The write leaves the store buffer and reaches the memory. There is a step [`ReplayAction::Buffer`] before it.
    Reach,
}

/// A step of a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayStep {
    /// The operation. It may be a read of a [final value](History::observed).
    pub operation: OperationId,
    /// What happens.
    pub action: ReplayAction,
    /// What changes, and where. A write that reaches the memory changes its buffer and its location.
    pub changes: Vec<(Cell, StateChange)>,
}

/// What an order is about.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum About {
    /// All that happened.
    All,
    /// The writes, in an order on which all processes agree.
    Writes,
    /// What this process sees.
    View(ProcessId),
    /// The writes of this location.
    Location(KeyId),
}

/// One order of a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedOrder {
    /// What it is about.
    pub about: About,
    /// Its steps.
    pub steps: Vec<ReplayStep>,
}

/// What a place holds before the first step.
pub fn start(history: &History, cell: Cell) -> Vec<Piece> {
    match cell {
        Cell::Location(key) => vec![Piece::Value(history.initial_value(key))],
        Cell::Buffer(..) => Vec::new(),
        Cell::Object(key) => match history.object() {
            Object::Memory | Object::Register => vec![Piece::Value(history.initial_value(key))],
            Object::KeyValue => match history.initial_value(key) {
                Value::NULL | Value::BLANK => Vec::new(),
                value => vec![Piece::Value(value)],
            },
            Object::Mutex | Object::Semaphore | Object::Counter | Object::MaxRegister => vec![Piece::Number(0)],
            _ => Vec::new(),
        },
    }
}

/// Applies a change to what a place holds.
pub fn apply(pieces: &mut VecDeque<Piece>, change: &StateChange) {
    match change {
        StateChange::Set(piece) => {
            pieces.clear();
            pieces.push_back(piece.clone());
        }
        StateChange::Append(piece) | StateChange::Insert(piece) => pieces.push_back(piece.clone()),
        StateChange::RemoveFirst => {
            pieces.pop_front();
        }
        StateChange::RemoveLast => {
            pieces.pop_back();
        }
        StateChange::Delete(piece) => {
            if let Some(at) = pieces.iter().position(|other| other == piece) {
                pieces.remove(at);
            }
        }
    }
}

/// The orders of a witness, step by step. There are none if the evidence is no witness, or if its witness is that the
/// verifier decides again.
///
/// ```
/// use verify::replay::{Cell, StateChange, Piece, replay};
/// use model::{Evidence, Model};
/// use history::{History, KeyId, OperationId, Value};
///
/// let history = format::parse("[0] w x 1\n[1] r x 1\n")?;
/// let witness = Evidence::Interleaving(vec![OperationId(0), OperationId(1)]);
/// let runs = replay(&history, Model::Sc, &witness);
/// let written = StateChange::Set(Piece::Value(Value::small(1)));
/// assert_eq!(runs[0].steps[0].changes, [(Cell::Location(KeyId(0)), written)]);
/// assert!(runs[0].steps[1].changes.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn replay(history: &History, model: Model, evidence: &Evidence) -> Vec<ReplayedOrder> {
    // The reads of final values are operations of the observed history.
    let history = &*history.observed();
    let one = |about, order: &[OperationId]| ReplayedOrder { about, steps: performed(history, order) };
    match evidence {
        Evidence::Interleaving(order) => vec![one(About::All, order)],
        Evidence::MemoryOrder(order) => {
            vec![ReplayedOrder { about: About::All, steps: buffered(history, model, order) }]
        }
        Evidence::WriteOrder(order) => vec![one(About::Writes, order)],
        Evidence::ViewOrders(orders) => {
            let processes = (0..orders.len() as u32).map(ProcessId);
            processes.zip(orders).map(|(process, order)| one(About::View(process), order)).collect()
        }
        Evidence::ModificationOrders(orders) => {
            let about = |order: &[OperationId]| {
                let first = order.first().and_then(|&id| history.operations().get(id.index()));
                first.map(|operation| About::Location(operation.key))
            };
            orders.iter().filter_map(|order| Some(one(about(order)?, order))).collect()
        }
        Evidence::Linearizations(orders) => {
            vec![ReplayedOrder { about: About::All, steps: object_steps(history, orders) }]
        }
        Evidence::Pairs(pairs) => vec![ReplayedOrder { about: About::All, steps: exchanged(history, pairs) }],
        Evidence::Sources(_, witness) => replay(history, model, witness),
        Evidence::Transactions(evidence) => committed(history, model, evidence).into_iter().collect(),
        Evidence::DecideAgain
        | Evidence::ThinAir(_)
        | Evidence::Cycle(_)
        | Evidence::Constraints(_)
        | Evidence::Refutation(_)
        | Evidence::Core(_)
        | Evidence::Cases(_) => Vec::new(),
    }
}

/// The location and the value that an operation writes, if it writes.
fn written(history: &History, id: OperationId) -> Option<(KeyId, Value)> {
    let operation = history.operations().get(id.index())?;
    let writes = match operation.method {
        Method::Write | Method::Rmw => true,
        Method::Cas => operation.result != Value::FALSE,
        _ => false,
    };
    writes.then_some((operation.key, operation.argument))
}

fn reaches(key: KeyId, value: Value) -> (Cell, StateChange) {
    (Cell::Location(key), StateChange::Set(Piece::Value(value)))
}

/// Operations that take effect on the memory, one after the other.
fn performed(history: &History, order: &[OperationId]) -> Vec<ReplayStep> {
    let step = |&operation: &OperationId| {
        let changes = written(history, operation).map(|(key, value)| reaches(key, value)).into_iter().collect();
        ReplayStep { operation, action: ReplayAction::Perform, changes }
    };
    order.iter().map(step).collect()
}

/// Transactions in the order in which they commit. Under `serializable` each does all that it does at once; under
/// weaker levels the order says only how its writes follow those of others. In an order of events, a transaction reads
/// first, and later its writes become visible.
fn committed(history: &History, model: Model, evidence: &transaction::TransactionEvidence) -> Option<ReplayedOrder> {
    let is_whole = model.isolation().is_some_and(|isolation| isolation.level == Level::Serializable);
    let (order, about, has_events) = match evidence {
        transaction::TransactionEvidence::CommitOrder(order) if is_whole => (order, About::All, false),
        transaction::TransactionEvidence::CommitOrder(order) => (order, About::Writes, false),
        transaction::TransactionEvidence::EventOrder(order) => (order, About::All, true),
        _ => return None,
    };
    let mut has_read = vec![false; history.transaction_count()];
    let mut steps = Vec::new();
    for &id in order {
        let has_read = has_read.get_mut(id.index())?;
        let reads = if has_events { !std::mem::replace(has_read, true) } else { is_whole };
        let writes = !has_events || !reads;
        for operation in history.operation_range(id).map(OperationId) {
            let change = match history.operation(operation) {
                Operation { method: Method::Append, key, argument, .. } => {
                    Some((Cell::Object(*key), StateChange::Append(Piece::Value(*argument))))
                }
                _ => written(history, operation).map(|(key, value)| reaches(key, value)),
            };
            if if change.is_some() { writes } else { reads } {
                steps.push(ReplayStep {
                    operation,
                    action: ReplayAction::Perform,
                    changes: change.into_iter().collect(),
                });
            }
        }
    }
    Some(ReplayedOrder { about, steps })
}

/// Plays the machine with store buffers. A process executes a write as late as it can: before the write reaches the
/// memory, and before the next operation of the process.
fn buffered(history: &History, model: Model, order: &[OperationId]) -> Vec<ReplayStep> {
    let is_partial = matches!(model, Model::Pso | Model::Wpso);
    let process = |id: OperationId| history.operations().get(id.index()).map(|operation| operation.process);
    // What each process has still to execute, in program order.
    let mut left: BTreeMap<ProcessId, VecDeque<OperationId>> = BTreeMap::new();
    let mut sorted: Vec<OperationId> = order.to_vec();
    sorted.sort_unstable();
    for id in sorted {
        left.entry(process(id).unwrap_or(ProcessId(0))).or_default().push_back(id);
    }
    let mut steps = Vec::with_capacity(2 * order.len());
    for &id in order {
        let of = process(id).unwrap_or(ProcessId(0));
        let buffer = |key| Cell::Buffer(of, is_partial.then_some(key));
        let is_write = history.operations().get(id.index()).is_some_and(|it| it.method == Method::Write);
        let left = left.entry(of).or_default();
        while let Some(&next) = left.front()
            && (next < id || (next == id && is_write))
        {
            left.pop_front();
            if let Some((key, value)) = written(history, next) {
                let changes = vec![(buffer(key), StateChange::Append(Piece::Write(key, value)))];
                steps.push(ReplayStep { operation: next, action: ReplayAction::Buffer, changes });
            }
        }
        match written(history, id) {
            Some((key, value)) if is_write => {
                let changes = vec![(buffer(key), StateChange::RemoveFirst), reaches(key, value)];
                steps.push(ReplayStep { operation: id, action: ReplayAction::Reach, changes });
            }
            written => {
                left.pop_front();
                let changes = written.map(|(key, value)| reaches(key, value)).into_iter().collect();
                steps.push(ReplayStep { operation: id, action: ReplayAction::Perform, changes });
            }
        }
    }
    steps
}

/// Pairs that exchange their values, each as soon as both were called.
fn exchanged(history: &History, pairs: &[[OperationId; 2]]) -> Vec<ReplayStep> {
    let called = |id: OperationId| history.moments().get(id.index()).map_or(0, |moments| moments[0]);
    let mut sorted: Vec<[OperationId; 2]> = pairs.to_vec();
    sorted.sort_by_key(|&[one, other]| called(one).max(called(other)));
    let step = |operation| ReplayStep { operation, action: ReplayAction::Perform, changes: Vec::new() };
    sorted.into_iter().flatten().map(step).collect()
}
