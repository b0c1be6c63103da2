//! A map for the tables of a search. It grows in small steps, so that a search which is near its memory limit does not
//! jump over it.
//!
//! A hash table that is full is copied into one of twice the size, and for that moment takes three times its memory. A
//! large map here is many small tables, and only one of them is copied at a time. A small map is one table.

use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashMap};

/// How many tables a large map has.
const TABLES: usize = 64;
/// A map with so many entries is large.
const LARGE: usize = 1 << 14;

/// A map. See the module.
#[derive(Clone, Debug)]
pub struct Shards<K, V> {
    /// One table, or as many as [`TABLES`].
    tables: Vec<FxHashMap<K, V>>,
    count: usize,
}

impl<K, V> Default for Shards<K, V> {
    fn default() -> Self {
        Self { tables: vec![FxHashMap::default()], count: 0 }
    }
}

impl<K: Hash + Eq, V: Copy> Shards<K, V> {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The table of a key. Its own place in the table depends on other bits of its hash.
    fn table(&self, key: &K) -> usize {
        if self.tables.len() == 1 { 0 } else { (FxBuildHasher.hash_one(key) >> 40) as usize % TABLES }
    }

    /// Puts a value in, unless the key has one. Returns the value of the key.
    pub fn get_or_insert(&mut self, key: K, value: V) -> V {
        let table = self.table(&key);
        let before = self.tables[table].len();
        let found = *self.tables[table].entry(key).or_insert(value);
        if self.tables[table].len() > before {
            self.count += 1;
            if self.count == LARGE {
                self.split();
            }
        }
        found
    }

    /// Gives a key another value. Returns the one that it had.
    pub fn replace(&mut self, key: K, value: V) -> Option<V> {
        let table = self.table(&key);
        let old = self.tables[table].insert(key, value);
        self.count += usize::from(old.is_none());
        if old.is_none() && self.count == LARGE {
            self.split();
        }
        old
    }

    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<V> {
        self.tables[self.table(key)].get(key).copied()
    }

    #[cold]
    fn split(&mut self) {
        let whole = std::mem::take(&mut self.tables);
        self.tables.resize_with(TABLES, FxHashMap::default);
        for (key, value) in whole.into_iter().flatten() {
            let table = self.table(&key);
            self.tables[table].insert(key, value);
        }
    }
}

impl<K: Hash + Eq> Shards<K, ()> {
    /// Puts a key in. Returns whether it was not there.
    pub fn insert(&mut self, key: K) -> bool {
        self.replace(key, ()).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_map_before_and_after_it_is_split() {
        let mut map = Shards::default();
        let count = 3 * LARGE as u64;
        for key in 0..count {
            assert_eq!(map.get(&key), None);
            assert_eq!(map.get_or_insert(key, 2 * key), 2 * key);
            assert_eq!(map.get_or_insert(key / 2, 0), key / 2 * 2);
            assert_eq!(map.replace(key, 2 * key), Some(2 * key));
        }
        assert_eq!(map.len(), count as usize);
        assert!((0..count).all(|key| map.get(&key) == Some(2 * key)));
        let largest = map.tables.iter().map(FxHashMap::len).max();
        assert!(largest.is_some_and(|largest| largest < 2 * count as usize / TABLES), "{largest:?}");
    }
}
