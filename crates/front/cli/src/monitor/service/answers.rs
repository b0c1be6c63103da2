//! What a named client says first, and the answers that it gets.
//!
//! The first line of a client may be `# @client NAME`: then its lines are numbered, from one, and it is answered. The
//! other lines follow from the first on; with `from=K` from line K on; with `from=next` from the line on that the first
//! answer asks for. Lines that were seen already are skipped, so each counts once. `# @end`, as the last line that is
//! sent, ends the stream.
//!
//! An answer is a JSON object: `received` is how many lines were checked, `acknowledged` how many of them need never be
//! sent again (with `--checkpoint`, the checkpoint has them), `violations` how many were found in the stream. The last
//! answer has `over` or `error`. Each answer stands for all before it. So a client that does not read loses nothing,
//! and costs at most one answer of memory.

use std::io;
use std::time::{Duration, Instant};

use serde_json::json;

use super::listener::Connection;
use crate::json;

const HELLO: &[u8] = b"# @client";
/// The line that ends the stream of a named client.
pub(crate) const END: &[u8] = b"# @end\n";
/// How long a name may be.
const LONGEST_NAME: usize = 100;
/// How long the last answer to a client may take.
const LAST: Duration = Duration::from_secs(1);
/// How many pieces of 64 KiB are read after it, and dropped.
const MOST_UNREAD: usize = 64;

/// What a client says first.
pub(crate) struct Hello {
    pub(crate) name: String,
    /// The number of the first line that follows. None if the client waits to be told.
    pub(crate) first: Option<u64>,
}

impl Hello {
    /// Reads the first line of a client, without its newline. `None` if the client has no name.
    pub(crate) fn read(line: &[u8]) -> Option<Result<Self, String>> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let rest = line.strip_prefix(HELLO)?;
        if !rest.first().is_some_and(u8::is_ascii_whitespace) {
            return None;
        }
        Some(Self::of_words(&String::from_utf8_lossy(rest)))
    }

    fn of_words(words: &str) -> Result<Self, String> {
        let mut words = words.split_ascii_whitespace();
        let name = words.next().unwrap_or_default();
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
        if name.is_empty() || name.len() > LONGEST_NAME || name.starts_with('.') || !name.bytes().all(is_plain) {
            return Err(format!(
                "a client's name has 1 to {LONGEST_NAME} characters: a-z, 0-9, `-`, `_`, and `.` within"
            ));
        }
        let wrong = || "after the name comes nothing, `from=K` (K is at least 1), or `from=next`".to_owned();
        let first = match words.next().map(|word| word.strip_prefix("from=").ok_or_else(wrong)).transpose()? {
            None => Some(1),
            Some("next") => None,
            Some(number) => Some(number.parse().ok().filter(|&first| first > 0).ok_or_else(wrong)?),
        };
        if words.next().is_some() {
            return Err(wrong());
        }
        Ok(Self { name: name.to_owned(), first })
    }
}

/// What a client is told.
#[derive(Copy, Clone, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) received: u64,
    pub(crate) acknowledged: u64,
    pub(crate) violations: u64,
}

/// The answers to one client.
pub(crate) struct Answers {
    to: Connection,
    told: Option<Standing>,
    /// What is left of an answer that was written in part.
    rest: Vec<u8>,
    is_closed: bool,
}

impl Answers {
    pub(crate) fn new(to: Connection) -> Self {
        Self { to, told: None, rest: Vec::new(), is_closed: false }
    }

    /// Answers, if there is something new and the client reads.
    pub(crate) fn tell(&mut self, standing: Standing) {
        self.write();
        if self.rest.is_empty() && self.told != Some(standing) {
            self.told = Some(standing);
            self.rest = line(&standing, None);
            self.write();
        }
    }

    /// The last answer. `end` is `over` or `error`, with what is to be said.
    pub(crate) fn end(mut self, standing: Standing, end: Option<(&str, serde_json::Value)>) {
        let last = line(&standing, end);
        self.rest.extend_from_slice(&last);
        let begin = Instant::now();
        while !self.rest.is_empty() && !self.is_closed && begin.elapsed() < LAST {
            self.write();
        }
        self.to.end();
        // If the connection were closed with lines unread, the client would not see the answer.
        let mut buffer = vec![0; 1 << 16];
        for _ in 0..MOST_UNREAD {
            let left = LAST.saturating_sub(begin.elapsed());
            if left.is_zero()
                || self.to.set_read_timeout(left).is_err()
                || !matches!(self.to.read(&mut buffer), Ok(1..))
            {
                break;
            }
        }
    }

    fn write(&mut self) {
        while !self.rest.is_empty() && !self.is_closed {
            match self.to.write(&self.rest) {
                Ok(0) => self.is_closed = true,
                Ok(count) => drop(self.rest.drain(..count)),
                Err(error) => {
                    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
                    self.is_closed = !matches!(error.kind(), WouldBlock | TimedOut | Interrupted);
                    return;
                }
            }
        }
    }
}

fn line(standing: &Standing, end: Option<(&str, serde_json::Value)>) -> Vec<u8> {
    let Standing { received, acknowledged, violations } = standing;
    let mut answer = json!({ "received": received, "acknowledged": acknowledged, "violations": violations });
    if let Some((field, value)) = end {
        answer[field] = value;
    }
    json::line(&answer).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::Hello;

    #[test]
    fn a_name_is_one_that_a_file_can_have() {
        let read = |line: &str| Hello::read(line.as_bytes()).map(|hello| hello.map(|it| (it.name, it.first)));
        let named = |name: &str, first| Some(Ok((name.to_owned(), first)));
        assert_eq!(read("# @client a-1.b\r"), named("a-1.b", Some(1)));
        assert_eq!(read("# @client  a from=7"), named("a", Some(7)));
        assert_eq!(read("# @client a from=next"), named("a", None));
        for line in ["[0] w x 1", "# @clients a", "# @object queue", ""] {
            assert_eq!(read(line), None, "{line}");
        }
        let long = format!("# @client {}", "a".repeat(101));
        for line in ["# @client ", "# @client ../x", "# @client .", "# @client A", "# @client a from=0", &long] {
            assert!(matches!(read(line), Some(Err(_))), "{line}");
        }
        for line in ["# @client a to=1", "# @client a from=1 b", "# @client a from=-1", "# @client a\0b"] {
            assert!(matches!(read(line), Some(Err(_))), "{line}");
        }
    }
}
