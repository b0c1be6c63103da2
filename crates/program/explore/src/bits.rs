//! Relations as rows of bits, with a trail.
//!
//! A graph of an exploration grows by one event and is cut again, so every change of a relation is written to one
//! trail. To undo is to put the old words back, the newest first. Rows are added and removed at the end.

/// A relation from rows to columns. Both are numbers from 0.
#[derive(Debug)]
struct Relation {
    /// How many words a row has: at least one.
    width: usize,
    rows: usize,
    words: Vec<u64>,
}

impl Default for Relation {
    fn default() -> Self {
        Self { width: 1, rows: 0, words: Vec::new() }
    }
}

impl Relation {
    #[inline]
    fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.width..(row + 1) * self.width]
    }

    fn widen(&mut self, width: usize) {
        let mut words = vec![0; self.rows * width];
        for row in 0..self.rows {
            words[row * width..][..self.width].copy_from_slice(self.row(row));
        }
        (self.words, self.width) = (words, width);
    }
}

/// A word that was overwritten.
#[derive(Debug)]
struct Old {
    relation: u32,
    row: u32,
    at: u32,
    word: u64,
}

/// Relations that change together, and what they were before.
#[derive(Debug, Default)]
pub(crate) struct Relations {
    all: Vec<Relation>,
    trail: Vec<Old>,
    /// A row that is being added to others.
    scratch: Vec<u64>,
}

/// The bits that are set.
pub(crate) fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(at, &word)| ones_of(word).map(move |bit| 64 * at + bit))
}

/// The bits of one word that are set.
pub(crate) fn ones_of(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        (word != 0).then(|| {
            word &= word - 1;
            bit as usize
        })
    })
}

/// One of the bits of a word that are set, given how many there are below it.
pub(crate) fn nth_one(word: u64, below: usize) -> usize {
    (0..below).fold(word, |word, _| word & (word - 1)).trailing_zeros() as usize
}

/// Whether two sets have an element in common.
pub(crate) fn meet(one: &[u64], other: &[u64]) -> bool {
    one.iter().zip(other).any(|(one, other)| one & other != 0)
}

/// Whether a set has an element.
#[inline]
pub(crate) fn has(words: &[u64], bit: usize) -> bool {
    words.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
}

/// Adds an element. The set grows if it has to.
pub(crate) fn insert(words: &mut Vec<u64>, bit: usize) {
    if bit / 64 >= words.len() {
        words.resize(bit / 64 + 1, 0);
    }
    words[bit / 64] |= 1 << (bit % 64);
}

/// Adds all elements of another set. The set grows if it has to.
pub(crate) fn unite(words: &mut Vec<u64>, other: &[u64]) {
    if words.len() < other.len() {
        words.resize(other.len(), 0);
    }
    for (word, other) in words.iter_mut().zip(other) {
        *word |= other;
    }
}

impl Relations {
    /// Makes sure that there are so many relations.
    pub(crate) fn reserve(&mut self, count: usize) {
        if self.all.len() < count {
            self.all.resize_with(count, Relation::default);
        }
    }

    /// Empties every relation, and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.trail.clear();
        for relation in &mut self.all {
            relation.rows = 0;
            relation.words.clear();
        }
    }

    pub(crate) fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Undoes every change since the mark. Rows that were added since are still there.
    pub(crate) fn undo(&mut self, mark: usize) {
        while self.trail.len() > mark {
            let Some(old) = self.trail.pop() else { return };
            let relation = &mut self.all[old.relation as usize];
            let at = old.row as usize * relation.width + old.at as usize;
            relation.words[at] = old.word;
        }
    }

    /// Adds an empty row.
    pub(crate) fn push_row(&mut self, relation: usize) {
        let relation = &mut self.all[relation];
        relation.rows += 1;
        relation.words.resize(relation.rows * relation.width, 0);
    }

    /// Removes the last row, whose changes were undone.
    pub(crate) fn pop_row(&mut self, relation: usize) {
        let relation = &mut self.all[relation];
        relation.rows -= 1;
        relation.words.truncate(relation.rows * relation.width);
    }

    pub(crate) fn rows(&self, relation: usize) -> usize {
        self.all[relation].rows
    }

    #[inline]
    pub(crate) fn row(&self, relation: usize, row: usize) -> &[u64] {
        self.all[relation].row(row)
    }

    #[inline]
    pub(crate) fn has(&self, relation: usize, row: usize, column: usize) -> bool {
        has(self.row(relation, row), column)
    }

    /// Adds the elements of a set to a row. The answer is whether this changed the row.
    pub(crate) fn unite(&mut self, relation: usize, row: usize, set: &[u64]) -> bool {
        let mut is_changed = false;
        let used = set.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        let of = &mut self.all[relation];
        if used > of.width {
            of.widen(used.next_power_of_two());
        }
        let start = row * of.width;
        for (at, (word, &more)) in of.words[start..start + of.width].iter_mut().zip(&set[..used]).enumerate() {
            if more & !*word != 0 {
                self.trail.push(Old { relation: relation as u32, row: row as u32, at: at as u32, word: *word });
                *word |= more;
                is_changed = true;
            }
        }
        is_changed
    }

    /// Adds one element to a row. The answer is whether this changed the row.
    pub(crate) fn insert(&mut self, relation: usize, row: usize, column: usize) -> bool {
        let of = &mut self.all[relation];
        if column / 64 >= of.width {
            of.widen((column / 64 + 1).next_power_of_two());
        }
        let at = row * of.width + column / 64;
        let word = of.words[at];
        let bit = 1 << (column % 64);
        if word & bit != 0 {
            return false;
        }
        self.trail.push(Old { relation: relation as u32, row: row as u32, at: (column / 64) as u32, word });
        of.words[at] = word | bit;
        true
    }

    /// Adds a pair to a transitively closed relation, and whatever follows from it. Each new pair is handed to `new`.
    /// The caller has made sure that the pair closes no cycle.
    pub(crate) fn close(&mut self, relation: usize, from: usize, to: usize, mut new: impl FnMut(usize, usize)) {
        if self.has(relation, from, to) {
            return;
        }
        if self.all[relation].width == 1 && from < 64 && to < 64 {
            return self.close_words(relation, 1 << from, to, new);
        }
        let mut after = std::mem::take(&mut self.scratch);
        after.clear();
        after.extend_from_slice(self.row(relation, to));
        insert(&mut after, to);
        for row in 0..self.rows(relation) {
            if row == from || self.has(relation, row, from) {
                let before = self.all[relation].row(row);
                for (at, &more) in after.iter().enumerate() {
                    let more = more & !before.get(at).copied().unwrap_or(0);
                    ones_of(more).for_each(|bit| new(row, 64 * at + bit));
                }
                self.unite(relation, row, &after);
            }
        }
        self.scratch = after;
    }

    /// [`Self::close`] for pairs from each of a set of rows to one column, which is in no row of the set that the
    /// column reaches.
    pub(crate) fn close_all(&mut self, relation: usize, from: &[u64], to: usize) {
        let mut after = std::mem::take(&mut self.scratch);
        after.clear();
        after.extend_from_slice(self.row(relation, to));
        insert(&mut after, to);
        let of = &mut self.all[relation];
        if after.len() > of.width {
            of.widen(after.len().next_power_of_two());
        }
        let first = after.iter().position(|&word| word != 0).unwrap_or_default();
        for row in 0..of.rows {
            let words = &mut of.words[row * of.width..][..of.width];
            // A row that reaches the column has all that this one reaches.
            if has(words, to) || !has(from, row) && !meet(words, from) {
                continue;
            }
            for (at, &more) in after.iter().enumerate().skip(first) {
                let word = words[at];
                if more & !word != 0 {
                    self.trail.push(Old { relation: relation as u32, row: row as u32, at: at as u32, word });
                    words[at] = word | more;
                }
            }
        }
        self.scratch = after;
    }
}

impl Relations {
    /// A row that is one word.
    #[inline]
    pub(crate) fn word(&self, relation: usize, row: usize) -> u64 {
        self.all[relation].words[row]
    }

    /// All rows, if each is one word.
    #[inline]
    pub(crate) fn words(&self, relation: usize) -> &[u64] {
        &self.all[relation].words
    }

    /// Whether each row is one word, and there are not more rows than it has bits.
    #[inline]
    pub(crate) fn is_small(&self, relation: usize) -> bool {
        self.all[relation].width == 1 && self.all[relation].rows <= 64
    }

    /// [`Self::close`] for pairs from each of a set of rows, where a row is one word.
    #[inline]
    pub(crate) fn close_words(&mut self, relation: usize, from: u64, to: usize, mut new: impl FnMut(usize, usize)) {
        let of = &mut self.all[relation];
        let after = of.words[to] | 1 << to;
        for (row, word) in of.words.iter_mut().enumerate() {
            let more = after & !*word;
            if more != 0 && (from.unbounded_shr(row as u32) & 1 == 1 || *word & from != 0) {
                self.trail.push(Old { relation: relation as u32, row: row as u32, at: 0, word: *word });
                *word |= more;
                ones_of(more).for_each(|bit| new(row, bit));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Relations;

    /// Random edges of a graph without cycles, a set at a time: by single pairs, and all at once.
    #[test]
    fn a_set_closes_as_its_pairs_do() {
        const COUNT: usize = 200;
        let mut seed = 1_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let [mut pairs, mut sets] = [(); 2].map(|()| {
            let mut relations = Relations::default();
            relations.reserve(1);
            (0..COUNT).for_each(|_| relations.push_row(0));
            relations
        });
        for _ in 0..400 {
            let to = random(COUNT);
            let mut from = Vec::new();
            (0..random(9)).for_each(|_| super::insert(&mut from, random(to + 1)));
            super::ones(&from).filter(|&from| from != to).for_each(|from| pairs.close(0, from, to, |_, _| ()));
            if to / 64 < from.len() {
                from[to / 64] &= !(1 << (to % 64));
            }
            sets.close_all(0, &from, to);
            for row in 0..COUNT {
                let columns = |of: &Relations| super::ones(of.row(0, row)).collect::<Vec<_>>();
                assert_eq!(columns(&pairs), columns(&sets));
            }
        }
        sets.undo(0);
        assert!((0..COUNT).all(|row| super::ones(sets.row(0, row)).next().is_none()));
    }

    #[test]
    fn what_is_undone_is_as_it_was() {
        let mut relations = Relations::default();
        relations.reserve(1);
        for _ in 0..130 {
            relations.push_row(0);
        }
        relations.close(0, 0, 1, |_, _| ());
        let mark = relations.mark();
        let mut new = Vec::new();
        relations.close(0, 1, 129, |from, to| new.push((from, to)));
        assert_eq!(new, [(0, 129), (1, 129)]);
        relations.close(0, 129, 70, |_, _| ());
        assert!(relations.has(0, 0, 70));
        relations.undo(mark);
        assert!(relations.has(0, 0, 1) && !relations.has(0, 0, 129) && !relations.has(0, 1, 129));
    }
}
