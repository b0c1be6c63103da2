//! Every state that a protocol can reach with few caches and one block.
//!
//! Cores load, store each of the values, and evict, whenever the cache can take it; so does a second level. Messages arrive in any order. In
//! every state the invariants hold, every event that comes has a row, and something can go on unless all is done.

use std::collections::VecDeque;

use history::execution::Kind;
use rustc_hash::FxHashSet;

use super::Protocol;
use super::engine::{Effects, Engine, Message, Taken};
use crate::system::MemoryRequest;

/// What an exploration found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explored {
    /// How many states there are; with a fault, how many were seen before it.
    pub states: usize,
    /// How many of them have nothing under way.
    pub quiet: usize,
    /// The first thing that is wrong.
    pub fault: Option<String>,
    /// Whether all states were seen.
    pub is_complete: bool,
}

/// Explores the states of a protocol on this many caches, one block of one location, and this many values.
///
/// ```
/// use machine::protocol::{Name, explore};
///
/// let explored = explore(&Name::Mi.protocol(), 2, 2, 1_000_000);
/// assert!(explored.is_complete && explored.fault.is_none());
/// ```
pub fn explore(protocol: &Protocol, caches: u8, values: u32, most: usize) -> Explored {
    let mut explored = Explored { states: 0, quiet: 0, fault: None, is_complete: true };
    let mut seen: FxHashSet<Box<[u8]>> = FxHashSet::default();
    let mut open = VecDeque::new();
    let first = (Engine::new(protocol, caches, 1, 1, true), Vec::new());
    seen.insert(encode(&first.0, &first.1));
    open.push_back(first);
    let mut successors = Vec::new();
    while let Some((engine, messages)) = open.pop_front() {
        explored.states += 1;
        explored.quiet += usize::from(messages.is_empty() && !engine.has_requests());
        successors.clear();
        if let Err(fault) = follow(protocol, &engine, &messages, caches, values, &mut successors) {
            explored.fault = Some(fault);
            explored.is_complete = false;
            return explored;
        }
        for (engine, messages) in successors.drain(..) {
            if seen.insert(encode(&engine, &messages)) {
                open.push_back((engine, messages));
            }
        }
        if seen.len() > most {
            explored.is_complete = false;
            return explored;
        }
    }
    explored
}

fn encode(engine: &Engine, messages: &[Message]) -> Box<[u8]> {
    let mut bytes = Vec::with_capacity(64);
    engine.encode(&mut bytes);
    for message in messages {
        let Message { kind, from, to, requester, acks, data, .. } = message;
        bytes.extend([*kind as u8, *from, *to, *requester, *acks as u8, data[0] as u8]);
    }
    bytes.into()
}

/// The states that follow on this one.
fn follow(
    protocol: &Protocol,
    engine: &Engine,
    messages: &[Message],
    caches: u8,
    values: u32,
    successors: &mut Vec<(Engine, Vec<Message>)>,
) -> Result<(), String> {
    let mut take = |messages: &[Message], step: &dyn Fn(&mut Engine, &mut Effects) -> Taken| {
        let mut next = engine.clone();
        let mut effects = Effects::default();
        match step(&mut next, &mut effects) {
            Taken::Stalled => return Ok(false),
            Taken::Unexpected(state, event) => return Err(format!("in state {state}, {event} is not expected")),
            Taken::Done => {}
        }
        if let Some(broken) = &next.broken {
            return Err(broken.clone());
        }
        let mut messages = messages.to_vec();
        messages.append(&mut effects.sent);
        // Messages arrive in any order, so only how many there are of each counts.
        messages.sort_unstable_by_key(|it| (it.kind as u8, it.from, it.to, it.requester, it.acks, it.data));
        successors.push((next, messages));
        Ok(true)
    };
    let mut goes_on = messages.is_empty() && !engine.has_requests();
    for (at, &message) in messages.iter().enumerate() {
        let mut rest = messages.to_vec();
        rest.remove(at);
        goes_on |= take(&rest, &|engine, effects| engine.receive(protocol, message, effects))?;
    }
    if !goes_on {
        return Err(format!("deadlock: none of {} messages can be taken", messages.len()));
    }
    for core in 0..caches {
        let mut request = |kind, value| {
            let request = MemoryRequest { tag: 0, kind, location: 0, value };
            take(messages, &|engine, effects| engine.request(protocol, core, request, effects))
        };
        request(Kind::Read, 0)?;
        for value in 0..values {
            request(Kind::Write, value)?;
        }
    }
    let evicting = caches + u8::from(protocol.memory.is_some());
    for node in 0..evicting {
        // A block that is not there cannot be evicted.
        if engine.state(node, 0) != super::State::I {
            take(messages, &|engine, effects| engine.replace(protocol, node, 0, effects))?;
        }
    }
    Ok(())
}
