//! The frame of `tso` and `pso`: see [the module](super).

use certificate::{Derivation, Edge, Node, Rule, Step};
use history::Execution;
use history::execution::{Event, EventId, Kind, LocationId};
use order::saturation::NONE;

use crate::store::frame::{Frame, Lists, Relaxation, drains};

/// The frame, or why a thread by itself breaks coherence.
pub(super) fn frame(execution: &Execution, relaxation: Relaxation) -> Result<Frame<'static>, Derivation> {
    Ok(build(execution, relaxation, true)?.0)
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
    let predecessors = Lists::new(execution.len(), &threads.predecessors);
    Ok((Frame::split(split, relaxation, predecessors, owners), numbers))
}

/// The chain of each event, and the thread of each chain.
fn chains(execution: &Execution, relaxation: Relaxation) -> (Vec<u32>, Vec<u32>) {
    let mut chains = Vec::with_capacity(execution.len());
    let mut owners = Vec::new();
    // The chain of the writes of each location, or of all at the first place.
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
            // What is below is of an earlier thread.
            if of_writes[place] == NONE || of_writes[place] < reads {
                of_writes[place] = owners.len() as u32;
                owners.push(thread);
            }
            chains.push(of_writes[place]);
        }
    }
    (chains, owners)
}

/// Finds the base predecessors, thread by thread.
struct Threads<'a> {
    execution: &'a Execution,
    chains: &'a [u32],
    /// The number in the frame of each event.
    numbers: &'a [u32],
    /// Whether (i) and (ii) are asked for.
    coherent: bool,
    /// Pairs of an event and its predecessor, by their numbers in the frame.
    predecessors: Vec<(u32, u32)>,
    /// By chain of writes: the last one so far.
    last: Vec<u32>,
    /// By chain of writes: the last one that is known to be before the next read.
    known: Vec<u32>,
    /// By chain of writes: the last read, rmw or fence before its last write.
    executed: Vec<u32>,
    /// The chains of writes that were written since the last rmw or full fence.
    open: Vec<u32>,
    /// By location: the last write of the thread; of no meaning if it is of an earlier thread.
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
            if drains(&event) {
                for chain in self.open.drain(..) {
                    let (last, known) = (self.last[chain as usize], &mut self.known[chain as usize]);
                    if last != *known {
                        *known = last;
                        self.predecessors.push((number, self.numbers[last as usize]));
                    }
                }
            }
            if event.kind == Kind::Rmw {
                self.own[event.location.index()] = id;
            }
            executed = number;
        }
        // What is left in the buffers of this thread is nobody else's.
        debug_assert!(self.open.iter().all(|&chain| self.last[chain as usize] >= first));
        Ok(())
    }

    /// The predecessors of a read by its source, if it is not its thread's own.
    fn source(&mut self, read: u32, event: &Event, thread: std::ops::Range<u32>) -> Result<(), Derivation> {
        let own = Some(self.own[event.location.index()]).filter(|own| thread.contains(own));
        if event.source.is_event() && thread.contains(&event.source.0) {
            let right = own == Some(event.source.0) || !self.coherent;
            return if right { Ok(()) } else { Err(self.incoherent(read, event, own)) };
        }
        let number = self.numbers[read as usize];
        if event.source.is_event() {
            self.predecessors.push((number, self.numbers[event.source.index()]));
        }
        let own = own.filter(|&own| self.coherent && event.kind == Kind::Read && self.is_pure(own));
        let Some(own) = own else { return Ok(()) };
        if event.source == EventId::INIT {
            return Err(self.incoherent(read, event, Some(own)));
        }
        let known = &mut self.known[self.chains[own as usize] as usize];
        if *known == NONE || *known < own {
            *known = own;
            self.predecessors.push((number, self.numbers[own as usize]));
        }
        Ok(())
    }

    fn is_pure(&self, write: u32) -> bool {
        self.execution.events()[write as usize].kind == Kind::Write
    }

    /// Why a read cannot read what it does, given the last write of its thread and location before it.
    fn incoherent(&self, read: u32, event: &Event, own: Option<u32>) -> Derivation {
        let node = |event: u32| Node::Operation(self.execution.operation(EventId(event)));
        let source = match event.source {
            EventId::INIT => Node::Init(LocationId(event.location.0)),
            source if source.0 >= read => {
                let mut cycle = vec![Edge::Rf(node(source.0), node(read))];
                if source.0 > read {
                    cycle.insert(0, Edge::Po(node(read), node(source.0)));
                }
                return Derivation { steps: Vec::new(), cycle };
            }
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
