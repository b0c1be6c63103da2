//! An execution with a finding, as people need it: in lanes, and as a token that repeats it.
//!
//! The steps are those on which the finding depends, in an order in which they may have happened. A read names the
//! write that it read. If that was not the newest one, the trace says which value the newest had, and why the thread
//! need not have seen it.

use std::fmt::{self, Write as _};

use history::History;

use crate::graph::{Event, Graph, HAPPENS, INITIAL};
use crate::program::{Order, Step, Value};

/// An execution with a finding.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The steps of all threads in lanes.
    pub lanes: String,
    /// The execution in one line, which [`Builder::replay`](crate::Builder::replay) repeats.
    pub token: String,
    /// The execution as a history, for `seriatim check` and `seriatim report`.
    pub history: Option<History>,
    /// How far it is from an ordinary execution: the less, the better.
    pub(crate) measure: Measure,
}

/// How ordinary an execution is: how many of its reads are not of the newest write, how many steps it has, and how
/// often another thread goes on.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Measure {
    stale: usize,
    steps: usize,
    switches: usize,
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}replay: {}", self.lanes, self.token)
    }
}

/// How people call things.
#[allow(missing_debug_implementations, reason = "functions have no text")]
pub struct TraceWords<'a> {
    /// A location.
    pub name: &'a dyn Fn(u32) -> String,
    /// A value of a location.
    pub value: &'a dyn Fn(u32, Value) -> String,
    /// What a choice at a step of a thread means; nothing if it is not worth a line.
    pub choice: &'a dyn Fn(u32, u32, Value) -> String,
    /// Where a step of a thread is in the code.
    pub code: &'a dyn Fn(u32, u32) -> Option<String>,
}

/// How many executions are tried to make a finding more ordinary.
const MOST_ATTEMPTS: usize = 200;

impl Trace {
    /// The most ordinary execution that is found by reading the newest write at one read after the other. The attempt
    /// takes these steps, and answers with the trace if the finding stays.
    #[must_use]
    pub fn shrunk(self, mut attempt: impl FnMut(&[Taken]) -> Option<Self>) -> Self {
        let mut best = self;
        let mut at = 0;
        for _ in 0..MOST_ATTEMPTS {
            let Some((_, mut steps)) = read_token(&best.token) else { break };
            let Some(next) = (at..steps.len()).find(|&at| steps[at].1.is_some()) else { break };
            at = next + 1;
            steps[next].1 = None;
            let Some(other) = attempt(&steps) else { continue };
            if other.measure < best.measure {
                best = other;
                at = 0;
            }
        }
        best
    }
}

/// How wide a lane is at most.
const LANE: usize = 44;

impl Graph {
    /// The trace of the events on which these depend; all of them if there are none.
    pub fn trace(&self, of: &[(u32, u32)], words: &TraceWords<'_>) -> Trace {
        let needed: Vec<usize> = of.iter().map(|&(thread, index)| self.event_slot(thread, index)).collect();
        let is_needed = |&slot: &usize| {
            let event = &self.events[slot];
            !event.waits() && (needed.is_empty() || needed.iter().any(|&of| self.is_cause(slot, of)))
        };
        let slots: Vec<usize> = (0..self.events.len()).filter(is_needed).collect();
        let is_worth = |&slot: &usize| !Self::text(&self.events[slot], words).is_empty();
        Trace {
            lanes: self.lanes(&slots.iter().copied().filter(is_worth).collect::<Vec<_>>(), words),
            token: self.token(&slots),
            history: self.recorded(None, words, &[]).ok(),
            measure: self.measure(&slots),
        }
    }

    fn event_slot(&self, thread: u32, index: u32) -> usize {
        let events = &self.threads[thread as usize];
        events.get(index as usize).or(events.last()).map_or(0, |&slot| slot as usize)
    }

    /// The newest write of a location among the first events, if it is not the source of this read.
    fn newer(&self, slots: &[usize], slot: usize) -> Option<usize> {
        let event = &self.events[slot];
        let location = event.step.location()?;
        if matches!(event.step, Step::Write { .. } | Step::Access { .. }) {
            return None;
        }
        let earlier = slots.iter().copied().take_while(|&other| other < slot);
        let writes = |&other: &usize| self.events[other].writes && self.events[other].step.location() == Some(location);
        let newest = earlier.filter(writes).last()?;
        (event.source != newest as u32).then_some(newest)
    }

    fn measure(&self, slots: &[usize]) -> Measure {
        let switches = slots.windows(2).filter(|pair| self.events[pair[0]].thread != self.events[pair[1]].thread);
        let stale = slots.iter().filter(|&&slot| self.newer(slots, slot).is_some()).count();
        Measure { stale, steps: slots.len(), switches: switches.count() }
    }

    fn lanes(&self, slots: &[usize], words: &TraceWords<'_>) -> String {
        let mut threads: Vec<u32> = slots.iter().map(|&slot| self.events[slot].thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let texts: Vec<String> = slots.iter().map(|&slot| Self::text(&self.events[slot], words)).collect();
        let width = |thread: u32| {
            let of_thread = slots.iter().zip(&texts).filter(|&(&slot, _)| self.events[slot].thread == thread);
            let most = of_thread.map(|(_, text)| text.chars().count()).max().unwrap_or(0);
            most.clamp(format!("thread {thread}").len(), LANE)
        };
        let widths: Vec<usize> = threads.iter().map(|&thread| width(thread)).collect();
        let mut lanes = "     ".to_owned();
        for (thread, &width) in threads.iter().zip(&widths) {
            let _ = write!(lanes, "{:width$}  ", format!("thread {thread}"));
        }
        lanes.truncate(lanes.trim_end().len());
        lanes.push('\n');
        for ((number, &slot), text) in (1..).zip(slots).zip(&texts) {
            let event = &self.events[slot];
            let mut line = format!("{number:>3}  ");
            for (&thread, &width) in threads.iter().zip(&widths) {
                let _ = write!(line, "{:width$}  ", if thread == event.thread { text } else { "" });
            }
            line.push_str(&self.remark(slots, slot, words));
            let code = (words.code)(event.thread, event.index - 1).filter(|_| event.step != Step::Begin);
            if let Some(code) = code {
                let _ = write!(line, "  {code}");
            }
            lanes.push_str(line.trim_end());
            lanes.push('\n');
        }
        lanes
    }

    /// A step in short.
    pub(crate) fn text(event: &Event, TraceWords { name, value: shown, choice, .. }: &TraceWords<'_>) -> String {
        let order = match event.order() {
            Order::NonAtomic => "",
            Order::Relaxed => ".rlx",
            Order::Acquire => ".acq",
            Order::Release => ".rel",
            Order::AcquireRelease => ".acqrel",
            Order::SequentiallyConsistent => ".sc",
        };
        match event.step {
            Step::Read { location, .. } => format!("r{order} {} {}", name(location), shown(location, event.read)),
            Step::Write { location, value, .. } => format!("w{order} {} {}", name(location), shown(location, value)),
            Step::Rmw { location, .. } if event.writes => {
                let [read, written] = [event.read, event.written].map(|value| shown(location, value));
                format!("u{order} {} {read} -> {written}", name(location))
            }
            Step::Rmw { location, .. } => {
                format!("r{order} {} {} (fails)", name(location), shown(location, event.read))
            }
            Step::Access { location, writes } => {
                format!("{} {}", if writes { "writes" } else { "reads" }, name(location))
            }
            Step::Fence(_) => format!("f{order}"),
            Step::Choice(_) => choice(event.thread, event.index - 1, event.read),
            Step::Spawn(thread) => format!("spawns {thread}"),
            Step::Join(thread) => format!("joins {thread}"),
            Step::Begin => "begins".to_owned(),
        }
    }

    /// Which write a read read, and why it may.
    fn remark(&self, slots: &[usize], slot: usize, words: &TraceWords<'_>) -> String {
        let event = &self.events[slot];
        let number = |slot: usize| slots.iter().position(|&other| other == slot).map_or(0, |at| at + 1);
        if event.source >= crate::graph::NOTHING && event.source != INITIAL {
            return String::new();
        }
        if matches!(event.step, Step::Write { .. } | Step::Access { .. }) || event.step.location().is_none() {
            return String::new();
        }
        let mut remark = match event.source {
            INITIAL => "from the start".to_owned(),
            source => format!("from {}", number(source as usize)),
        };
        if let Some(newest) = self.newer(slots, slot) {
            let location = event.step.location().unwrap_or_default();
            let value = (words.value)(location, self.events[newest].written);
            let write = &self.events[newest];
            // What it had heard of before it read this.
            let clock = self.clock(slot, HAPPENS);
            let knows = clock[write.thread as usize] >= write.index;
            let why = if knows { "the writes have the other order" } else { "it has not heard of that one" };
            let _ = write!(remark, ", not {value} from {}: {why}", number(newest));
        }
        remark
    }

    /// The execution in one line: for each step its thread, and behind `-` the number of the write that was read, or
    /// what was chosen. Steps of one thread without either are counted: `2x3`.
    fn token(&self, slots: &[usize]) -> String {
        let mut items: Vec<(u32, Option<Value>, u32)> = Vec::new();
        // Writes are numbered among those that stay.
        let number = |location: u32, source: u32| match source {
            INITIAL => 0,
            source => {
                let of = &self.locations[location as usize].writes;
                let stays = |&&write: &&u32| write <= source && slots.binary_search(&(write as usize)).is_ok();
                of.iter().skip(1).filter(stays).count() as Value
            }
        };
        for &slot in slots {
            let event = &self.events[slot];
            let chosen = match event.step {
                Step::Read { location, .. } | Step::Rmw { location, .. } => Some(number(location, event.source)),
                Step::Choice(_) => Some(event.read),
                _ => None,
            };
            match items.last_mut() {
                Some((thread, None, count)) if *thread == event.thread && chosen.is_none() => *count += 1,
                _ => items.push((event.thread, chosen, 1)),
            }
        }
        let item = |&(thread, chosen, count): &(u32, Option<Value>, u32)| match (chosen, count) {
            (Some(chosen), _) => format!("{thread}-{chosen}"),
            (None, 1) => thread.to_string(),
            (None, count) => format!("{thread}x{count}"),
        };
        let items: Vec<String> = items.iter().map(item).collect();
        format!("{}/{}", self.model(), items.join("."))
    }
}

/// A step that was taken: its thread, and which write was read or what was chosen.
pub type Taken = (u32, Option<usize>);

/// Reads a token: the name of the model, and for each step its thread and what was chosen.
pub fn read_token(token: &str) -> Option<(&str, Vec<Taken>)> {
    let (model, items) = token.trim().split_once('/')?;
    let mut steps = Vec::new();
    for item in items.split('.').filter(|item| !item.is_empty()) {
        if let Some((thread, chosen)) = item.split_once('-') {
            steps.push((thread.parse().ok()?, Some(chosen.parse().ok()?)));
        } else if let Some((thread, count)) = item.split_once('x') {
            let count: usize = count.parse().ok()?;
            if count > 1 << 24 || steps.len() > 1 << 24 {
                return None;
            }
            let thread = thread.parse().ok()?;
            steps.extend(std::iter::repeat_n((thread, None), count));
        } else {
            steps.push((item.parse().ok()?, None));
        }
    }
    Some((model, steps))
}
