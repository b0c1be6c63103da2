//! Register: MATCH1, READWRITE, READFROM.
//!
//! The initial value is a write before everything. A compare-and-swap that succeeds reads the value that it expects,
//! and writes. A compare-and-swap that fails reads another value. A pending one is used or dropped; if it is used, it
//! succeeds.

use crate::refinement::Invocation;
use batsat::Lit;
use history::Method;
use object::ValueId;

use super::Theory;
use super::formula::Formula;

/// A write; the initial one has no number.
#[derive(Copy, Clone)]
struct Write {
    number: Option<u32>,
    value: ValueId,
    used: Lit,
}

/// The values that a read accepts.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Accepts {
    Any,
    Only(ValueId),
    AllBut(ValueId),
}

impl Accepts {
    fn accepts(self, value: ValueId) -> bool {
        match self {
            Self::Any => true,
            Self::Only(wanted) => value == wanted,
            Self::AllBut(unwanted) => value != unwanted,
        }
    }
}

/// A read that must have a source if the guard holds.
struct Read {
    number: u32,
    accepts: Accepts,
    sources: Vec<(Write, Lit)>,
    more: Lit,
}

pub(super) struct Register {
    initial: ValueId,
    writes: Vec<Write>,
    /// Open operations that read and write.
    open: Vec<Read>,
    invocations: Vec<Invocation>,
}

fn before(formula: &Formula, write: Write, y: u32) -> Lit {
    write.number.map_or(formula.truth(), |x| formula.before(x, y))
}

impl Register {
    pub(super) fn new(initial: ValueId) -> Self {
        Self { initial, writes: Vec::new(), open: Vec::new(), invocations: Vec::new() }
    }

    /// READFROM: `write` does not come between the source and the read.
    fn is_not_between(formula: &mut Formula, source: (Write, Lit), write: Write, read: u32) {
        let Some(w) = write.number else { return };
        if source.0.number == Some(w) || w == read {
            return;
        }
        let to_source = source.0.number.map_or(!formula.truth(), |s| formula.before(w, s));
        let to_read = formula.before(w, read);
        formula.clause(&[!source.1, !write.used, !to_read, to_source]);
    }

    /// Allows that this write is the source of a read.
    fn allow(formula: &mut Formula, read: &mut Read, write: Write) -> Option<Lit> {
        let order = before(formula, write, read.number);
        if write.number == Some(read.number) || !read.accepts.accepts(write.value) || order == !formula.truth() {
            return None;
        }
        let literal = formula.variable();
        formula.clause(&[!literal, order]);
        formula.clause(&[!literal, write.used]);
        for &(_, other) in &read.sources {
            formula.not_all(&[literal, other]);
        }
        read.sources.push((write, literal));
        Some(literal)
    }

    fn read(&mut self, formula: &mut Formula, number: u32, guard: Lit, accepts: Accepts) -> Read {
        let more = formula.more(number);
        let mut read = Read { number, accepts, sources: Vec::new(), more };
        let mut clause = vec![!guard, more];
        for &write in &self.writes {
            clause.extend(Self::allow(formula, &mut read, write));
        }
        formula.clause(&clause);
        for &source in &read.sources {
            for &write in &self.writes {
                Self::is_not_between(formula, source, write, number);
            }
        }
        read
    }
}

impl Theory for Register {
    fn call(&mut self, formula: &mut Formula, number: u32, invocation: Invocation, _: Option<ValueId>) {
        if self.writes.is_empty() {
            self.writes.push(Write { number: None, value: self.initial, used: formula.truth() });
        }
        self.invocations.push(invocation);
        if invocation.method == Method::Read {
            return;
        }
        let write = Write { number: Some(number), value: invocation.argument, used: formula.variable() };
        self.writes.push(write);
        for read in &mut self.open {
            if let Some(literal) = Self::allow(formula, read, write) {
                let mut more = read.more;
                formula.go_on(read.number, &mut more, literal);
                read.more = more;
                for &other in &self.writes {
                    Self::is_not_between(formula, (write, literal), other, read.number);
                }
            }
            for at in 0..read.sources.len() {
                Self::is_not_between(formula, read.sources[at], write, read.number);
            }
        }
        let accepts = match invocation.method {
            Method::Cas => Accepts::Only(invocation.expected),
            Method::Rmw => Accepts::Any,
            _ => return,
        };
        let read = self.read(formula, number, write.used, accepts);
        self.open.push(read);
    }

    fn return_(&mut self, formula: &mut Formula, number: u32, result: ValueId) -> Result<(), &'static str> {
        let open = self.open.iter().position(|read| read.number == number).map(|at| self.open.remove(at));
        let used = self.writes.iter().rev().find(|write| write.number == Some(number)).map(|write| write.used);
        match (self.invocations[number as usize].method, result) {
            (Method::Read, ValueId::NONE) => {}
            (Method::Read, _) => drop(self.read(formula, number, formula.truth(), Accepts::Only(result))),
            (Method::Cas, ValueId::NONE) => return Err("the theory asks for the result of each compare-and-swap"),
            (Method::Cas, ValueId::FALSE) => {
                formula.clause(&[!used.unwrap_or(!formula.truth())]);
                let unwanted = self.invocations[number as usize].expected;
                self.read(formula, number, formula.truth(), Accepts::AllBut(unwanted));
            }
            _ => {
                formula.clause(&[used.unwrap_or(formula.truth())]);
                for (write, literal) in open.into_iter().flat_map(|read| read.sources) {
                    if result.is_index() && write.value != result {
                        formula.clause(&[!literal]);
                    }
                }
            }
        }
        Ok(())
    }

    fn pending_effects(&self, formula: &Formula) -> Vec<(u32, ValueId)> {
        let mut effects = Vec::new();
        for write in &self.writes {
            let Some(number) = write.number.filter(|&number| formula.is_open(number)) else { continue };
            if formula.holds(write.used) {
                let read = self.open.iter().find(|read| read.number == number);
                let source = read.and_then(|read| read.sources.iter().find(|&&(_, literal)| formula.holds(literal)));
                let result = match self.invocations[number as usize].method {
                    Method::Cas => ValueId::TRUE,
                    Method::Rmw => source.map_or(ValueId::NONE, |(write, _)| write.value),
                    _ => ValueId::NONE,
                };
                effects.push((number, result));
            }
        }
        effects
    }
}
