//! `cc`, `ccv` and `ccm` as section 3 of GCC defines them, by least fixed points over relations. (The paper writes them
//! as Datalog rules.)
//!
//! The definitions are those of `docs/models.md`, so the errata of the paper are mended: the writes of a conflict are
//! different, and `cc` forbids only w co w' co r.

use model::{Budget, GaveUp};

use super::Relation;
use super::accesses::Accesses;

/// `co = (po u rf)+`, if it is acyclic.
pub(super) fn causality(accesses: &Accesses<'_>) -> Option<Relation> {
    let mut co = Relation::new(accesses.execution.len());
    accesses.add_program_order(&mut co);
    accesses.add_reads_from(&mut co).then_some(co)
}

/// `cc`: no read r of w has a write w' with w co w' co r.
pub(super) fn cc(accesses: &Accesses<'_>, co: &Relation) -> bool {
    accesses.reads.iter().all(|it| {
        let is_before = |write: u32| it.source.is_none_or(|source| co.has(source, write));
        accesses.others(it).all(|write| !(co.has(write, it.event) && is_before(write)))
    })
}

/// `ccv`, for an execution in which `cc` holds: `po u rf u cf[co]` is acyclic.
pub(super) fn ccv(accesses: &Accesses<'_>, co: &Relation) -> bool {
    let mut order = co.clone();
    accesses.reads.iter().all(|it| match it.source {
        None => true,
        Some(source) => accesses.others(it).all(|write| !co.has(write, it.event) || order.insert(write, source)),
    })
}

/// `hb_o` of the last event o of a thread: `co`, and (w', w) whenever w' is before a read r of w of that thread. `None`
/// if it is cyclic. Events outside of the past of o do no harm: they are before nothing in it.
pub(super) fn view(
    accesses: &Accesses<'_>,
    co: &Relation,
    is_own: impl Fn(u32) -> bool,
    budget: &Budget,
) -> Result<Option<Relation>, GaveUp> {
    let mut hb = co.clone();
    loop {
        budget.check()?;
        let mut is_changed = false;
        for it in accesses.reads.iter().filter(|it| is_own(it.event)) {
            for write in accesses.others(it) {
                if !hb.has(write, it.event) {
                    continue;
                }
                let Some(source) = it.source else { return Ok(None) };
                if !hb.has(write, source) {
                    is_changed = true;
                    if !hb.insert(write, source) {
                        return Ok(None);
                    }
                }
            }
        }
        if !is_changed {
            return Ok(Some(hb));
        }
    }
}

/// `cf[hb]`: adds the pairs (w', w) with w' before a read of w. The answer is whether no read of an initial value has
/// such a write.
pub(super) fn add_conflicts(accesses: &Accesses<'_>, hb: &Relation, relation: &mut Relation) -> bool {
    for it in &accesses.reads {
        for write in accesses.others(it).filter(|&write| hb.has(write, it.event)) {
            let Some(source) = it.source else { return false };
            relation.set(write, source);
        }
    }
    true
}

/// What `ccm` computes.
pub struct Convergent {
    /// `pww`, the partial store order.
    pub store_order: Relation,
    /// `(po u rf u pww u rw[pww])+`, which is acyclic.
    pub order: Relation,
}

/// `ccm`: `po u rf u pww u rw[pww]` is acyclic, `pww = (hb_WW u cf[hb])+`. `None` if it is violated.
pub(super) fn ccm(accesses: &Accesses<'_>, co: &Relation, budget: &Budget) -> Result<Option<Convergent>, GaveUp> {
    let execution = accesses.execution;
    let mut hb = co.clone();
    for thread in execution.starts().windows(2) {
        let Some(view) = view(accesses, co, |read| (thread[0]..thread[1]).contains(&read), budget)? else {
            return Ok(None);
        };
        hb.join(&view);
    }
    if !hb.close(budget)? {
        return Ok(None);
    }
    let mut store_order = Relation::new(execution.len());
    for (a, b) in accesses.pairs().filter(|&(a, b)| hb.has(a, b)) {
        store_order.set(a, b);
    }
    if !add_conflicts(accesses, &hb, &mut store_order) || !store_order.close(budget)? {
        return Ok(None);
    }
    let mut order = co.clone();
    order.join(&store_order);
    accesses.add_read_write(&store_order, &mut order);
    Ok(order.close(budget)?.then_some(Convergent { store_order, order }))
}
