//! Locks, condition variables, semaphores, barriers, and what is done once. The first word of each is its location.

use explore::{Await, Comparison, Order, Step, Update};

use crate::finding::DefectKind;
use crate::machine::{Flow, Machine, MutexKind};
use crate::space;
use crate::switch::Called;
use crate::symbols::{Barrier, Cond, Guard, Mutex, RwLock, Semaphore};
use crate::thread::{Return, Then};

const EAGAIN: i32 = 11;
const EBUSY: u64 = 16;
const EPERM: u64 = 1;
const EDEADLK: u64 = 35;
/// C11's `thrd_busy`.
const BUSY: u64 = 1;
/// What `pthread_barrier_wait` returns in the last thread.
const LAST: u64 = -1_i64 as u64;
/// Where glibc keeps the kind of a mutex that is initialised statically.
const KIND: usize = 16;

const NO_WRITER: Await = Await { mask: -1, comparison: Comparison::GreaterOrEqual, value: 0 };
const POSITIVE: Await = Await { mask: -1, comparison: Comparison::Greater, value: 0 };

const fn exchange(expected: i64, new: i64) -> Update {
    Update::CompareExchange { expected, new }
}

impl Machine {
    fn update(&mut self, thread: u32, location: u32, order: Order, update: Update, until: Option<Await>, then: Then) {
        let step = Step::Rmw { location, order, failure: Order::Relaxed, update, until };
        self.ask(thread, step, then);
    }

    fn write(&mut self, thread: u32, location: u32, order: Order, value: i64) {
        self.ask(thread, Step::Write { location, order, value }, Then::Nothing);
    }

    fn mutex_kind(&self, mutex: usize) -> MutexKind {
        self.mutexes.get(&mutex).copied().unwrap_or_else(|| match space::number(mutex + KIND, 4) & 3 {
            1 => MutexKind::Recursive,
            2 => MutexKind::Checking,
            _ => MutexKind::Normal,
        })
    }

    pub(crate) fn mutex(&mut self, thread: u32, call: Mutex, called: Called) -> Flow {
        let [mutex, how, ..] = called.arguments;
        let mutex = mutex as usize;
        let Some(location) = self.marked(thread, mutex, 4) else { return Flow::Wait };
        let held = self.threads[thread as usize].held.iter().position(|(other, _)| *other == mutex);
        match call {
            Mutex::Init | Mutex::C11Init | Mutex::SpinInit => {
                let number = match call {
                    Mutex::Init if how != 0 => space::number(how as usize, 4) & 3,
                    Mutex::C11Init => (how & 1) as i64,
                    _ => 0,
                };
                let kind = [MutexKind::Normal, MutexKind::Recursive, MutexKind::Checking, MutexKind::Normal];
                self.mutexes.insert(mutex, kind[number as usize]);
                self.write(thread, location, Order::NonAtomic, 0);
                Flow::Answer(0)
            }
            Mutex::Destroy => {
                if held.is_some() {
                    return self.misuse(thread, "a mutex is destroyed that is locked");
                }
                self.write(thread, location, Order::NonAtomic, 0);
                Flow::Answer(0)
            }
            Mutex::Lock | Mutex::TryLock | Mutex::C11TryLock => {
                let kind = self.mutex_kind(mutex);
                if let Some(held) = held {
                    match (kind, call) {
                        (MutexKind::Recursive, _) => {
                            self.threads[thread as usize].held[held].1 += 1;
                            return Flow::Answer(0);
                        }
                        (MutexKind::Checking, Mutex::Lock) => return Flow::Answer(EDEADLK),
                        _ => {}
                    }
                }
                let update = exchange(0, i64::from(thread) + 1);
                if call == Mutex::Lock {
                    let (until, then) = (Some(Await::equal(0)), Then::Locked { mutex });
                    self.update(thread, location, Order::Acquire, update, until, then);
                    return Flow::Answer(0);
                }
                let busy = if call == Mutex::TryLock { EBUSY } else { BUSY };
                self.update(thread, location, Order::Acquire, update, None, Then::TriedLock { mutex, busy });
                Flow::Answer(self.threads[thread as usize].answer)
            }
            Mutex::Unlock => {
                let Some(held) = held else {
                    if self.mutex_kind(mutex) != MutexKind::Normal {
                        return Flow::Answer(EPERM);
                    }
                    return self.misuse(thread, "a mutex is unlocked by a thread that has not locked it");
                };
                let of = &mut self.threads[thread as usize];
                of.held[held].1 -= 1;
                if of.held[held].1 == 0 {
                    of.held.remove(held);
                    self.write(thread, location, Order::Release, 0);
                }
                Flow::Answer(0)
            }
        }
    }

    fn misuse(&mut self, thread: u32, message: &str) -> Flow {
        let me = self.doer(thread);
        self.find(DefectKind::Misuse, format!("misuse: {message}"), vec![me]);
        Flow::Wait
    }

    /// What is done with a condition variable is in one order: its word is counted up each time.
    pub(crate) fn condition(&mut self, thread: u32, call: Cond, [cond, mutex, ..]: [u64; 6]) -> Flow {
        let (cond, mutex) = (cond as usize, mutex as usize);
        let Some(location) = self.marked(thread, cond, 4) else { return Flow::Wait };
        let then = match call {
            Cond::Init => {
                self.write(thread, location, Order::NonAtomic, 0);
                return Flow::Answer(0);
            }
            Cond::Wait if self.threads[thread as usize].held.iter().all(|(held, _)| *held != mutex) => {
                return self.misuse(thread, "a thread waits that has not locked the mutex");
            }
            Cond::Wait => Then::Waits { cond, mutex },
            Cond::Signal => Then::Wakes { cond, all: false },
            Cond::Broadcast => Then::Wakes { cond, all: true },
        };
        self.update(thread, location, Order::Relaxed, Update::Add(1), None, then);
        Flow::Answer(0)
    }

    pub(crate) fn rw_lock(&mut self, thread: u32, call: RwLock, lock: usize) -> Flow {
        let Some(location) = self.marked(thread, lock, 4) else { return Flow::Wait };
        let me = i64::from(thread);
        match call {
            RwLock::Init | RwLock::Destroy => self.write(thread, location, Order::NonAtomic, 0),
            RwLock::Read => {
                self.threads[thread as usize].read_held.push(lock);
                self.update(thread, location, Order::Acquire, Update::Add(1), Some(NO_WRITER), Then::Nothing);
            }
            RwLock::Write => {
                let (update, until) = (exchange(0, -1 - me), Some(Await::equal(0)));
                self.update(thread, location, Order::Acquire, update, until, Then::Locked { mutex: lock });
            }
            RwLock::TryRead => {
                let step = Step::Read { location, order: Order::Relaxed, until: None };
                self.ask(thread, step, Then::TriedRead { lock, is_semaphore: false });
                return Flow::Answer(self.threads[thread as usize].answer);
            }
            RwLock::TryWrite => {
                let then = Then::TriedLock { mutex: lock, busy: EBUSY };
                self.update(thread, location, Order::Acquire, exchange(0, -1 - me), None, then);
                return Flow::Answer(self.threads[thread as usize].answer);
            }
            RwLock::Unlock => {
                let of = &mut self.threads[thread as usize];
                if let Some(held) = of.held.iter().position(|(held, _)| *held == lock) {
                    of.held.remove(held);
                    self.write(thread, location, Order::Release, 0);
                } else if let Some(held) = of.read_held.iter().position(|held| *held == lock) {
                    of.read_held.remove(held);
                    self.update(thread, location, Order::Release, Update::Sub(1), None, Then::Nothing);
                } else {
                    return self.misuse(thread, "a lock is unlocked by a thread that has not locked it");
                }
            }
        }
        Flow::Answer(0)
    }

    pub(crate) fn semaphore(&mut self, thread: u32, call: Semaphore, [semaphore, two, three, ..]: [u64; 6]) -> Flow {
        let lock = semaphore as usize;
        let Some(location) = self.marked(thread, lock, 4) else { return Flow::Wait };
        match call {
            Semaphore::Init => self.write(thread, location, Order::NonAtomic, i64::from(three as u32)),
            Semaphore::Wait => {
                self.update(thread, location, Order::Acquire, Update::Sub(1), Some(POSITIVE), Then::Nothing);
            }
            Semaphore::Post => self.update(thread, location, Order::Release, Update::Add(1), None, Then::Nothing),
            Semaphore::TryWait | Semaphore::Value => {
                let step = Step::Read { location, order: Order::Relaxed, until: None };
                let result = two as usize;
                let value = Then::SemaphoreRead { result };
                let is_value = call == Semaphore::Value;
                self.ask(thread, step, if is_value { value } else { Then::TriedRead { lock, is_semaphore: true } });
                return Flow::Answer(self.threads[thread as usize].answer);
            }
        }
        Flow::Answer(0)
    }

    pub(crate) fn barrier(&mut self, thread: u32, call: Barrier, [barrier, _, count, ..]: [u64; 6]) -> Flow {
        let barrier = barrier as usize;
        let Some(location) = self.marked(thread, barrier, 4) else { return Flow::Wait };
        match call {
            Barrier::Init => {
                self.barriers.insert(barrier, i64::from(count as u32));
                self.write(thread, location, Order::NonAtomic, 0);
            }
            Barrier::Wait => {
                let Some(&count) = self.barriers.get(&barrier).filter(|count| **count > 0) else {
                    return self.misuse(thread, "a barrier is used that was not initialised");
                };
                let then = Then::Arrived { barrier, count };
                self.update(thread, location, Order::AcquireRelease, Update::Add(1), None, then);
            }
        }
        Flow::Answer(self.threads[thread as usize].answer)
    }

    /// A static inside of a function is made once. Its first byte tells whether it is; the second one is a lock.
    pub(crate) fn guard(&mut self, thread: u32, call: Guard, guard: usize) -> Flow {
        let (Some(done), Some(lock)) = (self.marked(thread, guard, 1), self.marked(thread, guard + 1, 1)) else {
            return Flow::Wait;
        };
        match call {
            Guard::Acquire => {
                let (update, until) = (exchange(0, 1), Some(Await::equal(0)));
                self.update(thread, lock, Order::Acquire, update, until, Then::GuardTaken { guard });
            }
            Guard::Release | Guard::Abort => {
                if call == Guard::Release {
                    self.write(thread, done, Order::Release, 1);
                }
                self.write(thread, lock, Order::Release, 0);
            }
        }
        Flow::Answer(self.threads[thread as usize].answer)
    }

    /// The word is 0 at first, 1 while the function runs, and then 2.
    pub(crate) fn once(&mut self, thread: u32, once: usize, function: u64) -> Flow {
        let Some(location) = self.marked(thread, once, 4) else { return Flow::Wait };
        let then = Then::OnceBegun { once, function };
        let step = Step::Rmw {
            location,
            order: Order::Acquire,
            failure: Order::Acquire,
            update: exchange(0, 1),
            until: Some(Await::not_equal(1)),
        };
        self.ask(thread, step, then);
        match self.threads[thread as usize].enters.take() {
            Some(stack) => Flow::Enter(stack),
            None => Flow::Answer(0),
        }
    }

    /// The function that was to be called once has returned.
    pub(crate) fn once_done(&mut self, thread: u32, once: usize) {
        if let Some(location) = self.marked(thread, once, 4) {
            self.write(thread, location, Order::Release, 2);
        }
    }

    fn set_answer(&mut self, thread: u32, answer: u64) {
        self.threads[thread as usize].answer = answer;
    }

    /// What follows a step of a lock.
    pub(crate) fn lock_then(&mut self, thread: u32, then: Then, value: i64) {
        match then {
            Then::Locked { mutex } => self.threads[thread as usize].held.push((mutex, 1)),
            Then::TriedLock { mutex, busy } => {
                self.set_answer(thread, if value == 0 { 0 } else { busy });
                if value == 0 {
                    self.threads[thread as usize].held.push((mutex, 1));
                }
            }
            Then::Waits { cond, mutex } => self.wait(thread, cond, mutex),
            Then::Wakes { cond, all } => {
                let count = self.waiting.get(&cond).map_or(0, Vec::len);
                match count {
                    0 => {}
                    1 => self.wake(thread, cond, 0),
                    _ if all => (0..count).for_each(|_| self.wake(thread, cond, 0)),
                    _ => self.ask(thread, Step::Choice(count as u32), Then::Chosen { cond }),
                }
            }
            Then::Chosen { cond } => self.wake(thread, cond, value as usize),
            Then::OnceBegun { once, function } if value == 0 => {
                let stack = self.invoke(thread, function, 0, Return::Once(once));
                self.threads[thread as usize].enters = Some(stack);
            }
            Then::GuardTaken { guard } => {
                if let Some(location) = self.marked(thread, guard, 1) {
                    let step = Step::Read { location, order: Order::Relaxed, until: None };
                    self.ask(thread, step, Then::GuardRead { guard });
                }
            }
            Then::GuardRead { guard } => {
                self.set_answer(thread, u64::from(value == 0));
                if value != 0
                    && let Some(lock) = self.marked(thread, guard + 1, 1)
                {
                    self.write(thread, lock, Order::Release, 0);
                }
            }
            Then::TriedUpdate { seen, is_semaphore: true, .. } if value == seen => {}
            Then::TriedUpdate { lock, seen, .. } if value == seen => {
                self.threads[thread as usize].read_held.push(lock);
            }
            Then::TriedRead { lock, is_semaphore } | Then::TriedUpdate { lock, is_semaphore, .. } => {
                self.try_update(thread, lock, value, is_semaphore);
            }
            Then::SemaphoreRead { result } => {
                self.access(thread, result, 4, true);
                space::put_number(result, 4, value);
            }
            Then::Arrived { barrier, count } => {
                let round = (value / count + 1) * count;
                if value + 1 == round {
                    self.set_answer(thread, LAST);
                } else if let Some(location) = self.marked(thread, barrier, 4) {
                    let until = Some(Await::equal(round));
                    self.ask(thread, Step::Read { location, order: Order::Acquire, until }, Then::Nothing);
                }
            }
            _ => {}
        }
    }

    /// Tries to take a lock for readers, or a semaphore, that had this value.
    fn try_update(&mut self, thread: u32, lock: usize, seen: i64, is_semaphore: bool) {
        let Some(location) = self.marked(thread, lock, 4) else { return };
        if seen < 0 || is_semaphore && seen == 0 {
            if is_semaphore {
                space::set_error_number(EAGAIN);
                self.set_answer(thread, -1_i64 as u64);
            } else {
                self.set_answer(thread, EBUSY);
            }
            return;
        }
        let new = if is_semaphore { seen - 1 } else { seen + 1 };
        let then = Then::TriedUpdate { lock, seen, is_semaphore };
        self.update(thread, location, Order::Acquire, exchange(seen, new), None, then);
    }

    /// A thread has its place among those that wait. It gives the mutex back, waits for its token, and takes the mutex.
    fn wait(&mut self, thread: u32, cond: usize, mutex: usize) {
        let of = &mut self.threads[thread as usize];
        of.tokens += 1;
        let number = of.tokens;
        of.held.retain(|(held, _)| *held != mutex);
        let token = self.places.token(thread, number);
        self.waiting.entry(cond).or_default().push(token);
        let Some(location) = self.marked(thread, mutex, 4) else { return };
        self.write(thread, location, Order::Release, 0);
        let until = Some(Await::equal(1));
        self.ask(thread, Step::Read { location: token, order: Order::Acquire, until }, Then::Nothing);
        let update = exchange(0, i64::from(thread) + 1);
        let (until, then) = (Some(Await::equal(0)), Then::Locked { mutex });
        self.update(thread, location, Order::Acquire, update, until, then);
    }

    fn wake(&mut self, thread: u32, cond: usize, at: usize) {
        let Some(waiting) = self.waiting.get_mut(&cond).filter(|waiting| at < waiting.len()) else { return };
        let token = waiting.remove(at);
        self.write(thread, token, Order::Release, 1);
    }
}
