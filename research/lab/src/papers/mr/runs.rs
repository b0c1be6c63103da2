//! Runs of the structures: under the seeded scheduler of `explore`, and on real threads.
//!
//! Under the scheduler a run is given by its seed. Calls and returns are logged by the code itself. A thread looks at a
//! word of its own before each call, so that the scheduler decides when the call is; the scheduler then decides about
//! every access. On real threads the recorder of `record` notes the times.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use explore::{Builder, ExplorationEnding, RandomStrategy};
use history::{Call, CallEnd, History, HistoryBuilder, Method, Object, Value};
use workload::random::SplitMix64;

use super::structures::{Memory, Structure, THREADS, words};

/// What to run.
#[derive(Copy, Clone)]
pub(super) struct Run {
    pub(super) structure: Structure,
    /// How many operations, all threads together.
    pub(super) operations: usize,
    /// How many of a hundred operations insert.
    pub(super) inserts: usize,
    pub(super) seed: u64,
}

/// A memory of the scheduler.
struct Modelled(Vec<explore::sync::atomic::AtomicUsize>);

impl Memory for Modelled {
    fn load(&self, at: usize) -> usize {
        self.0[at].load(SeqCst)
    }

    fn store(&self, at: usize, value: usize) {
        self.0[at].store(value, SeqCst);
    }

    fn cas(&self, at: usize, old: usize, new: usize) -> bool {
        self.0[at].compare_exchange(old, new, SeqCst, SeqCst).is_ok()
    }

    fn wait(&self) {
        explore::hint::spin_loop();
    }
}

/// The memory of this machine.
struct Real(Vec<AtomicUsize>);

impl Memory for Real {
    fn load(&self, at: usize) -> usize {
        self.0[at].load(SeqCst)
    }

    fn store(&self, at: usize, value: usize) {
        self.0[at].store(value, SeqCst);
    }

    fn cas(&self, at: usize, old: usize, new: usize) -> bool {
        self.0[at].compare_exchange(old, new, SeqCst, SeqCst).is_ok()
    }

    fn wait(&self) {
        std::thread::yield_now();
    }
}

/// An operation: a value to insert, or a removal.
type Operation = Option<usize>;

impl Run {
    /// The operations of each thread.
    fn operations(&self) -> Vec<Vec<Operation>> {
        let mut random = SplitMix64::new(self.seed);
        let mut threads = vec![Vec::new(); THREADS];
        let mut value = 0;
        for _ in 0..self.operations {
            let thread = random.below(THREADS as u64) as usize;
            threads[thread].push((random.below(100) < self.inserts as u64).then(|| {
                value += 1;
                value
            }));
        }
        threads
    }

    const fn methods(&self) -> [Method; 2] {
        match self.structure.object {
            Object::Stack => [Method::Push, Method::Pop],
            _ => [Method::Enqueue, Method::Dequeue],
        }
    }

    /// A run under the scheduler.
    pub(super) fn scheduled(&self) -> Result<History, String> {
        let operations = Rc::new(self.operations());
        let log = Log::default();
        let (structure, count) = (self.structure, words(self.operations));
        let builder = Builder { model: explore::Model::Sc, max_steps: u32::MAX, ..Builder::new() };
        let told = Rc::clone(&log);
        let code = move || {
            told.borrow_mut().clear();
            let memory = Rc::new(Modelled((0..count).map(|_| explore::sync::atomic::AtomicUsize::new(0)).collect()));
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let (memory, operations, log) = (Rc::clone(&memory), Rc::clone(&operations), Rc::clone(&told));
                    explore::thread::spawn(move || {
                        let own = explore::sync::atomic::AtomicUsize::new(0);
                        for (number, &operation) in operations[thread].iter().enumerate() {
                            own.load(SeqCst);
                            log.borrow_mut().push(Logged::Call(thread, operation));
                            let result = match operation {
                                Some(value) => {
                                    (structure.insert)(&*memory, thread, value);
                                    None
                                }
                                None => (structure.remove)(&*memory, thread, number),
                            };
                            log.borrow_mut().push(Logged::Return(thread, result));
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().expect("no thread panics");
            }
        };
        let mut ended = ExplorationEnding::Complete;
        builder.visit_sample(RandomStrategy::Uniform, self.seed, code, |_, ending| ended = ending);
        if ended != ExplorationEnding::Complete {
            return Err(format!("{}: the run ends as {ended:?}", self.structure.name));
        }
        Ok(self.history(&log.borrow()))
    }

    /// The history of a log.
    fn history(&self, log: &[Logged]) -> History {
        let mut builder = HistoryBuilder::new(self.structure.object);
        let processes: Vec<_> = (0..THREADS).map(|thread| builder.process(&thread.to_string())).collect();
        let [insert, remove] = self.methods();
        let mut open = [None; THREADS];
        for &event in log {
            match event {
                Logged::Call(thread, operation) => {
                    let method = if operation.is_some() { insert } else { remove };
                    let value = operation.map_or(Value::NONE, |value| Value::small(value as u32));
                    let call = Call::new(processes[thread], method).argument(value);
                    builder.call(&call).expect("a thread calls after it has returned");
                    open[thread] = Some(operation);
                }
                Logged::Return(thread, result) => {
                    let Some(operation) = open[thread].take() else { continue };
                    let value = match (operation, result) {
                        (Some(_), _) => Value::NONE,
                        (None, Some(value)) => Value::small(value as u32),
                        (None, None) => Value::EMPTY,
                    };
                    builder.end(processes[thread], CallEnd::Ok(value)).expect("an open operation returns");
                }
            }
        }
        builder.finish().expect("the log is in order")
    }

    /// A run on real threads.
    pub(super) fn real(&self) -> History {
        let operations = self.operations();
        let recorder = record::Recorder::new(self.structure.object);
        let memory = Real((0..words(self.operations)).map(|_| AtomicUsize::new(0)).collect());
        let start = Barrier::new(THREADS);
        let [insert, remove] = self.methods();
        std::thread::scope(|scope| {
            for (thread, operations) in operations.iter().enumerate() {
                let (memory, structure, start) = (&memory, self.structure, &start);
                let mut record = recorder.thread();
                scope.spawn(move || {
                    start.wait();
                    for (number, &operation) in operations.iter().enumerate() {
                        if let Some(value) = operation {
                            record.record((insert, value as u32), || (structure.insert)(memory, thread, value));
                        } else {
                            let take = || (structure.remove)(memory, thread, number).map(|value| value as u32);
                            record.record(remove, take);
                        }
                    }
                });
            }
        });
        recorder.finish()
    }
}

/// What the threads of the scheduler log. They are coroutines of one thread.
type Log = Rc<RefCell<Vec<Logged>>>;

/// An event of a run under the scheduler.
#[derive(Copy, Clone)]
enum Logged {
    Call(usize, Operation),
    Return(usize, Option<usize>),
}
