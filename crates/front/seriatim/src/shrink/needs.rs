//! What an item needs, so that removals are sound.
//!
//! The claim of each rule is: take a consistent history, with an order that shows it; remove an item and all that need
//! it; then the rest of that order shows that the rest is consistent.
//!
//! - *Memory models, register:* a read needs the writes that it may have read. A compare-and-swap that failed saw some
//!   other value, so it needs all writes of its key. A write that nobody read can go: whatever was read after it was
//!   written after it.
//! - *Containers* (queue, stack, priority queue, multiset, set): all operations that insert or remove one value go
//!   together, because the order of the other values does not depend on them. A peek, a test or a count needs them. A
//!   removal that never returned may have taken any copy that nobody else removed, so a value with more insertions than
//!   removals needs it. A removal that found the container empty can go. What returned `false` changed nothing, so it
//!   is like a test.
//! - *Exchanger:* an exchange needs its partner.
//! - *Mutex, semaphore:* if every process gives back only what it took, a lock and an unlock of the same process after
//!   it go together. Without them less is held, and what a process gives back it still holds. If not, all changes of
//!   the key go together. A lock that was refused needs all changes of its key.
//! - *Tagged mutex, tagged semaphore:* all operations of one tag go together: without them, less is held.
//! - *Max-register:* a read needs the writes of the number that it returned. Smaller writes before it do not matter,
//!   and there are no larger ones before it.
//! - *Strings by key:* a read needs every `put` that its text may begin with, and every `append` of a part of its text.
//!   What it did not see stands before the last `put` that it saw, or after it.
//! - *Everything else:* all operations on one key that may change it need each other. Those that only observe need
//!   them.

use std::hash::Hash;

use history::{History, KeyId, Method, Object, Operation, OperationId, Outcome, ProcessId, Returns, Source, Value};
use model::{Model, View};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Item;

/// For each item of the history: the items that it needs.
pub(super) fn of_items(history: &History, model: Model) -> Vec<Vec<Item>> {
    let mut needs = Needs { history, needs: vec![Vec::new(); super::item_count(history)] };
    match history.object() {
        _ if model.row().view != View::Calls => needs.of_memory(model),
        Object::Memory | Object::Register => needs.of_memory(model),
        Object::Queue | Object::Stack | Object::PriorityQueue | Object::Multiset | Object::Set => needs.of_container(),
        Object::Exchanger => needs.of_exchanger(),
        Object::Mutex | Object::Semaphore => needs.of_lock(),
        Object::TaggedMutex | Object::TaggedSemaphore => needs.of_tags(),
        Object::MaxRegister => needs.of_max_register(),
        Object::KeyValue => needs.of_strings(),
        _ => needs.of_any(),
    }
    needs.needs
}

struct Needs<'h> {
    history: &'h History,
    needs: Vec<Vec<Item>>,
}

/// Whether an operation leaves the object as it is: it only observes, or it failed.
fn changes_nothing(operation: &Operation) -> bool {
    let says_whether = matches!(operation.method.returns(), Returns::Boolean | Returns::OptionalBoolean);
    operation.method.observes() || says_whether && operation.result == Value::FALSE
}

/// A table whose rows stand in the order in which they were made.
struct Table<K, V> {
    rows: Vec<(K, V)>,
    places: FxHashMap<K, usize>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { rows: Vec::new(), places: FxHashMap::default() }
    }
}

impl<K: Copy + Eq + Hash, V: Default> Table<K, V> {
    fn entry(&mut self, key: K) -> &mut V {
        let place = *self.places.entry(key).or_insert_with(|| {
            self.rows.push((key, V::default()));
            self.rows.len() - 1
        });
        &mut self.rows[place].1
    }

    fn get(&self, key: K) -> Option<&V> {
        self.places.get(&key).map(|&place| &self.rows[place].1)
    }
}

/// The operations on one value of a container.
#[derive(Default)]
struct Group {
    /// Those that insert or remove it.
    changes: Vec<Item>,
    inserted: usize,
    removed: usize,
}

impl<'h> Needs<'h> {
    /// The operations that may have happened.
    fn operations(&self) -> impl Iterator<Item = (Item, &'h Operation)> + use<'h> {
        self.history.operations().iter().enumerate().filter(|(_, operation)| operation.outcome != Outcome::Fail)
    }

    fn id(item: Item) -> OperationId {
        OperationId(item as u32)
    }

    /// All of these items need each other.
    fn ring(&mut self, items: &[Item]) {
        for (&item, &next) in items.iter().zip(items.iter().cycle().skip(1)) {
            if item != next {
                self.needs[item].push(next);
            }
        }
    }

    fn of_memory(&mut self, model: Model) {
        let history = self.history;
        let mut writes: FxHashMap<(KeyId, Value), Vec<Item>> = FxHashMap::default();
        let mut of_key: FxHashMap<KeyId, Vec<Item>> = FxHashMap::default();
        for (item, operation) in self.operations() {
            let writes_it = match operation.method {
                Method::Write | Method::Rmw => true,
                Method::Cas => operation.result != Value::FALSE,
                _ => false,
            };
            if writes_it {
                writes.entry((operation.key, operation.argument)).or_default().push(item);
                of_key.entry(operation.key).or_default().push(item);
            }
        }
        let of_value = |key, value| writes.get(&(key, value)).map_or(&[][..], Vec::as_slice);
        for (item, operation) in self.operations() {
            let id = Self::id(item);
            let needed = match (operation.method, history.source(id)) {
                (_, Some(Source::Init)) | (Method::Write | Method::Fence, _) => &[],
                (_, Some(Source::Operation(write))) => &[write.index()][..],
                (Method::Cas, None) => match history.expected(id) {
                    Some(expected) if operation.result != Value::FALSE => of_value(operation.key, expected),
                    _ => of_key.get(&operation.key).map_or(&[][..], Vec::as_slice),
                },
                (_, None) => of_value(operation.key, operation.result),
            };
            self.needs[item].extend(needed.iter().copied().filter(|&needed| needed != item));
        }
        let first_final = history.operations().len();
        for (item, &(key, value)) in (first_final..).zip(history.finals()) {
            self.needs[item].extend_from_slice(of_value(key, value));
        }
        if model.row().view == View::Performed {
            self.of_indices();
        }
    }

    /// An operation without an index in program order has one that depends on the operations before it in the file. If
    /// a thread has such operations and others, its operations go together.
    fn of_indices(&mut self) {
        let mut threads: Vec<Vec<Item>> = vec![Vec::new(); self.history.processes().len()];
        let mut indexed = vec![0; threads.len()];
        for (item, operation) in self.operations() {
            threads[operation.process.index()].push(item);
            indexed[operation.process.index()] += usize::from(self.history.program_index(Self::id(item)).is_some());
        }
        for (items, indexed) in threads.iter().zip(indexed) {
            if (1..items.len()).contains(&indexed) {
                self.ring(items);
            }
        }
    }

    fn of_container(&mut self) {
        let history = self.history;
        let mut groups: Table<(KeyId, Value), Group> = Table::default();
        let mut open: Table<KeyId, Vec<Item>> = Table::default();
        for (item, operation) in self.operations() {
            let (key, takes) = (operation.key, operation.method.takes_argument());
            let value = if takes { operation.argument } else { operation.result };
            if changes_nothing(operation) || value == Value::EMPTY {
                continue;
            }
            if value.is_none() {
                // A removal that found nothing has a result. This one never returned.
                open.entry(key).push(item);
                continue;
            }
            let group = groups.entry((key, value));
            group.changes.push(item);
            let removes = !takes || operation.method == Method::Remove;
            *(if removes { &mut group.removed } else { &mut group.inserted }) += 1;
        }
        for (_, items) in &open.rows {
            self.ring(items);
        }
        for ((key, _), group) in &groups.rows {
            self.ring(&group.changes);
            if let (true, Some(open)) = (group.removed < group.inserted, open.get(*key)) {
                self.needs[group.changes[0]].push(open[0]);
            }
        }
        for (item, operation) in self.operations().filter(|(_, operation)| changes_nothing(operation)) {
            let seen = match operation.method {
                Method::ReadAll if operation.result.is_some() => history.elements(operation.result),
                method if method.takes_argument() => vec![operation.argument],
                _ => vec![operation.result],
            };
            let groups = seen.into_iter().filter_map(|value| groups.get((operation.key, value)));
            self.needs[item].extend(groups.map(|group| group.changes[0]));
        }
    }

    fn of_exchanger(&mut self) {
        let mut offers: FxHashMap<(KeyId, Value), Vec<Item>> = FxHashMap::default();
        for (item, operation) in self.operations() {
            offers.entry((operation.key, operation.argument)).or_default().push(item);
        }
        for (item, operation) in self.operations() {
            let partners = offers.get(&(operation.key, operation.result)).into_iter().flatten();
            self.needs[item].extend(partners.copied().filter(|&partner| partner != item));
        }
    }

    fn of_lock(&mut self) {
        let mut held: FxHashMap<(ProcessId, KeyId), Vec<Item>> = FxHashMap::default();
        let mut changes: Table<KeyId, Vec<Item>> = Table::default();
        let mut pairs: Table<KeyId, Vec<[Item; 2]>> = Table::default();
        // The keys on which some process gives back what it has not taken.
        let mut strange: FxHashSet<KeyId> = FxHashSet::default();
        for (item, operation) in self.operations().filter(|(_, operation)| !changes_nothing(operation)) {
            changes.entry(operation.key).push(item);
            let held = held.entry((operation.process, operation.key)).or_default();
            match (operation.method, held.pop()) {
                (Method::Unlock | Method::Release, Some(lock)) => pairs.entry(operation.key).push([lock, item]),
                (Method::Unlock | Method::Release, None) => {
                    strange.insert(operation.key);
                }
                (_, before) => held.extend(before.into_iter().chain([item])),
            }
        }
        for (key, changes) in &changes.rows {
            if strange.contains(key) {
                self.ring(changes);
                continue;
            }
            for pair in pairs.get(*key).into_iter().flatten() {
                self.ring(pair);
            }
        }
        for (item, operation) in self.operations().filter(|(_, operation)| changes_nothing(operation)) {
            self.needs[item].extend_from_slice(changes.get(operation.key).map_or(&[], Vec::as_slice));
        }
    }

    fn of_tags(&mut self) {
        let mut tags: Table<(KeyId, Value), Vec<Item>> = Table::default();
        for (item, operation) in self.operations() {
            tags.entry((operation.key, operation.argument)).push(item);
        }
        for (_, items) in &tags.rows {
            self.ring(items);
        }
    }

    fn of_max_register(&mut self) {
        let history = self.history;
        // `007` and `7` are the same number.
        let number = |value: Value| match value.as_integer() {
            Some(number) => Some(i128::from(number)),
            None => history.show(value).parse().ok(),
        };
        let mut writes: Table<(KeyId, Option<i128>), Vec<Item>> = Table::default();
        for (item, operation) in self.operations().filter(|(_, operation)| !changes_nothing(operation)) {
            writes.entry((operation.key, number(operation.argument))).push(item);
        }
        for (item, operation) in self.operations().filter(|(_, operation)| changes_nothing(operation)) {
            let needed = writes.get((operation.key, number(operation.result)));
            self.needs[item].extend_from_slice(needed.map_or(&[], Vec::as_slice));
        }
    }

    fn of_strings(&mut self) {
        let history = self.history;
        let text = |value: Value| if value == Value::NULL { String::new() } else { history.show(value) };
        let mut changes: Table<KeyId, Vec<(Item, bool, String)>> = Table::default();
        for (item, operation) in self.operations().filter(|(_, operation)| !changes_nothing(operation)) {
            let part = (item, operation.method == Method::Put, text(operation.argument));
            changes.entry(operation.key).push(part);
        }
        for (item, operation) in self.operations().filter(|(_, operation)| changes_nothing(operation)) {
            let seen = text(operation.result);
            let is_seen = |is_put: bool, part: &str| if is_put { seen.starts_with(part) } else { seen.contains(part) };
            let parts = changes.get(operation.key).map_or(&[][..], Vec::as_slice);
            let parts = parts.iter().filter(|(_, is_put, part)| is_seen(*is_put, part));
            self.needs[item].extend(parts.map(|&(item, ..)| item));
        }
    }

    fn of_any(&mut self) {
        let mut changes: Table<KeyId, Vec<Item>> = Table::default();
        for (item, operation) in self.operations() {
            if !changes_nothing(operation) {
                changes.entry(operation.key).push(item);
            }
        }
        for (_, items) in &changes.rows {
            self.ring(items);
        }
        for (item, operation) in self.operations() {
            if let (true, Some(items)) = (changes_nothing(operation), changes.get(operation.key)) {
                self.needs[item].push(items[0]);
            }
        }
    }
}
