//! A simulated multiprocessor memory: caches of finite size, a directory with the memory or a second level before it,
//! and a network.
//!
//! The same configuration and seed give the same run. An access of a core hits, or begins a transaction; if the cache
//! has no room, another block is evicted first. So it is at a second level, where requests wait for the room. What a
//! controller cannot take in its state waits there and is tried again when the state of the block changes.

use std::collections::VecDeque;

use thiserror::Error;
use workload::random::SplitMix64;

use crate::network::{Buffers, Flight, MAX_DELAY, Network};
use crate::protocol::engine::{Before, Effects, Engine, MAX_CACHES, MAX_WORDS, Message, Taken};
use crate::protocol::{Protocol, State, TableEvent};
use crate::system::{MemoryRequest, MemorySystem, Notice};

/// A simulated memory system.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    /// How many caches.
    pub caches: u32,
    /// How many cores share a cache, at least one: two are the pairs of Gem5's AMD protocol.
    pub sharing: u32,
    /// How many locations there are.
    pub locations: u32,
    /// How many locations a block has: a power of two.
    pub block: u32,
    /// How many blocks a cache holds.
    pub frames: u32,
    /// How many blocks the second level holds, if the protocol has one.
    pub second: u32,
    /// Whether the block that makes room is the one that was used least recently; else it is any.
    pub is_lru: bool,
    /// Whether a directory that would ask all caches asks only those that may have a copy.
    pub has_filter: bool,
    /// How many of a thousand ticks evict a block of a cache that nobody asked for.
    pub evictions: u32,
    /// How messages travel.
    pub network: Network,
    /// Whether the invariants of the protocol are looked at after every step.
    pub is_checked: bool,
    /// Where the random choices start.
    pub seed: u64,
}

impl Default for CacheConfig {
    fn default() -> Self {
        Self {
            caches: 4,
            sharing: 1,
            locations: 8,
            block: 1,
            frames: 4,
            second: 8,
            is_lru: false,
            has_filter: false,
            evictions: 10,
            network: Network::default(),
            is_checked: cfg!(debug_assertions),
            seed: 0,
        }
    }
}

/// What is wrong with a configuration.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// No caches, or too many.
    #[error("there must be 1 to {MAX_CACHES} caches, not {0}")]
    Caches(u32),
    /// Nobody uses a cache.
    #[error("at least one core uses a cache")]
    Sharing,
    /// No locations, or too many.
    #[error("there must be 1 to 16777216 locations, not {0}")]
    Locations(u32),
    /// A block size that is not a power of two.
    #[error("a block has 1, 2, 4 or {MAX_WORDS} locations, not {0}")]
    Block(u32),
    /// A cache that holds nothing.
    #[error("a cache must hold at least one block")]
    Frames,
    /// A second level that holds nothing.
    #[error("the second level must hold at least one block")]
    Second,
    /// A network that carries nothing.
    #[error("a link must carry at least one message at a time, so its capacity cannot be 0")]
    Capacity,
    /// A delay that is no time.
    #[error("a message travels 1 to {MAX_DELAY} ticks at most, not {0}")]
    Delay(u32),
    /// More evictions than ticks.
    #[error("at most 1000 of a thousand ticks evict, not {0}")]
    Evictions(u32),
}

impl CacheConfig {
    /// What is wrong with the configuration, if anything.
    pub fn fault(&self) -> Option<Fault> {
        let is_size = self.block.is_power_of_two() && self.block as usize <= MAX_WORDS;
        match self {
            _ if self.caches == 0 || self.caches as usize > MAX_CACHES => Some(Fault::Caches(self.caches)),
            _ if self.sharing == 0 => Some(Fault::Sharing),
            _ if self.locations == 0 || self.locations > 1 << 24 => Some(Fault::Locations(self.locations)),
            _ if !is_size => Some(Fault::Block(self.block)),
            _ if self.frames == 0 => Some(Fault::Frames),
            _ if self.second == 0 => Some(Fault::Second),
            _ if self.network.capacity == 0 => Some(Fault::Capacity),
            _ if self.network.delay == 0 || self.network.delay > MAX_DELAY => Some(Fault::Delay(self.network.delay)),
            _ if self.evictions > 1000 => Some(Fault::Evictions(self.evictions)),
            _ => None,
        }
    }
}

/// What happened, for observers that ride on messages. Messages have numbers of their own.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A controller sent a message about a block. The directory has the number after that of the last cache, and the
    /// memory behind a second level the next one.
    Sent {
        /// The number of the message.
        message: u32,
        /// Its kind.
        kind: TableEvent,
        /// The sender.
        from: u32,
        /// The receiver.
        to: u32,
        /// The block.
        block: u32,
    },
    /// A controller has taken a message in.
    Taken {
        /// The number of the message.
        message: u32,
        /// The receiver.
        to: u32,
    },
    /// A core performed an access; the same as the notice to the core.
    Performed {
        /// The core.
        core: u32,
        /// The tag of the access.
        tag: u32,
    },
}

/// What the simulation has counted.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Ticks of the clock.
    pub ticks: u64,
    /// Messages sent.
    pub messages: u64,
    /// Accesses that hit.
    pub hits: u64,
    /// Blocks evicted.
    pub evictions: u64,
}

/// The blocks that a cache or a second level has, in any order.
#[derive(Clone, Default)]
struct Residents {
    blocks: Vec<u32>,
    /// By block: one more than its place in `blocks`, or zero.
    place: Vec<u32>,
    /// By block: when it was used last.
    used: Vec<u64>,
}

impl Residents {
    /// The block that makes room.
    fn victim(&self, is_lru: bool, random: &mut SplitMix64) -> u32 {
        if is_lru {
            *self.blocks.iter().min_by_key(|&&block| self.used[block as usize]).expect("a full cache has blocks")
        } else {
            random.pick(&self.blocks)
        }
    }

    fn set(&mut self, block: u32, is_here: bool) {
        let place = self.place[block as usize];
        if is_here && place == 0 {
            self.blocks.push(block);
            self.place[block as usize] = self.blocks.len() as u32;
        } else if !is_here && place != 0 {
            self.blocks.swap_remove(place as usize - 1);
            if let Some(&moved) = self.blocks.get(place as usize - 1) {
                self.place[moved as usize] = place;
            }
            self.place[block as usize] = 0;
        }
    }
}

/// The simulated memory system.
pub struct Caches {
    config: CacheConfig,
    protocol: Protocol,
    engine: Engine,
    flight: Flight,
    buffers: Buffers,
    random: SplitMix64,
    effects: Effects,
    arrived: Vec<Message>,
    /// By controller: messages that it could not take yet, in the order of arrival.
    stalled: Vec<Vec<Message>>,
    /// Of each cache and, at the end, of a second level.
    residents: Vec<Residents>,
    notices: VecDeque<Notice>,
    /// If messages are followed.
    notes: Option<Vec<Note>>,
    counts: CacheCounts,
    stuck: Option<String>,
}

impl Caches {
    /// A memory system that follows this protocol.
    pub fn new(protocol: &Protocol, config: CacheConfig) -> Result<Self, Fault> {
        if let Some(fault) = config.fault() {
            return Err(fault);
        }
        let blocks = config.locations.div_ceil(config.block) as usize;
        let caches = config.caches as usize;
        let residents = Residents { blocks: Vec::new(), place: vec![0; blocks], used: vec![0; blocks] };
        let engine = Engine::new(protocol, config.caches as u8, config.block, blocks, config.is_checked);
        let engine = engine.shared_by(config.sharing);
        Ok(Self {
            config,
            protocol: protocol.clone(),
            flight: Flight::new(config.network, engine.nodes()),
            buffers: Buffers::new(config.network.buffers, engine.nodes()),
            random: SplitMix64::new(config.seed),
            effects: Effects::default(),
            arrived: Vec::new(),
            stalled: vec![Vec::new(); engine.nodes()],
            residents: vec![residents; caches + usize::from(protocol.memory.is_some())],
            engine,
            notices: VecDeque::new(),
            notes: None,
            counts: CacheCounts::default(),
            stuck: None,
        })
    }

    /// From here on, [`Caches::notes`] tells which message went where.
    pub fn follow_messages(&mut self) {
        self.notes = Some(Vec::new());
    }

    /// What happened since the last call, in its order, if messages are followed.
    pub fn notes(&mut self) -> Vec<Note> {
        self.notes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What was counted so far.
    pub fn counts(&self) -> CacheCounts {
        self.counts
    }

    /// The first invariant that did not hold, if invariants are looked at.
    pub fn broken(&self) -> Option<&str> {
        self.engine.broken.as_deref()
    }

    /// Whether nothing is under way.
    pub fn is_quiet(&self) -> bool {
        self.flight.is_empty() && self.stalled.iter().all(Vec::is_empty)
    }

    /// Takes up what the last transition of a controller led to.
    fn settle(&mut self, node: u8, block: u32) {
        if let Some(residents) = self.residents.get_mut(usize::from(node)) {
            residents.set(block, self.engine.state(node, block) != State::I);
        }
        self.counts.hits += std::mem::take(&mut self.effects.hits);
        for notice in self.effects.notices.drain(..) {
            if let (Some(notes), Notice::Done { core, tag, .. }) = (&mut self.notes, notice) {
                notes.push(Note::Performed { core, tag });
            }
            self.notices.push_back(notice);
        }
        for mut message in self.effects.sent.drain(..) {
            message.id = self.counts.messages as u32;
            self.counts.messages += 1;
            if let Some(notes) = &mut self.notes {
                notes.push(Note::Sent {
                    message: message.id,
                    kind: message.kind,
                    from: message.from.into(),
                    to: message.to.into(),
                    block: message.block,
                });
            }
            self.flight.send(message, &mut self.random);
        }
    }

    /// Whether a message is a request for a block that the second level does not have and has no room for. Then the
    /// second level evicts another block, one at a time.
    ///
    /// If the block that is chosen is in a transaction, it stays: the transaction's next message makes the second level
    /// choose again.
    fn waits_for_room(&mut self, message: Message) -> bool {
        let Message { to, block, .. } = message;
        let is_request = matches!(message.kind, TableEvent::GetS | TableEvent::GetM | TableEvent::Upgrade);
        if !is_request || u32::from(to) != self.config.caches {
            return false;
        }
        let Some(here) = self.residents.get(usize::from(to)) else { return false };
        if here.blocks.len() < self.config.second as usize || here.place[block as usize] != 0 {
            return false;
        }
        let is_leaving = |&block: &u32| matches!(self.engine.state(to, block), State::SI | State::MI | State::EI);
        if !here.blocks.iter().any(is_leaving) {
            let victim = here.victim(self.config.is_lru, &mut self.random);
            self.evict(to, victim);
        }
        true
    }

    /// What is needed to take an event back, if what it sends may have no room.
    fn before(&self, node: u8, block: u32) -> Option<Before> {
        self.buffers.are_finite().then(|| self.engine.before(node, block))
    }

    /// If there is no room for what the last event made a controller send, the event has to wait.
    fn unless_blocked(&mut self, taken: Taken, node: u8, block: u32, before: Option<Before>) -> Taken {
        let Some(before) = before else { return taken };
        if self.buffers.fill(&self.effects.sent) {
            return taken;
        }
        self.engine.take_back(node, block, before);
        self.effects = Effects::default();
        if taken == Taken::Done { Taken::Stalled } else { taken }
    }

    /// Hands a message to its receiver. The answer is whether it was taken.
    fn deliver(&mut self, message: Message) -> bool {
        if self.waits_for_room(message) {
            return false;
        }
        let Message { to, block, .. } = message;
        // What rides on a message is there before the receiver acts.
        let told = self.notes.as_ref().map(Vec::len);
        if let Some(notes) = &mut self.notes {
            notes.push(Note::Taken { message: message.id, to: to.into() });
        }
        let before = self.before(to, block);
        let taken = self.engine.receive(&self.protocol, message, &mut self.effects);
        match self.unless_blocked(taken, to, block, before) {
            Taken::Done => {
                self.buffers.free(&message);
                if let Some(second) = self.residents.get_mut(self.config.caches as usize)
                    && u32::from(to) == self.config.caches
                {
                    second.used[block as usize] = self.counts.ticks;
                }
                self.settle(to, block);
                true
            }
            Taken::Stalled => {
                if let (Some(notes), Some(told)) = (&mut self.notes, told) {
                    notes.truncate(told);
                }
                false
            }
            Taken::Unexpected(state, event) => {
                self.settle(to, block);
                self.complain(to, block, state, event);
                true
            }
        }
    }

    fn complain(&mut self, node: u8, block: u32, state: State, event: TableEvent) {
        if self.stuck.is_none() {
            let place = match u32::from(node).checked_sub(self.config.caches) {
                None => format!("cache {node}"),
                Some(0) => "directory".to_owned(),
                Some(_) => "memory".to_owned(),
            };
            self.stuck = Some(format!("{place}: block {block} is in state {state}, where {event} is not expected"));
        }
    }

    /// Hands those of the messages that wait at a controller to it again, in their order.
    fn try_again(&mut self, node: usize, is_meant: impl Fn(&Message) -> bool) {
        let mut at = 0;
        while let Some(&waiting) = self.stalled[node].get(at) {
            if is_meant(&waiting) && self.deliver(waiting) {
                self.stalled[node].remove(at);
                at = 0;
            } else {
                at += 1;
            }
        }
    }

    /// Evicts a block, if it may be evicted now.
    fn evict(&mut self, core: u8, block: u32) {
        let before = self.before(core, block);
        let taken = self.engine.replace(&self.protocol, core, block, &mut self.effects);
        match self.unless_blocked(taken, core, block, before) {
            Taken::Done => {
                self.counts.evictions += 1;
                self.settle(core, block);
            }
            Taken::Stalled => {}
            Taken::Unexpected(state, event) => self.complain(core, block, state, event),
        }
    }
}

impl MemorySystem for Caches {
    fn issue(&mut self, core: u32, request: MemoryRequest) -> bool {
        let node = (core / self.config.sharing) as u8;
        let block = request.location / self.config.block;
        let residents = &self.residents[usize::from(node)];
        if residents.blocks.len() >= self.config.frames as usize && residents.place[block as usize] == 0 {
            let victim = residents.victim(self.config.is_lru, &mut self.random);
            self.evict(node, victim);
            if self.residents[usize::from(node)].blocks.len() >= self.config.frames as usize {
                return false;
            }
        }
        let before = self.before(node, block);
        let taken = self.engine.request(&self.protocol, core, request, &mut self.effects);
        match self.unless_blocked(taken, node, block, before) {
            Taken::Done => {
                self.residents[usize::from(node)].used[block as usize] = self.counts.ticks;
                self.settle(node, block);
                true
            }
            Taken::Stalled => false,
            Taken::Unexpected(state, event) => {
                self.complain(node, block, state, event);
                false
            }
        }
    }

    fn tick(&mut self) {
        self.counts.ticks += 1;
        if self.config.evictions > 0 && self.random.below(1000) < self.config.evictions.into() {
            let core = self.random.below(self.residents.len() as u64) as usize;
            if !self.residents[core].blocks.is_empty() {
                let victim = self.random.pick(&self.residents[core].blocks);
                self.evict(core as u8, victim);
            }
        }
        let mut arrived = std::mem::take(&mut self.arrived);
        self.flight.tick(&mut arrived, &mut self.random);
        for &message in &arrived {
            if !self.deliver(message) {
                self.stalled[usize::from(message.to)].push(message);
                continue;
            }
            // The state of the block may have changed: what waited for that is tried again, or for room.
            let node = usize::from(message.to);
            let is_second = node < self.residents.len();
            self.try_again(node, |waiting| is_second || waiting.block == message.block);
        }
        if self.buffers.are_finite() {
            // Room may have come anywhere.
            (0..self.stalled.len()).for_each(|node| self.try_again(node, |_| true));
        }
        self.arrived = arrived;
        debug_assert!(self.engine.broken.is_none() || !self.config.is_checked, "{:?}", self.engine.broken);
    }

    fn poll(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    fn stuck(&self) -> Option<String> {
        self.stuck.clone()
    }
}
