//! The view of a history as transactions that count, with the source of every external read.
//!
//! The transactions that count are numbered chain by chain. The committed transactions of a session are a chain, in
//! the order of the session. An indeterminate transaction is a chain by itself, because nothing of its session comes
//! after it; it comes after the committed transactions of its session before it. So a transaction's successor in its
//! chain is the next number, and a clock over chains is a frontier.

use history::TransactionId;
use order::Rows;
use order::saturation::NONE;

/// The source of a read of the initial value.
pub const INIT: u32 = NONE;

/// An external read: a read of a key that its transaction did not write before.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalRead {
    /// The key.
    pub key: u32,
    /// The transaction whose final write it returns, or [`INIT`].
    pub source: u32,
    /// The operation.
    pub operation: u32,
}

/// The final write of a key in a transaction. For a list, its last append.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Write {
    /// The key.
    pub key: u32,
    /// The operation.
    pub operation: u32,
}

/// The place of a key among final writes, which are sorted by key.
#[inline]
pub fn find(writes: &[Write], key: u32) -> Option<usize> {
    if writes.len() <= 8 {
        writes.iter().position(|write| write.key == key)
    } else {
        writes.binary_search_by_key(&key, |write| write.key).ok()
    }
}

/// The transactions that count. See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct TransactionView {
    /// The number of each transaction in the history.
    pub ids: Vec<TransactionId>,
    /// The first transaction of each chain, and the number of all at the end.
    pub starts: Vec<u32>,
    /// How many of the chains are sessions. The others are indeterminate transactions.
    pub sessions: usize,
    /// The chain of each transaction.
    pub chains: Vec<u32>,
    /// The committed transaction right before it in its session, or [`NONE`].
    pub before: Vec<u32>,
    /// Where its begin and its end stand among those of all transactions.
    pub places: Vec<[u32; 2]>,
    /// Whether places are moments in time.
    pub is_timed: bool,
    /// The external reads of each transaction, in the order in which it made them.
    pub reads: Rows<ExternalRead>,
    /// The final writes of each transaction, by key.
    pub writes: Rows<Write>,
    /// How many keys there are.
    pub keys: usize,
    /// Of each list, the writers of its longest observed version in their order.
    pub seen: Rows,
    /// Of each list, the other transactions that append to it.
    pub unseen: Rows,
    /// Whether each key is a list.
    pub is_list: Vec<bool>,
}

impl TransactionView {
    /// How many transactions count.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether no transaction counts.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// All transactions.
    pub fn all(&self) -> std::ops::Range<u32> {
        0..self.len() as u32
    }

    /// The external reads of a transaction.
    #[inline]
    pub fn reads_of(&self, transaction: u32) -> &[ExternalRead] {
        self.reads.of(transaction as usize)
    }

    /// The final writes of a transaction.
    #[inline]
    pub fn writes_of(&self, transaction: u32) -> &[Write] {
        self.writes.of(transaction as usize)
    }

    /// Whether a transaction writes a key.
    #[inline]
    pub fn has_write(&self, transaction: u32, key: u32) -> bool {
        self.place_of_write(transaction, key).is_some()
    }

    /// The place of a key among the final writes of a transaction.
    #[inline]
    pub fn place_of_write(&self, transaction: u32, key: u32) -> Option<usize> {
        find(self.writes_of(transaction), key)
    }

    /// The writers of each key, by their numbers.
    pub fn writers(&self) -> Rows {
        let pairs = self.all().flat_map(|t| self.writes_of(t).iter().map(move |write| (write.key as usize, t)));
        Rows::new(self.keys, pairs)
    }

    /// The same transactions with other chains: `chains` are lists of all transactions, each once.
    #[must_use]
    pub fn renumbered(&self, chains: &[Vec<u32>]) -> Self {
        let old: Vec<u32> = chains.iter().flatten().copied().collect();
        let mut new = vec![NONE; self.len()];
        for (at, &t) in old.iter().enumerate() {
            new[t as usize] = at as u32;
        }
        let number = |t: u32| if t == NONE { NONE } else { new[t as usize] };
        let mut starts = vec![0];
        for chain in chains {
            starts.push(starts[starts.len() - 1] + chain.len() as u32);
        }
        let of_chain = chains.iter().enumerate();
        let rows = |rows: &Rows| {
            let pairs = (0..self.keys).flat_map(|key| rows.of(key).iter().map(move |&t| (key, number(t))));
            Rows::new(self.keys, pairs)
        };
        let reads = old.iter().enumerate().flat_map(|(at, &t)| {
            self.reads_of(t).iter().map(move |read| (at, ExternalRead { source: number(read.source), ..*read }))
        });
        let writes =
            old.iter().enumerate().flat_map(|(at, &t)| self.writes_of(t).iter().map(move |write| (at, *write)));
        Self {
            ids: old.iter().map(|&t| self.ids[t as usize]).collect(),
            starts,
            sessions: 0,
            chains: of_chain.flat_map(|(chain, all)| all.iter().map(move |_| chain as u32)).collect(),
            before: vec![NONE; self.len()],
            places: old.iter().map(|&t| self.places[t as usize]).collect(),
            is_timed: self.is_timed,
            reads: Rows::new(self.len(), reads),
            writes: Rows::new(self.len(), writes),
            keys: self.keys,
            seen: rows(&self.seen),
            unseen: rows(&self.unseen),
            is_list: self.is_list.clone(),
        }
    }
}
