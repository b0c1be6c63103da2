//! A place in memory that is modelled: the word inside of an atomic, a lock or a cell.
//!
//! A place is made by a `const fn`, so that it can be in a static, and nobody hears of it. It is registered with the
//! run at its first access, and gets a number that holds for this run: what a static has of an earlier run is void.
//! Where a static is used by two explorations at once, on two threads of the operating system, the number of one is not
//! that of the other, and each finds its own by the address.
//!
//! Outside of a run a place is an atomic word like any other, in the strongest order.

#![allow(unsafe_code, reason = "the data of statics is restored")]

use std::mem::MaybeUninit;
use std::panic::Location;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, Ordering};

use super::runtime::{self, Code, OffenceKind, Run};
use crate::chance::Chance;
use crate::program::{Await, Order, Step, Update, Value};

/// How many bits of the number of a place are its number in the run. The others are the number of the run.
pub(super) const BITS: u32 = 24;

/// The number of a place that several explorations use at once.
pub(super) const SHARED: u64 = u64::MAX;

/// The number of a place whose memory was freed.
pub(super) const DEAD: u64 = u64::MAX - 1;

/// What the values of a place are, or what a choice is about.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    /// Whether something happens without a reason.
    Chance(Chance),
    /// Numbers of this crate's own. What a thread does right after such an event is at one with it.
    Own,
    /// Numbers as wide as addresses, and those that are addresses of the heap stand for these.
    Wide,
    Address,
}

impl Kind {
    /// Whether values stand for themselves.
    #[inline]
    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Number | Self::Own | Self::Chance(_))
    }
}

/// How the values of a place are shown.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Word,
    Bool,
    /// The upper bits of a word, above as many as told.
    Signed(u32),
    Unsigned(u32),
    Address,
}

/// What a place has outside of a run, and at first in it.
pub(crate) trait Initial {
    const KIND: Kind;
    /// Whether accesses must happen after whoever has allocated the place, and before whoever frees it.
    const HAS_BIRTH: bool = true;

    fn get(&self) -> Value;

    /// Writes a value if the old one is as expected.
    fn exchange(&self, old: Value, new: Value) -> bool;
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident, $kind:expr, $has_birth:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub(crate) struct $name(AtomicI64);

            impl Initial for $name {
                const KIND: Kind = $kind;
                const HAS_BIRTH: bool = $has_birth;

                fn get(&self) -> Value {
                    self.0.load(Ordering::SeqCst)
                }

                fn exchange(&self, old: Value, new: Value) -> bool {
                    self.0.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
                }
            }

            impl $name {
                pub(crate) const fn new(initial: Value) -> Self {
                    Self(AtomicI64::new(initial))
                }
            }
        )*
    };
}

words! {
    /// A number.
    Number, Kind::Number, true;
    /// A number that may be an address.
    Wide, Kind::Wide, true;
    /// A number of this crate's own, which is accessed as the crate sees fit.
    Own, Kind::Own, false;
    /// The same, where the code says when it is accessed.
    Watched, Kind::Own, true;
}

impl Initial for AtomicPtr<()> {
    const KIND: Kind = Kind::Address;

    fn get(&self) -> Value {
        self.load(Ordering::SeqCst) as usize as Value
    }

    fn exchange(&self, old: Value, new: Value) -> bool {
        let [old, new] = [old, new].map(|value| value as usize as *mut ());
        self.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// A place in memory.
#[derive(Debug)]
pub(crate) struct Place<I = Number> {
    number: AtomicU64,
    initial: I,
    /// Where it was made.
    code: Code,
    look: Look,
}

impl Place {
    /// A place with this number at first.
    #[track_caller]
    pub(crate) const fn new(initial: Value) -> Self {
        Self::with(Number::new(initial), Look::Word)
    }
}

impl<I: Initial> Place<I> {
    /// A place that has this at first.
    #[track_caller]
    pub(crate) const fn with(initial: I, look: Look) -> Self {
        Self { number: AtomicU64::new(0), initial, code: Location::caller(), look }
    }

    /// Makes data that the place protects as it was at its first access, if that was in an earlier execution: it is in
    /// a static. Data that owns something is left alone, since what it owned may be gone.
    #[inline]
    pub(crate) fn refresh<T: ?Sized>(&self, data: *mut T) {
        if let Some(run) = runtime::get() {
            let number = self.number.load(Ordering::Relaxed);
            if number >> BITS != run.generation() {
                let size = if std::mem::needs_drop::<T>() { 0 } else { size_of_data(data) };
                self.refresh_bytes(run, number, data.cast(), size);
            }
        }
    }

    #[cold]
    fn refresh_bytes(&self, run: &Run, number: u64, data: *mut u8, size: usize) {
        let address = std::ptr::from_ref(self) as usize;
        let is_mine = run.claim(address, number == 0, self.code);
        // Another exploration may just have been the first.
        let number = self.number.load(Ordering::Relaxed);
        let is_shared = || number == SHARED || number != 0 && run.is_of_another(number >> BITS);
        if !is_mine || size == 0 || number == DEAD || is_shared() && run.object_at(self.address()).is_some() {
            return;
        }
        // SAFETY: this is the first access in the execution, so nobody else has a reference to the data. Bytes that
        // were never written may be among them, so they are moved as such.
        let bytes = unsafe { std::slice::from_raw_parts_mut(data.cast::<MaybeUninit<u8>>(), size) };
        run.refresh(address, number == 0, bytes);
    }

    /// Where its number is.
    fn address(&self) -> usize {
        std::ptr::from_ref(&self.number) as usize
    }

    /// The number of the place in the run.
    #[track_caller]
    fn object(&self, run: &Run) -> u32 {
        let number = self.number.load(Ordering::Relaxed);
        if number >> BITS == run.generation() {
            return number as u32 & ((1 << BITS) - 1);
        }
        self.register(run, number, Location::caller())
    }

    #[cold]
    fn register(&self, run: &Run, number: u64, accessed: Code) -> u32 {
        let address = self.address();
        if number == DEAD {
            run.offend(OffenceKind::Use(accessed), run.death_at(address));
        }
        let is_shared = number == SHARED || number != 0 && run.is_of_another(number >> BITS);
        if is_shared {
            self.number.store(SHARED, Ordering::Relaxed);
            if let Some(object) = run.object_at(address) {
                return object;
            }
        }
        let origin = (self.code, self.look);
        let object = run.register(address, self.initial.get(), I::KIND, origin, I::HAS_BIRTH, accessed);
        if !is_shared {
            self.number.store(run.generation() << BITS | u64::from(object), Ordering::Relaxed);
        }
        object
    }

    #[track_caller]
    fn perform(&self, step: impl FnOnce(u32) -> Step) -> Value {
        match runtime::get() {
            Some(run) => run.step_at(self.address(), step(self.object(run)), I::KIND, Location::caller()),
            None => self.perform_outside(step(0)),
        }
    }

    /// Outside of a run.
    fn perform_outside(&self, step: Step) -> Value {
        loop {
            let old = self.initial.get();
            if step.until().is_some_and(|until| !until.accepts(old)) {
                std::thread::yield_now();
                continue;
            }
            let Some(new) = written(step, old) else { return old };
            if self.initial.exchange(old, new) {
                return old;
            }
        }
    }

    #[track_caller]
    pub(crate) fn read(&self, order: Order) -> Value {
        self.perform(|location| Step::Read { location, order, until: None })
    }

    /// Waits for a value.
    #[track_caller]
    pub(crate) fn wait(&self, order: Order, until: Await) -> Value {
        self.perform(|location| Step::Read { location, order, until: Some(until) })
    }

    #[track_caller]
    pub(crate) fn write(&self, value: Value, order: Order) {
        self.perform(|location| Step::Write { location, order, value });
    }

    #[track_caller]
    pub(crate) fn update(&self, update: Update, order: Order, failure: Order) -> Value {
        self.perform(|location| Step::Rmw { location, order, failure, update, until: None })
    }

    /// Waits for a value, and updates it.
    #[track_caller]
    pub(crate) fn update_when(&self, until: Await, update: Update, order: Order, failure: Order) -> Value {
        self.perform(|location| Step::Rmw { location, order, failure, update, until: Some(until) })
    }

    /// Begins an access that is only checked for data races.
    #[track_caller]
    pub(crate) fn access(&self, writes: bool) -> Accessing {
        let code = Location::caller();
        let run = runtime::get();
        let object = run.map(|run| {
            let object = self.object(run);
            run.step_at(self.address(), Step::Access { location: object, writes }, I::KIND, code);
            (object, run.generation(), run.had())
        });
        Accessing { object, writes, code }
    }
}

/// An access that goes on until it is dropped. If its thread has other events meanwhile, its end is checked, too.
pub(crate) struct Accessing {
    /// The place, the run, and how many events the thread had.
    object: Option<(u32, u64, u32)>,
    writes: bool,
    code: &'static Location<'static>,
}

impl Drop for Accessing {
    fn drop(&mut self) {
        if let (Some((location, generation, had)), Some(run)) = (self.object, runtime::get())
            && generation == run.generation()
            && had != run.had()
        {
            run.step(Step::Access { location, writes: self.writes }, Kind::Number, self.code);
        }
    }
}

fn size_of_data<T: ?Sized>(data: *mut T) -> usize {
    // SAFETY: it points to the data of a place, which is there.
    size_of_val(unsafe { &*data })
}

/// What a step writes, given the value before.
pub(super) fn written(step: Step, old: Value) -> Option<Value> {
    match step {
        Step::Write { value, .. } => Some(value),
        Step::Rmw { update, .. } => update.apply(old),
        _ => None,
    }
}
