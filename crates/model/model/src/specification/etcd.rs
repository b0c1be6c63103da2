//! The specification of etcd's key-value store: keys with values, and a revision that counts changes.
//!
//! The store begins empty, at revision 1. A request whose conditions hold runs its actions one after the other, each on
//! what the ones before it left. If any of them changed a key, the revision of the store grows by one, and the changed
//! keys have the new revision. A key that is written for the first time, or again after it was deleted, has version 1;
//! each write after that adds one. Leases are not part of it.
//!
//! An answer may tell less than all: only the revision, or entries without versions. What it tells is part of the
//! [operation](Asked), so that the specification answers as much.
//!
//! A request without an answer may have taken effect at any later time, or never. But each revision is made by one
//! request. So what is known of the revisions ([`Etcd::new`]) says where such a request cannot have taken effect: at a
//! revision that an answered request made, at one that is shown with another key or value, and after the last revision
//! that anybody saw, where it makes no difference. Nor does it make one if it changed nothing. This leaves out no order
//! that explains all answers, and keeps a search from trying all subsets of such requests.

use std::collections::{BTreeMap, BTreeSet};

use history::etcd::{EtcdAction, EtcdAnswer, EtcdCondition, EtcdEntry, OBJECT, Request, Response};
use history::{History, Object};

use super::{Calls, Recorded, Sequential};

/// Whether a history is one of etcd.
pub fn is_of(history: &History) -> bool {
    history.object() == Object::Open && history.object_name() == OBJECT
}

/// The key-value store of etcd, and what is known of its revisions.
#[derive(Clone, Debug, Default)]
pub struct Etcd {
    /// The revisions that requests made which were answered.
    made: BTreeSet<i64>,
    /// The key and the value that were written at a revision.
    shown: BTreeMap<i64, (String, String)>,
    /// The last revision that anybody saw.
    last: i64,
}

impl Etcd {
    /// The store of these calls.
    pub fn new(calls: &Calls<Self>) -> Self {
        let mut etcd = Self::default();
        for call in calls {
            let Some(response) = call.result() else { continue };
            etcd.last = etcd.last.max(response.revision);
            let request = &call.operation.request;
            let (actions, answers) = match &response.answers {
                Some((true, answers)) => (&request.then, &answers[..]),
                Some((false, answers)) => (&request.otherwise, &answers[..]),
                None => continue,
            };
            let is_change = |action: &EtcdAction| matches!(action, EtcdAction::Put { .. });
            let has_deleted = |answer: &EtcdAnswer| matches!(answer, EtcdAnswer::Deleted(count) if *count > 0);
            if actions.iter().any(is_change) || answers.iter().any(has_deleted) {
                etcd.made.insert(response.revision);
            }
            for answer in answers {
                let EtcdAnswer::Range(_, entries) = answer else { continue };
                for entry in entries {
                    etcd.shown.insert(entry.revision, (entry.key.clone(), entry.value.clone()));
                }
            }
        }
        etcd
    }

    /// Whether a request of which nobody knows the end may have made this revision.
    fn may_make(&self, revision: i64, actions: &[EtcdAction]) -> bool {
        let writes = |(key, value): &(String, String)| {
            let is_it =
                |action: &EtcdAction| matches!(action, EtcdAction::Put { key: k, value: v } if k == key && v == value);
            actions.iter().any(is_it)
        };
        revision <= self.last && !self.made.contains(&revision) && self.shown.get(&revision).is_none_or(writes)
    }
}

/// What the store remembers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EtcdStore {
    revision: i64,
    keys: BTreeMap<String, Held>,
}

/// A key that is there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Held {
    value: String,
    revision: i64,
    version: i64,
}

/// A request, and what its answer tells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Asked {
    request: Request,
    /// Whether more than the revision is told.
    is_whole: bool,
    /// Whether entries have versions.
    has_versions: bool,
    /// Whether there is no answer.
    is_open: bool,
}

/// Reads a recorded operation.
pub fn read(recorded: &Recorded) -> Option<(Asked, Option<Response>)> {
    let [argument] = recorded.arguments else { return None };
    // A word that could be taken for a number stands in quotes.
    let plain = |text: &str| text.trim_matches('"').to_owned();
    let request = Request::parse(recorded.method, &plain(argument))?;
    let response = match recorded.result {
        Some(text) => Some(Response::parse(&request, &plain(text))?),
        None => None,
    };
    let answers = response.iter().filter_map(|response| response.answers.as_ref()).flat_map(|(_, answers)| answers);
    let entries = answers.filter_map(|answer| match answer {
        EtcdAnswer::Range(_, entries) => Some(entries),
        EtcdAnswer::Put | EtcdAnswer::Deleted(_) => None,
    });
    let has_versions = entries.flatten().any(|entry| entry.version.is_some());
    let is_whole = response.as_ref().is_none_or(|response| response.answers.is_some());
    let is_open = response.is_none();
    Some((Asked { request, is_whole, has_versions, is_open }, response))
}

impl Sequential for Etcd {
    type State = EtcdStore;
    type Operation = Asked;
    type Return = Response;

    fn initial(&self) -> EtcdStore {
        EtcdStore { revision: 1, keys: BTreeMap::new() }
    }

    fn steps(&self, store: &EtcdStore, asked: &Asked) -> impl IntoIterator<Item = (EtcdStore, Response)> {
        let holds = |condition: &EtcdCondition| {
            let held = |key: &str| store.keys.get(key).map_or((0, 0), |held| (held.revision, held.version));
            match condition {
                EtcdCondition::Revision(key, revision) => held(key).0 == *revision,
                EtcdCondition::Version(key, version) => held(key).1 == *version,
            }
        };
        let is_then = asked.request.conditions.iter().all(holds);
        let actions = if is_then { &asked.request.then } else { &asked.request.otherwise };
        let mut next = store.clone();
        let is_changed = &mut false;
        let answers: Vec<EtcdAnswer> =
            actions.iter().map(|action| next.run(action, store.revision + 1, asked.has_versions, is_changed)).collect();
        next.revision += i64::from(*is_changed);
        if asked.is_open && !(*is_changed && self.may_make(next.revision, actions)) {
            return None;
        }
        let response = Response { revision: next.revision, answers: asked.is_whole.then_some((is_then, answers)) };
        Some((next, response))
    }

    fn observes(&self, asked: &Asked, _: &Response) -> bool {
        let mut actions = asked.request.then.iter().chain(&asked.request.otherwise);
        actions.all(|action| matches!(action, EtcdAction::Range { .. }))
    }
}

impl EtcdStore {
    fn run(&mut self, action: &EtcdAction, revision: i64, has_versions: bool, is_changed: &mut bool) -> EtcdAnswer {
        match action {
            EtcdAction::Put { key, value } => {
                *is_changed = true;
                let version = self.keys.get(key).map_or(0, |held| held.version) + 1;
                self.keys.insert(key.clone(), Held { value: value.clone(), revision, version });
                EtcdAnswer::Put
            }
            EtcdAction::Delete { key } => {
                let is_there = self.keys.remove(key).is_some();
                *is_changed |= is_there;
                EtcdAnswer::Deleted(i64::from(is_there))
            }
            EtcdAction::Range { start, end, limit } => {
                let is_before = |key: &str| match end.as_deref() {
                    None => key == start,
                    // The key of one zero byte stands for no end.
                    Some("\0") => true,
                    Some(end) => key < end,
                };
                let found = || self.keys.range(start.clone()..).take_while(|(key, _)| is_before(key));
                let most = if *limit > 0 && end.is_some() { *limit as usize } else { usize::MAX };
                let entry = |(key, held): (&String, &Held)| EtcdEntry {
                    key: key.clone(),
                    value: held.value.clone(),
                    revision: held.revision,
                    version: has_versions.then_some(held.version),
                };
                EtcdAnswer::Range(found().count() as i64, found().take(most).map(entry).collect())
            }
        }
    }
}
