//! The names of the variables of a program: its symbol table.

use std::path::Path;

/// The variables: their offsets, sizes and names, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables(Vec<(usize, usize, String)>);

const SYMBOL_TABLE: u32 = 2;
const IS_OBJECT: u8 = 1;

fn word(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let mut word = [0; 8];
    word[..size].copy_from_slice(bytes.get(at..at.checked_add(size)?)?);
    usize::try_from(u64::from_le_bytes(word)).ok()
}

impl Variables {
    /// The variables of a program. There are none if the file is not as it should be.
    pub(crate) fn read(program: &Path) -> Self {
        let bytes = std::fs::read(program).unwrap_or_default();
        let mut all = find(&bytes).unwrap_or_default();
        all.sort();
        Self(all)
    }

    /// The variable at an offset, and the bytes before it in the variable.
    pub(crate) fn at(&self, offset: usize) -> Option<(&str, usize)> {
        let next = self.0.partition_point(|(start, ..)| *start <= offset);
        let (start, size, name) = &self.0[next.checked_sub(1)?];
        (offset < start + (*size).max(1)).then_some((name, offset - start))
    }
}

fn find(bytes: &[u8]) -> Option<Vec<(usize, usize, String)>> {
    let (headers, size, count) = (word(bytes, 40, 8)?, word(bytes, 58, 2)?, word(bytes, 60, 2)?);
    let header = |number: usize| headers + number * size;
    let table = (0..count).map(header).find(|&at| word(bytes, at + 4, 4) == Some(SYMBOL_TABLE as usize))?;
    let texts = word(bytes, header(word(bytes, table + 40, 4)?) + 24, 8)?;
    let (start, length) = (word(bytes, table + 24, 8)?, word(bytes, table + 32, 8)?);
    let symbol = |at: usize| {
        let is_object = bytes.get(at + 4)? & 15 == IS_OBJECT;
        let name = bytes.get(texts + word(bytes, at, 4)?..)?;
        let name = &name[..name.iter().position(|&byte| byte == 0)?];
        let variable = (word(bytes, at + 8, 8)?, word(bytes, at + 16, 8)?, String::from_utf8_lossy(name).into_owned());
        is_object.then_some(variable)
    };
    Some((start..start.checked_add(length)?).step_by(24).filter_map(symbol).collect())
}
