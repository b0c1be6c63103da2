//! What a protocol is made of: states, events, actions, and the table that joins them.
//!
//! A protocol has two kinds of controllers: the cache of a core, and the directory, which also holds the memory. Where
//! the directory is a second level of caches instead, the memory is a third kind. Each has a state for each block. A
//! row of its table says: in this state, on this event, do these actions and go to that state. The actions are done in
//! their order. The engine ([`super::engine`]) knows actions, and no protocol.

use std::fmt;

/// The state of a block at a controller. The names are those of the literature: two letters are a state between two
/// stable ones, such as `IM`, on the way from I to M.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum State {
    /// Not here. At a directory that is the memory: no cache has a copy.
    I,
    /// To be read only. At a directory: some caches may have such copies.
    S,
    /// The only copy, not changed. At a second level: here, and no cache has a copy.
    E,
    /// Changed, and others may have copies to read. At a directory: the memory is up to date.
    O,
    /// The only copy, changed. At a directory: one cache owns the block.
    M,
    IS,
    IM,
    SM,
    OM,
    /// May be written as soon as all others have acknowledged.
    MA,
    MI,
    EI,
    OI,
    SI,
    /// A write-back is under way that was overtaken: there is no copy any more.
    II,
    /// At a directory: a cache is about to answer, all others wait.
    B,
    /// At a directory: waits for the owner's data, and for the reader.
    MS,
    /// At a directory: waits for the owner's data.
    SD,
    /// At a directory: waits for the reader.
    SU,
    /// At a directory: waits for the data of a write-back.
    W,
    /// At a directory: some cache is the owner, not known which.
    N,
    /// At a directory that knows nothing about copies: no transaction is under way.
    U,
    /// At a directory: waits for all answers to a probe for a reader, or for a writer.
    PS,
    PM,
}

/// What happens to a block at a controller: a request of the core, a message that arrives, or a count that is complete.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TableEvent {
    /// The core loads.
    Load,
    /// The core stores, or does a read-modify-write.
    Store,
    /// The cache or the second level needs the room, or wants to be rid of the block.
    Replacement,
    /// A cache wants to read.
    GetS,
    /// A cache wants to write.
    GetM,
    /// A cache has a copy and wants to write it.
    Upgrade,
    /// A cache wants to give back a block that it has changed.
    Put,
    /// A cache wants to give back a block that it has not changed.
    PutClean,
    /// A write-back of a cache that is not the owner any more.
    PutStale,
    /// The owner shall send its data to a reader.
    FwdGetS,
    /// The owner shall send its data to a writer.
    FwdGetM,
    /// A reader shall forget its copy.
    Inv,
    /// All caches are asked for a reader.
    ProbeS,
    /// All caches are asked for a writer.
    ProbeM,
    /// Data to be read; with it, how many acknowledgements to wait for.
    Data,
    /// Data that nobody else has.
    DataE,
    /// No data is needed; with it, how many acknowledgements to wait for.
    Grant,
    /// The data of a cache that owns it.
    OwnerData,
    /// The data of the memory.
    MemoryData,
    /// Not here, or not any more.
    Ack,
    /// Here, and it stays.
    SharedAck,
    /// All answers that were waited for are in; nobody has a copy.
    AllAcks,
    /// All answers are in; some cache has a copy, none owns it.
    AllAcksShared,
    /// All answers are in; a cache owns the block.
    AllAcksOwned,
    /// The requester has what it wanted, to be read.
    Unblock,
    /// The requester has what it wanted, to be read, and the owner stays the owner.
    UnblockOwned,
    /// The requester has the only copy.
    UnblockE,
    /// The owner's data, for the memory.
    CopyBack,
    /// A write-back may be done, or is done.
    WbAck,
    /// A write-back is not wanted: the cache is not the owner any more.
    WbNack,
    /// The data of a write-back.
    WbData,
    /// A write-back comes to nothing.
    WbCancel,
}

impl TableEvent {
    /// Whether a message of this kind answers a request or writes data back, so that what is known about the block can
    /// ride on it.
    pub const fn carries(self) -> bool {
        matches!(
            self,
            Self::Data | Self::DataE | Self::Grant | Self::OwnerData | Self::MemoryData | Self::Ack | Self::SharedAck
        ) || matches!(self, Self::Put | Self::PutClean | Self::CopyBack | Self::WbData)
    }

    /// The virtual network on which messages of this kind travel, if links have finite buffers.
    ///
    /// A controller that cannot take a message of one network never keeps it from taking one of a later network. So
    /// requests (0) may wait for forwards and probes (1), these for answers (2), and those for what ends a transaction
    /// (3), which is always taken. `explore` shows that this suffices.
    pub const fn network(self) -> usize {
        match self {
            Self::FwdGetS | Self::FwdGetM | Self::Inv | Self::ProbeS | Self::ProbeM => 1,
            Self::Data
            | Self::DataE
            | Self::Grant
            | Self::OwnerData
            | Self::MemoryData
            | Self::Ack
            | Self::SharedAck
            | Self::CopyBack
            | Self::WbAck
            | Self::WbNack => 2,
            Self::Unblock | Self::UnblockOwned | Self::UnblockE | Self::WbData | Self::WbCancel => 3,
            _ => 0,
        }
    }

    /// How many virtual networks there are.
    pub(crate) const NETWORKS: usize = 4;
    /// How many there are.
    pub(super) const COUNT: usize = Self::WbCancel as usize + 1;
}

impl State {
    /// How many there are.
    pub(super) const COUNT: usize = Self::PM as usize + 1;
}

/// What a controller does. The *requester* is the cache that a transaction is for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TableAction {
    /// The event has to wait until the state changes.
    Stall,
    /// Answers the core's load from the block.
    LoadHit,
    /// Answers the core's store, and writes it into the block that was taken out of the cache.
    StoreHit,
    /// Counts a hit, and puts the block, as it is now, back into the cache.
    ProfileHit,
    /// Answers the load that waits.
    LoadDone,
    /// Does the store that waits, and answers it.
    StoreDone,
    /// Sends a request to the directory: a transaction begins.
    Request(TableEvent),
    /// Takes the data that came.
    Fill,
    /// Takes the data that came, unless an owner's data came before.
    FillUnlessOwned,
    /// Waits for so many acknowledgements as the message says.
    AwaitAcks,
    /// Waits for the answers of all other caches, and of so many others.
    AwaitAll(u8),
    /// Counts an answer.
    CountAck,
    /// Notes that another cache has a copy.
    NoteShared,
    /// Notes that another cache is the owner.
    NoteOwned,
    /// Sends an answer to the requester.
    Answer(TableEvent),
    /// Sends an answer to the requester, with data and the number of acknowledgements to wait for.
    AnswerData(TableEvent),
    /// Sends an answer to who sent the message.
    Reply(TableEvent),
    /// Sends an answer to who sent the message, with data.
    ReplyData(TableEvent),
    /// Sends a message to the memory behind a second level.
    TellMemory(TableEvent),
    /// Gives the block to the memory: with Put and the data if it was changed, else with PutClean. All that is known
    /// about copies is forgotten.
    WriteBack,
    /// The block differs from the memory's.
    NoteChanged,
    /// Sends a message to the directory.
    Tell(TableEvent),
    /// Sends a message to the directory, with data.
    TellData(TableEvent),
    /// The core is told that the block is gone.
    Drop,
    /// Asks all other readers to forget their copies, and counts them.
    Invalidate,
    /// Waits for the answers of as many caches as were asked.
    AwaitAsked,
    /// Sends the owner what it shall do.
    Forward(TableEvent),
    /// Asks all caches but the requester.
    Probe(TableEvent),
    /// Asks those caches but the requester that may have a copy, and counts them.
    ProbeCopies(TableEvent),
    /// No cache has a copy any more.
    ForgetCopies,
    /// The requester has no copy any more.
    RemoveSharer,
    /// Notes the requester. A block that is evicted has none: its directory asks for itself.
    NoteRequester,
    /// The data that came is what the requester will get, instead of the memory's.
    KeepData,
    /// Sends the requester the data that was kept or, if none was, the memory's.
    AnswerKept(TableEvent),
    /// Writes the data that came into the memory, or into a second level.
    WriteMemory,
    /// The requester is the owner.
    SetOwner,
    /// The owner is a reader now.
    OwnerShares,
    /// The requester is a reader.
    AddSharer,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{self:?}"))
    }
}

impl fmt::Display for TableEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{self:?}"))
    }
}

impl fmt::Display for TableAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// One row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolRow {
    /// In this state,
    pub state: State,
    /// on this event,
    pub event: TableEvent,
    /// do this
    pub actions: Vec<TableAction>,
    /// and go there.
    pub next: State,
}

/// The table of a controller.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<ProtocolRow>,
    /// By state and event: one more than the number of the row; zero if there is none.
    index: Box<[u16; State::COUNT * TableEvent::COUNT]>,
}

impl Default for Table {
    fn default() -> Self {
        Self { rows: Vec::new(), index: Box::new([0; State::COUNT * TableEvent::COUNT]) }
    }
}

/// A row as the modules of the protocols write it.
pub(super) type Written = (State, TableEvent, &'static [TableAction], State);

impl Table {
    /// The table with these rows.
    pub(super) fn new(rows: &[Written]) -> Self {
        let mut table = Self::default();
        for &(state, event, actions, next) in rows {
            debug_assert!(table.row(state, event).is_none(), "{state} and {event} have two rows");
            table.set(state, event, actions, next);
        }
        table
    }

    /// All these events wait in all these states.
    pub(super) fn stalls(mut self, states: &[State], events: &[TableEvent]) -> Self {
        for &state in states {
            for &event in events {
                debug_assert!(self.row(state, event).is_none(), "{state} and {event} have two rows");
                self.set(state, event, &[TableAction::Stall], state);
            }
        }
        self
    }

    /// Loads hit in these states, and change nothing.
    pub(super) fn loads(mut self, states: &[State]) -> Self {
        for &state in states {
            debug_assert!(self.row(state, TableEvent::Load).is_none(), "{state} and a load have two rows");
            self.set(state, TableEvent::Load, &[TableAction::LoadHit, TableAction::ProfileHit], state);
        }
        self
    }

    /// Stores hit in these states, and lead to M.
    pub(super) fn stores(mut self, states: &[State]) -> Self {
        for &state in states {
            debug_assert!(self.row(state, TableEvent::Store).is_none(), "{state} and a store have two rows");
            self.set(state, TableEvent::Store, &[TableAction::StoreHit, TableAction::ProfileHit], State::M);
        }
        self
    }

    /// In these states, these messages are taken and nothing is done: only wrong protocols need such rows.
    pub(super) fn ignores(&mut self, states: &[State], events: &[TableEvent]) {
        for &state in states {
            for &event in events {
                self.set(state, event, &[], state);
            }
        }
    }

    /// Enters a row, or takes the place of the one that was there.
    pub fn set(&mut self, state: State, event: TableEvent, actions: &[TableAction], next: State) {
        let row = ProtocolRow { state, event, actions: actions.to_vec(), next };
        let place = &mut self.index[state as usize * TableEvent::COUNT + event as usize];
        if *place == 0 {
            self.rows.push(row);
            *place = self.rows.len() as u16;
        } else {
            self.rows[*place as usize - 1] = row;
        }
    }

    /// The row of a state and an event.
    #[inline]
    pub fn row(&self, state: State, event: TableEvent) -> Option<&ProtocolRow> {
        let place = self.index[state as usize * TableEvent::COUNT + event as usize];
        Some(&self.rows[(place as usize).checked_sub(1)?])
    }

    /// All rows.
    pub fn rows(&self) -> &[ProtocolRow] {
        &self.rows
    }

    /// Whether a core may load from a block in this state.
    pub fn is_readable(&self, state: State) -> bool {
        self.row(state, TableEvent::Load).is_some_and(|row| row.actions.contains(&TableAction::LoadHit))
    }

    /// Whether a core may store into a block in this state.
    pub fn is_writable(&self, state: State) -> bool {
        self.row(state, TableEvent::Store).is_some_and(|row| row.actions.contains(&TableAction::StoreHit))
    }
}

impl fmt::Display for Table {
    /// One line for each state and event: `M     Store        StoreHit, ProfileHit  -> M`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted: Vec<&ProtocolRow> = self.rows.iter().collect();
        sorted.sort_by_key(|row| (row.state as u8, row.event as u8));
        let lists: Vec<String> = sorted
            .iter()
            .map(|row| {
                let actions: Vec<String> = row.actions.iter().map(TableAction::to_string).collect();
                if actions.is_empty() { "-".to_owned() } else { actions.join(", ") }
            })
            .collect();
        let width = lists.iter().map(String::len).max().unwrap_or(0);
        writeln!(f, "{:5} {:13} {:width$}    next", "state", "event", "actions")?;
        for (row, list) in sorted.iter().zip(&lists) {
            writeln!(f, "{:5} {:13} {list:width$} -> {}", row.state, row.event, row.next)?;
        }
        Ok(())
    }
}
