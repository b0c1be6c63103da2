//! The knobs: the numbers of the engine of objects that trade one cost for another, in one table.
//!
//! A knob never changes a verdict, except to or from `unknown`. The [options](crate::ObjectOptions) carry the knobs,
//! and each part of a history hands them on. The research command sets them by their names, and measures what they are
//! worth (`lab trial --objects`); the figures here are its figures: the time of the processor for the decision alone.
//! `stack 32 x 20,000 x 10` is a run of a stack with 32 threads, 20,000 operations and 10 values; with 0 values, no
//! value repeats.

use search::Turns;

search::knobs! {
    /// Independent parts of a history.
    parts: PartKnobs {
        /// How many steps the search of a part has in its first turn. Most searches end before.
        first_turn: u64 = 1 << 10, "steps";
        /// How many times as many it has in each further turn. All turns of a part together take at most 16/3 times as
        /// many steps as it needs alone.
        turn_growth: u64 = 4, "times";
    }
    /// Stacks.
    stack: StackKnobs {
        /// How many steps the search has in its first turn, for each call. Fewer than these blame a later operation of
        /// a small violation.
        first_turn: u64 = 16, "steps a call";
        /// How many times as long each further turn is. With 4 and with 16, no run takes more than 1.1 times as long.
        turn_growth: u64 = 8, "times";
        /// How many steps the guess which pop takes which copy has for each step of the search. With 1, 32 x 20,000 x
        /// 10 takes 2,403 ms instead of 348. With none, that and 16 x 20,000 x 1,000 (159 ms) take more than 12 s.
        guess_share: u64 = 4, "steps";
        /// How many pushes a pop can be a partner of, at most. With 32, 8 x 50,000 x 10 takes 548 ms instead of 492;
        /// with 4,096, no run is faster. This bounds the memory of runs of few values.
        partners: usize = 256, "pushes";
        /// How often a stack with pending pops is decided anew with another guess of the values that they took. With
        /// none, 16 x 25,000 x 0 with 5 pending of 1,000 takes 100 ms instead of 4, and 16 x 100,000 x 0 with 30 more
        /// than 12 s instead of 20 ms.
        pending_guesses: usize = 64, "decisions";
        /// The same, but all these decisions together look at no more calls.
        pending_guess_calls: usize = 1 << 23, "calls";
        /// How many events the counts of copies look at before they say nothing. Without counts, 16 x 5,000 x 10 with a
        /// lost value takes more than 12 s instead of 24 ms.
        counted_events: usize = 1 << 27, "events";
        /// How many steps are taken to make the evidence of a violation smaller. This bounds the time: evidence of a
        /// wrong run of 16 x 100,000 x 0 takes less than 1 ms of them.
        shrink_steps: usize = 4_000_000, "steps";
    }
    /// Priority queues.
    priority_queue: PriorityQueueKnobs {
        /// In a part of no more calls, the search comes before the counts of copies: it blames the first operation that
        /// cannot return. Without counts, 16 x 5,000 x 10 with a lost value takes 101 ms instead of less than 1.
        few_calls: usize = 256, "calls";
        /// How many steps the search has in its first turn, for each call.
        first_turn: u64 = 2, "steps a call";
        /// How many times as long each further turn is.
        turn_growth: u64 = 4, "times";
        /// How many steps the solver has for each step of the search: its steps are shorter.
        solver_share: u64 = 64, "steps";
        /// How often the instants of removals are chosen anew to guess which removal takes which copy. Without a guess,
        /// 32 x 20,000 x 10 takes 228 ms instead of 15, and 16 x 20,000 x 100 takes 131 ms instead of 4.
        rounds: usize = 400, "rounds";
        /// The same, but all rounds together look at no more calls.
        round_calls: usize = 1 << 22, "calls";
        /// From how many instants an operation chooses, at most: its last ones. With 4, the guess of 32 x 20,000 x 10
        /// fails (802 ms instead of 15); with 512 it takes 79 ms.
        instants: usize = 32, "instants";
        /// How many steps are taken, for each moment, to guess which values the pending removals took. Without a guess,
        /// 16 x 20,000 x 0 with 5 pending of 1,000 takes 151 ms instead of 4. With 4, the same with 30 pending, and 20
        /// peeks of 100, takes more than 12 s instead of 4 ms.
        taken_steps: usize = 64, "steps a moment";
        /// How many operations that ended are looked at, at most, to explain to the solver why one finds no partner, if
        /// there is something else to be explained. With 8, 32 x 20,000 x 10 by the solver takes more than 6 s instead
        /// of 221 ms; with 512, 8 x 5,000 x 10 with a lost value and 5 pending of 1,000 takes 278 ms instead of 199.
        long_look: usize = 64, "operations";
        /// How far from a gap of a conflict other gaps are tried in its place. With none, 32 x 20,000 x 10 by the
        /// solver takes 1,726 ms instead of 221; with 128, 352 ms.
        reach: u32 = 32, "gaps";
    }
    /// Strings and registers with compare-and-swap, by [chains](crate::knobs) of states.
    chains: ChainKnobs {
        /// Among how many of the last blocks another one is looked for that can be the last. This bounds the time; with
        /// 1 and with 1,024, registers of 16 x 100,000 x 0 with 30 swaps of 100 take as long.
        look_back: usize = 64, "blocks";
        /// How many pieces are looked up for each byte of a text before the fast algorithm declines. With 1, strings of
        /// 16 x 1,000 x 0 are left to the search, and take more than 6 s instead of less than 1 ms.
        lookups: usize = 16, "pieces a byte";
    }
}

impl PartKnobs {
    /// The turns of the parts.
    pub(crate) const fn turns(&self) -> Turns {
        Turns { first: self.first_turn, growth: self.turn_growth }
    }
}
