//! Verdicts told in words: for a person who has a history in one hand and wants to see which of its operations clash.
//!
//! [`drawing`] draws where histories stand among the models.
//!
//! Every operation is named by its line and written as in the text format, which shows its thread. A chain of operations
//! is a table, each row with the reason why it comes after the row above. What is derived is numbered, and its reason is
//! told below, down to program order and reads-from. Nothing here knows how a verdict was found: the evidence of a
//! certificate is all there is to tell.

mod c11;
pub mod drawing;
mod hint;
mod object;
mod outline;
mod text;
mod words;

pub use text::{Line, Span, Style};
pub use words::explain;
