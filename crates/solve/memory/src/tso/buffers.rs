//! The frame of `tso` and `pso`: see [the module](super).

use history::Execution;
use history::execution::{Event, EventId, Kind, LocationId};
use model::{Derivation, Edge, Node, Rule, Step};
use order::Rows;
use order::saturation::NONE;

use crate::store::frame::{Frame, Relaxation};

/// The frame, or why a thread by itself breaks coherence.
pub(super) fn frame(execution: &Execution, relaxation: Relaxation) -> Result<Frame<'static>, Derivation> {
    Ok(numbered_frame(execution, relaxation)?.0)
}

/// The frame, and the number of each event in it; or why a thread by itself breaks coherence.
pub fn numbered_frame(execution: &Execution, relaxation: Relaxation) -> Result<(Frame<'static>, Vec<u32>), Derivation> {
    build(execution, relaxation, true)
}

/// The frame whose base is `ppo u rfe` of `tso` and nothing else, and the number of each event in it.
pub(super) fn preserved(execution: &Execution) -> (Frame<'static>, Vec<u32>) {
    build(execution, Relaxation::WriteRead, false).expect("coherence was not asked for")
}

fn build(
    execution: &Execution,
    relaxation: Relaxation,
    coherent: bool,
) -> Result<(Frame<'static>, Vec<u32>), Derivation> {
    let (chains, owners) = chains(execution, relaxation);
    let (split, numbers) = execution.split(&chains, owners.len());
    let mut threads = Threads {
        execution,
        relaxation,
        chains: &chains,
        numbers: &numbers,
        coherent,
        predecessors: Vec::with_capacity(execution.len()),
        last: vec![NONE; owners.len()],
        known: vec![NONE; owners.len()],
        executed: vec![NONE; owners.len()],
        open: Vec::new(),
        own: vec![NONE; execution.location_count()],
    };
    for thread in execution.starts().windows(2) {
        threads.visit(thread[0]..thread[1])?;
    }
    let predecessors = threads.predecessors.iter().map(|&(event, predecessor)| (event as usize, predecessor));
    let predecessors = Rows::new(execution.len(), predecessors);
    Ok((Frame::split(split, relaxation, predecessors, owners), numbers))
}

/// The chain of each event, and the thread of each chain.
fn chains(execution: &Execution, relaxation: Relaxation) -> (Vec<u32>, Vec<u32>) {
    let mut chains = Vec::with_capacity(execution.len());
    let mut owners = Vec::new();
    // The chain of the writes of each location. With one buffer for all locations, the chain of all writes is in the
    // first place.
    let mut of_writes = vec![NONE; execution.location_count().max(1)];
    for (thread, bounds) in (0u32..).zip(execution.starts().windows(2)) {
        let reads = owners.len() as u32;
        owners.push(thread);
        for event in &execution.events()[bounds[0] as usize..bounds[1] as usize] {
            if event.kind != Kind::Write {
                chains.push(reads);
                continue;
            }
            let place = if relaxation == Relaxation::WriteAny { event.location.index() } else { 0 };
            // A smaller number is the chain of an earlier thread.
            if of_writes[place] == NONE || of_writes[place] < reads {
                of_writes[place] = owners.len() as u32;
                owners.push(thread);
            }
            chains.push(of_writes[place]);
        }
    }
    (chains, owners)
}

/// The cycle of a read and its source, if the source is a later write of its thread or the read itself.
pub(super) fn reads_later(execution: &Execution, read: EventId, source: EventId) -> Derivation {
    let node = |event| Node::Operation(execution.operation(event));
    let mut cycle = vec![Edge::Rf(node(source), node(read))];
    if source != read {
        cycle.insert(0, Edge::Po(node(read), node(source)));
    }
    Derivation { steps: Vec::new(), cycle }
}

/// Finds the base predecessors, thread by thread.
struct Threads<'a> {
    execution: &'a Execution,
    relaxation: Relaxation,
    chains: &'a [u32],
    /// The number in the frame of each event.
    numbers: &'a [u32],
    /// Whether conditions (i) and (ii) of the module are asked for.
    coherent: bool,
    /// Pairs of an event and its predecessor, by their numbers in the frame.
    predecessors: Vec<(u32, u32)>,
    /// By chain of writes: the last write so far.
    last: Vec<u32>,
    /// By chain of writes: the last write that is known to be before the next read.
    known: Vec<u32>,
    /// By chain of writes: the last read, rmw or fence before its last write.
    executed: Vec<u32>,
    /// The chains of writes that have new writes since the last event that waited for all chains.
    open: Vec<u32>,
    /// By location: the last write of the current thread. An event of an earlier thread means that there is none.
    own: Vec<u32>,
}

impl Threads<'_> {
    fn visit(&mut self, thread: std::ops::Range<u32>) -> Result<(), Derivation> {
        let first = thread.start;
        self.open.clear();
        let mut executed = NONE;
        for id in thread.clone() {
            let event = self.execution.events()[id as usize];
            let (chain, number) = (self.chains[id as usize] as usize, self.numbers[id as usize]);
            if event.kind == Kind::Write {
                if executed != NONE && self.executed[chain] != executed {
                    self.predecessors.push((number, executed));
                    self.executed[chain] = executed;
                }
                if self.last[chain] == self.known[chain] {
                    self.open.push(chain as u32);
                }
                self.last[chain] = id;
                self.own[event.location.index()] = id;
                continue;
            }
            if event.kind.reads() {
                self.source(id, &event, thread.clone())?;
            }
            if self.relaxation.drains(&event) {
                for chain in self.open.drain(..) {
                    let (last, known) = (self.last[chain as usize], &mut self.known[chain as usize]);
                    if last != *known {
                        *known = last;
                        self.predecessors.push((number, self.numbers[last as usize]));
                    }
                }
            }
            if event.kind == Kind::Rmw {
                if let Some(write) = self.own_write(&event, &thread) {
                    self.comes_after(number, write);
                }
                self.own[event.location.index()] = id;
            }
            executed = number;
        }
        // The writes in the open chains are of this thread.
        debug_assert!(self.open.iter().all(|&chain| self.last[chain as usize] >= first));
        Ok(())
    }

    /// Adds the predecessors of a read that follow from its source, if the source is of another thread.
    fn source(&mut self, read: u32, event: &Event, thread: std::ops::Range<u32>) -> Result<(), Derivation> {
        let own = self.own(event, &thread);
        if event.source.is_event() && thread.contains(&event.source.0) {
            let right = own == Some(event.source.0) || !self.coherent;
            return if right { Ok(()) } else { Err(self.incoherent(read, event, own)) };
        }
        let number = self.numbers[read as usize];
        if event.source.is_event() {
            self.predecessors.push((number, self.numbers[event.source.index()]));
        }
        // An rmw comes after the last write of its thread in any case.
        if self.coherent
            && event.kind == Kind::Read
            && let Some(own) = self.own_write(event, &thread)
        {
            if event.source == EventId::INIT {
                return Err(self.incoherent(read, event, Some(own)));
            }
            self.comes_after(number, own);
        }
        Ok(())
    }

    /// The last write or rmw of the thread so far to the location of an event.
    fn own(&self, event: &Event, thread: &std::ops::Range<u32>) -> Option<u32> {
        Some(self.own[event.location.index()]).filter(|own| thread.contains(own))
    }

    /// The last write of the thread so far to the location of an event, if it is a pure write, which may still be in a
    /// buffer.
    fn own_write(&self, event: &Event, thread: &std::ops::Range<u32>) -> Option<u32> {
        self.own(event, thread).filter(|&own| self.execution.events()[own as usize].kind == Kind::Write)
    }

    /// Makes a write a predecessor of an event, which is given by its number in the frame. Nothing is added if an
    /// earlier event of the chain is known to come after the write.
    fn comes_after(&mut self, number: u32, write: u32) {
        let known = &mut self.known[self.chains[write as usize] as usize];
        if *known == NONE || *known < write {
            *known = write;
            self.predecessors.push((number, self.numbers[write as usize]));
        }
    }

    /// The derivation of why a read cannot read its source, given the last write of its thread and location before it.
    fn incoherent(&self, read: u32, event: &Event, own: Option<u32>) -> Derivation {
        let node = |event: u32| Node::Operation(self.execution.operation(EventId(event)));
        let source = match event.source {
            EventId::INIT => Node::Init(LocationId(event.location.0)),
            source if source.0 >= read => return reads_later(self.execution, EventId(read), source),
            source => node(source.0),
        };
        let overwritten = node(own.unwrap_or(read));
        let step = Step {
            rule: Rule::Conflict { read: node(read), view: None },
            from: overwritten,
            to: source,
            path: vec![Edge::Po(overwritten, node(read))],
        };
        Derivation { steps: vec![step], cycle: vec![Edge::Po(source, overwritten), Edge::Derived(0)] }
    }
}
