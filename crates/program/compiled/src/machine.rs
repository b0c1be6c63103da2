//! The program as a machine: what its threads have done, and what each does next.
//!
//! The events of a graph are replayed in the order in which they stand there, which respects reads-from. To replay an
//! event is to let its thread run up to its next hook that needs an event. Without a race, what plain memory holds then
//! is right. When the graph loses an event that was replayed, the program begins again from where it was loaded.
//!
//! Until the program first starts a thread, or something is chosen, nothing is an event (*flat*): what the first thread
//! does then happens before all else.

use std::path::Path;
use std::time::Instant;

use explore::{Order, Step, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::finding::DefectKind;
use crate::module::Module;
use crate::places::{Part, Places};
use crate::space::{self, Doer, Space};
use crate::switch::{self, Called, Library, Switch};
use crate::symbols::{Hook, ThreadCall, hooks};
use crate::thread::{Numbers, Return, State, Then, Thread};
use crate::{Setup, shim};

/// After so many hooks a thread may have gone on for so long that the time is up.
const HOOKS: u64 = 1 << 14;

/// What is done after a hook.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The hook returns this, once the steps that it has asked for were taken.
    Answer(u64),
    /// The thread goes on in a function of this name, with the same arguments.
    Pass(usize),
    /// The thread goes on on another stack.
    Enter(usize),
    /// The thread does not go on now.
    Wait,
}

/// How a mutex behaves.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum MutexKind {
    Normal,
    Recursive,
    Checking,
}

/// What is wrong with an execution. Places are addresses in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) kind: DefectKind,
    pub(crate) message: String,
    pub(crate) places: Vec<Doer>,
}

/// The functions of libc and libstdc++ that hooks pass on to, or use.
#[derive(Debug, Default)]
pub(crate) struct Real {
    pub(crate) main: usize,
    pub(crate) exception_state: Option<usize>,
    pub(crate) exception_type: Option<usize>,
    /// Where libstdc++ keeps what `std::call_once` calls, for the thread that runs.
    pub(crate) once_state: Vec<usize>,
    pub(crate) free: usize,
    /// By number of a hook: the function of its name.
    pub(crate) functions: Vec<usize>,
}

/// The program.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Machine {
    pub(crate) switch: Switch,
    hooks: Vec<(String, Hook)>,
    pub(crate) real: Real,
    pub(crate) space: Space,
    pub(crate) places: Places,
    pub(crate) threads: Vec<Thread>,
    numbers: Numbers,
    /// By thread: its kind, if threads of the same code are taken to be alike.
    pub(crate) kinds: FxHashMap<u32, u32>,
    pub(crate) symmetry: bool,
    /// The thread whose storage is in place.
    active: u32,
    pub(crate) replayed: usize,
    pub(crate) is_stale: bool,
    pub(crate) is_flat: bool,
    flat_steps: u32,
    pub(crate) is_loading: bool,
    /// Where loops that wait look.
    pub(crate) loops: FxHashSet<usize>,
    /// Whether an execution with a useless round of a loop ends. (In a random run it goes on.)
    pub(crate) prunes: bool,
    pub(crate) finding: Option<Finding>,
    /// What is not supported, and the places in the code.
    pub(crate) refusal: Option<(String, Vec<usize>)>,
    /// Whether a thread does nothing that the host hears of, and goes on and on.
    pub(crate) is_hung: bool,
    pub(crate) has_exited: bool,
    /// Those that wait at a condition variable: threads and their tokens, in their order.
    pub(crate) waiting: FxHashMap<usize, Vec<u32>>,
    pub(crate) mutexes: FxHashMap<usize, MutexKind>,
    pub(crate) barriers: FxHashMap<usize, i64>,
    /// The destructors of keys.
    pub(crate) keys: Vec<u64>,
    /// Where each marked location was first accessed.
    pub(crate) first_sites: FxHashMap<usize, usize>,
    pub(crate) parts: Vec<Part>,
    /// By [`Chance`]: how often it may happen at one place, and whether it could have happened more often.
    pub(crate) most_chances: [u32; 3],
    pub(crate) has_denied: [bool; 3],
    /// Whether there are compare-exchanges that may be weak ones, and are taken as strong.
    pub(crate) takes_as_strong: bool,
    /// How many hooks there were, in all executions and replays; and when it is too late.
    pub(crate) hooks_seen: u64,
    pub(crate) deadline: Option<Instant>,
    pub(crate) max_steps: u32,
    pub(crate) max_threads: u32,
    refuses_sequential: bool,
    arguments: Vec<u64>,
    texts: Vec<std::ffi::CString>,
    pub(crate) most_threads: u32,
    pub(crate) keeps_stacks: bool,
}

impl Machine {
    /// Loads a program: the shim, the library that needs it and the program, and the program.
    pub(crate) fn load(shim: &Path, all: &Path, program: &Path, options: &Setup) -> Result<Self, String> {
        let switch = Switch::load(shim)?;
        switch::catch_signals();
        let mut machine = Self {
            switch,
            hooks: hooks(),
            real: Real::default(),
            space: Space::new(options.stack, options.heap, options.max_threads),
            places: Places::default(),
            threads: vec![Thread::new()],
            numbers: Numbers::default(),
            kinds: FxHashMap::default(),
            symmetry: options.symmetry,
            active: 0,
            replayed: 0,
            is_stale: true,
            is_flat: true,
            flat_steps: 0,
            is_loading: true,
            loops: FxHashSet::default(),
            prunes: true,
            finding: None,
            refusal: None,
            is_hung: false,
            has_exited: false,
            waiting: FxHashMap::default(),
            mutexes: FxHashMap::default(),
            barriers: FxHashMap::default(),
            keys: Vec::new(),
            first_sites: FxHashMap::default(),
            parts: Vec::new(),
            most_chances: [options.spurious, options.spurious, options.timeouts],
            has_denied: [false; 3],
            takes_as_strong: false,
            hooks_seen: 0,
            deadline: Instant::now().checked_add(options.timeout),
            max_steps: options.max_steps,
            max_threads: options.max_threads,
            refuses_sequential: options.model.refuses_sequential(),
            arguments: Vec::new(),
            texts: Vec::new(),
            most_threads: 1,
            keeps_stacks: false,
        };
        machine.start(all, program, options)?;
        Ok(machine)
    }

    fn start(&mut self, all: &Path, program: &Path, options: &Setup) -> Result<(), String> {
        let process = Library::process();
        self.real.functions = self.hooks.iter().map(|(name, _)| process.symbol(name).unwrap_or_default()).collect();
        self.real.free = process.symbol("free").unwrap_or_default();
        // The first thread loads the program: so what its constructors do comes to the host as all else.
        self.space.admit(0)?;
        let path = std::ffi::CString::new(all.as_os_str().as_encoded_bytes()).map_err(|error| error.to_string())?;
        let arguments = [path.as_ptr() as u64, switch::FLAGS as u64, 0];
        let open = process.symbol("dlopen").ok_or("this program cannot load another one")?;
        self.threads[0].stack = self.switch.begin(self.space.stack_end(0), open, arguments, 0);
        self.threads[0].state = State::Asks;
        self.run(0, Flow::Answer(0));
        if let Some(finding) = &self.finding {
            return Err(format!("the program fails while it is loaded: {}", finding.message));
        }
        if let Some((refusal, _)) = &self.refusal {
            return Err(refusal.clone());
        }
        let library = Library::of(self.threads[0].result)?;
        let module = Module::find(program).ok_or("the program is loaded, and cannot be found")?;
        self.real.main = library.symbol("main").ok_or("the program has no function main")?;
        self.real.exception_state = library.symbol("__cxa_get_globals");
        self.real.exception_type = library.symbol("__cxa_current_exception_type");
        let once_state = ["_ZSt15__once_callable", "_ZSt11__once_call"].map(|name| library.symbol(name));
        self.real.once_state = once_state.into_iter().flatten().collect();
        self.space.keep(module, &self.real.once_state);
        self.is_loading = false;
        if let Some(single) = process.symbol("__libc_single_threaded") {
            // libstdc++ counts references without atomics if there is one thread alone.
            space::put(single, &[0]);
        }
        let texts = std::iter::once("program".to_owned()).chain(options.arguments.iter().cloned());
        self.texts = texts.filter_map(|text| std::ffi::CString::new(text).ok()).collect();
        self.arguments = self.texts.iter().map(|text| text.as_ptr() as u64).chain([0]).collect();
        Ok(())
    }

    /// Whether the time is up.
    pub(crate) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub(crate) fn is_loading(&self) -> bool {
        self.is_loading
    }

    pub(crate) fn hook(&self, called: Called) -> Hook {
        self.hooks[called.hook as usize].1
    }

    pub(crate) fn hook_name(&self, called: Called) -> &str {
        &self.hooks[called.hook as usize].0
    }

    /// The exploration begins again, with what was learnt.
    pub(crate) fn begin(&mut self) {
        self.places.begin();
        self.numbers = Numbers::default();
        self.is_stale = true;
        // Locations have other numbers from here on.
        self.threads.iter_mut().for_each(|thread| thread.accessed.clear());
    }

    /// Another execution begins.
    pub(crate) fn restart(&mut self) {
        self.space.restore(&self.threads);
        self.threads.iter_mut().for_each(Thread::clear);
        self.finding = None;
        self.has_exited = false;
        self.waiting.clear();
        self.mutexes.clear();
        self.barriers.clear();
        self.keys.clear();
        self.replayed = 0;
        self.flat_steps = 0;
        self.is_flat = true;
        self.active = 0;
        space::set_error_number(0);
        let arguments = [self.texts.len() as u64, self.arguments.as_ptr() as u64, 0];
        let thread = &mut self.threads[0];
        thread.stack = self.switch.begin(self.space.stack_end(0), self.real.main, arguments, 0);
        thread.state = State::Asks;
        self.run(0, Flow::Answer(0));
    }

    /// Makes a thread: it calls a function with an argument.
    pub(crate) fn create(&mut self, number: u32, function: u64, argument: u64) {
        let at = number as usize;
        if self.threads.len() <= at {
            self.threads.resize_with(at + 1, Thread::new);
        }
        if let Err(error) = self.space.admit(number) {
            self.refuse(error, 0);
            return;
        }
        let end = self.space.stack_end(number);
        let thread = &mut self.threads[at];
        thread.stack = self.switch.begin(end, function as usize, [argument, 0, 0], 0);
        thread.state = State::Asks;
        thread.queue.push_back((Step::Begin, Then::Begin));
        thread.lowest = thread.stack;
        thread.local = self.space.local_of(number);
        self.most_threads = self.most_threads.max(number + 1);
    }

    /// The number of the next thread that a thread makes.
    pub(crate) fn next_number(&mut self, parent: u32) -> u32 {
        let of = &mut self.threads[parent as usize];
        of.spawned += 1;
        self.numbers.of(parent, of.spawned)
    }

    /// Puts the storage of a thread in its place.
    pub(crate) fn activate(&mut self, thread: u32) {
        if self.active == thread {
            return;
        }
        let local = self.space.module.local.clone();
        let before = &mut self.threads[self.active as usize];
        before.local = space::bytes(local.start, local.len());
        before.error_number = space::error_number();
        let state = self.real.exception_state.map(|function| switch::call(function, 0) as usize);
        if let Some(state) = state {
            before.exceptions = [0, 8].map(|at| space::number(state + at, 8) as u64);
        }
        for (word, &at) in before.once.iter_mut().zip(&self.real.once_state) {
            *word = space::number(at, 8) as u64;
        }
        let now = &self.threads[thread as usize];
        space::put(local.start, &now.local);
        space::set_error_number(now.error_number);
        if let Some(state) = state {
            for (at, word) in [0, 8].into_iter().zip(now.exceptions) {
                space::put_number(state + at, 8, word as i64);
            }
        }
        for (&word, &at) in now.once.iter().zip(&self.real.once_state) {
            space::put_number(at, 8, word as i64);
        }
        self.active = thread;
    }

    /// Tells the shim which hooks of a thread are of no interest.
    pub(crate) fn tell(&self, thread: u32) {
        let of = &self.threads[thread as usize];
        let is_quiet = of.pending.is_empty() && !self.is_loading;
        let own = if is_quiet && !of.is_stack_known { self.space.stack(thread) } else { 0..0 };
        self.switch.tell(is_quiet, own);
    }

    /// Lets a thread run up to the next hook that needs an event.
    pub(crate) fn run(&mut self, thread: u32, mut flow: Flow) {
        self.activate(thread);
        loop {
            let of = &self.threads[thread as usize];
            if flow != Flow::Wait {
                self.tell(thread);
            }
            let called = match flow {
                Flow::Answer(value) => self.switch.enter(of.stack, value),
                Flow::Pass(function) => {
                    let arguments = of.called.map_or([0; 6], |called| called.arguments);
                    self.switch.pass(of.stack, function, arguments)
                }
                Flow::Enter(stack) => self.switch.enter(stack, 0),
                Flow::Wait => return,
            };
            let of = &mut self.threads[thread as usize];
            of.lowest = of.lowest.min(self.switch.lowest()).min(called.stack);
            self.hooks_seen += 1;
            if self.hooks_seen.is_multiple_of(HOOKS) && self.is_late() {
                let site = self.site(thread, called);
                self.refuse(format!("the time is up in thread {thread}"), site);
                self.is_hung = true;
            }
            flow = self.handle(thread, called);
        }
    }

    /// A thread has come to a hook.
    fn handle(&mut self, thread: u32, called: Called) -> Flow {
        let hook = self.hook(called);
        if matches!(hook, Hook::Call) {
            let of = &mut self.threads[thread as usize];
            of.stack = called.stack;
            if of.pending.is_empty() {
                return Flow::Answer(0);
            }
        }
        if matches!(hook, Hook::Crashed) {
            self.crash(thread);
            return Flow::Wait;
        }
        let site = self.site(thread, called);
        let of = &mut self.threads[thread as usize];
        of.stack = called.stack;
        of.called = Some(called);
        of.site = site;
        of.answer = 0;
        of.is_freeing = false;
        if self.finding.is_some() || self.refusal.is_some() || self.threads[thread as usize].state != State::Asks {
            return Flow::Wait;
        }
        if self.threads[thread as usize].useless.is_some() && !self.is_idle(thread, called) && self.was_useless(thread)
        {
            return Flow::Wait;
        }
        self.flush(thread, hook, called);
        let is_end = matches!(hook, Hook::Returned | Hook::Exit | Hook::Assume | Hook::Thread(ThreadCall::Exit));
        let of = &mut self.threads[thread as usize];
        if is_end && !of.queue.is_empty() {
            of.is_again = true;
            return Flow::Wait;
        }
        self.acted(thread, hook, called)
    }

    /// What the hook does, and how the thread goes on.
    pub(crate) fn acted(&mut self, thread: u32, hook: Hook, called: Called) -> Flow {
        let flow = self.act(thread, hook, called);
        if let Flow::Answer(answer) = flow {
            let of = &mut self.threads[thread as usize];
            if of.state != State::Asks || self.finding.is_some() || self.refusal.is_some() {
                return Flow::Wait;
            }
            if !of.queue.is_empty() {
                of.answer = answer;
                return Flow::Wait;
            }
        }
        flow
    }

    /// Whether the round of a loop that a thread has come out of was useless.
    fn was_useless(&mut self, thread: u32) -> bool {
        let of = &mut self.threads[thread as usize];
        let (Some((reached, had)), Some(called)) = (of.useless.take(), of.called) else { return false };
        let is_useless = self.stands_at(thread, called, &reached);
        if is_useless {
            let of = &mut self.threads[thread as usize];
            of.state = State::Spins(of.sites.len() as u32 - had);
        }
        is_useless
    }

    /// Asks for a step. If nothing is an event yet, it is taken at once.
    pub(crate) fn ask(&mut self, thread: u32, step: Step, then: Then) {
        if self.refuses_sequential && is_sequential(step) {
            let site = self.threads[thread as usize].site;
            self.refuse("this model has no sequentially consistent accesses and fences".to_owned(), site);
        }
        if self.is_flat {
            if let Some(value) = self.flat(step) {
                return self.take(thread, step, then, value);
            }
            self.is_flat = false;
            self.places.settle();
        }
        self.threads[thread as usize].queue.push_back((step, then));
    }

    /// The value of a step that is no event. None if it must be one.
    fn flat(&mut self, step: Step) -> Option<Value> {
        const MOST_STEPS: u32 = 1_000_000;
        self.flat_steps += 1;
        if self.flat_steps > MOST_STEPS {
            return None;
        }
        match step {
            Step::Spawn(_) | Step::Join(_) | Step::Choice(_) => None,
            Step::Read { location, .. } | Step::Rmw { location, .. } => {
                let of = self.places.locations[location as usize];
                if of.address == 0 {
                    return None;
                }
                let value = space::number(of.address, of.size);
                step.until().is_none_or(|until| until.accepts(value)).then_some(value)
            }
            _ => Some(0),
        }
    }

    /// A step was taken.
    pub(crate) fn take(&mut self, thread: u32, step: Step, then: Then, value: Value) {
        let written = match step {
            Step::Write { value, .. } => Some(value),
            Step::Rmw { update, .. } => update.apply(value),
            Step::Read { order: Order::NonAtomic, .. } => Some(value),
            _ => None,
        };
        let mut is_effect = !matches!(step, Step::Read { .. } | Step::Fence(_) | Step::Access { writes: false, .. });
        if let Then::Chance(chance) = then {
            // What does not happen is nothing.
            is_effect = value == 1;
            let of = &mut self.threads[thread as usize];
            of.chance_steps.push((of.sites.len() as u32 - 1, chance));
        }
        let mut is_look = false;
        if let Some(location) = step.location() {
            let of = self.places.locations[location as usize];
            if let Some(written) = written
                && of.address != 0
            {
                space::put_number(of.address, of.size, written);
            }
            if let Step::Rmw { .. } = step {
                is_effect = written.is_some_and(|new| space::cut(new, of.size) != space::cut(value, of.size));
            }
            is_look = matches!(step, Step::Read { .. } | Step::Rmw { .. }) && of.is_marked;
        }
        if is_look && !self.is_flat {
            self.looked(thread, value);
        }
        let of = &mut self.threads[thread as usize];
        if is_effect {
            of.forget_looks();
        }
        if !matches!(step, Step::Access { .. }) {
            of.part += 1;
        }
        self.then(thread, then, value);
    }

    /// The host calls a function in place of the hook that a thread is at.
    pub(crate) fn invoke(&mut self, thread: u32, function: u64, argument: u64, then: Return) -> usize {
        let of = &mut self.threads[thread as usize];
        of.returns.push((of.stack, then));
        let base = space::number(of.stack + 8 * (shim::SAVED - 1), 8) as u64;
        self.switch.begin(of.stack, function as usize, [argument, 0, 0], base)
    }

    /// Who does something now.
    pub(crate) fn doer(&self, thread: u32) -> Doer {
        let of = &self.threads[thread as usize];
        Doer { thread, site: of.site, steps: of.sites.len() as u32 }
    }

    /// Something is wrong with the execution. The thread stops.
    pub(crate) fn find(&mut self, kind: DefectKind, message: String, places: Vec<Doer>) {
        if self.finding.is_none() && self.refusal.is_none() {
            self.finding = Some(Finding { kind, message, places });
        }
    }

    /// The program does what is not supported.
    pub(crate) fn refuse(&mut self, message: String, site: usize) {
        self.refuse_beside(message, site, 0);
    }

    /// The same, because of what it does at another place.
    pub(crate) fn refuse_beside(&mut self, message: String, site: usize, other: usize) {
        if self.refusal.is_none() {
            self.refusal = Some((message, [site, other].into_iter().filter(|&site| site != 0).collect()));
        }
    }
}

/// Whether a step may be sequentially consistent, if it fails, too.
fn is_sequential(step: Step) -> bool {
    match step {
        Step::Read { order, .. } | Step::Write { order, .. } | Step::Fence(order) => order.is_sequential(),
        Step::Rmw { order, failure, .. } => order.is_sequential() || failure.is_sequential(),
        _ => false,
    }
}
