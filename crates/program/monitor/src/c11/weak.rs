//! `wra`, event by event: a read of w must not know of a write of the location that knows of w, and no two rmws read
//! one write.
//!
//! Events arrive after their `po`-predecessors and sources, so what an event knows of never grows later. A clock counts
//! the writes of each thread that are known of. Of each thread, only the last write of the location that a read knows
//! of has to be looked at: what knows of w in a thread, every later event of the thread knows of.
//!
//! A write can be forgotten if some write of its location knows of it, and every thread knows of that one: nobody may
//! read it any more, and it refutes nothing that the other does not refute.

use history::execution::Kind;
use memory::c11::{C11Violation, Refused, WriteId};
use serde::{Deserialize, Serialize};

/// As many writes of a thread can be counted.
const MOST: u32 = 1 << 31;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Write {
    thread: u32,
    /// Which write of its thread it is, from one.
    place: u32,
    location: u32,
    /// The number of the event.
    event: u64,
    /// What it knows of, itself included.
    clock: Vec<u32>,
    /// The rmw that reads it.
    updated: Option<u64>,
}

/// What is known of a location.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Location {
    /// By thread: its writes that are not forgotten, in program order.
    rows: Vec<Vec<u32>>,
    /// The rmw that reads the initial write.
    updated: Option<u64>,
}

/// An execution that grows by one event at a time, and that `wra` always allows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Weak {
    /// By thread: what it knows of. Lanes that are not there are zero.
    clocks: Vec<Vec<u32>>,
    /// By number. A number that is free has no write.
    writes: Vec<Option<Write>>,
    free: Vec<u32>,
    locations: Vec<Location>,
}

fn lane(clock: &[u32], thread: usize) -> u32 {
    clock.get(thread).copied().unwrap_or(0)
}

fn join(clock: &mut Vec<u32>, other: &[u32]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (lane, &other) in clock.iter_mut().zip(other) {
        *lane = other.max(*lane);
    }
}

impl Weak {
    /// How many writes are remembered.
    pub(super) fn size(&self) -> usize {
        self.writes.len() - self.free.len()
    }

    fn write(&self, number: u32) -> &Write {
        self.writes[number as usize].as_ref().expect("a write that is not forgotten")
    }

    /// Appends an event, or refuses it. The source is `None` for the initial write.
    pub(super) fn push(
        &mut self,
        number: u64,
        thread: u32,
        kind: Kind,
        location: u32,
        source: Option<WriteId>,
    ) -> Result<Option<WriteId>, Refused> {
        if kind == Kind::Fence {
            return Ok(None);
        }
        let at = thread as usize;
        if self.clocks.len() <= at {
            self.clocks.resize(at + 1, Vec::new());
        }
        if self.locations.len() <= location as usize {
            self.locations.resize(location as usize + 1, Location::default());
        }
        if kind.writes() && lane(&self.clocks[at], at) >= MOST {
            return Err(Refused::Full);
        }
        if kind.reads() {
            let clock = self.knows(thread, kind, location, source)?;
            self.clocks[at] = clock;
            if kind == Kind::Rmw {
                let updated = match source {
                    None => &mut self.locations[location as usize].updated,
                    Some(source) => &mut self.writes[source.index()].as_mut().expect("it was read").updated,
                };
                *updated = Some(number);
            }
        }
        if !kind.writes() {
            return Ok(None);
        }
        let clock = &mut self.clocks[at];
        if clock.len() <= at {
            clock.resize(at + 1, 0);
        }
        clock[at] += 1;
        let write = Write { thread, place: clock[at], location, event: number, clock: clock.clone(), updated: None };
        let name = self.free.pop().unwrap_or_else(|| {
            self.writes.push(None);
            self.writes.len() as u32 - 1
        });
        self.writes[name as usize] = Some(write);
        let rows = &mut self.locations[location as usize].rows;
        if rows.len() <= at {
            rows.resize(at + 1, Vec::new());
        }
        rows[at].push(name);
        Ok(Some(WriteId::new(name)))
    }

    /// What a read would know of, or why it is refused.
    fn knows(&self, thread: u32, kind: Kind, location: u32, source: Option<WriteId>) -> Result<Vec<u32>, Refused> {
        let mut clock = self.clocks.get(thread as usize).cloned().unwrap_or_default();
        let place = self.locations.get(location as usize);
        let source = source.map(|source| self.write(source.index() as u32));
        if let Some(source) = source {
            if source.location != location {
                return Err(Refused::Source);
            }
            join(&mut clock, &source.clock);
        }
        let updated = source.map_or_else(|| place.and_then(|it| it.updated), |source| source.updated);
        if let Some(by) = updated.filter(|_| kind == Kind::Rmw) {
            return Err(C11Violation::UpdatedTwice { by }.into());
        }
        for (other, row) in place.into_iter().flat_map(|it| it.rows.iter().enumerate()) {
            let known = row.partition_point(|&it| self.write(it).place <= lane(&clock, other));
            let Some(last) = known.checked_sub(1).map(|at| self.write(row[at])) else { continue };
            let is_later = source.is_none_or(|source| {
                let is_other = (source.thread, source.place) != (last.thread, last.place);
                is_other && lane(&last.clock, source.thread as usize) >= source.place
            });
            if is_later {
                return Err(C11Violation::Overwritten { known: last.event }.into());
            }
        }
        Ok(clock)
    }

    /// The writes that a read or rmw could read from, if it were the next event of its thread: the oldest first. `None`
    /// is the initial write.
    pub(super) fn may_read_from(&self, thread: u32, kind: Kind, location: u32) -> Vec<Option<WriteId>> {
        let rows = self.locations.get(location as usize).into_iter().flat_map(|it| it.rows.iter().flatten());
        let mut writes: Vec<u32> = rows.copied().collect();
        writes.sort_unstable_by_key(|&write| self.write(write).event);
        let sources = [None].into_iter().chain(writes.into_iter().map(|write| Some(WriteId::new(write))));
        sources.filter(|&source| self.knows(thread, kind, location, source).is_ok()).collect()
    }

    /// Forgets the writes that no thread can read any more, if there are only so many threads. The answer is the writes
    /// that were forgotten.
    pub(super) fn retire(&mut self, threads: usize) -> Vec<WriteId> {
        let known: Vec<u32> = (0..threads)
            .map(|lane_of| {
                (0..threads).map(|it| self.clocks.get(it).map_or(0, |it| lane(it, lane_of))).min().unwrap_or(0)
            })
            .collect();
        let mut forgotten = Vec::new();
        for location in 0..self.locations.len() {
            let rows = &self.locations[location].rows;
            let common = |(thread, row): (usize, &Vec<u32>)| {
                let count = row.partition_point(|&it| self.write(it).place <= lane(&known, thread));
                count.checked_sub(1).map(|at| row[at])
            };
            let common: Vec<u32> = rows.iter().enumerate().filter_map(common).collect();
            let is_dead = |it: u32| {
                let write = self.write(it);
                let knows = |&other: &u32| lane(&self.write(other).clock, write.thread as usize) >= write.place;
                common.iter().any(|other| *other != it && knows(other))
            };
            let dead: Vec<u32> = rows.iter().flatten().copied().filter(|&it| is_dead(it)).collect();
            for row in &mut self.locations[location].rows {
                row.retain(|it| !dead.contains(it));
            }
            for it in dead {
                self.writes[it as usize] = None;
                self.free.push(it);
                forgotten.push(WriteId::new(it));
            }
        }
        forgotten
    }
}
