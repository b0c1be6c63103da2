//! The threads of a test in x86 assembly, in columns: in Intel's syntax for `X86`, and in AT&T's for `X86_64`.
//!
//! Flags are two registers: what was compared last, or a result and 0. A conditional jump compares them.
//!
//! A locked instruction is a full fence. The models take an rmw as one, but a compare-exchange that fails as a read;
//! that is why a compare-exchange has fences around it.

use std::collections::BTreeMap;

use format::InputError;

use super::lexer::{Kind, Lexer, Token};
use super::machine::{Address, Binary, Instruction, Operation, Register, Thread};
use super::{Architecture, MAX_THREADS, Names};
use crate::program::{Comparison, Integer, Order, Value};

/// Reads the columns, which the condition or the end of the file ends.
pub(super) fn parse(
    lexer: &mut Lexer<'_>,
    names: &mut Names,
    architecture: Architecture,
) -> Result<Vec<Thread>, InputError> {
    let mut threads: Vec<Thread> = Vec::new();
    let mut labels: Vec<Labels<'_>> = Vec::new();
    loop {
        if lexer.text_of(lexer.peek()) != format!("P{}", threads.len()) {
            return Err(lexer.unexpected(&format!("`P{}`", threads.len())));
        }
        if threads.len() == MAX_THREADS {
            return Err(lexer.at(lexer.peek(), "there are too many threads", Some("at most 256")));
        }
        lexer.next();
        threads.push(Thread::default());
        labels.push(Labels::default());
        names.threads.push(BTreeMap::new());
        if !lexer.take("|") {
            break;
        }
    }
    lexer.expect(";")?;
    let ends = ["exists", "forall", "final", "~", "not", "locations", "("];
    while lexer.peek().kind != Kind::End && !ends.iter().any(|end| lexer.is_next(end)) {
        for thread in 0..threads.len() {
            if !lexer.is_next("|") && !lexer.is_next(";") {
                let (code, labels) = (&mut threads[thread].code, &mut labels[thread]);
                Cell { lexer, names, architecture, thread, code, labels, integer: None }.cell()?;
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
    for ((thread, registers), labels) in threads.iter_mut().zip(&names.threads).zip(labels) {
        thread.registers = registers.len() as u32;
        for (at, label) in labels.jumps {
            let Some(&to) = labels.places.get(lexer.text_of(label)) else {
                return Err(lexer.at(label, "there is no such label in this thread", Some("a label: `L0:`")));
            };
            match &mut thread.code[at] {
                Instruction::Jump(place) | Instruction::Unless(_, place) => *place = to,
                _ => {}
            }
        }
    }
    Ok(threads)
}

/// The labels of a thread, and the jumps to them.
#[derive(Default)]
struct Labels<'a> {
    places: BTreeMap<&'a str, usize>,
    jumps: Vec<(usize, Token)>,
}

enum Operand {
    Memory(Address),
    Register(Register),
    Number(Value),
}

struct Cell<'l, 'a> {
    lexer: &'l mut Lexer<'a>,
    names: &'l mut Names,
    architecture: Architecture,
    thread: usize,
    code: &'l mut Vec<Instruction>,
    labels: &'l mut Labels<'a>,
    /// The type that the suffix of an instruction says.
    integer: Option<Integer>,
}

/// Registers that no program can name: for values on their way, and for what was compared last.
const SCRATCH: &str = "$";
const COMPARED: [&str; 2] = ["$one", "$other"];

impl Cell<'_, '_> {
    fn register(&mut self, name: &str) -> Register {
        let registers = &mut self.names.threads[self.thread];
        let next = registers.len() as u32;
        *registers.entry(name.to_owned()).or_insert(next)
    }

    /// What stands in a column of a row: labels, and an instruction, or neither.
    fn cell(&mut self) -> Result<(), InputError> {
        while self.lexer.peek().kind == Kind::Name && self.lexer.is_second(":") {
            let token = self.lexer.next();
            self.lexer.next();
            if self.labels.places.insert(self.lexer.text_of(token), self.code.len()).is_some() {
                return Err(self.lexer.at(token, "this label stands in this thread twice", None));
            }
        }
        if self.lexer.is_next("|") || self.lexer.is_next(";") { Ok(()) } else { self.instruction() }
    }

    fn memory(&mut self, end: &str) -> Result<Operand, InputError> {
        let token = self.lexer.peek();
        let name = self.lexer.name("a location")?;
        self.lexer.expect(end)?;
        let Some((base, length)) = self.names.location(name) else {
            return Err(self.lexer.at(token, "there are too many locations", Some("at most 4096")));
        };
        if let Some(integer) = self.integer.filter(|integer| integer.bits() != self.names.integer(base).bits())
            && !self.names.declare(base, length, integer)
        {
            let message = format!("`{name}` is accessed with another width elsewhere in the test");
            return Err(self.lexer.at(token, &message, Some("one width for each location")));
        }
        let integer = self.names.integer(base);
        Ok(Operand::Memory(Address { base, length: 1, index: None, integer }))
    }

    /// The operands of an instruction, in Intel's order: what is changed comes first.
    fn operands(&mut self) -> Result<[Operand; 2], InputError> {
        let first = self.operand()?;
        self.lexer.expect(",")?;
        let second = self.operand()?;
        Ok(if self.architecture == Architecture::X86 { [first, second] } else { [second, first] })
    }

    fn operand(&mut self) -> Result<Operand, InputError> {
        let is_intel = self.architecture == Architecture::X86;
        if is_intel && self.lexer.take("[") {
            return self.memory("]");
        }
        if !is_intel && self.lexer.take("(") {
            return self.memory(")");
        }
        if self.lexer.take("$") || self.lexer.peek().kind == Kind::Number {
            return Ok(Operand::Number(self.lexer.number()?));
        }
        if !is_intel {
            self.lexer.expect("%")?;
        }
        let expected = if is_intel { "a register, `[x]`, or `$1`" } else { "a register `%eax`, `(x)`, or `$1`" };
        let name = self.lexer.name(expected)?;
        let name = self.architecture.register(name);
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
        if self.architecture == Architecture::X86_64 {
            self.integer = take_suffix(&mut name);
        }
        match name.as_str() {
            "MFENCE" if !is_locked => {
                self.code.push(Instruction::Fence(Order::SequentiallyConsistent));
                return Ok(());
            }
            // They order nothing that these models do not order.
            "LFENCE" | "SFENCE" | "NOP" if !is_locked => return Ok(()),
            "JMP" => {
                self.jump(Instruction::Jump(0))?;
                return Ok(());
            }
            "CMP" if !is_locked => {
                let [first, second] = self.operands()?;
                self.compare(&first, &second);
                return Ok(());
            }
            _ => {}
        }
        if let Some(comparison) = jump_if(&name) {
            return self.jump_unless(comparison);
        }
        if matches!(name.as_str(), "INC" | "DEC") && !is_locked {
            let first = self.operand()?;
            let operator = if name == "INC" { Binary::Add } else { Binary::Sub };
            self.plain(&first, &Operand::Number(1), operator);
            return Ok(());
        }
        if matches!(name.as_str(), "INC" | "DEC") {
            let first = self.operand()?;
            let Operand::Memory(address) = first else {
                return Err(self.lexer.at(token, "a lock is for an access of memory", Some("`[` and a location")));
            };
            let operation = if name == "INC" { Operation::Add } else { Operation::Sub };
            let operand = self.value(&Operand::Number(1));
            let old = self.rmw(address, operation, operand);
            self.compare_result(operation, old, operand);
            return Ok(());
        }
        let [first, second] = self.operands()?;
        let plain = match name.as_str() {
            "ADD" => Some(Binary::Add),
            "SUB" => Some(Binary::Sub),
            "AND" => Some(Binary::And),
            "OR" => Some(Binary::Or),
            "XOR" => Some(Binary::Xor),
            _ => None,
        };
        if let Some(operator) = plain.filter(|_| !is_locked) {
            self.plain(&first, &second, operator);
            return Ok(());
        }
        let operation = match name.as_str() {
            "MOV" if !is_locked => return self.mov(&first, &second),
            "XCHG" => Operation::Exchange,
            "XADD" | "ADD" if is_locked => Operation::Add,
            "SUB" if is_locked => Operation::Sub,
            "AND" if is_locked => Operation::And,
            "OR" if is_locked => Operation::Or,
            "XOR" if is_locked => Operation::Xor,
            "CMPXCHG" if is_locked => Operation::CompareExchange(self.accumulator()),
            _ => {
                let expected = "MOV, MFENCE, XCHG, ADD, SUB, AND, OR, XOR, INC, DEC, CMP, JMP, JE, JNE, JL, JLE, JG, \
                                JGE, or LOCK with one of these, XADD or CMPXCHG";
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
            ("CMPXCHG", _) => Some(self.accumulator()),
            _ => None,
        };
        let value = self.value(&other);
        let operand = self.register("$right");
        self.code.push(Instruction::Copy(operand, value));
        let old = self.rmw(address, operation, operand);
        self.compare_result(operation, old, operand);
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
        self.set_flags(left, None);
    }

    /// What a conditional jump compares from now on: two registers, or one with 0.
    fn set_flags(&mut self, one: Register, other: Option<Register>) {
        let [left, right] = COMPARED.map(|name| self.register(name));
        self.code.push(Instruction::Copy(left, one));
        self.code.push(other.map_or(Instruction::Set(right, 0), |other| Instruction::Copy(right, other)));
    }

    fn compare(&mut self, first: &Operand, second: &Operand) {
        let right = self.register("$right");
        let value = self.value(second);
        self.code.push(Instruction::Copy(right, value));
        let left = self.value(first);
        self.set_flags(left, Some(right));
    }

    /// The flags after an rmw: of a compare-exchange whether it succeeded, else of the result.
    fn compare_result(&mut self, operation: Operation, old: Register, operand: Register) {
        let operator = match operation {
            Operation::CompareExchange(expected) => return self.set_flags(old, Some(expected)),
            Operation::Exchange => return,
            Operation::Add => Binary::Add,
            Operation::Sub => Binary::Sub,
            Operation::And => Binary::And,
            Operation::Or => Binary::Or,
            Operation::Xor => Binary::Xor,
        };
        let result = self.register(SCRATCH);
        self.code.push(Instruction::Binary(operator, result, old, operand));
        self.set_flags(result, None);
    }

    /// The register that a compare-exchange compares.
    fn accumulator(&mut self) -> Register {
        let name = self.architecture.register("EAX");
        self.register(&name)
    }

    /// A jump to the label that comes next.
    fn jump(&mut self, instruction: Instruction) -> Result<(), InputError> {
        let label = self.lexer.peek();
        self.lexer.name("a label")?;
        self.labels.jumps.push((self.code.len(), label));
        self.code.push(instruction);
        Ok(())
    }

    /// A jump if what was compared last compares so: unless it compares the other way.
    fn jump_unless(&mut self, comparison: Comparison) -> Result<(), InputError> {
        let [left, right] = COMPARED.map(|name| self.register(name));
        let stays = self.register(SCRATCH);
        self.code.push(Instruction::Binary(Binary::Compare(comparison.opposite()), stays, left, right));
        self.jump(Instruction::Unless(stays, 0))
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

/// When a conditional jump is taken.
fn jump_if(name: &str) -> Option<Comparison> {
    Some(match name {
        "JE" | "JZ" => Comparison::Equal,
        "JNE" | "JNZ" => Comparison::NotEqual,
        "JL" | "JS" => Comparison::Less,
        "JLE" => Comparison::LessOrEqual,
        "JG" => Comparison::Greater,
        "JGE" | "JNS" => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

/// Takes the suffix that says how wide the operands of an instruction are.
fn take_suffix(name: &mut String) -> Option<Integer> {
    let stems = ["MOV", "XCHG", "XADD", "ADD", "SUB", "AND", "OR", "XOR", "INC", "DEC", "CMP", "CMPXCHG"];
    let bits = match name.as_bytes().last()? {
        b'B' => 8,
        b'W' => 16,
        b'L' => 32,
        b'Q' => 64,
        _ => return None,
    };
    if !stems.contains(&&name[..name.len() - 1]) {
        return None;
    }
    name.pop();
    Some(Integer::Signed(bits))
}

/// The name of the whole register of which this is a part: `rax` of `eax`, `ax` and `al`.
pub(super) fn whole_register(name: &str) -> String {
    let stem = name.strip_prefix(['e', 'r']).unwrap_or(name);
    let letter = |stem: &str| stem.strip_suffix(['x', 'l', 'h']).is_some_and(|it| ["a", "b", "c", "d"].contains(&it));
    match stem {
        _ if letter(stem) => format!("r{}x", &stem[..1]),
        "si" | "di" | "bp" | "sp" => format!("r{stem}"),
        "sil" | "dil" | "bpl" | "spl" => format!("r{}", &stem[..2]),
        // `r8d`, `r8w`, `r8b`.
        _ if name.starts_with('r') => name.trim_end_matches(['d', 'w', 'b']).to_owned(),
        _ => name.to_owned(),
    }
}
