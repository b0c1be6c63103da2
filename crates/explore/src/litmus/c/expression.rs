//! Expressions, which are compiled while they are read.

use history::format::InputError;

use super::super::lexer::Kind;
use super::super::machine::{Address, Binary, Instruction, Register, Unary};
use super::{Compiler, is_type};
use crate::program::{Comparison, Order, Value};

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
    pub(super) fn expression(&mut self) -> Result<Register, InputError> {
        self.enter()?;
        let value = self.expression_within();
        self.depth -= 1;
        value
    }

    fn expression_within(&mut self) -> Result<Register, InputError> {
        let first = self.lexer.peek();
        let assigns = ["=", "+=", "-=", "*=", "/=", "|=", "&=", "^="].iter().any(|sign| self.lexer.is_second(sign));
        if first.kind == Kind::Name && assigns {
            let name = self.lexer.text_of(first);
            if self.parameters.contains(&name) {
                return Err(self.is_location(first));
            }
            self.lexer.next();
            let operator = self.assignment().flatten();
            let value = self.expression()?;
            let register = self.named(name);
            self.code.push(match operator {
                None => Instruction::Copy(register, value),
                Some(operator) => Instruction::Binary(operator, register, register, value),
            });
            return Ok(register);
        }
        let condition = self.disjunction()?;
        if !self.lexer.take("?") {
            return Ok(condition);
        }
        let into = self.fresh();
        let unless = self.hold();
        let value = self.expression()?;
        self.code.push(Instruction::Copy(into, value));
        let jump = self.hold();
        self.lexer.expect(":")?;
        self.code[unless] = Instruction::Unless(condition, self.code.len());
        let value = self.expression()?;
        self.code.push(Instruction::Copy(into, value));
        self.code[jump] = Instruction::Jump(self.code.len());
        Ok(into)
    }

    /// Adds one to a register, or takes it away.
    fn step(&mut self, register: Register, is_more: bool) {
        let one = self.constant(1);
        let operator = if is_more { Binary::Add } else { Binary::Sub };
        self.code.push(Instruction::Binary(operator, register, register, one));
    }

    /// The register of a name that is no location.
    fn register(&mut self) -> Result<Register, InputError> {
        let token = self.lexer.peek();
        let name = self.lexer.name("the name of a register")?;
        if self.parameters.contains(&name) { Err(self.is_location(token)) } else { Ok(self.named(name)) }
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
            return Ok(self.constant(value));
        }
        if self.lexer.is_next("++") || self.lexer.is_next("--") {
            let is_more = self.lexer.take("++") || !self.lexer.take("--");
            let register = self.register()?;
            self.step(register, is_more);
            return Ok(register);
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
        if let Some(value) = constant_of(name) {
            self.lexer.next();
            return Ok(self.constant(value));
        }
        let register = self.register()?;
        if !self.lexer.is_next("++") && !self.lexer.is_next("--") {
            return Ok(register);
        }
        let old = self.fresh();
        self.code.push(Instruction::Copy(old, register));
        let is_more = self.lexer.take("++") || !self.lexer.take("--");
        self.step(register, is_more);
        Ok(old)
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

    pub(super) fn read(&mut self, address: Address, order: Order) -> Register {
        let into = self.fresh();
        self.code.push(Instruction::Read { into, address, order, until: None });
        into
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
