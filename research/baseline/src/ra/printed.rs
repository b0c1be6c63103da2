//! RF's Algorithms 1 to 4: `wra`, `sra` without rmws, `rc20` (and `ra`), and `relaxed`, as the paper prints them.
//!
//! The auxiliary functions are those of section 3 of RF. `HB[e]` is a clock for each event. A list of the writes
//! (reads) of a thread on a location has one place for each observer, which only goes forward, because `HB` grows
//! along program order: so all queries together take O(n k). `TC` and `PC` are the top of, and the place in, a chain
//! of rmws.
//!
//! The paper leaves out initial writes. Here each location has one, before all others: its top is itself, and a write
//! that would have to come before it is a violation. A missing write is left out. Besides, the text as printed has
//! some slips, and [`Text`] says which text is followed:
//!
//! - Algorithm 1, line 9, asks `WList[t,x]` of observer u for each thread u. It means the writes of u, observed by t.
//! - Algorithm 3, line 10, leaves out the event itself if it is an rmw. A read must be left out, too: otherwise the
//!   last read before an access is the access itself, and what its thread read before is forgotten.
//! - Section 4.4 has an edge from `lastWriteBefore(t1, x, HB[e2][t1] - 1)` to e2. The `- 1` is right for the own
//!   thread of e2 only. And its graph has no reads: if e2 comes after a relaxed read of w, nothing says that w is
//!   before e2.

use history::Execution;
use history::execution::{EventId, Kind};
use model::Model;
use rustc_hash::FxHashMap;

use super::{happens_before, order_of_execution};

/// Which text is followed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// As it is printed.
    Printed,
    /// With the corrections that the module lists.
    Corrected,
}

/// For each thread and location the accesses of a kind, with a place for each observer.
struct Lists {
    /// By location and thread, if there are accesses: the number of the list.
    numbers: FxHashMap<(usize, usize), usize>,
    accesses: Vec<Vec<EventId>>,
    /// By observer and list.
    places: Vec<u32>,
}

impl Lists {
    fn new(execution: &Execution, is_meant: impl Fn(Kind) -> bool) -> Self {
        let mut numbers = FxHashMap::default();
        let mut accesses: Vec<Vec<EventId>> = Vec::new();
        for id in execution.ids().filter(|&id| is_meant(execution.event(id).kind)) {
            let key = (execution.event(id).location.index(), execution.thread(id).index());
            let list = *numbers.entry(key).or_insert(accesses.len());
            if list == accesses.len() {
                accesses.push(Vec::new());
            }
            accesses[list].push(id);
        }
        let places = vec![0; execution.thread_count() * accesses.len()];
        Self { numbers, accesses, places }
    }

    /// The last access of a thread to a location among its first `count` events. The counts that an observer asks about
    /// must not fall.
    fn get(&mut self, execution: &Execution, [thread, location, observer]: [usize; 3], count: u32) -> Option<EventId> {
        let list = *self.numbers.get(&(location, thread))?;
        let place = &mut self.places[observer * self.accesses.len() + list];
        while self.accesses[list].get(*place as usize).is_some_and(|&id| execution.position(id) < count) {
            *place += 1;
        }
        Some(self.accesses[list][(*place).checked_sub(1)? as usize])
    }
}

/// The chains of rmws: `TC` and `PC`. Behind the events come the initial writes, by location.
struct Chains {
    events: usize,
    tops: Vec<usize>,
    places: Vec<u32>,
}

impl Chains {
    /// `None` if weak atomicity is violated. `order` has each event after its source.
    fn new(execution: &Execution, order: &[EventId]) -> Option<Self> {
        let events = execution.len();
        let size = events + execution.location_count();
        let mut chains = Self { events, tops: (0..size).collect(), places: vec![0; size] };
        let mut is_updated = vec![false; size];
        for &id in order.iter().filter(|&&id| execution.event(id).kind == Kind::Rmw) {
            let source = chains.source(execution, id);
            if std::mem::replace(&mut is_updated[source], true) {
                return None;
            }
            chains.tops[id.index()] = chains.tops[source];
            chains.places[id.index()] = chains.places[source] + 1;
        }
        Some(chains)
    }

    fn source(&self, execution: &Execution, read: EventId) -> usize {
        let event = execution.event(read);
        if event.source.is_event() { event.source.index() } else { self.events + event.location.index() }
    }

    /// Whether a write that the reader knows of must come before the chain of its source.
    fn is_earlier(&self, write: usize, source: usize) -> bool {
        self.tops[write] != self.tops[source] || self.places[source] < self.places[write]
    }
}

/// Whether a graph has no cycle.
fn is_acyclic(size: usize, edges: &[(usize, usize)]) -> bool {
    let mut after = vec![Vec::new(); size];
    let mut incoming = vec![0_u32; size];
    for &(from, to) in edges {
        after[from].push(to);
        incoming[to] += 1;
    }
    let mut ready: Vec<usize> = (0..size).filter(|&at| incoming[at] == 0).collect();
    let mut seen = 0;
    while let Some(at) = ready.pop() {
        seen += 1;
        for &to in &after[at] {
            incoming[to] -= 1;
            if incoming[to] == 0 {
                ready.push(to);
            }
        }
    }
    seen == size
}

/// An event in a pass: itself, its thread and its location.
fn reads<'a>(execution: &'a Execution, order: &'a [EventId]) -> impl Iterator<Item = (EventId, usize, usize)> + 'a {
    let of = |id: EventId| (id, execution.thread(id).index(), execution.event(id).location.index());
    order.iter().copied().filter(|&id| execution.event(id).kind.reads()).map(of)
}

/// Algorithm 1: whether `wra` allows an execution without thin-air reads.
pub fn algorithm1(execution: &Execution, text: Text) -> bool {
    let Some(order) = order_of_execution(execution) else { return false };
    if Chains::new(execution, &order).is_none() {
        return false;
    }
    let threads = execution.thread_count();
    let hb = happens_before(execution, Model::Ra, &order);
    let mut writes = Lists::new(execution, Kind::writes);
    for (id, thread, location) in reads(execution, &order) {
        let event = execution.event(id);
        for other in 0..threads {
            let is_own = event.kind == Kind::Rmw && other == thread;
            let count = hb[id.index() * threads + other] - u32::from(is_own);
            let asked = match text {
                Text::Printed => [thread, location, other],
                Text::Corrected => [other, location, thread],
            };
            let Some(write) = writes.get(execution, asked, count) else { continue };
            if event.source == EventId::INIT {
                return false;
            }
            let source = execution.thread(event.source).index();
            let known = hb[write.index() * threads + source];
            let least = execution.position(event.source) + 1;
            if write != event.source && known >= least && (other != source || known > least) {
                return false;
            }
        }
    }
    true
}

/// Algorithm 2: whether `sra` allows an execution without rmws and thin-air reads.
pub fn algorithm2(execution: &Execution) -> bool {
    let Some(order) = order_of_execution(execution) else { return false };
    let threads = execution.thread_count();
    let hb = happens_before(execution, Model::Ra, &order);
    let mut writes = Lists::new(execution, Kind::writes);
    // `hb` and the modification order.
    let mut edges: Vec<(usize, usize)> = program_order(execution).collect();
    for (id, thread, location) in reads(execution, &order) {
        let source = execution.event(id).source;
        if source.is_event() {
            edges.push((source.index(), id.index()));
        }
        for other in 0..threads {
            let count = hb[id.index() * threads + other];
            let Some(write) = writes.get(execution, [other, location, thread], count) else { continue };
            if source == EventId::INIT {
                return false;
            }
            if write != source {
                edges.push((write.index(), source.index()));
            }
        }
    }
    is_acyclic(execution.len(), &edges)
}

/// Each event before the next of its thread.
fn program_order(execution: &Execution) -> impl Iterator<Item = (usize, usize)> + '_ {
    execution.ids().filter(|&id| execution.position(id) > 0).map(|id| (id.index() - 1, id.index()))
}

/// Algorithm 3: whether `rc20` (or `ra`) allows an execution without thin-air reads.
pub fn algorithm3(execution: &Execution, model: Model, text: Text) -> bool {
    let Some(order) = order_of_execution(execution) else { return false };
    let Some(chains) = Chains::new(execution, &order) else { return false };
    let threads = execution.thread_count();
    let hb = happens_before(execution, model, &order);
    let mut writes = Lists::new(execution, Kind::writes);
    let mut readers = Lists::new(execution, Kind::reads);
    // `rf`, `hb` and the modification order between the writes of a location.
    let mut edges = Vec::new();
    for (id, thread, location) in reads(execution, &order) {
        let kind = execution.event(id).kind;
        let source = chains.source(execution, id);
        if kind == Kind::Rmw {
            edges.push((source, id.index()));
        }
        for other in 0..threads {
            let is_left_out = other == thread && (kind == Kind::Rmw || text == Text::Corrected);
            let count = hb[id.index() * threads + other] - u32::from(is_left_out);
            let asked = [other, location, thread];
            let write = writes.get(execution, asked, count).map(EventId::index);
            let read = readers.get(execution, asked, count).map(|read| chains.source(execution, read));
            for known in [write, read].into_iter().flatten().filter(|&known| known != source) {
                if chains.is_earlier(known, source) {
                    edges.push((known, chains.tops[source]));
                }
            }
        }
    }
    let mut writes = Lists::new(execution, Kind::writes);
    let mut readers = Lists::new(execution, Kind::reads);
    for &id in order.iter().filter(|&&id| execution.event(id).kind.writes()) {
        let (thread, location) = (execution.thread(id).index(), execution.event(id).location.index());
        edges.push((execution.len() + location, id.index()));
        for other in 0..threads {
            let known = hb[id.index() * threads + other];
            let is_left_out = other == thread || text == Text::Printed;
            let count = known.saturating_sub(u32::from(is_left_out));
            let asked = [other, location, thread];
            edges.extend(writes.get(execution, asked, count).map(|write| (write.index(), id.index())));
            if text == Text::Corrected {
                let read = readers.get(execution, asked, count);
                edges.extend(read.map(|read| (chains.source(execution, read), id.index())));
            }
        }
    }
    is_acyclic(execution.len() + execution.location_count(), &edges)
}

/// Algorithm 4: whether `relaxed` allows an execution without thin-air reads.
pub fn algorithm4(execution: &Execution) -> bool {
    let Some(order) = order_of_execution(execution) else { return false };
    let Some(chains) = Chains::new(execution, &order) else { return false };
    let threads = execution.thread_count();
    // By location and thread: the latest write that the thread knows of (LW), and its last access.
    let mut latest: Vec<Option<usize>> = vec![None; execution.location_count() * threads];
    let mut last: Vec<Option<usize>> = latest.clone();
    let mut edges = Vec::new();
    for &id in order.iter().filter(|&&id| execution.event(id).kind != Kind::Fence) {
        let (event, at) = (execution.event(id), id.index());
        let place = event.location.index() * threads + execution.thread(id).index();
        edges.extend(last[place].replace(at).map(|before| (before, at)));
        if event.kind.reads() {
            let source = chains.source(execution, id);
            edges.push((source, at));
            if let Some(known) = latest[place].filter(|&known| chains.is_earlier(known, source)) {
                edges.push((known, chains.tops[source]));
            }
            latest[place] = Some(source);
        }
        if event.kind.writes() {
            edges.push((execution.len() + event.location.index(), at));
            latest[place] = Some(at);
        }
    }
    is_acyclic(execution.len() + execution.location_count(), &edges)
}
