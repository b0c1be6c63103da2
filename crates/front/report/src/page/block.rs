//! A block of data inside a page: a header in JSON and columns of bytes, compressed, as text.
//!
//! The text is base64 of a raw deflate stream, which every browser unpacks by its `DecompressionStream`. Base64 has no
//! character that means something in HTML, so nothing that a history contains can end the element around it. The
//! stream holds the length of the header (four bytes, the lowest first), the header, and the columns one after the
//! other. The header lists the columns: their names and lengths.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::{Map, Value as Json, json};

/// A block that is being filled.
#[derive(Default)]
pub(super) struct Block {
    header: Map<String, Json>,
    columns: Vec<(&'static str, Vec<u8>)>,
}

impl Block {
    /// A block with this header, and no columns.
    pub(super) fn new(header: Map<String, Json>) -> Self {
        Self { header, columns: Vec::new() }
    }

    /// Adds to the header.
    pub(super) fn insert(&mut self, name: &str, value: Json) {
        self.header.insert(name.to_owned(), value);
    }

    /// Adds a column.
    pub(super) fn column(&mut self, name: &'static str, bytes: Vec<u8>) {
        self.columns.push((name, bytes));
    }

    /// Writes the block as an element of the page, which can be found by its name.
    pub(super) fn write(mut self, name: &str, out: &mut impl Write) -> io::Result<()> {
        let columns = self.columns.iter().map(|(name, bytes)| json!([name, bytes.len()])).collect();
        self.header.insert("columns".to_owned(), Json::Array(columns));
        let header = Json::Object(self.header).to_string();
        write!(out, "<script type=\"application/octet-stream\" id=\"{name}\">")?;
        let mut deflate = DeflateEncoder::new(Base64::new(&mut *out), Compression::default());
        deflate.write_all(&u32::try_from(header.len()).map_err(io::Error::other)?.to_le_bytes())?;
        deflate.write_all(header.as_bytes())?;
        for (_, bytes) in self.columns {
            deflate.write_all(&bytes)?;
        }
        deflate.finish()?.finish()?;
        out.write_all(b"</script>\n")
    }
}

/// Writes bytes as base64.
struct Base64<W> {
    out: W,
    /// The bytes that do not make a group of three yet.
    rest: Vec<u8>,
}

impl<W: Write> Base64<W> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    fn new(out: W) -> Self {
        Self { out, rest: Vec::new() }
    }

    /// The four characters of a group of one to three bytes.
    fn group(bytes: &[u8]) -> [u8; 4] {
        let byte = |at: usize| u32::from(bytes.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let character = |at: usize| {
            if at <= bytes.len() { Self::ALPHABET[(bits >> (18 - 6 * at)) as usize & 63] } else { b'=' }
        };
        [0, 1, 2, 3].map(character)
    }

    /// Writes the last group.
    fn finish(mut self) -> io::Result<()> {
        if !self.rest.is_empty() {
            self.out.write_all(&Self::group(&self.rest))?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Base64<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        let whole = self.rest.len() / 3 * 3;
        let text: Vec<u8> = self.rest[..whole].chunks_exact(3).flat_map(Self::group).collect();
        self.out.write_all(&text)?;
        self.rest.drain(..whole);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Numbers as bytes: seven bits a byte, the lowest first, the eighth bit if more follow.
#[derive(Default)]
pub(super) struct Numbers {
    pub(super) bytes: Vec<u8>,
    last: i64,
}

impl Numbers {
    /// Adds a number.
    pub(super) fn push(&mut self, mut number: u64) {
        while number >= 128 {
            self.bytes.push(number as u8 | 128);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Adds a number of any sign: the lowest bit is its sign.
    pub(super) fn push_signed(&mut self, number: i64) {
        self.push(zigzag(number));
    }

    /// Adds a number as its distance from the one that was added like this before.
    pub(super) fn push_near(&mut self, number: i64) {
        self.push_signed(number - self.last);
        self.last = number;
    }
}

/// A number of any sign as one without: small if it is near zero.
pub(super) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_known_one() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")]
        {
            // One byte at a time, and all at once.
            for step in [1, 100] {
                let mut out = Vec::new();
                let mut base64 = Base64::new(&mut out);
                for chunk in bytes.as_bytes().chunks(step) {
                    base64.write_all(chunk).expect("a vector takes all");
                }
                base64.finish().expect("a vector takes all");
                assert_eq!(out, text.as_bytes());
            }
        }
    }

    #[test]
    fn small_numbers_are_short() {
        let mut numbers = Numbers::default();
        numbers.push(127);
        numbers.push(300);
        numbers.push_near(-1);
        numbers.push_near(1);
        assert_eq!(numbers.bytes, [127, 172, 2, 1, 4]);
    }
}
