//! Linearizability by its definition: every order of the operations that agrees with real time, run on the object.
//!
//! The search is exponential, and remembers no states: it is for histories of a dozen operations. All keys together are
//! one object here. So locality, on which the checkers rely, is tested, too. The objects are defined here, and the
//! plain ones in `workload`: independently of the checkers and of the verifier, which have definitions of their own.

use std::collections::BTreeMap;

use history::{History, KeyId, Method, Object, Operation, OperationId, Outcome, Value};
use workload::object::{PlainAnswer, plain_start, plain_step};

/// Whether a history with calls and returns is linearizable.
///
/// ```
/// use history::History;
/// use oracle::object::linearizable;
///
/// let empty = format::parse("[0] call enqueue 1\n[0] return\n[1] call dequeue\n[1] return empty\n")?;
/// assert!(!linearizable(&empty));
/// // If the calls overlap, the removal may come first.
/// let overlap = format::parse("[0] call enqueue 1\n[1] call dequeue\n[0] return\n[1] return empty\n")?;
/// assert!(linearizable(&overlap));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn linearizable(history: &History) -> bool {
    let happened = |operation: &Operation| operation.outcome != Outcome::Fail && operation.method != Method::Fence;
    let left: Vec<OperationId> =
        (0..history.operations().len() as u32).map(OperationId).filter(|&id| happened(history.operation(id))).collect();
    if history.object() == Object::Exchanger {
        return can_pair(history, &left);
    }
    can_finish(history, &left, &Objects::default())
}

fn is_pending(history: &History, id: OperationId) -> bool {
    matches!(history.operation(id).outcome, Outcome::Info | Outcome::Pending)
}

/// The return of `a` is before the call of `b`.
fn precedes(history: &History, a: OperationId, b: OperationId) -> bool {
    !is_pending(history, a) && history.moments()[a.index()][1] < history.moments()[b.index()][0]
}

/// What an object holds.
#[derive(Clone, Default)]
struct Held {
    /// The contents of a container, front or bottom first; the value of a register or string, as one item; or the
    /// elements of a set.
    cells: Vec<Value>,
    /// What a plain object holds, after its first operation.
    number: Option<i128>,
}

type Objects = BTreeMap<KeyId, Held>;

fn can_finish(history: &History, left: &[OperationId], objects: &Objects) -> bool {
    if left.iter().all(|&id| is_pending(history, id)) {
        return true;
    }
    left.iter().any(|&id| {
        let is_minimal = !left.iter().any(|&other| other != id && precedes(history, other, id));
        is_minimal
            && run(history, id, objects).is_some_and(|after| {
                let rest: Vec<OperationId> = left.iter().copied().filter(|&other| other != id).collect();
                can_finish(history, &rest, &after)
            })
    })
}

fn priority(history: &History, value: Value) -> i128 {
    history.show(value).parse().expect("a priority is an integer")
}

/// Where the largest value is.
fn largest(history: &History, cells: &[Value]) -> Option<usize> {
    (0..cells.len()).max_by_key(|&at| priority(history, cells[at]))
}

/// The objects after an operation. `None` if the operation cannot have returned its result.
fn run(history: &History, id: OperationId, objects: &Objects) -> Option<Objects> {
    let operation = history.operation(id);
    let free = is_pending(history, id) || operation.result.is_none();
    let returns = |value: Value| free || operation.result == value;
    let mut objects = objects.clone();
    let Held { cells, number } = objects.entry(operation.key).or_default();
    if let Some(start) = plain_start(history.object()) {
        let argument = if operation.argument.is_some() { priority(history, operation.argument) } else { 0 };
        let number = number.get_or_insert(start);
        let fits = match plain_step(history.object(), operation.method, number, argument)? {
            PlainAnswer::Nothing => true,
            PlainAnswer::Boolean(said) => returns(Value::boolean(said)),
            PlainAnswer::Number(said) => free || priority(history, operation.result) == said,
        };
        return fits.then_some(objects);
    }
    let is_value = matches!(history.object(), Object::Memory | Object::Register | Object::KeyValue);
    if is_value && cells.is_empty() {
        cells.push(history.initial_value(operation.key));
    }
    let holds = cells.iter().position(|&cell| cell == operation.argument);
    let capacity = if matches!(history.object(), Object::Semaphore | Object::TaggedSemaphore) {
        history.capacity().unwrap_or(1)
    } else {
        1
    };
    let fits = match operation.method {
        Method::Write => {
            cells[0] = operation.argument;
            true
        }
        Method::Read => returns(cells[0]),
        Method::Rmw => returns(std::mem::replace(&mut cells[0], operation.argument)),
        Method::Cas => {
            let succeeds = history.expected(id) == Some(cells[0]);
            if succeeds {
                cells[0] = operation.argument;
            }
            returns(Value::boolean(succeeds))
        }
        Method::Enqueue | Method::Push | Method::Insert | Method::Append => {
            cells.push(operation.argument);
            true
        }
        Method::Dequeue if !cells.is_empty() => returns(cells.remove(0)),
        Method::Pop | Method::Dequeue | Method::DeleteMax | Method::Peek if cells.is_empty() => returns(Value::EMPTY),
        Method::Pop => cells.pop().is_some_and(returns),
        Method::DeleteMax => {
            let largest = largest(history, cells)?;
            returns(cells.swap_remove(largest))
        }
        Method::Peek => {
            let next = match history.object() {
                Object::Queue => 0,
                Object::Stack => cells.len() - 1,
                _ => largest(history, cells)?,
            };
            returns(cells[next])
        }
        Method::Add if history.object() == Object::Multiset => {
            cells.push(operation.argument);
            returns(Value::TRUE)
        }
        Method::Count => {
            let copies = cells.iter().filter(|&&cell| cell == operation.argument).count();
            free || operation.result.as_integer() == Some(copies as i64)
        }
        Method::Add => {
            if holds.is_none() {
                cells.push(operation.argument);
            }
            returns(Value::boolean(holds.is_none()))
        }
        Method::Remove => {
            if let Some(at) = holds {
                cells.swap_remove(at);
            }
            returns(Value::boolean(holds.is_some()))
        }
        Method::Contains => returns(Value::boolean(holds.is_some())),
        Method::ReadAll => {
            let seen = history.elements(operation.result);
            free || (seen.len() == cells.len() && seen.iter().all(|element| cells.contains(element)))
        }
        Method::Lock | Method::Acquire => {
            cells.push(Value::NULL);
            cells.len() as u64 <= capacity
        }
        Method::AcquireAs => {
            cells.push(operation.argument);
            cells.len() as u64 <= capacity
        }
        Method::ReleaseAs => holds.map(|at| cells.swap_remove(at)).is_some(),
        Method::TryLock => {
            let is_free = cells.is_empty();
            if is_free {
                cells.push(Value::NULL);
            }
            returns(Value::boolean(is_free))
        }
        Method::Unlock | Method::Release => cells.pop().is_some(),
        Method::Put => {
            *cells = vec![operation.argument];
            true
        }
        Method::Get => free || text(history, cells) == text(history, &[operation.result]),
        _ => false,
    };
    fits.then_some(objects)
}

fn text(history: &History, pieces: &[Value]) -> String {
    pieces.iter().filter(|&&piece| piece != Value::NULL).map(|&piece| history.show(piece)).collect()
}

/// Whether all exchanges that returned a value have partners.
fn can_pair(history: &History, left: &[OperationId]) -> bool {
    let wants = |&&id: &&OperationId| !is_pending(history, id) && history.operation(id).result != Value::NULL;
    let Some(&first) = left.iter().find(wants) else {
        return true;
    };
    let operation = history.operation(first);
    left.iter().any(|&other| {
        let partner = history.operation(other);
        let overlap = !precedes(history, first, other) && !precedes(history, other, first);
        let agree = partner.key == operation.key
            && partner.argument == operation.result
            && (is_pending(history, other) || partner.result == operation.argument);
        let rest: Vec<OperationId> = left.iter().copied().filter(|&id| id != first && id != other).collect();
        other != first && overlap && agree && can_pair(history, &rest)
    })
}
