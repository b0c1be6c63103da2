//! `wsc` as section 3 of wSC defines it: the least `st` and `hb`, by a fixed point over relations.

use model::{Budget, GaveUp};

use super::Relation;
use super::accesses::Accesses;

/// `hb` of `wsc`, which has `st` between writes of one location. `None` if it is cyclic.
pub(super) fn saturate(accesses: &Accesses<'_>, budget: &Budget) -> Result<Option<Relation>, GaveUp> {
    let Some(mut hb) = start(accesses) else { return Ok(None) };
    Ok(close(&mut hb, accesses, budget)?.then_some(hb))
}

/// `(po u rf)+`. `None` if it is cyclic.
pub(super) fn start(accesses: &Accesses<'_>) -> Option<Relation> {
    let mut hb = Relation::new(accesses.execution.len());
    accesses.add_program_order(&mut hb);
    accesses.add_reads_from(&mut hb).then_some(hb)
}

/// Adds what the two rules derive to a transitive relation. The answer is whether it has no cycle.
pub(super) fn close(hb: &mut Relation, accesses: &Accesses<'_>, budget: &Budget) -> Result<bool, GaveUp> {
    loop {
        budget.check()?;
        let mut is_changed = false;
        for it in &accesses.reads {
            for write in accesses.others(it) {
                // (a) A write that is before the read is before its source.
                if let Some(source) = it.source
                    && hb.has(write, it.event)
                    && !hb.has(write, source)
                {
                    is_changed = true;
                    if !hb.insert(write, source) {
                        return Ok(false);
                    }
                }
                // (b) A write that is after the source is after the read.
                if it.source.is_none_or(|source| hb.has(source, write)) && !hb.has(it.event, write) {
                    is_changed = true;
                    if !hb.insert(it.event, write) {
                        return Ok(false);
                    }
                }
            }
        }
        if !is_changed {
            return Ok(true);
        }
    }
}
