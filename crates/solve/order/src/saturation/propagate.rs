//! Propagation: how a [saturation](super) grows until nothing new follows.
//!
//! New edges are linked first. Then clocks are joined along the links until no clock grows, the events that grew are
//! told to the rules, and what the rules derive is linked again. Invariant: when `close` returns without a
//! conflict, every clock holds the clocks of all predecessors, and no rule has anything more to say.

use super::ranks::Ranked;
use super::{Conflict, Derived, Growth, Link, NONE, Node, Rules, Saturation};
use crate::lanes::{BLOCK, Block, Lane, bits, blocks, larger};
use crate::prefetch;

/// Clocks of fewer blocks are not prefetched.
const MIN_PREFETCHED_BLOCKS: usize = 8;

impl<L: Lane> Saturation<L> {
    pub(super) fn close(&mut self, rules: &mut impl Rules<L>) -> Result<(), Conflict> {
        let result = self.close_or_conflict(rules);
        if result.is_err() {
            for event in self.queue.drain(..).chain(self.ranked.drain()) {
                self.news[event as usize] = 0;
            }
            if self.recording {
                for growth in &self.grown {
                    self.unheard[growth.event as usize] = NONE;
                }
            }
            self.grown.clear();
            self.asked.clear();
        }
        result
    }

    fn close_or_conflict(&mut self, rules: &mut impl Rules<L>) -> Result<(), Conflict> {
        if self.recording {
            return self.settle(rules);
        }
        let mut asked = std::mem::take(&mut self.asked);
        let result = loop {
            if let Err(conflict) = self.insert_all(&asked, rules).and_then(|()| self.propagate(rules)) {
                break Err(conflict);
            }
            asked.clear();
            if self.grown.is_empty() {
                break Ok(());
            }
            let mut grown = std::mem::take(&mut self.grown);
            for growth in grown.drain(..) {
                rules.grown(self, growth.event, growth.chain as usize, growth.old, growth.new, &mut asked);
            }
            self.grown = grown;
        };
        asked.clear();
        self.asked = asked;
        result
    }

    /// [`Self::close`], while the order is recorded. An edge may change the clocks of nearly all events that come
    /// later. So events take their turns in the order of their ranks, and the rules are told of the growth of an event
    /// before its successors are: most events have one turn.
    fn settle(&mut self, rules: &mut impl Rules<L>) -> Result<(), Conflict> {
        if self.ranked.is_empty() {
            self.rank();
        }
        let mut asked = std::mem::take(&mut self.asked);
        self.insert_all(&asked, rules)?;
        asked.clear();
        while let Some(event) = self.ranked.first() {
            while self.unheard[event as usize] != NONE {
                let mut next = std::mem::replace(&mut self.unheard[event as usize], NONE);
                while let Some(&Growth { chain, old, new, before, .. }) = self.grown.get(next as usize) {
                    rules.grown(self, event, chain as usize, old, new, &mut asked);
                    next = before;
                }
                self.insert_all(&asked, rules)?;
                asked.clear();
            }
            if self.ranked.first() == Some(event) {
                self.ranked.remove(event);
                self.spread(event, rules)?;
            }
        }
        self.grown.clear();
        self.asked = asked;
        Ok(())
    }

    /// Ranks all events by how many events are before them.
    fn rank(&mut self) {
        let count = self.nodes.len() - 1;
        self.ranked = Ranked::new((0..count as u32).map(|event| self.sum(event)));
        self.unheard.clear();
        self.unheard.resize(count, NONE);
    }

    fn insert_all(&mut self, asked: &[Derived], rules: &impl Rules<L>) -> Result<(), Conflict> {
        for &edge in asked {
            if edge.to == NONE {
                return Err(Conflict::Bottom(edge));
            }
            if !self.before(edge.from, edge.to) {
                self.link(edge);
                self.join(edge.from, edge.to, self.all_groups, rules)?;
            }
        }
        Ok(())
    }

    fn link(&mut self, derived: Derived) {
        let number = self.links.len() as u32;
        let Derived { from, to, .. } = derived;
        self.links.push(Link {
            derived,
            next_out: self.nodes[from as usize].first_out,
            next_in: self.nodes[to as usize].first_in,
        });
        self.nodes[from as usize].first_out = number;
        self.nodes[to as usize].first_in = number;
    }

    fn propagate(&mut self, rules: &impl Rules<L>) -> Result<(), Conflict> {
        let mut done = 0;
        while let Some(&event) = self.queue.get(done) {
            done += 1;
            self.spread(event, rules)?;
        }
        self.queue.clear();
        Ok(())
    }

    /// Lets the clocks of the successors of an event grow by its own growth.
    #[inline]
    fn spread(&mut self, event: u32, rules: &impl Rules<L>) -> Result<(), Conflict> {
        let news = std::mem::take(&mut self.news[event as usize]);
        let Node { chain, base, first_out: mut number, .. } = self.nodes[event as usize];
        self.prefetch_target(number, news);
        if event + 1 < self.frontier[chain as usize] {
            self.join(event, event + 1, news, rules)?;
        }
        for at in base..self.nodes[event as usize + 1].base {
            let target = self.base_targets[at as usize];
            if self.is_in(target) {
                self.join(event, target, news, rules)?;
            }
        }
        while number != NONE {
            let link = self.links[number as usize];
            self.prefetch_target(link.next_out, news);
            self.join(event, link.derived.to, news, rules)?;
            number = link.next_out;
        }
        Ok(())
    }

    /// Prefetches some groups of blocks of the clock at the end of an edge. The clocks of many chains are not in the
    /// cache.
    #[inline]
    fn prefetch_target(&self, number: u32, groups: u64) {
        if self.width >= MIN_PREFETCHED_BLOCKS
            && let Some(link) = self.links.get(number as usize)
        {
            for group in bits(groups) {
                prefetch(&self.clocks, link.derived.to as usize * self.width + group * self.group);
            }
        }
    }

    /// Lets the clock of `to` grow by that of `from`, in some groups of blocks.
    #[inline]
    fn join(&mut self, from: u32, to: u32, groups: u64, rules: &impl Rules<L>) -> Result<(), Conflict> {
        let (chain, lane) = (self.chain(to), self.lane(to));
        let (source, target) = rows(&mut self.clocks, from as usize, to as usize, self.width);
        if source[lane / BLOCK][lane % BLOCK].end(|| self.starts[chain]) > to {
            return Err(Conflict::Cycle { from, to });
        }
        let first = chain - lane;
        let watched = rules.watched(to).map(blocks);
        let mut news = 0;
        for group in bits(groups) {
            let begin = group * self.group;
            for block in begin..self.width.min(begin + self.group) {
                let (new, old) = (&source[block], &mut target[block]);
                let mask = larger(new, old);
                if mask == 0 {
                    continue;
                }
                news |= 1 << group;
                let heard = watched.map_or(mask, |watched| mask & larger(&watched[block], old));
                for lane in bits(u64::from(heard)) {
                    let [old, new] = [old[lane], new[lane]];
                    let lane = block * BLOCK + lane;
                    let [old, new] = [old, new].map(|entry| entry.end(|| self.starts[first + lane]));
                    let before = if self.recording {
                        std::mem::replace(&mut self.unheard[to as usize], self.grown.len() as u32)
                    } else {
                        NONE
                    };
                    self.grown.push(Growth { event: to, chain: lane as u32, old, new, before });
                }
                let all = L::join(new, old);
                if self.recording {
                    self.trail.record(to as usize * self.width + block, mask, old, &all);
                }
                *old = all;
            }
        }
        if news != 0 {
            let known = &mut self.news[to as usize];
            if self.recording {
                self.ranked.insert(to);
            } else if *known == 0 {
                self.queue.push(to);
            }
            *known |= news;
        }
        Ok(())
    }
}

/// Two different rows of a matrix.
#[inline]
fn rows<L>(matrix: &mut [Block<L>], a: usize, b: usize, width: usize) -> (&[Block<L>], &mut [Block<L>]) {
    let (low, high) = matrix.split_at_mut(a.max(b) * width);
    if a < b {
        (&low[a * width..][..width], &mut high[..width])
    } else {
        (&high[..width], &mut low[b * width..][..width])
    }
}
