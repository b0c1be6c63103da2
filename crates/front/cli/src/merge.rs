//! `seriatim merge`: puts the shards of a corpus together.
//!
//! The states of the shards have all that one run over the whole corpus would print, so they are printed in the order
//! of the corpus. Before anything is printed, they must be shown to be whole: each shard once, each finished, all of
//! the same run.

use std::path::Path;

use crate::BAD;
use crate::check::corpus::Shard;
use crate::check::printer::Printer;
use crate::check::state::{End, Header, Recorded};
use crate::flags::Merge;
use crate::output;
use crate::progress::Progress;

/// The state of a shard.
struct ShardPart<'a> {
    path: &'a Path,
    header: Header,
    recorded: Recorded,
    /// How many of its inputs were printed.
    told: usize,
}

pub(crate) fn run(flags: &Merge) -> u8 {
    let mut parts = Vec::new();
    for path in &flags.files {
        match part(path) {
            Ok(part) => parts.push(part),
            Err(complaint) => {
                output::complain(path, complaint);
                return BAD;
            }
        }
    }
    if let Err((path, complaint)) = examine(&parts) {
        output::complain(path, complaint);
        return BAD;
    }
    print(&mut parts)
}

/// Reads a state that must be finished.
fn part(path: &Path) -> Result<ShardPart<'_>, String> {
    let (header, recorded, _) = Recorded::load(path).map_err(|error| error.to_string())?;
    let header = header.ok_or("this state is empty: its run has not begun")?;
    header.shard.to_string().parse::<Shard>()?;
    let Some(End { told, stopped }) = recorded.end else {
        return Err(format!("shard {} is not finished: run it again with the same flags", header.shard));
    };
    let counts = |place| stopped.is_none_or(|last| place <= last);
    let count = recorded.places().iter().filter(|&&(place, _)| counts(place)).count();
    if count as u64 != told {
        return Err(format!("shard {} has {count} inputs of {told}: it is damaged", header.shard));
    }
    Ok(ShardPart { path, header, recorded, told: 0 })
}

/// Whether these are all shards of one run.
fn examine<'a>(parts: &[ShardPart<'a>]) -> Result<(), (&'a Path, String)> {
    let Some(first) = parts.first() else { return Ok(()) };
    let of = first.header.shard.of;
    for (at, part) in parts.iter().enumerate() {
        let shard = part.header.shard;
        let difference = part.header.difference(&first.header);
        let of_another = (shard.of != of).then(|| format!("as one of {} shards and not of {of}", shard.of));
        if let Some(difference) = difference.or(of_another) {
            return Err((part.path, format!("this was made {difference}, unlike {}", output::shown(first.path))));
        }
        if let Some(same) = parts[..at].iter().find(|other| other.header.shard == shard) {
            return Err((part.path, format!("shard {shard} is given twice, here and in {}", output::shown(same.path))));
        }
    }
    // The parts are different shards, so one of the first numbers is missing if any is.
    let is_there = |number: u32| parts.iter().any(|part| part.header.shard.number == number);
    let first_missing = (1..=of).find(|&number| !is_there(number));
    match (first_missing, of as usize - parts.len()) {
        (None, _) => Ok(()),
        (Some(number), 1) => Err((first.path, format!("shard {number}/{of} is missing"))),
        (Some(number), all) => Err((first.path, format!("shard {number}/{of} and {} more are missing", all - 1))),
    }
}

/// Prints all inputs in the order of the corpus. Returns the exit status.
fn print(parts: &mut [ShardPart<'_>]) -> u8 {
    let progress = Progress::none();
    let has = |flag| parts.first().is_some_and(|part| part.header.has(flag));
    let mut printer = Printer::new("merge", &progress, [has("--quiet"), has("--first"), has("--smallest")]);
    loop {
        let next = |part: &ShardPart<'_>| part.recorded.places().get(part.told).copied();
        let first = parts.iter_mut().filter_map(|part| Some((next(part)?, part))).min_by_key(|((place, _), _)| *place);
        let Some(((_, offset), part)) = first else { break };
        part.told += 1;
        let told = match part.recorded.read(offset) {
            Ok(told) => told,
            Err(error) => {
                output::complain(part.path, error);
                return BAD;
            }
        };
        if printer.print(told, true).is_break() {
            break;
        }
    }
    printer.finish()
}
