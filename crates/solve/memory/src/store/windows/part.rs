//! A window as an execution: its events, its echoes, and what is taken of its interleaving. The [module above](super)
//! says what these are.
//!
//! The events of a part are those of the window, thread by thread, and at the end of each thread its echoes. Locations
//! have numbers of their own, so a part costs what its window contains.
//!
//! Invariant: a read of a part has its source in the part, or reads the initial write, which stands for what is in
//! memory when the window begins. (A window that is [explained](Early::Explained) has no reads of the latter kind.)

use history::execution::{Event, EventId, Kind, LocationId, ThreadId};
use history::{Execution, MemoryOrder};
use model::{Derivation, GaveUp};
use order::Saturation;
use order::lanes::lanes;
use order::saturation::NONE;

use super::super::cycle_of;
use super::super::frame::{Frame, Relaxation};
use super::super::saturate::Saturated;
use super::{Halted, Memory, Rest, Window, interleaving};
use crate::writes::Readers;
use crate::{Limits, check_room_for, tso};

/// What becomes of a read in a window whose source is before the window.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Early {
    /// It reads the initial write.
    Initial,
    /// It is left out, and locations keep their numbers, because the window is to be explained.
    Explained,
}

/// A window as an execution, whose memory is used again for the next.
pub struct Part<'a> {
    whole: &'a Execution,
    execution: Execution,
    /// The number of each location in the part; [`NONE`] if it has none.
    numbers: Vec<u32>,
    /// The locations that have one.
    numbered: Vec<LocationId>,
    /// The echoes: reads beyond the window, each with the thread at whose end it is added.
    echoes: Vec<(u32, u32)>,
    /// The number in the execution of each event of the part; [`NONE`] for an echo.
    pub origins: Vec<u32>,
    /// How many windows there were. By location: the last window in which the readers of the write in memory were
    /// looked for.
    windows: u32,
    heard: Vec<u32>,
    /// By slot of a write: the last window in which it had an echo.
    echoed: Vec<u32>,
    /// By location: twice the number of the last window that writes it, and one more if the window has several writes.
    written: Vec<u32>,
    /// By location: twice the number of the last window that left an access of it, and one more if it left a write.
    left: Vec<u32>,
}

impl<'a> Part<'a> {
    pub fn new(whole: &'a Execution, readers: &Readers) -> Self {
        Self {
            whole,
            execution: Execution::default(),
            numbers: vec![NONE; whole.location_count()],
            numbered: Vec::new(),
            echoes: Vec::new(),
            origins: Vec::new(),
            windows: 0,
            heard: vec![0; whole.location_count()],
            echoed: vec![0; readers.slot_count()],
            written: vec![0; whole.location_count()],
            left: vec![0; whole.location_count()],
        }
    }

    /// Finds the echoes of a window.
    pub fn find_echoes(&mut self, window: &Window, readers: &Readers, memory: &Memory) {
        self.echoes.clear();
        self.windows += 1;
        let once = 2 * self.windows;
        for event in window.events().map(|id| self.whole.events()[id as usize]).filter(|event| event.kind.writes()) {
            let written = &mut self.written[event.location.index()];
            *written = once + u32::from(*written >= once);
        }
        for id in window.events() {
            let event = self.whole.events()[id as usize];
            if event.kind.writes() {
                // The only write of a location is not overwritten in the window. If there are many locations, most
                // writes have readers beyond the window.
                if self.written[event.location.index()] > once {
                    self.find_echoes_of(id as usize, readers, window);
                }
                let location = event.location.index();
                if self.heard[location] != self.windows {
                    self.heard[location] = self.windows;
                    self.find_echoes_of(memory.0[location], readers, window);
                }
            }
        }
        self.echoes.sort_unstable();
    }

    /// Finds the echoes of the write of a slot.
    fn find_echoes_of(&mut self, slot: usize, readers: &Readers, window: &Window) {
        let mut reads = readers.slot(slot);
        while let Some(&read) = reads.first() {
            let thread = self.whole.threads()[read as usize].index();
            let past = if read < window.ends[thread] {
                window.ends[thread]
            } else {
                self.echoes.push((thread as u32, read));
                self.echoed[slot] = self.windows;
                self.whole.starts()[thread + 1]
            };
            reads = &reads[reads.partition_point(|&read| read < past)..];
        }
    }

    /// Takes events of an interleaving of a window, and leaves `ahead` of each thread, or half of them if there are
    /// fewer.
    ///
    /// What is taken, in its order, and then what is left, in its order, is an interleaving of the window. To see this,
    /// look at an event `b` that is taken and an event `a` before it that is left. They are of different threads,
    /// because a thread of which an event is left has nothing taken any more. If they access the same location, `b` is
    /// a read and `a` is one, too: no write is taken after an access that is left, and no read after a write that is
    /// left. Echoes are left, so no write is taken that overwrites a write with an echo.
    pub fn take(&mut self, window: &Window, found: &[u32], ahead: usize, memory: &mut Memory, line: &mut Vec<u32>) {
        let limit = |(&begin, &end): (&u32, &u32)| end - ((end - begin) / 2).min(ahead as u32);
        let mut limits: Vec<u32> = window.rest.next.iter().zip(&window.ends).map(limit).collect();
        let once = 2 * self.windows;
        for &event in found.iter().filter(|&&event| event != NONE) {
            let access = self.whole.events()[event as usize];
            let limit = &mut limits[self.whole.threads()[event as usize].index()];
            let (reads, writes) = (access.kind.reads(), access.kind.writes());
            let mut stays = event >= *limit;
            if reads || writes {
                let location = access.location.index();
                let current = &mut memory.0[location];
                let left = &mut self.left[location];
                stays |= *left > once || writes && (*left == once || self.echoed[*current] == self.windows);
                if stays {
                    *left = (once + u32::from(writes)).max(*left);
                } else if writes {
                    *current = event as usize;
                }
            }
            if stays {
                *limit = 0;
            } else {
                line.push(event);
            }
        }
    }

    /// An interleaving of a window and of the echoes that were found: the numbers of its events in the execution, and
    /// [`NONE`] for each echo. The memory of `order` is used again.
    pub fn search(
        &mut self,
        window: &Window,
        relaxation: Relaxation,
        order: &mut Saturation,
        deadlocks: u64,
        limits: &Limits,
    ) -> Result<Vec<u32>, Halted> {
        let execution = self.fill(window, Early::Initial);
        if relaxation == Relaxation::Nothing {
            let frame = Frame::sequential(execution);
            let line = interleaving(order, &frame, deadlocks, limits)?;
            return Ok(line.into_iter().map(|event| self.origins[event as usize]).collect());
        }
        let Ok((frame, numbers)) = tso::numbered_frame(execution, relaxation) else { return Err(Halted::Refuted) };
        check_room_for(&limits.budget, lanes(frame.execution().thread_count()), frame.execution().len())?;
        let line = interleaving(order, &frame, deadlocks, limits)?;
        let mut origins = vec![NONE; numbers.len()];
        for (&number, &origin) in numbers.iter().zip(&self.origins) {
            origins[number as usize] = origin;
        }
        Ok(line.into_iter().map(|event| origins[event as usize]).collect())
    }

    /// A cycle of what is forced in a window, whatever came before it. `None` if there is no cycle.
    pub fn explain(
        &mut self,
        window: &Window,
        relaxation: Relaxation,
        limits: &Limits,
    ) -> Result<Option<Derivation>, GaveUp> {
        let execution = self.fill(window, Early::Explained);
        let frame = match relaxation {
            Relaxation::Nothing => Ok(Frame::sequential(execution)),
            _ => tso::numbered_frame(execution, relaxation).map(|(frame, _)| frame),
        };
        let frame = match frame {
            Ok(frame) => frame,
            Err(cycle) => return Ok(Some(cycle)),
        };
        check_room_for(&limits.budget, lanes(frame.execution().thread_count()), frame.execution().len())?;
        match Saturated::new(&frame, &limits.budget) {
            Ok(_) => Ok(None),
            Err(unsaturated) => cycle_of(&frame, &unsaturated).map(Some),
        }
    }

    /// The execution of a window and of the echoes that were found.
    pub fn fill(&mut self, window: &Window, early: Early) -> &Execution {
        let Self { whole, execution, numbers, numbered, echoes, origins, .. } = self;
        let Rest { next, left } = &window.rest;
        let mut ranges = Vec::with_capacity(next.len());
        // By thread: the difference between the number of an event in the part and its number in the execution. The
        // same for a write that is left, and its place among those that are left.
        let mut offsets = Vec::with_capacity(next.len());
        let (mut count, mut heard, mut waiting) = (0u32, 0, 0);
        for (thread, (&begin, &end)) in next.iter().zip(&window.ends).enumerate() {
            let (first, first_left) = (heard, waiting);
            heard += echoes[first..].partition_point(|&(at, _)| at as usize == thread);
            waiting += left[first_left..].partition_point(|&event| event < begin);
            ranges.push((first_left..waiting, begin..end, first..heard));
            let before = count.wrapping_sub(first_left as u32);
            count += (waiting - first_left) as u32;
            offsets.push((count.wrapping_sub(begin), before));
            count += end - begin + (heard - first) as u32;
        }
        for location in numbered.drain(..) {
            numbers[location.index()] = NONE;
        }
        origins.clear();
        let echoes = &*echoes;
        let events = (0u32..).zip(ranges).flat_map(|(thread, (waiting, own, heard))| {
            let own = left[waiting].iter().copied().chain(own);
            let heard = echoes[heard].iter().map(|&(_, read)| read);
            own.map(|id| (id, false)).chain(heard.map(|id| (id, true))).map(move |(id, is_echo)| (thread, id, is_echo))
        });
        let parts = events.map(|(thread, id, is_echo)| {
            let mut event = whole.events()[id as usize];
            origins.push(if is_echo { NONE } else { id });
            if is_echo {
                event.kind = Kind::Read;
            }
            if event.source.is_event() {
                let source = event.source.0;
                let home = whole.threads()[source as usize].index();
                let (offset, before) = offsets[home];
                event = if source >= next[home] {
                    Event { source: EventId(source.wrapping_add(offset)), ..event }
                } else if let Ok(place) = left.binary_search(&source) {
                    Event { source: EventId(before.wrapping_add(place as u32)), ..event }
                } else {
                    match early {
                        Early::Initial => Event { source: EventId::INIT, ..event },
                        Early::Explained => without_read(event),
                    }
                };
            }
            if early == Early::Initial && event.location != LocationId::NONE {
                let number = &mut numbers[event.location.index()];
                if *number == NONE {
                    *number = numbered.len() as u32;
                    numbered.push(event.location);
                }
                event.location = LocationId(*number);
            }
            (ThreadId(thread), event, whole.operations()[id as usize])
        });
        execution.refill(whole.thread_count(), parts);
        execution
    }
}

/// The same event without its read. A read becomes a fence that orders nothing that the read does not order.
fn without_read(event: Event) -> Event {
    let order = if event.kind == Kind::Read { MemoryOrder::Acquire } else { event.order };
    Event { order, ..event.without_read() }
}

#[cfg(test)]
mod tests {
    use workload::memory::{MemoryConfig, execution};

    use super::super::close_under_sources;
    use super::*;

    /// Whether each read has its source in memory when these events go one after the other; sources before the window
    /// are there at first.
    fn explains_reads(execution: &Execution, line: &[u32]) -> bool {
        let mut memory = vec![NONE; execution.location_count()];
        line.iter().all(|&id| {
            let event = execution.events()[id as usize];
            if !event.kind.reads() && !event.kind.writes() {
                return true;
            }
            let current = &mut memory[event.location.index()];
            let is_inside = line.contains(&event.source.0);
            let is_right = !event.kind.reads() || *current == if is_inside { event.source.0 } else { NONE };
            if event.kind.writes() {
                *current = id;
            }
            is_right
        })
    }

    #[test]
    fn what_is_taken_and_then_what_is_left_is_an_interleaving() {
        let mut fewer = 0;
        for seed in 0..2_000 {
            let threads = 2 + seed as u32 % 4;
            let locations = 1 + seed as u32 % 11;
            let config = MemoryConfig { threads, operations: 60, locations, rmws: 10, seed, ..MemoryConfig::default() };
            let execution = execution(&config);
            let readers = Readers::new(&execution);
            let mut memory = Memory::new(&readers, &execution);
            let (next, mut ends): (Vec<u32>, Vec<u32>) =
                execution.starts().windows(2).map(|thread| (thread[0], thread[1].min(thread[0] + 8))).unzip();
            close_under_sources(&execution, &readers, &next, &mut ends);
            let window = Window { rest: Rest { next, left: Vec::new() }, ends };
            let mut part = Part::new(&execution, &readers);
            part.find_echoes(&window, &readers, &memory);
            let limits = &Limits::default();
            let Ok(found) = part.search(&window, Relaxation::Nothing, &mut Saturation::default(), u64::MAX, limits)
            else {
                panic!("seed {seed}: a window without an interleaving");
            };
            let mut line = Vec::new();
            part.take(&window, &found, 1 + seed as usize % 4, &mut memory, &mut line);
            let left: Vec<u32> =
                found.iter().copied().filter(|event| *event != NONE && !line.contains(event)).collect();
            fewer += usize::from(!found.starts_with(&line));
            let taken = line.clone();
            line.extend(&left);
            assert!(explains_reads(&execution, &line), "seed {seed}: {taken:?} and {left:?} of {found:?}");
            for &read in part.echoes.iter().map(|(_, read)| read) {
                let event = execution.events()[read as usize];
                let slot =
                    if event.source.is_event() { event.source.index() } else { readers.slot_of_init(event.location) };
                let is_source = event.source == EventId::INIT || taken.contains(&event.source.0);
                assert!(!is_source || memory.0[event.location.index()] == slot, "seed {seed}: {read} has no source");
            }
        }
        assert!(fewer > 500, "only {fewer} were no prefixes");
    }
}
