//! Litmus tests: small programs with a condition on their final states, in the formats of herd.
//!
//! ```
//! use explore::Model;
//! use explore::litmus::{Limits, Test};
//!
//! let test = Test::parse(b"C SB
//! { [x] = 0; [y] = 0; }
//! P0 (atomic_int* x, atomic_int* y) {
//!   atomic_store_explicit(x, 1, memory_order_release);
//!   int r0 = atomic_load_explicit(y, memory_order_acquire);
//! }
//! P1 (atomic_int* x, atomic_int* y) {
//!   atomic_store_explicit(y, 1, memory_order_release);
//!   int r0 = atomic_load_explicit(x, memory_order_acquire);
//! }
//! exists (0:r0=0 /\\ 1:r0=0)")?;
//! let report = test.explore(Model::C20, Limits::default())?;
//! assert_eq!(report.counts.executions, 4);
//! assert!(report.is_reachable());
//! assert!(!test.explore(Model::Sc, Limits::default())?.is_reachable());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A class of executions fixes what the registers have in the end, not the memory: its final memories are those of its
//! modification orders. So a class may count for several states.

mod alike;
mod c;
mod condition;
mod endless;
mod initial;
mod lexer;
mod machine;
mod runs;
mod states;
mod walk;
mod x86;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

use format::InputError;
use history::History;
use thiserror::Error;

pub use condition::Quantifier;
pub use endless::Endless;
pub use walk::Walk;

use crate::exploration::Counts;
use crate::model::Model;
use crate::program::{Integer, Order, Value};
use condition::{Proposition, Shown};
use lexer::{Lexer, error};
use machine::{Bounds, Instruction, Machine, Thread};
use states::{Seen, States};

/// What a final state tells: a register of a thread, or a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The thread of a register.
    thread: Option<u32>,
    name: String,
    /// The number of the register, none if the thread never uses it; or of the location.
    number: Option<u32>,
    integer: Integer,
}

impl Variable {
    fn register(thread: u32, name: &str, number: Option<u32>, integer: Integer) -> Self {
        Self { thread: Some(thread), name: name.to_owned(), number, integer }
    }

    fn location(name: String, number: u32, integer: Integer) -> Self {
        Self { thread: None, name, number: Some(number), integer }
    }

    /// The number that this value of the variable is.
    pub fn number(&self, value: Value) -> i128 {
        match self.integer {
            Integer::Unsigned(64) => (value as u64).into(),
            _ => value.into(),
        }
    }

    /// The name of the variable: `0:r1`, or the name of the location.
    pub fn name(&self) -> String {
        match self.thread {
            Some(thread) => format!("{thread}:{}", self.name),
            None => self.name.clone(),
        }
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.thread {
            Some(thread) => write!(f, "{thread}:{}", self.name),
            None => write!(f, "[{}]", self.name),
        }
    }
}

/// The names of a test.
#[derive(Debug, Default)]
struct Names {
    /// By name: the first location, and how many there are if it is an array.
    locations: BTreeMap<String, (u32, Option<u32>)>,
    /// The initial values of all locations.
    initial: Vec<Value>,
    /// The types of locations, those of an array by its first; none if the test does not say.
    integers: BTreeMap<u32, Integer>,
    /// By thread: its registers.
    threads: Vec<BTreeMap<String, u32>>,
    /// The types of registers, by thread and number.
    registers: BTreeMap<(usize, u32), Integer>,
    observed: Vec<Variable>,
}

/// How many locations and threads a test may have.
const MAX_LOCATIONS: u32 = 4096;
const MAX_THREADS: usize = 256;

impl Names {
    /// The location of this name; a new one if there is none. None if there is no room.
    fn location(&mut self, name: &str) -> Option<(u32, Option<u32>)> {
        if let Some(&known) = self.locations.get(name) {
            return Some(known);
        }
        self.add(name, None)
    }

    fn add(&mut self, name: &str, length: Option<u32>) -> Option<(u32, Option<u32>)> {
        let base = self.initial.len() as u32;
        let count = length.unwrap_or(1);
        if count > MAX_LOCATIONS - base {
            return None;
        }
        self.initial.resize((base + count) as usize, 0);
        self.locations.insert(name.to_owned(), (base, length));
        Some((base, length))
    }

    /// A location, or an array, has elements of this type. False if it has been said to have others.
    fn declare(&mut self, base: u32, length: Option<u32>, integer: Integer) -> bool {
        let known = *self.integers.entry(base).or_insert(integer);
        for value in self.initial.iter_mut().skip(base as usize).take(length.unwrap_or(1) as usize) {
            *value = known.wrap(*value);
        }
        known == integer
    }

    /// The type of a location.
    fn integer(&self, base: u32) -> Integer {
        self.integers.get(&base).copied().unwrap_or(Integer::Signed(64))
    }

    /// The type of a register. One that was never declared is as wide as can be.
    fn integer_of_register(&self, thread: usize, register: u32) -> Integer {
        self.registers.get(&(thread, register)).copied().unwrap_or(Integer::Signed(64))
    }

    fn register(&self, thread: usize, name: &str) -> Option<u32> {
        self.threads[thread].get(name).copied()
    }

    /// The location or element of an array that a condition names, and how it is written.
    fn element(&self, name: &str, index: Option<i64>) -> Option<Variable> {
        let &(base, length) = self.locations.get(name)?;
        match (length, index) {
            (None, None) => Some(Variable::location(name.to_owned(), base, self.integer(base))),
            (Some(length), Some(index)) => {
                let index = u32::try_from(index).ok().filter(|&index| index < length)?;
                Some(Variable::location(format!("{name}[{index}]"), base + index, self.integer(base)))
            }
            _ => None,
        }
    }

    /// The number of a variable in the list of what is observed.
    fn observe(&mut self, variable: Variable) -> usize {
        self.observed.iter().position(|known| *known == variable).unwrap_or_else(|| {
            self.observed.push(variable);
            self.observed.len() - 1
        })
    }
}

/// For which machine a test is written.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// C11's atomics.
    C,
    /// x86 assembly in Intel's syntax, for `sc` and `tso`.
    X86,
    /// The same for 64 bits, in AT&T's syntax.
    X86_64,
}

impl Architecture {
    /// The name of a register as the code has it: those of x86 are the same in capitals and small letters.
    fn register(self, name: &str) -> String {
        match self {
            Self::C => name.to_owned(),
            Self::X86 => name.to_ascii_uppercase(),
            Self::X86_64 => x86::whole_register(&name.to_ascii_lowercase()),
        }
    }
}

/// The architectures of herd's tests that are not explored, by their first words.
const OTHER_ARCHITECTURES: [&str; 15] = [
    "AArch64", "ARM", "ARMv8", "PPC", "POWER", "RISCV", "RISC-V", "MIPS", "LISA", "Bell", "CPP", "JAVA", "PTX", "ASL",
    "BPF",
];

/// A litmus test.
#[derive(Clone, Debug)]
pub struct Test {
    name: String,
    architecture: Architecture,
    threads: Vec<Thread>,
    /// The names of the locations, the first number of each, and how many there are if it is an array.
    locations: Vec<(String, u32, Option<u32>)>,
    initial: Vec<Value>,
    observed: Vec<Variable>,
    quantifier: Quantifier,
    proposition: Proposition,
}

/// Why a test cannot be explored under a model.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum LitmusMisfit {
    /// The model has no sequentially consistent accesses.
    #[error("{0} has no sequentially consistent accesses or fences")]
    Sequential(Model),
    /// The model is not one of machines.
    #[error("{0} is not a model of x86 programs; sc and tso are")]
    Machine(Model),
}

/// How far an exploration goes.
#[derive(Copy, Clone, Debug)]
pub struct Limits {
    /// How many accesses and fences a thread may have.
    pub steps: u32,
    /// When to stop.
    pub deadline: Option<Instant>,
    /// How many workers explore at the same time. What is found does not depend on it.
    pub workers: usize,
    /// Whether to keep an execution for each final state. Then one worker explores.
    pub witnesses: bool,
    /// How often a weak compare-exchange may fail without a reason: at each place in the code of a thread, in an
    /// execution. With 0 it is a strong one.
    pub spurious_failures: u32,
    /// Whether to look for threads that wait for ever although each has its turn, and although others may end: the last
    /// writes do not have the values that they wait for. They are deadlocks, and the [report](Report::endless) shows
    /// the first.
    pub liveness: bool,
    /// Whether of executions that differ in the names of threads with the same code alone not all are visited. What is
    /// found does not depend on it, but the numbers of executions do. With [`Self::witnesses`] all are visited.
    pub symmetry: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 100,
            deadline: None,
            workers: 1,
            witnesses: false,
            spurious_failures: 1,
            liveness: false,
            symmetry: true,
        }
    }
}

/// A final state, and in how many classes the program may end with it.
#[derive(Clone, Debug)]
pub struct LitmusOutcome {
    /// The values of the [observed](Test::observed) variables.
    pub state: Vec<Value>,
    /// How many classes have it.
    pub count: u64,
    /// Whether it satisfies the proposition.
    pub is_positive: bool,
    /// The first seed whose run ended with it, if the runs were random.
    pub seed: Option<u64>,
    /// The first execution that may end with it, if [asked for](Limits::witnesses).
    pub witness: Option<History>,
}

/// What an exploration of a test has found.
#[derive(Clone, Debug)]
pub struct Report {
    /// How many executions there are of each kind.
    pub counts: Counts,
    /// The final states, in the order of their values.
    pub outcomes: Vec<LitmusOutcome>,
    /// Whether every execution was seen: no thread had too many steps, and the time was enough.
    pub is_complete: bool,
    /// Whether a weak compare-exchange could have failed without a reason once more than [it
    /// may](Limits::spurious_failures).
    pub could_fail_more: bool,
    /// The threads that have the same code, if not [all](Limits::symmetry) executions were visited that differ in their
    /// names.
    pub alike: Vec<Vec<u32>>,
    /// If no execution ends, or if [asked for](Limits::liveness): one that does not.
    pub endless: Option<Endless>,
    quantifier: Quantifier,
}

impl Report {
    /// How many classes and memories satisfy the proposition.
    pub fn positive(&self) -> u64 {
        self.outcomes.iter().filter(|outcome| outcome.is_positive).map(|outcome| outcome.count).sum()
    }

    /// How many do not.
    pub fn negative(&self) -> u64 {
        self.outcomes.iter().filter(|outcome| !outcome.is_positive).map(|outcome| outcome.count).sum()
    }

    /// Whether some final state satisfies the proposition, whatever the quantifier.
    pub fn is_reachable(&self) -> bool {
        self.outcomes.iter().any(|outcome| outcome.is_positive)
    }

    /// Whether no execution that was not seen could change the verdict.
    pub fn is_certain(&self) -> bool {
        let is_shown = match self.quantifier {
            Quantifier::Exists | Quantifier::NotExists => self.positive() > 0,
            Quantifier::ForAll => self.negative() > 0,
        };
        self.is_complete || is_shown
    }

    /// Whether the condition holds, as far as executions were seen.
    pub fn is_ok(&self) -> bool {
        self.quantifier.holds(self.positive(), self.negative())
    }
}

impl Test {
    /// Reads a test.
    pub fn parse(bytes: &[u8]) -> Result<Self, InputError> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(bad) => {
                let text = String::from_utf8_lossy(bytes);
                return Err(error(&text, bad.valid_up_to(), "this is not valid UTF-8".to_owned(), None));
            }
        };
        let start = text.len() - text.trim_start().len();
        let mut words = text[start..].split_whitespace();
        let architecture = match words.next() {
            Some("C") => Architecture::C,
            Some("X86") => Architecture::X86,
            Some("X86_64") => Architecture::X86_64,
            Some(other) if OTHER_ARCHITECTURES.contains(&other) => {
                let message = format!("a litmus test for {other} cannot be explored yet");
                return Err(error(text, start, message, Some("one for `C`, `X86` or `X86_64`".to_owned())));
            }
            _ => {
                let message = "this is no litmus test".to_owned();
                return Err(error(
                    text,
                    start,
                    message,
                    Some("`C`, `X86` or `X86_64`, and the name of the test".to_owned()),
                ));
            }
        };
        let name = words.next().filter(|name| !name.starts_with('{'));
        let Some(name) = name else {
            let place = start + text[start..].find(char::is_whitespace).unwrap_or(text.len() - start);
            return Err(error(text, place, "the test has no name".to_owned(), Some("a name".to_owned())));
        };
        let Some(brace) = find_brace(text) else {
            let message = "there is no initial state".to_owned();
            return Err(error(text, text.trim_end().len(), message, Some("`{`".to_owned())));
        };
        let mut lexer = Lexer::new(text, brace)?;
        if architecture == Architecture::C {
            // Before the initial state, whose forms are others there.
            c::refuse_linux(&lexer)?;
        }
        let mut names = Names::default();
        let mut registers = Vec::new();
        initial::parse(&mut lexer, &mut names, &mut registers)?;
        // Some write `{ x=0; };`.
        lexer.take(";");
        let mut threads = match architecture {
            Architecture::C => c::parse(&mut lexer, &mut names)?,
            Architecture::X86 | Architecture::X86_64 => x86::parse(&mut lexer, &mut names, architecture)?,
        };
        for (token, thread, register, value) in registers {
            let Some(code) = threads.get_mut(thread) else {
                return Err(lexer.at(token, "there is no such thread", Some("the number of a thread")));
            };
            if let Some(register) = names.register(thread, &architecture.register(register)) {
                code.initial.push((register, value));
            }
        }
        let (quantifier, proposition) = condition::parse(&mut lexer, &mut names, architecture)?;
        let Names { locations, initial, observed, .. } = names;
        let locations = locations.into_iter().map(|(name, (base, length))| (name, base, length)).collect();
        let name = name.to_owned();
        Ok(Self { name, architecture, threads, locations, initial, observed, quantifier, proposition }.sorted())
    }

    /// The same test with the observed variables in order: registers by thread and name, then locations.
    fn sorted(mut self) -> Self {
        let mut order: Vec<usize> = (0..self.observed.len()).collect();
        order.sort_by_key(|&at| {
            let variable = &self.observed[at];
            (variable.thread.unwrap_or(u32::MAX), natural(&variable.name))
        });
        let mut places = vec![0; order.len()];
        for (place, &at) in order.iter().enumerate() {
            places[at] = place;
        }
        self.observed = order.iter().map(|&at| self.observed[at].clone()).collect();
        renumber(&mut self.proposition, &places);
        self
    }

    /// The name of the test.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For which machine the test is written.
    pub fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// The quantifier of its condition.
    pub fn quantifier(&self) -> Quantifier {
        self.quantifier
    }

    /// The proposition of its condition, in herd's form.
    pub fn proposition(&self) -> String {
        Shown(&self.proposition, &self.observed).to_string()
    }

    /// The variables that its states tell.
    pub fn observed(&self) -> &[Variable] {
        &self.observed
    }

    /// A state in herd's form.
    pub fn title(&self, state: &[Value]) -> String {
        let values = self.observed.iter().zip(state);
        let values: Vec<String> =
            values.map(|(variable, &value)| format!("{variable}={};", variable.number(value))).collect();
        values.join(" ")
    }

    /// The name of a location: of an element of an array, with its index.
    fn location_name(&self, location: u32) -> String {
        let of =
            self.locations.iter().find(|&&(_, base, length)| base <= location && location - base < length.unwrap_or(1));
        match of {
            Some((name, base, Some(_))) => format!("{name}[{}]", location - base),
            Some((name, ..)) => name.clone(),
            None => location.to_string(),
        }
    }

    /// The test as a program.
    fn machine(&self, limits: Limits, exhaustive: bool) -> Machine<'_> {
        let Limits { steps, spurious_failures: chances, liveness, .. } = limits;
        let symmetry = exhaustive && !self.alike(limits).is_empty();
        let bounds = Bounds { steps, chances, exhaustive, liveness, symmetry };
        Machine::new(&self.threads, &self.initial, bounds)
    }

    fn report(&self, states: States, counts: Counts, is_complete: bool) -> Report {
        let outcome = |(state, Seen { count, seed, witness }): (Vec<Value>, Seen)| {
            let is_positive = self.proposition.holds(&state);
            LitmusOutcome { state, count, is_positive, seed, witness }
        };
        let States { by_value, could_fail_more, .. } = states;
        let outcomes = by_value.into_iter().map(outcome).collect();
        let quantifier = self.quantifier;
        Report { counts, outcomes, is_complete, could_fail_more, alike: Vec::new(), endless: None, quantifier }
    }

    /// Whether the model has a meaning for the test.
    pub fn fits(&self, model: Model) -> Result<(), LitmusMisfit> {
        if self.architecture != Architecture::C {
            let is_machine = matches!(model, Model::Sc | Model::Tso);
            return if is_machine { Ok(()) } else { Err(LitmusMisfit::Machine(model)) };
        }
        let is_sequential = |instruction: &Instruction| match *instruction {
            Instruction::Read { order, .. } | Instruction::Write { order, .. } | Instruction::Fence(order) => {
                order.is_sequential()
            }
            Instruction::Rmw { order, failure, .. } => order.is_sequential() || failure.is_sequential(),
            _ => false,
        };
        if model.refuses_sequential() && self.threads.iter().any(|thread| thread.code.iter().any(is_sequential)) {
            return Err(LitmusMisfit::Sequential(model));
        }
        Ok(())
    }
}

/// The brace with which the initial state begins: the first that is in no comment and in no quotes.
fn find_brace(text: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find(['{', '"', '(']) {
        at += found;
        let (opening, closing) = match &text[at..] {
            rest if rest.starts_with('{') => return Some(at),
            rest if rest.starts_with('"') => (1, "\""),
            rest if rest.starts_with("(*") => (2, "*)"),
            _ => (1, ""),
        };
        at += opening;
        at += text[at..].find(closing)? + closing.len();
    }
    None
}

/// The key by which names are sorted: `r2` comes before `r10`.
fn natural(name: &str) -> (String, u64, String) {
    let digits = name.len() - name.trim_end_matches(|digit: char| digit.is_ascii_digit()).len();
    let (word, number) = name.split_at(name.len() - digits);
    (word.to_owned(), number.parse().unwrap_or(0), name.to_owned())
}

fn renumber(proposition: &mut Proposition, places: &[usize]) {
    match proposition {
        Proposition::Constant(_) => {}
        Proposition::Compare { variable, .. } => *variable = places[*variable],
        Proposition::Not(one) => renumber(one, places),
        Proposition::And(all) | Proposition::Or(all) => all.iter_mut().for_each(|one| renumber(one, places)),
    }
}

/// A memory order by its name in C.
fn order_of(name: &str) -> Option<Order> {
    Some(match name {
        "memory_order_relaxed" => Order::Relaxed,
        "memory_order_acquire" | "memory_order_consume" => Order::Acquire,
        "memory_order_release" => Order::Release,
        "memory_order_acq_rel" => Order::AcquireRelease,
        "memory_order_seq_cst" => Order::SequentiallyConsistent,
        _ => return None,
    })
}
