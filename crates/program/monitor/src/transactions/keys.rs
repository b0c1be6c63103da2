//! What is known of a key: its writers, its versions, and what was forgotten of it. Of the writers that were forgotten,
//! the first and the last of each chain are remembered.

use history::Value;
use serde::{Deserialize, Serialize};

use super::graph::{ChainPlace, KeptTransaction, NodeId, State};
use super::{Fault, Level, Transactions};

/// Who wrote a value.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
pub(super) struct Version {
    pub(super) node: NodeId,
    /// Whether two transactions wrote it, or it is the initial value.
    pub(super) is_ambiguous: bool,
    /// Of a list: its place among the appends of its transaction to the list, and whether it is the last. Of a
    /// register: whether it is the last value that its transaction wrote.
    pub(super) at: u32,
    pub(super) is_last: bool,
    /// Of a list: whether a read that counts has it.
    pub(super) is_seen: bool,
}

/// The first and the last forgotten writer of a key in a chain.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
pub(super) struct Forgotten {
    pub(super) chain: u32,
    pub(super) first: u32,
    pub(super) last: u32,
}

/// An element of the longest version of a list that was read.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
pub(super) struct Element {
    pub(super) value: Value,
    pub(super) owner: ChainPlace,
    /// Whether it is the last append of its transaction.
    pub(super) is_last: bool,
}

/// What is known of a list.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct List {
    /// The longest version that was read.
    pub(super) order: Vec<Element>,
    /// The transaction of its last element.
    pub(super) last: Option<NodeId>,
    /// Transactions that append to the list and are not in the order.
    pub(super) unseen: Vec<ChainPlace>,
}

/// What is known of a key.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Key {
    /// The kept transactions that count and write it, in the order in which they were looked at.
    pub(super) writers: Vec<NodeId>,
    /// The last of these.
    pub(super) newest: Option<NodeId>,
    pub(super) forgotten: Vec<Forgotten>,
    /// Whether an indeterminate transaction was forgotten that writes it and did not count.
    pub(super) is_unsure: bool,
    /// Of `serializable`: the kept transactions that read it, each with the version; none is the initial one.
    pub(super) readers: Vec<(Option<ChainPlace>, NodeId)>,
    /// Of `serializable`: how many chains of versions there are, each by read-modify-writes.
    pub(super) roots: u32,
    pub(super) is_list: bool,
    pub(super) list: List,
}

impl Transactions {
    /// Makes the values of a transaction that has ended known.
    pub(super) fn announce(&mut self, node: NodeId, writes: &[(u32, Value, bool)]) -> Result<(), Fault> {
        for (number, &(key, value, is_append)) in writes.iter().enumerate() {
            self.key(key).is_list |= is_append;
            let of_key = |writes: &[(u32, Value, bool)]| writes.iter().filter(|write| write.0 == key).count();
            let is_last = if is_append {
                of_key(&writes[number + 1..]) == 0
            } else {
                writes.iter().rev().find(|write| write.0 == key).is_some_and(|write| write.1 == value)
            };
            let at = if is_append { of_key(&writes[..number]) as u32 } else { 0 };
            let is_ambiguous = !is_append && self.initial_value(key) == value;
            let version = Version { node, is_ambiguous, at, is_last, is_seen: false };
            match self.versions.entry((key, value)) {
                std::collections::hash_map::Entry::Vacant(entry) => {
                    entry.insert(version);
                }
                std::collections::hash_map::Entry::Occupied(_) if is_append => {
                    return Err(Fault::GaveUp(
                        "an element was appended to a list twice, so a read does not tell the two appends apart".into(),
                    ));
                }
                std::collections::hash_map::Entry::Occupied(mut entry) if entry.get().node != node => {
                    entry.get_mut().is_ambiguous = true;
                }
                std::collections::hash_map::Entry::Occupied(_) => {}
            }
        }
        Ok(())
    }

    pub(super) fn pin(&mut self, node: NodeId) {
        self.graph.node_mut(node).pins += 1;
    }

    pub(super) fn unpin(&mut self, id: NodeId) {
        let node = self.graph.node_mut(id);
        node.pins -= 1;
        if node.pins == 0 && std::mem::take(&mut node.is_held) {
            self.age.push_front(id);
        }
    }

    /// Forgets the oldest transactions that need not stay.
    pub(super) fn forget(&mut self) {
        while self.age.len() > self.window {
            let Some(id) = self.age.pop_front() else { return };
            let node = self.graph.node_mut(id);
            if node.pins > 0 {
                node.is_held = true;
                continue;
            }
            let node = self.graph.remove(id);
            self.forget_node(id, &node);
        }
    }

    fn forget_node(&mut self, id: NodeId, node: &KeptTransaction) {
        self.silence.has_forgotten = true;
        for slot in &node.writes {
            if self.versions.get(slot).is_some_and(|version| version.node == id) {
                self.versions.remove(slot);
            }
        }
        for &(key, _) in &node.finals {
            let key = &mut self.keys[key as usize];
            if node.state != State::Counted {
                key.is_unsure = true;
                continue;
            }
            key.writers.retain(|&writer| writer != id);
            let ChainPlace { chain, index } = node.place;
            match key.forgotten.iter_mut().find(|forgotten| forgotten.chain == chain) {
                Some(known) => (known.first, known.last) = (known.first.min(index), known.last.max(index)),
                None => key.forgotten.push(Forgotten { chain, first: index, last: index }),
            }
        }
        for read in &node.reads {
            if node.state == State::Dormant {
                if let super::graph::Source::Node(source) = read.source {
                    self.unpin(source);
                }
            } else if self.level == Level::Serializable {
                self.keys[read.key as usize].readers.retain(|&(_, reader)| reader != id);
            }
        }
    }
}
