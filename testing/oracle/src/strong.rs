//! SC, TSO, PSO, coherence and their weak forms: sections 3 and 4 of the specification.

use history::MemoryOrder;
use history::execution::Kind;

use crate::causal::happens_before;
use crate::graph::Graph;
use crate::relation::Relation;

/// A store order exists with `po u rf u ww u rw[ww]` acyclic.
pub(crate) fn sc(g: &Graph) -> bool {
    g.some_store_order(|ww| (&g.po | &g.rf | ww | &g.rw(ww)).is_acyclic())
}

/// The least `st`, `hb` with `st = (hb_WW u cf[hb])+`, `hb = (po u rf u st u rw[st])+` has `hb` acyclic.
pub(crate) fn wsc(g: &Graph) -> bool {
    saturates(g, &[&g.po | &g.rf])
}

/// A store order exists with `po-loc u rf u ww u rw[ww]` and `ppo u rfe u ww u rw[ww]` acyclic.
pub(crate) fn tso(g: &Graph) -> bool {
    buffered(g, &ppo_tso(g))
}

/// As [`tso`], with the `ppo` of PSO.
pub(crate) fn pso(g: &Graph) -> bool {
    buffered(g, &ppo_pso(g))
}

/// The saturation of `wsc`, carried over to TSO: one `st` for both bases.
pub(crate) fn wtso(g: &Graph) -> bool {
    saturates(g, &[&po_loc(g) | &g.rf, &ppo_tso(g) | &rfe(g)])
}

/// As [`wtso`], with the `ppo` of PSO.
pub(crate) fn wpso(g: &Graph) -> bool {
    saturates(g, &[&po_loc(g) | &g.rf, &ppo_pso(g) | &rfe(g)])
}

/// A store order exists with `po-loc u rf u ww u rw[ww]` acyclic.
pub(crate) fn coherence(g: &Graph) -> bool {
    let base = &po_loc(g) | &g.rf;
    g.some_store_order(|ww| (&base | ww | &g.rw(ww)).is_acyclic())
}

/// Section 4.1 of GCC: `ppo u rfe u wpww u rw[wpww]` and `po-loc u rf u wpww u rw[wpww]` are acyclic, where `wpww =
/// (whb_WW u cf[hb^po-loc] u cf[hb^ppo])+`, `whb = (hb^ppo u hb^po-loc)+`, and `hb^p = (union of hb_o^p)+` is made as
/// `hb` is, of `p` and `(p u rfe)+` in place of `po` and `co`.
pub(crate) fn wccm(g: &Graph) -> bool {
    let rfe = rfe(g);
    let (ppo, po_loc) = (ppo_tso(g), po_loc(g));
    let hb = |p: &Relation| happens_before(g, &(p | &rfe).closure(), p).closure();
    let (hb_ppo, hb_po_loc) = (hb(&ppo), hb(&po_loc));
    let whb = (&hb_ppo | &hb_po_loc).closure();
    let wpww = (g.ww(&whb) | &g.cf(&hb_po_loc) | &g.cf(&hb_ppo)).closure();
    [&ppo | &rfe, &po_loc | &g.rf].iter().all(|base| (base | &wpww | &g.rw(&wpww)).is_acyclic())
}

/// A store order exists that is acyclic with `po-loc u rf` and with `ppo u rfe`.
fn buffered(g: &Graph, ppo: &Relation) -> bool {
    let bases = [&po_loc(g) | &g.rf, ppo | &rfe(g)];
    g.some_store_order(|ww| bases.iter().all(|base| (base | ww | &g.rw(ww)).is_acyclic()))
}

/// Every `hb_B = (B u st u rw[st])+` is acyclic, where `st` is the least relation that has the known pairs and, for
/// every base B, both `hb_B_WW` and `cf[hb_B]`.
fn saturates(g: &Graph, bases: &[Relation]) -> bool {
    let mut st = g.known.clone();
    loop {
        let hb: Vec<Relation> = bases.iter().map(|base| (base | &st | &g.rw(&st)).closure()).collect();
        let next = hb.iter().fold(st.clone(), |st, hb| st | &g.ww(hb) | &g.cf(hb)).closure();
        if next == st {
            return hb.iter().all(Relation::is_irreflexive);
        }
        st = next;
    }
}

/// `rf` between different threads. An initial write is in none.
fn rfe(g: &Graph) -> Relation {
    g.rf.filter(|w, r| g.nodes[w].thread != g.nodes[r].thread)
}

/// `po` on one location.
fn po_loc(g: &Graph) -> Relation {
    g.po.filter(|a, b| g.same_location(a, b))
}

/// `po` without the pairs (pure write, pure read), and without the fences that are not full. An initial write was
/// in memory before anything was buffered, so it keeps its order.
fn ppo_tso(g: &Graph) -> Relation {
    let kind = |a: usize| g.nodes[a].kind;
    let orders_nothing = |a: usize| {
        kind(a) == Kind::Fence && !matches!(g.nodes[a].order, MemoryOrder::Plain | MemoryOrder::SequentiallyConsistent)
    };
    g.po.filter(|a, b| {
        let delayed = kind(a) == Kind::Write && kind(b) == Kind::Read && !g.is_initial(a);
        !delayed && !orders_nothing(a) && !orders_nothing(b)
    })
}

/// [`ppo_tso`] also without the pairs (pure write, write or rmw) of different locations.
fn ppo_pso(g: &Graph) -> Relation {
    ppo_tso(g).filter(|a, b| {
        let delayed = g.nodes[a].kind == Kind::Write && g.nodes[b].kind.writes() && !g.is_initial(a);
        !delayed || g.same_location(a, b)
    })
}
