//! RF's Algorithm 5: the incremental check for `ra`, as printed, with the corrections that it needs.
//!
//! `HB` counts the events that happen before an event, by thread. Each chain of rmws has one clock `HBMO`: for each
//! thread, up to which of its events the writes of the location come before the chain, by `hb` or by the modification
//! order. These clocks are not kept closed. A read closes the part that it needs (lines 13 to 22).
//!
//! The corrections: initial writes come before all others, and a missing write is left out. Line 12 belongs into the
//! `else`. The right side of line 18 is `HB` of the top of the chain. In line 24 the clock of the thread becomes
//! `HB[e]` after the join. A second rmw of one write is refused. Line 30 means the own lane of `HB[e]`, less one.
//! `poPropagate` (not printed): the writes of the location that follow the top of a chain in its thread, and are of
//! other chains, get the `HBMO` of the chain.

use history::execution::Kind;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Online, Refused};

/// The top of the chain of an initial write.
const INITIAL: u32 = u32::MAX;

struct Write {
    thread: u32,
    /// Its place in its thread, from one.
    index: u32,
    /// TC: the first write of its chain.
    top: u32,
    /// PC: its place in the chain. The initial write has place zero.
    place: u32,
    hb: Vec<u32>,
    is_updated: bool,
}

/// The state: see the module.
#[derive(Default)]
pub struct Algorithm5 {
    /// By thread: what happens before its next event.
    current: Vec<Vec<u32>>,
    writes: Vec<Write>,
    /// HBMO, by the top of a chain. The chain of an initial write has none: nothing comes before it.
    hbmo: Vec<Vec<u32>>,
    /// By location and thread: the writes.
    lists: FxHashMap<(u32, u32), Vec<u32>>,
    /// The locations whose initial write has been updated.
    updated: FxHashSet<u32>,
}

fn join(into: &mut Vec<u32>, from: &[u32]) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    into.iter_mut().zip(from).for_each(|(lane, &count)| *lane = u32::max(*lane, count));
}

fn lane(clock: &[u32], thread: u32) -> u32 {
    clock.get(thread as usize).copied().unwrap_or(0)
}

impl Algorithm5 {
    /// Nothing has happened.
    pub fn new() -> Self {
        Self::default()
    }

    /// lastWriteBefore: the last write of a thread to a location among its first so many events.
    fn last_write_before(&self, thread: u32, location: u32, count: u32) -> Option<u32> {
        let list = self.lists.get(&(location, thread))?;
        let known = list.partition_point(|&write| self.writes[write as usize].index <= count);
        list[..known].last().copied()
    }

    /// Whether the chain of `top` is known to come before the chain of another write.
    fn is_before(&self, top: u32, other: u32) -> bool {
        let other = self.writes[other as usize].top;
        if top == INITIAL || other == INITIAL {
            return top == INITIAL;
        }
        let Write { thread, ref hb, .. } = self.writes[top as usize];
        lane(&self.hbmo[other as usize], thread) >= lane(hb, thread)
    }

    fn read(&mut self, thread: u32, location: u32, source: Option<u32>) -> Result<(), Refused> {
        let (top, place) = source.map_or((INITIAL, 0), |source| {
            let Write { top, place, .. } = self.writes[source as usize];
            (top, place)
        });
        let mut hb = self.current[thread as usize].clone();
        let mut before: Vec<u32> = Vec::new();
        let threads = self.current.len() as u32;
        for other in 0..threads {
            let Some(write) = self.last_write_before(other, location, lane(&hb, other)) else { continue };
            if Some(write) == source {
                continue;
            }
            let Write { top: of, place: at, .. } = self.writes[write as usize];
            if of == top {
                if place < at {
                    return Err(Refused);
                }
            } else {
                if self.is_before(top, write) {
                    return Err(Refused);
                }
                if of == INITIAL {
                    // The chain has no clock of what comes before it, but the write itself does.
                    join(&mut before, &self.writes[write as usize].hb);
                } else {
                    join(&mut before, &self.hbmo[of as usize]);
                }
            }
        }
        if hb.len() <= thread as usize {
            hb.resize(thread as usize + 1, 0);
        }
        hb[thread as usize] += 1;
        let mut changed: Vec<u32> = (0..threads).collect();
        while !changed.is_empty() {
            for other in std::mem::take(&mut changed) {
                let count = lane(&before, other);
                if lane(&hb, other) >= count {
                    continue;
                }
                let Some(write) = self.last_write_before(other, location, count) else { continue };
                if self.is_before(top, write) || self.writes[write as usize].top == top {
                    return Err(Refused);
                }
                let of = self.writes[write as usize].top;
                if of == INITIAL {
                    continue;
                }
                let clock = &self.hbmo[of as usize];
                for (at, &count) in (0..).zip(clock) {
                    if lane(&before, at) < count {
                        changed.push(at);
                    }
                }
                join(&mut before, clock);
            }
            changed.sort_unstable();
            changed.dedup();
        }
        if top != INITIAL {
            join(&mut self.hbmo[top as usize], &before);
        }
        if let Some(source) = source {
            join(&mut hb, &self.writes[source as usize].hb);
        }
        self.current[thread as usize] = hb;
        self.propagate(top, location);
        Ok(())
    }

    /// poPropagate.
    fn propagate(&mut self, top: u32, location: u32) {
        if top == INITIAL {
            return;
        }
        let Write { thread, index, .. } = self.writes[top as usize];
        let list = self.lists.get(&(location, thread)).map_or(&[][..], Vec::as_slice);
        let after = list.partition_point(|&write| self.writes[write as usize].index <= index);
        let clock = self.hbmo[top as usize].clone();
        for &write in &list[after..] {
            let of = self.writes[write as usize].top;
            if of != top && of != INITIAL {
                join(&mut self.hbmo[of as usize], &clock);
            }
        }
    }

    fn write(&mut self, thread: u32, location: u32, top: Option<u32>, place: u32) -> u32 {
        let name = self.writes.len() as u32;
        let top = top.unwrap_or(name);
        let hb = self.current[thread as usize].clone();
        let index = lane(&hb, thread);
        let last = self.last_write_before(thread, location, index - 1);
        self.writes.push(Write { thread, index, top, place, hb, is_updated: false });
        self.hbmo.push(Vec::new());
        if top != INITIAL {
            let mut clock = std::mem::take(&mut self.hbmo[top as usize]);
            join(&mut clock, &self.writes[name as usize].hb);
            if let Some(of) = last.map(|last| self.writes[last as usize].top).filter(|&of| of != top && of != INITIAL) {
                join(&mut clock, &self.hbmo[of as usize]);
            }
            self.hbmo[top as usize] = clock;
        }
        self.lists.entry((location, thread)).or_default().push(name);
        self.propagate(top, location);
        name
    }
}

impl Online for Algorithm5 {
    fn push(&mut self, thread: u32, kind: Kind, location: u32, source: Option<u32>) -> Result<Option<u32>, Refused> {
        if self.current.len() <= thread as usize {
            self.current.resize(thread as usize + 1, Vec::new());
        }
        match kind {
            Kind::Fence => Ok(None),
            Kind::Read => self.read(thread, location, source).map(|()| None),
            Kind::Write => {
                let clock = &mut self.current[thread as usize];
                clock.resize(clock.len().max(thread as usize + 1), 0);
                clock[thread as usize] += 1;
                Ok(Some(self.write(thread, location, None, 1)))
            }
            Kind::Rmw => {
                let is_updated = match source {
                    Some(source) => self.writes[source as usize].is_updated,
                    None => self.updated.contains(&location),
                };
                if is_updated {
                    return Err(Refused);
                }
                self.read(thread, location, source)?;
                let (top, place) = if let Some(source) = source {
                    let write = &mut self.writes[source as usize];
                    write.is_updated = true;
                    (write.top, write.place + 1)
                } else {
                    self.updated.insert(location);
                    (INITIAL, 1)
                };
                Ok(Some(self.write(thread, location, Some(top), place)))
            }
        }
    }
}
