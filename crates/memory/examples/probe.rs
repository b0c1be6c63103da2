use history::execution::{ExecutionBuilder, Kind};
fn main() {
    let a: Vec<u64> = std::env::args().skip(1).map(|s| s.parse().unwrap()).collect();
    let (n, k, l, wpct, seed, perturb) = (a[0], a[1], a[2], a[3], a[4], a[5]);
    let mut s = seed.wrapping_mul(0x9E3779B97F4A7C15) | 1;
    let mut rnd = move |m: u64| { s ^= s << 13; s ^= s >> 7; s ^= s << 17; (s >> 11) % m };
    let mut b = ExecutionBuilder::new();
    let mut last: Vec<Vec<usize>> = vec![vec![]; l as usize];
    for i in 0..n {
        let t = rnd(k) as u32; let x = rnd(l) as usize;
        if rnd(100) < wpct { let e = b.push(t, Kind::Write, x as u32); last[x].push(e); }
        else { let e = b.push(t, Kind::Read, x as u32);
            let mut back = 1; if perturb > 0 && i >= n * 3 / 4 && last[x].len() > perturb as usize + 1 && !rnd(1).eq(&1) && unsafe { static mut D: bool = false; let d = D; if !d { D = true; } !d } { back = 1 + perturb as usize; }
            if last[x].len() >= back { b.read_from(e, Some(last[x][last[x].len() - back])); } }
    }
    let e = b.build();
    memory::sc::probe::probe(&e);
}
