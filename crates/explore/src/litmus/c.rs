//! The threads of a test in C, as instructions of the [machine](super::machine).
//!
//! Expressions are compiled while they are read. Registers that have no name are numbered from [`UNNAMED`] on, and
//! begin again with each statement; when the thread is complete they get numbers behind those with a name.

use std::collections::BTreeMap;

use history::format::InputError;

use super::condition::MAX_DEPTH;
use super::lexer::{Kind, Lexer, Token};
use super::machine::{Address, Binary, Instruction, Operation, Register, Thread, Unary, Waiting};
use super::{MAX_THREADS, Names, order_of};
use crate::program::{Comparison, Order};

const UNNAMED: Register = 1 << 30;

/// Reads the threads `P0 (...) {...}` and so on.
pub(super) fn parse(lexer: &mut Lexer<'_>, names: &mut Names) -> Result<Vec<Thread>, InputError> {
    let mut threads = Vec::new();
    while lexer.text_of(lexer.peek()) == format!("P{}", threads.len()) && lexer.is_second("(") {
        if threads.len() == MAX_THREADS {
            return Err(lexer.at(lexer.peek(), "there are too many threads", Some("at most 256")));
        }
        lexer.next();
        names.threads.push(BTreeMap::new());
        let compiler =
            Compiler { lexer, names, parameters: Vec::new(), code: Vec::new(), unnamed: 0, most: 0, depth: 0 };
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
    depth: usize,
}

/// How binary operators bind, the weakest first.
const OPERATORS: [&[(&str, Binary)]; 7] = [
    &[("|", Binary::Or)],
    &[("^", Binary::Xor)],
    &[("&", Binary::And)],
    &[("==", Binary::Compare(Comparison::Equal)), ("!=", Binary::Compare(Comparison::NotEqual))],
    &[
        ("<=", Binary::Compare(Comparison::LessOrEqual)),
        (">=", Binary::Compare(Comparison::GreaterOrEqual)),
        ("<", Binary::Compare(Comparison::Less)),
        (">", Binary::Compare(Comparison::Greater)),
    ],
    &[("+", Binary::Add), ("-", Binary::Sub)],
    &[("*", Binary::Mul), ("/", Binary::Div), ("%", Binary::Rem)],
];

impl Compiler<'_, '_> {
    fn thread(mut self) -> Result<Thread, InputError> {
        self.lexer.expect("(")?;
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
            if *register >= UNNAMED {
                *register = *register - UNNAMED + named;
            }
        };
        for instruction in &mut code {
            for_each_register(instruction, place);
        }
        Ok(Thread { code, registers: named + self.most, initial: Vec::new() })
    }

    /// A parameter is a location: `atomic_int* x`, `volatile int *x`.
    fn parameter(&mut self) -> Result<(), InputError> {
        let mut token = self.lexer.peek();
        let mut name = self.lexer.name("a parameter: a type and a location")?;
        while self.lexer.peek().kind == Kind::Name || self.lexer.is_next("*") {
            if !self.lexer.take("*") {
                token = self.lexer.peek();
                name = self.lexer.name("the name of a location")?;
            }
        }
        if self.lexer.take("[") {
            self.lexer.expect("]")?;
        }
        if self.names.location(name).is_none() {
            return Err(self.lexer.at(token, "there are too many locations", Some("at most 4096")));
        }
        self.parameters.push(name);
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
        let is_declaration = is_type(self.lexer.text_of(first)) && !self.lexer.is_second("(");
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
            "*" => {
                self.lexer.next();
                let address = self.pointed_to()?;
                self.lexer.expect("=")?;
                self.store(address)
            }
            _ if is_declaration => self.declaration(),
            _ if first.kind == Kind::Name && self.lexer.is_second("=") => {
                self.lexer.next();
                let name = self.lexer.text_of(first);
                if self.parameters.contains(&name) {
                    return Err(self.is_location(first));
                }
                self.lexer.next();
                let value = self.expression()?;
                let register = self.named(name);
                self.code.push(Instruction::Copy(register, value));
                self.lexer.expect(";")
            }
            name if first.kind == Kind::Name && self.parameters.contains(&name) && self.lexer.is_second("[") => {
                let address = self.location()?;
                self.lexer.expect("=")?;
                self.store(address)
            }
            _ if first.kind == Kind::Name && self.lexer.is_second("(")
                || first.kind == Kind::Sign && self.lexer.is_next("(") =>
            {
                self.expression()?;
                self.lexer.expect(";")
            }
            _ => Err(self.lexer.unexpected("a statement, or `}`")),
        }
    }

    fn store(&mut self, address: Address) -> Result<(), InputError> {
        let from = self.expression()?;
        self.code.push(Instruction::Write { address, order: Order::NonAtomic, from });
        self.lexer.expect(";")
    }

    fn declaration(&mut self) -> Result<(), InputError> {
        while is_type(self.lexer.text_of(self.lexer.peek())) && self.lexer.peek_second().kind == Kind::Name {
            self.lexer.next();
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
            let value = if self.lexer.take("=") {
                self.expression()?
            } else {
                let zero = self.fresh();
                self.code.push(Instruction::Set(zero, 0));
                zero
            };
            let register = self.named(name);
            self.code.push(Instruction::Copy(register, value));
            if !self.lexer.take(",") {
                break;
            }
        }
        self.lexer.expect(";")
    }

    fn branch(&mut self) -> Result<(), InputError> {
        self.lexer.next();
        self.lexer.expect("(")?;
        let condition = self.expression()?;
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
        let condition = self.expression()?;
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

    fn do_loop(&mut self) -> Result<(), InputError> {
        self.lexer.next();
        let start = self.code.len();
        self.statement()?;
        let is_empty = self.code.len() == start;
        self.lexer.expect("while")?;
        self.lexer.expect("(")?;
        let condition = self.expression()?;
        self.lexer.expect(")")?;
        self.lexer.expect(";")?;
        if is_empty && self.wait(start, condition) {
            return Ok(());
        }
        let end = self.code.len() + 2;
        self.code.push(Instruction::Unless(condition, end));
        self.code.push(Instruction::Jump(start));
        Ok(())
    }

    /// Makes an await of the code from `start` on, the condition of a loop without a body. It must read once, and
    /// compare what it read (or some bits of it) with something that does not depend on it. Else the code stays as it
    /// is, and the answer is false.
    fn wait(&mut self, start: usize, condition: Register) -> bool {
        let mut before = Vec::new();
        // The read, and the register that has what was read, under the mask.
        let (mut read, mut value, mut mask) = (None, None, None);
        // The register that tells whether to go on, and the comparison that ends the loop; with 0 if with no register.
        let mut end: Option<(Register, Comparison, Option<Register>)> = None;
        for &instruction in &self.code[start..] {
            let other = |one: Register, two: Register| match value {
                Some(value) if value == one && value != two => Some(two),
                Some(value) if value == two && value != one => Some(one),
                _ => None,
            };
            match instruction {
                Instruction::Read { into, address, order, until: None } if read.is_none() => {
                    (read, value) = (Some((address, order)), Some(into));
                }
                Instruction::Binary(Binary::And, into, one, two)
                    if end.is_none() && mask.is_none() && other(one, two).is_some() =>
                {
                    (mask, value) = (other(one, two), Some(into));
                }
                Instruction::Binary(Binary::Compare(how), into, one, two)
                    if end.is_none() && other(one, two).is_some() =>
                {
                    let how = if value == Some(one) { how } else { mirrored(how) };
                    end = Some((into, opposite(how), other(one, two)));
                }
                Instruction::Unary(Unary::Not, into, one) if end.is_none() && value == Some(one) => {
                    end = Some((into, Comparison::NotEqual, None));
                }
                Instruction::Set(..) | Instruction::Copy(..) | Instruction::Unary(..) | Instruction::Binary(..) => {
                    let mut depends = false;
                    let mut instruction = instruction;
                    for_each_register(&mut instruction, |&mut register| {
                        depends |= value == Some(register) || end.is_some_and(|(into, ..)| into == register);
                    });
                    if depends {
                        return false;
                    }
                    before.push(instruction);
                }
                _ => return false,
            }
        }
        let (Some((address, order)), Some(value)) = (read, value) else { return false };
        let (result, comparison, with) = end.unwrap_or((value, Comparison::Equal, None));
        if result != condition {
            return false;
        }
        self.code.truncate(start);
        self.code.extend(before);
        let with = with.unwrap_or_else(|| self.zero());
        let into = self.fresh();
        let until = Some(Waiting { mask, comparison, value: with });
        self.code.push(Instruction::Read { into, address, order, until });
        true
    }

    fn is_location(&self, token: Token) -> InputError {
        let name = self.lexer.text_of(token);
        self.lexer.at(token, &format!("`{name}` is a location"), Some(&format!("`*{name}`, or the name of a register")))
    }

    fn expression(&mut self) -> Result<Register, InputError> {
        self.enter()?;
        let value = self.disjunction();
        self.depth -= 1;
        value
    }

    /// `a || b`, whose right side is evaluated only if the left one is false.
    fn disjunction(&mut self) -> Result<Register, InputError> {
        let mut value = self.conjunction()?;
        while self.lexer.take("||") {
            let into = self.fresh();
            self.code.push(Instruction::Set(into, 1));
            let zero = self.fresh();
            self.code.push(Instruction::Unary(Unary::Not, zero, value));
            let unless = self.hold();
            let right = self.conjunction()?;
            self.truth(into, right);
            self.code[unless] = Instruction::Unless(zero, self.code.len());
            value = into;
        }
        Ok(value)
    }

    /// `a && b`, whose right side is evaluated only if the left one is true.
    fn conjunction(&mut self) -> Result<Register, InputError> {
        let mut value = self.operators(0)?;
        while self.lexer.take("&&") {
            let into = self.fresh();
            self.code.push(Instruction::Set(into, 0));
            let unless = self.hold();
            let right = self.operators(0)?;
            self.truth(into, right);
            self.code[unless] = Instruction::Unless(value, self.code.len());
            value = into;
        }
        Ok(value)
    }

    /// 1 if the register is not 0.
    fn truth(&mut self, into: Register, from: Register) {
        self.code.push(Instruction::Unary(Unary::Not, into, from));
        self.code.push(Instruction::Unary(Unary::Not, into, into));
    }

    fn operators(&mut self, level: usize) -> Result<Register, InputError> {
        let Some(operators) = OPERATORS.get(level) else { return self.unary() };
        let mut value = self.operators(level + 1)?;
        while let Some(&(_, operator)) = operators.iter().find(|(sign, _)| self.lexer.is_next(sign)) {
            self.lexer.next();
            let right = self.operators(level + 1)?;
            let into = self.fresh();
            self.code.push(Instruction::Binary(operator, into, value, right));
            value = into;
        }
        Ok(value)
    }

    fn unary(&mut self) -> Result<Register, InputError> {
        self.enter()?;
        let value = self.unary_within();
        self.depth -= 1;
        value
    }

    fn unary_within(&mut self) -> Result<Register, InputError> {
        let first = self.lexer.peek();
        if first.kind == Kind::Number {
            let value = self.lexer.number()?;
            let into = self.fresh();
            self.code.push(Instruction::Set(into, value));
            return Ok(into);
        }
        let operator = match self.lexer.text_of(first) {
            "-" => Some(Unary::Minus),
            "!" => Some(Unary::Not),
            "~" => Some(Unary::Complement),
            _ => None,
        };
        if let Some(operator) = operator {
            self.lexer.next();
            let value = self.unary()?;
            let into = self.fresh();
            self.code.push(Instruction::Unary(operator, into, value));
            return Ok(into);
        }
        if self.lexer.take("*") {
            let address = self.pointed_to()?;
            return Ok(self.read(address, Order::NonAtomic));
        }
        if self.lexer.is_next("(") {
            return self.parenthesis();
        }
        if first.kind != Kind::Name {
            return Err(self.lexer.unexpected("an expression"));
        }
        let name = self.lexer.text_of(first);
        if self.lexer.is_second("(") {
            return self.call();
        }
        if self.parameters.contains(&name) {
            if self.lexer.is_second("[") {
                let address = self.pointed_to()?;
                return Ok(self.read(address, Order::NonAtomic));
            }
            return Err(self.is_location(first));
        }
        self.lexer.next();
        Ok(self.named(name))
    }

    /// An expression in parentheses, or a cast, which means nothing.
    fn parenthesis(&mut self) -> Result<Register, InputError> {
        self.lexer.expect("(")?;
        if is_type(self.lexer.text_of(self.lexer.peek())) && !self.lexer.is_second("(") {
            while self.lexer.peek().kind == Kind::Name || self.lexer.is_next("*") {
                self.lexer.next();
            }
            self.lexer.expect(")")?;
            return self.unary();
        }
        let value = self.expression()?;
        self.lexer.expect(")")?;
        Ok(value)
    }

    fn read(&mut self, address: Address, order: Order) -> Register {
        let into = self.fresh();
        self.code.push(Instruction::Read { into, address, order, until: None });
        into
    }

    /// A location: `x`, `&x`, `x + e`, `x[e]`, `&x[e]`, any of these in parentheses.
    fn location(&mut self) -> Result<Address, InputError> {
        self.enter()?;
        let address = self.location_within(true);
        self.depth -= 1;
        address
    }

    /// The location after a `*`, which binds more tightly than `+`.
    fn pointed_to(&mut self) -> Result<Address, InputError> {
        self.location_within(false)
    }

    fn location_within(&mut self, may_add: bool) -> Result<Address, InputError> {
        if self.lexer.take("(") {
            let address = self.location()?;
            self.lexer.expect(")")?;
            return Ok(address);
        }
        self.lexer.take("&");
        let token = self.lexer.peek();
        let name = self.lexer.name("a location")?;
        if !self.parameters.contains(&name) {
            let message = format!("`{name}` is not a parameter of this thread");
            return Err(self.lexer.at(token, &message, Some("a location")));
        }
        let Some((base, length)) = self.names.location(name) else {
            return Err(self.lexer.at(token, "there are too many locations", Some("at most 4096")));
        };
        let index = if self.lexer.take("[") {
            let index = self.expression()?;
            self.lexer.expect("]")?;
            Some(index)
        } else if may_add && self.lexer.take("+") {
            // What is added to the sum is added to the index.
            Some(self.operators(OPERATORS.len() - 2)?)
        } else {
            None
        };
        if index.is_none() && length.is_some() {
            // The first element.
            return Ok(Address { base, length: 1, index: None });
        }
        Ok(Address { base, length: length.unwrap_or(1), index })
    }

    fn order(&mut self) -> Result<Order, InputError> {
        let token = self.lexer.peek();
        let name = self.lexer.name("a memory order")?;
        order_of(name).ok_or_else(|| {
            self.lexer.at(token, "this is no memory order", Some("memory_order_relaxed, memory_order_acquire, ..."))
        })
    }

    /// A call of one of C's functions on atomics.
    fn call(&mut self) -> Result<Register, InputError> {
        let token = self.lexer.next();
        let name = self.lexer.text_of(token);
        self.lexer.expect("(")?;
        let is_explicit = name.ends_with("_explicit");
        let name = name.strip_suffix("_explicit").unwrap_or(name);
        let value = match name {
            "atomic_thread_fence" => {
                let order = self.order()?;
                // A relaxed fence means nothing.
                if order != Order::Relaxed {
                    self.code.push(Instruction::Fence(order));
                }
                self.zero()
            }
            "atomic_load" => {
                let address = self.location()?;
                let order = self.last_order(is_explicit)?;
                self.read(address, order)
            }
            "atomic_store" => {
                let address = self.location()?;
                self.lexer.expect(",")?;
                let from = self.expression()?;
                let order = self.last_order(is_explicit)?;
                self.code.push(Instruction::Write { address, order, from });
                from
            }
            "atomic_compare_exchange_strong" | "atomic_compare_exchange_weak" => self.compare_exchange(is_explicit)?,
            _ => {
                let operation = match name {
                    "atomic_exchange" => Operation::Exchange,
                    "atomic_fetch_add" => Operation::Add,
                    "atomic_fetch_sub" => Operation::Sub,
                    "atomic_fetch_and" => Operation::And,
                    "atomic_fetch_or" => Operation::Or,
                    "atomic_fetch_xor" => Operation::Xor,
                    _ => {
                        let message = format!("there is no function {}", super::lexer::quote(name));
                        let expected = "atomic_load_explicit, atomic_store_explicit, atomic_exchange_explicit, \
                                        atomic_fetch_add_explicit, atomic_compare_exchange_strong_explicit, \
                                        atomic_thread_fence, ...";
                        return Err(self.lexer.at(token, &message, Some(expected)));
                    }
                };
                let address = self.location()?;
                self.lexer.expect(",")?;
                let operand = self.expression()?;
                let order = self.last_order(is_explicit)?;
                let into = self.fresh();
                self.code.push(Instruction::Rmw { into, address, order, failure: order, operation, operand });
                into
            }
        };
        self.lexer.expect(")")?;
        Ok(value)
    }

    fn zero(&mut self) -> Register {
        let zero = self.fresh();
        self.code.push(Instruction::Set(zero, 0));
        zero
    }

    /// The order at the end of the arguments.
    fn last_order(&mut self, is_explicit: bool) -> Result<Order, InputError> {
        if !is_explicit {
            return Ok(Order::SequentiallyConsistent);
        }
        self.lexer.expect(",")?;
        self.order()
    }

    /// The expected value is in a register (`&r`), or in a location. The latter is read without atomicity, and written
    /// so if the exchange fails.
    fn compare_exchange(&mut self, is_explicit: bool) -> Result<Register, InputError> {
        let address = self.location()?;
        self.lexer.expect(",")?;
        let is_register = self.lexer.is_next("&") && {
            let second = self.lexer.text_of(self.lexer.peek_second());
            !self.parameters.contains(&second)
        };
        let (place, known) = if is_register {
            self.lexer.next();
            let name = self.lexer.name("the name of a register")?;
            (None, self.named(name))
        } else {
            let place = self.location()?;
            (Some(place), self.read(place, Order::NonAtomic))
        };
        let expected = self.fresh();
        self.code.push(Instruction::Copy(expected, known));
        self.lexer.expect(",")?;
        let operand = self.expression()?;
        let order = self.last_order(is_explicit)?;
        let failure = self.last_order(is_explicit)?;
        let into = self.fresh();
        let operation = Operation::CompareExchange(expected);
        self.code.push(Instruction::Rmw { into, address, order, failure, operation, operand });
        let succeeds = self.fresh();
        self.code.push(Instruction::Binary(Binary::Compare(Comparison::Equal), succeeds, into, expected));
        let fails = self.fresh();
        self.code.push(Instruction::Unary(Unary::Not, fails, succeeds));
        let unless = self.hold();
        self.code.push(match place {
            None => Instruction::Copy(known, into),
            Some(address) => Instruction::Write { address, order: Order::NonAtomic, from: into },
        });
        self.code[unless] = Instruction::Unless(fails, self.code.len());
        Ok(succeeds)
    }
}

fn is_type(word: &str) -> bool {
    let is_known = matches!(
        word,
        "int" | "long" | "short" | "char" | "unsigned" | "signed" | "void" | "volatile" | "const" | "bool" | "_Bool"
    );
    is_known || word.ends_with("_t") || is_atomic_type(word)
}

fn is_atomic_type(word: &str) -> bool {
    ["int", "uint", "long", "ulong", "bool", "short", "char", "llong", "ullong", "size_t"]
        .into_iter()
        .any(|type_name| word.strip_prefix("atomic_") == Some(type_name))
}

/// The comparison with its sides exchanged.
const fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}

/// The comparison that holds iff this one does not.
const fn opposite(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Equal => Comparison::NotEqual,
        Comparison::NotEqual => Comparison::Equal,
        Comparison::Less => Comparison::GreaterOrEqual,
        Comparison::LessOrEqual => Comparison::Greater,
        Comparison::Greater => Comparison::LessOrEqual,
        Comparison::GreaterOrEqual => Comparison::Less,
    }
}

fn for_each_register(instruction: &mut Instruction, mut each: impl FnMut(&mut Register)) {
    let mut of_address = |address: &mut Address| address.index.iter_mut().for_each(&mut each);
    match instruction {
        Instruction::Set(one, _) | Instruction::Unless(one, _) => each(one),
        Instruction::Copy(one, two) | Instruction::Unary(_, one, two) => [one, two].into_iter().for_each(each),
        Instruction::Binary(_, one, two, three) => [one, two, three].into_iter().for_each(each),
        Instruction::Jump(_) | Instruction::Fence(_) => {}
        Instruction::Read { into, address, until, .. } => {
            of_address(address);
            each(into);
            if let Some(until) = until {
                until.mask.iter_mut().for_each(&mut each);
                each(&mut until.value);
            }
        }
        Instruction::Write { address, from, .. } => {
            of_address(address);
            each(from);
        }
        Instruction::Rmw { into, address, operation, operand, .. } => {
            of_address(address);
            each(into);
            each(operand);
            if let Operation::CompareExchange(expected) = operation {
                each(expected);
            }
        }
    }
}
