//! The knobs: every number of the memory engines that trades one cost for another, in one table.
//!
//! A knob never changes a verdict, except to or from `unknown`. The [options](crate::MemoryOptions) carry the knobs.
//! The research command sets them by their names (`lab check --knob store.guesses=8`), and measures what they are worth
//! (`lab trial`; docs/benchmarks.md has the results). A figure at a knob is the time of the processor for the decision
//! alone.

pub use search::knobs::{Knob, NotSet};

use search::Turns;

search::knobs! {
    /// The search for a store order.
    store: StoreKnobs {
        /// How many guesses a [run](crate::store::run) may make without progress. More of them bring more runs to
        /// their end, and make those that do not get there longer. None is no run. On 16 threads x 64 locations x
        /// 100,000 operations of `sc`, runs with 32 are stuck (107 ms), and with 128 they are not (32 ms).
        guesses: u32 = 128, "guesses";
        /// For every so many events of an execution, a run may make one guess without progress: saturation of a small
        /// execution is cheap.
        events_per_guess: usize = 1 << 7, "events";
        /// How many guesses of a run can be changed. Earlier ones are final.
        open_guesses: usize = 64, "guesses";
        /// For each step forward, a run may take one step back, and one more for so many threads: saturation takes
        /// longer if there are many. With four steps for any number of threads, the run of 64 threads x 64 locations x
        /// 100,000 operations is stuck after 44,770 events, and with nine after 79,714 (84 ms; plain saturation 105).
        threads_per_step_back: usize = 1 << 3, "threads";
        /// More threads than so many do not give a run more steps back. Without this limit, `tso` of 256 threads x 64
        /// locations x 10,000 operations takes 73 ms instead of 58 without a run; with it, both take as long.
        most_threads: usize = 1 << 6, "threads";
        /// For every so many entries of the clocks of an execution, a run may take one step back without progress:
        /// saturation of few threads is cheap. On 64 threads x 10,000 locations x 100,000 operations, runs with one for
        /// 256 are stuck too early for a beginning (308 ms), and with one for 128 they are not (243 ms).
        entries_per_step_back: usize = 1 << 7, "entries";
        /// A run that is stuck before one part in so many of the events went is no beginning: the search in the rest
        /// would cost as much as that in the whole, and may be in vain. With a beginning that is kept, 16 threads x
        /// 10,000 locations x 100,000 operations take 62 ms, and without (saturation of the whole) 77.
        beginning_part: usize = 1 << 3, "parts";
        /// A shorter beginning is none either: saturation of a small execution is cheap.
        least_beginning: usize = 1 << 10, "events";
        /// One part in so many of what went is given back when a run is stuck: what went last may be in a wrong order.
        /// On 64 threads x 10,000 locations x 100,000 operations, the rest of a run that gives nothing back has no
        /// order (15,785 events went). With one in eight, 16 x 1,000 x 100,000 takes 51 ms, with one in 16 it is 46.
        given_back: usize = 1 << 4, "parts";
        /// For every so many events of the rest, its threads may wait for each other once before the search is given
        /// up. What is found was found after at most one wait for 230 events, mostly for thousands.
        events_per_step: usize = 1 << 6, "events";
        /// Whether the lags of reads correct the ages of events in a run. Without, 64 threads x 8 locations x 100,000
        /// operations take 251 ms instead of 120.
        lags: bool = true, "true or false";
        /// Whether guesses correct the ages of events in a run. Without, 16 threads x 64 locations x 100,000 operations
        /// take 123 ms instead of 36 (seed 2).
        turned: bool = true, "true or false";
        /// Whether clocks of short threads have entries of 8 bits. With entries of 32 bits, 1,000 threads x 64
        /// locations x 20,000 operations take 1,565 ms and 100 MB instead of 915 ms and 41 MB.
        narrow: bool = true, "true or false";
        /// Whether a search of many decisions begins anew, and lets the writes go first whose readers are
        /// [nearest](crate::store::nearness). Without, 1,000 threads x 64 locations x 20,000 operations take more than
        /// 2.5 s instead of 0.9 s.
        nearness: bool = true, "true or false";
        /// With more than one decision for so many events of the interleaving, there are many.
        events_per_decision: u64 = 1 << 10, "events";
        /// How many hints are tried without progress before a decision is made. Without any, 256 threads x 64 locations
        /// x 20,000 operations take 290 ms instead of 108.
        hints: u32 = 256, "hints";
        /// How often one pair may be turned round by a hint.
        hints_per_pair: u32 = 3, "hints";
        /// The shortest cycle is looked for through so many waiters. Further waiters are tried only until one cycle is
        /// found.
        cycle_starts: usize = 64, "waiters";
        /// The average lag is that of about so many reads.
        lag_reads: i64 = 1 << 10, "reads";
        /// A read corrects its lag by one part in so many times the average lag.
        lags_per_correction: i64 = 4, "lags";
        /// Two ages that a guess turns round are corrected by one part in so many.
        turned_part: i64 = 8, "parts";
    }
    /// The search in windows, for `pso`.
    windows: WindowKnobs {
        /// The fewest events of a window while no pairs are relaxed. Larger ones need fewer repetitions; smaller ones
        /// stay in the cache.
        events: usize = 1 << 14, "events";
        /// The same for each thread.
        events_per_thread: usize = 1 << 10, "events";
        /// Shorter executions are not decided in windows.
        shortest: usize = 1 << 12, "events";
        /// Whether windows are searched for an interleaving first, and relax more pairs only where there is none.
        progressive: bool = true, "true or false";
        /// How many events of each thread are look-ahead. A longer one is more often right, and costs as many events
        /// again in each window.
        look_ahead: usize = 1 << 6, "events";
        /// If the look-ahead would be more than this part of a window, the window becomes larger.
        per_look_ahead: usize = 4, "look-aheads";
        /// For every so many events of a window, its threads may wait for each other once, if more pairs may be relaxed
        /// or if the model needs no memory order.
        events_per_deadlock: usize = 1 << 6, "events";
        /// With a buffer for each thread and location, nearly every write is in a chain of its own: how many events of
        /// each thread a window then has.
        buffered_per_thread: usize = 1 << 7, "events";
        /// The fewest events of such a window.
        least_buffered: usize = 1 << 10, "events";
        /// The most events of such a window.
        most_buffered: usize = 6 << 10, "events";
        /// How many events of each thread are look-ahead in it.
        buffered_look_ahead: usize = 1 << 5, "events";
    }
    /// The search of `c20`.
    psc: PscKnobs {
        /// Whether a lemma is used again, and not only to go on from its conflict. Without, violations of 16 random
        /// rings (`workload::rings`, two copies, all accesses sequentially consistent) take 7.3 and 10.5 ms instead of
        /// 3.2 and 2.4; what is allowed takes as long.
        lemmas: bool = true, "true or false";
        /// The shortest cycle is looked for through so many waiters. Further waiters are tried only until one cycle is
        /// found.
        cycle_starts: usize = 64, "waiters";
    }
    /// The choice of sources.
    sources: SourceKnobs {
        /// How many steps a guess may take back at a time.
        reach: usize = 1 << 14, "steps";
        /// How many writes of a location are looked at, to find the one that came too early.
        look_back: usize = 64, "writes";
        /// How many events of a thread are looked at, to find one that writes what another thread waits for.
        look_ahead: u32 = 12, "events";
        /// How many steps may be taken back in all, for each event.
        undone_per_event: u64 = 64, "steps";
        /// How many steps may be taken back in all, besides.
        undone: u64 = 1 << 20, "steps";
        /// How many writes are compared when one has to be chosen.
        compared: usize = 16, "writes";
        /// The cost to overwrite what is read next, and the gain to write what is waited for, in events of the file.
        cost: u64 = 64, "events";
        /// After so many conflicts, the search begins again.
        conflicts: u64 = 64, "conflicts";
        /// If no more reads are to blame than this, those that are not needed are left out, one by one.
        left_out: usize = 64, "reads";
    }
    /// The engines of the causal family.
    causal: CausalKnobs {
        /// How many clocks of writes are kept at first. Few are enough for most executions, because most writes are
        /// read soon or never.
        recent_clocks: usize = 1 << 16, "clocks";
        /// How many entries these clocks may have in total.
        recent_entries: usize = 16 << 20, "entries";
        /// How many writes of its location a read looks at, in the order in which they were done. If there are more,
        /// the last write of each thread is looked up instead.
        look_back: usize = 16, "writes";
        /// How many more for each thread.
        look_back_per_thread: usize = 4, "writes";
        /// Whether the last writes of all threads on a location are compared in lanes.
        lasts: bool = true, "true or false";
        /// Whether conflicts between writes that a [cut](crate::causal::cuts) separates are left out.
        cuts: bool = true, "true or false";
        /// How many conflicts are collected before they are processed together.
        conflicts: usize = 1 << 16, "conflicts";
        /// With so many threads or more, clocks are lists, as long as the lists are short.
        many_threads: usize = 1 << 8, "threads";
        /// `ccv`: how many writes are done before conflicts are processed, if a witness is wanted.
        epoch: usize = 1 << 10, "writes";
        /// The same without a witness: it is one part in so many of the clocks that are kept.
        kept_epochs: usize = 8, "epochs";
        /// Lists are tried if threads have no more events than this on average.
        list_events: usize = 1 << 5, "events";
        /// They are tried, too, if clocks of full width would have more entries than this.
        full_entries: usize = 1 << 28, "entries";
        /// Lists may have one entry for so many entries of full width.
        full_per_entry: usize = 8, "entries";
        /// The fewest entries that the lists of one order may have.
        least_list_entries: usize = 1 << 16, "entries";
        /// The most; they take 1 GiB.
        most_list_entries: usize = 1 << 27, "entries";
        /// Executions with fewer events are decided on one processor: to share their views among several is not worth
        /// while.
        worth_sharing: usize = 1 << 15, "events";
    }
    /// The choice among tactics.
    tactics: TacticKnobs {
        /// Whether a model is also decided by others: a stronger one that holds, or a weaker one that fails.
        other_models: bool = true, "true or false";
        /// Executions with fewer events are not: the engine of the model itself is fast enough.
        least_for_others: usize = 1 << 10, "events";
        /// How many entries the clocks of another model may have, for each step of the turn: in the first turn, 1 GiB
        /// in all.
        entries_per_step: u64 = 1 << 16, "entries";
        /// How many steps the first turn of a tactic has that takes turns. In a step of a search, all threads wait.
        /// Most searches end before.
        first_turn: u64 = 1 << 12, "steps";
        /// How many times as many each further turn has. All turns of a tactic together take at most 16/3 times as many
        /// steps as it needs alone.
        turn_growth: u64 = 4, "times";
        /// `sra`: for each step of the search by lemmas, how many sets without a completion the search over
        /// downward-closed sets may find in a turn. Both then take about as long.
        sets_per_step: u64 = 1 << 4, "sets";
        /// Whether the components of an execution of many threads are decided by themselves.
        components: bool = true, "true or false";
        /// How many events of each thread are looked at first for that: mostly they show that there is only one.
        first_events: usize = 16, "events";
    }
}

/// After so many decisions, a search that needs [many](StoreKnobs::events_per_decision) begins anew, and each time
/// there may be more of them. A list is no knob; docs/benchmarks.md has what was measured, with [`FEW`].
pub(crate) const DECISIONS: [u64; 4] = [8, 32, 64, 128];

/// How much `few` of the [nearness](crate::store::nearness) is for each thread, each time that a search begins anew. It
/// is another number each time, since the one before led to many decisions.
pub(crate) const FEW: [u64; 4] = [2, 8, 1, 4];

impl CausalKnobs {
    /// How many writes a read looks at, in an execution of so many threads.
    pub(crate) const fn look_back(&self, threads: usize) -> usize {
        self.look_back + self.look_back_per_thread * threads
    }
}

impl TacticKnobs {
    /// The turns of what is tried side by side.
    pub(crate) const fn turns(&self) -> Turns {
        Turns { first: self.first_turn, growth: self.turn_growth }
    }
}
