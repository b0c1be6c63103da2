//! The accesses of each location by thread, in the order in which a pass comes to them.
//!
//! A pass asks: which is the last access of thread u on x among the first c events of u? One *entry* stands for a
//! thread and a location that it touches. The entries of a location are its *row*. Most often the answer is the last
//! access of the entry that was passed, because other threads know most of what a thread has done. Otherwise the answer
//! is found through a list, which has one of every [`STRIDE`] accesses of the entry: from the end of the list by
//! doubling steps, and then from access to access. Writes to the lists are scattered in memory, and writes by event are
//! not. So the lists are kept short.
//!
//! If threads touch most locations, rows are dense: the entry of thread u on x is `x * width + u`, and a row can be
//! compared with a clock lane by lane. If dense rows would take more memory than the events themselves, rows name their
//! threads. In both cases the size is linear in the number of events.

use history::Execution;
use history::execution::{Kind, LocationId};
use order::Width;

/// A list has one of every so many accesses.
const STRIDE: u32 = 16;

/// The accesses by location and thread. See the [module](self).
#[derive(Debug, Default)]
pub(super) struct AccessRows {
    width: usize,
    /// Where each thread begins.
    starts: Vec<u32>,
    /// Where each row begins; empty if rows are dense.
    offsets: Vec<u32>,
    /// The thread of each entry, ascending in a row; empty if rows are dense.
    threads: Vec<u32>,
    /// By entry, the position of the last access passed (its place in its thread, from one), zero if none was, and its
    /// value.
    latest: Vec<u32>,
    latest_values: Vec<[u32; 2]>,
    /// By entry, where its list begins, and how many accesses were passed.
    begins: Vec<u32>,
    counts: Vec<u32>,
    /// The lists: of the accesses of an entry, the first, and then one of every [`STRIDE`].
    lists: Vec<u32>,
    /// By access that was passed: the access before it of its entry, if there is one, and its value.
    passed: Vec<(u32, [u32; 2])>,
    /// While rows are laid out: the last thread seen on each location, and its entry.
    stamps: Vec<[u32; 2]>,
}

impl AccessRows {
    /// Lays out empty rows for the kinds of events for which `counts` holds, for clocks of `width` lanes.
    pub(super) fn lay_out(&mut self, execution: &Execution, width: usize, counts: impl Fn(Kind) -> bool) {
        self.width = width;
        self.starts.clear();
        self.starts.extend_from_slice(execution.starts());
        self.offsets.clear();
        self.threads.clear();
        let locations = execution.location_count();
        let dense = width.saturating_mul(locations) <= 4 * execution.len() + 1024;
        if !dense {
            self.lay_out_offsets(execution, &counts);
        }
        let entries = if dense { width * locations } else { self.threads.len() };
        self.latest.clear();
        self.latest.resize(entries, 0);
        if self.latest_values.len() < entries {
            self.latest_values.resize(entries, [0, 0]);
        }
        if self.passed.len() < execution.len() {
            // New memory is zero already, so nothing has to be written.
            self.passed = vec![(0, [0, 0]); execution.len()];
        }
        self.begins.clear();
        self.begins.resize(entries, 0);
        let events = execution.events();
        for thread in 0..execution.thread_count() {
            let range = execution.starts()[thread] as usize..execution.starts()[thread + 1] as usize;
            if dense {
                for event in events[range].iter().filter(|event| event.location != LocationId::NONE) {
                    self.begins[event.location.index() * width + thread] += u32::from(counts(event.kind));
                }
            } else {
                for event in events[range].iter().filter(|event| counts(event.kind)) {
                    let [stamp, entry] = &mut self.stamps[event.location.index()];
                    // The entries of a row ascend by thread, as does this loop.
                    if *stamp != thread as u32 {
                        *entry = if *stamp == u32::MAX { self.offsets[event.location.index()] } else { *entry + 1 };
                        *stamp = thread as u32;
                    }
                    self.threads[*entry as usize] = thread as u32;
                    self.begins[*entry as usize] += 1;
                }
            }
        }
        let mut total = 0;
        for begin in &mut self.begins {
            let count = *begin;
            *begin = total;
            total += count.div_ceil(STRIDE);
        }
        self.counts.clear();
        self.counts.resize(entries, 0);
        if self.lists.len() < total as usize {
            self.lists.resize(total as usize, 0);
        }
    }

    /// How many threads touch each location, and so where each row begins.
    fn lay_out_offsets(&mut self, execution: &Execution, counts: &impl Fn(Kind) -> bool) {
        let locations = execution.location_count();
        self.stamps.clear();
        self.stamps.resize(locations, [u32::MAX, 0]);
        self.offsets.resize(locations + 1, 0);
        for thread in 0..execution.thread_count() {
            let range = execution.starts()[thread] as usize..execution.starts()[thread + 1] as usize;
            for event in execution.events()[range].iter().filter(|event| counts(event.kind)) {
                let stamp = &mut self.stamps[event.location.index()][0];
                if *stamp != thread as u32 {
                    *stamp = thread as u32;
                    self.offsets[event.location.index() + 1] += 1;
                }
            }
        }
        for location in 0..locations {
            self.offsets[location + 1] += self.offsets[location];
        }
        self.threads.resize(self.offsets[locations] as usize, 0);
        self.stamps.fill([u32::MAX, 0]);
    }

    /// Whether every row has an entry for every thread.
    pub(super) fn is_dense(&self) -> bool {
        self.offsets.is_empty()
    }

    /// The entry of a thread on a location that it touches.
    #[inline]
    pub(super) fn entry(&self, location: usize, thread: usize) -> usize {
        if self.is_dense() {
            return location * self.width + thread;
        }
        let row = self.offsets[location] as usize..self.offsets[location + 1] as usize;
        row.start + self.threads[row].partition_point(|&other| (other as usize) < thread)
    }

    /// Calls `visit(value)` for each entry of a row with the last access that is known by `clock` and past the bound of
    /// its thread. Stops when `visit` returns false, and then returns false itself.
    ///
    /// The bound of a thread is the larger of its lanes in both bounds. The second bound counts if `gate` is all ones,
    /// and not if `gate` is zero.
    #[inline]
    pub(super) fn visit(
        &self,
        width: impl Width,
        location: usize,
        clock: &[u32],
        [first, second]: [&[u32]; 2],
        gate: u32,
        mut visit: impl FnMut([u32; 2]) -> bool,
    ) -> bool {
        if !self.is_dense() {
            let row = self.offsets[location] as usize..self.offsets[location + 1] as usize;
            return row.into_iter().all(|entry| {
                let thread = self.threads[entry] as usize;
                let bound = first[thread].max(second[thread] & gate);
                bound >= self.latest[entry].min(clock[thread])
                    || self.last_within(entry, bound, clock[thread]).is_none_or(&mut visit)
            });
        }
        let lanes = width.entries();
        let row = location * lanes;
        let latest = width.clock(&self.latest, location);
        let [rows, clocks, firsts, seconds] = [latest, clock, first, second].map(|lanes| lanes.as_chunks::<4>().0);
        // There is one branch for as many lanes as a word has bits.
        for begin in (0..lanes).step_by(32) {
            let mut unseen = 0u32;
            for chunk in begin / 4..lanes.min(begin + 32) / 4 {
                let (latest, clock) = (rows[chunk], clocks[chunk]);
                let (first, second) = (firsts[chunk], seconds[chunk]);
                for lane in 0..4 {
                    let bound = (first[lane] as i32).max((second[lane] & gate) as i32);
                    let past = (latest[lane] as i32 > bound) & (clock[lane] as i32 > bound);
                    unseen |= u32::from(past) << (chunk * 4 + lane - begin);
                }
            }
            while unseen != 0 {
                let lane = begin + unseen.trailing_zeros() as usize;
                unseen &= unseen - 1;
                let bound = first[lane].max(second[lane] & gate);
                let found = self.last_within(row + lane, bound, clock[lane]);
                if !found.is_none_or(&mut visit) {
                    return false;
                }
            }
        }
        true
    }

    /// The value of the last access of an entry among the first `count` events of its thread, if it is past `bound`.
    #[inline]
    fn last_within(&self, entry: usize, bound: u32, count: u32) -> Option<[u32; 2]> {
        if self.latest[entry] <= count { Some(self.latest_values[entry]) } else { self.search(entry, bound, count) }
    }

    #[cold]
    fn search(&self, entry: usize, bound: u32, count: u32) -> Option<[u32; 2]> {
        let length = self.counts[entry].div_ceil(STRIDE) as usize;
        let list = &self.lists[self.begins[entry] as usize..][..length];
        let thread = if self.is_dense() { entry % self.width } else { self.threads[entry] as usize };
        let (start, latest) = (self.starts[thread], self.latest[entry]);
        let mut reach = 1;
        while reach < length && list[length - 1 - reach] >= start + count {
            reach *= 2;
        }
        let tail = &list[length.saturating_sub(1 + reach)..];
        let within = tail.partition_point(|&access| access < start + count);
        let first = tail[within.checked_sub(1)?];
        // The search goes back from the next access of the list, or from the latest, to the last access within `count`.
        let mut last = tail.get(within).copied().unwrap_or(start + latest - 1);
        while last >= start + count && last > first {
            last = self.passed[last as usize].0;
        }
        (last >= start + bound).then(|| self.passed[last as usize].1)
    }

    /// Appends an access, which has that position in its thread, to its entry.
    #[inline]
    pub(super) fn pass(&mut self, entry: usize, access: u32, position: u32, value: [u32; 2]) {
        let before = std::mem::replace(&mut self.latest[entry], position);
        // The distance to the access before is the difference of their positions.
        self.passed[access as usize] = (access.wrapping_sub(position - before), value);
        self.latest_values[entry] = value;
        let count = &mut self.counts[entry];
        if count.is_multiple_of(STRIDE) {
            self.lists[(self.begins[entry] + *count / STRIDE) as usize] = access;
        }
        *count += 1;
    }
}
