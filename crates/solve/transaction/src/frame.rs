//! Frames: the events of a level and what orders them before any version order is known.
//!
//! | level | events of t | base | `before` for writers t, u of a key |
//! | --- | --- | --- | --- |
//! | serializable | t | t < u for t so u, t wr u, t ww u | t < u |
//! | parallel-snapshot-isolation | t (the order is visibility) | the same | t < u |
//! | prefix | R_t < W_t | W_t < R_u for t so u, t wr u; W_t < W_u for t ww u | W_t < W_u |
//! | snapshot-isolation | R_t < W_t | W_t < R_u for t so u, t wr u, t ww u | W_t < R_u |
//!
//! Events are numbered as the transactions of the [`TransactionView`] are, so its chains are chains of events. In real
//! time there is one more chain, the [`Cuts`].

use order::Rows;
use order::saturation::NONE;

use crate::graph::{CommitGraph, EdgeReason};
use crate::view::{INIT, TransactionView};
use crate::weak::Cuts;
use crate::{Sessions, Strong};

/// A base predecessor of an event, outside its chain.
#[derive(Copy, Clone, Debug, Default)]
pub struct Base {
    /// The predecessor.
    pub from: u32,
    /// Why it comes before.
    pub why: EdgeReason,
}

/// The events. See the [module](self).
pub struct CommitFrame<'a> {
    /// The transactions.
    pub view: &'a TransactionView,
    /// The level.
    pub level: Strong,
    /// What stands for session order.
    pub sessions: Sessions,
    /// The first event of each chain, and the number of all events at the end.
    pub starts: Vec<u32>,
    /// How many events of transactions there are. The cuts follow.
    pub events: u32,
    base: Rows<Base>,
    /// Transactions, and then cuts, in an order that the base allows.
    pub line: Vec<u32>,
    /// Where the writes of each transaction begin among all.
    write_starts: Vec<u32>,
    /// The transactions that read each final write.
    readers: Rows,
    /// The transactions that read the initial version of each key.
    pub initial_readers: Rows,
    /// The writers of each key.
    pub writers: Rows,
}

impl<'a> CommitFrame<'a> {
    /// The frame of a level. `line` is an order of the transactions, and in real time of the cuts behind them, that
    /// the base allows: the base must have no cycle.
    pub fn new(view: &'a TransactionView, level: Strong, sessions: Sessions, line: Vec<u32>) -> Self {
        let split = u32::from(level.is_split());
        let events = (view.len() as u32) << split;
        let mut starts: Vec<u32> = view.starts.iter().map(|&start| start << split).collect();
        let cuts = (sessions == Sessions::RealTime).then(|| Cuts::new(view));
        if let Some(cuts) = &cuts {
            starts.push(events + cuts.count);
        }
        let mut write_starts = Vec::with_capacity(view.len() + 1);
        write_starts.push(0);
        for t in view.all() {
            write_starts.push(write_starts[t as usize] + view.writes_of(t).len() as u32);
        }
        let mut this = Self {
            view,
            level,
            sessions,
            starts,
            events,
            base: Rows::default(),
            line,
            write_starts,
            readers: Rows::default(),
            initial_readers: Rows::default(),
            writers: view.writers(),
        };
        let base = this.base_edges(cuts.as_ref());
        let count = this.starts.last().copied().unwrap_or(0) as usize;
        this.base = Rows::new(count, base.iter().map(|&(to, base)| (to as usize, base)));
        let reads = || view.all().flat_map(|t| view.reads_of(t).iter().map(move |read| (t, read)));
        let of_writes = reads().filter(|(_, read)| read.source != INIT);
        let writes = this.write_starts[view.len()] as usize;
        let numbers = &this;
        let pairs = of_writes.map(|(t, read)| (numbers.write(read.source, read.key) as usize, t));
        let readers = Rows::new(writes, pairs);
        let initial = reads().filter(|(_, read)| read.source == INIT);
        this.initial_readers = Rows::new(view.keys, initial.map(|(t, read)| (read.key as usize, t)));
        this.readers = readers;
        this
    }

    fn base_edges(&self, cuts: Option<&Cuts>) -> Vec<(u32, Base)> {
        let view = self.view;
        let mut edges: Vec<(u32, Base)> = Vec::new();
        for t in view.all() {
            let before = view.before[t as usize];
            let is_outside = before != NONE && view.chains[before as usize] != view.chains[t as usize];
            if self.sessions != Sessions::None && is_outside {
                edges.push((self.r(t), Base { from: self.w(before), why: EdgeReason::Session }));
            }
            let mut last = INIT;
            for read in view.reads_of(t) {
                if read.source != last && read.source != INIT {
                    edges.push((self.r(t), Base { from: self.w(read.source), why: EdgeReason::Reads(read.operation) }));
                    last = read.source;
                }
            }
        }
        let version = |from: u32, to: u32, key: usize| {
            (self.anchor(to), Base { from: self.w(from), why: EdgeReason::Version(key as u32) })
        };
        for key in 0..view.keys {
            let seen = view.seen.of(key);
            edges.extend(seen.windows(2).map(|pair| version(pair[0], pair[1], key)));
            if let Some(&last) = seen.last() {
                edges.extend(view.unseen.of(key).iter().map(|&t| version(last, t, key)));
            }
        }
        if let Some(cuts) = cuts {
            for t in view.all() {
                let (after, before) = (cuts.after[t as usize], cuts.before[t as usize]);
                if after != NONE {
                    edges.push((self.events + after, Base { from: self.w(t), why: EdgeReason::Aside }));
                }
                if before != NONE {
                    edges.push((self.r(t), Base { from: self.events + before, why: EdgeReason::RealTime }));
                }
            }
        }
        edges
    }

    /// The event at which a transaction reads.
    #[inline]
    pub fn r(&self, t: u32) -> u32 {
        if self.level.is_split() { 2 * t } else { t }
    }

    /// The event at which its writes become visible.
    #[inline]
    pub fn w(&self, t: u32) -> u32 {
        if self.level.is_split() { 2 * t + 1 } else { t }
    }

    /// The event that another writer of a key is before, if it is before this one.
    #[inline]
    pub fn anchor(&self, t: u32) -> u32 {
        if self.level == Strong::Snapshot { self.r(t) } else { self.w(t) }
    }

    /// The transaction of an event, unless the event is a cut.
    #[inline]
    pub fn transaction(&self, event: u32) -> Option<u32> {
        (event < self.events).then_some(if self.level.is_split() { event / 2 } else { event })
    }

    /// Whether a transaction reads at this event.
    #[inline]
    pub fn is_read(&self, event: u32) -> bool {
        !self.level.is_split() || event.is_multiple_of(2)
    }

    /// Whether the writes of a transaction become visible at this event.
    #[inline]
    pub fn is_write(&self, event: u32) -> bool {
        !self.level.is_split() || !event.is_multiple_of(2)
    }

    /// The transactions whose writes become visible at events from `old` to before `new`.
    #[inline]
    pub fn writers_in(&self, old: u32, new: u32) -> (u32, u32) {
        if self.level.is_split() { (old / 2, new / 2) } else { (old, new) }
    }

    /// The transactions that read at events from `old` to before `new`.
    #[inline]
    pub fn readers_in(&self, old: u32, new: u32) -> (u32, u32) {
        if self.level.is_split() { (old.div_ceil(2), new.div_ceil(2)) } else { (old, new) }
    }

    /// The base predecessors of an event outside its chain.
    #[inline]
    pub fn base(&self, event: u32) -> &[Base] {
        self.base.of(event as usize)
    }

    /// The number of a final write among all.
    #[inline]
    fn write(&self, t: u32, key: u32) -> u32 {
        self.write_starts[t as usize] + self.view.place_of_write(t, key).map_or(0, |at| at as u32)
    }

    /// The transactions that read a version.
    #[inline]
    pub fn readers(&self, t: u32, key: u32) -> &[u32] {
        self.readers.of(self.write(t, key) as usize)
    }

    /// The last writer of a key among the transactions from `begin` to before `end`, which are of one chain.
    #[inline]
    pub fn last_writer(&self, key: u32, begin: u32, end: u32) -> Option<u32> {
        let writers = self.writers.of(key as usize);
        writers[..writers.partition_point(|&writer| writer < end)].last().copied().filter(|&writer| writer >= begin)
    }

    /// The writers of a key in a chain of transactions.
    pub fn writers_of_chain(&self, key: u32, chain: usize) -> &[u32] {
        let writers = self.writers.of(key as usize);
        let begin = writers.partition_point(|&writer| writer < self.view.starts[chain]);
        let end = begin + writers[begin..].partition_point(|&writer| writer < self.view.starts[chain + 1]);
        &writers[begin..end]
    }
}

/// Paths that cover all transactions, such that each reads from the one before it: what takes the place of sessions
/// where there are none. `line` is an order of reads-from and known versions.
pub fn cover(view: &TransactionView, line: &[u32]) -> Vec<Vec<u32>> {
    let mut chains: Vec<Vec<u32>> = Vec::new();
    // By transaction: the chain that ends with it.
    let mut ends = vec![NONE; view.len()];
    for &t in line.iter().filter(|&&t| (t as usize) < view.len()) {
        let sources = view.reads_of(t).iter().map(|read| read.source).filter(|&source| source != INIT);
        let tail = sources.filter(|&source| ends[source as usize] != NONE).max_by_key(|&s| view.places[s as usize][1]);
        let chain = if let Some(source) = tail {
            std::mem::replace(&mut ends[source as usize], NONE)
        } else {
            chains.push(Vec::new());
            chains.len() as u32 - 1
        };
        chains[chain as usize].push(t);
        ends[t as usize] = chain;
    }
    chains
}

/// The graph of a frame's base, with one vertex for each transaction and each cut.
pub fn base_graph(view: &TransactionView, sessions: Sessions) -> CommitGraph {
    let mut graph = crate::weak::causality(view, sessions);
    crate::weak::add_versions(view, &mut graph, |t| [t, t]);
    graph
}
