//! The tables of docs/machines.md: how many executions a hunt needs for each bug, and how large clients must be.
//!
//! `cargo run --release -p seriatim-machine --example bugs -- 100`, where 100 is the number of executions for each size
//! of clients.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};

use machine::hunt::first;
use machine::protocol::Name;
use machine::{CacheConfig, Client, CoreKind, Cores, MachineEnding, MachineRun, MachineSetup, Mistake, Network};
use seriatim::{Model, Options, Verdict, check, classify, shrink};

/// The defaults of the command.
fn base(protocol: Name, kind: CoreKind, mistake: Mistake) -> MachineSetup {
    MachineSetup {
        protocol,
        mistake: Some(mistake),
        client: Client::default(),
        cores: Cores { kind, ..Cores::default() },
        caches: CacheConfig {
            block: 4,
            evictions: 20,
            network: Network { delay: 100, ..Network::default() },
            is_checked: false,
            ..CacheConfig::default()
        },
    }
}

const fn promised(kind: CoreKind) -> Model {
    match kind {
        CoreKind::Tso => Model::Tso,
        CoreKind::Pso => Model::Pso,
        _ => Model::Sc,
    }
}

/// The first execution that violates the model: its number, the operations it took, and the run.
fn hunt(setup: &MachineSetup, model: Model, seed: u64, most: u64) -> (Option<(u64, MachineRun)>, u64, u64) {
    let (operations, stuck) = (AtomicU64::new(0), AtomicU64::new(0));
    let hunted = first(0..most, NonZero::<usize>::MIN, None, |number| {
        let run = setup.varied(seed, number).run().ok()?;
        operations.fetch_add(run.operations.len() as u64, Ordering::Relaxed);
        stuck.fetch_add(u64::from(run.ending != MachineEnding::Finished), Ordering::Relaxed);
        let decision = check(&run.history(), model, &Options::default()).ok()?;
        (decision.verdict == Verdict::Violation).then_some(run)
    });
    (hunted.found, operations.into_inner(), stuck.into_inner())
}

/// The models that the shrunk violation breaks and that no broken model is weaker than.
fn weakest(run: &MachineRun, model: Model) -> String {
    let options = Options::default();
    let Ok(shrunk) = shrink(&run.history(), model, &options) else { return "?".to_owned() };
    let Ok(classified) = classify(&shrunk.history, &options) else { return "?".to_owned() };
    let names: Vec<String> = classified.weakest_broken().into_iter().map(|it| format!("`{it}`")).collect();
    format!("{} | {}", names.join(", "), shrunk.history.operations().len())
}

/// Every bug, where it is to be found.
fn all() -> Vec<(Name, CoreKind, Mistake)> {
    let mut all = Vec::new();
    for protocol in Name::ALL {
        for bug in protocol.bugs() {
            let kind = if bug.name == "upgrade-race" { CoreKind::Tso } else { CoreKind::InOrder };
            all.push((protocol, kind, Mistake::Protocol(bug)));
        }
    }
    for kind in CoreKind::ALL {
        for &bug in kind.bugs() {
            all.push((Name::MesiTwoLevel, kind, Mistake::Core(bug)));
        }
    }
    all
}

fn main() {
    let each: u64 = std::env::args().nth(1).and_then(|it| it.parse().ok()).unwrap_or(100);
    println!("| protocol | cores | bug | model | executions | operations | weakest models broken | shrunk to |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for (protocol, kind, mistake) in all() {
        let model = promised(kind);
        let (found, operations, stuck) = hunt(&base(protocol, kind, mistake), model, 0, 8000);
        let row = format!("| `{protocol}` | `{}` | `{}` | `{model}` |", kind.name(), mistake.name());
        match found {
            Some((number, run)) => println!("{row} {} | {operations} | {} |", number + 1, weakest(&run, model)),
            None => println!("{row} none in 8000, {stuck} stuck | {operations} | | |"),
        }
    }
    println!("\n| protocol, cores | bug | 10 | 30 | 100 | 300 |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (protocol, kind, mistake) in all() {
        let row = [10, 30, 100, 300].map(|operations| {
            let mut setup = base(protocol, kind, mistake);
            setup.client.operations = operations;
            // Clients of just this size; the rest varies.
            let violating = (0..each).filter(|&number| {
                let mut varied = setup.varied(1, number);
                varied.client.operations = operations;
                let Ok(run) = varied.run() else { return false };
                let decision = check(&run.history(), promised(kind), &Options::default());
                decision.is_ok_and(|decision| decision.verdict == Verdict::Violation)
            });
            format!("{:.0}%", violating.count() as f64 * 100.0 / each as f64)
        });
        println!("| `{protocol}`, `{}` | `{}` | {} |", kind.name(), mistake.name(), row.join(" | "));
    }
}
