//! What of a line matters in a state: what some action may read before another one sets it.
//!
//! An exploration tells states apart by this alone. Two states of the system that differ in what no action will read
//! have the same future. The sets are the least fixed point over the rows of a table: what an action reads is added,
//! and what it sets is taken away, from the last action of a row to the first.

use super::Protocol;
use super::table::{State, Table, TableAction, TableEvent};

/// A set of fields of a line.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Live(u8);

impl Live {
    pub(super) const DATA: u8 = 1;
    pub(super) const KEPT: u8 = 2;
    pub(super) const OWNER: u8 = 4;
    pub(super) const REQUESTER: u8 = 8;
    pub(super) const SHARERS: u8 = 16;
    pub(super) const ACKS: u8 = 32;

    pub(super) const fn has(self, field: u8) -> bool {
        self.0 & field != 0
    }
}

/// What an action sets without reading it, and what it reads. Blocks have one location.
const fn effect(action: TableAction) -> (u8, u8) {
    use Live as L;
    match action {
        TableAction::Fill | TableAction::WriteMemory | TableAction::StoreDone => (L::DATA, 0),
        TableAction::LoadHit
        | TableAction::LoadDone
        | TableAction::FillUnlessOwned
        | TableAction::ProfileHit
        | TableAction::TellData(_)
        | TableAction::ReplyData(_) => (0, L::DATA),
        TableAction::Answer(_) | TableAction::AwaitAsked => (0, L::ACKS),
        TableAction::AnswerData(_) => (0, L::DATA | L::ACKS),
        TableAction::KeepData => (L::KEPT, 0),
        TableAction::AnswerKept(_) => (0, L::DATA | L::KEPT),
        TableAction::WriteBack => (L::OWNER | L::REQUESTER | L::SHARERS | L::ACKS, L::DATA),
        TableAction::Invalidate | TableAction::AddSharer | TableAction::ProbeCopies(_) => (L::ACKS, L::SHARERS),
        TableAction::ForgetCopies => (L::SHARERS, 0),
        TableAction::RemoveSharer => (0, L::SHARERS),
        TableAction::Forward(_) => (0, L::OWNER),
        TableAction::SetOwner => (L::OWNER | L::SHARERS | L::ACKS, 0),
        TableAction::OwnerShares => (L::SHARERS | L::ACKS, L::OWNER),
        TableAction::NoteRequester => (L::REQUESTER, 0),
        _ => (0, 0),
    }
}

/// What matters in each state of a table, by the number of the state.
fn of_table(table: &Table, always: &[(State, u8)]) -> Vec<Live> {
    let mut live = vec![Live::default(); State::COUNT];
    for &(state, fields) in always {
        live[state as usize].0 |= fields;
    }
    loop {
        let before = live.clone();
        for row in table.rows() {
            let mut fields = live[row.next as usize].0;
            for &action in row.actions.iter().rev() {
                let (sets, reads) = effect(action);
                fields = fields & !sets | reads;
            }
            if matches!(row.event, TableEvent::AllAcks | TableEvent::AllAcksShared | TableEvent::AllAcksOwned) {
                fields |= Live::REQUESTER;
            }
            live[row.state as usize].0 |= fields;
        }
        if live == before {
            return live;
        }
    }
}

/// What matters at caches, at the directory, and at a memory behind a second level.
pub(super) fn live(protocol: &Protocol) -> [Vec<Live>; 3] {
    // Who may give a block back, or may write its copy, is looked up before the row.
    let copies = [(State::M, Live::OWNER), (State::S, Live::SHARERS)];
    let always = if protocol.knows_copies { &copies[..] } else { &[] };
    let memory = protocol.memory.as_ref().map_or_else(Vec::new, |memory| of_table(memory, &[]));
    let mut caches = of_table(&protocol.cache, &[]);
    // A cache asks for itself, and knows nothing of others.
    for live in &mut caches {
        live.0 &= Live::DATA;
    }
    [caches, of_table(&protocol.directory, always), memory]
}
