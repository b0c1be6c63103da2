//! An execution as a history, which the checkers can judge again.
//!
//! Operations stand in an order in which they may have happened: after those before them in their thread, and after the
//! write that they read. A fence stays a fence, an rmw that failed is a read. The start and the end of a thread are a
//! release write and an acquire read of a location of their own, which orders what they order. What a thread only waits
//! for or chooses is left out.

use history::{BuildError, Call, History, HistoryBuilder, MemoryOrder, Method, Object, OperationId};
use rustc_hash::FxHashMap;

use crate::graph::{Event, Graph, INITIAL, NONE};
use crate::program::{Order, Step, Value};
use crate::trace::TraceWords;

pub(crate) const fn memory_order(order: Order) -> MemoryOrder {
    match order {
        Order::NonAtomic => MemoryOrder::Plain,
        Order::Relaxed => MemoryOrder::Relaxed,
        Order::Acquire => MemoryOrder::Acquire,
        Order::Release => MemoryOrder::Release,
        Order::AcquireRelease => MemoryOrder::AcquireRelease,
        Order::SequentiallyConsistent => MemoryOrder::SequentiallyConsistent,
    }
}

struct Recording<'g> {
    graph: &'g Graph,
    words: &'g TraceWords<'g>,
    builder: HistoryBuilder,
    /// By event: its operation.
    operations: Vec<Option<OperationId>>,
    /// By thread: whether another one joins it.
    is_joined: Vec<bool>,
}

impl Graph {
    /// The execution as a history. `name` gives a location its name, and these locations end with these values.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use explore::litmus::{Limits, Test};
    ///
    /// let text = b"C one\n{ x=3; }\nP0 (atomic_int* x) { int r = atomic_fetch_add(x, 1); }\nforall (x=4)";
    /// let limits = Limits { witnesses: true, ..Limits::default() };
    /// let report = Test::parse(text)?.explore(explore::Model::C20, limits)?;
    /// let history = report.outcomes[0].witness.as_ref().unwrap();
    /// assert_eq!(format::render_operation(history, history::OperationId(0)), "[0] u.sc x 3 4");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn history(
        &self,
        title: Option<String>,
        name: impl Fn(u32) -> String,
        finals: &[(u32, Value)],
    ) -> Result<History, BuildError> {
        let words = TraceWords {
            name: &name,
            value: &|_, value| value.to_string(),
            choice: &|_, _, _| String::new(),
            code: &|_, _| None,
        };
        self.recorded(title, &words, finals)
    }

    /// The same with values as they are shown.
    pub(crate) fn recorded(
        &self,
        title: Option<String>,
        words: &TraceWords<'_>,
        finals: &[(u32, Value)],
    ) -> Result<History, BuildError> {
        let builder = HistoryBuilder::new(Object::Memory);
        let mut is_joined = vec![false; self.thread_count() as usize];
        for event in &self.events {
            if let Step::Join(child) = event.step {
                is_joined[child as usize] = true;
            }
        }
        let operations = vec![None; self.events.len()];
        let mut recording = Recording { graph: self, words, builder, operations, is_joined };
        if let Some(title) = title {
            recording.builder.set_name(title);
        }
        for (location, of) in (0..).zip(&self.locations) {
            if (words.value)(location, of.initial) != "0" {
                let (key, value) = recording.place(location, of.initial);
                recording.builder.set_init(key, value)?;
            }
        }
        for (slot, event) in self.events.iter().enumerate().filter(|(_, event)| !event.waits()) {
            recording.add(slot, event)?;
            recording.end_thread(event)?;
        }
        recording.add_sources()?;
        for &(location, value) in finals {
            let (key, value) = recording.place(location, value);
            recording.builder.set_final(key, value)?;
        }
        recording.builder.finish()
    }
}

impl Recording<'_> {
    fn place(&mut self, location: u32, value: Value) -> (history::KeyId, history::Value) {
        let TraceWords { name, value: shown, .. } = self.words;
        (self.builder.key(&name(location)), self.builder.value(&shown(location, value)))
    }

    fn add(&mut self, slot: usize, event: &Event) -> Result<(), BuildError> {
        let process = self.builder.process(&event.thread.to_string());
        let order = memory_order(event.order());
        let call = match event.step {
            // A cell that is only checked for races has no value here.
            Step::Choice(_) | Step::Access { .. } => return Ok(()),
            Step::Fence(_) => Call::new(process, Method::Fence).order(order),
            Step::Spawn(child) => return self.signal(event.thread, &format!("spawn-{child}"), true),
            Step::Begin if self.graph.spawned[event.thread as usize] == NONE => return Ok(()),
            Step::Begin => return self.signal(event.thread, &format!("spawn-{}", event.thread), false),
            Step::Join(child) => return self.signal(event.thread, &format!("join-{child}"), false),
            Step::Read { location, .. } | Step::Write { location, .. } | Step::Rmw { location, .. } => {
                let (key, read) = self.place(location, event.read);
                let (_, written) = self.place(location, event.written);
                let call = match (event.step, event.writes) {
                    (Step::Write { .. }, _) => Call::new(process, Method::Write).argument(written),
                    (_, true) => Call::new(process, Method::Rmw).argument(written).result(read),
                    (_, false) => Call::new(process, Method::Read).result(read),
                };
                call.key(key).order(order)
            }
        };
        self.operations[slot] = Some(self.builder.instant(&call)?);
        Ok(())
    }

    /// A write that releases, or the read of it that acquires, of a location for this alone.
    fn signal(&mut self, thread: u32, name: &str, is_sent: bool) -> Result<(), BuildError> {
        let process = self.builder.process(&thread.to_string());
        let (key, value) = (self.builder.key(name), self.builder.value("1"));
        let call = if is_sent {
            Call::new(process, Method::Write).argument(value).order(MemoryOrder::Release)
        } else {
            Call::new(process, Method::Read).result(value).order(MemoryOrder::Acquire)
        };
        self.builder.instant(&call.key(key)).map(|_| ())
    }

    /// A thread that is joined says that it has ended.
    fn end_thread(&mut self, event: &Event) -> Result<(), BuildError> {
        let thread = event.thread;
        let is_last = self.graph.len(thread) == event.index;
        if is_last && self.is_joined[thread as usize] {
            self.signal(thread, &format!("join-{thread}"), true)
        } else {
            Ok(())
        }
    }

    /// Names the sources of reads whose value was written twice.
    fn add_sources(&mut self) -> Result<(), BuildError> {
        let mut counts: FxHashMap<(u32, Value), u32> = FxHashMap::default();
        for (location, of) in (0..).zip(&self.graph.locations) {
            for &write in &of.writes {
                *counts.entry((location, self.graph.value_of(location, write))).or_default() += 1;
            }
        }
        for (slot, event) in self.graph.events.iter().enumerate() {
            let (Some(read), Some(location)) = (self.operations[slot], event.step.location()) else { continue };
            if matches!(event.step, Step::Write { .. }) {
                continue;
            }
            if counts.get(&(location, event.read)).is_none_or(|&count| count < 2) {
                continue;
            }
            if event.source == INITIAL {
                self.builder.set_source(read, history::Source::Init)?;
            } else if let Some(write) = self.operations[event.source as usize] {
                self.builder.set_source(read, history::Source::Operation(write))?;
            }
        }
        Ok(())
    }
}
