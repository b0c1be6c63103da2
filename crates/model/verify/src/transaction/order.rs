//! Witnesses: a commit order, or an order of reads and commits.

use std::collections::BTreeMap;

use history::{History, KeyId, Status, TransactionId};

use super::claim::Claim;
use crate::{Place, Refusal, fault};
use model::transaction::TransactionNode;
use model::{Isolation, Level, Sessions};

fn wrong<T>(what: impl Into<String>) -> Result<T, Refusal> {
    fault(Place::CommitOrder, what)
}

/// No level allows a history with a bad read.
fn no_bad_read(claim: &Claim<'_>) -> Result<(), Refusal> {
    match claim.bad.first() {
        None => Ok(()),
        Some((read, anomaly)) => fault(Place::Reads, format!("operation {} is {}", read.0, anomaly.name())),
    }
}

/// Where each transaction reads, and where its writes become visible.
struct Places {
    read: Vec<u32>,
    write: Vec<u32>,
}

/// The place of each transaction that counts: how often it occurs must be `times`.
fn places(claim: &Claim<'_>, order: &[TransactionId], times: usize) -> Result<Places, Refusal> {
    const NONE: u32 = u32::MAX;
    let count = claim.counts.len();
    let mut places = Places { read: vec![NONE; count], write: vec![NONE; count] };
    for (at, id) in (0u32..).zip(order) {
        if claim.counts.get(id.index()) != Some(&true) {
            return wrong(format!("transaction {} does not count", id.0));
        }
        let (read, write) = (&mut places.read[id.index()], &mut places.write[id.index()]);
        if *read == NONE {
            *read = at;
            if times == 1 {
                *write = at;
            }
        } else if *write == NONE {
            *write = at;
        } else {
            return wrong(format!("transaction {} occurs too often", id.0));
        }
    }
    for (id, counts) in claim.counts.iter().enumerate() {
        if *counts && places.write[id] == NONE {
            return wrong(format!("transaction {id} counts, and does not occur often enough"));
        }
    }
    Ok(places)
}

/// Checks that the writes of what comes first in session order, real time and reads-from are visible before the reads
/// of what comes later; and that the order respects the known versions of lists.
fn facts(claim: &Claim<'_>, isolation: Isolation, places: &Places) -> Result<(), Refusal> {
    let history = claim.history;
    let counted = || history.transactions().filter(|(id, _)| claim.counts[id.index()]);
    if isolation.sessions != Sessions::None {
        let mut last: Vec<Option<u32>> = vec![None; history.processes().len()];
        for (id, transaction) in counted() {
            let last = &mut last[transaction.session.index()];
            if last.is_some_and(|last| places.read[id.index()] <= last) {
                return wrong(format!("transaction {} is before one that is before it in its session", id.0));
            }
            if transaction.status == Status::Committed {
                *last = (*last).max(Some(places.write[id.index()]));
            }
        }
    }
    if isolation.sessions == Sessions::RealTime {
        // From the last event back: the earliest end of those whose writes become visible later.
        let mut events: Vec<(u32, bool, TransactionId)> = counted()
            .flat_map(|(id, _)| [(places.read[id.index()], false, id), (places.write[id.index()], true, id)])
            .collect();
        events.sort_unstable();
        let mut earliest = History::NEVER;
        let moments = history.transaction_moments();
        for &(_, is_write, id) in events.iter().rev() {
            let [begin, end] = moments[id.index()];
            if is_write && history.transaction(id).status == Status::Committed {
                earliest = earliest.min(end);
            } else if !is_write && earliest < begin {
                return wrong(format!("transaction {} began after the end of one that is after it", id.0));
            }
        }
    }
    for (id, _) in counted() {
        for read in &claim.reads[id.index()] {
            if read.source.transaction().is_some_and(|source| places.write[source.index()] >= places.read[id.index()]) {
                return wrong(format!("transaction {} is not after one that it reads from", id.0));
            }
        }
    }
    let anchor = if isolation.level == Level::SnapshotIsolation { &places.read } else { &places.write };
    for (seen, unseen) in claim.versions.values() {
        let last = seen.last();
        let pairs = seen.windows(2).map(|pair| (&pair[0], &pair[1]));
        for (a, b) in pairs.chain(unseen.iter().filter_map(|other| Some((last?, other)))) {
            if places.write[a.index()] >= anchor[b.index()] {
                return wrong(format!("transaction {} is not after {}, as a list shows it", b.0, a.0));
            }
        }
    }
    Ok(())
}

/// Checks that each transaction reads the last versions before it, in an order of events.
fn replay(
    claim: &Claim<'_>,
    events: impl Iterator<Item = (TransactionId, bool, bool)>,
    first_committer_wins: bool,
    places: &Places,
) -> Result<(), Refusal> {
    let mut last: BTreeMap<KeyId, TransactionId> = BTreeMap::new();
    for (id, reads, writes) in events {
        if reads {
            for read in &claim.reads[id.index()] {
                if last.get(&read.key).copied() != read.source.transaction() {
                    return wrong(format!("operation {} does not read the last version", read.operation.0));
                }
            }
        }
        if writes {
            for &key in &claim.writes[id.index()] {
                let before = last.insert(key, id);
                let overlaps = before.is_some_and(|before| places.write[before.index()] >= places.read[id.index()]);
                if first_committer_wins && overlaps {
                    return wrong(format!("transaction {} overlaps another writer of a key", id.0));
                }
            }
        }
    }
    Ok(())
}

/// An order of reads and commits.
pub(super) fn events(claim: &Claim<'_>, isolation: Isolation, order: &[TransactionId]) -> Result<(), Refusal> {
    no_bad_read(claim)?;
    let places = places(claim, order, 2)?;
    facts(claim, isolation, &places)?;
    let events = (0u32..).zip(order).map(|(at, &id)| {
        let is_read = places.read[id.index()] == at;
        (id, is_read, !is_read)
    });
    replay(claim, events, isolation.level == Level::SnapshotIsolation, &places)
}

/// A commit order.
pub(super) fn commits(claim: &Claim<'_>, isolation: Isolation, order: &[TransactionId]) -> Result<(), Refusal> {
    no_bad_read(claim)?;
    let places = places(claim, order, 1)?;
    facts(claim, isolation, &places)?;
    if isolation.level == Level::Serializable {
        return replay(claim, order.iter().map(|&id| (id, true, true)), false, &places);
    }
    let axiom = Axiom { claim, isolation, place: &places.write };
    if isolation.level >= Level::RepeatableRead {
        axiom.repeatable()?;
    }
    match isolation.level {
        Level::Pl2 => Ok(()),
        Level::ReadCommitted | Level::RepeatableRead => axiom.read_committed(),
        Level::ReadAtomic => axiom.read_atomic(),
        _ => axiom.visible(order),
    }
}

/// The axiom of a level: what the premise says is before the source of a read.
struct Axiom<'a> {
    claim: &'a Claim<'a>,
    isolation: Isolation,
    place: &'a [u32],
}

impl Axiom<'_> {
    /// Checks that a writer of the key is before the source of a read, or is the source.
    fn before(&self, writer: TransactionId, source: TransactionNode, reader: TransactionId) -> Result<(), Refusal> {
        let is_so = source
            .transaction()
            .is_some_and(|source| writer == source || self.place[writer.index()] < self.place[source.index()]);
        if is_so {
            return Ok(());
        }
        wrong(format!("transaction {} reads a version that transaction {} overwrote", reader.0, writer.0))
    }

    fn counted(&self) -> impl Iterator<Item = TransactionId> {
        (0..self.claim.counts.len() as u32).map(TransactionId).filter(|id| self.claim.counts[id.index()])
    }

    fn repeatable(&self) -> Result<(), Refusal> {
        for id in self.counted() {
            let mut sources = BTreeMap::new();
            for read in &self.claim.reads[id.index()] {
                if *sources.entry(read.key).or_insert(read.source) != read.source {
                    return wrong(format!("transaction {} reads two versions of a key", id.0));
                }
            }
        }
        Ok(())
    }

    fn read_committed(&self) -> Result<(), Refusal> {
        for id in self.counted() {
            let reads = &self.claim.reads[id.index()];
            for (at, read) in reads.iter().enumerate() {
                for source in reads[..at].iter().filter_map(|earlier| earlier.source.transaction()) {
                    if self.claim.writes[source.index()].contains(&read.key) {
                        self.before(source, read.source, id)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn read_atomic(&self) -> Result<(), Refusal> {
        let history = self.claim.history;
        // By session and key: the last of its writers so far.
        let mut last: BTreeMap<(u32, KeyId), TransactionId> = BTreeMap::new();
        for id in self.counted() {
            let reads = &self.claim.reads[id.index()];
            let session = history.transaction(id).session.0;
            for read in reads {
                for source in reads.iter().filter_map(|other| other.source.transaction()) {
                    if self.claim.writes[source.index()].contains(&read.key) {
                        self.before(source, read.source, id)?;
                    }
                }
                if self.isolation.sessions != Sessions::None
                    && let Some(&writer) = last.get(&(session, read.key))
                {
                    self.before(writer, read.source, id)?;
                }
            }
            if history.transaction(id).status == Status::Committed {
                for &key in &self.claim.writes[id.index()] {
                    last.insert((session, key), id);
                }
            }
        }
        if self.isolation.sessions == Sessions::RealTime { self.real_time() } else { Ok(()) }
    }

    /// The premise that the writer ended before the reader began.
    fn real_time(&self) -> Result<(), Refusal> {
        let history = self.claim.history;
        let moments = history.transaction_moments();
        // By key: the writers by their ends, and of each beginning of this list the last in commit order.
        let mut ended: BTreeMap<KeyId, Vec<(u32, TransactionId)>> = BTreeMap::new();
        for id in self.counted().filter(|&id| history.transaction(id).status == Status::Committed) {
            for &key in &self.claim.writes[id.index()] {
                ended.entry(key).or_default().push((moments[id.index()][1], id));
            }
        }
        for writers in ended.values_mut() {
            writers.sort_unstable();
            for at in 1..writers.len() {
                let (before, this) = (writers[at - 1].1, writers[at].1);
                if self.place[before.index()] > self.place[this.index()] {
                    writers[at].1 = before;
                }
            }
        }
        for id in self.counted() {
            let begin = moments[id.index()][0];
            for read in &self.claim.reads[id.index()] {
                let Some(writers) = ended.get(&read.key) else { continue };
                let count = writers.partition_point(|&(end, _)| end < begin);
                if let Some(&(_, writer)) = writers[..count].last() {
                    self.before(writer, read.source, id)?;
                }
            }
        }
        Ok(())
    }

    /// The premises of `causal` and `parallel-snapshot-isolation`: what a transaction sees, found in commit order, as
    /// the number of transactions of each session that it sees. An indeterminate transaction is a session by itself.
    fn visible(&self, order: &[TransactionId]) -> Result<(), Refusal> {
        let history = self.claim.history;
        let mut lines: Vec<Vec<TransactionId>> = vec![Vec::new(); history.processes().len()];
        let mut line_of: BTreeMap<TransactionId, (usize, usize)> = BTreeMap::new();
        let mut before: BTreeMap<TransactionId, TransactionId> = BTreeMap::new();
        let mut committed: Vec<Option<TransactionId>> = vec![None; lines.len()];
        for id in self.counted() {
            let session = history.transaction(id).session.index();
            if self.isolation.sessions != Sessions::None
                && let Some(last) = committed[session]
            {
                before.insert(id, last);
            }
            let has_line =
                history.transaction(id).status == Status::Committed && self.isolation.sessions != Sessions::None;
            if has_line {
                committed[session] = Some(id);
            } else {
                lines.push(Vec::new());
            }
            let line = if has_line { session } else { lines.len() - 1 };
            line_of.insert(id, (line, lines[line].len()));
            lines[line].push(id);
        }
        // By key and line: the places in the line of the writers of the key.
        let mut writers: BTreeMap<KeyId, BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
        for id in self.counted() {
            let (line, at) = line_of[&id];
            for &key in &self.claim.writes[id.index()] {
                writers.entry(key).or_default().entry(line).or_default().push(at);
            }
        }
        let ended = Ended::new(self);
        let is_parallel = self.isolation.level == Level::ParallelSnapshotIsolation;
        let mut last_writer: BTreeMap<KeyId, TransactionId> = BTreeMap::new();
        let mut seen: BTreeMap<TransactionId, BTreeMap<usize, usize>> = BTreeMap::new();
        for &id in order {
            let mut sees: BTreeMap<usize, usize> = BTreeMap::new();
            let sources = self.claim.reads[id.index()].iter().filter_map(|read| read.source.transaction());
            let conflicts = self.claim.writes[id.index()].iter().filter(|_| is_parallel);
            let conflicts = conflicts.filter_map(|key| last_writer.get(key).copied());
            let rt = ended.right_before(self, id);
            for other in before.get(&id).copied().into_iter().chain(sources).chain(conflicts).chain(rt) {
                let (line, at) = line_of[&other];
                let others = seen[&other].iter().map(|(&line, &count)| (line, count)).chain([(line, at + 1)]);
                for (line, count) in others {
                    let known = sees.entry(line).or_default();
                    *known = count.max(*known);
                }
            }
            for read in &self.claim.reads[id.index()] {
                for (line, places) in writers.get(&read.key).into_iter().flatten() {
                    let count = sees.get(line).copied().unwrap_or(0);
                    if let Some(&at) = places[..places.partition_point(|&at| at < count)].last() {
                        self.before(lines[*line][at], read.source, id)?;
                    }
                }
            }
            for &key in &self.claim.writes[id.index()] {
                last_writer.insert(key, id);
            }
            seen.insert(id, sees);
        }
        Ok(())
    }
}

/// The committed transactions by their ends.
struct Ended {
    /// The end, the transaction, and the latest begin of those that ended up to here.
    by_end: Vec<(u32, TransactionId, u32)>,
}

impl Ended {
    fn new(axiom: &Axiom<'_>) -> Self {
        let history = axiom.claim.history;
        if axiom.isolation.sessions != Sessions::RealTime {
            return Self { by_end: Vec::new() };
        }
        let moments = history.transaction_moments();
        let committed = axiom.counted().filter(|&id| history.transaction(id).status == Status::Committed);
        let mut by_end: Vec<_> = committed.map(|id| (moments[id.index()][1], id, moments[id.index()][0])).collect();
        by_end.sort_unstable();
        for at in 1..by_end.len() {
            by_end[at].2 = by_end[at].2.max(by_end[at - 1].2);
        }
        Self { by_end }
    }

    /// The transactions that ended before this one began, with none between in real time.
    fn right_before(&self, axiom: &Axiom<'_>, id: TransactionId) -> Vec<TransactionId> {
        let moments = axiom.claim.history.transaction_moments();
        let Some(&[begin, _]) = moments.get(id.index()) else { return Vec::new() };
        let count = self.by_end.partition_point(|&(end, ..)| end < begin);
        let Some(&(_, _, latest)) = self.by_end[..count].last() else { return Vec::new() };
        let all = self.by_end[..count].iter().rev();
        all.take_while(|&&(end, ..)| end >= latest).map(|&(_, id, _)| id).collect()
    }
}
