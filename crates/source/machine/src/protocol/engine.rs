//! The controllers of a memory system: it does what the tables say.
//!
//! The engine has no clock and no network. It takes one event, and says what was sent and done. So the simulator, which
//! delivers messages at random, and the exploration, which delivers them in all orders, run the same code.
//!
//! Invariants of a right protocol, which are looked at on request: a block that one cache may write no other cache may
//! read (*single writer or many readers*); a load returns what was stored last (*data value*); what a cache may read is
//! at the second level, if there is one (*inclusion*).

use history::execution::Kind;

use super::Protocol;
use super::live::Live;
use super::table::{State, Table, TableAction, TableEvent};
use crate::system::{MemoryRequest, Notice};

/// How many locations a block has at most.
pub const MAX_WORDS: usize = 8;
/// How many caches there are at most.
pub const MAX_CACHES: usize = 64;

/// The data of a block.
pub(crate) type Words = [u32; MAX_WORDS];

/// A message between two controllers. The directory has the number after that of the last cache, and the memory behind
/// a second level the next one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Message {
    pub(crate) kind: TableEvent,
    pub(crate) from: u8,
    pub(crate) to: u8,
    /// The cache that the transaction is for.
    pub(crate) requester: u8,
    /// How many acknowledgements the receiver has to wait for.
    pub(crate) acks: i8,
    pub(crate) block: u32,
    pub(crate) data: Words,
    /// A number of its own, if messages are followed.
    pub(crate) id: u32,
}

/// What the answers said about other copies.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Heard {
    /// There are none.
    Nothing,
    /// There are some to be read.
    Shared,
    /// A cache is the owner.
    Owned,
}

/// A block at a controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CacheLine {
    pub(crate) state: State,
    pub(crate) data: Words,
    /// The access that waits for the transaction to end, and its core.
    request: Option<(u32, MemoryRequest)>,
    /// How many answers are still to come; if `counting`, the transaction goes on as soon as there are none.
    pending: i16,
    counting: bool,
    heard: Heard,
    /// What a directory knows.
    owner: u8,
    requester: u8,
    sharers: u64,
    acks: i8,
    kept: Words,
    /// Whether a second level's data differs from the memory's.
    is_changed: bool,
}

/// What a transition led to.
#[derive(Default)]
pub(crate) struct Effects {
    pub(crate) sent: Vec<Message>,
    pub(crate) notices: Vec<Notice>,
    /// How many hits were counted.
    pub(crate) hits: u64,
}

/// A block at a controller as it was before an event, if the event may have to be taken back.
pub(crate) struct Before {
    line: CacheLine,
    last: Words,
    was_whole: bool,
}

/// How an event was taken.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Done,
    Stalled,
    /// The table has no row for it.
    Unexpected(State, TableEvent),
}

/// The controllers of all caches, of the directory, and of the memory if that is another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Engine {
    caches: u8,
    words: u32,
    blocks: usize,
    /// How many cores share a cache.
    sharing: u32,
    /// By controller and block.
    lines: Vec<CacheLine>,
    /// If the invariants are looked at: what was stored last at each location.
    last: Option<Vec<u32>>,
    /// The first invariant that did not hold.
    pub(crate) broken: Option<String>,
}

/// The event that a transition is about.
struct Cause {
    event: TableEvent,
    message: Option<Message>,
    request: Option<(u32, MemoryRequest)>,
}

impl Engine {
    pub(crate) fn new(protocol: &Protocol, caches: u8, words: u32, blocks: usize, checked: bool) -> Self {
        let line = |state| CacheLine {
            state,
            data: [0; MAX_WORDS],
            request: None,
            pending: 0,
            counting: false,
            heard: Heard::Nothing,
            owner: 0,
            requester: 0,
            sharers: 0,
            acks: 0,
            kept: [0; MAX_WORDS],
            is_changed: false,
        };
        let mut lines = vec![line(State::I); usize::from(caches) * blocks];
        lines.resize((usize::from(caches) + 1) * blocks, line(protocol.home));
        if protocol.memory.is_some() {
            lines.resize(lines.len() + blocks, line(State::U));
        }
        let last = checked.then(|| vec![0; blocks * words as usize]);
        Self { caches, words, blocks, sharing: 1, lines, last, broken: None }
    }

    /// So many cores share a cache: the cores with the lowest numbers the first cache, and so on.
    pub(crate) fn shared_by(self, sharing: u32) -> Self {
        Self { sharing, ..self }
    }

    /// How many controllers there are.
    pub(crate) const fn nodes(&self) -> usize {
        self.lines.len() / self.blocks
    }

    pub(crate) fn state(&self, node: u8, block: u32) -> State {
        self.lines[usize::from(node) * self.blocks + block as usize].state
    }

    /// Appends what tells the state of a block at a controller from others, for one location a block. `name` gives the
    /// name of a controller, and `live` what matters of the line.
    ///
    /// Data are told only as far as they are what was stored last or not: in an exploration each store writes a value
    /// of its own, so what is out of date stays so.
    pub(super) fn encode(&self, node: u8, block: u32, live: Live, name: impl Fn(u8) -> u8, into: &mut Vec<u8>) {
        let line = &self.lines[usize::from(node) * self.blocks + block as usize];
        into.push(line.state as u8);
        if live.has(Live::DATA) {
            into.push(self.is_last(block, &line.data).into());
        }
        if live.has(Live::KEPT) && line.heard == Heard::Owned {
            into.push(2 + u8::from(self.is_last(block, &line.kept)));
        }
        if live.has(Live::OWNER) {
            into.push(name(line.owner));
        }
        if live.has(Live::REQUESTER) {
            into.push(name(line.requester));
        }
        if live.has(Live::SHARERS) {
            let named = |sharers, cache| sharers | (line.sharers >> cache & 1) << name(cache);
            into.push((0..self.caches).fold(0u64, named) as u8);
        }
        if live.has(Live::ACKS) {
            into.push(line.acks as u8);
        }
        if node >= self.caches {
            into.push(line.is_changed.into());
        }
        if let Some((_, request)) = line.request {
            into.push(1 + u8::from(request.kind == Kind::Read));
        }
        if line.request.is_some() || line.counting {
            into.push(line.pending as u8);
            into.push(u8::from(line.counting) + 2 * line.heard as u8);
        }
        into.push(u8::MAX);
    }

    /// Whether data are what was stored last into a block of one location.
    pub(super) fn is_last(&self, block: u32, data: &Words) -> bool {
        self.last.as_ref().is_some_and(|last| last[block as usize] == data[0])
    }

    /// How many accesses of a core wait for a transaction to end.
    pub(super) fn requests(&self, core: u8) -> usize {
        let first = usize::from(core) * self.blocks;
        self.lines[first..first + self.blocks].iter().filter(|line| line.request.is_some()).count()
    }

    /// How many blocks a controller has.
    pub(super) fn residents(&self, node: u8) -> usize {
        (0..self.blocks as u32).filter(|&block| self.state(node, block) != State::I).count()
    }

    /// What an event at this controller about this block may change.
    pub(crate) fn before(&self, node: u8, block: u32) -> Before {
        let mut last = [0; MAX_WORDS];
        if let Some(all) = &self.last {
            let first = (block * self.words) as usize;
            last[..self.words as usize].copy_from_slice(&all[first..first + self.words as usize]);
        }
        let line = self.lines[usize::from(node) * self.blocks + block as usize].clone();
        Before { line, last, was_whole: self.broken.is_none() }
    }

    /// Takes back an event: it did not happen.
    pub(crate) fn take_back(&mut self, node: u8, block: u32, before: Before) {
        if let Some(all) = &mut self.last {
            let first = (block * self.words) as usize;
            all[first..first + self.words as usize].copy_from_slice(&before.last[..self.words as usize]);
        }
        if before.was_whole {
            self.broken = None;
        }
        *self.line(node, block) = before.line;
    }

    fn line(&mut self, node: u8, block: u32) -> &mut CacheLine {
        &mut self.lines[usize::from(node) * self.blocks + block as usize]
    }

    /// An access of a core.
    pub(crate) fn request(
        &mut self,
        protocol: &Protocol,
        core: u32,
        request: MemoryRequest,
        effects: &mut Effects,
    ) -> Taken {
        let event = if request.kind == Kind::Read { TableEvent::Load } else { TableEvent::Store };
        let cause = Cause { event, message: None, request: Some((core, request)) };
        let node = (core / self.sharing) as u8;
        self.transition(protocol, node, request.location / self.words, &cause, effects)
    }

    /// A cache wants to be rid of a block.
    pub(crate) fn replace(&mut self, protocol: &Protocol, core: u8, block: u32, effects: &mut Effects) -> Taken {
        let cause = Cause { event: TableEvent::Replacement, message: None, request: None };
        self.transition(protocol, core, block, &cause, effects)
    }

    /// A message arrives.
    pub(crate) fn receive(&mut self, protocol: &Protocol, message: Message, effects: &mut Effects) -> Taken {
        let directory = self.caches;
        let line = self.line(message.to, message.block);
        let event = match message.kind {
            TableEvent::Put | TableEvent::PutClean
                if message.to == directory
                    && protocol.knows_copies
                    && (line.state != State::M || line.owner != message.from) =>
            {
                // While a transaction is under way, nobody knows yet who the owner will be.
                if protocol.directory.row(line.state, TableEvent::PutStale).is_some() {
                    TableEvent::PutStale
                } else {
                    message.kind
                }
            }
            // The copy was lost before the wish to write it arrived.
            TableEvent::Upgrade if line.sharers & (1 << message.from) == 0 || line.state != State::S => {
                TableEvent::GetM
            }
            kind => kind,
        };
        let cause = Cause { event, message: Some(message), request: None };
        self.transition(protocol, message.to, message.block, &cause, effects)
    }

    fn table<'a>(&self, protocol: &'a Protocol, node: u8) -> &'a Table {
        match &protocol.memory {
            Some(memory) if node > self.caches => memory,
            _ if node < self.caches => &protocol.cache,
            _ => &protocol.directory,
        }
    }

    fn transition(&mut self, protocol: &Protocol, node: u8, block: u32, cause: &Cause, effects: &mut Effects) -> Taken {
        let table = self.table(protocol, node);
        let state = self.state(node, block);
        let Some(row) = table.row(state, cause.event) else { return Taken::Unexpected(state, cause.event) };
        if row.actions.first() == Some(&TableAction::Stall) {
            return Taken::Stalled;
        }
        if cause.request.is_some() && row.actions.iter().any(|action| matches!(action, TableAction::Request(_))) {
            self.line(node, block).request = cause.request;
        }
        // The block as it was taken out of the cache.
        let mut work = self.line(node, block).data;
        for &action in &row.actions {
            self.act(action, node, block, cause, &mut work, effects);
        }
        self.line(node, block).state = row.next;
        if self.last.is_some() {
            self.check_copies(protocol, node, block);
        }
        self.complete(protocol, node, block, effects)
    }

    /// If all answers are in, the transaction goes on.
    fn complete(&mut self, protocol: &Protocol, node: u8, block: u32, effects: &mut Effects) -> Taken {
        let table = self.table(protocol, node);
        let line = self.line(node, block);
        if !line.counting || line.pending > 0 {
            return Taken::Done;
        }
        line.counting = false;
        let event = match line.heard {
            Heard::Owned => TableEvent::AllAcksOwned,
            Heard::Shared => TableEvent::AllAcksShared,
            Heard::Nothing => TableEvent::AllAcks,
        };
        let state = line.state;
        let event = if table.row(state, event).is_some() { event } else { TableEvent::AllAcks };
        self.transition(protocol, node, block, &Cause { event, message: None, request: None }, effects)
    }

    fn act(
        &mut self,
        action: TableAction,
        node: u8,
        block: u32,
        cause: &Cause,
        work: &mut Words,
        effects: &mut Effects,
    ) {
        let (caches, words) = (self.caches, self.words);
        let (directory, memory) = (caches, caches + 1);
        let sharers = u32::from(node) * self.sharing..(u32::from(node) + 1) * self.sharing;
        let line = self.line(node, block);
        let requester = match &cause.message {
            Some(message) => message.requester,
            None if node == directory && cause.event != TableEvent::Replacement => line.requester,
            None => node,
        };
        let mut send = |kind, to, data: Option<&Words>, acks| {
            let data = data.copied().unwrap_or_default();
            effects.sent.push(Message { kind, from: node, to, requester, acks, block, data, id: 0 });
        };
        match action {
            TableAction::Stall => {}
            TableAction::LoadHit | TableAction::LoadDone => {
                let is_hit = action == TableAction::LoadHit;
                if let Some((core, request)) = if is_hit { cause.request } else { line.request.take() } {
                    let from = if is_hit { *work } else { line.data };
                    let value = from[(request.location % words) as usize];
                    effects.notices.push(Notice::Done { core, tag: request.tag, value });
                    self.check_load(node, request, value);
                }
            }
            TableAction::StoreHit | TableAction::StoreDone => {
                let is_hit = action == TableAction::StoreHit;
                if let Some((core, request)) = if is_hit { cause.request } else { line.request.take() } {
                    let into = if is_hit { work } else { &mut line.data };
                    let word = &mut into[(request.location % words) as usize];
                    let value = std::mem::replace(word, request.value);
                    effects.notices.push(Notice::Done { core, tag: request.tag, value });
                    if request.kind.reads() {
                        self.check_load(node, request, value);
                    }
                    if let Some(last) = &mut self.last {
                        last[request.location as usize] = request.value;
                    }
                    // The others that share the cache may have loaded ahead.
                    let lost = |core| Notice::Lost { core, first: block * words, count: words };
                    effects.notices.extend(sharers.filter(|&other| other != core).map(lost));
                }
            }
            TableAction::ProfileHit => {
                line.data = *work;
                effects.hits += 1;
            }
            TableAction::Request(kind) => {
                (line.pending, line.counting, line.heard) = (0, false, Heard::Nothing);
                send(kind, directory, None, 0);
            }
            TableAction::Fill => line.data = cause.message.map_or(line.data, |message| message.data),
            TableAction::FillUnlessOwned => {
                if line.heard != Heard::Owned {
                    line.data = cause.message.map_or(line.data, |message| message.data);
                }
            }
            TableAction::AwaitAcks => {
                line.pending += i16::from(cause.message.map_or(0, |message| message.acks));
                line.counting = true;
            }
            TableAction::AwaitAll(others) => {
                line.heard = Heard::Nothing;
                line.pending = i16::from(caches) - 1 + i16::from(others);
                line.counting = true;
            }
            TableAction::CountAck => line.pending = line.pending.saturating_sub(1),
            TableAction::NoteShared => line.heard = line.heard.max(Heard::Shared),
            TableAction::NoteOwned => line.heard = Heard::Owned,
            TableAction::Answer(kind) => send(kind, requester, None, line.acks),
            TableAction::AnswerData(kind) => send(kind, requester, Some(&line.data), line.acks),
            TableAction::Tell(kind) => send(kind, directory, None, 0),
            TableAction::TellData(kind) => send(kind, directory, Some(&line.data), 0),
            TableAction::Reply(kind) => send(kind, cause.message.map_or(requester, |message| message.from), None, 0),
            TableAction::ReplyData(kind) => {
                send(kind, cause.message.map_or(requester, |message| message.from), Some(&line.data), 0);
            }
            TableAction::TellMemory(kind) => send(kind, memory, None, 0),
            TableAction::WriteBack => {
                if line.is_changed {
                    send(TableEvent::Put, memory, Some(&line.data), 0);
                } else {
                    send(TableEvent::PutClean, memory, None, 0);
                }
                (line.is_changed, line.owner, line.requester, line.sharers, line.acks) = (false, 0, 0, 0, 0);
            }
            TableAction::NoteChanged => line.is_changed = true,
            TableAction::Drop => {
                effects.notices.extend(sharers.map(|core| Notice::Lost { core, first: block * words, count: words }));
            }
            TableAction::Invalidate => {
                line.acks = 0;
                for reader in (0..caches).filter(|&reader| reader != requester && line.sharers & (1 << reader) != 0) {
                    line.acks += 1;
                    send(TableEvent::Inv, reader, None, 0);
                }
                line.sharers = 0;
            }
            TableAction::AwaitAsked => {
                line.heard = Heard::Nothing;
                (line.pending, line.counting) = (line.acks.into(), true);
            }
            TableAction::ProbeCopies(kind) => {
                line.acks = 0;
                for cache in (0..caches).filter(|&cache| cache != requester && line.sharers & (1 << cache) != 0) {
                    line.acks += 1;
                    send(kind, cache, None, 0);
                }
            }
            TableAction::ForgetCopies => line.sharers = 0,
            TableAction::RemoveSharer => line.sharers &= !(1 << requester),
            TableAction::Forward(kind) => send(kind, line.owner, None, 0),
            TableAction::Probe(kind) => {
                for cache in (0..caches).filter(|&cache| cache != requester) {
                    send(kind, cache, None, 0);
                }
            }
            TableAction::NoteRequester => (line.requester, line.heard) = (requester, Heard::Nothing),
            TableAction::KeepData => {
                line.kept = cause.message.map_or(line.kept, |message| message.data);
                line.heard = Heard::Owned;
            }
            TableAction::AnswerKept(kind) => {
                let data = if line.heard == Heard::Owned { line.kept } else { line.data };
                send(kind, requester, Some(&data), 0);
            }
            TableAction::WriteMemory => line.data = cause.message.map_or(line.data, |message| message.data),
            TableAction::SetOwner => (line.owner, line.sharers, line.acks) = (requester, 0, 0),
            TableAction::OwnerShares => (line.sharers, line.acks) = (1 << line.owner, 0),
            TableAction::AddSharer => {
                line.sharers |= 1 << requester;
                line.acks = 0;
            }
        }
    }

    fn check_load(&mut self, node: u8, request: MemoryRequest, value: u32) {
        if let Some(last) = &self.last
            && last[request.location as usize] != value
            && self.broken.is_none()
        {
            let wanted = last[request.location as usize];
            self.broken =
                Some(format!("cache {node} loads {value} from location {}, which holds {wanted}", request.location));
        }
    }

    fn check_copies(&mut self, protocol: &Protocol, node: u8, block: u32) {
        let table = &protocol.cache;
        if protocol.memory.is_some()
            && self.state(self.caches, block) == State::I
            && self.broken.is_none()
            && let Some(other) = (0..self.caches).find(|&it| table.is_readable(self.state(it, block)))
        {
            self.broken = Some(format!("block {block} is at cache {other}, and not at the second level"));
        }
        if node >= self.caches {
            return;
        }
        let state = self.state(node, block);
        let others = (0..self.caches).filter(|&other| other != node);
        let clash = |other: &u8| {
            let its = self.state(*other, block);
            (table.is_writable(state) && table.is_readable(its)) || (table.is_writable(its) && table.is_readable(state))
        };
        if let Some(other) = others.into_iter().find(clash)
            && self.broken.is_none()
        {
            let its = self.state(other, block);
            self.broken = Some(format!("block {block} is {state} at cache {node}, and {its} at cache {other}"));
        }
    }
}
