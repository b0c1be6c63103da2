//! The threads of a test in x86 assembly, in columns.
//!
//! A locked instruction is a full fence. The models take an rmw as one, but a compare-exchange that fails as a read;
//! that is why a compare-exchange has fences around it.

use std::collections::BTreeMap;

use history::format::InputError;

use super::lexer::{Kind, Lexer};
use super::machine::{Address, Binary, Instruction, Operation, Register, Thread};
use super::{MAX_THREADS, Names};
use crate::program::{Order, Value};

/// Reads the columns, which the condition or the end of the file ends.
pub(super) fn parse(lexer: &mut Lexer<'_>, names: &mut Names) -> Result<Vec<Thread>, InputError> {
    let mut threads: Vec<Thread> = Vec::new();
    loop {
        if lexer.text_of(lexer.peek()) != format!("P{}", threads.len()) {
            return Err(lexer.unexpected(&format!("`P{}`", threads.len())));
        }
        if threads.len() == MAX_THREADS {
            return Err(lexer.at(lexer.peek(), "there are too many threads", Some("at most 256")));
        }
        lexer.next();
        threads.push(Thread::default());
        names.threads.push(BTreeMap::new());
        if !lexer.take("|") {
            break;
        }
    }
    lexer.expect(";")?;
    let ends = ["exists", "forall", "~", "not", "locations"];
    while lexer.peek().kind != Kind::End && !ends.iter().any(|end| lexer.is_next(end)) {
        for thread in 0..threads.len() {
            if !lexer.is_next("|") && !lexer.is_next(";") {
                let mut cell = Cell { lexer, names, thread, code: &mut threads[thread].code };
                cell.instruction()?;
            }
            let is_last = thread + 1 == threads.len();
            if is_last || !lexer.is_next(";") {
                lexer.expect(if is_last { ";" } else { "|" })?;
            } else {
                lexer.next();
                break;
            }
        }
    }
    for (thread, registers) in threads.iter_mut().zip(&names.threads) {
        thread.registers = registers.len() as u32;
    }
    Ok(threads)
}

enum Operand {
    Memory(Address),
    Register(Register),
    Number(Value),
}

struct Cell<'l, 'a> {
    lexer: &'l mut Lexer<'a>,
    names: &'l mut Names,
    thread: usize,
    code: &'l mut Vec<Instruction>,
}

/// A register that no program can name.
const SCRATCH: &str = "$";

impl Cell<'_, '_> {
    fn register(&mut self, name: &str) -> Register {
        let registers = &mut self.names.threads[self.thread];
        let next = registers.len() as u32;
        *registers.entry(name.to_owned()).or_insert(next)
    }

    fn operand(&mut self) -> Result<Operand, InputError> {
        if self.lexer.take("[") {
            let token = self.lexer.peek();
            let name = self.lexer.name("a location")?;
            self.lexer.expect("]")?;
            return match self.names.location(name) {
                Some((base, _)) => Ok(Operand::Memory(Address { base, length: 1, index: None })),
                None => Err(self.lexer.at(token, "there are too many locations", Some("at most 4096"))),
            };
        }
        if self.lexer.take("$") || self.lexer.peek().kind == Kind::Number {
            return Ok(Operand::Number(self.lexer.number()?));
        }
        let name = self.lexer.name("a register, `[` and a location, or `$` and a number")?;
        let name = name.to_ascii_uppercase();
        Ok(Operand::Register(self.register(&name)))
    }

    /// The register that has the value of an operand.
    fn value(&mut self, operand: &Operand) -> Register {
        match *operand {
            Operand::Register(register) => register,
            Operand::Number(value) => {
                let scratch = self.register(SCRATCH);
                self.code.push(Instruction::Set(scratch, value));
                scratch
            }
            Operand::Memory(address) => {
                let into = self.register(SCRATCH);
                self.code.push(Instruction::Read { into, address, order: Order::Relaxed, until: None });
                into
            }
        }
    }

    fn instruction(&mut self) -> Result<(), InputError> {
        let mut token = self.lexer.peek();
        let mut name = self.lexer.name("an instruction, `|`, or `;`")?.to_ascii_uppercase();
        let is_locked = name == "LOCK";
        if is_locked {
            self.lexer.take(";");
            token = self.lexer.peek();
            name = self.lexer.name("an instruction with a lock")?.to_ascii_uppercase();
        }
        match name.as_str() {
            "MFENCE" if !is_locked => {
                self.code.push(Instruction::Fence(Order::SequentiallyConsistent));
                return Ok(());
            }
            // They order nothing that these models do not order.
            "LFENCE" | "SFENCE" | "NOP" if !is_locked => return Ok(()),
            _ => {}
        }
        let first = self.operand()?;
        if matches!(name.as_str(), "INC" | "DEC") && !is_locked {
            let operator = if name == "INC" { Binary::Add } else { Binary::Sub };
            self.plain(&first, &Operand::Number(1), operator);
            return Ok(());
        }
        if matches!(name.as_str(), "INC" | "DEC") {
            let Operand::Memory(address) = first else {
                return Err(self.lexer.at(token, "a lock is for an access of memory", Some("`[` and a location")));
            };
            let operation = if name == "INC" { Operation::Add } else { Operation::Sub };
            let operand = self.value(&Operand::Number(1));
            self.rmw(address, operation, operand);
            return Ok(());
        }
        self.lexer.expect(",")?;
        let second = self.operand()?;
        let operation = match name.as_str() {
            "MOV" if !is_locked => return self.mov(&first, &second),
            "XCHG" => Operation::Exchange,
            "XADD" | "ADD" if is_locked => Operation::Add,
            "SUB" if is_locked => Operation::Sub,
            "AND" if is_locked => Operation::And,
            "OR" if is_locked => Operation::Or,
            "XOR" if is_locked => Operation::Xor,
            "CMPXCHG" if is_locked => Operation::CompareExchange(self.register("EAX")),
            "ADD" => return Ok(self.plain(&first, &second, Binary::Add)),
            "SUB" => return Ok(self.plain(&first, &second, Binary::Sub)),
            "AND" => return Ok(self.plain(&first, &second, Binary::And)),
            "OR" => return Ok(self.plain(&first, &second, Binary::Or)),
            "XOR" => return Ok(self.plain(&first, &second, Binary::Xor)),
            _ => {
                let expected = "MOV, MFENCE, XCHG, ADD, SUB, AND, OR, XOR, INC, DEC, or LOCK with one of these, XADD or \
                                CMPXCHG";
                return Err(self.lexer.at(token, "this instruction is not known here", Some(expected)));
            }
        };
        let (address, other) = match (first, second) {
            (Operand::Memory(address), other @ (Operand::Register(_) | Operand::Number(_))) => (address, other),
            (Operand::Register(register), Operand::Memory(address)) if name == "XCHG" => {
                (address, Operand::Register(register))
            }
            _ => return Err(self.lexer.at(token, "one operand must be a location", Some("`[` and a location"))),
        };
        let gives_back = match (name.as_str(), &other) {
            ("XCHG" | "XADD", &Operand::Register(register)) => Some(register),
            ("CMPXCHG", _) => Some(self.register("EAX")),
            _ => None,
        };
        let operand = self.value(&other);
        let old = self.rmw(address, operation, operand);
        if let Some(register) = gives_back {
            self.code.push(Instruction::Copy(register, old));
        }
        Ok(())
    }

    /// An operator without a lock: of a location, it reads and then writes, and others may come between.
    fn plain(&mut self, first: &Operand, second: &Operand, operator: Binary) {
        let right = self.register("$right");
        let value = self.value(second);
        self.code.push(Instruction::Copy(right, value));
        let left = self.value(first);
        self.code.push(Instruction::Binary(operator, left, left, right));
        if let &Operand::Memory(address) = first {
            self.code.push(Instruction::Write { address, order: Order::Relaxed, from: left });
        }
    }

    fn mov(&mut self, into: &Operand, from: &Operand) -> Result<(), InputError> {
        match (into, from) {
            (&Operand::Memory(address), Operand::Register(_) | Operand::Number(_)) => {
                let from = self.value(from);
                self.code.push(Instruction::Write { address, order: Order::Relaxed, from });
            }
            (&Operand::Register(into), &Operand::Memory(address)) => {
                self.code.push(Instruction::Read { into, address, order: Order::Relaxed, until: None });
            }
            (&Operand::Register(into), &Operand::Number(value)) => self.code.push(Instruction::Set(into, value)),
            (&Operand::Register(into), &Operand::Register(from)) => self.code.push(Instruction::Copy(into, from)),
            _ => return Err(self.lexer.unexpected("a register as one of the operands of MOV")),
        }
        Ok(())
    }

    /// The answer is the register that has the old value.
    fn rmw(&mut self, address: Address, operation: Operation, operand: Register) -> Register {
        let into = self.register("$old");
        let (order, failure) = (Order::Relaxed, Order::Relaxed);
        let fence = matches!(operation, Operation::CompareExchange(_))
            .then_some(Instruction::Fence(Order::SequentiallyConsistent));
        self.code.extend(fence);
        self.code.push(Instruction::Rmw { into, address, order, failure, operation, operand });
        self.code.extend(fence);
        into
    }
}
