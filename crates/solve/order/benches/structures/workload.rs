//! Edges as saturation derives them: between chains, about in the order of execution, and to recent events.

/// Chains of the same length, and edges between them. With each edge stands the number of events that have entered
/// before it.
pub struct Workload {
    /// The first events of the chains, and the number of all events at the end.
    pub starts: Vec<u32>,
    /// The events in the order in which they enter.
    pub line: Vec<u32>,
    /// After so many events were entered, the edge from the second to the third.
    pub edges: Vec<(usize, u32, u32)>,
}

impl Workload {
    /// `per_hundred` edges come with each hundred events. They connect events among the last `reach` events that
    /// entered.
    pub fn new(chains: u32, length: u32, per_hundred: u64, reach: usize, seed: u64) -> Self {
        let mut state = seed;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let starts: Vec<u32> = (0..=chains).map(|chain| chain * length).collect();
        let mut next = starts.clone();
        let mut open: Vec<usize> = (0..chains as usize).collect();
        let (mut line, mut edges): (Vec<u32>, Vec<_>) = (Vec::new(), Vec::new());
        while !open.is_empty() {
            let at = random(open.len() as u64) as usize;
            let chain = open[at];
            line.push(next[chain]);
            next[chain] += 1;
            if next[chain] == starts[chain + 1] {
                open.swap_remove(at);
            }
            if line.len() > 1 && random(100) < per_hundred {
                let recent = line.len().min(reach) as u64;
                let mut pick = || line.len() - 1 - random(recent) as usize;
                let (a, b) = (pick(), pick());
                if line[a] / length != line[b] / length {
                    edges.push((line.len(), line[a.min(b)], line[a.max(b)]));
                }
            }
        }
        Self { starts, line, edges }
    }
}
