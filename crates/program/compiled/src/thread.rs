//! A thread of the program: its stack, where it stands, and what it has asked for.

use std::collections::VecDeque;

use explore::{Chance, Step};
use rustc_hash::FxHashMap;

use crate::spins::{Look, Stand};
use crate::switch::Called;
use crate::symbols::Timed;

/// What is done when a step has been taken.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Then {
    Nothing,
    /// The value answers the hook.
    Answer,
    /// The value that was read or chosen answers the hook as it is.
    Value,
    Begin,
    Spawned {
        child: u32,
        function: u64,
        argument: u64,
    },
    Joined {
        child: u32,
        result: usize,
        is_c11: bool,
    },
    /// A lock is taken.
    Takes(Lock),
    Destroys {
        mutex: usize,
    },
    /// Something may happen without a reason: the choice is made.
    Chance(Chance),
    /// It has happened, and shows whether it could.
    Happened,
    TriedLock {
        mutex: usize,
        busy: u64,
    },
    /// The thread has the turn at a condition variable, and waits.
    Waits(Waiting),
    Leaves(Waiting, Chance),
    Woken,
    Wakes {
        cond: usize,
        all: bool,
    },
    Chosen {
        cond: usize,
        old: i64,
    },
    OnceBegun {
        once: usize,
        function: u64,
    },
    GuardTaken {
        guard: usize,
    },
    GuardRead {
        guard: usize,
    },
    TriedRead {
        lock: usize,
        is_semaphore: bool,
    },
    TriedUpdate {
        lock: usize,
        seen: i64,
        is_semaphore: bool,
    },
    SemaphoreRead {
        result: usize,
    },
    Arrived {
        barrier: usize,
        count: i64,
    },
}

/// What a thread has when it has taken a lock.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Lock {
    Alone(usize),
    Reader(usize),
    /// A unit of a semaphore.
    Unit,
}

/// A thread that waits at a condition variable.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) cond: usize,
    pub(crate) mutex: usize,
    /// It becomes 1 when the thread is woken; 0 as long as there is none.
    pub(crate) token: u32,
    pub(crate) timed: Option<Timed>,
}

/// What a chance happens to.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Early {
    /// This compare-exchange.
    Exchange(Step),
    /// This step, which takes a lock.
    Lock(Step, Lock, Timed),
    Wait(Waiting),
}

/// Whether a thread can go on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It does not exist in this execution.
    Missing,
    /// It waits for the first step of its queue.
    Asks,
    Spins(u32),
    Stopped,
    Finished,
    /// It has ended the program.
    Exited,
}

/// What goes on when a function that the host has called returns.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Return {
    /// `pthread_once`.
    Once(usize),
    /// The thread ends with this result, and what it has to call at its end goes on.
    End(u64),
}

/// A thread.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Thread {
    pub(crate) state: State,
    /// Where its stack ends: it is at a hook.
    pub(crate) stack: usize,
    /// The lowest end that its stack has had in this execution.
    pub(crate) lowest: usize,
    /// Whether something on its stack is known to others, or an atomic. This stays for good.
    pub(crate) is_stack_known: bool,
    pub(crate) called: Option<Called>,
    /// The steps that the hook needs, and what is done with each.
    pub(crate) queue: VecDeque<(Step, Then)>,
    /// What the hook returns.
    pub(crate) answer: u64,
    /// Where the hook is in the code.
    pub(crate) site: usize,
    /// Whether the hook frees memory.
    pub(crate) is_freeing: bool,
    /// By step: where it is in the code, and whether it frees.
    pub(crate) sites: Vec<(usize, bool)>,
    /// Where something has happened without a reason, and how often; and the steps that are such choices.
    pub(crate) chances: Vec<(Chance, usize, u32)>,
    /// What it may happen to now.
    pub(crate) early: Option<Early>,
    pub(crate) chance_steps: Vec<(u32, Chance)>,
    /// Whether its wait may end because the time is up.
    pub(crate) has_time: bool,
    /// By step: its calls, if they are kept.
    pub(crate) callers: Vec<Vec<usize>>,
    /// How many steps it has had that are no plain accesses.
    pub(crate) counted: u32,
    /// The marked locations that it writes in a plain way before its next hook.
    pub(crate) pending: Vec<u32>,
    /// The last thread that it has started: the function and argument, the kind, and the step.
    pub(crate) last_started: Option<(u64, u64, u32, usize)>,
    /// How many threads, tokens and times it has asked for.
    pub(crate) spawned: u32,
    pub(crate) tokens: u32,
    pub(crate) ticks: u64,
    /// How it goes on when its queue is empty: in a function of libc, on another stack, or by the hook once more.
    pub(crate) passes: Option<usize>,
    pub(crate) enters: Option<usize>,
    pub(crate) is_again: bool,
    /// Functions that the host has called: where the stack was, and what comes then.
    pub(crate) returns: Vec<(usize, Return)>,
    /// What it calls at its end: functions and their arguments.
    pub(crate) at_end: Vec<(u64, u64)>,
    pub(crate) keys: Vec<u64>,
    pub(crate) result: u64,
    pub(crate) is_joined: bool,
    /// The locks that it holds: the mutex and how often; and the locks for readers.
    pub(crate) held: Vec<(usize, u32)>,
    pub(crate) read_held: Vec<usize>,
    /// By location: the number of the part of the thread's life in which it was last accessed in a plain way, and
    /// whether it was written. Parts end where the thread has another step.
    pub(crate) part: u64,
    pub(crate) accessed: Vec<(u64, bool)>,
    /// Its block of thread-local storage, while another thread runs.
    pub(crate) local: Vec<u8>,
    pub(crate) error_number: i32,
    pub(crate) exceptions: [u64; 2],
    pub(crate) once: [u64; 2],
    /// The reads since its last effect, and what the last of them may show.
    pub(crate) looks: Vec<Look>,
    pub(crate) is_round: bool,
    pub(crate) useless: Option<(Stand, u32)>,
}

impl Thread {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Missing,
            stack: 0,
            lowest: usize::MAX,
            is_stack_known: false,
            called: None,
            queue: VecDeque::new(),
            answer: 0,
            site: 0,
            is_freeing: false,
            sites: Vec::new(),
            chances: Vec::new(),
            early: None,
            chance_steps: Vec::new(),
            has_time: false,
            callers: Vec::new(),
            counted: 0,
            pending: Vec::new(),
            last_started: None,
            spawned: 0,
            tokens: 0,
            ticks: 0,
            passes: None,
            enters: None,
            is_again: false,
            returns: Vec::new(),
            at_end: Vec::new(),
            keys: Vec::new(),
            result: 0,
            is_joined: false,
            held: Vec::new(),
            read_held: Vec::new(),
            part: 0,
            accessed: Vec::new(),
            local: Vec::new(),
            error_number: 0,
            exceptions: [0; 2],
            once: [0; 2],
            looks: Vec::new(),
            is_round: false,
            useless: None,
        }
    }

    /// Another execution begins.
    pub(crate) fn clear(&mut self) {
        self.state = State::Missing;
        self.lowest = usize::MAX;
        self.called = None;
        self.queue.clear();
        self.sites.clear();
        self.chances.clear();
        self.chance_steps.clear();
        self.has_time = false;
        self.callers.clear();
        self.counted = 0;
        self.pending.clear();
        self.last_started = None;
        (self.spawned, self.tokens, self.ticks) = (0, 0, 0);
        (self.passes, self.enters, self.is_again) = (None, None, false);
        self.returns.clear();
        self.at_end.clear();
        self.keys.clear();
        self.is_joined = false;
        self.held.clear();
        self.read_held.clear();
        self.part += 1;
        self.error_number = 0;
        (self.exceptions, self.once) = ([0; 2], [0; 2]);
        self.forget_looks();
        self.useless = None;
    }

    /// The thread has had an effect.
    pub(crate) fn forget_looks(&mut self) {
        self.looks.clear();
        self.is_round = false;
    }

    /// Whether it has been made in this execution.
    pub(crate) fn exists(&self) -> bool {
        self.state != State::Missing
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, State::Finished | State::Missing)
    }

    /// Whether a plain access tells nothing new: the thread has had no other step since it accessed the location, and
    /// wrote it if it writes now.
    pub(crate) fn is_known(&mut self, location: u32, writes: bool) -> bool {
        let at = location as usize;
        if self.accessed.len() <= at {
            self.accessed.resize(at + 1, (u64::MAX, false));
        }
        let last = &mut self.accessed[at];
        if last.0 == self.part && (last.1 || !writes) {
            return true;
        }
        *last = (self.part, writes);
        false
    }
}

/// The numbers of threads: by the thread that spawns and how many it has spawned before. They stay the same from
/// execution to execution.
#[derive(Debug, Default)]
pub(crate) struct Numbers(FxHashMap<(u32, u32), u32>);

impl Numbers {
    pub(crate) fn of(&mut self, parent: u32, count: u32) -> u32 {
        let next = self.0.len() as u32 + 1;
        *self.0.entry((parent, count)).or_insert(next)
    }
}
