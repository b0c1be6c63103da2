//! Threads: how they begin, end and wait for each other; and what each has of its own.

use explore::Step;

use crate::finding::DefectKind;
use crate::machine::{Flow, Machine};
use crate::space;
use crate::symbols::{Key, ThreadCall};
use crate::thread::{Return, State, Then, Thread};

/// Threads are known to the program by their number and this.
const HANDLE: u64 = 0x5eed_0000;
const EINVAL: u64 = 22;

impl Machine {
    pub(crate) fn thread_call(&mut self, thread: u32, call: ThreadCall, arguments: [u64; 6]) -> Flow {
        let [one, two, three, four, ..] = arguments;
        match call {
            ThreadCall::Create | ThreadCall::C11Create => {
                let is_c11 = call == ThreadCall::C11Create;
                let (function, argument) = if is_c11 { (two, three) } else { (three, four) };
                let child = self.next_number(thread);
                if child >= self.max_threads {
                    let most = self.max_threads;
                    return self
                        .refused(thread, &format!("more than {most} threads are not supported (--max-threads)"));
                }
                let kind = self.kind_of_next(thread, child, (function, argument));
                // What is accessed from here on has other threads to race with.
                self.access(thread, one as usize, 8, true);
                space::put_number(one as usize, 8, (HANDLE + u64::from(child)) as i64);
                let of = &mut self.threads[thread as usize];
                of.last_started = Some((function, argument, kind, of.sites.len() + of.queue.len()));
                self.ask(thread, Step::Spawn(child), Then::Spawned { child, function, argument });
                Flow::Answer(0)
            }
            ThreadCall::Join | ThreadCall::C11Join => {
                let child = one.wrapping_sub(HANDLE) as u32;
                let me = self.doer(thread);
                let is_known = one >= HANDLE && self.threads.get(child as usize).is_some_and(Thread::exists);
                if !is_known || child == thread {
                    self.find(
                        DefectKind::Misuse,
                        "misuse: a thread waits for itself, or for no thread".to_owned(),
                        vec![me],
                    );
                    return Flow::Wait;
                }
                let is_c11 = call == ThreadCall::C11Join;
                self.ask(thread, Step::Join(child), Then::Joined { child, result: two as usize, is_c11 });
                Flow::Answer(0)
            }
            ThreadCall::Exit => {
                self.threads[thread as usize].returns.clear();
                self.finish(thread, one)
            }
            ThreadCall::Current => Flow::Answer(HANDLE + u64::from(thread)),
            ThreadCall::Equal => Flow::Answer(u64::from(one == two)),
        }
    }

    /// A thread is of the kind of the one that was started right before it, if both run one function with one argument.
    /// Else it is of a kind of its own.
    fn kind_of_next(&mut self, thread: u32, child: u32, code: (u64, u64)) -> u32 {
        let of = &self.threads[thread as usize];
        let next = of.sites.len() + of.queue.len();
        let is_same =
            |&(function, argument, _, step): &(u64, u64, u32, usize)| (function, argument) == code && step + 1 == next;
        let kind = of.last_started.filter(is_same).map_or(child, |(.., kind, _)| kind);
        self.kinds.insert(child, kind);
        kind
    }

    pub(crate) fn thread_then(&mut self, thread: u32, then: Then) {
        match then {
            Then::Spawned { child, function, argument } => self.create(child, function, argument),
            Then::Joined { child, result, is_c11 } => {
                let of = &mut self.threads[child as usize];
                let (has_exited, value) = (of.state == State::Exited, of.result);
                if has_exited {
                    // The program has ended: nobody goes on.
                    self.threads[thread as usize].state = State::Exited;
                    return;
                }
                if std::mem::replace(&mut of.is_joined, true) {
                    let me = self.doer(thread);
                    self.find(DefectKind::Misuse, "misuse: a thread is joined twice".to_owned(), vec![me]);
                    return;
                }
                if result != 0 {
                    let size = if is_c11 { 4 } else { 8 };
                    self.access(thread, result, size, true);
                    space::put_number(result, size as u8, value as i64);
                }
            }
            _ => {}
        }
    }

    /// A function has returned that the host has called.
    pub(crate) fn returned(&mut self, thread: u32, result: u64) -> Flow {
        let Some((stack, then)) = self.threads[thread as usize].returns.pop() else {
            if self.is_loading() {
                let of = &mut self.threads[0];
                (of.result, of.state) = (result, State::Finished);
                return Flow::Wait;
            }
            return self.finish(thread, result);
        };
        self.threads[thread as usize].stack = stack;
        match then {
            Return::Once(once) => {
                self.once_done(thread, once);
                Flow::Answer(0)
            }
            Return::End(result) => self.finish(thread, result),
        }
    }

    /// A thread ends with this result. What it has to call at its end comes before.
    fn finish(&mut self, thread: u32, result: u64) -> Flow {
        let of = &mut self.threads[thread as usize];
        let next = of.at_end.pop().or_else(|| {
            let key = of.keys.iter().zip(&self.keys).position(|(value, destructor)| *value != 0 && *destructor != 0)?;
            Some((self.keys[key], std::mem::take(&mut of.keys[key])))
        });
        // When the first thread ends, its own go with the program.
        if let Some((function, argument)) = next.filter(|_| thread != 0) {
            return Flow::Enter(self.invoke(thread, function, argument, Return::End(result)));
        }
        let of = &mut self.threads[thread as usize];
        of.result = result;
        of.state = State::Finished;
        Flow::Wait
    }

    pub(crate) fn key(&mut self, thread: u32, call: Key, [one, two, ..]: [u64; 6]) -> Flow {
        let at = one as u32 as usize;
        match call {
            Key::Create => {
                self.keys.push(two);
                self.access(thread, one as usize, 4, true);
                space::put_number(one as usize, 4, self.keys.len() as i64 - 1);
                Flow::Answer(0)
            }
            Key::Delete => {
                if let Some(destructor) = self.keys.get_mut(at) {
                    *destructor = 0;
                }
                Flow::Answer(0)
            }
            Key::Get => Flow::Answer(self.threads[thread as usize].keys.get(at).copied().unwrap_or_default()),
            Key::Set if at >= self.keys.len() => Flow::Answer(EINVAL),
            Key::Set => {
                let keys = &mut self.threads[thread as usize].keys;
                if keys.len() <= at {
                    keys.resize(at + 1, 0);
                }
                keys[at] = two;
                Flow::Answer(0)
            }
        }
    }
}
