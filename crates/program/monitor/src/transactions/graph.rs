//! The transactions that are kept, and the order that every commit order has.
//!
//! Committed transactions of a session are a chain; an indeterminate transaction that counts is a chain by itself. The
//! *reach* of a transaction is a clock over chains: all transactions that come before it in every commit order, and
//! itself. **Invariant:** the reaches of the kept transactions are closed, also over transactions that were forgotten:
//! if a is before b, and b is before c, and c is kept, then the reach of c has a. So an edge from a to b closes a cycle
//! exactly if the reach of a has b; and b itself need not be kept, only a.
//!
//! Reaches grow along a chain. So whoever has b is, in each chain, an end of the chain, and of these whoever has a
//! already is an end again: a new edge changes what lies between the two.

use std::collections::VecDeque;

use history::Value;
use serde::{Deserialize, Serialize};

/// The number of a transaction that is kept. It is used again when the transaction is forgotten.
pub(super) type NodeId = u32;

/// Where a transaction stands for as long as the stream lasts.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChainPlace {
    pub(super) chain: u32,
    pub(super) index: u32,
}

/// A set of transactions that has, with each transaction, those before it in its chain: by chain, how many.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChainClock(Vec<u32>);

impl ChainClock {
    #[inline]
    pub(super) fn count(&self, chain: u32) -> u32 {
        self.0.get(chain as usize).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn has(&self, place: ChainPlace) -> bool {
        self.count(place.chain) > place.index
    }

    pub(super) fn include(&mut self, place: ChainPlace) {
        if self.0.len() <= place.chain as usize {
            self.0.resize(place.chain as usize + 1, 0);
        }
        let count = &mut self.0[place.chain as usize];
        *count = (*count).max(place.index + 1);
    }

    pub(super) fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (count, &other) in self.0.iter_mut().zip(&other.0) {
            *count = (*count).max(other);
        }
    }
}

/// How far a transaction that has ended is looked at.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    /// It waits for transactions that it reads from, or for those before it in its session.
    Waiting,
    /// It is indeterminate, and nobody reads from it so far: it does not count.
    Dormant,
    /// It counts.
    Counted,
}

/// The source of an external read.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Source {
    Init,
    Node(NodeId),
    /// Nobody who is kept wrote this, and nobody will.
    Unknown,
}

/// An external read whose source is known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Read {
    pub(super) key: u32,
    pub(super) source: Source,
    /// Of a list: its elements without the own appends at the end, and whether there are own appends.
    pub(super) list: Option<(Box<[Value]>, bool)>,
}

/// A transaction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KeptTransaction {
    pub(super) state: State,
    /// Its place, once it counts.
    pub(super) place: ChainPlace,
    /// What is before it in every commit order.
    pub(super) reach: ChainClock,
    /// What is before it in session order and reads-from; only if the level is `causal`.
    pub(super) seen: ChainClock,
    /// The chain of its session, and how many committed transactions of the session are before it.
    pub(super) session: ChainPlace,
    /// The number of the event that ended it.
    pub(super) event: u64,
    /// The values that it wrote, and for each key the last of them.
    pub(super) writes: Vec<(u32, Value)>,
    pub(super) finals: Vec<(u32, Value)>,
    /// Its external reads, once it is not waiting any more.
    pub(super) reads: Vec<Read>,
    /// What is wrong with it, if that matters only once it counts.
    pub(super) fault: Option<super::Fault>,
    /// For how many reasons it must stay.
    pub(super) pins: u32,
    /// Whether its time was over when it had to stay.
    pub(super) is_held: bool,
}

impl KeptTransaction {
    /// Whether it writes a key.
    pub(super) fn writes_key(&self, key: u32) -> bool {
        self.finals.iter().any(|&(other, _)| other == key)
    }
}

/// An edge would close a cycle.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Cycle;

/// The kept transactions. See the [module](self).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct KeptGraph {
    nodes: Vec<Option<KeptTransaction>>,
    free: Vec<NodeId>,
    /// By chain: the kept transactions that count, in their order.
    chains: Vec<VecDeque<NodeId>>,
    /// Indeterminate transactions that do not count so far. Nothing comes after them.
    pub(super) loose: Vec<NodeId>,
}

impl KeptGraph {
    pub(super) fn node(&self, id: NodeId) -> &KeptTransaction {
        self.nodes[id as usize].as_ref().expect("the transaction is kept")
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut KeptTransaction {
        self.nodes[id as usize].as_mut().expect("the transaction is kept")
    }

    pub(super) fn add(&mut self, node: KeptTransaction) -> NodeId {
        if let Some(id) = self.free.pop() {
            self.nodes[id as usize] = Some(node);
            return id;
        }
        self.nodes.push(Some(node));
        self.nodes.len() as NodeId - 1
    }

    /// How many transactions are kept.
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    pub(super) fn new_chain(&mut self) -> u32 {
        self.chains.push(VecDeque::new());
        self.chains.len() as u32 - 1
    }

    pub(super) fn chain_count(&self) -> usize {
        self.chains.len()
    }

    /// Puts a transaction, whose place is known, at the end of its chain.
    pub(super) fn enter(&mut self, id: NodeId) {
        let chain = self.node(id).place.chain;
        self.chains[chain as usize].push_back(id);
    }

    /// Forgets a transaction.
    pub(super) fn remove(&mut self, id: NodeId) -> KeptTransaction {
        let node = self.nodes[id as usize].take().expect("the transaction is kept");
        self.free.push(id);
        if node.state == State::Counted {
            let Self { nodes, chains, .. } = self;
            let chain = &mut chains[node.place.chain as usize];
            // The transaction itself is not in the table any more, so its place is found by the others'.
            let at = chain.partition_point(|&other| {
                other != id && nodes[other as usize].as_ref().is_some_and(|other| other.place.index < node.place.index)
            });
            chain.remove(at);
        } else {
            self.loose.retain(|&other| other != id);
        }
        node
    }

    /// A transaction comes before another in every commit order.
    pub(super) fn connect(&mut self, from: NodeId, to: ChainPlace) -> Result<(), Cycle> {
        let source = self.node(from);
        if source.reach.has(to) {
            return Err(Cycle);
        }
        let place = source.place;
        let Self { nodes, chains, loose, .. } = self;
        let of = |id: NodeId| nodes[id as usize].as_ref().expect("chains have kept transactions");
        let own = &chains[to.chain as usize];
        let first = own.partition_point(|&id| of(id).place.index < to.index);
        if own.get(first).is_some_and(|&id| of(id).place == to && of(id).reach.has(place)) {
            return Ok(());
        }
        let clock = of(from).reach.clone();
        let reach = |nodes: &[Option<KeptTransaction>], id: NodeId, has: ChainPlace| {
            nodes[id as usize].as_ref().is_some_and(|node| node.reach.has(has))
        };
        for chain in chains.iter() {
            if chain.back().is_none_or(|&last| !reach(nodes, last, to)) {
                continue;
            }
            let begin = chain.partition_point(|&id| !reach(nodes, id, to));
            for &id in chain.range(begin..) {
                if reach(nodes, id, place) {
                    break;
                }
                nodes[id as usize].as_mut().expect("chains have kept transactions").reach.join(&clock);
            }
        }
        for &id in loose.iter() {
            if reach(nodes, id, to) {
                nodes[id as usize].as_mut().expect("it is kept").reach.join(&clock);
            }
        }
        Ok(())
    }
}
