//! `wccm` as section 4.1 of GCC defines it, with the errata mended (conflicts, and the condition of `po-loc`, are over
//! the whole `rf`), and `wpww`, the partial store order that Algorithm 2 completes.

use memory::research::Relaxation;
use model::{Budget, GaveUp};

use super::Relation;
use super::accesses::Accesses;
use super::causal::{add_conflicts, view};

/// `ppo` (with `is_preserved`) or `po-loc`, and `rfe` or the whole `rf`.
fn base(accesses: &Accesses<'_>, is_preserved: bool, is_whole: bool) -> Relation {
    let execution = accesses.execution;
    let events = execution.events();
    let mut relation = Relation::new(execution.len());
    for thread in execution.starts().windows(2) {
        for second in thread[0]..thread[1] {
            for first in thread[0]..second {
                let (a, b) = (&events[first as usize], &events[second as usize]);
                let is_kept = if is_preserved {
                    Relaxation::WriteRead.keeps(a, b)
                } else {
                    a.location == b.location && [a, b].iter().all(|it| it.kind.reads() || it.kind.writes())
                };
                if is_kept {
                    relation.set(first, second);
                }
            }
        }
    }
    for it in &accesses.reads {
        if let Some(source) = it.source.filter(|&source| is_whole || !accesses.same_thread(source, it.event)) {
            relation.set(source, it.event);
        }
    }
    relation
}

/// `wpww`, or `None` if `wccm` is violated.
pub(super) fn wccm(accesses: &Accesses<'_>, budget: &Budget) -> Result<Option<Relation>, GaveUp> {
    let execution = accesses.execution;
    let mut store_order = Relation::new(execution.len());
    let mut whb = Relation::new(execution.len());
    for is_preserved in [true, false] {
        let mut co = base(accesses, is_preserved, false);
        if !co.close(budget)? {
            return Ok(None);
        }
        let mut hb = co.clone();
        // All reads of a thread at once find what each `hb_o` of the thread finds.
        for thread in execution.starts().windows(2) {
            let Some(view) = view(accesses, &co, |read| (thread[0]..thread[1]).contains(&read), budget)? else {
                return Ok(None);
            };
            hb.join(&view);
        }
        if !hb.close(budget)? || !add_conflicts(accesses, &hb, &mut store_order) {
            return Ok(None);
        }
        whb.join(&hb);
    }
    if !whb.close(budget)? {
        return Ok(None);
    }
    for (a, b) in accesses.pairs().filter(|&(a, b)| whb.has(a, b)) {
        store_order.set(a, b);
    }
    if !store_order.close(budget)? {
        return Ok(None);
    }
    for (is_preserved, is_whole) in [(true, false), (false, true)] {
        let mut order = base(accesses, is_preserved, is_whole);
        order.join(&store_order);
        accesses.add_read_write(&store_order, &mut order);
        if !order.close(budget)? {
            return Ok(None);
        }
    }
    Ok(Some(store_order))
}
