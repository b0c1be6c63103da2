//! The strong components of a graph: two vertices are in one component if each leads to the other. So an edge is on a
//! cycle exactly if it stays within a component.
//!
//! This is Tarjan's algorithm without recursion. Vertices are numbered as they are reached. A vertex is *open* until
//! its component is known. Invariant: for each open vertex, `lowest` is the number of an open vertex that it leads to.
//! When nothing is left to look at from a vertex and `lowest` is its own number, it and the open vertices that were
//! reached after it are a component.

/// No component yet.
const OPEN: u32 = u32::MAX;

/// The number of the component of each vertex. A component has a smaller number than those that lead to it.
/// `successor(vertex, at)` is the successor of a vertex at that place, if it has so many.
///
/// ```
/// let edges: [&[u32]; 3] = [&[1], &[0, 2], &[]];
/// let components = order::strong_components(3, |vertex, at| edges[vertex as usize].get(at).copied());
/// assert_eq!(components, [1, 1, 0]);
/// ```
pub fn strong_components(count: usize, successor: impl Fn(u32, usize) -> Option<u32>) -> Vec<u32> {
    let mut components = vec![OPEN; count];
    // By vertex: 0 until it is reached.
    let mut lowest = vec![0_u32; count];
    let (mut reached, mut found, mut open) = (0, 0, Vec::new());
    // The way to the vertex that is looked at: each vertex with its number, and the place of its next successor.
    let mut way: Vec<(u32, u32, usize)> = Vec::new();
    for root in 0..count as u32 {
        if lowest[root as usize] == 0 {
            way.push((root, 0, 0));
        }
        while let Some((vertex, number, next)) = way.last_mut() {
            let (vertex, at) = (*vertex, *vertex as usize);
            if lowest[at] == 0 {
                reached += 1;
                (*number, lowest[at]) = (reached, reached);
                open.push(vertex);
            }
            if let Some(to) = successor(vertex, *next) {
                *next += 1;
                if lowest[to as usize] == 0 {
                    way.push((to, 0, 0));
                } else if components[to as usize] == OPEN {
                    lowest[at] = lowest[at].min(lowest[to as usize]);
                }
                continue;
            }
            if lowest[at] == *number {
                while let Some(last) = open.pop() {
                    components[last as usize] = found;
                    if last == vertex {
                        break;
                    }
                }
                found += 1;
            }
            way.pop();
            if let Some(&(before, ..)) = way.last() {
                lowest[before as usize] = lowest[before as usize].min(lowest[at]);
            }
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use super::strong_components;

    /// Numbers that look random.
    fn below(state: &mut u64, bound: usize) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((*state >> 33) as usize * bound) >> 31
    }

    #[test]
    fn components_are_what_reaches_each_other() {
        let (mut state, mut cycles) = (5, 0);
        for _ in 0..2000 {
            let count = 1 + below(&mut state, 9);
            let mut successors = vec![Vec::new(); count];
            let mut reaches = vec![vec![false; count]; count];
            for _ in 0..below(&mut state, 2 * count) {
                let [from, to] = [0; 2].map(|_| below(&mut state, count));
                successors[from].push(to as u32);
                reaches[from][to] = true;
            }
            for through in 0..count {
                for from in 0..count {
                    for to in 0..count {
                        reaches[from][to] |= reaches[from][through] && reaches[through][to];
                    }
                }
            }
            let components = strong_components(count, |vertex, at| successors[vertex as usize].get(at).copied());
            for from in 0..count {
                for to in 0..count {
                    let is_one = from == to || reaches[from][to] && reaches[to][from];
                    assert_eq!(components[from] == components[to], is_one);
                    assert!(!reaches[from][to] || components[to] <= components[from], "what is led to comes first");
                    cycles += u32::from(is_one && from != to);
                }
            }
        }
        assert!(cycles > 2000, "{cycles}");
    }
}
