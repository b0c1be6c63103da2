//! Expressions, which are compiled while they are read.

use format::InputError;

use super::super::lexer::Kind;
use super::super::machine::{Address, Binary, Instruction, Register, Unary};
use super::types::{Typed, common, integer_of, is_type};
use super::{Assignment, Compiler};
use crate::program::{Comparison, Integer, Order, Value};

/// How binary operators bind, the weakest first.
const OPERATORS: [&[(&str, Binary)]; 8] = [
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
    &[("<<", Binary::Left), (">>", Binary::Right)],
    &[("+", Binary::Add), ("-", Binary::Sub)],
    &[("*", Binary::Mul), ("/", Binary::Div), ("%", Binary::Rem)],
];

impl Compiler<'_, '_> {
    /// `a`, `a ? b : c`, or an assignment of a register, whose value is what was assigned.
    pub(super) fn expression(&mut self) -> Result<Typed, InputError> {
        self.enter()?;
        let value = self.expression_within();
        self.depth -= 1;
        value
    }

    fn expression_within(&mut self) -> Result<Typed, InputError> {
        let first = self.lexer.peek();
        let assigns = ["=", "+=", "-=", "*=", "/=", "|=", "&=", "^="].iter().any(|sign| self.lexer.is_second(sign));
        if first.kind == Kind::Name && assigns {
            let name = self.lexer.text_of(first);
            if self.parameters.contains(&name) {
                return Err(self.is_location(first));
            }
            self.lexer.next();
            let assignment = self.assignment();
            let value = self.expression()?;
            let register = self.named(name);
            let value = match assignment {
                Some(Assignment::By(operator)) => {
                    let old = Typed { register, integer: self.integer(register) };
                    self.combine(operator, old, value)
                }
                _ => value,
            };
            return Ok(self.assign(register, value));
        }
        let condition = self.disjunction()?;
        if !self.lexer.take("?") {
            return Ok(condition);
        }
        let into = self.fresh();
        let unless = self.hold();
        let first = self.expression()?;
        // The type depends on that of the second value, which comes later.
        let converted = self.hold();
        let jump = self.hold();
        self.lexer.expect(":")?;
        self.code[unless] = Instruction::Unless(condition.register, self.code.len());
        let second = self.expression()?;
        let integer = common(first.integer, second.integer);
        self.code[converted] = Instruction::Unary(Unary::Convert(integer), into, first.register);
        self.code.push(Instruction::Unary(Unary::Convert(integer), into, second.register));
        self.code[jump] = Instruction::Jump(self.code.len());
        Ok(Typed { register: into, integer })
    }

    /// Adds one to a register, or takes it away.
    fn step(&mut self, register: Register, is_more: bool) {
        let one = self.typed_constant(1, Integer::INT);
        let old = Typed { register, integer: self.integer(register) };
        let new = self.combine(if is_more { Binary::Add } else { Binary::Sub }, old, one);
        self.assign(register, new);
    }

    /// The register of a name that is no location.
    fn register(&mut self) -> Result<Register, InputError> {
        let token = self.lexer.peek();
        let name = self.lexer.name("the name of a register")?;
        if self.parameters.contains(&name) { Err(self.is_location(token)) } else { Ok(self.named(name)) }
    }

    /// `a || b`, whose right side is evaluated only if the left one is false.
    fn disjunction(&mut self) -> Result<Typed, InputError> {
        let mut value = self.conjunction()?;
        while self.lexer.take("||") {
            let into = self.fresh();
            self.code.push(Instruction::Set(into, 1));
            let zero = self.fresh();
            self.code.push(Instruction::Unary(Unary::Not, zero, value.register));
            let unless = self.hold();
            let right = self.conjunction()?;
            self.truth(into, right.register);
            self.code[unless] = Instruction::Unless(zero, self.code.len());
            value = Self::truth_value(into);
        }
        Ok(value)
    }

    /// `a && b`, whose right side is evaluated only if the left one is true.
    fn conjunction(&mut self) -> Result<Typed, InputError> {
        let mut value = self.operators(0)?;
        while self.lexer.take("&&") {
            let into = self.fresh();
            self.code.push(Instruction::Set(into, 0));
            let unless = self.hold();
            let right = self.operators(0)?;
            self.truth(into, right.register);
            self.code[unless] = Instruction::Unless(value.register, self.code.len());
            value = Self::truth_value(into);
        }
        Ok(value)
    }

    /// 1 if the register is not 0.
    fn truth(&mut self, into: Register, from: Register) {
        self.code.push(Instruction::Unary(Unary::Not, into, from));
        self.code.push(Instruction::Unary(Unary::Not, into, into));
    }

    fn operators(&mut self, level: usize) -> Result<Typed, InputError> {
        let Some(operators) = OPERATORS.get(level) else { return self.unary() };
        let mut value = self.operators(level + 1)?;
        while let Some(&(_, operator)) = operators.iter().find(|(sign, _)| self.lexer.is_next(sign)) {
            self.lexer.next();
            let right = self.operators(level + 1)?;
            value = self.combine(operator, value, right);
        }
        Ok(value)
    }

    fn unary(&mut self) -> Result<Typed, InputError> {
        self.enter()?;
        let value = self.unary_within();
        self.depth -= 1;
        value
    }

    fn unary_within(&mut self) -> Result<Typed, InputError> {
        let first = self.lexer.peek();
        if first.kind == Kind::Number {
            let (value, integer) = self.lexer.literal()?;
            return Ok(self.typed_constant(value, integer));
        }
        if self.lexer.is_next("++") || self.lexer.is_next("--") {
            let is_more = self.lexer.take("++") || !self.lexer.take("--");
            let register = self.register()?;
            self.step(register, is_more);
            return Ok(Typed { register, integer: self.integer(register) });
        }
        if self.lexer.take("+") {
            return self.unary();
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
            return Ok(self.apply(operator, value));
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
        if let Some(value) = constant_of(name) {
            self.lexer.next();
            return Ok(self.typed_constant(value, Integer::INT));
        }
        let register = self.register()?;
        if !self.lexer.is_next("++") && !self.lexer.is_next("--") {
            return Ok(Typed { register, integer: self.integer(register) });
        }
        let old = self.fresh();
        self.code.push(Instruction::Copy(old, register));
        let is_more = self.lexer.take("++") || !self.lexer.take("--");
        self.step(register, is_more);
        Ok(Typed { register: old, integer: self.integer(register) })
    }

    /// An expression in parentheses, or a cast.
    fn parenthesis(&mut self) -> Result<Typed, InputError> {
        self.lexer.expect("(")?;
        if is_type(self.lexer.text_of(self.lexer.peek())) && !self.lexer.is_second("(") {
            let mut words = Vec::new();
            while self.lexer.peek().kind == Kind::Name || self.lexer.is_next("*") {
                let token = self.lexer.next();
                words.push(self.lexer.text_of(token));
            }
            self.lexer.expect(")")?;
            let value = self.unary()?;
            return Ok(match integer_of(&words) {
                Some(integer) => self.convert(value, integer),
                None => value,
            });
        }
        let value = self.expression()?;
        self.lexer.expect(")")?;
        Ok(value)
    }

    pub(super) fn read(&mut self, address: Address, order: Order) -> Typed {
        let into = self.fresh();
        self.code.push(Instruction::Read { into, address, order, until: None });
        Typed { register: into, integer: address.integer }
    }

    /// A location: `x`, `&x`, `x + e`, `x[e]`, `&x[e]`, any of these in parentheses.
    pub(super) fn location(&mut self) -> Result<Address, InputError> {
        self.enter()?;
        let address = self.location_within(true);
        self.depth -= 1;
        address
    }

    /// The location after a `*`, which binds more tightly than `+`.
    pub(super) fn pointed_to(&mut self) -> Result<Address, InputError> {
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
        let integer = self.names.integer(base);
        let index = if self.lexer.take("[") {
            let index = self.expression()?.register;
            self.lexer.expect("]")?;
            Some(index)
        } else if may_add && self.lexer.take("+") {
            // What is added to the sum is added to the index.
            Some(self.operators(OPERATORS.len() - 2)?.register)
        } else {
            None
        };
        if index.is_none() && length.is_some() {
            // The first element.
            return Ok(Address { base, length: 1, index: None, integer });
        }
        Ok(Address { base, length: length.unwrap_or(1), index, integer })
    }

    pub(super) fn constant(&mut self, value: Value) -> Register {
        let into = self.fresh();
        self.code.push(Instruction::Set(into, value));
        into
    }
}

/// The value of a name that stands for a number.
fn constant_of(name: &str) -> Option<Value> {
    match name {
        "true" => Some(1),
        "false" | "NULL" => Some(0),
        _ => None,
    }
}
