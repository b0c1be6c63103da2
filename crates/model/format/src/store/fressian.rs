//! Values in Fressian, as text in EDN.
//!
//! The first byte of a value is its code. Small integers, and the lengths of short strings and lists, are in the code
//! itself. A value may be put into a cache, and later be named by its place there; so may the name and the number of
//! fields of a record. What Jepsen writes as records, sets and entries of maps becomes what it prints for them. A value
//! that EDN has no word for becomes a string.
//!
//! Invariant: the text of a value is balanced EDN, whatever the bytes are.

use std::rc::Rc;

use super::Damage;

/// Values are at most so deep within each other.
const DEEPEST: usize = 200;

/// The fields of Jepsen's operations, in the order in which they are written.
const OPERATION: [&str; 6] = ["index", "time", "type", "process", "f", "value"];

/// Decodes the values of a block.
pub(super) struct Decoder<'a> {
    data: &'a [u8],
    position: usize,
    /// The offset of the data in the file.
    at: usize,
    depth: usize,
    values: Vec<Option<Rc<[u8]>>>,
    records: Vec<(Rc<str>, usize)>,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(data: &'a [u8], at: usize) -> Self {
        Self { data, position: 0, at, depth: 0, values: Vec::new(), records: Vec::new() }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.position == self.data.len()
    }

    /// Appends one operation as a line.
    pub(super) fn operation(&mut self, out: &mut Vec<u8>) -> Result<(), Damage> {
        self.value(out)?;
        out.push(b'\n');
        Ok(())
    }

    /// Appends the operations of a list, each as a line. Nothing is a list without operations.
    pub(super) fn operations(&mut self, out: &mut Vec<u8>) -> Result<(), Damage> {
        let code = self.byte()?;
        match self.length_of_list(code)? {
            Some(Length::Known(count)) => (0..count).try_for_each(|_| self.operation(out)),
            Some(Length::Open) => {
                while !self.ends() {
                    self.operation(out)?;
                }
                Ok(())
            }
            None if code == 0xf7 => Ok(()),
            // `vec`, a record of one field, which is the list.
            None => match self.record(code)? {
                Some((name, 1)) if &*name == "vec" => self.operations(out),
                _ => Err(self.damage("a list of operations should be here")),
            },
        }
    }

    /// The id of the block that the field `:history` of a map refers to.
    pub(super) fn history(&mut self) -> Result<Option<u32>, Damage> {
        let code = self.byte()?;
        if code != 0xc0 {
            return Err(self.damage("the test should be a map"));
        }
        let code = self.byte()?;
        let length = self.length_of_list(code)?.ok_or_else(|| self.damage("the entries of a map should be here"))?;
        let mut left = match length {
            Length::Known(count) => count / 2,
            Length::Open => usize::MAX,
        };
        let mut key = Vec::new();
        while left > 0 && !(length == Length::Open && self.ends()) {
            left -= 1;
            key.clear();
            self.value(&mut key)?;
            let before = self.position;
            if key == b":history" {
                let code = self.byte()?;
                if let Some((name, 1)) = self.record(code)?
                    && &*name == "block-ref"
                {
                    let mut id = Vec::new();
                    self.value(&mut id)?;
                    let id = std::str::from_utf8(&id).ok().and_then(|id| id.parse().ok());
                    return id.map(Some).ok_or_else(|| self.damage("the number of a block should be here"));
                }
                self.position = before;
                return Err(self.damage("the history should be in a block of its own"));
            }
            self.value(&mut Vec::new())?;
        }
        Ok(None)
    }

    fn damage(&self, message: impl Into<String>) -> Damage {
        Damage::new(self.at + self.position, message)
    }

    fn byte(&mut self) -> Result<u8, Damage> {
        let byte = *self.data.get(self.position).ok_or_else(|| self.damage("the block ends within a value"))?;
        self.position += 1;
        Ok(byte)
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let end = self.position.checked_add(count);
        let bytes = end.and_then(|end| self.data.get(self.position..end));
        let bytes = bytes.ok_or_else(|| self.damage("the block ends within a value"))?;
        self.position += count;
        Ok(bytes)
    }

    /// So many bytes as a number without a sign, at most eight.
    fn raw(&mut self, count: usize) -> Result<u64, Damage> {
        Ok(self.bytes(count)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// The integer that begins with this code, if it is one.
    fn integer(&mut self, code: u8) -> Result<Option<i64>, Damage> {
        // The code of a packed integer has the high bits; `zero` is the code whose high bits are all 0.
        let (zero, count) = match code {
            0xff => return Ok(Some(-1)),
            0x00..=0x3f => return Ok(Some(i64::from(code))),
            0xf8 => return Ok(Some(self.raw(8)? as i64)),
            0x40..=0x5f => (0x50, 1),
            0x60..=0x6f => (0x68, 2),
            0x70..=0x73 => (0x72, 3),
            0x74..=0x77 => (0x76, 4),
            0x78..=0x7b => (0x7a, 5),
            0x7c..=0x7f => (0x7e, 6),
            _ => return Ok(None),
        };
        let high = (i64::from(code) - zero) << (8 * count);
        Ok(Some(high | self.raw(count)? as i64))
    }

    /// A number that counts what follows. It cannot be more than the bytes that are left, since each takes one.
    fn count(&mut self) -> Result<usize, Damage> {
        let code = self.byte()?;
        let count = self.integer(code)?.and_then(|count| usize::try_from(count).ok());
        let left = self.data.len() - self.position;
        count.filter(|&count| count <= left).ok_or_else(|| self.damage("this is not a length that fits the block"))
    }

    /// A place in a cache.
    fn place(&mut self) -> Result<usize, Damage> {
        let code = self.byte()?;
        let place = self.integer(code)?.and_then(|place| usize::try_from(place).ok());
        place.ok_or_else(|| self.damage("a place in a cache should be here"))
    }

    fn length_of_list(&mut self, code: u8) -> Result<Option<Length>, Damage> {
        Ok(Some(match code {
            0xe4..=0xeb => Length::Known(usize::from(code - 0xe4)),
            0xec => Length::Known(self.count()?),
            0xed | 0xee => Length::Open,
            _ => return Ok(None),
        }))
    }

    /// Whether a list without a length ends here.
    fn ends(&mut self) -> bool {
        let next = self.data.get(self.position);
        if next == Some(&0xfd) {
            self.position += 1;
        }
        // Only an open list may end with the block. To believe it of both is no harm.
        matches!(next, None | Some(0xfd))
    }

    /// The name and the number of fields of the record that begins with this code, if it is one.
    fn record(&mut self, code: u8) -> Result<Option<(Rc<str>, usize)>, Damage> {
        let place = match code {
            0xef => {
                let mut name = Vec::new();
                self.value(&mut name)?;
                let name: Rc<str> = String::from_utf8_lossy(&name).trim_matches('"').into();
                let fields = self.count()?;
                self.records.push((Rc::clone(&name), fields));
                return Ok(Some((name, fields)));
            }
            0xa0..=0xaf => usize::from(code - 0xa0),
            0xf0 => self.place()?,
            _ => return Ok(None),
        };
        let record = self.records.get(place).cloned();
        record.map(Some).ok_or_else(|| self.damage("this names a record that was not there before"))
    }

    /// Appends the text of the next value.
    fn value(&mut self, out: &mut Vec<u8>) -> Result<(), Damage> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.damage("values are too deep within each other"));
        }
        let code = self.byte()?;
        self.value_of(code, out)?;
        self.depth -= 1;
        Ok(())
    }

    fn value_of(&mut self, code: u8, out: &mut Vec<u8>) -> Result<(), Damage> {
        if let Some(integer) = self.integer(code)? {
            out.extend_from_slice(integer.to_string().as_bytes());
            return Ok(());
        }
        if let Some(length) = self.length_of_list(code)? {
            return self.list(length, [b"[", b"]"], out);
        }
        if let Some((name, fields)) = self.record(code)? {
            return self.fields(&name, fields, out);
        }
        match code {
            0x80..=0x9f => self.cached(usize::from(code - 0x80), out)?,
            0xcc => {
                let place = self.place()?;
                self.cached(place, out)?;
            }
            0xcd => {
                let place = self.values.len();
                self.values.push(None);
                let start = out.len();
                self.value(out)?;
                self.values[place] = Some(out[start..].into());
            }
            0xc0 => self.sequence([b"{", b"}"], out)?,
            0xc1 => self.sequence([b"#{", b"}"], out)?,
            0xca | 0xc9 => self.name(code == 0xca, out)?,
            0xc3 | 0xc7 => self.fields(if code == 0xc3 { "uuid" } else { "bigdec" }, 2, out)?,
            0xc4 | 0xc5 | 0xc8 => self.value(out)?,
            0xc6 => self.big_integer(out)?,
            0xb0..=0xb5 => self.array(out)?,
            0xd0..=0xd7 => {
                let bytes = self.bytes(usize::from(code - 0xd0))?;
                hexadecimal(bytes, out);
            }
            0xd8 | 0xd9 => {
                let bytes = self.chunks(code, 0xd8, 0xd9, None)?;
                hexadecimal(&bytes, out);
            }
            0xda..=0xe1 => {
                let bytes = self.bytes(usize::from(code - 0xda))?;
                quote(bytes, out);
            }
            0xe2 | 0xe3 => {
                let bytes = self.chunks(code, 0xe2, 0xe3, Some(0xda))?;
                quote(&bytes, out);
            }
            0xf5 => out.extend_from_slice(b"true"),
            0xf6 => out.extend_from_slice(b"false"),
            0xf7 => out.extend_from_slice(b"nil"),
            0xf9 => {
                let bits = self.raw(4)? as u32;
                float(f64::from(f32::from_bits(bits)), out);
            }
            0xfa => {
                let bits = self.raw(8)?;
                float(f64::from_bits(bits), out);
            }
            0xfb => out.extend_from_slice(b"0.0"),
            0xfc => out.extend_from_slice(b"1.0"),
            0xfe => {
                self.values.clear();
                self.records.clear();
                self.value(out)?;
            }
            0xf1 => {
                // The value, and then what is said about it.
                self.value(out)?;
                self.value(&mut Vec::new())?;
            }
            other => return Err(self.damage(format!("no value begins with the byte {other:#04x}"))),
        }
        Ok(())
    }

    fn cached(&self, place: usize, out: &mut Vec<u8>) -> Result<(), Damage> {
        let text = self.values.get(place).and_then(Option::as_ref);
        out.extend_from_slice(text.ok_or_else(|| self.damage("this names a value that was not there before"))?);
        Ok(())
    }

    fn list(&mut self, length: Length, [open, close]: [&[u8]; 2], out: &mut Vec<u8>) -> Result<(), Damage> {
        out.extend_from_slice(open);
        let mut left = match length {
            Length::Known(count) => count,
            Length::Open => usize::MAX,
        };
        let mut is_first = true;
        while left > 0 && !(length == Length::Open && self.ends()) {
            left -= 1;
            if !std::mem::take(&mut is_first) {
                out.push(b' ');
            }
            self.value(out)?;
        }
        out.extend_from_slice(close);
        Ok(())
    }

    /// A list, with brackets of its own.
    fn sequence(&mut self, brackets: [&[u8]; 2], out: &mut Vec<u8>) -> Result<(), Damage> {
        let code = self.byte()?;
        if let Some(length) = self.length_of_list(code)? {
            return self.list(length, brackets, out);
        }
        if code == 0xf7 {
            out.extend(brackets.concat());
            return Ok(());
        }
        Err(self.damage("a list should be here"))
    }

    /// The fields of a record, as what the record stands for.
    fn fields(&mut self, name: &str, count: usize, out: &mut Vec<u8>) -> Result<(), Damage> {
        match (name, count) {
            ("jepsen.history.Op", 7) => {
                for (at, field) in OPERATION.into_iter().enumerate() {
                    out.extend_from_slice(if at == 0 { b"{:" } else { b", :" });
                    out.extend_from_slice(field.as_bytes());
                    out.push(b' ');
                    self.value(out)?;
                }
                out.push(b'}');
                // What else Jepsen noted about the operation, such as an error.
                self.value(&mut Vec::new())
            }
            ("set" | "persistent-hash-set" | "persistent-sorted-set", 1) => self.sequence([b"#{", b"}"], out),
            ("atom" | "vec" | "byte" | "instant" | "date-time" | "multiset" | "throwable", 1) => self.value(out),
            ("map", 1) => self.sequence([b"{", b"}"], out),
            ("key", 2) => self.name(true, out),
            ("sym", 2) => self.name(false, out),
            _ => {
                // An entry of a map, or a record that we do not know: a vector of its fields.
                self.list(Length::Known(count), [b"[", b"]"], out)
            }
        }
    }

    /// A keyword or a symbol: its namespace and its name.
    fn name(&mut self, is_keyword: bool, out: &mut Vec<u8>) -> Result<(), Damage> {
        let [mut space, mut name] = [Vec::new(), Vec::new()];
        self.value(&mut space)?;
        self.value(&mut name)?;
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"*+!-_?<>=.$%&'#/".contains(byte);
        let word = |text: &[u8]| {
            let inside = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
            (!inside.is_empty() && inside.iter().all(is_part)).then(|| inside.to_vec())
        };
        let Some(word_of_name) = word(&name) else {
            // No keyword of EDN, so a string.
            out.extend_from_slice(&name);
            return Ok(());
        };
        if is_keyword {
            out.push(b':');
        }
        if let Some(space) = word(&space) {
            out.extend_from_slice(&space);
            out.push(b'/');
        }
        out.extend_from_slice(&word_of_name);
        Ok(())
    }

    /// A big integer: its bytes, the highest first, with a sign.
    fn big_integer(&mut self, out: &mut Vec<u8>) -> Result<(), Damage> {
        let code = self.byte()?;
        let bytes = match code {
            0xd0..=0xd7 => self.bytes(usize::from(code - 0xd0))?.to_vec(),
            0xd8 | 0xd9 => self.chunks(code, 0xd8, 0xd9, None)?,
            _ => return Err(self.damage("the bytes of a big integer should be here")),
        };
        if bytes.len() > 16 {
            hexadecimal(&bytes, out);
            return Ok(());
        }
        let sign = if bytes.first().is_some_and(|&byte| byte >= 0x80) { -1 } else { 0 };
        let number = bytes.iter().fold(sign, |number: i128, &byte| number << 8 | i128::from(byte));
        out.extend_from_slice(number.to_string().as_bytes());
        Ok(())
    }

    /// An array: how many values, and the values.
    fn array(&mut self, out: &mut Vec<u8>) -> Result<(), Damage> {
        let count = self.count()?;
        self.list(Length::Known(count), [b"[", b"]"], out)
    }

    /// Bytes in chunks: all but the last begin with `more`, the last with `last`, or with its length added to `short`.
    fn chunks(&mut self, code: u8, more: u8, last: u8, short: Option<u8>) -> Result<Vec<u8>, Damage> {
        let mut all = Vec::new();
        let mut code = code;
        while code == more {
            let count = self.count()?;
            all.extend_from_slice(self.bytes(count)?);
            code = self.byte()?;
        }
        let count = match short {
            _ if code == last => self.count()?,
            Some(short) if (short..short + 8).contains(&code) => usize::from(code - short),
            _ => return Err(self.damage("the next chunk should be here")),
        };
        all.extend_from_slice(self.bytes(count)?);
        Ok(all)
    }
}

/// How long a list is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Length {
    Known(usize),
    /// It ends with a mark, or with the block.
    Open,
}

/// A string of EDN. Fressian writes each half of a pair of surrogates by itself; what is no UTF-8 is replaced.
fn quote(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for character in String::from_utf8_lossy(text).chars() {
        match character {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            other => out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

/// Bytes as a string of hexadecimal digits.
fn hexadecimal(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            out.push(b"0123456789abcdef"[usize::from(digit)]);
        }
    }
    out.push(b'"');
}

/// A number of EDN; a string if it is not finite.
fn float(number: f64, out: &mut Vec<u8>) {
    let text = if number.is_finite() { format!("{number:?}") } else { format!("\"{number}\"") };
    out.extend_from_slice(text.as_bytes());
}
