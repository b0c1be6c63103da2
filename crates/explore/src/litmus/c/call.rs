//! Calls of C's functions on atomics.

use history::format::InputError;

use super::super::lexer::quote;
use super::super::machine::{Binary, Instruction, Operation, Register, Unary};
use super::super::order_of;
use super::Compiler;
use crate::program::{Comparison, Order};

impl Compiler<'_, '_> {
    fn order(&mut self) -> Result<Order, InputError> {
        let token = self.lexer.peek();
        let name = self.lexer.name("a memory order")?;
        order_of(name).ok_or_else(|| {
            self.lexer.at(token, "this is no memory order", Some("memory_order_relaxed, memory_order_acquire, ..."))
        })
    }

    /// A call of one of C's functions on atomics.
    pub(super) fn call(&mut self) -> Result<Register, InputError> {
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
                self.constant(0)
            }
            // It orders what one thread does for its own signal handlers.
            "atomic_signal_fence" => {
                self.order()?;
                self.constant(0)
            }
            "atomic_init" => {
                let address = self.location()?;
                self.lexer.expect(",")?;
                let from = self.expression()?;
                self.code.push(Instruction::Write { address, order: Order::NonAtomic, from });
                from
            }
            "atomic_flag_test_and_set" => {
                let address = self.location()?;
                let operand = self.constant(1);
                let order = self.last_order(is_explicit)?;
                let into = self.fresh();
                let (operation, failure) = (Operation::Exchange, order);
                self.code.push(Instruction::Rmw { into, address, order, failure, operation, operand });
                into
            }
            "atomic_flag_clear" => {
                let address = self.location()?;
                let from = self.constant(0);
                let order = self.last_order(is_explicit)?;
                self.code.push(Instruction::Write { address, order, from });
                from
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
                let order = self.last_order(is_explicit)?;
                let into = self.fresh();
                self.code.push(Instruction::Rmw { into, address, order, failure: order, operation, operand });
                into
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
