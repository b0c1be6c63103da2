//! The kinds of what can be wrong with a program.

use serde::{Deserialize, Serialize};

/// The kind of a finding.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum DefectKind {
    /// An assertion failed.
    #[serde(rename = "assert")]
    Assert,
    /// The program called `abort`.
    #[serde(rename = "abort")]
    Abort,
    /// The processor stopped it.
    #[serde(rename = "crash")]
    Crash,
    /// An exception was not caught.
    #[serde(rename = "uncaught")]
    Uncaught,
    /// Two accesses race.
    #[serde(rename = "race")]
    Race,
    /// Threads wait for what cannot come.
    #[serde(rename = "deadlock")]
    Deadlock,
    /// Memory is used that was freed, or may have been.
    #[serde(rename = "use after free")]
    UseAfterFree,
    /// Memory is freed twice.
    #[serde(rename = "double free")]
    DoubleFree,
    /// What is freed was not allocated.
    #[serde(rename = "invalid free")]
    InvalidFree,
    /// An address is in no object.
    #[serde(rename = "out of bounds")]
    OutOfBounds,
    /// A null pointer is used.
    #[serde(rename = "null")]
    Null,
    /// Memory is left when the program has ended.
    #[serde(rename = "leak")]
    Leak,
    /// A lock or a thread is used as it must not be.
    #[serde(rename = "misuse")]
    Misuse,
    /// A thread has used up its stack.
    #[serde(rename = "stack overflow")]
    StackOverflow,
}

impl DefectKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Assert => "assert",
            Self::Abort => "abort",
            Self::Crash => "crash",
            Self::Uncaught => "uncaught",
            Self::Race => "race",
            Self::Deadlock => "deadlock",
            Self::UseAfterFree => "use after free",
            Self::DoubleFree => "double free",
            Self::InvalidFree => "invalid free",
            Self::OutOfBounds => "out of bounds",
            Self::Null => "null",
            Self::Leak => "leak",
            Self::Misuse => "misuse",
            Self::StackOverflow => "stack overflow",
        }
    }
}
