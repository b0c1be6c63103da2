//! Guesses the sources of open reads, by an interleaving of the values.
//!
//! All threads are run on one memory. An open read may run if the location holds its value; a read that is not open, if
//! the location holds its source. First the order of the file is tried: a read takes what it finds.
//!
//! If that does not explain all reads, the threads are run in another order. What only reads runs as soon as it may:
//! that never spoils an interleaving. If nothing of this kind is left, a write has to be chosen. It costs something to
//! overwrite what another thread reads soon, and to run ahead of the other threads; it is good to write what another
//! thread waits for.
//!
//! A read that waits while the other threads have gone on for a while is *late*. Probably the location held what it
//! waits for, and was overwritten too early; or two writes of the location ran in the wrong order. Then the write to
//! blame is taken back, with all that ran after it, and it has to wait for that read, or for the other write, from now
//! on. Or a thread is about to write what the read waits for; then that thread goes on. If nothing of this helps, the
//! read is *forced*: it is from the candidate that ran last, and runs whatever the location holds. A write that waits
//! in vain is let through again, and does not wait for the same event twice.
//!
//! This is only a guess: nothing follows from what was not found. But if no read was forced, the sources have an
//! interleaving, and every model holds.
//!
//! A file may have the operations of one thread after those of another. Then nothing is known about what was recorded
//! first, and it is guessed that all threads made progress at the same rate.

use history::execution::{EventId, Kind, LocationId};
use history::{Execution, OpenExecution};
use model::{Budget, GaveUp};
use order::rows::Rows;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Sources;
use crate::knobs::SourceKnobs;

/// How many steps are made between two looks at the clock.
const PER_LOOK: u64 = 1 << 12;

/// Guessed sources.
pub(super) struct Guess {
    /// By open read. An optional read may have none.
    pub(super) chosen: Sources,
    /// For each event the place that it has in the run.
    pub(super) places: Vec<u32>,
}

impl Guess {
    pub(super) fn new(open: &OpenExecution, knobs: SourceKnobs, budget: &Budget) -> Result<Self, GaveUp> {
        match ValueRun::new(open, knobs).replay() {
            Some(guess) => Ok(guess),
            None => ValueRun::new(open, knobs).all(budget),
        }
    }

    /// The candidates of an open read, those that ran near to it first.
    pub(super) fn candidates(&self, open: &OpenExecution, read: usize) -> Vec<EventId> {
        let place = |event: EventId| if event.is_event() { i64::from(self.places[event.index()]) } else { -1 };
        let own = place(open.reads()[read].event);
        let mut candidates: Vec<EventId> = open.candidates(read).collect();
        candidates.sort_by_key(|&candidate| (place(candidate) - own).unsigned_abs());
        candidates
    }
}

/// What a read waits for.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Wanted {
    Nothing,
    Class(u32),
    Source(EventId),
}

/// A step of the run that can be taken back.
struct Done {
    event: EventId,
    /// What the location held before, if the event wrote.
    held: EventId,
}

/// An interleaving of the values, as far as it has come.
struct ValueRun<'a> {
    open: &'a OpenExecution,
    knobs: SourceKnobs,
    execution: &'a Execution,
    kinds: Vec<Kind>,
    locations: Vec<LocationId>,
    wanted: Vec<Wanted>,
    /// The moment at which each event was probably recorded.
    when: Vec<u64>,
    /// The accesses of each thread to each location it accesses: a row is one thread and one location.
    rows: Rows<u32>,
    /// The row of each event.
    row_of: Vec<u32>,
    /// For each row: how many of its accesses ran.
    ran: Vec<u32>,
    /// For each location its rows.
    rows_of: Rows<u32>,
    /// The next event of each thread.
    next: Vec<u32>,
    holds: Vec<EventId>,
    done: Vec<Done>,
    /// For each location the steps that wrote it.
    wrote: Vec<Vec<u32>>,
    /// The events that a write has to wait for.
    waits: FxHashMap<EventId, Vec<EventId>>,
    /// The pairs of a write and an event that it waited for.
    tried: FxHashSet<(EventId, EventId)>,
    /// The reads that run whatever the location holds.
    forced: FxHashSet<EventId>,
    /// Whether the file has the threads one after the other.
    is_by_thread: bool,
    /// A read is late if the other threads are ahead of it by this.
    patience: u64,
    chosen: Sources,
}

impl<'a> ValueRun<'a> {
    fn new(open: &'a OpenExecution, knobs: SourceKnobs) -> Self {
        let execution = open.execution();
        let mut kinds: Vec<Kind> = execution.events().iter().map(|event| event.kind).collect();
        let mut locations: Vec<LocationId> = execution.events().iter().map(|event| event.location).collect();
        let sources = execution.events().iter().map(|event| (event.kind.reads(), event.source));
        let mut wanted: Vec<Wanted> =
            sources.map(|(reads, source)| if reads { Wanted::Source(source) } else { Wanted::Nothing }).collect();
        for (at, read) in open.reads().iter().enumerate() {
            kinds[read.event.index()] = open.whole(at).kind;
            locations[read.event.index()] = open.whole(at).location;
            wanted[read.event.index()] = Wanted::Class(read.class);
        }

        let mut accesses: Vec<u32> =
            (0..execution.len() as u32).filter(|&id| kinds[id as usize] != Kind::Fence).collect();
        accesses.sort_by_key(|&id| (locations[id as usize], execution.thread(EventId(id)), id));
        let mut row_of = vec![u32::MAX; execution.len()];
        let mut locations_of_rows: Vec<LocationId> = Vec::new();
        let mut last = None;
        for &id in &accesses {
            let key = (locations[id as usize], execution.thread(EventId(id)));
            if last.replace(key) != Some(key) {
                locations_of_rows.push(key.0);
            }
            row_of[id as usize] = locations_of_rows.len() as u32 - 1;
        }
        let count = locations_of_rows.len();
        let rows = Rows::new(count, accesses.iter().map(|&id| (row_of[id as usize] as usize, id)));
        let pairs = locations_of_rows.iter().enumerate().map(|(row, location)| (location.index(), row as u32));
        let rows_of = Rows::new(execution.location_count(), pairs);
        let (when, is_by_thread) = recorded(execution);
        Self {
            open,
            knobs,
            execution,
            when,
            kinds,
            locations,
            wanted,
            rows,
            row_of,
            ran: vec![0; count],
            rows_of,
            next: execution.starts()[..execution.thread_count()].to_vec(),
            holds: vec![EventId::INIT; execution.location_count()],
            done: Vec::with_capacity(execution.len()),
            wrote: vec![Vec::new(); execution.location_count()],
            waits: FxHashMap::default(),
            tried: FxHashSet::default(),
            forced: FxHashSet::default(),
            is_by_thread,
            patience: execution.thread_count() as u64 * if is_by_thread { 4 } else { 1 },
            chosen: vec![None; open.reads().len()],
        }
    }

    /// Runs all events in the order of the file. `None` if that does not explain all reads.
    fn replay(mut self) -> Option<Guess> {
        if self.is_by_thread {
            return None;
        }
        let mut events: Vec<EventId> = self.execution.ids().collect();
        events.sort_by_key(|&id| self.execution.operation(id));
        for event in events {
            if self.is_content(event, self.held(event)) {
                self.execute(event);
            } else if self.is_optional(event) {
                // It perhaps did not happen. It is the last of its thread.
                self.chosen[self.open.find(event)?] = None;
            } else {
                return None;
            }
        }
        Some(self.finish())
    }

    /// Runs all threads to their ends.
    fn all(mut self, budget: &Budget) -> Result<Guess, GaveUp> {
        let mut undone = self.knobs.undone + self.knobs.undone_per_event * self.execution.len() as u64;
        let mut steps = 0u64;
        for thread in 0..self.next.len() {
            self.read_on(thread);
        }
        loop {
            steps += 1;
            if steps.is_multiple_of(PER_LOOK) {
                budget.check()?;
            }
            let late = self.late();
            if let Some(&first) = late.first() {
                if !late.iter().any(|&read| self.help(read, &mut undone)) {
                    self.force(first);
                }
            } else if !self.step() && !self.let_through() {
                break;
            }
        }
        Ok(self.finish())
    }

    fn finish(self) -> Guess {
        let mut places = vec![self.done.len() as u32; self.execution.len()];
        for (at, done) in (0..).zip(&self.done) {
            places[done.event.index()] = at;
        }
        Guess { chosen: self.chosen, places }
    }

    /// The next event of a thread.
    fn head(&self, thread: usize) -> Option<EventId> {
        let next = self.next[thread];
        (next < self.execution.starts()[thread + 1]).then_some(EventId(next))
    }

    /// Whether an event may run if its location holds this write.
    fn is_content(&self, event: EventId, held: EventId) -> bool {
        self.finds(event, held) || !self.forced.is_empty() && self.forced.contains(&event)
    }

    /// Whether a read finds what it wants if the location holds this write.
    fn finds(&self, event: EventId, held: EventId) -> bool {
        match self.wanted[event.index()] {
            Wanted::Nothing => true,
            Wanted::Source(source) => held == source,
            Wanted::Class(class) => self.class(self.locations[event.index()], held) == class,
        }
    }

    fn class(&self, location: LocationId, held: EventId) -> u32 {
        if held.is_event() { self.open.written(held) } else { self.open.initial(location) }
    }

    fn held(&self, event: EventId) -> EventId {
        if self.kinds[event.index()] == Kind::Fence {
            EventId::NONE
        } else {
            self.holds[self.locations[event.index()].index()]
        }
    }

    fn is_optional(&self, event: EventId) -> bool {
        self.open.find(event).is_some_and(|read| self.open.reads()[read].is_optional)
    }

    /// Runs an event. If it reads and its source is open, the source is what the location holds.
    fn execute(&mut self, event: EventId) {
        let held = self.held(event);
        if matches!(self.wanted[event.index()], Wanted::Class(_))
            && self.finds(event, held)
            && let Some(read) = self.open.find(event)
        {
            self.chosen[read] = Some(held);
        }
        self.advance(event, 1);
        if self.kinds[event.index()].writes() {
            let location = self.locations[event.index()].index();
            self.wrote[location].push(self.done.len() as u32);
            self.holds[location] = event;
        }
        self.done.push(Done { event, held });
    }

    /// Moves the thread of an event over it, or back.
    fn advance(&mut self, event: EventId, by: i32) {
        let thread = self.execution.thread(event).index();
        self.next[thread] = self.next[thread].wrapping_add_signed(by);
        if let Some(ran) = self.ran.get_mut(self.row_of[event.index()] as usize) {
            *ran = ran.wrapping_add_signed(by);
        }
    }

    /// Takes back all steps from this length of the run on.
    fn undo(&mut self, length: usize) {
        while self.done.len() > length {
            let Some(Done { event, held }) = self.done.pop() else { return };
            self.advance(event, -1);
            if self.kinds[event.index()].writes() {
                let location = self.locations[event.index()].index();
                self.wrote[location].pop();
                self.holds[location] = held;
            }
        }
    }

    /// Runs the next events of a thread as long as they only read and may run.
    fn read_on(&mut self, thread: usize) {
        while let Some(head) = self.head(thread) {
            if self.kinds[head.index()].writes() || !self.is_content(head, self.held(head)) {
                return;
            }
            self.execute(head);
        }
    }

    /// Runs a write, and all reads that may run now.
    fn write(&mut self, event: EventId) {
        self.execute(event);
        self.read_after(event);
    }

    /// Runs all reads that may run after an event ran.
    fn read_after(&mut self, event: EventId) {
        self.read_on(self.execution.thread(event).index());
        if !self.kinds[event.index()].writes() {
            return;
        }
        for at in 0..self.rows_of.of(self.locations[event.index()].index()).len() {
            let row = self.rows_of.of(self.locations[event.index()].index())[at] as usize;
            self.read_on(self.execution.thread(EventId(self.rows.of(row)[0])).index());
        }
    }

    /// The next access of a row.
    fn next_access(&self, row: usize) -> Option<EventId> {
        self.rows.of(row).get(self.ran[row] as usize).copied().map(EventId)
    }

    /// What it costs to let a write through.
    fn cost(&self, write: EventId) -> (u64, bool) {
        let location = self.locations[write.index()];
        let (held, own) = (self.holds[location.index()], self.row_of[write.index()]);
        let (mut cost, mut is_wanted) = (self.knobs.cost, false);
        for &row in self.rows_of.of(location.index()).iter().filter(|&&row| row != own) {
            let Some(access) = self.next_access(row as usize).filter(|access| self.kinds[access.index()].reads())
            else {
                continue;
            };
            let distance = u64::from(access.0 - self.next[self.execution.thread(access).index()]);
            let after = self.is_content(access, write);
            if self.is_content(access, held) && !after {
                cost += self.knobs.cost / (1 + distance);
            }
            is_wanted |= after && distance == 0;
        }
        (if is_wanted { cost - self.knobs.cost } else { cost }, is_wanted)
    }

    /// Whether a write has to wait for a read that did not run yet.
    fn has_to_wait(&self, write: EventId) -> bool {
        let ran = |read: &EventId| read.0 < self.next[self.execution.thread(*read).index()];
        !self.waits.is_empty() && self.waits.get(&write).is_some_and(|reads| !reads.iter().all(ran))
    }

    /// The writes that may run next, if none of them had to wait.
    fn writes(&self) -> impl Iterator<Item = EventId> + '_ {
        let heads = (0..self.next.len()).filter_map(|thread| self.head(thread));
        heads.filter(|&head| self.kinds[head.index()].writes() && self.is_content(head, self.held(head)))
    }

    /// Chooses a write and runs it. Returns whether there is one.
    fn step(&mut self) -> bool {
        let writes = self.writes().filter(|&write| !self.has_to_wait(write));
        let mut heads: Vec<(u64, EventId)> = writes.map(|write| (self.when[write.index()], write)).collect();
        if heads.len() > self.knobs.compared {
            heads.select_nth_unstable(self.knobs.compared - 1);
            heads.truncate(self.knobs.compared);
        }
        let Some(first) = heads.iter().map(|&(when, _)| when).min() else { return false };
        // How many operations of its thread a write is ahead of the first; an order of the file counts more.
        let ahead =
            |when: u64| (when - first) * if self.is_by_thread { 1 } else { self.knobs.cost } / self.next.len() as u64;
        let costs = heads.into_iter().filter_map(|(when, write)| {
            let (cost, is_wanted) = self.cost(write);
            // A compare-and-swap that perhaps did not happen runs only for the sake of another thread.
            (is_wanted || !self.is_optional(write)).then_some((cost + ahead(when), when, write))
        });
        let Some((.., best)) = costs.min() else { return false };
        self.write(best);
        true
    }

    /// The reads that are late, in the order in which they were recorded. If nothing else may run, all that wait are.
    fn late(&self) -> Vec<EventId> {
        let front = self.writes().map(|write| self.when[write.index()]).min().unwrap_or(u64::MAX);
        let heads = (0..self.next.len()).filter_map(|thread| self.head(thread));
        let mut late: Vec<EventId> = heads
            .filter(|&head| self.when[head.index()].saturating_add(self.patience) < front)
            .filter(|&head| !self.is_content(head, self.held(head)) && !self.is_optional(head))
            .collect();
        late.sort_by_key(|read| self.when[read.index()]);
        late
    }

    /// Lets the first write through that waits in vain. Returns whether there is one.
    fn let_through(&mut self) -> bool {
        let held_back = self.writes().filter(|&write| self.has_to_wait(write));
        let Some(write) = held_back.min_by_key(|write| self.when[write.index()]) else { return false };
        self.waits.remove(&write);
        true
    }

    /// The last step that overwrote what a read waits for, if there is one that may be taken back.
    fn came_too_early(&self, read: EventId) -> Option<(u32, EventId)> {
        let location = self.locations[read.index()];
        let mut over = None;
        for &step in self.wrote[location.index()].iter().rev().take(self.knobs.look_back) {
            let write = self.done[step as usize].event;
            if over.is_some() && self.finds(read, write) {
                break;
            }
            // What the read's own thread overwrote cannot come back.
            if self.execution.thread(write) == self.execution.thread(read) {
                return None;
            }
            over = Some((step, write));
        }
        let (step, write) = over?;
        self.finds(read, self.done[step as usize].held).then_some((step, write))
    }

    /// The last step that wrote what a read waits for, if another write of about the same time ran after it, and that
    /// write. Perhaps they ran in the wrong order.
    fn was_swapped(&self, read: EventId) -> Option<(u32, EventId)> {
        let steps = &self.wrote[self.locations[read.index()].index()];
        let last = self.done[*steps.last()? as usize].event;
        let write = |step: u32| self.done[step as usize].event;
        let found =
            steps.iter().rev().take(self.knobs.look_back).copied().find(|&step| self.finds(read, write(step)))?;
        let is_near =
            self.near(write(found), last) && self.execution.thread(write(found)) != self.execution.thread(last);
        (is_near && write(found) != last).then_some((found, last))
    }

    /// Whether two events were probably recorded at about the same time.
    fn near(&self, a: EventId, b: EventId) -> bool {
        self.when[a.index()].abs_diff(self.when[b.index()]) < 2 * self.patience
    }

    /// Helps a read that is late. Returns whether anything has changed.
    fn help(&mut self, read: EventId, budget: &mut u64) -> bool {
        let early =
            self.came_too_early(read).filter(|&(_, write)| self.near(write, read)).map(|(step, _)| (step, read));
        let swapped = self.was_swapped(read);
        for (step, until) in early.into_iter().chain(swapped) {
            if self.take_back(step as usize, until, budget) {
                return true;
            }
        }
        let Some(thread) = self.supplier(read) else { return false };
        match self
            .head(thread)
            .filter(|&head| self.kinds[head.index()].writes() && self.is_content(head, self.held(head)))
        {
            Some(head) => self.write(head),
            None => return false,
        }
        true
    }

    /// Takes back a write, and lets it wait for an event. Returns whether that was not tried before.
    fn take_back(&mut self, step: usize, until: EventId, budget: &mut u64) -> bool {
        let write = self.done[step].event;
        let undone = self.done.len() - step;
        if undone > self.knobs.reach || undone as u64 > *budget || !self.tried.insert((write, until)) {
            return false;
        }
        *budget -= undone as u64;
        self.waits.entry(write).or_default().push(until);
        self.undo(step);
        // A read that was forced in the meantime may run now.
        for thread in 0..self.next.len() {
            self.read_on(thread);
        }
        true
    }

    /// The thread that is about to write what a read waits for.
    fn supplier(&self, read: EventId) -> Option<usize> {
        let rows = self.rows_of.of(self.locations[read.index()].index()).iter();
        let own = self.row_of[read.index()];
        let nearest = rows.filter(|&&row| row != own).filter_map(|&row| {
            let accesses = &self.rows.of(row as usize)[self.ran[row as usize] as usize..];
            let thread = self.execution.thread(EventId(*accesses.first()?)).index();
            let mut near = accesses
                .iter()
                .map(|&id| EventId(id))
                .take_while(|id| id.0 < self.next[thread] + self.knobs.look_ahead);
            let write = near.find(|&id| self.kinds[id.index()].writes() && self.finds(read, id))?;
            Some((write.0 - self.next[thread], thread))
        });
        nearest.min().map(|(_, thread)| thread)
    }

    /// Runs a read that waits. If it is open, it is from the candidate that ran last, or was recorded next.
    fn force(&mut self, read: EventId) {
        self.forced.insert(read);
        self.execute(read);
        if let Some(at) = self.open.find(read) {
            let near = self.done.iter().rev().skip(1).take(self.knobs.reach).map(|done| done.event);
            let near = near.filter(|&event| self.kinds[event.index()].writes());
            let recorded = |event: EventId| if event.is_event() { self.when[event.index()] } else { 0 };
            let distance = |event: &EventId| recorded(*event).abs_diff(recorded(read));
            let last = near.into_iter().find(|&event| self.open.is_candidate(at, event));
            self.chosen[at] = last.or_else(|| self.open.candidates(at).min_by_key(distance));
        }
        self.read_after(read);
    }
}

/// The moment at which each event was probably recorded.
/// Returns also whether the file has the threads one after the other.
fn recorded(execution: &Execution) -> (Vec<u64>, bool) {
    let count = execution.len() as u64;
    let operation = |id: EventId| u64::from(execution.operation(id).0);
    let threads = (0..execution.thread_count()).map(|at| execution.starts()[at]..execution.starts()[at + 1]);
    let mut many = threads.clone().filter(|thread| thread.len() > 1);
    // Three quarters of each thread are looked at: the reads of final values come at the end of the file.
    let is_by_thread = many.all(|thread| {
        let most = thread.len() as u32 * 3 / 4;
        operation(EventId(thread.start + most)) - operation(EventId(thread.start)) < thread.len() as u64
    });
    let mut when = Vec::with_capacity(execution.len());
    for thread in threads {
        let (start, length) = (thread.start, thread.len() as u64);
        when.extend(
            thread.map(|id| if is_by_thread { u64::from(id - start) * count / length } else { operation(EventId(id)) }),
        );
    }
    (when, is_by_thread)
}
