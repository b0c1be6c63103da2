//! The programs of RF's experiments, in Rust on the types of `explore`.
//!
//! The 25 programs of Tables 1 and 3 are written after their descriptions in the literature. Loops that could go on for
//! ever without waiting are cut after some rounds. Seven more programs of Table 2 stand for applications (gdax, iris,
//! mabain, silo) and small tests (indexer, spsc): they have the shape of the accesses, not the code. Memory orders are
//! the weakest that are usual; under `ra` they mean nothing.
//!
//! All data is in an array of atomic words. Each thread runs the same function with its number.

use explore::hint::spin_loop;
use explore::sync::Arc;
use explore::sync::atomic::AtomicUsize;
use explore::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use explore::thread;

/// The shared words.
pub(super) struct Words(Vec<AtomicUsize>);

impl Words {
    fn load(&self, at: usize, order: Ordering) -> usize {
        self.0[at].load(order)
    }

    fn store(&self, at: usize, value: usize, order: Ordering) {
        self.0[at].store(value, order);
    }

    fn cas(&self, at: usize, old: usize, new: usize, order: Ordering) -> bool {
        let failure = if matches!(order, Acquire | AcqRel) { Acquire } else { Relaxed };
        self.0[at].compare_exchange(old, new, order, failure).is_ok()
    }

    fn add(&self, at: usize, value: usize, order: Ordering) -> usize {
        self.0[at].fetch_add(value, order)
    }

    fn swap(&self, at: usize, value: usize, order: Ordering) -> usize {
        self.0[at].swap(value, order)
    }

    /// Waits until a word is as wanted.
    fn wait(&self, at: usize, is_wanted: impl Fn(usize) -> bool) {
        while !is_wanted(self.load(at, Acquire)) {
            spin_loop();
        }
    }
}

/// What a thread does: the words, its number, how many threads there are, and how many rounds.
type Code = fn(&Words, usize, usize, usize);

/// A program.
#[derive(Copy, Clone)]
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) threads: usize,
    /// How many rounds it has when it is explored.
    pub(super) rounds: usize,
    /// How many words it needs: for each thread and round, for each thread, and besides.
    words: [usize; 3],
    code: Code,
}

impl Program {
    /// The program with so many rounds.
    pub(super) fn run(self, rounds: usize) {
        let Self { threads, words: [each, by_thread, besides], code, .. } = self;
        let count = each * threads * rounds + by_thread * threads + besides;
        let words = Arc::new(Words((0..count).map(|_| AtomicUsize::new(0)).collect()));
        let others: Vec<_> = (1..threads)
            .map(|number| {
                let words = Arc::clone(&words);
                thread::spawn(move || code(&words, number, threads, rounds))
            })
            .collect();
        code(&words, 0, threads, rounds);
        for other in others {
            other.join().expect("no thread panics");
        }
    }
}

const fn program(name: &'static str, threads: usize, rounds: usize, words: [usize; 3], code: Code) -> Program {
    Program { name, threads, rounds, words, code }
}

/// The programs of Tables 1 and 3.
pub(super) const EXPLORED: [Program; 25] = [
    program("barrier", 3, 6, [0, 1, 2], barrier),
    program("buf-ring", 4, 4, [0, 0, 8], buf_ring),
    program("chase-lev", 3, 10, [1, 0, 2], chase_lev),
    program("control-flow", 6, 8, [0, 0, 3], control_flow),
    program("dekker", 2, 10, [0, 1, 2], dekker),
    program("dq", 4, 8, [0, 0, 2], dq),
    program("exp-bug", 4, 10, [0, 0, 2], exp_bug),
    program("fib-bench", 2, 16, [0, 0, 2], fib_bench),
    program("gcd", 2, 16, [0, 0, 2], gcd),
    program("lamport", 3, 5, [0, 1, 3], lamport),
    program("linuxrwlocks", 4, 5, [0, 0, 2], linux_rw_locks),
    program("mcs-spinlock", 3, 5, [0, 2, 2], mcs_spinlock),
    program("mpmc", 4, 5, [0, 0, 10], mpmc),
    program("ms-queue", 3, 5, [1, 0, 3], ms_queue),
    program("mutex", 3, 6, [0, 0, 2], mutex),
    program("peterson", 2, 8, [0, 1, 2], peterson),
    program("qu", 4, 5, [1, 0, 2], qu),
    program("seqlock", 4, 5, [0, 0, 3], seqlock),
    program("sigma", 6, 6, [1, 0, 1], sigma),
    program("spinlock", 3, 7, [0, 0, 2], spinlock),
    program("szymanski", 2, 6, [0, 1, 1], szymanski),
    program("ticketlock", 3, 7, [0, 0, 3], ticket_lock),
    program("treiber", 3, 6, [1, 0, 2], treiber),
    program("ttaslock", 3, 7, [0, 0, 2], ttas_lock),
    program("twalock", 3, 6, [0, 0, 7], twa_lock),
];

/// The other programs of Table 2.
pub(super) const SAMPLED: [Program; 7] = [
    program("gdax", 5, 8, [0, 0, 512], gdax),
    program("indexer", 8, 8, [2, 0, 16], indexer),
    program("iris-1", 12, 8, [0, 3, 9], iris),
    program("iris-2", 3, 8, [0, 3, 3], iris),
    program("mabain", 6, 8, [0, 0, 18], mabain),
    program("silo", 4, 8, [0, 0, 128], silo),
    program("spsc", 2, 8, [0, 0, 34], spsc),
];

/// A barrier that counts, and the round that is open. Words: the data of each thread, the count, the round.
fn barrier(m: &Words, me: usize, threads: usize, rounds: usize) {
    let (count, round) = (threads, threads + 1);
    for at in 1..=rounds {
        m.store(me, at, Relaxed);
        if m.add(count, 1, AcqRel) + 1 == threads * at {
            m.store(round, at, Release);
        } else {
            m.wait(round, |open| open >= at);
        }
        m.load((me + 1) % threads, Relaxed);
    }
}

/// FreeBSD's ring: producers reserve a place, fill it, and publish in order. Words: reserved, published, taken, slots.
fn buf_ring(m: &Words, me: usize, threads: usize, rounds: usize) {
    for at in 0..rounds {
        if me < threads / 2 {
            let head = m.load(0, Relaxed);
            if head < m.load(2, Acquire) + 4 && m.cas(0, head, head + 1, Acquire) {
                m.store(3 + head % 4, at + 1, Relaxed);
                m.wait(1, |published| published == head);
                m.store(1, head + 1, Release);
            }
        } else {
            let tail = m.load(2, Relaxed);
            if tail < m.load(1, Acquire) {
                m.load(3 + tail % 4, Relaxed);
                m.cas(2, tail, tail + 1, Release);
            }
        }
    }
}

/// Chase and Lev's deque: thread 0 pushes and takes at the bottom, the others steal at the top. Words: top, bottom,
/// items.
fn chase_lev(m: &Words, me: usize, _: usize, rounds: usize) {
    for at in 0..rounds {
        if me > 0 {
            let top = m.load(0, Acquire);
            if top < m.load(1, Acquire) {
                m.load(2 + top, Relaxed);
                m.cas(0, top, top + 1, AcqRel);
            }
        } else if at % 3 < 2 {
            let bottom = m.load(1, Relaxed);
            m.store(2 + bottom, at + 1, Relaxed);
            m.store(1, bottom + 1, Release);
        } else {
            let bottom = m.load(1, Relaxed).saturating_sub(1);
            m.store(1, bottom, Relaxed);
            let top = m.load(0, Acquire);
            if top < bottom {
                m.load(2 + bottom, Relaxed);
            } else {
                if top == bottom {
                    m.cas(0, top, top + 1, AcqRel);
                }
                m.store(1, bottom + 1, Relaxed);
            }
        }
    }
}

/// What a thread writes depends on what it reads.
fn control_flow(m: &Words, me: usize, threads: usize, rounds: usize) {
    for at in 0..rounds {
        if m.load(0, Acquire) % threads == me {
            m.store(1, at * threads + me, Release);
        } else if m.load(1, Relaxed).is_multiple_of(2) {
            m.store(0, at * threads + me + 1, Release);
        } else {
            m.store(2, me, Relaxed);
        }
    }
}

/// Dekker's lock; a thread gives up after three attempts. Words: the flags, whose turn it is, the data.
fn dekker(m: &Words, me: usize, threads: usize, rounds: usize) {
    let (other, turn, data) = (1 - me, threads, threads + 1);
    for _ in 0..rounds {
        m.store(me, 1, Release);
        for _ in 0..3 {
            if m.load(other, Acquire) == 0 {
                m.store(data, m.load(data, Relaxed) + 1, Relaxed);
                m.store(turn, other, Release);
                break;
            }
            if m.load(turn, Acquire) != me {
                m.store(me, 0, Release);
                m.store(me, 1, Release);
            }
        }
        m.store(me, 0, Release);
    }
}

/// The two ends of a deque, as counters.
fn dq(m: &Words, me: usize, _: usize, rounds: usize) {
    for _ in 0..rounds {
        if me.is_multiple_of(2) {
            m.add(1, 1, Release);
        } else {
            let front = m.load(0, Acquire);
            if front < m.load(1, Acquire) {
                m.cas(0, front, front + 1, AcqRel);
            }
        }
    }
}

/// Threads that add to two numbers without care.
fn exp_bug(m: &Words, me: usize, _: usize, rounds: usize) {
    for _ in 0..rounds {
        let (mine, other) = (me % 2, 1 - me % 2);
        let seen = m.load(other, Acquire);
        m.store(mine, m.load(mine, Relaxed) + seen.min(1), Release);
    }
}

/// Two threads that add up Fibonacci's numbers.
fn fib_bench(m: &Words, me: usize, _: usize, rounds: usize) {
    if me == 0 {
        m.store(0, 1, Relaxed);
    }
    for _ in 0..rounds {
        let sum = m.load(0, Acquire).wrapping_add(m.load(1, Acquire));
        m.store(me, sum, Release);
    }
}

/// Euclid's algorithm: each of two threads makes its number smaller.
fn gcd(m: &Words, me: usize, _: usize, rounds: usize) {
    m.store(me, [377, 233][me], Release);
    for _ in 0..rounds {
        let (mine, other) = (m.load(me, Relaxed), m.load(1 - me, Acquire));
        if mine > other && other > 0 {
            m.store(me, mine - other, Release);
        }
    }
}

/// Lamport's fast lock; a thread gives up if it is not alone. Words: the flags, x, y, the data.
fn lamport(m: &Words, me: usize, threads: usize, rounds: usize) {
    let (x, y, data) = (threads, threads + 1, threads + 2);
    for _ in 0..rounds {
        m.store(me, 1, Release);
        m.store(x, me + 1, Release);
        if m.load(y, Acquire) == 0 {
            m.store(y, me + 1, Release);
            let is_alone = m.load(x, Acquire) == me + 1;
            let others = (0..threads).filter(|&other| other != me && m.load(other, Acquire) > 0).count();
            if is_alone || (others == 0 && m.load(y, Acquire) == me + 1) {
                m.store(data, m.load(data, Relaxed) + 1, Relaxed);
            }
            m.store(y, 0, Release);
        }
        m.store(me, 0, Release);
    }
}

/// Linux's locks for readers and writers, with trials. Words: the count, the data.
fn linux_rw_locks(m: &Words, me: usize, _: usize, rounds: usize) {
    const BIAS: usize = 1 << 20;
    for at in 0..rounds {
        if (me + at).is_multiple_of(2) {
            if m.add(0, 1, Acquire) < BIAS {
                m.load(1, Relaxed);
            }
            m.add(0, usize::MAX, Release);
        } else {
            if m.add(0, BIAS, Acquire) == 0 {
                m.store(1, at, Relaxed);
            }
            m.add(0, BIAS.wrapping_neg(), Release);
        }
    }
}

/// Mellor-Crummey and Scott's lock. Words: next and flag of each thread, the tail, the data.
fn mcs_spinlock(m: &Words, me: usize, threads: usize, rounds: usize) {
    let (tail, data) = (2 * threads, 2 * threads + 1);
    for _ in 0..rounds {
        m.store(2 * me, 0, Relaxed);
        m.store(2 * me + 1, 0, Relaxed);
        let before = m.swap(tail, me + 1, AcqRel);
        if before > 0 {
            m.store(2 * (before - 1), me + 1, Release);
            m.wait(2 * me + 1, |flag| flag == 1);
        }
        m.store(data, m.load(data, Relaxed) + 1, Relaxed);
        if m.load(2 * me, Acquire) > 0 || !m.cas(tail, me + 1, 0, AcqRel) {
            m.wait(2 * me, |next| next > 0);
            m.store(2 * (m.load(2 * me, Relaxed) - 1) + 1, 1, Release);
        }
    }
}

/// Vyukov's bounded queue. Words: head, tail, and a number and a value for each of four slots. A slot of number n has
/// the word n minus its index, so that all begin with zero.
fn mpmc(m: &Words, me: usize, _: usize, rounds: usize) {
    for at in 0..rounds {
        let is_producer = me.is_multiple_of(2);
        let place = usize::from(is_producer);
        let position = m.load(place, Relaxed);
        let slot = position % 4;
        let number = m.load(2 + slot, Acquire) + slot;
        if is_producer && number == position && m.cas(1, position, position + 1, Relaxed) {
            m.store(6 + slot, at + 1, Relaxed);
            m.store(2 + slot, position + 1 - slot, Release);
        } else if !is_producer && number == position + 1 && m.cas(0, position, position + 1, Relaxed) {
            m.load(6 + slot, Relaxed);
            m.store(2 + slot, position + 4 - slot, Release);
        }
    }
}

/// Michael and Scott's queue. Words: head, tail, and the next of each node. A node is the number of its value.
fn ms_queue(m: &Words, me: usize, threads: usize, rounds: usize) {
    for at in 0..rounds {
        let node = 1 + at * threads + me;
        if (me + at).is_multiple_of(2) {
            for _ in 0..3 {
                let tail = m.load(1, Acquire);
                let next = m.load(2 + tail, Acquire);
                if next > 0 {
                    m.cas(1, tail, next, Release);
                } else if m.cas(2 + tail, 0, node, AcqRel) {
                    m.cas(1, tail, node, Release);
                    break;
                }
            }
        } else {
            let head = m.load(0, Acquire);
            let next = m.load(2 + head, Acquire);
            if next > 0 {
                m.cas(0, head, next, AcqRel);
            }
        }
    }
}

/// A lock with three states, as a futex has. Words: the state, the data.
fn mutex(m: &Words, _: usize, _: usize, rounds: usize) {
    for _ in 0..rounds {
        if !m.cas(0, 0, 1, Acquire) {
            while m.swap(0, 2, Acquire) != 0 {
                m.wait(0, |state| state != 2);
            }
        }
        m.store(1, m.load(1, Relaxed) + 1, Relaxed);
        m.swap(0, 0, Release);
    }
}

/// Peterson's lock. Words: the flags, whose turn it is, the data.
fn peterson(m: &Words, me: usize, threads: usize, rounds: usize) {
    let (other, turn, data) = (1 - me, threads, threads + 1);
    for _ in 0..rounds {
        m.store(me, 1, Relaxed);
        m.swap(turn, other, AcqRel);
        while m.load(other, Acquire) == 1 && m.load(turn, Acquire) == other {
            spin_loop();
        }
        m.store(data, m.load(data, Relaxed) + 1, Relaxed);
        m.store(me, 0, Release);
    }
}

/// A queue of slots that are used once. Words: head, tail, slots.
fn qu(m: &Words, me: usize, _: usize, rounds: usize) {
    for at in 0..rounds {
        if me.is_multiple_of(2) {
            let slot = m.add(1, 1, AcqRel);
            m.store(2 + slot, at + 1, Release);
        } else {
            let head = m.load(0, Acquire);
            if head < m.load(1, Acquire) && m.load(2 + head, Acquire) > 0 {
                m.cas(0, head, head + 1, AcqRel);
            }
        }
    }
}

/// A sequence lock: thread 0 and 1 write, the others read. Words: the sequence, two words of data.
fn seqlock(m: &Words, me: usize, _: usize, rounds: usize) {
    for at in 0..rounds {
        let sequence = m.load(0, Acquire);
        if me < 2 {
            if sequence.is_multiple_of(2) && m.cas(0, sequence, sequence + 1, AcqRel) {
                m.store(1, at, Release);
                m.store(2, at, Release);
                m.store(0, sequence + 2, Release);
            }
        } else {
            m.load(1, Acquire);
            m.load(2, Acquire);
            m.load(0, Relaxed);
        }
    }
}

/// Threads that write where an index stands, and move it. Words: the index, the cells.
fn sigma(m: &Words, me: usize, threads: usize, rounds: usize) {
    for _ in 0..rounds {
        let index = m.load(0, Acquire);
        m.store(1 + index % (threads * rounds), me + 1, Release);
        if me == 0 {
            m.store(0, index + 1, Release);
        }
    }
}

/// A lock that is tried until it is taken. Words: the lock, the data.
fn spinlock(m: &Words, _: usize, _: usize, rounds: usize) {
    for _ in 0..rounds {
        while !m.cas(0, 0, 1, Acquire) {
            spin_loop();
        }
        m.store(1, m.load(1, Relaxed) + 1, Relaxed);
        m.store(0, 0, Release);
    }
}

/// Szymanski's lock for two threads. Words: the flags, the data.
fn szymanski(m: &Words, me: usize, threads: usize, rounds: usize) {
    let (other, data) = (1 - me, threads);
    for _ in 0..rounds {
        m.swap(me, 1, AcqRel);
        m.wait(other, |flag| flag < 3);
        m.swap(me, 3, AcqRel);
        if m.load(other, Acquire) == 1 {
            m.swap(me, 2, AcqRel);
            // Under `ra` both may come here, and wait for each other. So this wait is cut.
            for _ in 0..3 {
                if [0, 4].contains(&m.load(other, Acquire)) {
                    break;
                }
            }
        }
        m.swap(me, 4, AcqRel);
        if me == 1 {
            m.wait(other, |flag| flag < 2 || flag == 4);
        }
        m.store(data, m.load(data, Relaxed) + 1, Relaxed);
        m.store(me, 0, Release);
    }
}

/// A lock that serves tickets in order. Words: the next ticket, the one that is served, the data.
fn ticket_lock(m: &Words, _: usize, _: usize, rounds: usize) {
    for _ in 0..rounds {
        let ticket = m.add(0, 1, Relaxed);
        m.wait(1, |served| served == ticket);
        m.store(2, m.load(2, Relaxed) + 1, Relaxed);
        m.store(1, ticket + 1, Release);
    }
}

/// Treiber's stack. Words: the top, and the next of each node.
fn treiber(m: &Words, me: usize, threads: usize, rounds: usize) {
    for at in 0..rounds {
        let node = 1 + at * threads + me;
        for _ in 0..3 {
            let top = m.load(0, Acquire);
            m.store(node, top, Relaxed);
            if m.cas(0, top, node, Release) {
                break;
            }
        }
        let top = m.load(0, Acquire);
        if top > 0 {
            m.cas(0, top, m.load(top, Relaxed), AcqRel);
        }
    }
}

/// A lock that is looked at before it is tried. Words: the lock, the data.
fn ttas_lock(m: &Words, _: usize, _: usize, rounds: usize) {
    for _ in 0..rounds {
        loop {
            m.wait(0, |lock| lock == 0);
            if m.swap(0, 1, Acquire) == 0 {
                break;
            }
        }
        m.store(1, m.load(1, Relaxed) + 1, Relaxed);
        m.store(0, 0, Release);
    }
}

/// Dice and Kogan's ticket lock, in which those far from their turn wait elsewhere. Words: the next ticket, the one
/// that is served, the data, four places to wait.
fn twa_lock(m: &Words, _: usize, _: usize, rounds: usize) {
    for _ in 0..rounds {
        let ticket = m.add(0, 1, AcqRel);
        let served = m.load(1, Acquire);
        if ticket > served + 1 {
            let seen = m.load(3 + ticket % 4, Acquire);
            if ticket > m.load(1, Acquire) + 1 {
                m.wait(3 + ticket % 4, |at| at != seen);
            }
        }
        m.wait(1, |served| served == ticket);
        m.store(2, m.load(2, Relaxed) + 1, Relaxed);
        m.store(1, ticket + 1, Release);
        m.add(3 + (ticket + 2) % 4, 1, AcqRel);
    }
}

/// An order book: one thread relinks nodes, the others walk along them. All words are links.
fn gdax(m: &Words, me: usize, _: usize, rounds: usize) {
    let mut at = me;
    for round in 0..rounds {
        if me == 0 {
            m.store((round * 7) % 512, (round * 13 + 1) % 512, Release);
        } else {
            for _ in 0..4 {
                at = (m.load(at, Acquire) + at + 1) % 512;
            }
        }
    }
}

/// Threads that put keys into a table. The words are the slots.
fn indexer(m: &Words, me: usize, threads: usize, rounds: usize) {
    let size = 2 * threads * rounds + 16;
    for at in 0..rounds {
        let key = 1 + at * threads + me;
        let mut slot = key * 7 % size;
        while !m.cas(slot, 0, key, AcqRel) {
            slot = (slot + 1) % size;
        }
    }
}

/// A logger: threads write records into buffers of their own, and thread 0 collects them. Words: the count and two
/// words of each thread, then words of the output.
fn iris(m: &Words, me: usize, threads: usize, rounds: usize) {
    for at in 1..=rounds {
        if me == 0 {
            for other in 1..threads {
                if m.load(3 * other, Acquire) > 0 {
                    m.load(3 * other + 1, Relaxed);
                    m.load(3 * other + 2, Relaxed);
                    m.store(3 * threads + other % 3, at, Relaxed);
                }
            }
        } else {
            m.store(3 * me + 1, at, Relaxed);
            m.store(3 * me + 2, at, Relaxed);
            m.store(3 * me, at, Release);
        }
    }
}

/// A store of keys: one writer under a lock, readers that look at a counter before and after. Words: the lock, the
/// counter, the keys.
fn mabain(m: &Words, me: usize, _: usize, rounds: usize) {
    for at in 0..rounds {
        let key = 2 + (at * 5 + me) % 16;
        if me < 2 {
            while !m.cas(0, 0, 1, Acquire) {
                spin_loop();
            }
            m.add(1, 1, AcqRel);
            m.store(key, at + 1, Release);
            m.add(1, 1, AcqRel);
            m.store(0, 0, Release);
        } else {
            let before = m.load(1, Acquire);
            m.load(key, Acquire);
            if m.load(1, Acquire) != before {
                m.load(key, Acquire);
            }
        }
    }
}

/// A database with optimistic transactions. Words: for each of 64 records a version with a lock bit, and a value.
fn silo(m: &Words, me: usize, _: usize, rounds: usize) {
    for at in 0..rounds {
        let (read, written) = ((at * 17 + me * 5) % 64, (at * 29 + me * 11) % 64);
        let before = m.load(2 * read, Acquire);
        m.load(2 * read + 1, Acquire);
        let version = m.load(2 * written, Acquire);
        if version.is_multiple_of(2) && m.cas(2 * written, version, version + 1, Acquire) {
            if m.load(2 * read, Acquire) == before || read == written {
                m.store(2 * written + 1, at, Relaxed);
            }
            m.store(2 * written, version + 2, Release);
        }
    }
}

/// A ring for one producer and one consumer. Words: head, tail, slots.
fn spsc(m: &Words, me: usize, _: usize, rounds: usize) {
    for at in 0..rounds {
        if me == 0 {
            m.wait(0, |head| at < head + 32);
            m.store(2 + at % 32, at + 1, Relaxed);
            m.store(1, at + 1, Release);
        } else {
            m.wait(1, |tail| tail > at);
            m.load(2 + at % 32, Relaxed);
            m.store(0, at + 1, Release);
        }
    }
}
