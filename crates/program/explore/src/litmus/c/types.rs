//! C's integer types, as they are on x86-64 and on Arm's 64-bit machines under Linux, where `char` has a sign.
//!
//! A value of a type is kept as the number that it is; one of an unsigned type of 64 bits as the number with the same
//! bits. What an operator makes of values in the range of their common type is brought back into that range: unsigned
//! types wrap around, and signed ones do so in two's complement, also where C leaves it open.

use super::super::machine::{Binary, Instruction, Register, Unary};
use super::Compiler;
use crate::program::{Comparison, Integer, Value};

/// The value of an expression: the register that has it, and its type.
#[derive(Copy, Clone, Debug)]
pub(super) struct Typed {
    pub(super) register: Register,
    pub(super) integer: Integer,
}

/// Words that say nothing about the numbers of a type.
const QUALIFIERS: [&str; 7] = ["volatile", "const", "register", "static", "_Atomic", "struct", "restrict"];

/// The type that these words name; none if they name none that is known.
pub(in crate::litmus) fn integer_of(words: &[&str]) -> Option<Integer> {
    let words: Vec<&str> = words.iter().copied().filter(|word| !QUALIFIERS.contains(word)).collect();
    let count = |wanted: &str| words.iter().filter(|&&word| word == wanted).count();
    let basic = ["unsigned", "signed", "char", "short", "int", "long"];
    if words.iter().all(|word| basic.contains(word)) && !words.is_empty() {
        let bits = match () {
            () if count("char") > 0 => 8,
            () if count("short") > 0 => 16,
            () if count("long") > 0 => 64,
            () => 32,
        };
        return Some(if count("unsigned") > 0 { Integer::Unsigned(bits) } else { Integer::Signed(bits) });
    }
    let &[word] = words.as_slice() else { return None };
    let name = word.strip_prefix("atomic_").unwrap_or(word);
    Some(match name {
        "bool" | "_Bool" | "flag" => Integer::Bool,
        "char" | "schar" => Integer::Signed(8),
        "uchar" => Integer::Unsigned(8),
        "short" => Integer::Signed(16),
        "ushort" | "char16_t" => Integer::Unsigned(16),
        "int" | "wchar_t" => Integer::Signed(32),
        "uint" | "char32_t" => Integer::Unsigned(32),
        "long" | "llong" | "ssize_t" | "ptrdiff_t" | "intptr_t" | "intmax_t" => Integer::Signed(64),
        "ulong" | "ullong" | "size_t" | "uintptr_t" | "uintmax_t" => Integer::Unsigned(64),
        _ => {
            // `uint_least8_t`, `int_fast16_t`, `uint32_t`.
            let (is_unsigned, rest) = match name.strip_prefix('u') {
                Some(rest) => (true, rest),
                None => (false, name),
            };
            let rest = rest.strip_prefix("int")?.strip_suffix("_t")?;
            let (is_fast, digits) = match rest.strip_prefix("_fast") {
                Some(digits) => (true, digits),
                None => (false, rest.strip_prefix("_least").unwrap_or(rest)),
            };
            let bits = match digits {
                "8" => 8,
                "16" | "32" if is_fast => 64,
                "16" => 16,
                "32" => 32,
                "64" => 64,
                _ => return None,
            };
            if is_unsigned { Integer::Unsigned(bits) } else { Integer::Signed(bits) }
        }
    })
}

/// Whether a word can begin a type.
pub(super) fn is_type(word: &str) -> bool {
    word == "void"
        || ["unsigned", "signed"].contains(&word)
        || QUALIFIERS.contains(&word)
        || word.ends_with("_t")
        || integer_of(&[word]).is_some()
}

/// The type to which C promotes a small one.
fn promoted(integer: Integer) -> Integer {
    match integer {
        Integer::Bool | Integer::Signed(8 | 16) | Integer::Unsigned(8 | 16) => Integer::INT,
        wide => wide,
    }
}

/// The type in which C computes with two values.
pub(super) fn common(one: Integer, two: Integer) -> Integer {
    let [one, two] = [one, two].map(promoted);
    let is_second = two.bits() > one.bits() || two.bits() == one.bits() && one.is_signed();
    if is_second { two } else { one }
}

/// Whether every value of a type is one of another, in the way in which both are kept.
fn is_within(from: Integer, to: Integer) -> bool {
    match (from, to) {
        (Integer::Bool, _) => true,
        (_, Integer::Bool) => false,
        _ if to.bits() == Value::BITS => true,
        (Integer::Signed(_), Integer::Unsigned(_)) => false,
        (Integer::Unsigned(narrow), Integer::Signed(wide)) => narrow < wide,
        _ => from.bits() <= to.bits(),
    }
}

impl Compiler<'_, '_> {
    /// A constant of a type.
    pub(super) fn typed_constant(&mut self, value: Value, integer: Integer) -> Typed {
        Typed { register: self.constant(value), integer }
    }

    /// A truth value, which is an `int` in C.
    pub(super) fn truth_value(register: Register) -> Typed {
        Typed { register, integer: Integer::INT }
    }

    /// The value as one of another type.
    pub(super) fn convert(&mut self, from: Typed, to: Integer) -> Typed {
        if is_within(from.integer, to) {
            return Typed { integer: to, ..from };
        }
        // A constant is converted here and now, so that a loop that waits for it is one event.
        if let Some(Instruction::Set(into, value)) = self.code.last().copied()
            && into == from.register
        {
            self.code.pop();
            self.code.push(Instruction::Set(into, to.wrap(value)));
            return Typed { register: into, integer: to };
        }
        let register = self.fresh();
        self.code.push(Instruction::Unary(Unary::Convert(to), register, from.register));
        Typed { register, integer: to }
    }

    /// What an operator makes of two values.
    pub(super) fn combine(&mut self, operator: Binary, one: Typed, two: Typed) -> Typed {
        // The left side of a shift gives the type alone.
        let integer = match operator {
            Binary::Left | Binary::Right => promoted(one.integer),
            _ => common(one.integer, two.integer),
        };
        let is_shift = matches!(operator, Binary::Left | Binary::Right);
        let two = if is_shift { two } else { self.convert(two, integer) };
        let one = self.convert(one, integer);
        let (mut left, mut right) = (one.register, two.register);
        let is_wide = integer == Integer::Unsigned(64);
        let operator = match operator {
            Binary::Div if is_wide => Binary::UnsignedDiv,
            Binary::Rem if is_wide => Binary::UnsignedRem,
            Binary::Right if is_wide => Binary::UnsignedRight,
            Binary::Compare(how) if is_wide && !matches!(how, Comparison::Equal | Comparison::NotEqual) => {
                // Without a sign, numbers are ordered as those with the other highest bit are with one.
                [left, right] = [left, right].map(|side| {
                    let (flip, into) = (self.constant(Value::MIN), self.fresh());
                    self.code.push(Instruction::Binary(Binary::Xor, into, side, flip));
                    into
                });
                operator
            }
            same => same,
        };
        let register = self.fresh();
        self.code.push(Instruction::Binary(operator, register, left, right));
        match operator {
            Binary::Compare(_) => Self::truth_value(register),
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Left => self.wrapped(register, integer),
            _ => Typed { register, integer },
        }
    }

    /// What an operator makes of a value.
    pub(super) fn apply(&mut self, operator: Unary, value: Typed) -> Typed {
        let register = self.fresh();
        self.code.push(Instruction::Unary(operator, register, value.register));
        match operator {
            Unary::Not => Self::truth_value(register),
            _ => self.wrapped(register, promoted(value.integer)),
        }
    }

    /// A result that may have left the range of its type.
    fn wrapped(&mut self, register: Register, integer: Integer) -> Typed {
        if integer.bits() < Value::BITS {
            self.code.push(Instruction::Unary(Unary::Convert(integer), register, register));
        }
        Typed { register, integer }
    }

    /// Gives a register what an expression is, as a value of the register's type.
    pub(super) fn assign(&mut self, register: Register, value: Typed) -> Typed {
        let integer = self.integer(register);
        let value = self.convert(value, integer);
        self.code.push(Instruction::Copy(register, value.register));
        Typed { register, integer }
    }

    /// A register with a name has this type.
    pub(super) fn declare(&mut self, register: Register, integer: Integer) {
        let thread = self.names.threads.len() - 1;
        self.names.registers.insert((thread, register), integer);
    }

    /// The type of a register.
    pub(super) fn integer(&self, register: Register) -> Integer {
        self.names.integer_of_register(self.names.threads.len() - 1, register)
    }
}
