//! The knobs: the numbers of the engine of transactions that trade one cost for another, in one table.
//!
//! A knob never changes a verdict, except to or from `unknown`. A [`LevelChecker`](crate::LevelChecker) carries the
//! knobs. A figure at a knob is the time of the processor for the decision alone.

search::knobs! {
    /// What other levels say.
    levels: LevelKnobs {
        /// Up to so many transactions, the evidence of a violation is that of the weakest level that is violated: it is
        /// plainer. To look for it takes longer than the verdict.
        weaker_up_to: usize = 20_000, "transactions";
        /// How many lemmas a stronger level may take that would decide a weaker one.
        lemmas_of_stronger: u64 = 64, "lemmas";
    }
}
