//! How messages travel: each takes a random time, and a link carries so many at a time.
//!
//! Most messages are fast; one of eight may take as long as the network allows. Races need such a straggler: a message
//! that is still under way while a whole transaction of others ends.
//!
//! A link leads from one controller to another. On an *ordered* network messages of a link arrive in the order in which
//! they were sent; on an unordered one they may overtake each other. If a link is full, a message waits at its sender.
//! So a full link delays messages and never makes a controller wait.

use std::collections::VecDeque;

use workload::random::SplitMix64;

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
}

impl Default for Network {
    fn default() -> Self {
        Self { is_ordered: false, delay: 40, capacity: 16 }
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
