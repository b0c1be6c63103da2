//! Decides again whether the operations on a string or a register have an order, up to one return, if it is clear where
//! each value that they saw came from.
//!
//! A read shows the write that its value is from. A compare-and-swap that succeeded shows the write that it followed
//! directly. A get shows a put, and all appends that followed it, one by one. So some operations follow others
//! directly, with only reads between. Those that hang together form a block, in which every operation has its step.
//! Nothing else comes between. There is an order unless an operation follows two, or itself, or two operations follow
//! one; or an operation of a later step of a block returned before one of an earlier step was called; or each of two
//! blocks has an operation that returned before one of the other was called. (If blocks must come before each other in
//! a longer circle, the one with the first return of all and the one before it in the circle are such a pair.)
//!
//! A compare-and-swap that failed is ignored: without it there is no more to contradict. So the answer may be that
//! there is an order, though there is none.

use std::collections::HashMap;

use history::{Method, Object, OperationId, Value};

use super::Claim;
use super::run::text;

/// Where a value came from: an operation, or none if it was there at first.
type Origin = Option<OperationId>;

/// That it is not clear where a value came from, or that it came from nowhere.
enum Unclear {
    Several,
    Nowhere,
}

/// Whether the operations of a group that were called up to `limit` certainly have no order. None if that is not clear.
pub(super) fn have_no_order(claim: Claim, members: &[OperationId], limit: u64) -> Option<bool> {
    let members: Vec<OperationId> = members.iter().copied().filter(|&id| claim.call(id) <= limit).collect();
    let group = Group { claim, members: &members, limit };
    let found = match claim.history.object() {
        Object::KeyValue => group.texts(),
        Object::Register | Object::Memory => group.values(),
        _ => return None,
    };
    match found {
        Ok(Seen { after, reads }) => Some(group.contradict(&after, &reads)),
        Err(Unclear::Nowhere) => Some(true),
        Err(Unclear::Several) => None,
    }
}

/// What the operations saw: what each write followed directly, and what each read saw.
#[derive(Default)]
struct Seen {
    after: HashMap<OperationId, Origin>,
    reads: Vec<(OperationId, Origin)>,
}

struct Group<'a> {
    claim: Claim<'a>,
    members: &'a [OperationId],
    limit: u64,
}

impl Group<'_> {
    fn has_returned(&self, id: OperationId) -> bool {
        self.claim.ret(id) <= self.limit
    }

    fn result(&self, id: OperationId) -> Value {
        if self.has_returned(id) { self.claim.result(id) } else { Value::NONE }
    }

    /// A register: what was seen.
    fn values(&self) -> Result<Seen, Unclear> {
        let history = self.claim.history;
        let mut origins: HashMap<u64, Vec<Origin>> = HashMap::new();
        if let Some(&first) = self.members.first() {
            let initial = history.initial_value(history.operation(first).key);
            origins.entry(initial.bits()).or_default().push(None);
        }
        for &id in self.members {
            let operation = history.operation(id);
            let may_write = match operation.method {
                Method::Write | Method::Rmw => true,
                Method::Cas => self.result(id) != Value::FALSE,
                _ => false,
            };
            if may_write {
                origins.entry(operation.argument.bits()).or_default().push(Some(id));
            }
        }
        let origin = |value: Value| match origins.get(&value.bits()).map(Vec::as_slice) {
            None | Some([]) => Err(Unclear::Nowhere),
            Some([origin]) => Ok(*origin),
            Some(_) => Err(Unclear::Several),
        };
        let mut seen = Seen::default();
        for &id in self.members {
            let result = self.result(id);
            match history.operation(id).method {
                Method::Read if result.is_some() => seen.reads.push((id, origin(result)?)),
                Method::Rmw if result.is_some() => {
                    seen.after.insert(id, origin(result)?);
                }
                Method::Cas if result == Value::FALSE => {}
                Method::Cas if result.is_none() && self.has_returned(id) => return Err(Unclear::Several),
                Method::Cas => match origin(history.expected(id).unwrap_or(Value::NONE)) {
                    Ok(origin) => {
                        seen.after.insert(id, origin);
                    }
                    // It is pending, and cannot have succeeded. It follows itself: so nobody can have seen its value.
                    Err(Unclear::Nowhere) if result.is_none() => {
                        seen.after.insert(id, Some(id));
                    }
                    Err(unclear) => return Err(unclear),
                },
                _ => {}
            }
        }
        Ok(seen)
    }

    /// A string: what was seen.
    fn texts(&self) -> Result<Seen, Unclear> {
        let history = self.claim.history;
        let mut puts: Vec<(String, Origin)> = Vec::new();
        let mut appends: HashMap<String, Vec<OperationId>> = HashMap::new();
        if let Some(&first) = self.members.first() {
            puts.push((text(history, history.initial_value(history.operation(first).key)), None));
        }
        for &id in self.members {
            let operation = history.operation(id);
            match operation.method {
                Method::Put => puts.push((text(history, operation.argument), Some(id))),
                Method::Append => appends.entry(text(history, operation.argument)).or_default().push(id),
                _ => {}
            }
        }
        appends.remove("");
        let mut lengths: Vec<usize> = appends.keys().map(String::len).collect();
        lengths.sort_unstable();
        lengths.dedup();
        puts.sort();
        let mut seen = Seen::default();
        let mut known: HashMap<u64, Origin> = HashMap::new();
        for &id in self.members {
            let result = self.result(id);
            if history.operation(id).method != Method::Get || result.is_none() {
                continue;
            }
            let origin = match known.get(&result.bits()) {
                Some(&origin) => origin,
                None => take_apart(&text(history, result), &puts, &appends, &lengths, &mut seen)?,
            };
            known.insert(result.bits(), origin);
            seen.reads.push((id, origin));
        }
        Ok(seen)
    }

    /// Whether what was seen contradicts real time, or itself.
    fn contradict(&self, after: &HashMap<OperationId, Origin>, reads: &[(OperationId, Origin)]) -> bool {
        // Which operations certainly happened: those that returned, and those that they followed.
        let mut happened: HashMap<OperationId, bool> = HashMap::new();
        let mut left: Vec<OperationId> = self.members.iter().copied().filter(|&id| self.has_returned(id)).collect();
        left.extend(reads.iter().filter_map(|&(_, origin)| origin));
        while let Some(id) = left.pop() {
            if happened.insert(id, true).is_none() {
                left.extend(after.get(&id).copied().flatten());
            }
        }
        let mut reads_of: HashMap<Origin, Vec<OperationId>> = HashMap::new();
        for &(read, origin) in reads {
            reads_of.entry(origin).or_default().push(read);
        }
        let mut next: HashMap<Origin, OperationId> = HashMap::new();
        for (&id, &origin) in after.iter().filter(|(id, _)| happened.contains_key(id)) {
            if next.insert(origin, id).is_some() {
                return true;
            }
        }
        let history = self.claim.history;
        let writes = |id: &OperationId| match history.operation(*id).method {
            Method::Write | Method::Rmw | Method::Put => true,
            Method::Append => !text(history, history.operation(*id).argument).is_empty(),
            Method::Cas => self.result(*id) != Value::FALSE,
            _ => false,
        };
        let begins = |id: &OperationId| happened.contains_key(id) && !after.contains_key(id) && writes(id);
        let starts = self.members.iter().copied().filter(begins).map(Some);
        let mut blocks: Vec<[u64; 2]> = Vec::new();
        let mut reached = 0;
        for start in [None].into_iter().chain(starts) {
            // The first return and the last call of the block.
            let [mut returned, mut called] = [if start.is_none() { 0 } else { u64::MAX }, 0];
            let mut at = Some(start);
            while let Some(origin) = at {
                let reads = reads_of.get(&origin).map_or(&[][..], Vec::as_slice);
                for step in [origin.as_slice(), reads] {
                    let before = called;
                    for &id in step {
                        let ret = if self.has_returned(id) { self.claim.ret(id) } else { u64::MAX };
                        if ret < before {
                            return true;
                        }
                        returned = returned.min(ret);
                        called = called.max(self.claim.call(id) + 1);
                        reached += 1;
                    }
                }
                at = next.get(&origin).copied().map(Some);
            }
            blocks.push([returned, called]);
        }
        // What was not reached follows itself.
        let known = happened.keys().filter(|id| writes(id)).count() + reads.len();
        reached < known || have_circle(blocks)
    }
}

/// Takes a text apart, from its beginning. Returns its last piece.
fn take_apart(
    whole: &str,
    puts: &[(String, Origin)],
    appends: &HashMap<String, Vec<OperationId>>,
    lengths: &[usize],
    seen: &mut Seen,
) -> Result<Origin, Unclear> {
    // For each length: the last piece of the text up to there, and where this piece begins; all ways to it.
    let mut ends: Vec<Vec<(Origin, Option<usize>)>> = vec![Vec::new(); whole.len() + 1];
    for length in (0..=whole.len()).filter(|&length| whole.is_char_boundary(length)) {
        let first = puts.partition_point(|(put, _)| put.as_str() < &whole[..length]);
        let same = puts[first..].iter().take_while(|(put, _)| *put == whole[..length]);
        ends[length].extend(same.map(|&(_, origin)| (origin, None)));
    }
    for start in 0..whole.len() {
        match ends[start].len() {
            0 => continue,
            1 => {}
            // This can be the beginning of the text in two ways. If it is, so can be the whole.
            _ => ends[start].truncate(2),
        }
        for &length in lengths {
            let Some(piece) = whole.get(start..start + length) else { continue };
            for &append in appends.get(piece).into_iter().flatten().take(2) {
                let ways = ends[start].len();
                ends[start + length].extend(vec![(Some(append), Some(start)); ways]);
            }
        }
    }
    let last = match ends[whole.len()].as_slice() {
        [] => return Err(Unclear::Nowhere),
        &[(last, _)] => last,
        _ => return Err(Unclear::Several),
    };
    let mut end = whole.len();
    while let [(Some(append), Some(start))] = ends[end][..] {
        let origin = ends[start].first().and_then(|&(origin, _)| origin);
        if seen.after.insert(append, origin).is_some_and(|other| other != origin) {
            return Err(Unclear::Nowhere);
        }
        end = start;
    }
    Ok(last)
}

/// Whether, of some two blocks, each must come before the other. Each block has its first return and its last call.
fn have_circle(mut blocks: Vec<[u64; 2]>) -> bool {
    blocks.sort_unstable();
    // The two last calls of the blocks whose first returns are the smallest so far, with their places.
    let mut lasts: Vec<[(u64, usize); 2]> = Vec::new();
    let mut last = [(0, usize::MAX); 2];
    for (at, &[_, called]) in blocks.iter().enumerate() {
        if called > last[0].0 {
            last = [(called, at), last[0]];
        } else if called > last[1].0 {
            last[1] = (called, at);
        }
        lasts.push(last);
    }
    blocks.iter().enumerate().any(|(at, &[returned, called])| {
        let before = blocks.partition_point(|&[first, _]| first < called);
        let others = before.checked_sub(1).map(|place| lasts[place]).into_iter().flatten();
        others.into_iter().any(|(last, other)| other != at && last > returned)
    })
}
