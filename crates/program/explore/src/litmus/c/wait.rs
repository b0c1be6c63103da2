//! Loops that wait for a value, as one event.

use super::super::machine::{Binary, Instruction, Register, Unary, Waiting};
use super::{Compiler, UNNAMED};
use crate::program::Comparison;

impl Compiler<'_, '_> {
    /// Makes an await of the code from `start` on: a loop that goes on while the condition holds. It must read once,
    /// and compare what it read (or some bits of it) with something that does not depend on it. Apart from that it may
    /// only give what it read to registers. Else the code stays as it is, and the answer is false.
    pub(super) fn wait(&mut self, start: usize, condition: Register) -> bool {
        let mut before = Vec::new();
        // The read, the registers that have what was read, and the one that has it under the mask.
        let mut read = None;
        let mut copies: Vec<Register> = Vec::new();
        let mut masked: Option<(Register, Register)> = None;
        // The register that tells whether to go on, and the comparison that ends the loop; with 0 if with no register.
        let mut end: Option<(Register, Comparison, Option<Register>)> = None;
        for &instruction in &self.code[start..] {
            // A register without a name is used again by another statement.
            if let Some(into) = instruction.result().filter(|&into| into >= UNNAMED && read.is_some()) {
                copies.retain(|&copy| copy != into);
            }
            let is_value = |register: Register| match masked {
                Some((masked, _)) => masked == register,
                None => copies.contains(&register),
            };
            let depends = |register: Register| {
                copies.contains(&register)
                    || masked.is_some_and(|(masked, _)| masked == register)
                    || end.is_some_and(|(into, ..)| into == register)
            };
            // The other side of an operator that has what was read on one side.
            let other = |one: Register, two: Register| match () {
                () if is_value(one) && !depends(two) => Some(two),
                () if is_value(two) && !depends(one) => Some(one),
                () => None,
            };
            match instruction {
                Instruction::Read { into, address, order, until: None } if read.is_none() => {
                    read = Some((address, order));
                    copies.push(into);
                }
                Instruction::Copy(into, from) if copies.contains(&from) && !depends(into) => copies.push(into),
                Instruction::Binary(Binary::And, into, one, two)
                    if end.is_none() && masked.is_none() && !depends(into) && other(one, two).is_some() =>
                {
                    masked = other(one, two).map(|mask| (into, mask));
                }
                Instruction::Binary(Binary::Compare(how), into, one, two)
                    if end.is_none() && !depends(into) && other(one, two).is_some() =>
                {
                    let how = if is_value(one) { how } else { mirrored(how) };
                    end = Some((into, how.opposite(), other(one, two)));
                }
                Instruction::Unary(Unary::Not, into, one) if end.is_none() && !depends(into) && is_value(one) => {
                    end = Some((into, Comparison::NotEqual, None));
                }
                Instruction::Set(..) | Instruction::Copy(..) | Instruction::Unary(..) | Instruction::Binary(..) => {
                    let mut is_bound = false;
                    let mut instruction = instruction;
                    instruction.for_each_register(|&mut register| is_bound |= depends(register));
                    if is_bound {
                        return false;
                    }
                    before.push(instruction);
                }
                _ => return false,
            }
        }
        let Some((address, order)) = read else { return false };
        let value = masked.map_or(copies.contains(&condition), |(masked, _)| masked == condition);
        let (result, comparison, with) = end.unwrap_or((condition, Comparison::Equal, None));
        if result != condition || end.is_none() && !value {
            return false;
        }
        // What comes before the read is done once. So it must not need what an earlier round has left behind.
        let named: Vec<Register> = copies.into_iter().filter(|&register| register < UNNAMED).collect();
        let mut needs_earlier = address.index.is_some_and(|index| named.contains(&index));
        let mut writes_named = false;
        for instruction in &mut before {
            instruction.for_each_register(|&mut register| needs_earlier |= named.contains(&register));
            writes_named |= instruction.result().is_some_and(|into| into < UNNAMED);
        }
        if needs_earlier || writes_named {
            return false;
        }
        self.code.truncate(start);
        self.code.extend(before);
        let with = with.unwrap_or_else(|| self.constant(0));
        let into = self.fresh();
        let until = Some(Waiting { mask: masked.map(|(_, mask)| mask), comparison, value: with });
        self.code.push(Instruction::Read { into, address, order, until });
        self.code.extend(named.into_iter().map(|register| Instruction::Copy(register, into)));
        true
    }
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
