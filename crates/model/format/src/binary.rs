//! Binary input: numbers of fixed width, and errors that say at which byte.

use super::error::{Fault, InputError};
use super::input::Input;

/// A binary stream with its position.
pub(super) struct Bytes {
    pub input: Input,
    /// The name of the file, for errors; empty if the input is one file.
    name: String,
    position: u64,
}

impl Bytes {
    pub fn new(input: Input, name: String) -> Self {
        Self { input, name, position: 0 }
    }

    /// The next byte; `None` at the end.
    pub fn next(&mut self) -> Result<Option<u8>, InputError> {
        let byte = self.input.peek_byte().map_err(|fault| self.error(&fault.message, self.position))?;
        if byte.is_some() {
            self.input.skip_byte();
            self.position += 1;
        }
        Ok(byte)
    }

    /// The next `N` bytes. `what` names them in an error.
    pub fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], InputError> {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            *byte = self.next()?.ok_or_else(|| self.error(&format!("the file ends within {what}"), self.position))?;
        }
        Ok(bytes)
    }

    /// An unsigned number, the lowest byte first.
    pub fn little(&mut self, what: &str) -> Result<u64, InputError> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A signed number, the highest byte first.
    pub fn big(&mut self, what: &str) -> Result<i64, InputError> {
        self.array(what).map(i64::from_be_bytes)
    }

    /// A byte that is 0 or 1.
    pub fn boolean(&mut self, what: &str) -> Result<bool, InputError> {
        match self.array(what)? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(self.error(&format!("{what} is {other}, and not 0 or 1"), self.position - 1)),
        }
    }

    /// How many bytes have been read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The error for something at a byte.
    pub fn error(&self, message: &str, at: u64) -> InputError {
        let name = if self.name.is_empty() { String::new() } else { format!("{}, ", history::visible(&self.name)) };
        InputError {
            line: 0,
            column: 0,
            text: String::new(),
            message: format!("{name}byte {at}: {message}"),
            expected: None,
        }
    }

    /// The error for a fault of the builder.
    pub fn fault(&self, fault: &Fault) -> InputError {
        self.error(&fault.message, self.position)
    }
}
