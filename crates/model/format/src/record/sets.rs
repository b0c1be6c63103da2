//! Sets in histories of transactions, as registers.
//!
//! A set only grows, and every addition has an element of its own. So a set is a register for each of its elements: it
//! holds the initial value, and then true. A read of a set reads all these registers: true for what it returned, the
//! initial value for every element of the history that it did not return. The absent elements come first, so one read
//! does not see what it has just read itself. So all versions are known, and every level means for sets what it means
//! for these registers. An element that two transactions added, and that was read, is a value that was written twice.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::super::builder::{Builder, refusal};
use super::super::error::Fault;
use super::Notation;
use super::read::Assembler;
use history::history::{KeyId, Method, ProcessId};
use history::transactions::TransactionId;
use history::value::Value;

/// How many reads of elements a history may have. Every read of a set is one of each element.
const MOST_READS: usize = 1 << 25;

/// An operation on a set.
#[derive(Serialize, Deserialize)]
struct Operation {
    transaction: TransactionId,
    session: ProcessId,
    set: KeyId,
    line: u32,
    /// The element that is added.
    element: Value,
    /// All elements, if it is a read.
    read: Option<Box<[Value]>>,
}

/// What was done to the sets of a history, in the order of the file.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Sets(Vec<Operation>);

impl Sets {
    pub(super) fn push(
        &mut self,
        transaction: TransactionId,
        session: ProcessId,
        set: KeyId,
        element: Value,
        read: Option<Box<[Value]>>,
        line: u32,
    ) {
        self.0.push(Operation { transaction, session, set, line, element, read });
    }
}

/// The registers of the elements.
#[derive(Default)]
struct Registers {
    of: FxHashMap<(KeyId, Value), KeyId>,
    taken: FxHashSet<KeyId>,
}

impl Registers {
    /// The register of an element, called `SET/ELEMENT`.
    fn get(&mut self, builder: &mut Builder, set: KeyId, element: Value) -> KeyId {
        if let Some(&known) = self.of.get(&(set, element)) {
            return known;
        }
        let history = builder.so_far();
        let mut name = format!("{}/{}", history.key_name(set), history.words().canonical(element));
        // Names of sets and elements may have such a sign of their own.
        let key = loop {
            let word = builder.words_mut().word(&name);
            let key = builder.key_of(word);
            if self.taken.insert(key) {
                break key;
            }
            name.push('\'');
        };
        self.of.insert((set, element), key);
        key
    }
}

impl<N: Notation> Assembler<N> {
    /// Adds the operations on sets, when all elements are known.
    pub(super) fn spread_sets(&mut self) -> Result<(), Fault> {
        let Sets(operations) = std::mem::take(&mut self.transacting.sets);
        if operations.is_empty() {
            return Ok(());
        }
        let builder = &mut self.builder;
        let mut registers = Registers::default();
        // The sets themselves are keys, too.
        registers.taken.extend(operations.iter().map(|operation| operation.set));
        // By set: its elements, in the order in which they were added.
        let mut elements: FxHashMap<KeyId, Vec<(Value, KeyId)>> = FxHashMap::default();
        let mut known: FxHashSet<(KeyId, Value)> = FxHashSet::default();
        for &Operation { set, element, .. } in operations.iter().filter(|operation| operation.read.is_none()) {
            if known.insert((set, element)) {
                let register = registers.get(builder, set, element);
                elements.entry(set).or_default().push((element, register));
            }
        }
        let reads = operations.iter().filter_map(|operation| Some((operation.set, operation.read.as_ref()?.len())));
        let count: usize = reads.map(|(set, read)| read + elements.get(&set).map_or(0, Vec::len)).sum();
        if count > MOST_READS {
            let message = format!("the reads of sets are {count} reads of elements, and {MOST_READS} are the most");
            return Err(Fault::new(0, message).expected("sets with fewer elements"));
        }
        for Operation { transaction, session, set, line, element, read } in operations {
            let add = |builder: &mut Builder, method, key, value| {
                let added = builder.transact_in(Some(transaction), session, method, key, value, line);
                added.map(|_| ()).map_err(|error| refusal(&error, 0))
            };
            let Some(read) = read else {
                let register = registers.get(builder, set, element);
                add(builder, Method::Write, register, Value::TRUE)?;
                continue;
            };
            let present: FxHashSet<Value> = read.iter().copied().collect();
            for &(element, register) in elements.get(&set).map_or(&[][..], |all| all) {
                if !present.contains(&element) {
                    let absent = builder.initial_value(register);
                    add(builder, Method::Read, register, absent)?;
                }
            }
            for &element in &read {
                let register = registers.get(builder, set, element);
                add(builder, Method::Read, register, Value::TRUE)?;
            }
        }
        Ok(())
    }
}
