//! A graph, and how it was built since the revisit that it began with.

use crate::graph::{Event, Graph, INITIAL, NONE, NOTHING};
use crate::model::Model;
use crate::program::Step;

use super::nexts::Nexts;

/// A point of choice, with the events that are above it in the graph.
#[derive(Clone, Debug)]
pub(super) enum Frame {
    /// An event without a choice.
    Plain,
    /// A choice among so many numbers: the one that was tried last, and the first that is not to be tried.
    Choice { slot: u32, thread: u32, count: u32, limit: u32, chosen: u32, stamp: u32 },
    /// A read or rmw. Its sources are in the list of the level, and the next one to try is the last.
    Read { slot: u32, thread: u32, step: Step, stamp: u32, bottom: usize, is_pushed: bool },
    /// A write, or the write of an rmw. If the graph with it is consistent, that graph is explored first. Then the
    /// reads that it revisits are in the list of the level. If the graph with it is not consistent, the write is not in
    /// the graph, and still revisits.
    Write { slot: u32, bottom: usize, is_revisiting: bool, is_in_graph: bool },
}

impl Frame {
    fn bottom(&self) -> Option<usize> {
        match *self {
            Self::Read { bottom, .. } | Self::Write { bottom, .. } => Some(bottom),
            Self::Plain | Self::Choice { .. } => None,
        }
    }

    fn bottom_mut(&mut self) -> Option<&mut usize> {
        match self {
            Self::Read { bottom, .. } | Self::Write { bottom, .. } => Some(bottom),
            Self::Plain | Self::Choice { .. } => None,
        }
    }
}

/// A graph, and how it was built since the revisit that it began with.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) graph: Graph,
    pub(super) frames: Vec<Frame>,
    /// The sources and reads of the frames.
    pub(super) list: Vec<u32>,
    /// The stamp of the next event.
    pub(super) stamp: u32,
    pub(super) nexts: Nexts,
}

impl Level {
    pub(super) fn new(model: Model) -> Self {
        Self { graph: Graph::new(model), frames: Vec::new(), list: Vec::new(), stamp: 0, nexts: Nexts::default() }
    }

    pub(super) fn take_stamp(&mut self) -> u32 {
        self.stamp += 1;
        self.stamp - 1
    }

    fn forget_next(&mut self) {
        if let Some(event) = self.graph.events.last() {
            self.nexts.forget(event.thread);
        }
    }

    /// Takes the last event back.
    pub(super) fn pop(&mut self) {
        self.forget_next();
        self.graph.pop();
    }

    /// Takes the last write back. Of an rmw, the read stays.
    pub(super) fn pop_part(&mut self) {
        if matches!(self.graph.events.last(), Some(Event { step: Step::Rmw { .. }, .. })) {
            self.graph.pop_update();
        } else {
            self.pop();
        }
    }

    /// Whether the graph is not to be explored, only what comes after it.
    pub(super) fn is_turning(&self) -> bool {
        matches!(self.frames.last(), Some(Frame::Write { is_in_graph: false, .. }))
    }

    pub(super) fn push_write_frame(&mut self, is_in_graph: bool) {
        let slot = self.graph.events.len() as u32 - 1;
        self.frames.push(Frame::Write { slot, bottom: self.list.len(), is_revisiting: false, is_in_graph });
    }

    /// Makes it a level at which nothing has been explored.
    pub(super) fn clear(&mut self) {
        self.graph.clear();
        self.frames.clear();
        self.list.clear();
        self.nexts.forget_all();
        self.stamp = 0;
    }

    /// Keeps one of the sources of the read on top.
    pub(super) fn keep_source(&mut self, at: usize) {
        let Some(&Frame::Read { bottom, .. }) = self.frames.last() else { return };
        let source = self.list[bottom + at];
        self.list.truncate(bottom);
        self.list.push(source);
    }

    /// The choice on top is another number.
    pub(super) fn choose(&mut self, thread: u32, count: u32, chosen: u32, stamp: u32) {
        self.pop();
        self.stamp = stamp + 1;
        self.graph.push_plain(thread, &Step::Choice(count), chosen.into(), stamp);
    }

    /// Gives the read on top its next source. The answer is whether the graph is to be explored.
    pub(super) fn try_next_source(&mut self) -> bool {
        let Some(&mut Frame::Read { thread, step, stamp, bottom, ref mut is_pushed, .. }) = self.frames.last_mut()
        else {
            return false;
        };
        let was_pushed = std::mem::replace(is_pushed, true);
        self.stamp = stamp + 1;
        if was_pushed {
            self.pop();
        }
        while self.list.len() > bottom
            && let Some(source) = self.list.pop()
        {
            if source == NOTHING {
                self.graph.push_waiting(thread, &step, stamp);
                self.forget_next();
                return true;
            }
            if self.graph.push_read(thread, &step, source, stamp) {
                self.forget_next();
                match self.settle() {
                    Settled::Consistent => return true,
                    // Of two rmws that update one write, the later can become the source of the earlier, unless it
                    // depends on it.
                    Settled::WithoutWrite => {
                        self.push_write_frame(false);
                        return false;
                    }
                    Settled::Inconsistent => self.graph.pop(),
                }
            }
        }
        self.frames.pop();
        false
    }

    /// Finds out whether the graph is consistent with the read on top, and if this is an rmw that succeeds, with its
    /// write, which it adds. Its frame is added, too.
    pub(super) fn settle(&mut self) -> Settled {
        let Some(event) = self.graph.events.last() else { return Settled::Inconsistent };
        let writes = matches!(event.step, Step::Rmw { update, .. } if update.apply(event.read).is_some());
        if !writes {
            return if self.graph.holds() { Settled::Consistent } else { Settled::Inconsistent };
        }
        let stamp = self.take_stamp();
        if let Some(event) = self.graph.events.last_mut() {
            event.stamps[1] = stamp;
        }
        if self.graph.push_update(stamp) {
            if self.graph.holds() {
                self.push_write_frame(true);
                return Settled::Consistent;
            }
            self.graph.pop_update();
        }
        if self.is_hopeless() || !self.graph.holds() { Settled::Inconsistent } else { Settled::WithoutWrite }
    }

    /// Whether the rmw on top depends on another one that updates the same write.
    fn is_hopeless(&self) -> bool {
        let slot = self.graph.events.len() - 1;
        let event = &self.graph.events[slot];
        let Some(location) = event.step.location() else { return true };
        let of = &self.graph.locations[location as usize];
        let updater = of.updaters[self.graph.write_number(event.source) as usize];
        updater != NONE && self.graph.stays_for(of.writes[updater as usize] as usize, slot)
    }

    /// Takes the alternatives of the lowest point of choice that has any, and makes a level of its own of them.
    pub(super) fn give(&mut self, model: Model, places: &mut Vec<u32>) -> Option<Self> {
        for at in 0..self.frames.len() {
            let top = self.frames[at + 1..].iter().find_map(Frame::bottom).unwrap_or(self.list.len());
            let (frame, slots, alternatives) = match self.frames[at] {
                Frame::Read { slot, thread, step, stamp, bottom, .. } if bottom < top => {
                    let frame = Frame::Read { slot, thread, step, stamp, bottom: 0, is_pushed: false };
                    (frame, slot, bottom..top)
                }
                Frame::Choice { slot, limit, chosen, .. } if chosen + 1 < limit => {
                    let given = self.frames[at].clone();
                    if let Frame::Choice { limit, .. } = &mut self.frames[at] {
                        *limit = chosen + 1;
                    }
                    (given, slot + 1, 0..0)
                }
                Frame::Write { slot, bottom, is_revisiting, is_in_graph } if !is_revisiting || bottom < top => {
                    self.frames[at] = Frame::Write { slot, bottom, is_revisiting: true, is_in_graph };
                    let alternatives = if is_revisiting { bottom..top } else { 0..0 };
                    (Frame::Write { slot, bottom: 0, is_revisiting, is_in_graph }, slot + 1, alternatives)
                }
                _ => continue,
            };
            let mut given = Self::new(model);
            prepare(&mut given.graph, &self.graph, places);
            for slot in 0..slots as usize {
                let is_allowed = copy(&self.graph, &mut given.graph, slot, false, places);
                debug_assert!(is_allowed, "a part of a consistent graph is consistent");
                // Also where the write is not in the graph.
                given.graph.events[slot].stamps = self.graph.events[slot].stamps;
            }
            let is_allowed = given.graph.holds();
            debug_assert!(is_allowed, "a part of a consistent graph is consistent");
            given.stamp = self.stamp;
            given.list.extend_from_slice(&self.list[alternatives.clone()]);
            given.frames.push(frame);
            self.list.drain(alternatives.clone());
            for later in &mut self.frames[at + 1..] {
                if let Some(bottom) = later.bottom_mut() {
                    *bottom -= alternatives.len();
                }
            }
            return Some(given);
        }
        None
    }

    /// Becomes the graph of another level in which a read gets a write as its source. The answer is whether that is
    /// consistent.
    pub(super) fn revisit(&mut self, from: &Self, write: u32, read: u32, places: &mut Vec<u32>) -> bool {
        self.clear();
        self.stamp = from.stamp;
        prepare(&mut self.graph, &from.graph, places);
        let until = from.graph.events[read as usize].stamps[0];
        for slot in 0..from.graph.events.len() {
            let stays = from.graph.stays_for(slot, write as usize)
                || slot != read as usize && first_stamp(&from.graph.events[slot]) < until;
            if stays && !copy(&from.graph, &mut self.graph, slot, slot == write as usize, places) {
                return false;
            }
        }
        let Event { thread, step, stamps, .. } = from.graph.events[read as usize];
        if !self.graph.push_read(thread, &step, places[write as usize], stamps[0]) {
            return false;
        }
        match self.settle() {
            Settled::Consistent => true,
            Settled::WithoutWrite => {
                self.push_write_frame(false);
                true
            }
            Settled::Inconsistent => false,
        }
    }
}

/// Whether a graph is consistent with the event on top.
pub(super) enum Settled {
    Consistent,
    /// It is an rmw, and the graph is only consistent without its write.
    WithoutWrite,
    Inconsistent,
}

/// When the event was added.
pub(super) fn first_stamp(event: &Event) -> u32 {
    event.stamps[0].min(event.stamps[1])
}

/// Makes an empty graph ready for events of another.
pub(super) fn prepare(graph: &mut Graph, from: &Graph, places: &mut Vec<u32>) {
    places.clear();
    places.resize(from.events.len(), NONE);
    for thread in 0..from.thread_count() {
        graph.admit_thread(thread);
    }
    graph.copy_kinds(from);
    for location in graph.location_count() as usize..from.locations.len() {
        graph.admit_location(from.locations[location].initial);
    }
}

/// Pushes an event of one graph on another. The write of an rmw comes with it if it is in the graph, or if asked for.
pub(super) fn copy(from: &Graph, to: &mut Graph, slot: usize, with_write: bool, places: &mut [u32]) -> bool {
    let event = &from.events[slot];
    places[slot] = to.events.len() as u32;
    match event.step {
        Step::Write { .. } => to.push_write(event.thread, &event.step, event.stamps[1]),
        Step::Read { .. } | Step::Rmw { .. } if event.waits() => {
            to.push_waiting(event.thread, &event.step, event.stamps[0]);
        }
        Step::Read { .. } | Step::Rmw { .. } => {
            let source = if event.source == INITIAL { INITIAL } else { places[event.source as usize] };
            let is_rmw = matches!(event.step, Step::Rmw { .. });
            return to.push_read(event.thread, &event.step, source, event.stamps[0])
                && (!(event.writes || with_write && is_rmw) || to.push_update(event.stamps[1]));
        }
        _ => to.push_plain(event.thread, &event.step, event.read, event.stamps[0]),
    }
    true
}
