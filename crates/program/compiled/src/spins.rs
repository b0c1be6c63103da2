//! Loops that wait, found without hints.
//!
//! What a thread does next depends on where it *stands*: its hook, and its own stack from there on, without what other
//! threads can change. A *look* is a read, or an rmw that may write what it reads. As long as a thread has no effect,
//! its looks are kept.
//!
//! 1. If a thread stands at a look as at an earlier one, it goes round for ever as long as it reads the same values.
//! 2. A compiler leaves values behind on the stack that are never read again, so the second round of a loop may stand
//!    elsewhere than the first. If a thread is at the same look again, and the values of the last round would bring it
//!    back to where it stands now, it is in a loop. It reads all the same. Then the first look is tried with the value
//!    that it got. If both lead to where the thread stands next, the round before was useless: there is another
//!    execution without it, and this one ends. A loop that counts its rounds, or remembers that it waited, stands
//!    elsewhere, and goes on.

use explore::{Step, Value};

use crate::machine::Machine;
use crate::space;
use crate::switch::Called;
use crate::symbols::Hook;

/// Where a thread stands.
#[derive(Clone, Debug)]
pub(crate) struct Stand {
    pub(crate) called: Called,
    /// Its stack from there to the end.
    pub(crate) stack: Vec<u8>,
}

/// A read of a thread that has had no effect since.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) step: Step,
    pub(crate) stack: usize,
    pub(crate) site: usize,
    /// How many steps the thread had had.
    pub(crate) had: u32,
    pub(crate) value: Value,
    pub(crate) stand: Option<Stand>,
}

/// How many looks are kept at least: no more than this many are in one round of a loop that is known to wait. So what a
/// look costs does not grow with the number of looks before.
const MOST_LOOKS: usize = 64;

/// How many hooks a thread is followed for.
const MOST_HOOKS: u32 = 100_000;

impl Machine {
    fn stand(&self, thread: u32, called: Called) -> Stand {
        let range = self.space.stack_from(thread, called.stack);
        Stand { called, stack: space::bytes(range.start, range.len()) }
    }

    /// Whether two are the same, but for what others can change.
    fn is_same(&self, one: &Stand, other: &Stand) -> bool {
        if one.called.hook != other.called.hook || one.called.stack != other.called.stack {
            return false;
        }
        let arity = self.hook(one.called).arity();
        if one.called.arguments[..arity] != other.called.arguments[..arity] {
            return false;
        }
        let differs = |&at: &usize| one.stack[at] != other.stack[at];
        let mut differences = (0..one.stack.len()).filter(differs);
        one.stack == other.stack || differences.all(|at| self.places.is_public(one.called.stack + at))
    }

    /// A thread is about to look. Whether it only waits: the steps of its loop.
    pub(crate) fn is_waiting(&mut self, thread: u32, step: Step) -> Option<u32> {
        let of = &self.threads[thread as usize];
        let called = of.called?;
        let (site, had) = (of.site, of.sites.len() as u32);
        let is_alike = |look: &Look| look.stack == called.stack && look.site == site && look.step == step;
        let before = of.looks.iter().rposition(is_alike);
        let is_loop = self.loops.contains(&site);
        if before.is_some() && !is_loop {
            // Where it stood at first was not kept.
            self.loops.insert(site);
            self.places.is_outdated = true;
        }
        let stand = is_loop.then(|| self.stand(thread, called));
        let mut waits = None;
        self.threads[thread as usize].is_round = false;
        if let (Some(before), Some(now)) = (before, &stand) {
            let looks = std::mem::take(&mut self.threads[thread as usize].looks);
            let same = looks
                .iter()
                .rfind(|look| is_alike(look) && look.stand.as_ref().is_some_and(|stand| self.is_same(stand, now)));
            if let Some(same) = same {
                waits = Some(had - same.had);
            } else if self.prunes && looks[before].stand.is_some() {
                let values: Vec<Value> = looks[before..].iter().map(|look| look.value).collect();
                self.threads[thread as usize].is_round = self.goes_round(thread, now, &values);
            }
            self.threads[thread as usize].looks = looks;
        }
        let looks = &mut self.threads[thread as usize].looks;
        if looks.len() >= 2 * MOST_LOOKS {
            looks.drain(..MOST_LOOKS);
        }
        looks.push(Look { step, stack: called.stack, site, had, value: 0, stand });
        waits
    }

    /// Whether a thread stands where it was shown to come to.
    pub(crate) fn stands_at(&self, thread: u32, called: Called, reached: &Stand) -> bool {
        self.is_same(&self.stand(thread, called), reached)
    }

    /// A thread has got the value of its look. If it is in a loop, the look before is tried with this value.
    pub(crate) fn looked(&mut self, thread: u32, value: Value) {
        let of = &mut self.threads[thread as usize];
        let Some(last) = of.looks.last_mut() else { return };
        last.value = value;
        if !std::mem::take(&mut of.is_round) {
            return;
        }
        let (stack, site, step) = (last.stack, last.site, last.step);
        let earlier = &of.looks[..of.looks.len() - 1];
        let is_alike = |look: &&Look| look.stack == stack && look.site == site && look.step == step;
        let Some(before) = earlier.iter().rfind(is_alike) else { return };
        let (Some(stand), had) = (before.stand.clone(), before.had) else { return };
        let mut values = std::iter::once(value);
        let reached = self.follow(thread, &stand, |machine, called| {
            let value = values.next()?;
            machine.answer_alone(thread, called, value)
        });
        if let Some(reached) = reached {
            self.threads[thread as usize].useless = Some((reached, had));
        }
    }

    /// Whether a thread that stands here comes back if it reads these values again.
    fn goes_round(&mut self, thread: u32, now: &Stand, values: &[Value]) -> bool {
        let mut values = values.iter();
        let reached = self.follow(thread, now, |machine, called| {
            let value = *values.next()?;
            machine.answer_alone(thread, called, value)
        });
        reached.is_some_and(|reached| self.is_same(&reached, now)) && values.len() == 0
    }

    /// Lets a thread run from where it stood, without effects, as long as there are answers. The answer is where it
    /// stands then. Nothing of it stays.
    fn follow(
        &mut self,
        thread: u32,
        from: &Stand,
        mut answer: impl FnMut(&mut Self, Called) -> Option<u64>,
    ) -> Option<Stand> {
        let real = self.threads[thread as usize].called?;
        let real = self.stand(thread, real);
        space::put(from.called.stack, &from.stack);
        self.activate(thread);
        self.tell(thread);
        let mut called = from.called;
        let mut is_first = true;
        let mut reached = None;
        for _ in 0..MOST_HOOKS {
            let hook = self.hook(called);
            let value = if hook == Hook::Crashed {
                break;
            } else if !is_first && self.is_idle(thread, called) {
                Some(0)
            } else {
                answer(self, called)
            };
            is_first = false;
            let Some(value) = value else {
                reached = Some(self.stand(thread, called));
                break;
            };
            called = self.switch.enter(called.stack, value);
        }
        space::put(real.called.stack, &real.stack);
        reached
    }

    /// Whether a hook does nothing but what the thread itself can see.
    pub(crate) fn is_idle(&self, thread: u32, called: Called) -> bool {
        let address = called.arguments[0] as usize;
        let is_own = |size| {
            self.space.region(address) == space::Region::Stack(thread)
                && !(address..address + size).any(|at| self.places.is_public(at))
        };
        match self.hook(called) {
            Hook::Call | Hook::Nothing => true,
            Hook::Plain { size, writes, .. } => {
                let is_marked = (address..address + usize::from(size)).any(|at| self.places.is_marked(at));
                is_own(size.into()) || !writes && !is_marked
            }
            Hook::Range { .. } => is_own(called.arguments[1] as usize),
            _ => false,
        }
    }

    /// What a look answers if it gets a value, without any effect but on the thread's own stack. None if it is none.
    fn answer_alone(&mut self, thread: u32, called: Called, value: Value) -> Option<u64> {
        let hook = self.hook(called);
        match hook {
            Hook::Load(_) | Hook::Exchange(_) | Hook::Fetch(..) | Hook::CompareValue(_) => {}
            Hook::CompareExchange { .. } => {
                let expected = called.arguments[1] as usize;
                if self.space.region(expected) != space::Region::Stack(thread) {
                    return None;
                }
            }
            _ => return None,
        }
        Some(self.answer(called, value))
    }
}
