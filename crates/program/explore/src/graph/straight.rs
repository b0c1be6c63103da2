//! One long run that is never taken back.
//!
//! In such a run the modification order of a location is the order in which its writes came, and S, the order of
//! sequentially consistent events, is the order in which these came. So an rmw reads the last write, and the writes
//! that a read may read are those from some number on. That number costs a look at each thread, however long the run
//! is. Every such run is an execution that the model allows: it only has fewer of them, namely those in which no write
//! goes before an earlier one, and no event before an earlier one in S.
//!
//! A read may not read a write before one of these:
//! - the value of the last access of each thread that happens before it;
//! - the same for what happens before the newest sequentially consistent fence that happens before it, or before an
//!   earlier one in S;
//! - if it is sequentially consistent, the last write of each thread that happens before any such fence;
//! - the last sequentially consistent write before that fence in S; if the read is one itself, the last of all.
//!
//! Under `tso` and `pso` a write reaches memory at once, and a read looks at memory at any moment since the last
//! moment of its thread: that of a read of another thread's write, of a fence, of an rmw. It sees its own writes. Under
//! `sc` there is only the last moment.

use super::{Graph, HAPPENS, INITIAL, NONE, count_within, last_within};
use crate::model::{Frame, Together};
use crate::program::{Order, Step};

/// How many of the newest writes a read may choose from.
const CHOICES: u32 = 64;

/// What is kept of the sequentially consistent events of a run, and of the moments of its threads.
#[derive(Debug, Default)]
pub(crate) struct Straight {
    /// How many sequentially consistent events there were.
    count: u32,
    /// By fence: its number in S.
    fences: Vec<u32>,
    /// By fence: what happens before it or an earlier one, a lane for each thread.
    clocks: Vec<u32>,
    /// By thread: its fences, each a place in the thread and the number of the fence.
    of_thread: Vec<Vec<[u32; 2]>>,
    /// By location: its sequentially consistent writes, each a number in S and one among the writes.
    writes: Vec<Vec<[u32; 2]>>,
    /// By thread: the last moment. A moment is a number of events.
    moments: Vec<u32>,
}

/// The lane of a thread in a list that may not have it.
fn lane(lanes: &[u32], thread: usize) -> u32 {
    lanes.get(thread).copied().unwrap_or(0)
}

fn at<T: Default>(list: &mut Vec<T>, at: usize) -> &mut T {
    if list.len() <= at {
        list.resize_with(at + 1, T::default);
    }
    &mut list[at]
}

impl Straight {
    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.fences.clear();
        self.clocks.clear();
        self.of_thread.iter_mut().for_each(Vec::clear);
        self.writes.iter_mut().for_each(Vec::clear);
        self.moments.clear();
    }

    /// What happens before a fence or an earlier one.
    fn clock(&self, fence: usize, width: usize) -> &[u32] {
        &self.clocks[fence * width..][..width]
    }

    /// Clocks have become wider.
    pub(super) fn widen(&mut self, old: usize, new: usize) {
        let mut clocks = vec![0; self.fences.len() * new];
        for fence in 0..self.fences.len() {
            clocks[fence * new..][..old].copy_from_slice(self.clock(fence, old));
        }
        self.clocks = clocks;
    }
}

impl Graph {
    /// The writes that a step may read, the oldest first, of a run that is never taken back.
    pub(crate) fn straight_sources(&self, thread: u32, step: Step, sources: &mut Vec<u32>) {
        let Some(location) = step.location() else { return };
        let of = &self.locations[location as usize];
        let last = of.writes.len() as u32 - 1;
        let oldest = self.oldest(thread as usize, step, location as usize);
        let numbers = oldest.max((last + 1).saturating_sub(CHOICES))..=last;
        let may_read = |&source: &u32| self.is_last_or_only_read(step, location, source);
        sources.extend(numbers.map(|number| of.writes[number as usize]).filter(may_read));
    }

    /// Whether a step may read this write, in a run that is never taken back.
    pub(super) fn straight_may_read(&self, thread: u32, step: Step, source: u32) -> bool {
        let Some(location) = step.location() else { return false };
        let count = self.locations[location as usize].writes.len() as u32;
        let number = self.write_number(source);
        number >= count.saturating_sub(CHOICES)
            && self.is_last_or_only_read(step, location, source)
            && number >= self.oldest(thread as usize, step, location as usize)
    }

    /// Whether a step accepts the value of a write, and if it would update it, the write is the last one.
    fn is_last_or_only_read(&self, step: Step, location: u32, source: u32) -> bool {
        let value = self.value_of(location, source);
        let writes = matches!(step, Step::Rmw { update, .. } if update.apply(value).is_some());
        step.until().is_none_or(|until| until.accepts(value))
            && (!writes || self.locations[location as usize].writes.last() == Some(&source))
    }

    /// The number of the oldest write that a step may read.
    fn oldest(&self, thread: usize, step: Step, location: usize) -> u32 {
        let (Some(straight), of) = (&self.straight, &self.locations[location]) else { return 0 };
        let own = of.rows.get(thread).and_then(|row| row.last()).map_or(0, |access| access.value);
        match self.together {
            Together::Order(Frame::Sc) => return of.writes.len() as u32 - 1,
            Together::Order(Frame::Tso | Frame::Pso) => {
                let moment = lane(&straight.moments, thread);
                let is_over = |&write: &u32| write == INITIAL || write < moment;
                return own.max(count_within(&of.writes, is_over) as u32 - 1);
            }
            _ => {}
        }
        let Some(&last) = self.threads[thread].last() else { return 0 };
        let clock = self.clock(last as usize, HAPPENS);
        let known = |clock: &[u32], writes_only: bool| {
            let of_row = |(row, &limit): (&Vec<super::Access>, &u32)| {
                let access = last_within(row, limit)?;
                Some(if writes_only { access.wrote } else { access.value }).filter(|&value| value != NONE)
            };
            of.rows.iter().zip(clock).filter_map(of_row).max().unwrap_or(0)
        };
        let mut oldest = known(clock, false);
        if self.together != Together::Psc || straight.count == 0 {
            return oldest;
        }
        let is_sequential = match step {
            Step::Read { order, .. } => order.is_sequential(),
            Step::Rmw { order, failure, .. } => order.is_sequential() || failure.is_sequential(),
            _ => false,
        };
        let newest = |(fences, &limit): (&Vec<[u32; 2]>, &u32)| {
            let known = count_within(fences, |&[index, _]| index <= limit);
            known.checked_sub(1).map(|last| fences[last][1])
        };
        let fence = straight.of_thread.iter().zip(clock).filter_map(newest).max();
        let mut before = 0;
        if let Some(fence) = fence {
            oldest = oldest.max(known(straight.clock(fence as usize, self.width), false));
            before = straight.fences[fence as usize];
        }
        if is_sequential {
            if let Some(last) = straight.fences.len().checked_sub(1) {
                oldest = oldest.max(known(straight.clock(last, self.width), true));
            }
            before = straight.count;
        }
        let writes = straight.writes.get(location).map_or(&[][..], Vec::as_slice);
        let earlier = count_within(writes, |&[number, _]| number < before);
        earlier.checked_sub(1).map_or(oldest, |last| oldest.max(writes[last][1]))
    }

    /// Remembers what an event means for later ones, if the run is never taken back.
    pub(super) fn note_straight(&mut self, slot: usize) {
        let Self { straight: Some(straight), events, width, clocks, .. } = self else { return };
        let event = &events[slot];
        let thread = event.thread as usize;
        let is_full = match event.step {
            Step::Fence(order) => order == Order::SequentiallyConsistent,
            Step::Rmw { .. } => event.writes,
            Step::Spawn(_) | Step::Begin | Step::Join(_) => true,
            _ => false,
        };
        let moment = at(&mut straight.moments, thread);
        if is_full {
            *moment = slot as u32 + 1;
        } else if event.source < super::NOTHING && events[event.source as usize].thread != event.thread {
            *moment = (*moment).max(event.source + 1);
        }
        if !event.order().is_sequential() {
            return;
        }
        let number = straight.count;
        straight.count += 1;
        match event.step {
            Step::Fence(_) => {
                let fence = straight.fences.len() as u32;
                straight.fences.push(number);
                at(&mut straight.of_thread, thread).push([event.index, fence]);
                let start = straight.clocks.len();
                let happens = &clocks[(slot * super::CLOCKS + HAPPENS) * *width..][..*width];
                straight.clocks.extend_from_slice(happens);
                if let Some(before) = start.checked_sub(*width) {
                    let (before, now) = straight.clocks[before..].split_at_mut(*width);
                    now.iter_mut().zip(before).for_each(|(lane, before)| *lane = (*lane).max(*before));
                }
            }
            _ if event.writes => {
                let location = event.step.location().map_or(0, |location| location as usize);
                at(&mut straight.writes, location).push([number, event.write]);
            }
            _ => {}
        }
    }
}
