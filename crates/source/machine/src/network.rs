//! How messages travel: each takes a random time, and a link carries so many at a time.
//!
//! Most messages are fast; one of eight may take as long as the network allows. Races need such a straggler: a message
//! that is still under way while a whole transaction of others ends.
//!
//! A link leads from one controller to another. On an *ordered* network messages of a link arrive in the order in which
//! they were sent; on an unordered one they may overtake each other. If a link is full, a message waits at its sender.
//! So a full link delays messages and never makes a controller wait.
//!
//! With finite *buffers* it does. A link then has room for so many messages of each virtual network
//! ([`TableEvent::network`]). A message takes its room when it is sent, and gives it back when its receiver has taken
//! it: one that has to wait at its receiver keeps it. A controller takes nothing, neither a message nor an access of
//! its core, that would make it send what has no room.

use std::collections::VecDeque;

use workload::random::SplitMix64;

use crate::protocol::TableEvent;
use crate::protocol::engine::Message;

/// The kind of network.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Whether messages of a link keep their order.
    pub is_ordered: bool,
    /// How many ticks a message travels at most; at least one.
    pub delay: u32,
    /// How many messages a link carries at a time; at least one.
    pub capacity: u32,
    /// How many messages of a virtual network a link has room for, until they are taken; 0 if there is no limit.
    pub buffers: u32,
}

impl Default for Network {
    fn default() -> Self {
        Self { is_ordered: false, delay: 40, capacity: 16, buffers: 0 }
    }
}

/// How long a message may travel at most.
pub(crate) const MAX_DELAY: u32 = 1 << 12;

#[derive(Clone, Default)]
struct Link {
    flying: u32,
    /// When the last message arrives.
    last: u64,
    waiting: VecDeque<Message>,
}

/// The messages that are sent and not yet taken, if links have finite buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffers {
    room: u32,
    nodes: usize,
    /// By link and virtual network.
    full: Vec<u32>,
}

impl Buffers {
    pub(crate) fn new(room: u32, nodes: usize) -> Self {
        let links = if room == 0 { 0 } else { nodes * nodes };
        Self { room, nodes, full: vec![0; links * TableEvent::NETWORKS] }
    }

    pub(crate) const fn are_finite(&self) -> bool {
        self.room > 0
    }

    fn place(&self, message: &Message) -> usize {
        let link = usize::from(message.from) * self.nodes + usize::from(message.to);
        link * TableEvent::NETWORKS + message.kind.network()
    }

    /// Takes the room for these messages, all or none. The answer is whether there was room.
    pub(crate) fn fill(&mut self, messages: &[Message]) -> bool {
        if !self.are_finite() {
            return true;
        }
        for (at, message) in messages.iter().enumerate() {
            let place = self.place(message);
            if self.full[place] == self.room {
                messages[..at].iter().for_each(|message| self.free(message));
                return false;
            }
            self.full[place] += 1;
        }
        true
    }

    /// Gives the room of a message back.
    pub(crate) fn free(&mut self, message: &Message) {
        if self.are_finite() {
            let place = self.place(message);
            self.full[place] -= 1;
        }
    }
}

/// The messages that are under way.
pub(crate) struct Flight {
    network: Network,
    nodes: usize,
    links: Vec<Link>,
    /// By the tick of arrival, around and around.
    wheel: Vec<Vec<Message>>,
    now: u64,
    count: usize,
}

impl Flight {
    pub(crate) fn new(network: Network, nodes: usize) -> Self {
        Self {
            network,
            nodes,
            links: vec![Link::default(); nodes * nodes],
            wheel: vec![Vec::new(); network.delay as usize + 1],
            now: 0,
            count: 0,
        }
    }

    pub(crate) fn send(&mut self, message: Message, random: &mut SplitMix64) {
        self.count += 1;
        let link = &mut self.links[usize::from(message.from) * self.nodes + usize::from(message.to)];
        if link.flying >= self.network.capacity {
            link.waiting.push_back(message);
        } else {
            self.launch(message, random);
        }
    }

    fn launch(&mut self, message: Message, random: &mut SplitMix64) {
        let link = &mut self.links[usize::from(message.from) * self.nodes + usize::from(message.to)];
        link.flying += 1;
        let longest = if random.below(8) == 0 { self.network.delay } else { (self.network.delay / 8).max(1) };
        let mut due = self.now + 1 + random.below(longest.into());
        if self.network.is_ordered {
            due = due.max(link.last);
        }
        link.last = due;
        let slot = due as usize % self.wheel.len();
        self.wheel[slot].push(message);
    }

    /// Lets a tick pass. What arrives then replaces what is in `arrived`.
    pub(crate) fn tick(&mut self, arrived: &mut Vec<Message>, random: &mut SplitMix64) {
        self.now += 1;
        let slot = self.now as usize % self.wheel.len();
        arrived.clear();
        std::mem::swap(arrived, &mut self.wheel[slot]);
        self.count -= arrived.len();
        for message in &*arrived {
            let link = &mut self.links[usize::from(message.from) * self.nodes + usize::from(message.to)];
            link.flying -= 1;
            if let Some(next) = link.waiting.pop_front() {
                self.launch(next, random);
            }
        }
    }

    /// Whether nothing is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}
