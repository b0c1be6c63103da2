//! The rules of the levels that are saturated, over the saturation engine and any [`CommitFrame`].
//!
//! For t3 reading x from t1 and another writer t2 of x, t2 ≠ t3:
//! - (a) W_t2 < R_t3 implies that t2 is before t1;
//! - (b) t1 before t2 implies R_t3 < W_t2, except under `parallel-snapshot-isolation`, whose order is visibility;
//! - (c) under `snapshot-isolation`, for two writers t, u of a key: R_u < W_t implies W_u < R_t.
//!
//! Of each chain, only the last writer of a key within a clock matters to (a), and to (b) as the earlier version:
//! earlier writers of the chain come before it, and so do their readers. To (b) as the later version, only the first
//! writer matters. The two events of a transaction enter one right after the other.

use order::Saturation;
use order::saturation::{Derived, NONE, Rules};

use crate::Strong;
use crate::frame::CommitFrame;
use crate::view::{ExternalRead, INIT};

/// The rule by which a derived edge holds, in [`Derived::reason`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Rule (a), by the operation that reads.
    Overwritten(u32),
    /// Rule (b), by the operation that reads.
    AntiDependency(u32),
    /// Rule (c), by the key.
    Conflict(u32),
}

/// Operations and keys have smaller numbers.
pub const MOST: u32 = 1 << 30;

impl Reason {
    /// As a number.
    pub fn encode(self) -> u32 {
        match self {
            Self::Overwritten(read) => read,
            Self::AntiDependency(read) => MOST + read,
            Self::Conflict(key) => 2 * MOST + key,
        }
    }

    /// From its number.
    pub fn decode(number: u32) -> Self {
        match (number / MOST, number % MOST) {
            (0, read) => Self::Overwritten(read),
            (1, read) => Self::AntiDependency(read),
            (_, key) => Self::Conflict(key),
        }
    }
}

/// The rules, and which writers have entered.
pub struct LevelRules<'a> {
    frame: &'a CommitFrame<'a>,
    lanes: usize,
    /// By key and chain: one more than the last writer that has entered. Zero if none has.
    last_write: Vec<u32>,
    /// By key: the writer that entered last, or [`NONE`].
    latest: Vec<u32>,
}

impl<'a> LevelRules<'a> {
    /// The rules for a frame, of which no event has entered.
    pub fn new(frame: &'a CommitFrame<'a>, order: &Saturation) -> Self {
        let lanes = order.lanes();
        Self { frame, lanes, last_write: vec![0; frame.view.keys * lanes], latest: vec![NONE; frame.view.keys] }
    }

    /// The chains with writers of a key that have entered, and the last of each.
    fn chains(&self, key: u32) -> impl Iterator<Item = (usize, u32)> {
        let row = &self.last_write[key as usize * self.lanes..][..self.lanes];
        row.iter().enumerate().filter(|(_, last)| **last > 0).map(|(lane, &last)| (lane, last - 1))
    }

    /// The last writer of a key in a chain whose writes are visible before an entry of a clock.
    fn last_before(&self, key: u32, lane: usize, last: u32, entry: u32) -> Option<u32> {
        let (_, end) = self.frame.writers_in(0, entry);
        if last < end { Some(last) } else { self.frame.last_writer(key, self.frame.view.starts[lane], end) }
    }

    fn entered_read(&self, order: &Saturation, event: u32, t3: u32, read: &ExternalRead, derived: &mut Vec<Derived>) {
        let frame = self.frame;
        let clock = order.clock(event);
        let overwritten = Reason::Overwritten(read.operation).encode();
        let anti = Reason::AntiDependency(read.operation).encode();
        if read.source == INIT {
            for (lane, last) in self.chains(read.key) {
                let Some(&first) = frame.writers_of_chain(read.key, lane).first() else { continue };
                if first > last || first == t3 {
                    continue;
                }
                if frame.w(first) < clock[lane] {
                    derived.push(Derived { from: frame.w(first), to: NONE, reason: overwritten });
                } else if frame.level != Strong::Parallel {
                    derived.push(Derived { from: event, to: frame.w(first), reason: anti });
                }
            }
            return;
        }
        let t1 = read.source;
        let target = frame.anchor(t1);
        let known = order.clock(target);
        for (lane, last) in self.chains(read.key) {
            if frame.w(last) < known[lane] {
                // All writers of the chain are before the source.
                continue;
            }
            if clock[lane] > known[lane]
                && let Some(t2) = self.last_before(read.key, lane, last, clock[lane])
                && t2 != t1
                && t2 != t3
                && frame.w(t2) >= known[lane]
            {
                derived.push(Derived { from: frame.w(t2), to: target, reason: overwritten });
            }
            if frame.level != Strong::Parallel {
                let writers = frame.writers_of_chain(read.key, lane);
                let writers = &writers[..writers.partition_point(|&writer| writer <= last)];
                let is_later = |t2: u32| t2 != t1 && order.before(frame.w(t1), frame.anchor(t2));
                let first = writers.partition_point(|&t2| !is_later(t2));
                if let Some(&t2) = writers.get(first)
                    && t2 != t3
                    && !order.before(event, frame.w(t2))
                {
                    derived.push(Derived { from: event, to: frame.w(t2), reason: anti });
                }
            }
        }
    }

    fn entered_write(&self, order: &Saturation, event: u32, t2: u32, key: u32, derived: &mut Vec<Derived>) {
        let frame = self.frame;
        if frame.level == Strong::Parallel {
            return;
        }
        if self.last_write[key as usize * self.lanes + order.chain(event)] == 0 {
            for &t3 in frame.initial_readers.of(key as usize) {
                self.anti_dependency(order, t3, t2, key, derived);
            }
        }
        let clock = order.clock(frame.anchor(t2));
        // What is before another writer that is before this one has been dealt with there.
        let latest = self.latest[key as usize];
        let is_after = latest != NONE && order.before(frame.w(latest), frame.anchor(t2));
        let known = is_after.then(|| order.clock(frame.anchor(latest)));
        for (lane, last) in self.chains(key) {
            if let Some(t1) = self.last_before(key, lane, last, clock[lane])
                && t1 != t2
                && (t1 == latest || known.is_none_or(|known| frame.w(t1) >= known[lane]))
            {
                for &t3 in frame.readers(t1, key) {
                    self.anti_dependency(order, t3, t2, key, derived);
                }
            }
            if frame.level == Strong::Snapshot {
                let (_, end) = frame.readers_in(0, order.clock(event)[lane]);
                let earlier =
                    if last < end { Some(last) } else { frame.last_writer(key, frame.view.starts[lane], end) };
                if let Some(u) = earlier {
                    self.conflict(order, u, t2, key, derived);
                }
                // A writer that is after the reads of this one, whose writes had not entered then.
                let writers = frame.writers_of_chain(key, lane);
                let writers = &writers[..writers.partition_point(|&writer| writer <= last)];
                let first = writers.partition_point(|&t| t == t2 || !order.before(frame.r(t2), frame.w(t)));
                if let Some(&t) = writers.get(first) {
                    self.conflict(order, t2, t, key, derived);
                }
            }
        }
    }

    /// Rule (b) for a reader of a version before that of `t2`.
    fn anti_dependency(&self, order: &Saturation, t3: u32, t2: u32, key: u32, derived: &mut Vec<Derived>) {
        let frame = self.frame;
        let (from, to) = (frame.r(t3), frame.w(t2));
        if t3 == t2 || !order.is_in(from) || !order.is_in(to) || order.before(from, to) {
            return;
        }
        let Some(read) = frame.view.reads_of(t3).iter().find(|read| read.key == key) else { return };
        derived.push(Derived { from, to, reason: Reason::AntiDependency(read.operation).encode() });
    }

    /// Rule (c).
    fn conflict(&self, order: &Saturation, u: u32, t: u32, key: u32, derived: &mut Vec<Derived>) {
        let (from, to) = (self.frame.w(u), self.frame.r(t));
        if u != t && order.is_in(from) && order.is_in(to) && !order.before(from, to) {
            derived.push(Derived { from, to, reason: Reason::Conflict(key).encode() });
        }
    }
}

impl Rules for LevelRules<'_> {
    fn entered(&mut self, order: &Saturation, event: u32, derived: &mut Vec<Derived>) {
        let frame = self.frame;
        let Some(t) = frame.transaction(event) else { return };
        if frame.is_read(event) {
            for read in frame.view.reads_of(t) {
                self.entered_read(order, event, t, read, derived);
            }
        }
        if frame.is_write(event) {
            for write in frame.view.writes_of(t) {
                self.entered_write(order, event, t, write.key, derived);
            }
            let chain = order.chain(event);
            for write in frame.view.writes_of(t) {
                self.last_write[write.key as usize * self.lanes + chain] = t + 1;
                self.latest[write.key as usize] = t;
            }
        }
    }

    fn grown(&mut self, order: &Saturation, event: u32, chain: usize, old: u32, new: u32, derived: &mut Vec<Derived>) {
        let frame = self.frame;
        let Some(t) = frame.transaction(event) else { return };
        if frame.starts[chain] >= frame.events {
            return;
        }
        let old = old.max(order.start(chain));
        let (begin, end) = frame.writers_in(old, new);
        if frame.is_read(event) {
            for read in frame.view.reads_of(t) {
                let Some(t2) = frame.last_writer(read.key, begin, end) else { continue };
                if t2 == t || t2 == read.source {
                    continue;
                }
                let reason = Reason::Overwritten(read.operation).encode();
                if read.source == INIT {
                    derived.push(Derived { from: frame.w(t2), to: NONE, reason });
                } else if !order.before(frame.w(t2), frame.anchor(read.source)) {
                    derived.push(Derived { from: frame.w(t2), to: frame.anchor(read.source), reason });
                }
            }
        }
        if frame.level != Strong::Parallel && event == frame.anchor(t) {
            for write in frame.view.writes_of(t) {
                if let Some(t1) = frame.last_writer(write.key, begin, end).filter(|&t1| t1 != t) {
                    for &t3 in frame.readers(t1, write.key) {
                        self.anti_dependency(order, t3, t, write.key, derived);
                    }
                }
            }
        }
        if frame.level == Strong::Snapshot && frame.is_write(event) {
            let (begin, end) = frame.readers_in(old, new);
            for write in frame.view.writes_of(t) {
                if let Some(u) = frame.last_writer(write.key, begin, end) {
                    self.conflict(order, u, t, write.key, derived);
                }
            }
        }
    }
}
