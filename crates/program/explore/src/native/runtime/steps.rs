//! The steps of the thread that runs: in flat memory, added to the graph at once, or asked for.
//!
//! In a random run a thread adds by itself what it would be let do at once
//! ([`is_eager`](crate::graph::Graph::is_eager)): that takes no switch to the exploration and back.

use super::{Asked, Code, Request, Run};
use crate::chance::Chance;
use crate::native::place::{Kind, written};
use crate::program::{Step, Value};

impl Run {
    /// Whether an access needs no event. A thread that unwinds must not let another one run, for which the standard
    /// library would think that it panics.
    pub(in crate::native) fn is_flat(&self) -> bool {
        self.is_alone.get() || self.is_ending.get() || std::thread::panicking()
    }

    /// Asks for a step of this thread. The answer is the value that it reads.
    pub(in crate::native) fn step(&self, step: Step, kind: Kind, code: Code) -> Value {
        self.step_at(0, step, kind, code)
    }

    /// Whether something happens to this thread without a reason. It may, as often as told at each place in the code of
    /// a thread.
    pub(in crate::native) fn happens(&self, chance: Chance, code: Code) -> bool {
        let Some(context) = self.current().filter(|_| !self.is_ending.get() && !std::thread::panicking()) else {
            return false;
        };
        let is_this = |&&mut (other, place, _): &&mut (Chance, Code, u32)| other == chance && place == code;
        let had = context.chances.borrow_mut().iter_mut().find(is_this).map_or(0, |&mut (.., had)| had);
        if had >= self.most_chances[chance as usize] {
            self.has_denied[chance as usize].set(true);
            return false;
        }
        if self.step(Step::Choice(2), Kind::Chance(chance), code) == 0 {
            return false;
        }
        let mut chances = context.chances.borrow_mut();
        match chances.iter_mut().find(is_this) {
            Some((.., had)) => *had += 1,
            None => chances.push((chance, code, 1)),
        }
        true
    }

    /// Whether this thread waits for no longer than some time from here on. Threads that wait for each other are in no
    /// deadlock as long as the time of one may run out.
    pub(in crate::native) fn waits_for_time(&self, has_time: bool) {
        if self.most_chances[Chance::RunsOut as usize] > 0
            && let Some(context) = self.current()
        {
            context.has_time.set(has_time);
        }
    }

    /// What the thread does from here on, another execution does without a chance: this one is left if every
    /// execution is explored.
    pub(in crate::native) fn is_redundant(&self, code: Code) {
        if self.is_exhaustive.get() {
            self.stop(code);
        }
    }

    /// The same, of a place at this address.
    pub(in crate::native) fn step_at(&self, address: usize, step: Step, kind: Kind, code: Code) -> Value {
        if self.is_flat()
            && let Some(value) = self.flat(step)
        {
            return value;
        }
        if !self.graph.get().is_null() && self.add(step, kind, code) {
            return 0;
        }
        self.ask(&Request::Step(Asked { step, kind, address }, code))
    }

    /// Adds a step to the graph at once, without another thread having its turn. False if that is not possible.
    fn add(&self, step: Step, kind: Kind, code: Code) -> bool {
        let (graph, context) = (self.graph.get(), self.current.get());
        if graph.is_null() || context.is_null() {
            return false;
        }
        // SAFETY: it is set while a thread is let run, and then nobody else uses the graph. The context lives as long
        // as the thread.
        let (graph, context) = unsafe { (&mut *graph, &*context) };
        let thread = context.handle.number();
        let is_possible = match step {
            Step::Access { .. } => true,
            Step::Write { .. } | Step::Fence(_) => graph.is_eager,
            _ => false,
        };
        if !is_possible || graph.len(thread) >= self.max_steps || graph.events.len() >= self.max_events {
            return false;
        }
        let mut named = step;
        if let Some(place) = step.location() {
            let mut objects = self.objects.borrow_mut();
            if objects[place as usize].birth.is_some_and(|birth| birth.thread != thread) {
                return false;
            }
            let mut names = self.names.borrow_mut();
            names.name(&mut named, kind, &mut objects, self);
            while Some(graph.location_count()) <= named.location() {
                graph.admit_location(names.initial[graph.location_count() as usize]);
            }
            if let Step::Write { value, .. } = step {
                objects[place as usize].value = value;
            }
        }
        let stamp = graph.events.len() as u32;
        match named {
            Step::Write { .. } => graph.push_write(thread, &named, stamp),
            _ => graph.push_plain(thread, &named, 0, stamp),
        }
        context.had.set(context.had.get() + 1);
        self.added.borrow_mut().push((step, code));
        self.has_news.set(true);
        if graph.race().is_some() {
            // What comes after a race has no meaning.
            self.ask(&Request::Stop(code));
        }
        true
    }

    /// Lets others run until this thread gets an answer.
    // A thread that is left in the middle is unwound, which costs more for each function than to run it.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn ask(&self, request: &Request) -> Value {
        let context = self.current.get();
        assert!(!context.is_null(), "only threads of the program access what is modelled");
        // SAFETY: the context lives as long as the thread, and the yielder as long as its function, below this call.
        let yielder = unsafe { &*(*context).yielder.get() };
        yielder.suspend(request)
    }

    /// A step in flat memory. None if it needs an event.
    fn flat(&self, step: Step) -> Option<Value> {
        let steps = self.flat_steps.get() + 1;
        self.flat_steps.set(steps);
        let is_alone = self.is_alone.get() && !self.is_ending.get() && !std::thread::panicking();
        if is_alone && steps > self.max_steps {
            self.is_alone.set(false);
            return None;
        }
        assert!(is_alone || steps < 10_000_000, "a destructor waits for a thread that has ended");
        match step {
            Step::Spawn(_) | Step::Join(_) | Step::Choice(_) if is_alone => {
                self.is_alone.set(false);
                None
            }
            Step::Read { location, .. } | Step::Write { location, .. } | Step::Rmw { location, .. } => {
                let mut objects = self.objects.borrow_mut();
                let value = &mut objects[location as usize].value;
                let old = *value;
                if is_alone && step.until().is_some_and(|until| !until.accepts(old)) {
                    self.is_alone.set(false);
                    return None;
                }
                *value = written(step, old).unwrap_or(old);
                Some(old)
            }
            _ => Some(0),
        }
    }

    /// The thread hints that it spins.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(in crate::native) fn hint(&self, code: Code) {
        if !self.is_ending.get() && !std::thread::panicking() {
            self.is_alone.set(false);
            self.ask(&Request::Hint(code));
        } else {
            self.flat(Step::Begin);
        }
    }

    /// The thread stops for good.
    pub(in crate::native) fn stop(&self, code: Code) {
        if !self.is_ending.get() && !std::thread::panicking() {
            self.is_alone.set(false);
            self.ask(&Request::Stop(code));
        }
    }
}
