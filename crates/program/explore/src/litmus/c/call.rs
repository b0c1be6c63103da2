//! Calls of C's functions on atomics.

use format::InputError;

use super::super::lexer::quote;
use super::super::machine::{Binary, Instruction, Operation, Register, Unary};
use super::super::order_of;
use super::types::Typed;
use super::{CHANCES, Compiler};
use crate::program::{Comparison, Integer, Order};

impl Compiler<'_, '_> {
    fn order(&mut self) -> Result<Order, InputError> {
        let token = self.lexer.peek();
        let name = self.lexer.name("a memory order")?;
        order_of(name).ok_or_else(|| {
            self.lexer.at(token, "this is no memory order", Some("memory_order_relaxed, memory_order_acquire, ..."))
        })
    }

    /// A call of one of C's functions on atomics.
    pub(super) fn call(&mut self) -> Result<Typed, InputError> {
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
                self.typed_constant(0, Integer::INT)
            }
            // It orders what one thread does for its own signal handlers.
            "atomic_signal_fence" => {
                self.order()?;
                self.typed_constant(0, Integer::INT)
            }
            "atomic_init" => {
                let address = self.location()?;
                self.lexer.expect(",")?;
                let value = self.expression()?;
                let value = self.convert(value, address.integer);
                let from = value.register;
                self.code.push(Instruction::Write { address, order: Order::NonAtomic, from });
                value
            }
            "atomic_flag_test_and_set" => {
                let address = self.location()?;
                let operand = self.constant(1);
                let order = self.last_order(is_explicit)?;
                let into = self.fresh();
                let (operation, failure) = (Operation::Exchange, order);
                self.code.push(Instruction::Rmw { into, address, order, failure, operation, operand });
                Typed { register: into, integer: address.integer }
            }
            "atomic_flag_clear" => {
                let address = self.location()?;
                let value = self.typed_constant(0, address.integer);
                let order = self.last_order(is_explicit)?;
                self.code.push(Instruction::Write { address, order, from: value.register });
                value
            }
            "atomic_load" => {
                let address = self.location()?;
                let order = self.last_order(is_explicit)?;
                self.read(address, order)
            }
            "atomic_store" => {
                let address = self.location()?;
                self.lexer.expect(",")?;
                let value = self.expression()?;
                let value = self.convert(value, address.integer);
                let order = self.last_order(is_explicit)?;
                self.code.push(Instruction::Write { address, order, from: value.register });
                value
            }
            "atomic_compare_exchange_strong" => self.compare_exchange(is_explicit, false)?,
            "atomic_compare_exchange_weak" => self.compare_exchange(is_explicit, true)?,
            _ => {
                let operation = match name {
                    "atomic_exchange" => Operation::Exchange,
                    "atomic_fetch_add" => Operation::Add,
                    "atomic_fetch_sub" => Operation::Sub,
                    "atomic_fetch_and" => Operation::And,
                    "atomic_fetch_or" => Operation::Or,
                    "atomic_fetch_xor" => Operation::Xor,
                    _ => {
                        let message = format!("there is no function {}", quote(name));
                        let expected = "atomic_load_explicit, atomic_store_explicit, atomic_exchange_explicit, \
                                        atomic_fetch_add_explicit, atomic_compare_exchange_strong_explicit, \
                                        atomic_thread_fence, ...";
                        return Err(self.lexer.at(token, &message, Some(expected)));
                    }
                };
                let address = self.location()?;
                self.lexer.expect(",")?;
                let operand = self.expression()?;
                let operand = self.convert(operand, address.integer).register;
                let order = self.last_order(is_explicit)?;
                let into = self.fresh();
                self.code.push(Instruction::Rmw { into, address, order, failure: order, operation, operand });
                Typed { register: into, integer: address.integer }
            }
        };
        self.lexer.expect(")")?;
        Ok(value)
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
    /// so if the exchange fails. A weak exchange may fail without a reason: then it is a read. If this reads another
    /// value than the expected one, the exchange fails anyway, and one of the two executions is left.
    fn compare_exchange(&mut self, is_explicit: bool, is_weak: bool) -> Result<Typed, InputError> {
        let address = self.location()?;
        self.lexer.expect(",")?;
        let is_register = self.lexer.is_next("&") && {
            let second = self.lexer.text_of(self.lexer.peek_second());
            !self.parameters.contains(&second)
        };
        let (place, known) = if is_register {
            self.lexer.next();
            let name = self.lexer.name("the name of a register")?;
            let register = self.named(name);
            (None, Typed { register, integer: self.integer(register) })
        } else {
            let place = self.location()?;
            (Some(place), self.read(place, Order::NonAtomic))
        };
        let expected = self.fresh();
        self.code.push(Instruction::Unary(Unary::Convert(address.integer), expected, known.register));
        self.lexer.expect(",")?;
        let operand = self.expression()?;
        let operand = self.convert(operand, address.integer).register;
        let order = self.last_order(is_explicit)?;
        let failure = self.last_order(is_explicit)?;
        let (into, succeeds) = (self.fresh(), self.fresh());
        let is_equal = Instruction::Binary(Binary::Compare(Comparison::Equal), succeeds, into, expected);
        let reading = Instruction::Read { into, address, order: failure, until: None };
        let jump = is_weak.then(|| self.fail_by_chance(reading, is_equal, succeeds));
        let operation = Operation::CompareExchange(expected);
        self.code.push(Instruction::Rmw { into, address, order, failure, operation, operand });
        self.code.push(is_equal);
        if let Some(jump) = jump {
            self.code[jump] = Instruction::Jump(self.code.len());
        }
        let fails = self.fresh();
        self.code.push(Instruction::Unary(Unary::Not, fails, succeeds));
        let unless = self.hold();
        self.code.push(match place {
            None => Instruction::Unary(Unary::Convert(known.integer), known.register, into),
            Some(address) => Instruction::Write { address, order: Order::NonAtomic, from: into },
        });
        self.code[unless] = Instruction::Unless(fails, self.code.len());
        Ok(Typed { register: succeeds, integer: Integer::Bool })
    }

    /// A weak compare-exchange that fails without a reason, if it does. The answer is the place of the jump to what
    /// comes after the exchange.
    fn fail_by_chance(&mut self, reading: Instruction, is_equal: Instruction, succeeds: Register) -> usize {
        // The first of these registers tells whether every execution is explored.
        self.chances = self.chances.max(1) + 1;
        let (chance, left) = (self.fresh(), CHANCES + self.chances - 1);
        self.code.push(Instruction::Chance { into: chance, left });
        let unless = self.hold();
        self.code.extend([reading, is_equal]);
        let is_redundant = self.fresh();
        self.code.push(Instruction::Unary(Unary::Not, is_redundant, succeeds));
        self.code.push(Instruction::Binary(Binary::And, is_redundant, is_redundant, CHANCES));
        self.code.push(Instruction::Unless(is_redundant, self.code.len() + 2));
        self.code.push(Instruction::Stop);
        self.code.push(Instruction::Set(succeeds, 0));
        let jump = self.hold();
        self.code[unless] = Instruction::Unless(chance, self.code.len());
        jump
    }
}
