//! The machine on which the threads of a litmus test run.
//!
//! A thread is a list of instructions over registers. The machine stops at each instruction that accesses memory. It
//! keeps the state of each thread before each of its steps, so when the graph has changed it goes on from the last step
//! that stayed the same.

use crate::graph::{Event, Graph};
use crate::program::{Await, Comparison, Integer, Next, Order, Program, Step, Update, Value};

/// A register of a thread.
pub(super) type Register = u32;

/// A location, or an element of an array.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Address {
    pub(super) base: u32,
    /// How many elements there are.
    pub(super) length: u32,
    pub(super) index: Option<Register>,
    /// The type of what is there.
    pub(super) integer: Integer,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Minus,
    Not,
    Complement,
    /// The value as one of another type.
    Convert(Integer),
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    UnsignedDiv,
    UnsignedRem,
    And,
    Or,
    Xor,
    Left,
    Right,
    UnsignedRight,
    Compare(Comparison),
}

/// The rmws, by what they do with their operand.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Exchange,
    Add,
    Sub,
    And,
    Or,
    Xor,
    /// The operand is the new value; the register has the expected one.
    CompareExchange(Register),
}

/// What a read waits for: the register under the mask compares with the value.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Waiting {
    pub(super) mask: Option<Register>,
    pub(super) comparison: Comparison,
    pub(super) value: Register,
}

#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum Instruction {
    Set(Register, Value),
    Copy(Register, Register),
    Unary(Unary, Register, Register),
    Binary(Binary, Register, Register, Register),
    Jump(usize),
    /// Jumps if the register is 0.
    Unless(Register, usize),
    Read {
        into: Register,
        address: Address,
        order: Order,
        until: Option<Waiting>,
    },
    Write {
        address: Address,
        order: Order,
        from: Register,
    },
    Rmw {
        into: Register,
        address: Address,
        order: Order,
        failure: Order,
        operation: Operation,
        operand: Register,
    },
    Fence(Order),
    /// Whether something happens without a reason, as often as another register says.
    Chance {
        into: Register,
        left: Register,
    },
    /// The thread stops for good: another execution does the same.
    Stop,
}

impl Instruction {
    /// The register that gets the result of an instruction that accesses no memory.
    pub(super) fn result(&self) -> Option<Register> {
        match *self {
            Self::Set(into, _) | Self::Copy(into, _) | Self::Unary(_, into, _) | Self::Binary(_, into, ..) => {
                Some(into)
            }
            _ => None,
        }
    }

    /// Hands out every register that the instruction names.
    pub(super) fn for_each_register(&mut self, mut each: impl FnMut(&mut Register)) {
        let mut of_address = |address: &mut Address| address.index.iter_mut().for_each(&mut each);
        match self {
            Self::Set(one, _) | Self::Unless(one, _) => each(one),
            Self::Copy(one, two) | Self::Unary(_, one, two) => [one, two].into_iter().for_each(each),
            Self::Binary(_, one, two, three) => [one, two, three].into_iter().for_each(each),
            Self::Chance { into, left } => [into, left].into_iter().for_each(each),
            Self::Jump(_) | Self::Fence(_) | Self::Stop => {}
            Self::Read { into, address, until, .. } => {
                of_address(address);
                each(into);
                if let Some(until) = until {
                    until.mask.iter_mut().for_each(&mut each);
                    each(&mut until.value);
                }
            }
            Self::Write { address, from, .. } => {
                of_address(address);
                each(from);
            }
            Self::Rmw { into, address, operation, operand, .. } => {
                of_address(address);
                each(into);
                each(operand);
                if let Operation::CompareExchange(expected) = operation {
                    each(expected);
                }
            }
        }
    }
}

/// The instructions of a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Thread {
    pub(super) code: Vec<Instruction>,
    pub(super) registers: u32,
    /// The values that registers have at first, if not 0.
    pub(super) initial: Vec<(Register, Value)>,
    /// The registers that say how often something may still happen without a reason; -1 if it could have happened once
    /// more.
    pub(super) chances: Vec<Register>,
    /// The register that says whether every execution is explored, each once.
    pub(super) exhaustive: Option<Register>,
}

/// How many instructions a thread may execute between two steps.
const PATIENCE: usize = 100_000;
/// The place of a thread that did what has no meaning, and of one that has no patience left.
const FAULT: Value = -1;
const ENDLESS: Value = -2;

/// The states of a thread before each of its steps: the place in its code, and the registers.
#[derive(Clone, Debug, Default)]
struct States {
    fed: Vec<Value>,
    words: Vec<Value>,
}

/// A test that is being run.
#[derive(Clone, Debug)]
pub(super) struct Machine<'a> {
    threads: &'a [Thread],
    initial: &'a [Value],
    states: Vec<States>,
    limits: Bounds,
    /// In a random run, by thread: after so many steps it goes on, though it has gone round.
    woken: Vec<Option<u32>>,
}

/// What bounds an execution.
#[derive(Copy, Clone, Debug)]
pub(super) struct Bounds {
    pub(super) steps: u32,
    /// How often something may happen without a reason, at each place in the code of a thread.
    pub(super) chances: u32,
    /// Whether every execution is explored, each once.
    pub(super) exhaustive: bool,
    /// Whether threads that may wait for ever are a deadlock.
    pub(super) liveness: bool,
    /// Whether executions that differ in the names of threads with the same code are left out.
    pub(super) symmetry: bool,
}

impl<'a> Machine<'a> {
    pub(super) fn new(threads: &'a [Thread], initial: &'a [Value], limits: Bounds) -> Self {
        let states = threads
            .iter()
            .map(|thread| {
                let mut words = vec![0; thread.registers as usize + 1];
                for &(register, value) in &thread.initial {
                    words[register as usize + 1] = value;
                }
                for &register in &thread.chances {
                    words[register as usize + 1] = limits.chances.into();
                }
                if let Some(register) = thread.exhaustive {
                    words[register as usize + 1] = limits.exhaustive.into();
                }
                run(thread, &mut words);
                States { fed: Vec::new(), words }
            })
            .collect();
        Self { threads, initial, states, limits, woken: vec![None; threads.len()] }
    }

    /// Whether something could have happened once more without a reason.
    pub(super) fn has_denied(&self) -> bool {
        let is_denied = |(thread, states): (&Thread, &States)| {
            let last = states.words.len() - (thread.registers as usize + 1);
            thread.chances.iter().any(|&register| states.words[last + register as usize + 1] < 0)
        };
        self.threads.iter().zip(&self.states).any(is_denied)
    }

    /// Whether a thread has no more steps.
    pub(super) fn is_over(&mut self, thread: u32, graph: &Graph) -> bool {
        let threads = self.threads;
        step(&threads[thread as usize], self.registers(thread, graph)) == Next::Finished
    }

    /// How many steps ago a thread was where it is now, with the same registers.
    pub(super) fn round(&mut self, thread: u32, graph: &Graph) -> Option<u32> {
        let now = self.registers(thread, graph).to_vec();
        let states = self.states[thread as usize].words.chunks(now.len()).take(graph.len(thread) as usize);
        (1..).zip(states.rev()).find(|(_, state)| *state == now).map(|(steps, _)| steps)
    }

    /// How many of the last steps of a thread are a round of a loop that waits. It has brought the thread back to where
    /// it was, with the same registers, and has changed nothing: it has only read, or written what was there. The
    /// execution without these steps is another one, in which all others see the same values and know no more. So
    /// nothing is lost if such a round is never gone twice.
    fn idle_round(&mut self, thread: u32, graph: &Graph) -> Option<u32> {
        let size = self.registers(thread, graph).len();
        let words = &self.states[thread as usize].words;
        let len = graph.len(thread);
        let state = |index: u32| &words[index as usize * size..][..size];
        for start in (0..len).rev() {
            let is_idle = match graph.step(thread, start) {
                Step::Read { .. } | Step::Fence(_) => true,
                Step::Rmw { .. } => {
                    graph.written(thread, start).is_none_or(|written| written == graph.value(thread, start))
                }
                Step::Choice(_) => graph.value(thread, start) == 0,
                _ => false,
            };
            if !is_idle {
                return None;
            }
            if state(start) == state(len) {
                return Some(len - start);
            }
        }
        None
    }

    /// Whether every thread that has not finished and does not wait goes round.
    pub(super) fn goes_round(&mut self, graph: &Graph) -> bool {
        (0..self.threads.len() as u32).all(|thread| {
            let last = graph.len(thread).checked_sub(1).map(|last| graph.event(thread, last));
            last.is_some_and(Event::waits) || self.is_over(thread, graph) || self.round(thread, graph).is_some()
        })
    }

    /// The registers of a thread after the steps that it has in the graph.
    pub(super) fn registers(&mut self, thread: u32, graph: &Graph) -> &[Value] {
        let at = thread as usize;
        let size = self.threads[at].registers as usize + 1;
        let States { fed, words } = &mut self.states[at];
        let count = graph.len(thread) as usize;
        let same =
            fed.iter().zip(0..count as u32).take_while(|&(&fed, index)| fed == graph.value(thread, index)).count();
        if same < count || same < fed.len() {
            fed.truncate(same);
            words.truncate((same + 1) * size);
            for index in same..count {
                let value = graph.value(thread, index as u32);
                words.extend_from_within(index * size..(index + 1) * size);
                let state = &mut words[(index + 1) * size..];
                feed(&self.threads[at], state, value);
                run(&self.threads[at], state);
                fed.push(value);
            }
        }
        &words[count * size..]
    }
}

/// Goes over an instruction that accesses memory, with the value that it read.
pub(super) fn feed(thread: &Thread, state: &mut [Value], value: Value) {
    if let Some(&Instruction::Read { into, .. } | &Instruction::Rmw { into, .. }) = thread.code.get(state[0] as usize) {
        state[into as usize + 1] = value;
    }
    if let Some(&Instruction::Chance { into, left }) = thread.code.get(state[0] as usize) {
        state[into as usize + 1] = value;
        state[left as usize + 1] -= value;
    }
    state[0] += 1;
}

/// Runs until the next access of memory.
pub(super) fn run(thread: &Thread, state: &mut [Value]) {
    for _ in 0..PATIENCE {
        let register = |register: Register| state[register as usize + 1];
        let (into, value) = match thread.code.get(state[0] as usize) {
            Some(&Instruction::Set(into, value)) => (into, value),
            Some(&Instruction::Copy(into, from)) => (into, register(from)),
            Some(&Instruction::Unary(operator, into, from)) => (into, unary(operator, register(from))),
            Some(&Instruction::Binary(operator, into, one, two)) => {
                let Some(value) = binary(operator, register(one), register(two)) else {
                    state[0] = FAULT;
                    return;
                };
                (into, value)
            }
            Some(&Instruction::Jump(to)) => {
                state[0] = to as Value;
                continue;
            }
            Some(&Instruction::Unless(condition, to)) => {
                state[0] = if register(condition) == 0 { to as Value } else { state[0] + 1 };
                continue;
            }
            Some(&Instruction::Chance { into, left }) if register(left) <= 0 => {
                state[left as usize + 1] = -1;
                (into, 0)
            }
            _ => return,
        };
        state[into as usize + 1] = value;
        state[0] += 1;
    }
    state[0] = ENDLESS;
}

fn unary(operator: Unary, value: Value) -> Value {
    match operator {
        Unary::Minus => value.wrapping_neg(),
        Unary::Not => Value::from(value == 0),
        Unary::Complement => !value,
        Unary::Convert(integer) => integer.wrap(value),
    }
}

/// The value of an operator; none if it has no meaning.
fn binary(operator: Binary, one: Value, two: Value) -> Option<Value> {
    Some(match operator {
        Binary::Add => one.wrapping_add(two),
        Binary::Sub => one.wrapping_sub(two),
        Binary::Mul => one.wrapping_mul(two),
        Binary::Div => one.checked_div(two)?,
        Binary::Rem => one.checked_rem(two)?,
        Binary::UnsignedDiv => (one as u64).checked_div(two as u64)? as Value,
        Binary::UnsignedRem => (one as u64).checked_rem(two as u64)? as Value,
        Binary::And => one & two,
        Binary::Or => one | two,
        Binary::Xor => one ^ two,
        Binary::Left => one.checked_shl(u32::try_from(two).ok()?)?,
        Binary::Right => one.checked_shr(u32::try_from(two).ok()?)?,
        Binary::UnsignedRight => (one as u64).checked_shr(u32::try_from(two).ok()?)? as Value,
        Binary::Compare(comparison) => Await { mask: -1, comparison, value: two }.accepts(one).into(),
    })
}

impl Program for Machine<'_> {
    fn threads(&self) -> u32 {
        self.threads.len() as u32
    }

    fn initial(&self, location: u32) -> Value {
        self.initial.get(location as usize).copied().unwrap_or(0)
    }

    fn next(&mut self, thread: u32, graph: &Graph) -> Next {
        let (max_steps, threads) = (self.limits.steps, self.threads);
        let next = step(&threads[thread as usize], self.registers(thread, graph));
        if !matches!(next, Next::Step(_)) {
            return next;
        }
        if self.woken[thread as usize] != Some(graph.len(thread))
            && let Some(steps) = self.idle_round(thread, graph)
        {
            return Next::Spins(steps);
        }
        if graph.len(thread) >= max_steps { Next::Bounded } else { next }
    }

    fn rewound(&mut self) -> bool {
        self.woken.fill(None);
        false
    }

    fn wake(&mut self, thread: u32, graph: &Graph) {
        self.woken[thread as usize] = Some(graph.len(thread));
    }

    fn asks_for_liveness(&self) -> bool {
        self.limits.liveness
    }

    fn kind(&mut self, thread: u32) -> Option<u32> {
        self.limits.symmetry.then(|| kind(self.threads, thread))
    }
}

/// The first thread with the same code as this one.
pub(super) fn kind(threads: &[Thread], thread: u32) -> u32 {
    let same = (0..thread).find(|&other| threads[other as usize] == threads[thread as usize]);
    same.unwrap_or(thread)
}

/// The step that a thread takes next, in this state.
pub(super) fn step(thread: &Thread, state: &[Value]) -> Next {
    let register = |register: Register| state[register as usize + 1];
    let location = |address: Address| match address.index.map(register) {
        None => Some(address.base),
        Some(index) => u32::try_from(index).ok().filter(|&it| it < address.length).map(|it| address.base + it),
    };
    match state[0] {
        FAULT => return Next::Failed,
        ENDLESS => return Next::Bounded,
        _ => {}
    }
    let step = match thread.code.get(state[0] as usize) {
        Some(&Instruction::Read { address, order, until, .. }) => {
            let until = until.map(|until| Await {
                mask: until.mask.map_or(-1, register),
                comparison: until.comparison,
                value: register(until.value),
            });
            location(address).map(|location| Step::Read { location, order, until })
        }
        Some(&Instruction::Write { address, order, from }) => {
            location(address).map(|location| Step::Write { location, order, value: register(from) })
        }
        Some(&Instruction::Rmw { address, order, failure, operation, operand, .. }) => {
            let operand = register(operand);
            let update = match operation {
                Operation::Exchange => Update::Set(operand),
                Operation::Add if address.integer.bits() == Value::BITS => Update::Add(operand),
                Operation::Add => Update::AddWithin(address.integer, operand),
                Operation::Sub if address.integer.bits() == Value::BITS => Update::Sub(operand),
                Operation::Sub => Update::AddWithin(address.integer, operand.wrapping_neg()),
                Operation::And => Update::And(operand),
                Operation::Or => Update::Or(operand),
                Operation::Xor => Update::Xor(operand),
                Operation::CompareExchange(expected) => {
                    Update::CompareExchange { expected: register(expected), new: operand }
                }
            };
            location(address).map(|location| Step::Rmw { location, order, failure, update, until: None })
        }
        Some(&Instruction::Fence(order)) => Some(Step::Fence(order)),
        Some(Instruction::Chance { .. }) => Some(Step::Choice(2)),
        Some(Instruction::Stop) => return Next::Stopped,
        // The other instructions were executed.
        _ => return Next::Finished,
    };
    // An array may not have the element.
    step.map_or(Next::Failed, Next::Step)
}
