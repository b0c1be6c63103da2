//! Ten structures, as the paper took them from Scal, in Rust: six that are linearizable, four that are not meant to be.
//!
//! A structure is written on a [`Memory`] of words, so it runs under the scheduler of `explore` and on real threads
//! alike. Every value that is inserted is a number of its own, from one on, and is the number of its node. So nothing
//! is allocated, and no node comes again. The names are those of Scal:
//!
//! | name | structure | atomic |
//! | --- | --- | --- |
//! | msq | Michael and Scott's queue | yes |
//! | lbq | a queue under a lock | yes |
//! | sl | a linked queue with a lock for each end | yes |
//! | fcq | a queue with flat combining: one thread does the operations of all | yes |
//! | wfq11 | Kogan and Petrank's wait-free queue | yes |
//! | ts | Treiber's stack | yes |
//! | ukq | an unbounded k-FIFO queue: a removal takes any of the first k | no |
//! | bkq | a bounded k-FIFO queue | no |
//! | dq | a distributed queue: several queues side by side | no |
//! | rdq | a queue that removes one of its first values at random | no |

use history::Object;

/// Words that threads share. All accesses are sequentially consistent.
pub(super) trait Memory {
    fn load(&self, at: usize) -> usize;
    fn store(&self, at: usize, value: usize);
    /// Whether the word was as expected, and was changed.
    fn cas(&self, at: usize, old: usize, new: usize) -> bool;
    /// Called in loops that wait.
    fn wait(&self);
}

/// A structure.
#[derive(Copy, Clone)]
pub(super) struct Structure {
    pub(super) name: &'static str,
    pub(super) object: Object,
    /// Whether it is meant to be linearizable.
    pub(super) is_atomic: bool,
    pub(super) insert: fn(&dyn Memory, usize, usize),
    pub(super) remove: fn(&dyn Memory, usize, usize) -> Option<usize>,
}

/// The most threads.
pub(super) const THREADS: usize = 4;
/// How many words come before those of the nodes.
const FIXED: usize = 64;

/// How many words a run with so many values needs.
pub(super) const fn words(values: usize) -> usize {
    FIXED + 4 * (values + 8)
}

const fn structure(
    name: &'static str,
    is_atomic: bool,
    insert: fn(&dyn Memory, usize, usize),
    remove: fn(&dyn Memory, usize, usize) -> Option<usize>,
) -> Structure {
    Structure { name, object: Object::Queue, is_atomic, insert, remove }
}

pub(super) const STRUCTURES: [Structure; 10] = [
    structure("fcq", true, flat_insert, flat_remove),
    structure("lbq", true, locked_insert, locked_remove),
    structure("msq", true, linked_insert, linked_remove),
    structure("sl", true, two_locks_insert, two_locks_remove),
    Structure { object: Object::Stack, ..structure("ts", true, treiber_insert, treiber_remove) },
    structure("wfq11", true, helped_insert, helped_remove),
    structure("bkq", false, bounded_insert, bounded_remove),
    structure("dq", false, spread_insert, spread_remove),
    structure("rdq", false, linked_insert, random_remove),
    structure("ukq", false, unbounded_insert, unbounded_remove),
];

/// A number that looks random, of the operation of a thread.
const fn mix(thread: usize, number: usize) -> usize {
    let word = (thread as u64 * 0x9e37_79b9 + number as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (word >> 40) as usize
}

/// The word with the next of a node, if there are as many lists.
const fn next(list: usize, node: usize) -> usize {
    FIXED + 4 * node + list
}

fn lock(m: &dyn Memory, at: usize) {
    while !m.cas(at, 0, 1) {
        m.wait();
    }
}

/// Michael and Scott's queue number `list`: head and tail are the words 2 list and 2 list + 1; node 0 is the first one.
fn enqueue(m: &dyn Memory, list: usize, value: usize) {
    let tail_at = 2 * list + 1;
    loop {
        let tail = m.load(tail_at);
        let after = m.load(next(list, tail));
        if after != 0 {
            m.cas(tail_at, tail, after);
        } else if m.cas(next(list, tail), 0, value) {
            m.cas(tail_at, tail, value);
            return;
        }
    }
}

fn dequeue(m: &dyn Memory, list: usize) -> Option<usize> {
    let (head_at, tail_at) = (2 * list, 2 * list + 1);
    loop {
        let head = m.load(head_at);
        let tail = m.load(tail_at);
        let after = m.load(next(list, head));
        if after == 0 {
            return None;
        }
        if head == tail {
            m.cas(tail_at, tail, after);
        } else if m.cas(head_at, head, after) {
            return Some(after);
        }
    }
}

fn linked_insert(m: &dyn Memory, _: usize, value: usize) {
    enqueue(m, 0, value);
}

fn linked_remove(m: &dyn Memory, _: usize, _: usize) -> Option<usize> {
    dequeue(m, 0)
}

/// Word 0 is the lock, 1 and 2 count what was removed and inserted, the nodes' words are the array.
fn locked_insert(m: &dyn Memory, _: usize, value: usize) {
    lock(m, 0);
    let count = m.load(2);
    m.store(FIXED + count, value);
    m.store(2, count + 1);
    m.store(0, 0);
}

fn locked_remove(m: &dyn Memory, _: usize, _: usize) -> Option<usize> {
    lock(m, 0);
    let at = m.load(1);
    let found = (at < m.load(2)).then(|| m.load(FIXED + at));
    if found.is_some() {
        m.store(1, at + 1);
    }
    m.store(0, 0);
    found
}

/// Words 0 and 1 are head and tail, 2 and 3 their locks.
fn two_locks_insert(m: &dyn Memory, _: usize, value: usize) {
    lock(m, 3);
    let tail = m.load(1);
    m.store(next(0, tail), value);
    m.store(1, value);
    m.store(3, 0);
}

fn two_locks_remove(m: &dyn Memory, _: usize, _: usize) -> Option<usize> {
    lock(m, 2);
    let head = m.load(0);
    let after = m.load(next(0, head));
    if after != 0 {
        m.store(0, after);
    }
    m.store(2, 0);
    (after != 0).then_some(after)
}

/// Words 0 to 2 as those of the locked queue; then a request and an answer for each thread. A request is 1 for a
/// removal, or 1 more than the value to insert. An answer is 1 for none, or 1 more than the value.
fn combine(m: &dyn Memory, thread: usize, request: usize) -> usize {
    let (asked, answered) = (|of: usize| 8 + of, |of: usize| 8 + THREADS + of);
    m.store(asked(thread), request);
    loop {
        let answer = m.load(answered(thread));
        if answer != 0 {
            m.store(answered(thread), 0);
            return answer;
        }
        if !m.cas(0, 0, 1) {
            m.wait();
            continue;
        }
        for of in 0..THREADS {
            let request = m.load(asked(of));
            if request == 0 {
                continue;
            }
            m.store(asked(of), 0);
            let (removed, inserted) = (m.load(1), m.load(2));
            let answer = if request > 1 {
                m.store(FIXED + inserted, request - 1);
                m.store(2, inserted + 1);
                1
            } else if removed < inserted {
                m.store(1, removed + 1);
                m.load(FIXED + removed) + 1
            } else {
                1
            };
            m.store(answered(of), answer);
        }
        m.store(0, 0);
    }
}

fn flat_insert(m: &dyn Memory, thread: usize, value: usize) {
    combine(m, thread, value + 1);
}

fn flat_remove(m: &dyn Memory, thread: usize, _: usize) -> Option<usize> {
    Some(combine(m, thread, 1) - 1).filter(|&value| value > 0)
}

/// Word 0 is the top.
fn treiber_insert(m: &dyn Memory, _: usize, value: usize) {
    loop {
        let top = m.load(0);
        m.store(next(0, value), top);
        if m.cas(0, top, value) {
            return;
        }
    }
}

fn treiber_remove(m: &dyn Memory, _: usize, _: usize) -> Option<usize> {
    loop {
        let top = m.load(0);
        if top == 0 {
            return None;
        }
        let below = m.load(next(0, top));
        if m.cas(0, top, below) {
            return Some(top);
        }
    }
}

/// What a thread of Kogan and Petrank's queue is about, in one word.
#[derive(Copy, Clone, PartialEq, Eq)]
struct State {
    phase: usize,
    is_pending: bool,
    inserts: bool,
    node: usize,
}

/// No node.
const NOBODY: usize = (1 << 24) - 1;

impl State {
    const fn word(self) -> usize {
        self.phase << 26 | (self.is_pending as usize) << 25 | (self.inserts as usize) << 24 | self.node
    }

    const fn of(word: usize) -> Self {
        Self { phase: word >> 26, is_pending: word >> 25 & 1 == 1, inserts: word >> 24 & 1 == 1, node: word & NOBODY }
    }
}

/// Words 0 and 1 are head and tail, 8 and on the states. A node has a next, the thread that inserts it and the thread
/// that removes it (one more than its number).
struct Helped<'a>(&'a dyn Memory);

impl Helped<'_> {
    const STATES: usize = 8;

    fn state(&self, thread: usize) -> State {
        State::of(self.0.load(Self::STATES + thread))
    }

    fn change(&self, thread: usize, old: State, new: State) -> bool {
        self.0.cas(Self::STATES + thread, old.word(), new.word())
    }

    fn is_still_pending(&self, thread: usize, phase: usize) -> bool {
        let state = self.state(thread);
        state.is_pending && state.phase <= phase
    }

    /// Announces an operation, and helps all that were announced before.
    fn announce(&self, thread: usize, inserts: bool, node: usize) {
        let phase = (0..THREADS).map(|other| self.state(other).phase).max().unwrap_or(0) + 1;
        let state = State { phase, is_pending: true, inserts, node };
        self.0.store(Self::STATES + thread, state.word());
        for other in 0..THREADS {
            let state = self.state(other);
            if state.is_pending && state.phase <= phase {
                if state.inserts {
                    self.help_insert(other, phase);
                } else {
                    self.help_remove(other, phase);
                }
            }
        }
    }

    fn help_insert(&self, thread: usize, phase: usize) {
        while self.is_still_pending(thread, phase) {
            let tail = self.0.load(1);
            let after = self.0.load(next(0, tail));
            if tail != self.0.load(1) {
                continue;
            }
            if after != 0 {
                self.finish_insert();
            } else if self.is_still_pending(thread, phase) {
                let node = self.state(thread).node;
                if self.0.cas(next(0, tail), 0, node) {
                    self.finish_insert();
                    return;
                }
            }
        }
    }

    fn finish_insert(&self) {
        let tail = self.0.load(1);
        let after = self.0.load(next(0, tail));
        if after == 0 {
            return;
        }
        let thread = self.0.load(next(1, after)) - 1;
        let state = self.state(thread);
        if tail == self.0.load(1) && state.node == after {
            self.change(thread, state, State { is_pending: false, ..state });
            self.0.cas(1, tail, after);
        } else {
            self.0.cas(1, tail, after);
        }
    }

    fn help_remove(&self, thread: usize, phase: usize) {
        while self.is_still_pending(thread, phase) {
            let (head, tail) = (self.0.load(0), self.0.load(1));
            let after = self.0.load(next(0, head));
            if head != self.0.load(0) {
                continue;
            }
            if head == tail {
                if after != 0 {
                    self.finish_insert();
                    continue;
                }
                let state = self.state(thread);
                if tail == self.0.load(1) && self.is_still_pending(thread, phase) {
                    self.change(thread, state, State { is_pending: false, node: NOBODY, ..state });
                }
                continue;
            }
            let state = self.state(thread);
            if !self.is_still_pending(thread, phase) {
                return;
            }
            if head == self.0.load(0) && state.node != head {
                let claimed = State { node: head, ..state };
                if !self.change(thread, state, claimed) {
                    continue;
                }
            }
            self.0.cas(next(2, head), 0, thread + 1);
            self.finish_remove();
        }
    }

    fn finish_remove(&self) {
        let head = self.0.load(0);
        let after = self.0.load(next(0, head));
        let thread = self.0.load(next(2, head));
        if thread == 0 || after == 0 {
            return;
        }
        let state = self.state(thread - 1);
        if head == self.0.load(0) {
            self.change(thread - 1, state, State { is_pending: false, ..state });
            self.0.cas(0, head, after);
        }
    }
}

fn helped_insert(m: &dyn Memory, thread: usize, value: usize) {
    m.store(next(1, value), thread + 1);
    let queue = Helped(m);
    queue.announce(thread, true, value);
    queue.finish_insert();
}

fn helped_remove(m: &dyn Memory, thread: usize, _: usize) -> Option<usize> {
    let queue = Helped(m);
    queue.announce(thread, false, NOBODY);
    queue.finish_remove();
    let node = queue.state(thread).node;
    (node != NOBODY).then(|| m.load(next(0, node)))
}

/// How many values a segment of a k-FIFO queue holds.
const K: usize = 3;
/// How many segments the bounded one has. An insertion waits while all are in use, so a run should have fewer values:
/// at most 40.
const SEGMENTS: usize = 18;

/// The word of a place in a segment.
const fn place(segment: usize, at: usize, segments: usize) -> usize {
    if segments > 0 { 8 + segment % segments * K + at } else { FIXED + segment * K + at }
}

/// Words 0 and 1 are the first and the last segment. With so many segments; 0 means that there is no bound.
fn segment_insert(m: &dyn Memory, thread: usize, value: usize, segments: usize) {
    loop {
        let last = m.load(1);
        for at in 0..K {
            let slot = place(last, (at + mix(thread, value)) % K, segments);
            if m.load(slot) == 0 && m.cas(slot, 0, value) {
                // If the segment is not in use any more, the value may have been missed: it is taken back, if it can
                // be.
                let is_in_use = m.load(0) <= last && last <= m.load(1);
                if is_in_use || !m.cas(slot, value, 0) {
                    return;
                }
            }
        }
        if segments > 0 && last + 1 >= m.load(0) + segments {
            m.wait();
        } else {
            m.cas(1, last, last + 1);
        }
    }
}

fn segment_remove(m: &dyn Memory, thread: usize, number: usize, segments: usize) -> Option<usize> {
    loop {
        let (first, last) = (m.load(0), m.load(1));
        for at in 0..K {
            let slot = place(first, (at + mix(thread, number)) % K, segments);
            let value = m.load(slot);
            if value != 0 && first == m.load(0) && m.cas(slot, value, 0) {
                return Some(value);
            }
        }
        if first == last {
            // Another look, so that nothing that was there all the time is missed.
            if (0..K).all(|at| m.load(place(first, at, segments)) == 0) && m.load(1) == last {
                return None;
            }
        } else if (0..K).all(|at| m.load(place(first, at, segments)) == 0) {
            m.cas(0, first, first + 1);
        }
    }
}

fn unbounded_insert(m: &dyn Memory, thread: usize, value: usize) {
    segment_insert(m, thread, value, 0);
}

fn unbounded_remove(m: &dyn Memory, thread: usize, number: usize) -> Option<usize> {
    segment_remove(m, thread, number, 0)
}

fn bounded_insert(m: &dyn Memory, thread: usize, value: usize) {
    segment_insert(m, thread, value, SEGMENTS);
}

fn bounded_remove(m: &dyn Memory, thread: usize, number: usize) -> Option<usize> {
    segment_remove(m, thread, number, SEGMENTS)
}

/// How many queues the distributed queue has.
const QUEUES: usize = 2;

fn spread_insert(m: &dyn Memory, thread: usize, value: usize) {
    enqueue(m, mix(thread, value) % QUEUES, value);
}

fn spread_remove(m: &dyn Memory, thread: usize, number: usize) -> Option<usize> {
    let first = mix(thread, number);
    (0..QUEUES).find_map(|at| dequeue(m, (first + at) % QUEUES))
}

/// Removes one of the first values of the linked queue. A node that is removed has a mark, its fourth word.
fn random_remove(m: &dyn Memory, thread: usize, number: usize) -> Option<usize> {
    loop {
        let head = m.load(0);
        let mut skipped = mix(thread, number) % K;
        let (mut at, mut last) = (head, None);
        loop {
            let after = m.load(next(0, at));
            if after == 0 {
                break;
            }
            at = after;
            if m.load(next(3, at)) == 0 {
                last = Some(at);
                if skipped == 0 {
                    break;
                }
                skipped -= 1;
            } else if last.is_none() {
                // All before it are removed, so the queue begins here, if its tail does not lag.
                let tail = m.load(1);
                if tail != head {
                    m.cas(0, head, at);
                }
            }
        }
        let value = last?;
        if m.cas(next(3, value), 0, 1) {
            return Some(value);
        }
    }
}
