//! The threads of a test in C, as instructions of the [machine](super::machine).
//!
//! Expressions are compiled while they are read. Registers that have no name are numbered from [`UNNAMED`] on, and
//! begin again with each statement; when the thread is complete they get numbers behind those with a name.

mod call;
mod expression;
mod types;
mod wait;

use std::collections::BTreeMap;

use format::InputError;

use super::condition::MAX_DEPTH;
use super::lexer::{Kind, Lexer, Token};
use super::machine::{Address, Binary, Instruction, Register, Thread};
use super::{MAX_THREADS, Names};
use crate::program::{Integer, Order};
pub(super) use types::integer_of;
use types::is_type;

const UNNAMED: Register = 1 << 30;
/// Registers that count chances, which no statement uses again.
const CHANCES: Register = 1 << 31;

/// Refuses a test that has a name of the Linux kernel anywhere in what is left to read.
pub(super) fn refuse_linux(lexer: &Lexer<'_>) -> Result<(), InputError> {
    let Some(token) = lexer.find(is_of_linux) else { return Ok(()) };
    let message = "a test of the Linux kernel's memory model cannot be explored yet";
    Err(lexer.at(token, message, Some("C11's functions on atomics")))
}

/// Reads the threads `P0 (...) {...}` and so on.
pub(super) fn parse(lexer: &mut Lexer<'_>, names: &mut Names) -> Result<Vec<Thread>, InputError> {
    let mut threads = Vec::new();
    loop {
        // What C allows before the name of a function, and after its end.
        while ["static", "inline", "void", ";"].iter().any(|word| lexer.is_next(word)) {
            lexer.next();
        }
        if lexer.text_of(lexer.peek()) != format!("P{}", threads.len()) || !lexer.is_second("(") {
            break;
        }
        if threads.len() == MAX_THREADS {
            return Err(lexer.at(lexer.peek(), "there are too many threads", Some("at most 256")));
        }
        lexer.next();
        names.threads.push(BTreeMap::new());
        let compiler = Compiler {
            lexer,
            names,
            parameters: Vec::new(),
            code: Vec::new(),
            unnamed: 0,
            most: 0,
            chances: 0,
            depth: 0,
        };
        threads.push(compiler.thread()?);
    }
    if threads.is_empty() {
        return Err(lexer.unexpected("a thread: `P0 (...) {`"));
    }
    Ok(threads)
}

struct Compiler<'l, 'a> {
    lexer: &'l mut Lexer<'a>,
    names: &'l mut Names,
    parameters: Vec<&'a str>,
    code: Vec<Instruction>,
    /// How many unnamed registers are in use, and how many were at most.
    unnamed: u32,
    most: u32,
    /// How many registers count chances.
    chances: u32,
    depth: usize,
}

/// An assignment: of a value, or of what an operator makes of the old value and this one.
#[derive(Copy, Clone)]
enum Assignment {
    Whole,
    By(Binary),
}

impl<'a> Compiler<'_, 'a> {
    fn thread(mut self) -> Result<Thread, InputError> {
        self.lexer.expect("(")?;
        if self.lexer.is_next("void") && self.lexer.is_second(")") {
            self.lexer.next();
        }
        while !self.lexer.take(")") {
            self.parameter()?;
            if !self.lexer.take(",") && !self.lexer.is_next(")") {
                return Err(self.lexer.unexpected("`,` or `)`"));
            }
        }
        self.lexer.expect("{")?;
        while !self.lexer.take("}") {
            self.statement()?;
        }
        let named = self.names.threads[self.names.threads.len() - 1].len() as u32;
        let mut code = self.code;
        let place = |register: &mut Register| {
            if *register >= CHANCES {
                *register = *register - CHANCES + named + self.most;
            } else if *register >= UNNAMED {
                *register = *register - UNNAMED + named;
            }
        };
        for instruction in &mut code {
            instruction.for_each_register(place);
        }
        // The first tells whether every execution is explored.
        let first = named + self.most;
        let exhaustive = (self.chances > 0).then_some(first);
        let chances = (first + 1..first + self.chances).collect();
        Ok(Thread { code, registers: first + self.chances, initial: Vec::new(), chances, exhaustive })
    }

    /// A parameter is a location: `atomic_int* x`, `volatile int *x`, `_Atomic(int) *x`.
    fn parameter(&mut self) -> Result<(), InputError> {
        let mut token = self.lexer.peek();
        let mut name = self.lexer.name("a parameter: a type and a location")?;
        let mut words = Vec::new();
        self.type_in_parentheses(name, &mut words)?;
        while self.lexer.peek().kind == Kind::Name || self.lexer.is_next("*") {
            if !self.lexer.take("*") {
                words.push(name);
                token = self.lexer.peek();
                name = self.lexer.name("the name of a location")?;
                self.type_in_parentheses(name, &mut words)?;
            }
        }
        if self.lexer.take("[") {
            self.lexer.expect("]")?;
        }
        let Some((base, length)) = self.names.location(name) else {
            return Err(self.lexer.at(token, "there are too many locations", Some("at most 4096")));
        };
        if let Some(integer) = integer_of(&words)
            && !self.names.declare(base, length, integer)
        {
            let message = format!("`{name}` has another type elsewhere in the test");
            return Err(self.lexer.at(token, &message, Some("one type for each location")));
        }
        self.parameters.push(name);
        Ok(())
    }

    /// What follows `_Atomic` in a type.
    fn type_in_parentheses(&mut self, word: &str, words: &mut Vec<&'a str>) -> Result<(), InputError> {
        if word == "_Atomic" && self.lexer.take("(") {
            while self.lexer.peek().kind == Kind::Name || self.lexer.is_next("*") {
                let token = self.lexer.next();
                words.push(self.lexer.text_of(token));
            }
            self.lexer.expect(")")?;
        }
        Ok(())
    }

    fn fresh(&mut self) -> Register {
        self.unnamed += 1;
        self.most = self.most.max(self.unnamed);
        UNNAMED + self.unnamed - 1
    }

    fn named(&mut self, name: &str) -> Register {
        let thread = self.names.threads.len() - 1;
        let registers = &mut self.names.threads[thread];
        let next = registers.len() as u32;
        *registers.entry(name.to_owned()).or_insert(next)
    }

    fn enter(&mut self) -> Result<(), InputError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.lexer.at(self.lexer.peek(), "this is nested too deeply", None));
        }
        Ok(())
    }

    fn statement(&mut self) -> Result<(), InputError> {
        self.enter()?;
        self.unnamed = 0;
        let statement = self.statement_within();
        self.depth -= 1;
        statement
    }

    fn statement_within(&mut self) -> Result<(), InputError> {
        let first = self.lexer.peek();
        let is_declaration =
            is_type(self.lexer.text_of(first)) && (!self.lexer.is_second("(") || self.lexer.is_next("_Atomic"));
        match self.lexer.text_of(first) {
            ";" => {
                self.lexer.next();
                Ok(())
            }
            "{" => {
                self.lexer.next();
                while !self.lexer.take("}") {
                    self.statement()?;
                }
                Ok(())
            }
            "if" => self.branch(),
            "while" => self.while_loop(),
            "do" => self.do_loop(),
            "for" => self.for_loop(),
            _ if is_declaration => self.declaration(),
            _ => {
                self.simple()?;
                self.lexer.expect(";")
            }
        }
    }

    /// A statement without its `;`: an assignment, a store, a call.
    fn simple(&mut self) -> Result<(), InputError> {
        let first = self.lexer.peek();
        let name = self.lexer.text_of(first);
        let is_array = self.parameters.contains(&name) && self.lexer.is_second("[");
        if self.lexer.take("*") || is_array {
            let address = if is_array { self.location()? } else { self.pointed_to()? };
            return self.store(address);
        }
        let is_pointer = self.lexer.is_next("(") && self.lexer.is_second("*");
        match () {
            // `(*x) = 1`, or an expression whose value nobody wants.
            () if is_pointer && self.lexer.is_ahead(4, &["=", "+=", "-=", "|=", "&=", "^=", "++", "--"]) => {
                self.lexer.next();
                self.lexer.next();
                let address = self.pointed_to()?;
                self.lexer.expect(")")?;
                self.store(address)
            }
            () if first.kind == Kind::Name || ["(", "++", "--"].iter().any(|sign| self.lexer.is_next(sign)) => {
                self.expression().map(|_| ())
            }
            () => Err(self.lexer.unexpected("a statement, or `}`")),
        }
    }

    /// The sign of an assignment, if it comes next, and the operator that it has.
    fn assignment(&mut self) -> Option<Assignment> {
        const SIGNS: [(&str, Assignment); 8] = [
            ("=", Assignment::Whole),
            ("+=", Assignment::By(Binary::Add)),
            ("-=", Assignment::By(Binary::Sub)),
            ("*=", Assignment::By(Binary::Mul)),
            ("|=", Assignment::By(Binary::Or)),
            ("&=", Assignment::By(Binary::And)),
            ("^=", Assignment::By(Binary::Xor)),
            ("/=", Assignment::By(Binary::Div)),
        ];
        let (_, operator) = SIGNS.into_iter().find(|(sign, _)| self.lexer.is_next(sign))?;
        self.lexer.next();
        Some(operator)
    }

    /// What is stored at a location that was read: `= e`, `+= e`, `++`. Such an access is not atomic.
    fn store(&mut self, address: Address) -> Result<(), InputError> {
        let is_more = self.lexer.take("++");
        let (operator, operand) = if is_more || self.lexer.take("--") {
            (Assignment::By(if is_more { Binary::Add } else { Binary::Sub }), self.typed_constant(1, Integer::INT))
        } else if let Some(operator) = self.assignment() {
            (operator, self.expression()?)
        } else {
            return Err(self.lexer.unexpected("`=`"));
        };
        let from = match operator {
            Assignment::Whole => operand,
            Assignment::By(operator) => {
                let old = self.read(address, Order::NonAtomic);
                self.combine(operator, old, operand)
            }
        };
        let from = self.convert(from, address.integer).register;
        self.code.push(Instruction::Write { address, order: Order::NonAtomic, from });
        Ok(())
    }

    fn declaration(&mut self) -> Result<(), InputError> {
        let mut words = Vec::new();
        loop {
            let word = self.lexer.text_of(self.lexer.peek());
            if word == "_Atomic" && self.lexer.is_second("(") {
                self.lexer.next();
                self.type_in_parentheses(word, &mut words)?;
            } else if is_type(word) && self.lexer.peek_second().kind == Kind::Name {
                self.lexer.next();
                words.push(word);
            } else {
                break;
            }
        }
        if self.lexer.is_second("*") {
            self.lexer.next();
            return Err(self.lexer.at(self.lexer.peek(), "a local variable cannot be a pointer", Some("a number")));
        }
        if is_type(self.lexer.text_of(self.lexer.peek())) {
            self.lexer.next();
            return Err(self.lexer.unexpected("the name of a register"));
        }
        loop {
            let token = self.lexer.peek();
            let name = self.lexer.name("the name of a register")?;
            if self.parameters.contains(&name) {
                return Err(self.is_location(token));
            }
            let value = if self.lexer.take("=") { self.expression()? } else { self.typed_constant(0, Integer::INT) };
            let register = self.named(name);
            if let Some(integer) = integer_of(&words) {
                self.declare(register, integer);
            }
            self.assign(register, value);
            if !self.lexer.take(",") {
                break;
            }
        }
        self.lexer.expect(";")
    }

    fn branch(&mut self) -> Result<(), InputError> {
        self.lexer.next();
        self.lexer.expect("(")?;
        let condition = self.expression()?.register;
        self.lexer.expect(")")?;
        let unless = self.hold();
        self.statement()?;
        if self.lexer.take("else") {
            let jump = self.hold();
            self.code[unless] = Instruction::Unless(condition, self.code.len());
            self.statement()?;
            self.code[jump] = Instruction::Jump(self.code.len());
        } else {
            self.code[unless] = Instruction::Unless(condition, self.code.len());
        }
        Ok(())
    }

    /// A place for an instruction that is not known yet.
    fn hold(&mut self) -> usize {
        self.code.push(Instruction::Jump(0));
        self.code.len() - 1
    }

    fn while_loop(&mut self) -> Result<(), InputError> {
        self.lexer.next();
        let start = self.code.len();
        self.lexer.expect("(")?;
        let condition = self.expression()?.register;
        self.lexer.expect(")")?;
        let unless = self.hold();
        let unnamed = self.unnamed;
        self.statement()?;
        if self.code.len() == unless + 1 {
            self.unnamed = unnamed;
            self.code.pop();
            if self.wait(start, condition) {
                return Ok(());
            }
            self.hold();
        }
        self.code.push(Instruction::Jump(start));
        self.code[unless] = Instruction::Unless(condition, self.code.len());
        Ok(())
    }

    /// `for (first; condition; step) body`.
    fn for_loop(&mut self) -> Result<(), InputError> {
        self.lexer.next();
        self.lexer.expect("(")?;
        if is_type(self.lexer.text_of(self.lexer.peek())) {
            self.declaration()?;
        } else {
            if !self.lexer.is_next(";") {
                self.simple()?;
            }
            self.lexer.expect(";")?;
        }
        let start = self.code.len();
        let condition = if self.lexer.is_next(";") { self.constant(1) } else { self.expression()?.register };
        self.lexer.expect(";")?;
        let unless = self.hold();
        let body = self.code.len();
        if !self.lexer.is_next(")") {
            self.simple()?;
        }
        self.lexer.expect(")")?;
        // The step stands before the body, and comes after it. It jumps to places of the body, or of its own.
        let step = self.code.split_off(body);
        self.statement()?;
        let moved = self.code.len() - body;
        self.code.extend(step.into_iter().map(|instruction| match instruction {
            Instruction::Jump(to) => Instruction::Jump(to + moved),
            Instruction::Unless(register, to) => Instruction::Unless(register, to + moved),
            other => other,
        }));
        self.code.push(Instruction::Jump(start));
        self.code[unless] = Instruction::Unless(condition, self.code.len());
        Ok(())
    }

    fn do_loop(&mut self) -> Result<(), InputError> {
        self.lexer.next();
        let start = self.code.len();
        self.statement()?;
        self.lexer.expect("while")?;
        self.lexer.expect("(")?;
        let condition = self.expression()?.register;
        self.lexer.expect(")")?;
        self.lexer.expect(";")?;
        if self.wait(start, condition) {
            return Ok(());
        }
        let end = self.code.len() + 2;
        self.code.push(Instruction::Unless(condition, end));
        self.code.push(Instruction::Jump(start));
        Ok(())
    }

    fn is_location(&self, token: Token) -> InputError {
        let name = self.lexer.text_of(token);
        self.lexer.at(token, &format!("`{name}` is a location"), Some(&format!("`*{name}`, or the name of a register")))
    }
}

/// Whether a name is one of the Linux kernel's, and not of C.
fn is_of_linux(name: &str) -> bool {
    let words = "READ_ONCE WRITE_ONCE spin_lock spin_unlock spin_trylock spin_is_locked spinlock_t synchronize_rcu \
                 synchronize_rcu_expedited call_rcu srcu_struct xchg xchg_relaxed xchg_acquire xchg_release cmpxchg \
                 cmpxchg_relaxed cmpxchg_acquire cmpxchg_release atomic_t atomic_read atomic_set atomic_inc atomic_dec \
                 atomic_add atomic_sub atomic_add_return atomic_add_return_relaxed atomic_inc_return __atomic_op";
    ["smp_", "rcu_", "srcu_"].iter().any(|prefix| name.starts_with(prefix))
        || words.split(' ').any(|known| known == name)
}
