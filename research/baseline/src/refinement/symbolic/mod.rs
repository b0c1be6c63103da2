//! SYMBOLIC: satisfiability of `STRONGER(h)` and `G(THEORY)` as propositional formulas (section 4 of MR).
//!
//! Quantifiers range over the operations, so each axiom is a set of clauses over the literals `b(x, y)`, `match(x, y)`
//! and `used(x)`. The formula grows with the execution. At each return, the solver is asked; it keeps the clauses that
//! it learnt. Real time decides most of the order, and the results decide most matches. Only the rest becomes
//! variables. The checker is exact for complete and pending operations, even if values repeat.
//!
//! With removal of obsolete matches ([`removal`]), the formula is built again without them. A violation that is found
//! later is a violation of the whole history (Corollary 3), but the converse does not hold.

mod containers;
mod element;
mod exchanger;
mod formula;
mod matching;
mod register;
mod removal;
mod semaphore;

use crate::refinement::{Invocation, NO_THEORY, Options, Step, Witness};
use history::Object;
use object::ValueId;

use self::exchanger::Exchanger;
use self::formula::Formula;
use self::removal::{Event, Log};

const FORGOT: &str = "SYMBOLIC with removal of matches found no contradiction, which proves nothing";

/// The axioms of an object. They are added to the formula as the operations come.
trait Theory {
    /// An operation is called. `hint` is the result that it will return, if that is known.
    fn call(&mut self, formula: &mut Formula, number: u32, invocation: Invocation, hint: Option<ValueId>);
    /// An operation returned, and the formula knows it.
    fn return_(&mut self, formula: &mut Formula, number: u32, result: ValueId) -> Result<(), &'static str>;
    /// The pending operations that are used in the last model, with their results.
    fn pending_effects(&self, formula: &Formula) -> Vec<(u32, ValueId)>;
}

enum Axioms {
    Sequential(Box<dyn Theory>),
    Exchanger(Exchanger),
}

impl Axioms {
    fn new(object: Object, capacity: u64, initial: ValueId) -> Result<Self, &'static str> {
        Ok(Self::Sequential(match object {
            Object::Queue | Object::Stack | Object::PriorityQueue => Box::new(containers::Containers::new(object)),
            Object::Memory | Object::Register => Box::new(register::Register::new(initial)),
            Object::Set | Object::Mutex => Box::new(element::Element::default()),
            Object::Semaphore => Box::new(semaphore::Semaphore::new(capacity)),
            Object::Exchanger => return Ok(Self::Exchanger(Exchanger::default())),
            _ => return Err(NO_THEORY),
        }))
    }

    fn theory(&mut self) -> &mut dyn Theory {
        match self {
            Self::Sequential(theory) => &mut **theory,
            Self::Exchanger(exchanger) => exchanger,
        }
    }
}

/// A formula with the axioms of an object, over operations with numbers of their own.
pub(super) struct Instance {
    formula: Formula,
    axioms: Axioms,
}

impl Instance {
    pub(super) fn new(
        object: Object,
        capacity: u64,
        initial: ValueId,
        options: &Options,
    ) -> Result<Self, &'static str> {
        Ok(Self { formula: Formula::new(&options.budget), axioms: Axioms::new(object, capacity, initial)? })
    }

    pub(super) fn call(&mut self, number: u32, invocation: Invocation, hint: Option<ValueId>) {
        self.formula.call(number);
        self.axioms.theory().call(&mut self.formula, number, invocation, hint);
    }

    pub(super) fn return_(&mut self, number: u32, result: ValueId) -> Result<(), &'static str> {
        self.formula.return_(number);
        self.axioms.theory().return_(&mut self.formula, number, result)
    }

    pub(super) fn test(&mut self) -> Step {
        self.formula.test()
    }
}

/// The incremental monitor.
pub struct Monitor {
    object: Object,
    capacity: u64,
    initial: ValueId,
    options: Options,
    instance: Instance,
    /// What is remembered, if matches are removed; otherwise empty.
    log: Log,
    /// For each operation that is not forgotten: its number in the instance.
    numbers: Vec<Option<u32>>,
    count: u32,
    has_forgotten: bool,
}

impl Monitor {
    /// A monitor of a new object. `capacity` is for a semaphore, `initial` for a register.
    pub fn new(object: Object, capacity: u64, initial: ValueId, options: Options) -> Result<Self, &'static str> {
        let instance = Instance::new(object, capacity, initial, &options)?;
        Ok(Self {
            object,
            capacity,
            initial,
            options,
            instance,
            log: Log::default(),
            numbers: Vec::new(),
            count: 0,
            has_forgotten: false,
        })
    }

    /// Forgets what is obsolete, and builds the formula of the rest.
    fn remove_matches(&mut self) -> Result<(), &'static str> {
        if !self.log.remove(self.object, self.initial) {
            return Ok(());
        }
        self.has_forgotten = true;
        self.instance = Instance::new(self.object, self.capacity, self.initial, &self.options)?;
        self.count = 0;
        self.numbers.iter_mut().for_each(|number| *number = None);
        for event in self.log.events() {
            self.tell(event)?;
        }
        Ok(())
    }

    fn tell(&mut self, event: Event) -> Result<(), &'static str> {
        match event {
            Event::Call(number, invocation) => {
                if self.numbers.len() <= number as usize {
                    self.numbers.resize(number as usize + 1, None);
                }
                self.numbers[number as usize] = Some(self.count);
                self.instance.call(self.count, invocation, None);
                self.count += 1;
                Ok(())
            }
            Event::Return(number, result) => {
                let inner = self.numbers.get(number as usize).copied().flatten();
                inner.map_or(Ok(()), |inner| self.instance.return_(inner, result))
            }
        }
    }
}

impl crate::refinement::Monitor for Monitor {
    fn call(&mut self, number: u32, invocation: Invocation) {
        if self.options.remove_matches {
            self.log.call(number, invocation);
        }
        // A call is never refused.
        let _ = self.tell(Event::Call(number, invocation));
    }

    fn return_(&mut self, number: u32, result: ValueId) -> Step {
        if self.options.remove_matches {
            self.log.return_(number, result);
        }
        if let Err(reason) = self.tell(Event::Return(number, result)) {
            return Step::GaveUp(reason);
        }
        let step = self.instance.test();
        if step == Step::Possible
            && self.options.remove_matches
            && let Err(reason) = self.remove_matches()
        {
            return Step::GaveUp(reason);
        }
        step
    }

    fn witness(&mut self) -> Witness {
        if self.has_forgotten {
            return Witness::None(FORGOT);
        }
        let Instance { formula, axioms } = &mut self.instance;
        match axioms {
            Axioms::Exchanger(exchanger) => Witness::Pairs(exchanger.pairs(formula)),
            Axioms::Sequential(theory) => {
                let effects = theory.pending_effects(formula);
                let mut order: Vec<u32> = (0..self.count).filter(|&number| !formula.is_open(number)).collect();
                order.extend(effects.iter().map(|&(number, _)| number));
                formula.sort(&mut order);
                Witness::Order(order, effects.into_iter().filter(|&(_, result)| result != ValueId::NONE).collect())
            }
        }
    }
}
