//! The monitor of isolation levels: transactions in the order in which they commit.
//!
//! **The stream.** Events come in the order in which they happened: the begin of a transaction, its operations, its
//! end. A stream is *in commit order* if every transaction ends after those that it reads from. Then every transaction
//! is looked at when it ends. Otherwise it waits:
//! - A transaction that reads from one that has not ended waits for that end. The next ones of its session wait, too.
//! - A value that nobody wrote so far can only come from a transaction that had begun when the read returned. So a
//!   transaction that read such a value waits until all transactions have ended that were open when it ended itself.
//!   Then the value is from nowhere (`thin-air`, or `G1a`). If lines say nothing about time
//!   ([`Transactions::set_untimed`]), it waits for the end of the stream.
//! - Transactions that wait for each other are a cycle of session order and reads-from: `G1c`.
//!
//! **What is decided.** The transactions that are looked at are closed under session order and reads-from. After every
//! event the monitor says what the checker would say of these. A part of an allowed history that is closed so is
//! allowed, so a violation is one of the whole stream. At the end of the stream, all transactions are looked at.
//! - `read-committed`, `read-atomic`, `causal`: exact. A commit order exists exactly if session order, reads-from,
//!   known versions of lists and the pairs that the level forces have no cycle. All pairs that a transaction forces are
//!   found when it is looked at, by the clocks of [`graph`].
//! - `serializable`: every violation is one. The pairs that follow from the order so far are forced, and
//!   anti-dependencies follow. That is all there is to know on lists, and on registers where every writer reads its key
//!   first. Silence is also a proof if every read returned the newest version: then the stream is a witness. Otherwise
//!   the order of blind writes stays undecided, and the monitor says so ([`Transactions::doubt`]).
//!
//! **What is forgotten.** The last transactions are kept ([`Transactions::set_window`]), and with them the newest
//! version of each key and the last transaction of each session. Of what is forgotten, the first and the last writer of
//! each key and session stay as numbers. They tell whether it could have mattered:
//! - A read whose transaction knows of a forgotten writer of the key would force that writer before the version that it
//!   returns. If that version is known to come after the last forgotten writer anyway, nothing is lost. This is so once
//!   the sessions have made progress. Otherwise there is a doubt, and the verdict at the end is `unknown`.
//! - A value that is not known is from nowhere, or it was forgotten. If all forgotten versions of the key are before
//!   one that the transaction knows of, it is a violation either way. Otherwise the monitor gives up.
//!
//! So memory is in proportion to window + keys + sessions (for `read-atomic`, keys times sessions), each times the
//! number of sessions, whatever the length of the stream. A value must not be written twice to a key. If the first
//! writer is forgotten, the monitor takes the second for the only one.

mod counting;
mod graph;
mod keys;
mod waiting;

use std::collections::VecDeque;

use history::{Status, Value};
use model::Model;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::{Monitor, Progress, Violation};
use graph::{ChainPlace, KeptGraph, KeptTransaction, NodeId};
use keys::{Key, Version};
use waiting::Waiting;

/// How many transactions are kept, if nothing is said.
const WINDOW: u32 = 10_000;
/// How many transactions may wait for others.
const MOST_WAITING: usize = 1000;
/// How many sessions there may be, and transactions of unknown end that are read.
const MOST_CHAINS: usize = 1 << 16;

/// An event of a stream of transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionEvent {
    /// The session: a number, best from zero on without large gaps.
    pub session: u32,
    /// What it does.
    pub action: TransactionAction,
}

/// What a session does. Keys are numbers, best from zero on without large gaps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TransactionAction {
    /// It begins a transaction.
    Begin,
    /// It reads a register; [`Value::NONE`] if the result is not known.
    Read {
        /// The key.
        key: u32,
        /// The result.
        value: Value,
    },
    /// It reads a list.
    ReadList {
        /// The key.
        key: u32,
        /// The elements.
        elements: Box<[Value]>,
    },
    /// It writes a register.
    Write {
        /// The key.
        key: u32,
        /// The value.
        value: Value,
    },
    /// It appends to a list.
    Append {
        /// The key.
        key: u32,
        /// The element.
        value: Value,
    },
    /// Its transaction ends.
    End(Status),
}

/// The levels that have a monitor, from weak to strong.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Level {
    ReadCommitted,
    ReadAtomic,
    Causal,
    Serializable,
}

/// Why the monitor stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Fault {
    Violation(String),
    GaveUp(String),
}

/// A session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Session {
    /// Its chain, once a transaction of it has ended.
    chain: Option<u32>,
    /// How many of its committed transactions have ended, and how many of these count.
    ended: u32,
    counted: u32,
    /// The last one that counts.
    last: Option<NodeId>,
    /// The number of the event that began its open transaction.
    open: Option<u64>,
    /// The operations of the open transaction.
    operations: Vec<TransactionAction>,
}

/// A monitor of `read-committed`, `read-atomic`, `causal` or `serializable`.
///
/// After a violation it decides nothing more.
///
/// ```
/// use model::Model;
/// use history::{Status, Value};
/// use monitor::{Monitor, TransactionAction::*, TransactionEvent, Transactions};
///
/// let mut monitor = Transactions::new(Model::Causal).expect("causal has a monitor");
/// let [x, y, one] = [0, 1, 2].map(|n| n);
/// let mut run = |session, actions: &[monitor::TransactionAction]| {
///     let events = actions.iter().map(|action| TransactionEvent { session, action: action.clone() });
///     events.into_iter().try_for_each(|event| monitor.push(event).map(|_| ()))
/// };
/// let value = Value::small(one);
/// run(0, &[Begin, Write { key: x, value }, Write { key: y, value }, End(Status::Committed)])?;
/// // The second session sees half of that transaction.
/// let half = [Begin, Read { key: x, value }, Read { key: y, value: Value::ZERO }, End(Status::Committed)];
/// assert_eq!(run(1, &half).unwrap_err().event, 7);
/// # Ok::<(), monitor::Violation>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transactions {
    level: Level,
    window: usize,
    is_timed: bool,
    initial: Value,
    initials: FxHashMap<u32, Value>,
    events: u64,
    /// Why nothing is decided any more.
    over: Option<String>,
    doubt: Option<String>,
    is_finished: bool,
    graph: KeptGraph,
    sessions: Vec<Session>,
    keys: Vec<Key>,
    /// Who wrote a value, of those that are kept.
    versions: FxHashMap<(u32, Value), Version>,
    /// What aborted transactions wrote lately.
    aborted: FxHashSet<(u32, Value)>,
    aborted_order: VecDeque<(u32, Value)>,
    /// What has ended and is not looked at yet, in the order of the ends.
    waiting: Vec<Waiting>,
    /// Kept transactions, the oldest first.
    age: VecDeque<NodeId>,
    /// Of `read-atomic`: the last writer of each session and key.
    lasts: FxHashMap<(u32, u32), NodeId>,
    silence: Silence,
}

/// What makes silence a proof, under `serializable`.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
struct Silence {
    /// Whether every read so far returned the newest version, so that the stream is a witness.
    is_replayed: bool,
    /// Whether anything was forgotten.
    has_forgotten: bool,
    /// Whether the order of all versions is known.
    is_ordered: bool,
}

impl Transactions {
    /// A monitor of a level. None if the level has no monitor. All registers hold zero.
    pub fn new(model: Model) -> Option<Self> {
        let level = match model {
            Model::ReadCommitted => Level::ReadCommitted,
            Model::ReadAtomic => Level::ReadAtomic,
            Model::Causal => Level::Causal,
            Model::Serializable => Level::Serializable,
            _ => return None,
        };
        Some(Self {
            level,
            window: WINDOW as usize,
            is_timed: true,
            initial: Value::ZERO,
            initials: FxHashMap::default(),
            events: 0,
            over: None,
            doubt: None,
            is_finished: false,
            graph: KeptGraph::default(),
            sessions: Vec::new(),
            keys: Vec::new(),
            versions: FxHashMap::default(),
            aborted: FxHashSet::default(),
            aborted_order: VecDeque::new(),
            waiting: Vec::new(),
            age: VecDeque::new(),
            lasts: FxHashMap::default(),
            silence: Silence { is_replayed: true, has_forgotten: false, is_ordered: true },
        })
    }

    /// The level that is monitored.
    pub const fn model(&self) -> Model {
        match self.level {
            Level::ReadCommitted => Model::ReadCommitted,
            Level::ReadAtomic => Model::ReadAtomic,
            Level::Causal => Model::Causal,
            Level::Serializable => Model::Serializable,
        }
    }

    /// Sets how many transactions are kept; at least two.
    pub fn set_window(&mut self, transactions: u32) {
        self.window = transactions.max(2) as usize;
    }

    /// States that the order of events across sessions says nothing about time.
    pub fn set_untimed(&mut self) {
        self.is_timed = false;
    }

    /// Sets the initial value of all registers that [`Self::set_initial`] does not name.
    pub fn set_default_initial(&mut self, value: Value) {
        self.initial = value;
    }

    /// Sets the initial value of a register.
    pub fn set_initial(&mut self, key: u32, value: Value) {
        self.initials.insert(key, value);
    }

    /// How many transactions are kept.
    pub fn kept(&self) -> usize {
        self.graph.len()
    }

    /// Why silence of the monitor is no proof; `None` if it is proof.
    pub fn doubt(&self) -> Option<&str> {
        if let Some(reason) = self.over.as_deref().or(self.doubt.as_deref()) {
            return Some(reason);
        }
        if !self.is_finished && !self.waiting.is_empty() {
            return Some("some transactions wait until those that they read from have ended");
        }
        let Silence { is_replayed, has_forgotten, is_ordered } = self.silence;
        match self.level {
            Level::Serializable if is_replayed || is_ordered && !has_forgotten => None,
            Level::Serializable if is_ordered => Some(
                "no violation was found, but some reads did not return the newest version, and transactions older than \
                 the window (--window) may violate the level together with others",
            ),
            Level::Serializable => Some(
                "no violation was found, but some reads did not return the newest version, and the order of versions \
                 that were written without a read before is not known",
            ),
            _ => None,
        }
    }

    /// Looks at what waits, at the end of a stream. What has not ended is indeterminate.
    pub fn finish(&mut self) -> Result<(), Violation> {
        if self.over.is_some() || self.is_finished {
            return Ok(());
        }
        let open = |sessions: &[Session]| {
            let open = sessions.iter().enumerate().filter_map(|(at, session)| Some((session.open?, at)));
            open.min().map(|(_, at)| at as u32)
        };
        while let Some(session) = open(&self.sessions) {
            if let Err(fault) = self.end(session, Status::Indeterminate) {
                return self.stop(fault, self.events.saturating_sub(1)).map(|_| ());
            }
        }
        self.is_finished = true;
        match self.advance() {
            Ok(()) => Ok(()),
            Err(fault) => self.stop(fault, self.events.saturating_sub(1)).map(|_| ()),
        }
    }

    fn stop(&mut self, fault: Fault, event: u64) -> Result<Progress, Violation> {
        match fault {
            Fault::Violation(reason) => {
                self.over = Some("nothing is decided after a violation".to_owned());
                Err(Violation { event, reason, evidence: None })
            }
            Fault::GaveUp(reason) => {
                self.over = Some(reason.clone());
                Ok(Progress::GaveUp(reason))
            }
        }
    }

    fn take(&mut self, session: u32, action: TransactionAction) -> Result<Option<&'static str>, Fault> {
        let at = session as usize;
        if self.sessions.len() <= at {
            if at >= MOST_CHAINS {
                return Err(too_many_chains());
            }
            self.sessions.resize_with(at + 1, Session::default);
        }
        let of = &mut self.sessions[at];
        match (of.open, action) {
            (None, TransactionAction::Begin) => {
                of.open = Some(self.events - 1);
                Ok(None)
            }
            (Some(_), TransactionAction::Begin) => Ok(Some("this session has a transaction open")),
            (None, _) => Ok(Some("this session has no transaction open")),
            (Some(_), TransactionAction::End(status)) => self.end(session, status).map(|()| None),
            (Some(_), action) => {
                of.operations.push(action);
                Ok(None)
            }
        }
    }

    fn key(&mut self, key: u32) -> &mut Key {
        if self.keys.len() <= key as usize {
            self.keys.resize_with(key as usize + 1, Key::default);
        }
        &mut self.keys[key as usize]
    }

    fn initial_value(&self, key: u32) -> Value {
        self.initials.get(&key).copied().unwrap_or(self.initial)
    }

    /// Takes in the end of a transaction.
    fn end(&mut self, session: u32, status: Status) -> Result<(), Fault> {
        let event = self.events.saturating_sub(1);
        let of = &mut self.sessions[session as usize];
        of.open = None;
        let operations = std::mem::take(&mut of.operations);
        let writes = operations.iter().filter_map(|operation| match *operation {
            TransactionAction::Write { key, value } => Some((key, value, false)),
            TransactionAction::Append { key, value } => Some((key, value, true)),
            _ => None,
        });
        if status == Status::Aborted {
            for (key, value, _) in writes {
                if self.aborted.insert((key, value)) {
                    self.aborted_order.push_back((key, value));
                }
            }
            while self.aborted_order.len() > self.window {
                self.aborted_order.pop_front().map(|slot| self.aborted.remove(&slot));
            }
            return self.advance();
        }
        let writes: Vec<(u32, Value, bool)> = writes.collect();
        let chain = match of.chain {
            Some(chain) => chain,
            None => *of.chain.insert(self.graph.new_chain()),
        };
        let place = ChainPlace { chain, index: of.ended };
        of.ended += u32::from(status == Status::Committed);
        let mut finals: Vec<(u32, Value)> = Vec::new();
        for &(key, value, _) in &writes {
            match finals.iter_mut().find(|(other, _)| *other == key) {
                Some((_, last)) => *last = value,
                None => finals.push((key, value)),
            }
        }
        let node = self.graph.add(KeptTransaction {
            state: graph::State::Waiting,
            place,
            reach: graph::ChainClock::default(),
            seen: graph::ChainClock::default(),
            session: place,
            event,
            writes: writes.iter().map(|&(key, value, _)| (key, value)).collect(),
            finals,
            reads: Vec::new(),
            fault: None,
            pins: 0,
            is_held: false,
        });
        self.announce(node, &writes)?;
        let waiting = Waiting { node, session, is_committed: status == Status::Committed, ended: event, operations };
        if !waiting.is_committed {
            self.follow_session(&waiting);
        }
        self.waiting.push(waiting);
        self.advance()?;
        if self.waiting.last().is_some_and(|waiting| waiting.node == node) {
            self.check_waits()?;
            if self.waiting.len() > MOST_WAITING {
                return Err(Fault::GaveUp(format!(
                    "more than {MOST_WAITING} transactions wait for one that they read from and that has not ended"
                )));
            }
        }
        Ok(())
    }
}

fn too_many_chains() -> Fault {
    Fault::GaveUp(format!("there are more than {MOST_CHAINS} sessions and transactions of unknown end that were read"))
}

impl Monitor for Transactions {
    type Event = TransactionEvent;

    fn push(&mut self, event: TransactionEvent) -> Result<Progress, Violation> {
        let number = self.events;
        self.events += 1;
        if let Some(reason) = &self.over {
            return Ok(Progress::GaveUp(reason.clone()));
        }
        match self.take(event.session, event.action) {
            Ok(None) => Ok(Progress::Possible),
            Ok(Some(refusal)) => Ok(Progress::Refused(refusal.to_owned())),
            Err(fault) => self.stop(fault, number),
        }
    }
}
