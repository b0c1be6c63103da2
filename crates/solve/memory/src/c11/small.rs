//! `ra`, `rc20` and `relaxed` for at most 64 events: the argument of [`super::coherence`] with sets of accesses, each
//! one word, in place of clocks.
//!
//! Accesses are numbered as the pass comes to them, in an order of `po u rf`. A set has one bit for each number. So no
//! access of a set knows of the access of the highest bit, and whatever that access knows of is ordered before it
//! already. It is enough to look at the highest bit, to take away its past, and to repeat this. A chain has the number
//! of its first write.
//!
//! A model checker asks about many small executions. So only memory that is used is cleared, and the answer is only yes
//! or no.

use history::execution::{Event, EventId, Kind};
use history::{Execution, MemoryOrder};

use super::coherence::{acquires, releases};

/// The most events, threads and locations of a small execution.
const MAX_EVENTS: usize = 64;
/// The chain of the initial write of the current location.
const INIT: u8 = MAX_EVENTS as u8;

/// Which accesses synchronise. Fences synchronise only if memory orders count as written.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Orders {
    /// All accesses: `ra`.
    Strong,
    /// Accesses and fences as their memory orders say: `rc20`.
    Written,
    /// None: `relaxed`.
    Weak,
}

impl Orders {
    fn acquires(self, order: MemoryOrder) -> bool {
        self == Self::Strong || self == Self::Written && acquires(order, false)
    }

    fn releases(self, order: MemoryOrder) -> bool {
        self == Self::Strong || self == Self::Written && releases(order, false)
    }
}

/// What the next event of a thread knows, as sets of accesses.
#[derive(Copy, Clone, Debug, Default)]
struct Thread {
    next: u32,
    end: u32,
    /// The accesses that happen before its next event.
    current: u64,
    /// The accesses that an acquire fence would add.
    pending: u64,
    /// The accesses that happened before its last release fence.
    published: u64,
}

/// An access that was passed.
#[derive(Copy, Clone, Debug, Default)]
struct Access {
    /// The accesses that happen before it, and the access itself.
    past: u64,
    /// If it writes: what a reader that acquires learns.
    carried: u64,
    /// The chain of its value, and the place in it.
    value: [u8; 2],
}

/// The memory of the pass: by thread, event, location and so on, each up to the limit.
#[derive(Debug)]
pub(super) struct Small {
    threads: [Thread; MAX_EVENTS],
    /// By event that was passed: the number of the access.
    numbers: [u8; MAX_EVENTS],
    /// The accesses, by number.
    accesses: [Access; MAX_EVENTS],
    /// By location: its accesses so far.
    locations: [u64; MAX_EVENTS],
    /// By chain: the chains that must precede it.
    preceding: [u64; MAX_EVENTS],
    /// The events that were passed.
    passed: u64,
    /// The accesses, and the initial writes by location, that an rmw has read.
    updated: u64,
    updated_initially: u64,
    /// The chains so far.
    chains: u64,
    /// How many accesses were passed.
    count: u8,
    /// Whether some chain must precede one with a lower number.
    backward: bool,
}

impl Default for Small {
    fn default() -> Self {
        Self {
            threads: [Thread::default(); MAX_EVENTS],
            numbers: [0; MAX_EVENTS],
            accesses: [Access::default(); MAX_EVENTS],
            locations: [0; MAX_EVENTS],
            preceding: [0; MAX_EVENTS],
            passed: 0,
            updated: 0,
            updated_initially: 0,
            chains: 0,
            count: 0,
            backward: false,
        }
    }
}

impl Small {
    /// Whether an execution is small enough. It must have no thin-air reads either.
    pub(super) fn fits(execution: &Execution) -> bool {
        execution.len().max(execution.thread_count()).max(execution.location_count()) <= MAX_EVENTS
            && execution.thin_air().is_empty()
    }

    /// Whether `ra`, `rc20` or `relaxed`, as the orders are, allows an execution that fits.
    pub(super) fn allows(&mut self, orders: Orders, execution: &Execution) -> bool {
        match orders {
            Orders::Strong => self.decide(execution, |small, execution| small.pass(Orders::Strong, execution)),
            Orders::Written => self.decide(execution, |small, execution| small.pass(Orders::Written, execution)),
            Orders::Weak => self.decide(execution, |small, execution| small.pass(Orders::Weak, execution)),
        }
    }

    #[inline]
    fn decide(&mut self, execution: &Execution, pass: impl Fn(&mut Self, &Execution) -> bool) -> bool {
        for (thread, pair) in self.threads.iter_mut().zip(execution.starts().windows(2)) {
            *thread = Thread { next: pair[0], end: pair[1], ..Thread::default() };
        }
        self.locations[..execution.location_count()].fill(0);
        (self.passed, self.updated, self.updated_initially, self.chains) = (0, 0, 0, 0);
        (self.count, self.backward) = (0, false);
        pass(self, execution) && (!self.backward || self.is_acyclic())
    }

    /// Passes all events: each thread as far as possible, again and again. The answer is false if `po u rf` has a
    /// cycle, if some event is incoherent, or if two rmws read one write.
    #[inline]
    fn pass(&mut self, orders: Orders, execution: &Execution) -> bool {
        let mut left = execution.len();
        while left > 0 {
            let before = left;
            for number in 0..execution.thread_count() {
                let mut thread = self.threads[number];
                let begin = thread.next;
                while thread.next < thread.end {
                    let event = execution.events()[thread.next as usize];
                    if event.source.is_event() && self.passed >> (event.source.0 & 63) & 1 == 0 {
                        break;
                    }
                    if event.kind == Kind::Fence {
                        if orders == Orders::Written {
                            thread.fence(event.order);
                        }
                    } else if !self.access(orders, &mut thread, &event) {
                        return false;
                    }
                    thread.next += 1;
                }
                left -= (thread.next - begin) as usize;
                self.threads[number] = thread;
            }
            if left == before {
                return false;
            }
        }
        true
    }

    /// Passes the next event of a thread, which is an access. The answer is whether it is coherent with what it knows.
    #[inline]
    fn access(&mut self, orders: Orders, thread: &mut Thread, event: &Event) -> bool {
        let Event { location, source, kind, order } = *event;
        let number = self.count;
        let bit = 1 << number;
        let location = location.index();
        let (mut target, mut learnt) = ([INIT, 0], 0);
        if kind == Kind::Write {
            target = [number, 0];
            self.chains |= bit;
            self.preceding[number as usize] = 0;
        } else {
            let (updated, read) = if source == EventId::INIT {
                (&mut self.updated_initially, location)
            } else {
                let number = self.numbers[source.index()] as usize;
                let write = &self.accesses[number];
                (target, learnt) = (write.value, write.carried);
                if orders.acquires(order) {
                    thread.current |= learnt;
                } else {
                    thread.pending |= learnt;
                }
                (&mut self.updated, number)
            };
            if kind == Kind::Rmw {
                if *updated >> read & 1 == 1 {
                    return false;
                }
                *updated |= 1 << read;
            }
        }

        let [chain, index] = target;
        // Accesses that the source knows of precede the source already.
        let mut known = thread.current & self.locations[location] & !learnt;
        while known != 0 {
            let last = &self.accesses[known.ilog2() as usize];
            known &= !last.past;
            let [from, place] = last.value;
            if from == chain {
                if place > index {
                    return false;
                }
            } else if chain == INIT {
                return false;
            } else if from != INIT {
                self.preceding[chain as usize] |= 1 << from;
                self.backward |= from > chain;
            }
        }

        let published = if orders.releases(order) { thread.current | bit } else { thread.published };
        thread.current |= bit;
        self.accesses[number as usize] = Access {
            past: thread.current,
            carried: if kind == Kind::Rmw { published | learnt } else { published },
            value: [chain, index + u8::from(kind == Kind::Rmw)],
        };
        self.locations[location] |= bit;
        self.numbers[thread.next as usize] = number;
        self.passed |= 1 << thread.next;
        self.count += 1;
        true
    }

    /// Whether the chains can be ordered. Chains that nothing precedes are taken away, until none is left or none can
    /// be taken.
    fn is_acyclic(&self) -> bool {
        let mut left = self.chains;
        while left != 0 {
            let before = left;
            let mut rest = left;
            while rest != 0 {
                let chain = rest.trailing_zeros();
                rest &= rest - 1;
                if self.preceding[chain as usize] & left == 0 {
                    left &= !(1 << chain);
                }
            }
            if left == before {
                return false;
            }
        }
        true
    }
}

impl Thread {
    #[inline]
    fn fence(&mut self, order: MemoryOrder) {
        if acquires(order, true) {
            self.current |= self.pending;
        }
        if releases(order, true) {
            self.published = self.current;
        }
    }
}
