//! The source of a read of a list: the last append of the version that it shows.
//!
//! The appends of a transaction to a list stand together in every version, in their order. So a version is a sequence
//! of whole transactions, and the last of them is the source. The versions that reads of transactions that count show
//! must be prefixes of one another; the longest is what is known of the order of the appends.

use history::{Method, OperationId, TransactionId, Value};
use model::transaction::{Anomaly, Bad};
use order::saturation::NONE;
use rustc_hash::FxHashMap;

use super::{Found, Resolver};
use crate::view::INIT;

/// What is known of one chain of a list's versions.
#[derive(Default)]
pub(super) struct Chain {
    /// The appends of its elements, as far as they were looked at and nothing is wrong.
    pub(super) appends: Vec<u32>,
    /// What is wrong with the element right behind them, and the operation to blame.
    wrong: Option<(Anomaly, Option<u32>)>,
    /// How many of the appends are by transactions that are known to count.
    pub(super) counted: usize,
}

impl Chain {
    /// Where an append stands in this chain, which has that number.
    fn position(&self, positions: &[(u32, u32)], chain: u32, append: u32) -> Option<usize> {
        match positions[append as usize] {
            (last, at) if last == chain => Some(at as usize),
            (NONE, _) => None,
            // It was seen in another chain since: the versions of the list are not all compatible.
            _ => self.appends.iter().position(|&other| other == append),
        }
    }
}

/// The observed versions of all lists.
pub(super) struct Versions {
    /// Of each list, the transactions of its longest observed version.
    pub(super) orders: Vec<Vec<u32>>,
    pub(super) incompatible: Vec<Bad>,
}

impl Resolver<'_> {
    /// Looks at the elements of a chain up to a length.
    fn extend(&mut self, key: u32, chain: u32, elements: &[Value]) {
        let Self { chains, writers, aborted, places, positions, owners, .. } = self;
        let known = chains.entry((key, chain)).or_default();
        while known.wrong.is_none() && known.appends.len() < elements.len() {
            let at = known.appends.len();
            let slot = (key, elements[at]);
            let Some(writer) = writers.get(&slot) else {
                let append = aborted.get(&slot).copied();
                known.wrong = Some((if append.is_some() { Anomaly::G1a } else { Anomaly::ThinAir }, append));
                break;
            };
            let append = writer.operation;
            let [place, _] = places[append as usize];
            let continues = match at.checked_sub(1).map(|at| known.appends[at]) {
                Some(previous) if place > 0 => {
                    owners[previous as usize] == writer.transaction && places[previous as usize][0] + 1 == place
                }
                Some(previous) => places[previous as usize][0] + 1 == places[previous as usize][1],
                None => place == 0,
            };
            if known.position(positions, chain, append).is_some() {
                known.wrong = Some((Anomaly::DuplicateElements, Some(append)));
            } else if !continues {
                known.wrong = Some((Anomaly::G0, Some(append)));
            } else {
                positions[append as usize] = (chain, at as u32);
                known.appends.push(append);
            }
        }
    }

    pub(super) fn read_list(&mut self, transaction: u32, number: u32, own: Option<u32>) {
        let history = self.history;
        let operation = &history.operations()[number as usize];
        let key = operation.key.0;
        let elements = history.list(operation.result);
        let chain = operation.result.as_list().map_or(0, |(chain, _)| chain);
        let own_count = own.map_or(0, |own| self.places[own as usize][0] as usize + 1);
        let own_appends = history.operation_range(TransactionId(transaction)).take_while(|&other| other < number);
        let own_appends = own_appends.filter(|&other| {
            let other = &history.operations()[other as usize];
            other.method == Method::Append && other.key.0 == key
        });
        let fits = elements.len() >= own_count && {
            let end = &elements[elements.len() - own_count..];
            own_count == 0 || own_appends.zip(end).all(|(own, end)| history.operations()[own as usize].argument == *end)
        };
        if !fits {
            return self.blame(transaction, number, Anomaly::Internal, own);
        }
        let length = elements.len() - own_count;
        self.extend(key, chain, &elements[..length]);
        let known = &self.chains[&(key, chain)];
        if known.appends.len() < length {
            let (anomaly, other) = known.wrong.unwrap_or((Anomaly::ThinAir, None));
            let distinct: rustc_hash::FxHashSet<Value> = elements.iter().copied().collect();
            let is_double = anomaly == Anomaly::G0 && distinct.len() < elements.len();
            return self.blame(
                transaction,
                number,
                if is_double { Anomaly::DuplicateElements } else { anomaly },
                other,
            );
        }
        let base = &known.appends[..length];
        // The run of own appends stands together, so the last of them tells.
        if let Some(last) = self.final_write(transaction, key)
            && known.position(&self.positions, chain, last).is_some_and(|at| at < length)
        {
            let anomaly = if own_count > 0 { Anomaly::DuplicateElements } else { Anomaly::FutureRead };
            return self.blame(transaction, number, anomaly, Some(last));
        }
        let source = match base.last() {
            None => INIT,
            Some(&last) if self.places[last as usize][0] + 1 < self.places[last as usize][1] => {
                let anomaly = match (self.owners[last as usize] == transaction, own_count) {
                    (false, _) => Anomaly::G1b,
                    (true, 0) => Anomaly::FutureRead,
                    (true, _) => Anomaly::DuplicateElements,
                };
                return self.blame(transaction, number, anomaly, Some(last));
            }
            Some(&last) => self.owners[last as usize],
        };
        self.found.push(Found { key, operation: number, source, base: Some((chain, length as u32)) });
    }

    /// The longest observed version of each list. The reads must be those of transactions that count.
    pub(super) fn versions(&self, counts: &[bool]) -> Versions {
        let keys = self.is_list.len();
        // By key: the appends of the longest version so far, and the read that shows it.
        let mut longest: Vec<(Vec<u32>, u32)> = vec![(Vec::new(), NONE); if self.places.is_empty() { 0 } else { keys }];
        // By key: the chain that the longest version is known to agree with, and how far.
        let mut agreed: FxHashMap<(u32, u32), usize> = FxHashMap::default();
        let mut incompatible = Vec::new();
        let counted = (0..counts.len() as u32).filter(|&t| counts[t as usize]);
        for found in counted.flat_map(|t| self.found_of(t)) {
            let Some((chain, length)) = found.base else { continue };
            let length = length as usize;
            if length == 0 && self.places.is_empty() {
                continue;
            }
            let (order, shown) = &mut longest[found.key as usize];
            let base = &self.chains[&(found.key, chain)].appends[..length];
            let known = agreed.entry((found.key, chain)).or_default();
            let clash = |shown: u32| Bad {
                anomaly: Anomaly::IncompatibleOrder,
                read: OperationId(found.operation),
                other: Some(OperationId(shown)).filter(|_| shown != NONE),
            };
            if *known < length {
                let common = order.len().min(length);
                if order[*known..common.max(*known)] != base[*known..common.max(*known)] {
                    incompatible.push(clash(*shown));
                    continue;
                }
                *known = length;
                if length > order.len() {
                    order.extend_from_slice(&base[order.len()..]);
                    *shown = found.operation;
                }
            }
            // The transaction read the list after it appended to it: its own appends stand right behind the base.
            let t = self.owners[found.operation as usize];
            let Some(last) = self.final_write(t, found.key) else { continue };
            let first = self.runs[&(t, found.key)].0;
            if first > found.operation {
                continue;
            }
            let own: Vec<u32> = (first..=last)
                .filter(|&other| {
                    let other = &self.history.operations()[other as usize];
                    other.method == Method::Append && other.key.0 == found.key
                })
                .collect();
            let behind = &order[length..];
            let common = behind.len().min(own.len());
            if behind[..common] != own[..common] {
                incompatible.push(clash(*shown));
            } else if own.len() > behind.len() {
                order.extend_from_slice(&own[common..]);
                *shown = found.operation;
            }
        }
        let orders = longest
            .into_iter()
            .map(|(order, _)| {
                let mut transactions: Vec<u32> = order.iter().map(|&append| self.owners[append as usize]).collect();
                transactions.dedup();
                transactions
            })
            .collect();
        Versions { orders, incompatible }
    }
}
