//! The C11 family: section 6 of the specification, which has the axioms of Figure 2 of RF.
//!
//! The short names of the axioms are those of RF: PO-RF asks for `po u rf` to be acyclic, Wcoh is write coherence, and
//! Rcoh is read coherence.

use history::MemoryOrder;
use history::execution::Kind;

use crate::graph::Graph;
use crate::relation::Relation;

/// Every access is release and acquire.
pub(crate) fn ra(g: &Graph) -> bool {
    po_rf(g) && coherent(g, &causal(g))
}

/// No access is release or acquire.
pub(crate) fn relaxed(g: &Graph) -> bool {
    po_rf(g) && coherent(g, &g.po)
}

/// The memory orders count as written.
pub(crate) fn rc20(g: &Graph) -> bool {
    po_rf(g) && coherent(g, &(&g.po | &synchronizes_with(g)).closure())
}

/// `rc20`, where sequentially consistent events also acquire and release, and `psc` is acyclic for the same `mo`:
/// section 5 of the specification of exploration.
pub(crate) fn c20(g: &Graph) -> bool {
    sequential(g, &(&g.po | &synchronizes_with(g)).closure())
}

/// `c20` with the release sequences of RC11: `[E>=REL];([F];po)?;[W];(po|loc)?;[W];rf+;(po;[F])?;[E>=ACQ]`.
pub(crate) fn rc11(g: &Graph) -> bool {
    let writes = |a: usize| matches!(g.nodes[a].kind, Kind::Write | Kind::Rmw);
    let later = g.po.filter(|a, b| !g.is_initial(a) && writes(a) && writes(b) && g.same_location(a, b));
    sequential(g, &(&g.po | &synchronizes_through(g, &later.or_same())).closure())
}

fn sequential(g: &Graph, hb: &Relation) -> bool {
    po_rf(g)
        && g.some_store_order(|mo| {
            let is_coherent = write_coherence(g, mo, hb) && read_coherence(g, mo, hb) && atomicity(g, mo);
            is_coherent && psc(g, mo, hb).is_acyclic()
        })
}

/// `psc = ([SC] u [Fsc];hb?) ; scb ; ([SC] u hb?;[Fsc]) u [Fsc] ; (hb u hb;eco;hb) ; [Fsc]`, where `scb = po u
/// po!=;hb;po!= u hb|loc u mo u fr` and `eco = (rf u mo u fr)+`.
fn psc(g: &Graph, mo: &Relation, hb: &Relation) -> Relation {
    let is_sc = |a: usize| g.nodes[a].order == MemoryOrder::SequentiallyConsistent;
    let sc = Relation::of(g.size(), |a, b| a == b && is_sc(a));
    let fences = sc.filter(|a, _| g.is_fence(a));
    let same = |a: usize, b: usize| !g.is_fence(a) && !g.is_fence(b) && g.same_location(a, b);
    // The initial writes are before all events: none of these edges begins there.
    let po = g.po.filter(|a, _| !g.is_initial(a));
    let hb = hb.filter(|a, _| !g.is_initial(a));
    let other = po.filter(|a, b| !same(a, b));
    let fr = fr(g, mo);
    let eco = (&g.rf | mo | &fr).closure();
    let scb = &po | &other.then(&hb).then(&other) | &hb.filter(same) | mo | &fr;
    let from = &sc | &fences.then(&hb.or_same());
    let into = &sc | &hb.or_same().then(&fences);
    let through = &hb | &hb.then(&eco).then(&hb);
    &from.then(&scb).then(&into) | &fences.then(&through).then(&fences)
}

/// PO-RF, `hb u mo` is acyclic, Rcoh, and atomicity.
pub(crate) fn sra(g: &Graph) -> bool {
    let hb = causal(g);
    po_rf(g) && g.some_store_order(|mo| (&hb | mo).is_acyclic() && read_coherence(g, mo, &hb) && atomicity(g, mo))
}

/// PO-RF, there is no w' with w hb w' hb r for a read r of w, and no two rmws read one write.
pub(crate) fn wra(g: &Graph) -> bool {
    let rmw = |node: usize| g.nodes[node].kind == Kind::Rmw;
    let shared = |(u1, w1), (u2, w2)| u1 != u2 && rmw(u1) && rmw(u2) && w1 == w2;
    po_rf(g) && g.no_overwritten_read(&causal(g)) && !g.reads().any(|a| g.reads().any(|b| shared(a, b)))
}

fn causal(g: &Graph) -> Relation {
    (&g.po | &g.rf).closure()
}

/// `po u rf` is acyclic.
fn po_rf(g: &Graph) -> bool {
    (&g.po | &g.rf).is_acyclic()
}

/// Some `mo` satisfies Wcoh, Rcoh and atomicity.
fn coherent(g: &Graph, hb: &Relation) -> bool {
    g.some_store_order(|mo| write_coherence(g, mo, hb) && read_coherence(g, mo, hb) && atomicity(g, mo))
}

/// Wcoh: `mo;rf?;hb?` is irreflexive.
fn write_coherence(g: &Graph, mo: &Relation, hb: &Relation) -> bool {
    mo.then(&g.rf.or_same()).then(&hb.or_same()).is_irreflexive()
}

/// Rcoh: `fr;rf?;hb` is irreflexive.
fn read_coherence(g: &Graph, mo: &Relation, hb: &Relation) -> bool {
    fr(g, mo).then(&g.rf.or_same()).then(hb).is_irreflexive()
}

/// `fr;mo` is irreflexive.
fn atomicity(g: &Graph, mo: &Relation) -> bool {
    fr(g, mo).then(mo).is_irreflexive()
}

/// `fr = (rf^-1;mo) \ id`.
fn fr(g: &Graph, mo: &Relation) -> Relation {
    g.rf.inverse().then(mo).filter(|a, b| a != b)
}

/// `sw = [E>=REL];([F];po)?;rf+;(po;[F])?;[E>=ACQ]`.
fn synchronizes_with(g: &Graph) -> Relation {
    synchronizes_through(g, &Relation::of(g.size(), |a, b| a == b))
}

/// The same, where release sequences begin with `later`.
fn synchronizes_through(g: &Graph, later: &Relation) -> Relation {
    let release = Relation::of(g.size(), |a, b| a == b && is_release(g, a));
    let acquire = Relation::of(g.size(), |a, b| a == b && is_acquire(g, a));
    let after_fence = g.po.filter(|f, _| g.is_fence(f)).or_same();
    let before_fence = g.po.filter(|_, f| g.is_fence(f)).or_same();
    release.then(&after_fence).then(later).then(&g.rf.closure()).then(&before_fence).then(&acquire)
}

fn is_release(g: &Graph, node: usize) -> bool {
    match g.nodes[node].order {
        MemoryOrder::Release | MemoryOrder::AcquireRelease | MemoryOrder::SequentiallyConsistent => true,
        MemoryOrder::Plain => g.is_fence(node),
        _ => false,
    }
}

fn is_acquire(g: &Graph, node: usize) -> bool {
    match g.nodes[node].order {
        MemoryOrder::Acquire | MemoryOrder::AcquireRelease | MemoryOrder::SequentiallyConsistent => true,
        MemoryOrder::Plain => g.is_fence(node),
        _ => false,
    }
}
