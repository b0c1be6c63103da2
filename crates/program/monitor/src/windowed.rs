//! Monitors of `wsc` and `tso` that look at a window of the stream: the last events, and the writes that they read.
//!
//! **Sound.** What is looked at is a part of the execution. Every read in it has its source there, or is left out. An
//! execution that a model allows has only parts that the model allows: in the interleaving, or in the store order, the
//! events that are left out are left out. So a violation of a part is a violation of the whole. A violation that needs
//! events farther apart than the window is not found.
//!
//! Of `tso` the polynomial form `wtso` is checked: what violates `wtso` violates `tso`. So the cost of an event depends
//! on the size of the window alone, and so does the memory, but for the last writes of each location.
//!
//! Reads find their sources by values. If a value is written twice to a location within what the monitor remembers, its
//! reads are left out. A value that was written before, and forgotten, must not be written again.

use std::collections::VecDeque;

use history::execution::{ExecutionBuilder, Kind};
use history::{MemoryOrder, Value};
use model::{Model, Verdict};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::{Access, Monitor, Progress, Violation};

/// How many writes of a location are remembered when they have left the window.
const REMEMBERED: usize = 4;
/// How many events the window has, if nothing is said.
const WINDOW: u32 = 2048;

/// An event of the window, or of the [part](Windowed::violating) in which a violation was found.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowEntry {
    /// Its number in the stream, counted from zero.
    pub number: u64,
    /// Its line, if the stream has lines; else 0.
    pub line: u64,
    /// Its thread.
    pub thread: u32,
    /// What it does. A read-modify-write whose source is not known counts as a write.
    pub kind: Kind,
    /// The location.
    pub location: u32,
    /// The memory order.
    pub order: MemoryOrder,
    /// The value that it read.
    pub read: Value,
    /// The value that it wrote.
    pub written: Value,
}

/// A monitor of `wsc` or `tso` over a window.
///
/// It looks at the window whenever half of it is new, and at the end ([`Self::finish`]). A violation names the event
/// with which the part becomes one. Then the monitor goes on with an empty window.
///
/// ```
/// use history::execution::Kind::{self, Read, Write};
/// use format::stream::SourceName;
/// use history::{MemoryOrder, Value};
/// use monitor::{Access, Monitor, Windowed};
///
/// let access = |thread, kind: Kind, location, value| {
///     let [read, written] = [kind.reads(), kind.writes()].map(|has| if has { value } else { Value::NONE });
///     let (label, source) = (Value::NONE, SourceName::None);
///     Access { thread, kind, location, order: MemoryOrder::Plain, read, written, label, source }
/// };
/// // Store buffering: allowed by tso, not by wsc.
/// let mut monitors = [Windowed::wsc(), Windowed::tso()];
/// for monitor in &mut monitors {
///     for thread in 0..2 {
///         monitor.push(access(thread, Write, thread, Value::small(1)))?;
///         monitor.push(access(thread, Read, 1 - thread, Value::ZERO))?;
///     }
/// }
/// assert_eq!(monitors[0].finish().unwrap_err().event, 3);
/// assert!(monitors[1].finish().is_ok());
/// # Ok::<(), monitor::Violation>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Windowed {
    is_tso: bool,
    size: u32,
    events: u64,
    window: VecDeque<WindowEntry>,
    /// How many of the window were not looked at yet.
    fresh: usize,
    /// By location: the last writes that have left the window, oldest first.
    older: FxHashMap<u32, VecDeque<WindowEntry>>,
    initial: Value,
    initials: FxHashMap<u32, Value>,
    /// The events in which the last violation was found.
    violating: Vec<WindowEntry>,
}

/// What an event of a part of a window reads.
#[derive(Copy, Clone)]
enum Reads {
    /// It does not read, or it is not known from where.
    Nothing,
    /// The initial value.
    Initial,
    /// The write of this number.
    Write(u64),
}

impl Windowed {
    /// A monitor of `wsc`. All locations hold zero.
    pub fn wsc() -> Self {
        Self::new(false)
    }

    /// A monitor of `tso`. All locations hold zero.
    pub fn tso() -> Self {
        Self::new(true)
    }

    fn new(is_tso: bool) -> Self {
        Self {
            is_tso,
            size: WINDOW,
            events: 0,
            window: VecDeque::new(),
            fresh: 0,
            older: FxHashMap::default(),
            initial: Value::ZERO,
            initials: FxHashMap::default(),
            violating: Vec::new(),
        }
    }

    /// Sets the size of the window, in events; at least two.
    pub fn set_window(&mut self, events: u32) {
        self.size = events.max(2);
    }

    /// Sets the initial value of all locations that [`Self::set_initial`] does not name.
    pub fn set_default_initial(&mut self, value: Value) {
        self.initial = value;
    }

    /// Sets the initial value of a location.
    pub fn set_initial(&mut self, location: u32, value: Value) {
        self.initials.insert(location, value);
    }

    /// The model that is monitored.
    pub const fn model(&self) -> Model {
        if self.is_tso { Model::Tso } else { Model::Wsc }
    }

    /// Looks at what was not looked at yet: at the end of a stream.
    pub fn finish(&mut self) -> Result<(), Violation> {
        if std::mem::take(&mut self.fresh) == 0 || self.is_allowed(self.window.len()) {
            return Ok(());
        }
        // The events before are allowed, and all with them are not: somewhere between, one event makes the difference.
        let (mut allowed, mut forbidden) = (0, self.window.len());
        while forbidden - allowed > 1 {
            let middle = usize::midpoint(allowed, forbidden);
            if self.is_allowed(middle) { allowed = middle } else { forbidden = middle }
        }
        let part = self.part(forbidden);
        self.violating = part.into_iter().map(|(entry, _)| entry).collect();
        let event = self.window[forbidden - 1].number;
        let first = self.window.front().map_or(event, |entry| entry.number);
        while !self.window.is_empty() {
            self.forget_first();
        }
        let model = self.model();
        let reason = format!("the events {} to {} already violate {model}", first + 1, event + 1);
        Err(Violation { event, reason, evidence: None })
    }

    /// The events in which the last violation was found, in the order of the stream: those of the window up to the
    /// event that made the violation certain, and the older writes that they read. They alone violate the model.
    pub fn violating(&self) -> &[WindowEntry] {
        &self.violating
    }

    /// Takes in the next event, which is on this line.
    pub fn push_line(&mut self, event: Access, line: u64) -> Result<Progress, Violation> {
        let Access { thread, kind, location, order, read, written, .. } = event;
        let number = self.events;
        self.events += 1;
        if self.window.len() == self.size as usize {
            self.forget_first();
        }
        self.window.push_back(WindowEntry { number, line, thread, kind, location, order, read, written });
        self.fresh += 1;
        if self.fresh >= self.size as usize / 2 {
            self.finish()?;
        }
        Ok(Progress::Possible)
    }

    /// The first event leaves the window.
    fn forget_first(&mut self) {
        if let Some(entry) = self.window.pop_front()
            && entry.kind.writes()
        {
            let writes = self.older.entry(entry.location).or_default();
            if writes.len() == REMEMBERED {
                writes.pop_front();
            }
            writes.push_back(entry);
        }
    }

    /// The first events of the window, and the older writes that they read; each with what it reads. What reads a value
    /// whose source is not known is left out.
    fn part(&self, count: usize) -> Vec<(WindowEntry, Reads)> {
        let window = || self.window.iter().take(count);
        // The older writes that are read, and all writes of the window, by location and value. A value that was
        // written twice names none of them.
        let mut writers: FxHashMap<(u32, Value), Option<u64>> = FxHashMap::default();
        let mut older: Vec<&WindowEntry> = Vec::new();
        for entry in window().filter(|entry| entry.kind.reads()) {
            let known = self.older.get(&entry.location).into_iter().flatten();
            older.extend(known.filter(|write| write.written == entry.read));
        }
        older.sort_unstable_by_key(|entry| entry.number);
        older.dedup_by_key(|entry| entry.number);
        for write in older.iter().copied().chain(window().filter(|entry| entry.kind.writes())) {
            let is_initial = self.initial_value(write.location) == write.written;
            let name = (!is_initial).then_some(write.number);
            writers.entry((write.location, write.written)).and_modify(|it| *it = None).or_insert(name);
        }
        let as_write = |entry: &WindowEntry| (WindowEntry { kind: Kind::Write, ..*entry }, Reads::Nothing);
        let mut part: Vec<(WindowEntry, Reads)> = older.into_iter().map(as_write).collect();
        for entry in window() {
            let source = match writers.get(&(entry.location, entry.read)) {
                _ if !entry.kind.reads() => Reads::Nothing,
                Some(&writer) => writer.map_or(Reads::Nothing, Reads::Write),
                None if self.initial_value(entry.location) == entry.read => Reads::Initial,
                None => Reads::Nothing,
            };
            match (entry.kind, source) {
                (Kind::Read, Reads::Nothing) => {}
                (Kind::Rmw, Reads::Nothing) => part.push(as_write(entry)),
                _ => part.push((*entry, source)),
            }
        }
        part
    }

    /// Whether the model allows the first events of the window, with the writes that they read.
    fn is_allowed(&self, count: usize) -> bool {
        let part = self.part(count);
        let mut builder = ExecutionBuilder::new();
        let mut places: FxHashMap<u64, usize> = FxHashMap::default();
        for (entry, _) in &part {
            let place = builder.push_ordered(entry.thread, entry.kind, entry.location, entry.order);
            places.insert(entry.number, place);
        }
        for (entry, source) in &part {
            match source {
                Reads::Nothing => {}
                Reads::Initial => builder.read_from(places[&entry.number], None),
                Reads::Write(number) => builder.read_from(places[&entry.number], Some(places[number])),
            }
        }
        let model = if self.is_tso { Model::Wtso } else { Model::Wsc };
        memory::check(model, &builder.build(), &memory::MemoryOptions::default()).verdict != Verdict::Violation
    }

    fn initial_value(&self, location: u32) -> Value {
        self.initials.get(&location).copied().unwrap_or(self.initial)
    }
}

impl Monitor for Windowed {
    type Event = Access;

    fn push(&mut self, event: Access) -> Result<Progress, Violation> {
        self.push_line(event, 0)
    }
}
