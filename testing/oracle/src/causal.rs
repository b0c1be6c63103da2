//! The causal family: section 2 of the specification, `co = (po u rf)+`.

use crate::graph::Graph;
use crate::relation::Relation;

fn co(g: &Graph) -> Relation {
    (&g.po | &g.rf).closure()
}

/// `co` is acyclic, and no read r of w has a write w' with w co w' co r.
pub(crate) fn cc(g: &Graph) -> bool {
    let co = co(g);
    co.is_irreflexive() && g.no_overwritten_read(&co)
}

/// `cc`, and `po u rf u cf[co]`, with the known pairs of writes, is acyclic.
pub(crate) fn ccv(g: &Graph) -> bool {
    cc(g) && (&g.po | &g.rf | &g.cf(&co(g)) | &g.known).is_acyclic()
}

/// `cc`, and for each event o the relation `hb_o` is acyclic.
pub(crate) fn cm(g: &Graph) -> bool {
    cc(g) && g.all().all(|o| local_happens_before(g, &co(g), &g.po, o).is_irreflexive())
}

/// `po u rf u pww u rw[pww]` is acyclic, `pww = (hb_WW u cf[hb])+`, `hb = (union of hb_o)+`.
pub(crate) fn ccm(g: &Graph) -> bool {
    let hb = happens_before(g, &co(g), &g.po).closure();
    let pww = (&g.ww(&hb) | &g.cf(&hb)).closure();
    (&g.po | &g.rf | &pww | &g.rw(&pww)).is_acyclic()
}

/// The union of `hb_o` over all events o.
pub(crate) fn happens_before(g: &Graph, co: &Relation, po: &Relation) -> Relation {
    g.all().fold(Relation::empty(g.size()), |hb, o| hb | &local_happens_before(g, co, po, o))
}

/// `hb_o`, the smallest transitive relation such that
/// 1. `o1 hb_o o2` if `o1 co o2`, `o1 co o` and `o2 co* o`;
/// 2. `w1 hb_o w2` for distinct writes to one location if `w1 hb_o r`, w1 != r, r reads w2 and `r po* o`.
pub(crate) fn local_happens_before(g: &Graph, co: &Relation, po: &Relation, o: usize) -> Relation {
    let mut hb = co.filter(|o1, o2| co.has(o1, o) && (o2 == o || co.has(o2, o)));
    loop {
        let mut next = hb.closure();
        for (r, w2) in g.reads() {
            for w1 in g.all() {
                if next.has(w1, r) && w1 != r && g.rivals(w1, w2) && (r == o || po.has(r, o)) {
                    next.insert(w1, w2);
                }
            }
        }
        if next == hb {
            return hb;
        }
        hb = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification says that `hb_o` grows along `po`, so that the last event of each thread suffices for `cm`.
    #[test]
    fn local_happens_before_grows_along_program_order() {
        for execution in workload::small::executions(11).take(workload::cases(1000) as usize) {
            let g = Graph::new(&execution).unwrap();
            let co = co(&g);
            if !co.is_irreflexive() {
                continue;
            }
            for o in g.all().skip(1).filter(|&o| g.po.has(o - 1, o)) {
                let (before, after) =
                    (local_happens_before(&g, &co, &g.po, o - 1), local_happens_before(&g, &co, &g.po, o));
                assert_eq!(&before | &after, after);
            }
        }
    }
}
