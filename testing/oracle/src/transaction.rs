//! Isolation levels of transactions, by trying every commit order.
//!
//! The axioms are those of the specification, word for word: for all keys x and transactions t1 ≠ t2, if t1 wr_x t3,
//! and t2 writes x, and the premise of the level holds of t2 and t3, then t2 co t1. The history is resolved by code of
//! its own, which follows the tables of the specification.
//!
//! ```
//! use history::History;
//! use oracle::transaction::{Level, Sessions, verdicts};
//!
//! // A lost update: both transactions read the initial value of x, and both write x.
//! let history = format::parse(
//!     "[a] begin\n[a] r x 0\n[a] w x 1\n[b] begin\n[b] r x 0\n[b] w x 2\n[a] commit\n[b] commit\n",
//! )?;
//! let verdicts = verdicts(&history).unwrap();
//! assert_eq!(verdicts.of(Level::Prefix, Sessions::Session), Some(true));
//! assert_eq!(verdicts.of(Level::ParallelSnapshotIsolation, Sessions::Session), Some(false));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use history::{History, KeyId, Method, OperationId, Source, Status, TransactionId, Value};

/// A level.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Level {
    Pl2,
    ReadCommitted,
    RepeatableRead,
    ReadAtomic,
    Causal,
    Prefix,
    ParallelSnapshotIsolation,
    SnapshotIsolation,
    Serializable,
}

impl Level {
    /// All levels.
    pub const ALL: [Self; 9] = [
        Self::Pl2,
        Self::ReadCommitted,
        Self::RepeatableRead,
        Self::ReadAtomic,
        Self::Causal,
        Self::Prefix,
        Self::ParallelSnapshotIsolation,
        Self::SnapshotIsolation,
        Self::Serializable,
    ];
}

/// What is known of each level, in their order.
type OfLevels<T> = [T; Level::ALL.len()];

/// What stands for session order.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Sessions {
    None,
    Session,
    RealTime,
}

/// The verdicts of all levels.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Verdicts([OfLevels<Option<bool>>; 3]);

impl Verdicts {
    /// Whether a level holds; none if it speaks of time and the history has none.
    pub fn of(&self, level: Level, sessions: Sessions) -> Option<bool> {
        self.0[sessions as usize][level as usize]
    }

    /// The verdicts of all levels, by what stands for session order.
    pub fn all(&self) -> &[OfLevels<Option<bool>>; 3] {
        &self.0
    }
}

/// A read that the specification calls bad, or a source that is not known.
enum Trouble {
    Bad,
    Unknown,
}

/// What an external read returns: the key, the operation, and the transaction (none for the initial one).
struct Read {
    key: KeyId,
    operation: OperationId,
    source: Option<usize>,
}

/// The transactions that count, by new numbers.
struct Counted {
    reads: Vec<Vec<Read>>,
    writes: Vec<Vec<KeyId>>,
    ids: Vec<TransactionId>,
    /// Pairs of known versions.
    versions: Vec<(usize, usize)>,
}

/// The verdicts of all levels on a small history. None if a source is not known.
///
/// # Panics
/// If more than 16 transactions count.
pub fn verdicts(history: &History) -> Option<Verdicts> {
    let is_timed = !history.is_untimed();
    let known = |sessions: usize| sessions < 2 || is_timed;
    let mut verdicts: [OfLevels<Option<bool>>; 3] =
        std::array::from_fn(|sessions| [known(sessions).then_some(false); Level::ALL.len()]);
    let counted = match resolve(history) {
        Err(Trouble::Unknown) => return None,
        Err(Trouble::Bad) => return Some(Verdicts(verdicts)),
        Ok(counted) => counted,
    };
    assert!(counted.ids.len() <= 16, "the oracle is for small histories");
    for (sessions, verdicts) in verdicts.iter_mut().enumerate().filter(|(sessions, _)| known(*sessions)) {
        let levels = Axioms::new(history, &counted, sessions).try_all();
        *verdicts = levels.map(Some);
    }
    Some(Verdicts(verdicts))
}

fn operations(history: &History, id: TransactionId) -> Vec<(OperationId, history::Operation)> {
    history.operation_range(id).map(|number| (OperationId(number), *history.operation(OperationId(number)))).collect()
}

fn appends(history: &History, id: TransactionId, key: KeyId) -> Vec<Value> {
    let all = operations(history, id).into_iter();
    all.filter(|(_, it)| it.method == Method::Append && it.key == key).map(|(_, it)| it.argument).collect()
}

/// The last write of a key in a transaction.
fn last_write(history: &History, id: TransactionId, key: KeyId) -> Option<Value> {
    let all = operations(history, id).into_iter().rev();
    all.filter(|(_, it)| it.method != Method::Read && it.key == key).map(|(_, it)| it.argument).next()
}

/// The transactions that write a value to a key.
fn writers(history: &History, key: KeyId, value: Value) -> Vec<TransactionId> {
    let all = history.transactions().map(|(id, _)| id);
    all.filter(|&id| {
        let mut all = operations(history, id).into_iter();
        all.any(|(_, it)| it.method != Method::Read && it.key == key && it.argument == value)
    })
    .collect()
}

/// The source of a read of a register, or none if it returns an own write.
#[allow(clippy::option_option)]
fn register(history: &History, id: TransactionId, read: OperationId) -> Result<Option<Option<TransactionId>>, Trouble> {
    let it = *history.operation(read);
    let mut own = operations(history, id).into_iter().filter(|(at, own)| *at < read && own.key == it.key);
    if let Some((_, own)) = own.rfind(|(_, own)| own.method == Method::Write) {
        return if own.argument == it.result { Ok(None) } else { Err(Trouble::Bad) };
    }
    let status = |id: TransactionId| history.transaction(id).status;
    let is_initial = history.initial_value(it.key) == it.result;
    let all = writers(history, it.key, it.result);
    let happened: Vec<TransactionId> = all.iter().copied().filter(|&id| status(id) != Status::Aborted).collect();
    let source = match history.source(read) {
        Some(Source::Init) => None,
        Some(Source::Operation(source)) => Some(history.transaction_of(source)),
        None if happened.len() + usize::from(is_initial) > 1 => return Err(Trouble::Unknown),
        None if is_initial => None,
        None => Some(*happened.first().or(all.first()).ok_or(Trouble::Bad)?),
    };
    let Some(source) = source else { return Ok(Some(None)) };
    let is_final = last_write(history, source, it.key) == Some(it.result);
    if status(source) == Status::Aborted || source == id || !is_final {
        return Err(Trouble::Bad);
    }
    Ok(Some(Some(source)))
}

/// The base of a read of a list, which ends with the last append of its source.
fn base(history: &History, id: TransactionId, read: OperationId) -> Result<Vec<Value>, Trouble> {
    let it = *history.operation(read);
    let elements = history.list(it.result).to_vec();
    let own: Vec<Value> = operations(history, id)
        .into_iter()
        .filter(|(at, own)| *at < read && own.key == it.key && own.method == Method::Append)
        .map(|(_, own)| own.argument)
        .collect();
    let base = elements.strip_suffix(&own[..]).ok_or(Trouble::Bad)?.to_vec();
    let mut sorted: Vec<String> = elements.iter().map(|&element| history.show(element)).collect();
    sorted.sort();
    sorted.dedup();
    if sorted.len() < elements.len() {
        return Err(Trouble::Bad);
    }
    let mut rest = &base[..];
    while let Some(&element) = rest.first() {
        let writers = writers(history, it.key, element);
        let happened = writers.iter().find(|&&id| history.transaction(id).status != Status::Aborted);
        let &writer = happened.ok_or(Trouble::Bad)?;
        if writer == id {
            return Err(Trouble::Bad);
        }
        // All appends of the writer lie together, in order and complete.
        rest = rest.strip_prefix(&appends(history, writer, it.key)[..]).ok_or(Trouble::Bad)?;
    }
    Ok(base)
}

fn appender(history: &History, key: KeyId, element: Value) -> TransactionId {
    let writers = writers(history, key, element);
    writers.into_iter().find(|&id| history.transaction(id).status != Status::Aborted).expect("bases are good")
}

fn resolve(history: &History) -> Result<Counted, Trouble> {
    let count = history.transaction_count();
    let all: Vec<TransactionId> = (0..count as u32).map(TransactionId).collect();
    let mut counts: Vec<bool> = all.iter().map(|&id| history.transaction(id).status == Status::Committed).collect();
    let reads_of = |id: TransactionId| {
        let reads = operations(history, id).into_iter();
        reads.filter(|(_, it)| it.method == Method::Read && it.result.is_some()).collect::<Vec<_>>()
    };
    // A transaction that counts makes those count that it reads from.
    loop {
        let before = counts.clone();
        for &id in all.iter().filter(|id| before[id.index()]) {
            for (read, it) in reads_of(id) {
                if it.result.as_list().is_some() {
                    for element in base(history, id, read).unwrap_or_default() {
                        counts[appender(history, it.key, element).index()] = true;
                    }
                } else if let Ok(Some(Some(source))) = register(history, id, read) {
                    counts[source.index()] = true;
                }
            }
        }
        if counts == before {
            break;
        }
    }
    let ids: Vec<TransactionId> = all.iter().copied().filter(|id| counts[id.index()]).collect();
    let number = |id: TransactionId| ids.iter().position(|&other| other == id).expect("a source counts");
    let mut trouble = None;
    let mut reads: Vec<Vec<Read>> = Vec::new();
    // The observed versions of lists.
    let mut observed: Vec<(KeyId, Vec<Value>)> = Vec::new();
    for &id in &ids {
        let mut external = Vec::new();
        for (operation, it) in reads_of(id) {
            let source = if it.result.as_list().is_some() {
                base(history, id, operation).map(|base| {
                    observed.push((it.key, base.clone()));
                    let own = appends(history, id, it.key);
                    let mut earlier = operations(history, id).into_iter().filter(|(at, _)| *at < operation);
                    if earlier.any(|(_, own)| own.method == Method::Append && own.key == it.key) {
                        observed.push((it.key, base.iter().chain(&own).copied().collect()));
                    }
                    Some(base.last().map(|&last| appender(history, it.key, last)))
                })
            } else {
                register(history, id, operation)
            };
            match source {
                Ok(None) => {}
                Ok(Some(source)) => external.push(Read { key: it.key, operation, source: source.map(number) }),
                Err(Trouble::Unknown) => return Err(Trouble::Unknown),
                Err(Trouble::Bad) => trouble = Some(Trouble::Bad),
            }
        }
        reads.push(external);
    }
    let writes: Vec<Vec<KeyId>> = ids
        .iter()
        .map(|&id| {
            let mut keys: Vec<KeyId> = operations(history, id)
                .iter()
                .filter(|(_, it)| it.method != Method::Read)
                .map(|(_, it)| it.key)
                .collect();
            keys.sort_unstable();
            keys.dedup();
            keys
        })
        .collect();
    let mut versions = Vec::new();
    for key in (0..history.keys().len() as u32).map(KeyId) {
        let of_key: Vec<&Vec<Value>> = observed.iter().filter(|(of, _)| *of == key).map(|(_, it)| it).collect();
        for a in &of_key {
            if of_key.iter().any(|b| !a.starts_with(b) && !b.starts_with(a)) {
                trouble = Some(Trouble::Bad);
            }
        }
        let Some(longest) = of_key.iter().max_by_key(|version| version.len()) else { continue };
        let mut seen: Vec<usize> = longest.iter().map(|&e| number(appender(history, key, e))).collect();
        seen.dedup();
        for (at, &t) in seen.iter().enumerate() {
            versions.extend(seen[at + 1..].iter().map(|&u| (t, u)));
            let unseen = (0..ids.len()).filter(|u| writes[*u].contains(&key) && !seen.contains(u));
            versions.extend(unseen.map(|u| (t, u)));
        }
    }
    match trouble {
        Some(trouble) => Err(trouble),
        None => Ok(Counted { reads, writes, ids, versions }),
    }
}

/// A relation between at most 16 transactions: for each, the set of those that come after it.
type Relation = [u16; 16];

fn has(relation: &Relation, a: usize, b: usize) -> bool {
    relation[a] & (1 << b) != 0
}

fn union(a: &Relation, b: &Relation) -> Relation {
    std::array::from_fn(|at| a[at] | b[at])
}

fn compose(a: &Relation, b: &Relation) -> Relation {
    std::array::from_fn(|at| (0..16).filter(|&next| has(a, at, next)).fold(0, |set, next| set | b[next]))
}

fn closure(relation: &Relation) -> Relation {
    let mut all = *relation;
    loop {
        let more = union(&all, &compose(&all, relation));
        if more == all {
            return all;
        }
        all = more;
    }
}

struct Axioms<'a> {
    counted: &'a Counted,
    /// Session order, or what stands for it, and reads-from.
    before: Relation,
    /// What every commit order contains.
    base: Relation,
    /// Pairs that write a common key.
    conflicts: Relation,
    is_repeatable: bool,
}

impl<'a> Axioms<'a> {
    fn new(history: &History, counted: &'a Counted, sessions: usize) -> Self {
        let count = counted.ids.len();
        let mut before = [0u16; 16];
        let moments = history.transaction_moments();
        for (a, after) in before.iter_mut().enumerate().take(count) {
            for b in 0..count {
                let (first, second) = (counted.ids[a], counted.ids[b]);
                let (t1, t2) = (history.transaction(first), history.transaction(second));
                let committed = t1.status == Status::Committed;
                let so = sessions > 0 && committed && t1.session == t2.session && first < second;
                let rt = sessions == 2 && committed && moments[first.index()][1] < moments[second.index()][0];
                let wr = counted.reads[b].iter().any(|read| read.source == Some(a));
                *after |= u16::from(so || rt || wr) << b;
            }
        }
        let mut base = before;
        for &(a, b) in &counted.versions {
            base[a] |= 1 << b;
        }
        let mut conflicts = [0u16; 16];
        for (a, with) in conflicts.iter_mut().enumerate().take(count) {
            for b in (0..count).filter(|&b| b != a) {
                let common = counted.writes[a].iter().any(|key| counted.writes[b].contains(key));
                *with |= u16::from(common) << b;
            }
        }
        let is_repeatable = counted
            .reads
            .iter()
            .all(|reads| reads.iter().all(|a| reads.iter().all(|b| a.key != b.key || a.source == b.source)));
        Self { counted, before, base, conflicts, is_repeatable }
    }

    /// Which levels some commit order satisfies.
    fn try_all(&self) -> OfLevels<bool> {
        let mut found = [false; Level::ALL.len()];
        self.extend(&mut Vec::new(), &mut found);
        found
    }

    /// Tries all commit orders that begin so.
    fn extend(&self, order: &mut Vec<usize>, found: &mut OfLevels<bool>) {
        let count = self.counted.ids.len();
        if order.len() == count {
            let mut co = [0u16; 16];
            for (at, &a) in order.iter().enumerate() {
                co[a] = order[at + 1..].iter().fold(0, |set, &b| set | 1 << b);
            }
            for (level, found) in Level::ALL.into_iter().zip(found) {
                *found = *found || self.satisfies(level, &co);
            }
            return;
        }
        for next in 0..count {
            let waits = (0..count).any(|a| has(&self.base, a, next) && !order.contains(&a));
            if !order.contains(&next) && !waits && !found.iter().all(|found| *found) {
                order.push(next);
                self.extend(order, found);
                order.pop();
            }
        }
    }

    fn satisfies(&self, level: Level, co: &Relation) -> bool {
        let before = &self.before;
        let prefix = || union(before, &compose(co, before));
        let premise: Relation = match level {
            Level::Pl2 => [0; 16],
            Level::ReadCommitted => return self.read_committed(co),
            Level::RepeatableRead => return self.is_repeatable && self.read_committed(co),
            Level::ReadAtomic => *before,
            Level::Causal => closure(before),
            Level::Prefix => prefix(),
            Level::ParallelSnapshotIsolation => {
                let conflicts = std::array::from_fn(|at| co[at] & self.conflicts[at]);
                closure(&union(before, &conflicts))
            }
            Level::SnapshotIsolation => {
                let conflicts: Relation = std::array::from_fn(|at| co[at] & self.conflicts[at]);
                union(&prefix(), &union(&conflicts, &compose(co, &conflicts)))
            }
            Level::Serializable => *co,
        };
        let reads = self.counted.reads.iter().enumerate();
        let mut reads = reads.flat_map(|(t3, reads)| reads.iter().map(move |read| (t3, read)));
        reads.all(|(t3, read)| self.holds(co, read, |t2| has(&premise, t2, t3)))
    }

    /// Whether all writers of the key that the premise speaks of are before the source.
    fn holds(&self, co: &Relation, read: &Read, premise: impl Fn(usize) -> bool) -> bool {
        (0..self.counted.ids.len()).all(|t2| {
            let is_other = Some(t2) != read.source && self.counted.writes[t2].contains(&read.key) && premise(t2);
            !is_other || read.source.is_some_and(|t1| has(co, t2, t1))
        })
    }

    fn read_committed(&self, co: &Relation) -> bool {
        self.counted.reads.iter().all(|reads| {
            reads.iter().all(|read| {
                let earlier =
                    |t2: usize| reads.iter().any(|other| other.operation < read.operation && other.source == Some(t2));
                self.holds(co, read, earlier)
            })
        })
    }
}
