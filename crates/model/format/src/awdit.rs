//! Histories of AWDIT (`test`): `r key value` and `w key value` in lines, a line of `-` after each transaction but the
//! last of a session, a line of `=` between sessions.
//!
//! There are no initial values: a read of what no line writes is a value out of thin air. All transactions are
//! committed.

use super::builder::Preset;
use super::error::{Fault, InputError};
use super::input::Input;
use super::untimed::{Initial, OwnTransaction, Untimed};
use history::history::History;
use history::transactions::Status;
use history::value::quote;

/// Reads the one history of a file.
pub(super) struct AwditReader {
    input: Input,
    preset: Preset,
    is_done: bool,
}

impl AwditReader {
    pub fn new(input: Input, preset: Preset) -> Self {
        Self { input, preset, is_done: false }
    }

    /// The one history; `None` if the file is empty.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        if std::mem::replace(&mut self.is_done, true) { None } else { self.read().transpose() }
    }

    fn read(&mut self) -> Result<Option<History>, InputError> {
        let mut untimed = Untimed::new(&self.preset);
        let mut session = 0;
        let mut open = None;
        loop {
            untimed.check_memory(&mut self.input, 0)?;
            let Some((number, line)) = self.input.next_line()? else { break };
            match line.trim_ascii() {
                [] => {}
                text if is_rule(text, b'-') => open = None,
                text if is_rule(text, b'=') => {
                    open = None;
                    session += 1;
                }
                _ => {
                    push(&mut untimed, &mut open, session, line, number)
                        .map_err(|fault| fault.in_line(number, line))?;
                }
            }
        }
        if untimed.is_empty() { Ok(None) } else { untimed.finish(Initial::Null).map(Some) }
    }
}

/// Whether a line has this byte only.
pub(super) fn is_rule(line: &[u8], byte: u8) -> bool {
    !line.is_empty() && line.iter().all(|&other| other == byte)
}

/// Whether a line is an operation: `w 1 5`.
pub(super) fn is_operation(line: &[u8]) -> bool {
    let mut tokens = line.split(u8::is_ascii_whitespace).filter(|token| !token.is_empty());
    let is_number = |token: Option<&[u8]>| token.is_some_and(|token| token.iter().all(u8::is_ascii_digit));
    matches!(tokens.next(), Some(b"r" | b"w"))
        && is_number(tokens.next())
        && is_number(tokens.next())
        && tokens.next().is_none()
}

/// Takes in an operation.
fn push(
    untimed: &mut Untimed,
    open: &mut Option<OwnTransaction>,
    session: u64,
    line: &[u8],
    number: u32,
) -> Result<(), Fault> {
    if !is_operation(line) {
        let message = format!("{} is not understood here", quote(line.trim_ascii()));
        let at = line.len() - line.trim_ascii_start().len();
        return Err(Fault::new(at, message).expected("`r key value`, `w key value`, or a line of `-` or `=`"));
    }
    let text = String::from_utf8_lossy(line);
    let tokens: Vec<&str> = text.split_ascii_whitespace().collect();
    let place = if let Some(place) = *open {
        place
    } else {
        let session = untimed.number(session);
        let session = untimed.session(session);
        *open.insert(untimed.transaction(session, Status::Committed, number)?)
    };
    // `007` is 7.
    let [key, value] = [tokens[1], tokens[2]].map(|digits| {
        let digits = digits.trim_start_matches('0');
        untimed.word(if digits.is_empty() { "0" } else { digits })
    });
    let key = untimed.key(key);
    if tokens[0] == "w" { untimed.write(place, key, value, number) } else { untimed.read(place, key, value, number) }
}
