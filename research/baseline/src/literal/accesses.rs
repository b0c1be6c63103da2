//! Reads and writes by location, as all the rules use them.

use history::Execution;
use history::execution::EventId;

use super::Relation;

/// A read.
pub(super) struct Read {
    pub(super) event: u32,
    /// The write that it reads, if that is an event.
    pub(super) source: Option<u32>,
    pub(super) location: usize,
}

/// The accesses of an execution.
pub(super) struct Accesses<'a> {
    pub(super) execution: &'a Execution,
    pub(super) reads: Vec<Read>,
    /// By location.
    pub(super) writes: Vec<Vec<u32>>,
}

impl<'a> Accesses<'a> {
    /// Of an execution without thin-air reads.
    pub(super) fn new(execution: &'a Execution) -> Self {
        let mut writes = vec![Vec::new(); execution.location_count()];
        let mut reads = Vec::new();
        for id in execution.ids() {
            let event = execution.event(id);
            if event.kind.writes() {
                writes[event.location.index()].push(id.0);
            }
            if event.kind.reads() {
                let source = event.source.is_event().then_some(event.source.0);
                debug_assert!(source.is_some() || event.source == EventId::INIT, "no read is from thin air");
                reads.push(Read { event: id.0, source, location: event.location.index() });
            }
        }
        Self { execution, reads, writes }
    }

    /// The writes of the location of a read, other than the read itself and its source.
    pub(super) fn others(&self, it: &Read) -> impl Iterator<Item = u32> + '_ {
        let (read, source) = (it.event, it.source);
        self.writes[it.location].iter().copied().filter(move |&write| write != read && Some(write) != source)
    }

    /// All pairs of different writes of one location, both ways.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let of = |writes: &'_ Vec<u32>| {
            let writes = writes.clone();
            let all = writes.clone();
            writes.into_iter().flat_map(move |a| all.clone().into_iter().map(move |b| (a, b)))
        };
        self.writes.iter().flat_map(of).filter(|(a, b)| a != b)
    }

    /// Whether two events are of one thread.
    pub(super) fn same_thread(&self, a: u32, b: u32) -> bool {
        self.execution.threads()[a as usize] == self.execution.threads()[b as usize]
    }

    /// Adds program order, each event before the next, to a transitive relation that is empty.
    pub(super) fn add_program_order(&self, relation: &mut Relation) {
        // From the end, so that each event finds what comes after it.
        for id in (1..self.execution.len() as u32).rev() {
            if self.same_thread(id - 1, id) {
                relation.insert(id - 1, id);
            }
        }
    }

    /// Adds reads-from to a transitive relation. The answer is whether it has no cycle.
    pub(super) fn add_reads_from(&self, relation: &mut Relation) -> bool {
        self.reads.iter().all(|it| it.source.is_none_or(|source| relation.insert(source, it.event)))
    }

    /// `rw[st]`: adds to a relation the pairs of a read and a write that comes after its source in a store order. The
    /// initial write comes before all others.
    pub(super) fn add_read_write(&self, store_order: &Relation, relation: &mut Relation) {
        for it in &self.reads {
            for write in self.others(it) {
                if it.source.is_none_or(|source| store_order.has(source, write)) {
                    relation.set(it.event, write);
                }
            }
        }
    }
}
