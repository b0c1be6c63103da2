//! What may happen to a thread without a reason, as a real machine or scheduler lets it happen.

/// What may happen to a thread without a reason. It is a choice of two of the program: 1 if it happens.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Chance {
    /// A weak compare-exchange fails.
    Fails,
    /// A wait ends.
    Wakes,
    /// The time of a wait runs out.
    RunsOut,
}

impl Chance {
    /// What a person is told of such a choice: nothing if it did not happen.
    pub fn shown(self, chosen: i64) -> String {
        let text = match (chosen, self) {
            (0, _) => "",
            (_, Self::Fails) => "fails without a reason",
            (_, Self::Wakes) => "ends its wait without a reason",
            (_, Self::RunsOut) => "waits until its time is up",
        };
        text.to_owned()
    }
}
