//! SYMBOLIC: satisfiability of `STRONGER(h)` and `G(THEORY)` as propositional formulas (section 4 of MR).
//!
//! Quantifiers range over the operations, so each axiom is a set of clauses over the literals `b(x, y)`, `match(x, y)`
//! and `used(x)`. The formula grows with the execution. At each return, the solver is asked; it keeps the clauses that
//! it learnt. Real time decides most of the order, and the results decide most matches. Only the rest becomes
//! variables. The checker is exact for complete and pending operations, even if values repeat.
//!
//! Removal of obsolete matches (queue, stack and priority queue only): when an insertion and its removal have both
//! returned, the formula is built again without them. A violation that is found later is a violation of the whole
//! history (Corollary 3), but the converse does not hold.

mod containers;
mod element;
mod exchanger;
mod formula;
mod matching;
mod register;
mod semaphore;

use history::{Method, Object};
use object::ValueId;
use object::mr::{Invocation, NO_THEORY, Options, Step, Witness};

use self::exchanger::Exchanger;
use self::formula::Formula;

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
            Object::KeyValue
            | Object::Multiset
            | Object::TaggedMutex
            | Object::TaggedSemaphore
            | Object::Counter
            | Object::MaxRegister
            | Object::Open
            | Object::Transactions => {
                return Err(NO_THEORY);
            }
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
    pub(super) fn new(object: Object, capacity: u64, initial: ValueId, options: Options) -> Result<Self, &'static str> {
        Ok(Self { formula: Formula::new(options.interrupt), axioms: Axioms::new(object, capacity, initial)? })
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

/// An event that was not forgotten.
#[derive(Copy, Clone, Debug)]
enum LoggedEvent {
    Call(u32, Invocation),
    Return(u32, ValueId),
}

/// The incremental monitor.
pub struct Monitor {
    object: Object,
    capacity: u64,
    initial: ValueId,
    options: Options,
    instance: Instance,
    /// The events that can be forgotten, if matches are removed; otherwise empty.
    log: Vec<LoggedEvent>,
    /// For each operation that is not forgotten: its number in the instance.
    numbers: Vec<Option<u32>>,
    count: u32,
    has_forgotten: bool,
}

impl Monitor {
    /// A monitor of a new object. `capacity` is for a semaphore, `initial` for a register.
    pub fn new(object: Object, capacity: u64, initial: ValueId, options: Options) -> Result<Self, &'static str> {
        let instance = Instance::new(object, capacity, initial, options)?;
        Ok(Self {
            object,
            capacity,
            initial,
            options,
            instance,
            log: Vec::new(),
            numbers: Vec::new(),
            count: 0,
            has_forgotten: false,
        })
    }

    /// Forgets a value that was inserted and removed, if the last event completed both operations.
    fn remove_match(&mut self) -> Result<(), &'static str> {
        let is_container = matches!(self.object, Object::Queue | Object::Stack | Object::PriorityQueue);
        let Some(&LoggedEvent::Return(number, result)) = self.log.last().filter(|_| is_container) else {
            return Ok(());
        };
        let is_insertion = |method| matches!(method, Method::Enqueue | Method::Push | Method::Insert);
        let called = |wanted: u32| {
            self.log.iter().find_map(|&event| match event {
                LoggedEvent::Call(number, invocation) if number == wanted => Some(invocation),
                _ => None,
            })
        };
        let Some(value) = called(number).map(|call| if is_insertion(call.method) { call.argument } else { result })
        else {
            return Ok(());
        };
        let mut parts = [None, None];
        for &event in &self.log {
            match event {
                LoggedEvent::Return(number, result) if result.is_index() && result == value => parts[1] = Some(number),
                LoggedEvent::Return(number, _)
                    if called(number).is_some_and(|call| is_insertion(call.method) && call.argument == value) =>
                {
                    parts[0] = Some(number);
                }
                _ => {}
            }
        }
        let [Some(insertion), Some(removal)] = parts else { return Ok(()) };
        let number_of = |event: &LoggedEvent| match *event {
            LoggedEvent::Call(number, _) | LoggedEvent::Return(number, _) => number,
        };
        self.log.retain(|event| ![insertion, removal].contains(&number_of(event)));
        self.has_forgotten = true;
        self.instance = Instance::new(self.object, self.capacity, self.initial, self.options)?;
        self.count = 0;
        self.numbers.iter_mut().for_each(|number| *number = None);
        for event in self.log.clone() {
            self.tell(event)?;
        }
        Ok(())
    }

    fn tell(&mut self, event: LoggedEvent) -> Result<(), &'static str> {
        match event {
            LoggedEvent::Call(number, invocation) => {
                if self.numbers.len() <= number as usize {
                    self.numbers.resize(number as usize + 1, None);
                }
                self.numbers[number as usize] = Some(self.count);
                self.instance.call(self.count, invocation, None);
                self.count += 1;
                Ok(())
            }
            LoggedEvent::Return(number, result) => {
                let inner = self.numbers.get(number as usize).copied().flatten();
                inner.map_or(Ok(()), |inner| self.instance.return_(inner, result))
            }
        }
    }
}

impl object::mr::Monitor for Monitor {
    fn call(&mut self, number: u32, invocation: Invocation) {
        let event = LoggedEvent::Call(number, invocation);
        if self.options.remove_matches {
            self.log.push(event);
        }
        // A call is never refused.
        let _ = self.tell(event);
    }

    fn return_(&mut self, number: u32, result: ValueId) -> Step {
        let event = LoggedEvent::Return(number, result);
        if self.options.remove_matches {
            self.log.push(event);
        }
        if let Err(reason) = self.tell(event) {
            return Step::GaveUp(reason);
        }
        let step = self.instance.test();
        if step == Step::Possible
            && self.options.remove_matches
            && let Err(reason) = self.remove_match()
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
