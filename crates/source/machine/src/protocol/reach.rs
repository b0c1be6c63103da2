//! Every state that a protocol can reach with few caches and blocks.
//!
//! Cores load, store, and evict, whenever the cache can take it; so does a second level. Each core has one access under
//! way at a time. Messages arrive in any order. In every state the invariants hold, every event that comes has a row,
//! and something can go on unless all is done.
//!
//! States count once if they differ only in the names of caches or of blocks, in what no action will read
//! ([`super::live`]), or in values: each store writes a value of its own, and of a copy only matters whether it is what
//! was stored last. Each of these keeps what can happen next, so nothing is missed.

use std::collections::VecDeque;

use history::execution::Kind;
use rustc_hash::FxHashSet;

use super::engine::{Effects, Engine, Message, Taken};
use super::live::{Live, live};
use super::{Protocol, State, TableEvent};
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

/// What is explored.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// How many caches there are.
    pub caches: u8,
    /// How many blocks there are, of one location each.
    pub blocks: u32,
    /// How many blocks a cache holds, and the second level, too; 0 if there is no limit.
    pub frames: usize,
    /// How many messages of a virtual network a link has room for, until they are taken; 0 if there is no limit.
    pub buffers: usize,
    /// Whether all messages of a link share one virtual network.
    pub is_one_network: bool,
}

impl Default for Space {
    fn default() -> Self {
        Self { caches: 2, blocks: 1, frames: 0, buffers: 0, is_one_network: false }
    }
}

/// Explores the states of a protocol, up to this many.
///
/// ```
/// use machine::protocol::{Name, Space, explore};
///
/// let explored = explore(&Name::Mi.protocol(), Space::default(), 1_000_000);
/// assert!(explored.is_complete && explored.fault.is_none());
/// ```
pub fn explore(protocol: &Protocol, space: Space, most: usize) -> Explored {
    let mut explored = Explored { states: 0, quiet: 0, fault: None, is_complete: true };
    let search = Search { protocol, space, live: live(protocol), names: orders(space.caches) };
    let mut seen: FxHashSet<Box<[u8]>> = FxHashSet::default();
    let mut open = VecDeque::new();
    let engine = Engine::new(protocol, space.caches, 1, space.blocks as usize, true);
    let first = Point { engine, messages: Vec::new(), stores: 0 };
    seen.insert(search.encode(&first));
    open.push_back(first);
    let mut successors = Vec::new();
    while let Some(point) = open.pop_front() {
        explored.states += 1;
        explored.quiet += usize::from(search.is_quiet(&point));
        successors.clear();
        if let Err(fault) = search.follow(&point, &mut successors) {
            explored.fault = Some(fault);
            explored.is_complete = false;
            return explored;
        }
        for point in successors.drain(..) {
            if seen.insert(search.encode(&point)) {
                open.push_back(point);
            }
        }
        if seen.len() > most {
            explored.is_complete = false;
            return explored;
        }
    }
    explored
}

/// All orders of so many names.
fn orders(count: u8) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    for name in 0..count {
        let longer = |order: &Vec<u8>| {
            let order = order.clone();
            (0..=order.len()).map(move |at| {
                let mut order = order.clone();
                order.insert(at, name);
                order
            })
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// A state of the system.
struct Point {
    engine: Engine,
    messages: Vec<Message>,
    /// How many stores were asked for.
    stores: u32,
}

struct Search<'a> {
    protocol: &'a Protocol,
    space: Space,
    /// What matters at a cache, at the directory and at the memory.
    live: [Vec<Live>; 3],
    /// All ways to name the caches.
    names: Vec<Vec<u8>>,
}

impl Search<'_> {
    fn is_quiet(&self, point: &Point) -> bool {
        point.messages.is_empty() && (0..self.space.caches).all(|core| point.engine.requests(core) == 0)
    }

    /// What tells this state from others: the least of what it is under all names of caches and blocks.
    fn encode(&self, point: &Point) -> Box<[u8]> {
        let mut least: Option<Vec<u8>> = None;
        let blocks = orders(self.space.blocks as u8);
        for names in &self.names {
            for order in &blocks {
                let bytes = self.named(point, names, order);
                if least.as_ref().is_none_or(|least| bytes < *least) {
                    least = Some(bytes);
                }
            }
        }
        least.unwrap_or_default().into()
    }

    /// `names` has a name for each cache, `order` one for each block.
    fn named(&self, point: &Point, names: &[u8], order: &[u8]) -> Vec<u8> {
        let Point { engine, messages, .. } = point;
        let caches = self.space.caches;
        let name = |node: u8| names.get(usize::from(node)).copied().unwrap_or(node);
        let mut bytes = Vec::with_capacity(64);
        for at in 0..engine.nodes() as u8 {
            let node = names.iter().position(|&name| name == at).map_or(at, |node| node as u8);
            let live = &self.live[usize::from(node.saturating_sub(caches - 1))];
            for named in 0..self.space.blocks as u8 {
                let block = order.iter().position(|&it| it == named).unwrap_or(0) as u32;
                let live = live[engine.state(node, block) as usize];
                engine.encode(node, block, live, name, &mut bytes);
            }
        }
        let mut told: Vec<[u8; 7]> = messages
            .iter()
            .map(|message| {
                let Message { kind, from, to, requester, acks, block, ref data, .. } = *message;
                let is_last = engine.is_last(block, data).into();
                let named = order[block as usize];
                [kind as u8, name(from), name(to), name(requester), acks as u8, named, is_last]
            })
            .collect();
        told.sort_unstable();
        bytes.extend(told.into_iter().flatten());
        bytes
    }

    /// Whether a link has more messages than it has room for.
    fn overflows(&self, messages: &[Message]) -> bool {
        let place = |message: &Message| {
            let network = if self.space.is_one_network { 0 } else { message.kind.network() };
            (message.from, message.to, network)
        };
        let count = |place_of: &Message| messages.iter().filter(|other| place(other) == place(place_of)).count();
        self.space.buffers > 0 && messages.iter().any(|message| count(message) > self.space.buffers)
    }

    /// Whether a controller has no room for another block.
    fn is_full(&self, engine: &Engine, node: u8) -> bool {
        self.space.frames > 0 && engine.residents(node) >= self.space.frames
    }

    /// The state after a step, or none if the step has to wait.
    fn step(
        &self,
        point: &Point,
        rest: Vec<Message>,
        step: impl FnOnce(&mut Engine, &mut Effects) -> Taken,
    ) -> Result<Option<Point>, String> {
        let mut engine = point.engine.clone();
        let mut effects = Effects::default();
        match step(&mut engine, &mut effects) {
            Taken::Stalled => return Ok(None),
            Taken::Unexpected(state, event) => return Err(format!("in state {state}, {event} is not expected")),
            Taken::Done => {}
        }
        let mut messages = rest;
        messages.append(&mut effects.sent);
        if self.overflows(&messages) {
            return Ok(None);
        }
        if let Some(broken) = engine.broken {
            return Err(broken);
        }
        Ok(Some(Point { engine, messages, stores: point.stores }))
    }

    /// The states that follow on this one.
    fn follow(&self, point: &Point, successors: &mut Vec<Point>) -> Result<(), String> {
        let Self { protocol, space, .. } = *self;
        let Point { engine, messages, .. } = point;
        let directory = space.caches;
        let has_second = protocol.memory.is_some();
        let mut goes_on = self.is_quiet(point);
        let mut waits_for_room = false;
        for (at, &message) in messages.iter().enumerate() {
            let is_request = matches!(message.kind, TableEvent::GetS | TableEvent::GetM | TableEvent::Upgrade);
            let is_new = message.to == directory && engine.state(directory, message.block) == State::I;
            if has_second && is_request && is_new && self.is_full(engine, directory) {
                waits_for_room = true;
                continue;
            }
            let mut rest = messages.clone();
            rest.remove(at);
            let next = self.step(point, rest, |engine, effects| engine.receive(protocol, message, effects))?;
            goes_on |= next.is_some();
            successors.extend(next);
        }
        for block in 0..space.blocks {
            for node in 0..space.caches + u8::from(has_second) {
                // A block that is not there cannot be evicted.
                if engine.state(node, block) == State::I {
                    continue;
                }
                let evict = |engine: &mut Engine, effects: &mut Effects| engine.replace(protocol, node, block, effects);
                let next = self.step(point, messages.clone(), evict)?;
                goes_on |= next.is_some() && waits_for_room && node == directory;
                successors.extend(next);
            }
        }
        if !goes_on {
            return Err(format!("deadlock: none of {} messages can be taken", messages.len()));
        }
        for core in 0..space.caches {
            for location in 0..space.blocks {
                if engine.state(core, location) == State::I && self.is_full(engine, core) {
                    continue;
                }
                for kind in [Kind::Read, Kind::Write] {
                    let request = MemoryRequest { tag: 0, kind, location, value: point.stores + 1 };
                    let ask = |engine: &mut Engine, effects: &mut Effects| {
                        engine.request(protocol, core.into(), request, effects)
                    };
                    let Some(mut next) = self.step(point, messages.clone(), ask)? else { continue };
                    if next.engine.requests(core) <= 1 {
                        next.stores += u32::from(kind == Kind::Write);
                        successors.push(next);
                    }
                }
            }
        }
        Ok(())
    }
}
