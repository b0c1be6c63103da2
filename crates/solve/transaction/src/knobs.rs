//! The knobs: the numbers of the engine of transactions that trade one cost for another, in one table.
//!
//! A knob never changes a verdict, except to or from `unknown`. A [`LevelChecker`](crate::LevelChecker) carries the
//! knobs. A figure at a knob is the time of the processor for the decision alone.

search::knobs! {
    /// What other levels say.
    levels: LevelKnobs {
        /// Up to so many transactions, the evidence of a violation is that of the weakest level that is violated: it is
        /// plainer. A violation of `serializable` on a causal database, 24 sessions x 2,000 keys x 30,000 operations,
        /// takes 52 ms with it and 3 ms without.
        weaker_up_to: usize = 20_000, "transactions";
        /// How many lemmas a stronger level may take that would decide a weaker one. This bounds the time that is lost
        /// where the stronger level is hard; with none and with 256, simulated databases of 3,000 to 60,000 operations
        /// take as long.
        lemmas_of_stronger: u64 = 64, "lemmas";
    }
}
