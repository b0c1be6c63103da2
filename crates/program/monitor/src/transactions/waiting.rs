//! Transactions that have ended and wait for others, and the sources of their reads. A transaction waits for the ends
//! of those that it reads from, and for those before it in its session: see the [module](super).

use history::Value;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::graph::{NodeId, Read, Source, State};
use super::{Fault, TransactionAction, Transactions};

/// A transaction that has ended and is not looked at yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Waiting {
    pub(super) node: NodeId,
    pub(super) session: u32,
    pub(super) is_committed: bool,
    /// The number of the event that ended it.
    pub(super) ended: u64,
    pub(super) operations: Vec<TransactionAction>,
}

/// What the reads of a transaction tell.
enum Resolved {
    /// All sources are known, and were looked at.
    Ready(Vec<Read>),
    /// It waits: for these transactions, and perhaps for others that have not ended.
    Blocked(Vec<NodeId>),
    /// It has a read that no level allows.
    Faulty(Fault),
}

/// What is known of the source of one value.
enum Found {
    Source(Source),
    Blocked(Option<NodeId>),
    Faulty(Fault),
}

fn bad(name: &str, what: &str) -> Fault {
    Fault::Violation(format!("{name}: a transaction reads {what}"))
}

impl Transactions {
    /// Looks at all waiting transactions whose turn has come.
    pub(super) fn advance(&mut self) -> Result<(), Fault> {
        loop {
            let (mut at, mut has_advanced) = (0, false);
            while at < self.waiting.len() {
                match self.resolve(&self.waiting[at]) {
                    Resolved::Blocked(_) => at += 1,
                    Resolved::Ready(reads) => {
                        let waiting = self.waiting.remove(at);
                        self.settle(&waiting, reads)?;
                        has_advanced = true;
                    }
                    Resolved::Faulty(fault) if self.waiting[at].is_committed => return Err(fault),
                    Resolved::Faulty(fault) => {
                        // It matters only if somebody reads from it.
                        let waiting = self.waiting.remove(at);
                        self.graph.node_mut(waiting.node).fault = Some(fault);
                        self.settle(&waiting, Vec::new())?;
                        has_advanced = true;
                    }
                }
            }
            if !has_advanced {
                self.forget();
                return Ok(());
            }
        }
    }

    fn settle(&mut self, waiting: &Waiting, reads: Vec<Read>) -> Result<(), Fault> {
        let id = waiting.node;
        if waiting.is_committed {
            self.count(id, waiting.session, reads)?;
            // Indeterminate transactions right behind it.
            let behind: Vec<Waiting> = self
                .waiting
                .iter()
                .filter(|other| other.session == waiting.session && !other.is_committed)
                .cloned()
                .collect();
            for other in &behind {
                self.follow_session(other);
            }
        } else {
            self.sleep(id, reads);
        }
        self.age.push_back(id);
        Ok(())
    }

    /// If all transactions before it in its session count, an indeterminate transaction comes after the last of them.
    pub(super) fn follow_session(&mut self, waiting: &Waiting) {
        let session = &self.sessions[waiting.session as usize];
        if session.counted != self.graph.node(waiting.node).session.index {
            return;
        }
        if let Some(last) = session.last {
            let (reach, seen) = (self.graph.node(last).reach.clone(), self.graph.node(last).seen.clone());
            let node = self.graph.node_mut(waiting.node);
            (node.reach, node.seen) = (reach, seen);
        }
        self.graph.loose.push(waiting.node);
    }

    /// Whether every transaction that had begun before an event has ended.
    fn has_passed(&self, event: u64) -> bool {
        self.is_finished
            || self.is_timed && self.sessions.iter().all(|session| session.open.is_none_or(|begin| begin > event))
    }

    fn resolve(&self, waiting: &Waiting) -> Resolved {
        let node = self.graph.node(waiting.node);
        let counted = self.sessions[waiting.session as usize].counted;
        let mut is_blocked =
            if waiting.is_committed { counted != node.session.index } else { counted < node.session.index };
        let mut blocked = Vec::new();
        let mut reads = Vec::new();
        for (at, operation) in waiting.operations.iter().enumerate() {
            let (key, found, list) = match operation {
                TransactionAction::Read { key, value } if value.is_some() => {
                    let own = waiting.operations[..at].iter().rev().find_map(|other| match other {
                        TransactionAction::Write { key: other, value } if other == key => Some(*value),
                        _ => None,
                    });
                    match own {
                        Some(own) if own == *value => continue,
                        Some(_) => {
                            return Resolved::Faulty(bad("internal", "a key that it wrote, and not what it wrote"));
                        }
                        None => (*key, self.source(waiting, *key, *value), None),
                    }
                }
                TransactionAction::ReadList { key, elements } => {
                    let own = waiting.operations[..at].iter().filter_map(|other| match other {
                        TransactionAction::Append { key: other, value } if other == key => Some(*value),
                        _ => None,
                    });
                    let own: Vec<Value> = own.collect();
                    if !elements.ends_with(&own) {
                        return Resolved::Faulty(bad("internal", "a list that does not end with its own appends"));
                    }
                    let base = &elements[..elements.len() - own.len()];
                    let found = self.source_of_list(waiting, *key, base, !own.is_empty(), &mut blocked);
                    (*key, found, Some((base.into(), !own.is_empty())))
                }
                _ => continue,
            };
            match found {
                Found::Source(source) => reads.push(Read { key, source, list }),
                Found::Blocked(on) => {
                    is_blocked = true;
                    blocked.extend(on);
                }
                Found::Faulty(fault) => return Resolved::Faulty(fault),
            }
        }
        if is_blocked { Resolved::Blocked(blocked) } else { Resolved::Ready(reads) }
    }

    /// The source of a read of a register.
    fn source(&self, waiting: &Waiting, key: u32, value: Value) -> Found {
        let Some(version) = self.versions.get(&(key, value)) else { return self.missing(waiting, key, value, true) };
        if version.is_ambiguous {
            let reason = "a value was read that was written twice to its key, so the source of the read is not known";
            return Found::Faulty(Fault::GaveUp(reason.to_owned()));
        }
        if version.node == waiting.node {
            Found::Faulty(bad("future-read", "what it writes later"))
        } else if !version.is_last {
            Found::Faulty(bad("intermediate read (G1b)", "what another transaction overwrote itself"))
        } else if self.graph.node(version.node).state == State::Waiting {
            Found::Blocked(Some(version.node))
        } else {
            Found::Source(Source::Node(version.node))
        }
    }

    /// The source of a value that nobody wrote who is kept.
    fn missing(&self, waiting: &Waiting, key: u32, value: Value, is_register: bool) -> Found {
        if is_register && self.initial_value(key) == value {
            Found::Source(Source::Init)
        } else if !self.has_passed(waiting.ended) {
            Found::Blocked(None)
        } else if self.aborted.contains(&(key, value)) {
            Found::Faulty(bad("aborted read (G1a)", "what only an aborted transaction wrote"))
        } else {
            Found::Source(Source::Unknown)
        }
    }

    /// The source of a read of a list, whose elements without own appends are these.
    fn source_of_list(
        &self,
        waiting: &Waiting,
        key: u32,
        base: &[Value],
        has_own: bool,
        blocked: &mut Vec<NodeId>,
    ) -> Found {
        let order = self.keys.get(key as usize).map_or(&[][..], |key| &key.list.order);
        let known = order.iter().zip(base).take_while(|(element, value)| element.value == **value).count();
        if known < order.len().min(base.len()) {
            return Found::Faulty(bad("incompatible-order", "a version of a list that contradicts another version"));
        }
        let mut is_blocked = false;
        let mut is_unknown = false;
        for &value in &base[known..] {
            let Some(version) = self.versions.get(&(key, value)) else {
                match self.missing(waiting, key, value, false) {
                    Found::Blocked(_) => is_blocked = true,
                    Found::Source(_) => is_unknown = true,
                    faulty @ Found::Faulty(_) => return faulty,
                }
                continue;
            };
            if version.node == waiting.node {
                return Found::Faulty(if has_own {
                    bad("duplicate-elements", "a list that has an element twice")
                } else {
                    bad("future-read", "what it appends later")
                });
            }
            if self.graph.node(version.node).state == State::Waiting {
                is_blocked = true;
                blocked.push(version.node);
            }
        }
        let Some(last) = base.last() else { return Found::Source(Source::Init) };
        let version = self.versions.get(&(key, *last));
        let is_whole = if known == base.len() { order[known - 1].is_last } else { version.is_none_or(|it| it.is_last) };
        if !is_whole {
            return Found::Faulty(bad("intermediate read (G1b)", "a part of the appends of another transaction"));
        }
        match version {
            _ if is_blocked => Found::Blocked(None),
            Some(version) if !is_unknown => Found::Source(Source::Node(version.node)),
            _ => Found::Source(Source::Unknown),
        }
    }

    /// Transactions that wait for each other are a violation if one of them counts, or is read by one that counts.
    pub(super) fn check_waits(&self) -> Result<(), Fault> {
        let places: FxHashMap<NodeId, usize> =
            self.waiting.iter().enumerate().map(|(at, waiting)| (waiting.node, at)).collect();
        // By session: the last committed transaction that waits.
        let mut before: FxHashMap<u32, usize> = FxHashMap::default();
        let mut onward: Vec<Vec<usize>> = Vec::with_capacity(self.waiting.len());
        for (at, waiting) in self.waiting.iter().enumerate() {
            let mut targets: Vec<usize> = before.get(&waiting.session).copied().into_iter().collect();
            if let Resolved::Blocked(on) = self.resolve(waiting) {
                targets.extend(on.iter().filter_map(|node| places.get(node)));
            }
            onward.push(targets);
            if waiting.is_committed {
                before.insert(waiting.session, at);
            }
        }
        // 0: not visited; 1: on the path; 2: done.
        let mut marks = vec![0u8; self.waiting.len()];
        let committed = (0..self.waiting.len()).filter(|&at| self.waiting[at].is_committed);
        for start in committed {
            let mut path = vec![(start, 0)];
            while let Some((at, next)) = path.last_mut() {
                marks[*at] = marks[*at].max(1);
                let Some(&to) = onward[*at].get(*next) else {
                    marks[*at] = 2;
                    path.pop();
                    continue;
                };
                *next += 1;
                match marks[to] {
                    0 => path.push((to, 0)),
                    1 => {
                        return Err(Fault::Violation(
                            "cyclic information flow (G1c): transactions read from each other".to_owned(),
                        ));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
