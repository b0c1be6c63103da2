//! What hunts find: nothing without a mistake, and every mistake by its name.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};

use machine::hunt::{Hunted, first};
use machine::protocol::Name;
use machine::{CacheConfig, Client, CoreKind, Cores, MachineEnding, MachineSetup, Mistake, Network};
use seriatim::{Model, Options, Verdict};

fn cases(few: u64) -> u64 {
    few * std::env::var("SERIATIM_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(1)
}

fn promised(kind: CoreKind) -> Model {
    match kind {
        CoreKind::Tso => Model::Tso,
        CoreKind::Pso => Model::Pso,
        _ => Model::Sc,
    }
}

/// The flags' defaults.
fn base(protocol: Name, kind: CoreKind, mistake: Option<Mistake>) -> MachineSetup {
    MachineSetup {
        protocol,
        mistake,
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

/// The first execution that breaks the model, how many operations that took, and how many executions got stuck.
fn hunt(setup: &MachineSetup, model: Model, most: u64) -> (Hunted<()>, u64, u64) {
    let (operations, stuck) = (AtomicU64::new(0), AtomicU64::new(0));
    let jobs = NonZero::new(2).unwrap();
    let hunted = first(0..most, jobs, None, |number| {
        let run = setup.varied(0, number).run().unwrap();
        operations.fetch_add(run.operations.len() as u64, Ordering::Relaxed);
        let history = if model == Model::ScObserved { run.performed_history() } else { run.history() };
        let decision = seriatim::check(&history, model, &Options::default()).unwrap();
        stuck.fetch_add(u64::from(run.ending != MachineEnding::Finished), Ordering::Relaxed);
        (decision.verdict == Verdict::Violation).then_some(())
    });
    (hunted, operations.into_inner(), stuck.into_inner())
}

/// 1,000 executions, a part of them on each protocol and kind of core; 100 times as many with `SERIATIM_CASES=100`.
#[test]
fn nothing_is_found_without_a_mistake() {
    for protocol in Name::ALL {
        for kind in CoreKind::ALL {
            let (hunted, _, stuck) = hunt(&base(protocol, kind, None), promised(kind), cases(64));
            assert_eq!((hunted.found, stuck), (None, 0), "{protocol}, {}", kind.name());
        }
        // The order in which an out-of-order core performs is sequentially consistent, too, as it was observed.
        let (hunted, ..) = hunt(&base(protocol, CoreKind::OutOfOrder, None), Model::ScObserved, cases(64));
        assert_eq!(hunted.found, None, "{protocol}");
    }
}

/// Nor where two cores share a cache: a store of the one takes loads of the other back that were done ahead.
#[test]
fn nothing_is_found_where_cores_share_caches() {
    for protocol in Name::ALL {
        for kind in CoreKind::ALL {
            let mut setup = base(protocol, kind, None);
            setup.caches.sharing = 2;
            let (hunted, _, stuck) = hunt(&setup, promised(kind), cases(48));
            assert_eq!((hunted.found, stuck), (None, 0), "{protocol}, {}", kind.name());
        }
    }
}

/// Store buffers are seen: they break `sc`, and `pso` breaks `tso`.
#[test]
fn cores_do_not_promise_too_much() {
    for (kind, model) in [(CoreKind::Tso, Model::Sc), (CoreKind::Pso, Model::Tso)] {
        let (hunted, ..) = hunt(&base(Name::MesiTwoLevel, kind, None), model, 300);
        assert!(hunted.found.is_some(), "{}", kind.name());
    }
}

#[test]
fn every_mistake_of_a_protocol_is_found() {
    for protocol in Name::ALL {
        for bug in protocol.bugs() {
            let mistake = Some(Mistake::Protocol(bug));
            // A core that does one access at a time cannot read a copy while it is being upgraded.
            let kind = if bug.name == "upgrade-race" { CoreKind::Tso } else { CoreKind::InOrder };
            let (hunted, operations, stuck) = hunt(&base(protocol, kind, mistake), promised(kind), 8000);
            println!("{protocol} {}: {:?}, {operations} operations, {stuck} stuck", bug.name, hunted.found);
            // A directory that asks the wrong cache gets no answer: nothing wrong is ever read.
            let is_silent = bug.name == "owner-not-noted";
            assert_eq!(hunted.found.is_none(), is_silent, "{protocol}: {}", bug.name);
            assert!(hunted.found.is_some() || stuck > 0, "{protocol}: {}", bug.name);
        }
    }
}

#[test]
fn every_mistake_of_a_core_is_found() {
    for kind in CoreKind::ALL {
        for &bug in kind.bugs() {
            let setup = base(Name::MesiTwoLevel, kind, Some(Mistake::Core(bug)));
            let (hunted, operations, stuck) = hunt(&setup, promised(kind), 4000);
            println!("{} {}: {:?}, {operations} operations", kind.name(), bug.name(), hunted.found);
            assert!(hunted.found.is_some() && stuck == 0, "{}: {}", kind.name(), bug.name());
        }
    }
}
