//! Seriatim's exploration beside loom and shuttle, on the same programs, in one run.
//!
//! `cargo run --release` prints three tables: time to visit all executions of ten structures, and executions a second;
//! random runs a second; and how many executions it takes to find each of ten bugs. Times are those of the processor.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

mod on_explore;
mod on_loom;
mod on_shuttle;

/// Processor time of this process.
fn now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// How long each loom exploration may take, in seconds of the clock.
const PATIENCE: u64 = 30;
static RUNS: AtomicU64 = AtomicU64::new(0);

fn count(program: fn()) -> impl Fn() + Send + Sync + Copy + 'static {
    move || {
        RUNS.fetch_add(1, Ordering::Relaxed);
        program();
    }
}

/// Executions and seconds of loom.
fn loom(program: fn()) -> (u64, f64) {
    RUNS.store(0, Ordering::Relaxed);
    let mut builder = loom::model::Builder::new();
    builder.max_duration = Some(Duration::from_secs(PATIENCE));
    builder.checkpoint_interval = 1000;
    builder.max_branches = 10_000;
    let start = now();
    builder.check(count(program));
    (RUNS.load(Ordering::Relaxed), now() - start)
}

/// Executions, all that were run (blocked ones, too), and seconds.
fn explore(program: fn()) -> (u64, u64, f64) {
    let (mut rounds, start) = (0, now());
    loop {
        let verdict = explore::Builder::new().check(program);
        assert!(verdict.finding.is_none() && verdict.is_complete, "{verdict}");
        rounds += 1;
        let seconds = now() - start;
        if seconds > 0.3 {
            let counts = verdict.counts;
            return (counts.executions, counts.executions + counts.blocked, seconds / f64::from(rounds));
        }
    }
}

fn mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

fn exhaust() {
    println!("{:<16} {:>27} {:>27} {:>10} {:>10}", "all executions", "explore", "loom", "time", "exec/s");
    let (mut times, mut rates) = (Vec::new(), Vec::new());
    let all = on_explore::structures::STRUCTURES.into_iter().zip(on_loom::structures::STRUCTURES);
    for ((name, ours), (_, theirs)) in all {
        let (classes, runs, seconds) = explore(ours);
        let (permutations, loom_seconds) = loom(theirs);
        let mark = if loom_seconds > PATIENCE as f64 * 0.9 { ">" } else { "" };
        let (time, rate) = (loom_seconds / seconds, runs as f64 / seconds / (permutations as f64 / loom_seconds));
        let ours = format!("{classes} (+{}) in {seconds:.5} s", runs - classes);
        let theirs = format!("{permutations} in {mark}{loom_seconds:.3} s");
        println!("{name:<16} {ours:>27} {theirs:>27} {mark}{time:>9.1}x {rate:>9.1}x");
        times.push(time);
        rates.push(rate);
    }
    println!("geometric mean: time {:.1}x, executions a second {:.1}x\n", mean(&times), mean(&rates));
}

fn random() {
    const COUNT: u64 = 4000;
    println!("{:<16} {:>14} {:>14} {:>10}", "random runs/s", "explore", "shuttle", "ratio");
    let mut ratios = Vec::new();
    let all = on_explore::structures::STRUCTURES.into_iter().zip(on_shuttle::structures::STRUCTURES);
    for ((name, ours), (_, theirs)) in all {
        let start = now();
        let verdict = explore::Builder::new().sample(explore::RandomStrategy::Uniform, 0..COUNT, ours);
        assert!(verdict.finding.is_none(), "{verdict}");
        let ours = now() - start;
        let start = now();
        shuttle::check_random(theirs, COUNT as usize);
        let theirs = now() - start;
        println!("{name:<16} {:>14.0} {:>14.0} {:>9.2}x", COUNT as f64 / ours, COUNT as f64 / theirs, theirs / ours);
        ratios.push(theirs / ours);
    }
    println!("geometric mean: {:.2}x\n", mean(&ratios));
}

/// How many executions until a panic, or none.
fn until_panic(run: impl FnOnce()) -> String {
    RUNS.store(0, Ordering::Relaxed);
    let is_found = catch_unwind(AssertUnwindSafe(run)).is_err();
    let runs = RUNS.load(Ordering::Relaxed);
    if is_found { runs.to_string() } else { format!("none in {runs}") }
}

fn bugs() {
    const RANDOM: usize = 10_000;
    std::panic::set_hook(Box::new(|_| {}));
    println!(
        "{:<36} {:>8} {:>8} {:>14} {:>14} {:>16}",
        "executions up to the bug", "explore", "random", "loom", "shuttle", "mended, on loom"
    );
    let all = on_explore::bugs::BUGS.into_iter().zip(on_loom::bugs::BUGS).zip(on_shuttle::bugs::BUGS);
    for (((name, ours), (_, loom)), (_, shuttle)) in all {
        let verdict = explore::Builder::new().check(move || ours(false));
        assert!(verdict.finding.is_some(), "{name}: {verdict}");
        let counts = verdict.counts;
        let exhaustive = counts.executions + counts.blocked + counts.failed + 1 - u64::from(counts.failed > 0);
        let verdict = explore::Builder::new().sample(explore::RandomStrategy::Uniform, 0.., move || ours(false));
        let random = verdict.seed.map_or(0, |seed| seed + 1);
        let model = |mended: bool| {
            until_panic(move || {
                let mut builder = loom::model::Builder::new();
                builder.max_duration = Some(Duration::from_secs(PATIENCE));
                builder.checkpoint_interval = 1000;
                builder.check(move || {
                    RUNS.fetch_add(1, Ordering::Relaxed);
                    loom(mended);
                });
            })
        };
        let (broken, mended) = (model(false), model(true));
        let mended = if mended.starts_with("none") { "ok".to_owned() } else { format!("false alarm, {mended}") };
        let by_shuttle = until_panic(|| {
            shuttle::check_random(
                move || {
                    RUNS.fetch_add(1, Ordering::Relaxed);
                    shuttle(false);
                },
                RANDOM,
            );
        });
        println!("{name:<36} {exhaustive:>8} {random:>8} {broken:>14} {by_shuttle:>14} {mended:>16}");
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    if is_wanted("exhaust") {
        exhaust();
    }
    if is_wanted("random") {
        random();
    }
    if is_wanted("bugs") {
        bugs();
    }
}
