//! Why an event is before another in a saturated order: the cheapest path of hops that justifies it.
//!
//! A hop is along a chain, along the base (edges that hold from the start, which only the user knows), or a derived
//! edge of the order. What a hop is called is up to the user ([`Hops`]). Paths are not stored. The search goes
//! backwards from the end and stays between the two ends. Clocks only grow, so an event that is not after the begin now
//! was not after it when an edge was derived.

use rustc_hash::FxHashMap;

use crate::lanes::Lane;
use crate::{Saturation, ZeroOneQueue};

/// How the hops of a path are named, and the base.
pub trait Hops {
    /// A hop.
    type Hop: Copy;

    /// The hop along a chain.
    fn chain(&self, from: u32, to: u32) -> Self::Hop;

    /// The derived edge of that number.
    fn derived(&self, number: u32) -> Self::Hop;

    /// Hands to `reach` each base predecessor of an event outside its chain, with its hop and whether that is free.
    fn base(&self, event: u32, reach: impl FnMut(u32, Self::Hop, bool));

    /// Appends a hop to a path. Two hops may become one.
    fn append(&self, path: &mut Vec<Self::Hop>, hop: Self::Hop);
}

/// A path from one event to another over derived edges of numbers below `limit`. Of all such paths, it has the fewest
/// hops that are not free; derived edges of numbers below `known` are free. There must be a path.
pub fn cheapest_path<H: Hops, L: Lane>(
    order: &Saturation<L>,
    hops: &H,
    (from, to): (u32, u32),
    limit: u32,
    known: u32,
) -> Vec<H::Hop> {
    let chain = order.chain(from);
    // By event that was reached: the next event of the path, and the hop to it.
    let mut onward: FxHashMap<u32, (u32, H::Hop)> = FxHashMap::default();
    let mut costs: FxHashMap<u32, u32> = FxHashMap::default();
    let mut nearest = ZeroOneQueue::new((to, 0u32));
    costs.insert(to, 0);
    let mut found = from == to;
    while !found && let Some((event, cost)) = nearest.take() {
        if costs[&event] < cost {
            continue;
        }
        // On a cycle, the search may meet an event that is after `from` in the order, but before it in its chain.
        if order.chain(event) == chain && event >= from {
            if event != from {
                onward.insert(from, (event, hops.chain(from, event)));
            }
            found = true;
            break;
        }
        let mut reach = |at: u32, hop: H::Hop, free: bool| {
            if !order.before(from, at) {
                return;
            }
            let cost = cost + u32::from(!free);
            if costs.get(&at).is_none_or(|&known| known > cost) {
                costs.insert(at, cost);
                onward.insert(at, (event, hop));
                nearest.add((at, cost), free);
            }
        };
        if event > order.start(order.chain(event)) {
            reach(event - 1, hops.chain(event - 1, event), true);
        }
        hops.base(event, &mut reach);
        for number in order.edges_in(event).filter(|&number| number < limit) {
            reach(order.edge(number).from, hops.derived(number), number < known);
        }
    }
    debug_assert!(found, "every entry of a clock is justified by edges");
    let mut path = Vec::new();
    let mut at = from;
    while at != to
        && let Some(&(next, hop)) = onward.get(&at)
    {
        hops.append(&mut path, hop);
        at = next;
    }
    path
}
