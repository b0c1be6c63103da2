//! To try an event and take it back.
//!
//! From the first [mark](Incremental::mark) on, each event that is accepted leaves behind what it is about to change:
//! the clocks of its thread, what was heard of before the chain that it extends, the ends of the rows of its location,
//! and, if chains change their places, that part of the order. Nothing else of what was there changes: writes and
//! accesses are added at the end. So to undo an event costs about as much as to push it, however long the execution is.
//! Numbers of writes come back in the reverse order, so the same events get the same names again.
//!
//! Room that was made for threads and locations stays. What is forgotten cannot be brought back:
//! [`Incremental::retire`] makes all marks void.

use history::MemoryOrder;
use history::execution::Kind;

use super::super::clocks::{copy, with_width};
use super::chains::Tails;
use super::{Incremental, NOBODY, Reading, Refused, WriteId};

/// A moment of an [`Incremental`], to which it can be brought back.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    epoch: u64,
    changes: usize,
}

/// What an event was about to change.
#[derive(Clone, Debug)]
struct Change {
    /// The number that the event got.
    next: u64,
    thread: u32,
    kind: Kind,
    location: u32,
    /// How many accesses the row of the thread had.
    accesses: usize,
    /// The write that it reads, what followed that in its chain, and the chain; [`NOBODY`] if it does not read.
    target: u32,
    following: u32,
    chain: u32,
    /// The write that it has made.
    write: u32,
    /// The rank from which on chains have changed their places, and how many.
    moved: [usize; 2],
    /// How wide clocks were.
    width: usize,
}

/// What events have changed, the newest last.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    is_kept: bool,
    /// How often all marks have become void.
    epoch: u64,
    changes: Vec<Change>,
    /// By change: the three clocks of the thread, and the clock of the chain if the event reads.
    clocks: Vec<u32>,
    /// By change of a location: its tails.
    tails: Vec<Tails>,
    /// The chains that have changed their places.
    order: Vec<u32>,
}

impl Trail {
    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// All marks are void.
    pub(super) fn clear(&mut self) {
        self.epoch += 1;
        self.is_kept = false;
        self.changes.clear();
        self.clocks.clear();
        self.tails.clear();
        self.order.clear();
    }
}

/// Removes as many items from the end of a list, and hands them over.
fn take_last<T>(list: &mut Vec<T>, count: usize, use_them: impl FnOnce(&[T])) {
    let start = list.len() - count;
    use_them(&list[start..]);
    list.truncate(start);
}

impl Incremental {
    /// Remembers this moment. From now on, until [`Self::retire`] is called, every accepted event can be undone, and
    /// costs a little more.
    ///
    /// ```
    /// use history::MemoryOrder::Relaxed;
    /// use history::execution::Kind::{Read, Write};
    /// use memory::c11::Incremental;
    ///
    /// let mut execution = Incremental::rc20();
    /// let one = execution.push(0, Write, 0, Relaxed, None)?;
    /// let before = execution.mark();
    /// execution.push(1, Read, 0, Relaxed, one)?;
    /// // Thread 1 has read the new value, and cannot read the old one any more.
    /// assert!(execution.push(1, Read, 0, Relaxed, None).is_err());
    /// assert!(execution.undo(before));
    /// execution.push(1, Read, 0, Relaxed, None)?;
    /// # Ok::<(), memory::c11::Refused>(())
    /// ```
    pub fn mark(&mut self) -> Mark {
        self.trail.is_kept = true;
        Mark { epoch: self.trail.epoch, changes: self.trail.changes.len() }
    }

    /// Takes back every event that was accepted since a mark. The execution answers every question as it did then, and
    /// later marks are void. False, and nothing happens, if the mark is void: events were forgotten since
    /// ([`Self::retire`]), or it was undone beyond it.
    pub fn undo(&mut self, mark: Mark) -> bool {
        if mark.epoch != self.trail.epoch || mark.changes > self.trail.changes.len() {
            return false;
        }
        while self.trail.changes.len() > mark.changes
            && let Some(change) = self.trail.changes.pop()
        {
            self.undo_one(&change);
        }
        true
    }

    /// Pushes an event, and remembers what it changes.
    #[cold]
    pub(super) fn push_kept(
        &mut self,
        thread: usize,
        kind: Kind,
        location: usize,
        order: MemoryOrder,
        source: Option<WriteId>,
    ) -> Result<u32, Refused> {
        self.make_room(thread, if kind == Kind::Fence { 0 } else { location });
        let mut change = Change {
            next: self.next,
            thread: thread as u32,
            kind,
            location: location as u32,
            accesses: 0,
            target: NOBODY,
            following: NOBODY,
            chain: NOBODY,
            write: NOBODY,
            moved: [0; 2],
            width: self.width,
        };
        let lengths = [self.trail.clocks.len(), self.trail.tails.len(), self.trail.order.len()];
        let width = self.width;
        for clocks in [&self.current, &self.pending, &self.published] {
            self.trail.clocks.extend_from_slice(&clocks[thread * width..][..width]);
        }
        if kind != Kind::Fence {
            self.trail.tails.extend_from_slice(&self.tails[location * (width / 4)..][..width / 4]);
            let of_location = &self.locations[location];
            change.accesses = of_location.row(thread).map_or(0, |row| of_location.rows[row].list.len());
        }
        let answer = match kind {
            Kind::Fence => self.push_fence(thread, order),
            Kind::Write => self.push_write(thread, location, order),
            Kind::Read | Kind::Rmw => {
                let reading = Reading { thread, is_rmw: kind == Kind::Rmw, location, order, source };
                self.keep_reading(&reading, &mut change);
                self.push_reading(&reading)
            }
        };
        if let Ok(write) = answer {
            self.trail.changes.push(Change { write, ..change });
        } else {
            self.trail.clocks.truncate(lengths[0]);
            self.trail.tails.truncate(lengths[1]);
            self.trail.order.truncate(lengths[2]);
        }
        answer
    }

    /// Remembers what a read or rmw changes of its chain, if it is accepted.
    fn keep_reading(&mut self, reading: &Reading, change: &mut Change) {
        if !with_width!(self.width, width => self.may_push(width, reading)) {
            return;
        }
        let Self { chains, locations, trail, width, .. } = self;
        let of_location = &locations[reading.location];
        let target = reading.source.map_or(of_location.initial, |source| source.0);
        let write = &chains.writes[target as usize];
        (change.target, change.following, change.chain) = (target, write.next, write.place[0]);
        let chain = write.place[0] as usize;
        trail.clocks.extend_from_slice(&chains.clocks[(2 * chain + 1) * *width..][..*width]);
        if let Some(highest) = chains.behind.iter().map(|&chain| chains.writes[chain as usize].rank).max() {
            let lowest = chains.writes[chain].rank as usize;
            let moved = &of_location.order[lowest..=highest as usize];
            change.moved = [lowest, moved.len()];
            trail.order.extend_from_slice(moved);
        }
    }

    fn undo_one(&mut self, change: &Change) {
        let &Change { next, thread, kind, location, accesses, target, following, chain, write, moved, width } = change;
        let (thread, location) = (thread as usize, location as usize);
        let Self { chains, locations, trail, tails, current, pending, published, .. } = self;
        let wide = self.width;
        // Clocks may have become wider, and what they then got is new.
        let restore = |clock: &mut [u32], old: &[u32]| {
            copy(&mut clock[..width], old);
            clock[width..].fill(0);
        };
        self.next = next;
        if kind.reads() {
            take_last(&mut trail.clocks, width, |old| {
                restore(&mut chains.clocks[(2 * chain as usize + 1) * wide..][..wide], old);
            });
            chains.writes[target as usize].next = following;
        }
        take_last(&mut trail.clocks, 3 * width, |old| {
            for (clocks, old) in [current, pending, published].into_iter().zip(old.chunks_exact(width)) {
                restore(&mut clocks[thread * wide..][..wide], old);
            }
        });
        if kind == Kind::Fence {
            return;
        }
        let of_location = &mut locations[location];
        if let Ok(row) = of_location.row(thread) {
            of_location.rows[row].list.truncate(accesses);
        }
        if write != NOBODY {
            if kind == Kind::Write {
                of_location.order.pop();
            }
            chains.free(write);
        }
        take_last(&mut trail.order, moved[1], |old| {
            of_location.order[moved[0]..][..moved[1]].copy_from_slice(old);
            for (&chain, rank) in old.iter().zip(moved[0]..) {
                chains.writes[chain as usize].rank = rank as u32;
            }
        });
        let of_location = &mut tails[location * (wide / 4)..][..wide / 4];
        take_last(&mut trail.tails, width / 4, |old| {
            of_location[..width / 4].copy_from_slice(old);
            of_location[width / 4..].fill(Tails::default());
        });
    }
}
