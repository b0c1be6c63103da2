//! The view of the transactions that count, once the sources of all reads are known.
//!
//! Transactions get new numbers: those of a session stand together, in the order of the session. An indeterminate
//! transaction that counts is a chain of its own, behind all sessions. It comes after the committed transactions of its
//! session that began before it, and nothing of the session comes after it.

use history::{Status, TransactionId};
use order::Rows;
use order::saturation::NONE;

use super::Resolver;
use crate::view::{ExternalRead, INIT, TransactionView};

impl Resolver<'_> {
    pub(super) fn view(&self, counts: &[bool], orders: &[Vec<u32>]) -> TransactionView {
        let history = self.history;
        let count = history.transaction_count();
        let sessions = history.processes().len();
        let status = |t: u32| history.transaction(TransactionId(t)).status;
        let counted = || (0..count as u32).filter(|&t| counts[t as usize]);
        let committed = counted().filter(|&t| status(t) == Status::Committed);
        let by_session =
            Rows::new(sessions, committed.map(|t| (history.transaction(TransactionId(t)).session.index(), t)));
        let mut ids: Vec<TransactionId> = Vec::new();
        let mut starts = vec![0];
        for session in 0..sessions {
            ids.extend(by_session.of(session).iter().map(|&t| TransactionId(t)));
            starts.push(ids.len() as u32);
        }
        for t in counted().filter(|&t| status(t) == Status::Indeterminate) {
            ids.push(TransactionId(t));
            starts.push(ids.len() as u32);
        }
        let mut numbers = vec![NONE; count];
        for (number, id) in ids.iter().enumerate() {
            numbers[id.index()] = number as u32;
        }
        let number = |t: u32| if t == INIT { INIT } else { numbers[t as usize] };
        let mut chains = vec![0; ids.len()];
        for chain in 0..starts.len() - 1 {
            chains[starts[chain] as usize..starts[chain + 1] as usize].fill(chain as u32);
        }
        let before = ids.iter().enumerate().map(|(t, id)| {
            let chain = chains[t] as usize;
            if chain < sessions {
                return if t as u32 > starts[chain] { t as u32 - 1 } else { NONE };
            }
            let all = by_session.of(history.transaction(*id).session.index());
            let earlier = all.partition_point(|&other| other < id.0);
            earlier.checked_sub(1).map_or(NONE, |at| number(all[at]))
        });
        let moments = history.transaction_moments();
        let place = |id: &TransactionId| moments.get(id.index()).copied().unwrap_or([id.0, id.0]);
        let reads = ids.iter().enumerate().flat_map(|(t, id)| {
            self.found_of(id.0).iter().map(move |found| {
                (t, ExternalRead { key: found.key, source: number(found.source), operation: found.operation })
            })
        });
        let writes =
            ids.iter().enumerate().flat_map(|(t, id)| self.finals.of(id.index()).iter().map(move |write| (t, *write)));
        let keys = self.is_list.len();
        let seen = orders.iter().enumerate().flat_map(|(key, order)| order.iter().map(move |&t| (key, number(t))));
        let mut is_seen: rustc_hash::FxHashSet<(u32, u32)> = rustc_hash::FxHashSet::default();
        if !orders.is_empty() {
            is_seen.extend(seen.clone().map(|(key, t)| (key as u32, t)));
        }
        let unseen = writes
            .clone()
            .filter(|(t, write)| self.is_list[write.key as usize] && !is_seen.contains(&(write.key, *t as u32)));
        let seen = Rows::new(keys, seen);
        let unseen = Rows::new(keys, unseen.map(|(t, write)| (write.key as usize, t as u32)));
        TransactionView {
            before: before.collect(),
            places: ids.iter().map(place).collect(),
            is_timed: !history.is_untimed(),
            reads: Rows::new(ids.len(), reads),
            writes: Rows::new(ids.len(), writes),
            keys,
            seen,
            unseen,
            is_list: self.is_list.clone(),
            starts,
            sessions,
            chains,
            ids,
        }
    }
}
