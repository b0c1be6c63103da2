//! The levels whose premises do not mention the commit order: `pl-2`, `read-committed`, `repeatable-read`,
//! `read-atomic`, `causal`.
//!
//! All pairs that such a level forces are known at once. The level holds exactly if session order, reads-from, known
//! versions and the forced pairs have no cycle: every commit order contains all of these, and any order that contains
//! them is a witness. What matters is to look at few pairs (AWDIT):
//!
//! - `read-committed`: in each transaction, backwards through its reads, the two nearest later sources of each key. At
//!   the first read from t2, the keys that t2 writes are compared with the keys read later, walking the smaller set.
//!   Farther sources follow, since each of these sources comes before the next.
//! - `read-atomic`: for each source of a transaction, the keys that it writes and the keys that the transaction reads;
//!   and of its session the last writer of each key.
//! - `causal`: clocks of session order and reads-from. For each read of a key, the last writer of the key in each chain
//!   within the clock. Writers that the source knows of already need no edge, so most chains are passed over, sixteen
//!   at a time.

use model::{Budget, GaveUp};
use order::Rows;
use order::lanes::{BLOCK, Block, join, lanes, lanes_where, larger};
use order::saturation::NONE;

use crate::graph::{CommitGraph, EdgeReason};
use crate::view::{ExternalRead, INIT, TransactionView};
use crate::{Sessions, Stop};

/// How many transactions are looked at between two looks at the clock.
const TRANSACTIONS_PER_TIME_CHECK: u32 = 1024;

/// The cuts of real time: auxiliary vertices in one chain. A transaction leads to the first cut after its end, and the
/// last cut before its begin leads to it. So u is reached from t exactly if t ended before u began.
pub struct Cuts {
    /// How many cuts there are.
    pub count: u32,
    /// By transaction: the cut that its end leads to, if there is one after it.
    pub after: Vec<u32>,
    /// By transaction: the cut that leads to its begin, if there is one before it.
    pub before: Vec<u32>,
}

impl Cuts {
    /// The cuts of a view that is timed.
    pub fn new(view: &TransactionView) -> Self {
        // A begin and an end at the same moment overlap, so the begin is first.
        let mut moments: Vec<(u32, bool, u32)> = Vec::with_capacity(2 * view.len());
        for t in view.all() {
            let [begin, end] = view.places[t as usize];
            moments.push((begin, false, t));
            if end != history::History::NEVER {
                moments.push((end, true, t));
            }
        }
        moments.sort_unstable();
        let mut this = Self { count: 0, after: vec![NONE; view.len()], before: vec![NONE; view.len()] };
        let mut ended: Vec<u32> = Vec::new();
        for (_, is_end, t) in moments {
            if is_end {
                ended.push(t);
                continue;
            }
            if !ended.is_empty() {
                for t in ended.drain(..) {
                    this.after[t as usize] = this.count;
                }
                this.count += 1;
            }
            this.before[t as usize] = this.count.wrapping_sub(1);
        }
        this
    }
}

/// Session order, or what stands for it, and reads-from.
pub fn causality(view: &TransactionView, sessions: Sessions) -> CommitGraph {
    let mut graph = CommitGraph::new(view.len());
    if sessions != Sessions::None {
        for t in view.all() {
            let before = view.before[t as usize];
            if before != NONE {
                graph.add(before, t, EdgeReason::Session);
            }
        }
    }
    for t in view.all() {
        let mut last = INIT;
        for read in view.reads_of(t) {
            if read.source != last && read.source != INIT {
                graph.add(read.source, t, EdgeReason::Reads(read.operation));
                last = read.source;
            }
        }
    }
    if sessions == Sessions::RealTime {
        add_real_time(view, &mut graph, |t| [t, t]);
    }
    graph
}

/// Adds real time by its [`Cuts`]. Each transaction has a vertex for its begin and one for its end.
pub fn add_real_time(view: &TransactionView, graph: &mut CommitGraph, ends: impl Fn(u32) -> [u32; 2]) {
    let cuts = Cuts::new(view);
    let first = graph.count as u32;
    graph.count += cuts.count as usize;
    for cut in 1..cuts.count {
        graph.add(first + cut - 1, first + cut, EdgeReason::Aside);
    }
    for t in view.all() {
        let [begin, end] = ends(t);
        let (after, before) = (cuts.after[t as usize], cuts.before[t as usize]);
        if after != NONE {
            graph.add(end, first + after, EdgeReason::Aside);
        }
        if before != NONE {
            graph.add(first + before, begin, EdgeReason::RealTime);
        }
    }
}

/// Adds the known versions of lists. An edge leads from the end of a transaction to where the versions of a later one
/// are anchored: for a level of one vertex a transaction, both are that vertex.
pub fn add_versions(view: &TransactionView, graph: &mut CommitGraph, ends: impl Fn(u32) -> [u32; 2]) {
    for key in 0..view.keys {
        let mut add = |from, to| graph.add(ends(from)[1], ends(to)[0], EdgeReason::Version(key as u32));
        let seen = view.seen.of(key);
        for pair in seen.windows(2) {
            add(pair[0], pair[1]);
        }
        if let Some(&last) = seen.last() {
            for &t in view.unseen.of(key) {
                add(last, t);
            }
        }
    }
}

/// Two reads of one key in one transaction from different transactions.
pub fn unrepeatable(view: &TransactionView) -> Option<[ExternalRead; 2]> {
    let mut first: Vec<(u32, ExternalRead)> = vec![(NONE, ExternalRead::default()); view.keys];
    for t in view.all() {
        let reads = view.reads_of(t);
        for &read in reads {
            let known = &mut first[read.key as usize];
            if known.0 != t {
                *known = (t, read);
            } else if known.1.source != read.source {
                return Some([known.1, read]);
            }
        }
    }
    None
}

/// The premise of `read-committed`.
pub fn read_committed(view: &TransactionView, graph: &mut CommitGraph) -> Result<(), Stop> {
    // By key: the transaction for which this holds, and its two nearest later reads of the key from different sources.
    let mut nearest: Vec<(u32, ExternalRead, Option<ExternalRead>)> =
        vec![(NONE, ExternalRead::default(), None); view.keys];
    // By source: the transaction for which this holds, and the first of its reads from the source.
    let mut firsts: Vec<(u32, u32)> = vec![(NONE, NONE); view.len()];
    let mut keys: Vec<u32> = Vec::new();
    for t in view.all() {
        let reads = view.reads_of(t);
        if reads.len() < 2 {
            continue;
        }
        for (at, read) in reads.iter().enumerate().rev() {
            if read.source != INIT {
                firsts[read.source as usize] = (t, at as u32);
            }
        }
        keys.clear();
        for (at, read) in reads.iter().enumerate().rev() {
            if read.source != INIT && firsts[read.source as usize] == (t, at as u32) {
                let t2 = read.source;
                let mut force = |key: u32| -> Result<(), Stop> {
                    let (of, first, second) = nearest[key as usize];
                    if of != t {
                        return Ok(());
                    }
                    let other = if first.source == t2 { second } else { Some(first) };
                    let Some(later) = other else { return Ok(()) };
                    add(graph, t2, &later, EdgeReason::ByRead(read.operation, later.operation))
                };
                let writes = view.writes_of(t2);
                if writes.len() <= keys.len() {
                    for write in writes {
                        force(write.key)?;
                    }
                } else {
                    for &key in keys.iter().filter(|&&key| view.has_write(t2, key)) {
                        force(key)?;
                    }
                }
            }
            let known = &mut nearest[read.key as usize];
            if known.0 != t {
                *known = (t, *read, None);
                keys.push(read.key);
            } else if known.1.source != read.source {
                *known = (t, *read, Some(known.1));
            }
        }
    }
    Ok(())
}

/// Adds a forced edge from a writer to the source of a read. If the source is the initial transaction, that is a
/// violation by itself.
#[inline]
fn add(graph: &mut CommitGraph, from: u32, read: &ExternalRead, why: EdgeReason) -> Result<(), Stop> {
    if read.source == INIT {
        return Err(Stop::Overwritten { from, why });
    }
    graph.add(from, read.source, why);
    Ok(())
}

/// The premise of `read-atomic`. Reads are repeatable.
pub fn read_atomic(view: &TransactionView, sessions: Sessions, graph: &mut CommitGraph) -> Result<(), Stop> {
    // By key: the transaction for which this holds, and its read of the key.
    let mut reads_of_key: Vec<(u32, ExternalRead)> = vec![(NONE, ExternalRead::default()); view.keys];
    let mut firsts: Vec<u32> = vec![NONE; view.len()];
    // By key: the chain for which this holds, and its last writer so far.
    let mut last: Vec<(u32, u32)> = vec![(NONE, NONE); view.keys];
    let by_session = |t: u32| sessions != Sessions::None && (view.chains[t as usize] as usize) < view.sessions;
    for t in view.all() {
        let reads = view.reads_of(t);
        for read in reads {
            reads_of_key[read.key as usize] = (t, *read);
        }
        for read in reads {
            let t2 = read.source;
            if t2 == INIT || std::mem::replace(&mut firsts[t2 as usize], t) == t {
                continue;
            }
            let writes = view.writes_of(t2);
            if writes.len() <= reads.len() {
                for write in writes {
                    let (of, other) = reads_of_key[write.key as usize];
                    if of == t && other.source != t2 {
                        add(graph, t2, &other, EdgeReason::ByRead(read.operation, other.operation))?;
                    }
                }
            } else {
                for other in reads.iter().filter(|other| other.source != t2 && view.has_write(t2, other.key)) {
                    add(graph, t2, other, EdgeReason::ByRead(read.operation, other.operation))?;
                }
            }
        }
        if by_session(t) {
            let chain = view.chains[t as usize];
            for read in reads {
                let (of, writer) = last[read.key as usize];
                if of == chain && writer != read.source {
                    add(graph, writer, read, EdgeReason::BySession(read.operation))?;
                }
            }
            for write in view.writes_of(t) {
                last[write.key as usize] = (chain, t);
            }
        }
    }
    if sessions != Sessions::None {
        of_indeterminate(view, graph)?;
    }
    if sessions == Sessions::RealTime {
        of_real_time(view, graph)?;
    }
    Ok(())
}

/// The last writers of the session for the reads of indeterminate transactions.
fn of_indeterminate(view: &TransactionView, graph: &mut CommitGraph) -> Result<(), Stop> {
    let first = view.starts[view.sessions];
    if first as usize == view.len() {
        return Ok(());
    }
    let writers = view.writers();
    for t in first..view.len() as u32 {
        let before = view.before[t as usize];
        if before == NONE {
            continue;
        }
        let start = view.starts[view.chains[before as usize] as usize];
        for read in view.reads_of(t) {
            let all = writers.of(read.key as usize);
            let at = all.partition_point(|&writer| writer <= before);
            let last = all[..at].last().copied().filter(|&writer| writer >= start);
            if let Some(writer) = last.filter(|&writer| writer != read.source) {
                add(graph, writer, read, EdgeReason::BySession(read.operation))?;
            }
        }
    }
    Ok(())
}

/// The writers that ended before a reader began. Those that ended before the source are reached through auxiliary
/// vertices, one for each writer of the key by its end. Those that ended after it are few, or one of them began after
/// the source had ended and is a violation.
fn of_real_time(view: &TransactionView, graph: &mut CommitGraph) -> Result<(), Stop> {
    let end = |t: u32| view.places[t as usize][1];
    let writers = view.writers();
    let ended: Vec<Vec<u32>> = (0..view.keys)
        .map(|key| {
            let mut ended: Vec<u32> =
                writers.of(key).iter().copied().filter(|&t| end(t) != history::History::NEVER).collect();
            ended.sort_unstable_by_key(|&t| (end(t), t));
            ended
        })
        .collect();
    // The auxiliary vertex of each key behind its first writer; the others follow it.
    let mut vertices = Vec::with_capacity(view.keys);
    for ended in &ended {
        vertices.push(graph.count as u32);
        for (at, &writer) in ended.iter().enumerate() {
            let vertex = graph.vertex();
            graph.add(writer, vertex, EdgeReason::Aside);
            if at > 0 {
                graph.add(vertex - 1, vertex, EdgeReason::Aside);
            }
        }
    }
    for t in view.all() {
        let begin = view.places[t as usize][0];
        for read in view.reads_of(t) {
            let ended = &ended[read.key as usize];
            let count = ended.partition_point(|&writer| end(writer) < begin);
            if count == 0 {
                continue;
            }
            let why = EdgeReason::ByRealTime(read.operation);
            if read.source == INIT {
                return Err(Stop::Overwritten { from: ended[0], why });
            }
            let of_source = ended.partition_point(|&writer| (end(writer), writer) < (end(read.source), read.source));
            let earlier = of_source.min(count);
            if earlier > 0 {
                graph.add(vertices[read.key as usize] + earlier as u32 - 1, read.source, why);
            }
            for &writer in ended.get(of_source + 1..count).unwrap_or(&[]) {
                graph.add(writer, read.source, why);
                if view.places[writer as usize][0] > end(read.source) {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// The premise of `causal`. `before` has session order, reads-from and real time, and `line` is an order of it.
pub fn causal(
    view: &TransactionView,
    before: &CommitGraph,
    line: &[u32],
    graph: &mut CommitGraph,
    budget: &Budget,
) -> Result<(), Stop> {
    let width = lanes(view.starts.len() - 1) / BLOCK;
    let writers = view.writers();
    // Only a key with several writers, or with an initial version that is read, has pairs to force.
    let mut rows: Vec<u32> = vec![NONE; view.keys];
    let mut count = 0;
    for (key, row) in rows.iter_mut().enumerate() {
        if !writers.of(key).is_empty() {
            *row = count;
            count += 1;
        }
    }
    let all = before.count + count as usize;
    budget.check_room_for_clocks(all, width * BLOCK, all * width * size_of::<Block>())?;
    let mut clocks: Vec<Block> = vec![[0; BLOCK]; before.count * width];
    // By key: one more than the last writer of each chain that was passed.
    let mut last: Vec<Block> = vec![[0; BLOCK]; count as usize * width];
    let incoming = Rows::new(before.count, before.edges.iter().map(|edge| (edge.to as usize, edge.from)));
    let transactions = view.len() as u32;
    for (at, &vertex) in (0u32..).zip(line) {
        if at.is_multiple_of(TRANSACTIONS_PER_TIME_CHECK) {
            budget.check()?;
        }
        let row = vertex as usize * width;
        for &from in incoming.of(vertex as usize) {
            for block in 0..width {
                clocks[row + block] = join(&clocks[row + block], &clocks[from as usize * width + block]);
            }
        }
        if vertex >= transactions {
            continue;
        }
        let t = vertex;
        let clock = &clocks[row..row + width];
        for read in view.reads_of(t) {
            let Some(key_row) = Some(rows[read.key as usize]).filter(|&row| row != NONE) else { continue };
            let last = &last[key_row as usize * width..][..width];
            let known = if read.source == INIT { None } else { clocks.get(read.source as usize * width..) };
            let late = |block: usize| match known {
                None => larger(&last[block], &[0; BLOCK]) & larger(&clock[block], &[0; BLOCK]),
                Some(known) => larger(&last[block], &known[block]) & larger(&clock[block], &known[block]),
            };
            for lane in lanes_where(width, late) {
                let end = clock.as_flattened()[lane];
                let of_key = writers.of(read.key as usize);
                let found = of_key[..of_key.partition_point(|&writer| writer < end)].last();
                let floor = known.map_or(view.starts[lane], |known| known.as_flattened()[lane].max(view.starts[lane]));
                if let Some(&writer) = found.filter(|&&writer| writer >= floor && writer != read.source) {
                    add(graph, writer, read, EdgeReason::ByCause(read.operation))?;
                }
            }
        }
        let chain = view.chains[t as usize] as usize;
        clocks[row + chain / BLOCK][chain % BLOCK] = t + 1;
        for write in view.writes_of(t) {
            let row = rows[write.key as usize] as usize * width;
            last[row + chain / BLOCK][chain % BLOCK] = t + 1;
        }
    }
    Ok(())
}

/// A shortest path of session order, reads-from and real time between two transactions, as numbers of edges.
pub fn causal_path(before: &CommitGraph, from: u32, to: u32) -> Vec<u32> {
    let incoming =
        Rows::new(before.count, (0u32..).zip(&before.edges).map(|(number, edge)| (edge.to as usize, number)));
    let mut onward = vec![NONE; before.count];
    let mut queue = std::collections::VecDeque::from([to]);
    while let Some(vertex) = queue.pop_front() {
        for &number in incoming.of(vertex as usize) {
            let edge = &before.edges[number as usize];
            if onward[edge.from as usize] == NONE && edge.from != to {
                onward[edge.from as usize] = number;
                queue.push_back(edge.from);
            }
        }
    }
    let mut path = Vec::new();
    let mut at = from;
    while at != to && onward[at as usize] != NONE {
        path.push(onward[at as usize]);
        at = before.edges[onward[at as usize] as usize].to;
    }
    path
}

impl From<GaveUp> for Stop {
    fn from(why: GaveUp) -> Self {
        Self::GaveUp(why)
    }
}
