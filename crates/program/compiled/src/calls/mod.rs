//! What a hook does, by the kind of the function that is called.

mod atomics;
mod chances;
mod condition;
mod ends;
mod heap;
mod locks;
mod plain;
mod threads;

use explore::Step;

use crate::machine::{Flow, Machine};
use crate::space;
use crate::switch::Called;
use crate::symbols::{Hook, Time};
use crate::thread::Then;
use chances::START;

impl Machine {
    /// What the hook does that a thread is at.
    pub(crate) fn act(&mut self, thread: u32, hook: Hook, called: Called) -> Flow {
        let arguments = called.arguments;
        let [one, two, three, ..] = arguments;
        match hook {
            Hook::Call | Hook::Nothing | Hook::Getenv => Flow::Answer(0),
            Hook::Plain { size, reads, writes } => {
                if reads {
                    self.access(thread, one as usize, size.into(), false);
                }
                if writes {
                    self.access(thread, one as usize, size.into(), true);
                }
                Flow::Answer(0)
            }
            Hook::Range { writes } => {
                self.access(thread, one as usize, two as usize, writes);
                Flow::Answer(0)
            }
            Hook::VptrUpdate => {
                // An update with the value that is there is none.
                if self.wrong(thread, one as usize, 8) || space::number(one as usize, 8) as u64 != two {
                    self.access(thread, one as usize, 8, true);
                }
                Flow::Answer(0)
            }
            Hook::Load(_)
            | Hook::Store(_)
            | Hook::Exchange(_)
            | Hook::Fetch(..)
            | Hook::CompareExchange { .. }
            | Hook::CompareValue(_)
            | Hook::Fence => self.atomic(thread, hook, called),
            Hook::Copy { compares } => {
                self.access(thread, two as usize, three as usize, false);
                self.access(thread, one as usize, three as usize, !compares);
                self.passed(thread, called)
            }
            Hook::Fill => {
                self.access(thread, one as usize, three as usize, true);
                self.passed(thread, called)
            }
            Hook::Text { count } => {
                for address in [one, two].into_iter().take(count.into()) {
                    self.access_text(thread, address as usize);
                }
                self.passed(thread, called)
            }
            Hook::CopyText => {
                if let Some(count) = self.access_text(thread, two as usize) {
                    self.access(thread, one as usize, count, true);
                }
                self.passed(thread, called)
            }
            Hook::Memory(call) => self.memory(thread, call, called),
            Hook::Thread(call) => self.thread_call(thread, call, arguments),
            Hook::Mutex(call) => self.mutex(thread, call, called),
            Hook::Cond(call) => self.condition(thread, call, arguments),
            Hook::RwLock(call) => self.rw_lock(thread, call, one as usize),
            Hook::Semaphore(call) => self.semaphore(thread, call, arguments),
            Hook::Barrier(call) => self.barrier(thread, call, arguments),
            Hook::Guard(call) => self.guard(thread, call, one as usize),
            Hook::Once => self.once(thread, one as usize, two),
            Hook::Key(call) => self.key(thread, call, arguments),
            Hook::AtThreadExit => {
                self.threads[thread as usize].at_end.push((one, two));
                Flow::Answer(0)
            }
            Hook::Time(call) => self.time(thread, call, arguments),
            Hook::Random { .. } => Flow::Answer(self.tick(thread).wrapping_mul(0x5851_F42D_4C95_7F2D) >> 40),
            Hook::Choose => {
                if one == 0 || one > u64::from(u32::MAX) {
                    return self.refused(thread, "a choice among no numbers");
                }
                self.ask(thread, Step::Choice(one as u32), Then::Value);
                Flow::Answer(0)
            }
            Hook::ChooseBool => {
                self.ask(thread, Step::Choice(2), Then::Value);
                Flow::Answer(0)
            }
            Hook::Assume
            | Hook::AssertFail
            | Hook::Assert
            | Hook::Error
            | Hook::Abort
            | Hook::Exit
            | Hook::Returned => self.end(thread, hook, called),
            Hook::Refuse | Hook::Crashed => {
                let name = self.hook_name(called).to_owned();
                let what = if name.contains("atomic128") { "16-byte atomics are" } else { &format!("{name} is") };
                self.refused(thread, &format!("{what} not supported"))
            }
        }
    }

    /// The thread goes on in the function of which the hook has the name, unless there are events to wait for.
    fn passed(&mut self, thread: u32, called: Called) -> Flow {
        let function = self.real.functions[called.hook as usize];
        let of = &mut self.threads[thread as usize];
        if of.queue.is_empty() {
            return Flow::Pass(function);
        }
        of.passes = Some(function);
        Flow::Answer(0)
    }

    pub(crate) fn refused(&mut self, thread: u32, what: &str) -> Flow {
        let site = self.threads[thread as usize].site;
        self.refuse(what.to_owned(), site);
        Flow::Wait
    }

    /// A number that is another one each time, and depends on nothing but the thread.
    fn tick(&mut self, thread: u32) -> u64 {
        let of = &mut self.threads[thread as usize];
        of.ticks += 1;
        of.ticks
    }

    /// A clock: it goes on by a millisecond each time that a thread asks.
    fn time(&mut self, thread: u32, call: Time, [one, two, ..]: [u64; 6]) -> Flow {
        let ticks = self.tick(thread);
        let (seconds, millis) = (START + ticks / 1000, ticks % 1000);
        match call {
            Time::Seconds => {
                if one != 0 {
                    space::put_number(one as usize, 8, seconds as i64);
                }
                Flow::Answer(seconds)
            }
            Time::Clock | Time::OfDay => {
                let (at, unit) = if call == Time::Clock { (two, 1_000_000) } else { (one, 1000) };
                if at != 0 {
                    space::put_number(at as usize, 8, seconds as i64);
                    space::put_number(at as usize + 8, 8, (millis * unit) as i64);
                }
                Flow::Answer(0)
            }
        }
    }

    /// What follows a step that was taken.
    pub(crate) fn then(&mut self, thread: u32, then: Then, value: i64) {
        match then {
            Then::Nothing | Then::Begin => {}
            Then::Value => self.threads[thread as usize].answer = value as u64,
            Then::Answer => {
                if let Some(called) = self.threads[thread as usize].called {
                    let answer = self.answer(called, value);
                    self.threads[thread as usize].answer = answer;
                }
            }
            Then::Spawned { .. } | Then::Joined { .. } => self.thread_then(thread, then),
            Then::Chance(chance) => self.chance(thread, chance, value == 1),
            Then::Happened => self.happened(thread, value),
            Then::Waits(_) | Then::Leaves(..) | Then::Wakes { .. } | Then::Chosen { .. } => {
                self.condition_then(thread, then, value);
            }
            _ => self.lock_then(thread, then, value),
        }
    }
}
