//! Locks, semaphores, barriers, and what is done once. The first word of each is its location.

use explore::{Await, Comparison, Order, Step, Update};

use crate::finding::DefectKind;
use crate::machine::{Flow, Machine, MutexKind};
use crate::space;
use crate::switch::Called;
use crate::symbols::{Barrier, Guard, Mutex, RwLock, Semaphore};
use crate::thread::{Lock, Return, Then};

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
/// What a mutex is after it was destroyed. Other values are 0 and the thread that has it, by its number from 1.
const DESTROYED: i64 = 1 << 20;
/// A mutex that nobody has. A thread that waits for one that was destroyed goes on, and is told.
const FREE: Await = Await { mask: DESTROYED - 1, comparison: Comparison::Equal, value: 0 };
const POSITIVE: Await = Await { mask: -1, comparison: Comparison::Greater, value: 0 };

const fn exchange(expected: i64, new: i64) -> Update {
    Update::CompareExchange { expected, new }
}

impl Machine {
    pub(crate) fn update(
        &mut self,
        thread: u32,
        location: u32,
        order: Order,
        update: Update,
        until: Option<Await>,
        then: Then,
    ) {
        let step = Step::Rmw { location, order, failure: Order::Relaxed, update, until };
        self.ask(thread, step, then);
    }

    pub(crate) fn write(&mut self, thread: u32, location: u32, order: Order, value: i64) {
        self.ask(thread, Step::Write { location, order, value }, Then::Nothing);
    }

    /// What takes a mutex. None if it is none.
    pub(crate) fn locking(&mut self, thread: u32, mutex: usize) -> Option<Step> {
        let location = self.marked(thread, mutex, 4)?;
        let update = exchange(0, i64::from(thread) + 1);
        Some(Step::Rmw { location, order: Order::Acquire, failure: Order::Relaxed, update, until: Some(FREE) })
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
                let step = Step::Read { location, order: Order::NonAtomic, until: None };
                self.ask(thread, step, Then::Destroys { mutex });
                Flow::Answer(0)
            }
            Mutex::Lock(_) | Mutex::TryLock | Mutex::C11TryLock => {
                let kind = self.mutex_kind(mutex);
                if let Some(held) = held {
                    match (kind, call) {
                        (MutexKind::Recursive, _) => {
                            self.threads[thread as usize].held[held].1 += 1;
                            return Flow::Answer(0);
                        }
                        (MutexKind::Checking, Mutex::Lock(_)) => return Flow::Answer(EDEADLK),
                        _ => {}
                    }
                }
                if let Mutex::Lock(timed) = call {
                    let Some(step) = self.locking(thread, mutex) else { return Flow::Wait };
                    self.take_lock(thread, step, Lock::Alone(mutex), timed);
                    return Flow::Answer(self.threads[thread as usize].answer);
                }
                let update = exchange(0, i64::from(thread) + 1);
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

    pub(crate) fn misuse(&mut self, thread: u32, message: &str) -> Flow {
        let me = self.doer(thread);
        self.find(DefectKind::Misuse, format!("misuse: {message}"), vec![me]);
        Flow::Wait
    }

    pub(crate) fn rw_lock(&mut self, thread: u32, call: RwLock, lock: usize) -> Flow {
        let Some(location) = self.marked(thread, lock, 4) else { return Flow::Wait };
        let me = i64::from(thread);
        let taking = |update, until| {
            let (order, failure) = (Order::Acquire, Order::Relaxed);
            Step::Rmw { location, order, failure, update, until: Some(until) }
        };
        match call {
            RwLock::Init | RwLock::Destroy => self.write(thread, location, Order::NonAtomic, 0),
            RwLock::Read(timed) => {
                self.take_lock(thread, taking(Update::Add(1), NO_WRITER), Lock::Reader(lock), timed);
            }
            RwLock::Write(timed) => {
                self.take_lock(thread, taking(exchange(0, -1 - me), Await::equal(0)), Lock::Alone(lock), timed);
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
        Flow::Answer(self.threads[thread as usize].answer)
    }

    pub(crate) fn semaphore(&mut self, thread: u32, call: Semaphore, [semaphore, two, three, ..]: [u64; 6]) -> Flow {
        let lock = semaphore as usize;
        let Some(location) = self.marked(thread, lock, 4) else { return Flow::Wait };
        match call {
            Semaphore::Init => self.write(thread, location, Order::NonAtomic, i64::from(three as u32)),
            Semaphore::Wait(timed) => {
                let (order, failure, update) = (Order::Acquire, Order::Relaxed, Update::Sub(1));
                let step = Step::Rmw { location, order, failure, update, until: Some(POSITIVE) };
                self.take_lock(thread, step, Lock::Unit, timed);
                return Flow::Answer(self.threads[thread as usize].answer);
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
            Barrier::Destroy => {
                if self.barriers.remove(&barrier).is_none() {
                    return self.misuse(thread, "a barrier is destroyed that was not initialised");
                }
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
            Then::Takes(_) | Then::TriedLock { .. } if value == DESTROYED => {
                self.misuse(thread, "a mutex is used that was destroyed");
            }
            Then::Takes(lock) => {
                let of = &mut self.threads[thread as usize];
                of.has_time = false;
                match lock {
                    Lock::Alone(mutex) => of.held.push((mutex, 1)),
                    Lock::Reader(lock) => of.read_held.push(lock),
                    Lock::Unit => {}
                }
            }
            Then::Woken => self.threads[thread as usize].has_time = false,
            Then::Destroys { .. } if value == DESTROYED => {
                self.misuse(thread, "a mutex is destroyed twice");
            }
            Then::Destroys { .. } if value != 0 => {
                self.misuse(thread, "a mutex is destroyed that is locked");
            }
            Then::Destroys { mutex } => {
                if let Some(location) = self.marked(thread, mutex, 4) {
                    self.write(thread, location, Order::NonAtomic, DESTROYED);
                }
            }
            Then::TriedLock { mutex, busy } => {
                self.set_answer(thread, if value == 0 { 0 } else { busy });
                if value == 0 {
                    self.threads[thread as usize].held.push((mutex, 1));
                }
            }
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
}
