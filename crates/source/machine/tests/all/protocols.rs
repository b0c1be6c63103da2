//! Every protocol in all its states, on few caches; and simulated runs of it.

use machine::protocol::{Name, Space, TableEvent, explore};
use machine::{CacheConfig, Client, CoreKind, Cores, MachineEnding, MachineSetup, Network};

fn cases(few: u64) -> u64 {
    few * std::env::var("SERIATIM_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(1)
}

/// The states of each protocol in some space, in the order of `Name::ALL`. docs/machines.md has these numbers.
fn explores(space: Space, counts: [usize; 4]) {
    for (name, count) in Name::ALL.into_iter().zip(counts) {
        let explored = explore(&name.protocol(), space, 20_000_000);
        assert_eq!((explored.states, explored.is_complete), (count, true), "{name}: {explored:?}");
    }
}

#[test]
fn no_deadlock_no_unexpected_event_and_the_invariants_hold() {
    for buffers in [0, 1] {
        explores(Space { buffers, ..Space::default() }, [129, 1833, 786, 514]);
        explores(Space { caches: 3, buffers, ..Space::default() }, [630, 18_781, 11_683, 3530]);
    }
    let evicts = Space { blocks: 2, frames: 1, ..Space::default() };
    explores(evicts, [305, 4249, 22_820, 13_628]);
    explores(Space { buffers: 1, ..evicts }, [305, 4249, 13_946, 6136]);
}

/// The same with a probe filter.
#[test]
fn probe_filters() {
    let evicts = Space { blocks: 2, frames: 1, buffers: 1, ..Space::default() };
    let three = Space { caches: 3, ..Space::default() };
    for (name, counts) in [(Name::MoesiHammer, [1158, 18_794, 40_007]), (Name::MoesiAmd, [489, 2777, 5102])] {
        for (space, count) in [Space::default(), three, evicts].into_iter().zip(counts) {
            let explored = explore(&name.filtered().unwrap(), space, 1_000_000);
            assert_eq!((explored.states, explored.is_complete), (count, true), "{name}: {explored:?}");
        }
    }
    assert!(Name::Mi.filtered().is_none() && Name::MesiTwoLevel.filtered().is_none());
}

/// A filter does what it is for: fewer messages for the same client.
#[test]
fn probe_filters_save_messages() {
    for protocol in [Name::MoesiHammer, Name::MoesiAmd] {
        let [all, some] = [false, true].map(|has_filter| {
            let caches = CacheConfig { has_filter, ..CacheConfig::default() };
            let setup = MachineSetup { protocol, caches, ..MachineSetup::default() };
            let mut caches = setup.caches().unwrap();
            assert_eq!(
                machine::execute(&mut caches, &setup.client, &setup.cores(), &mut |_| ()),
                MachineEnding::Finished
            );
            caches.counts().messages
        });
        assert!(some < all, "{protocol}: {some} and {all}");
    }
}

/// Caches that have room for both blocks: half a minute, so only with `SERIATIM_CASES`. `mesi-two-level`
/// has 1,990,309 such states, which take minutes.
#[test]
fn two_caches_and_two_blocks() {
    if cases(1) > 1 {
        for (name, count) in [(Name::Mi, 11_675), (Name::MoesiHammer, 217_612), (Name::MoesiAmd, 140_346)] {
            let explored = explore(&name.protocol(), Space { blocks: 2, ..Space::default() }, 1_000_000);
            assert_eq!((explored.states, explored.is_complete), (count, true), "{name}: {explored:?}");
        }
    }
}

/// Where links have room for one message, and all messages share it, two protocols have a deadlock. With virtual
/// networks they have none.
#[test]
fn virtual_networks_are_needed() {
    for name in Name::ALL {
        let space = Space { buffers: 1, is_one_network: true, ..Space::default() };
        let fault = explore(&name.protocol(), space, 100_000).fault;
        let is_stuck = matches!(name, Name::MesiTwoLevel | Name::MoesiAmd);
        assert_eq!(fault.is_some_and(|fault| fault.starts_with("deadlock")), is_stuck, "{name}");
    }
}

/// Of every table each row is used: none is there in vain.
#[test]
fn tables_have_no_dead_ends() {
    for name in Name::ALL {
        let protocol = name.protocol();
        for table in [&protocol.cache, &protocol.directory] {
            for row in table.rows() {
                let leads_on = table.rows().iter().any(|other| other.state == row.next);
                assert!(leads_on, "{name}: nothing is said about {}", row.next);
            }
        }
        for state in protocol.cache.rows().iter().map(|row| row.state) {
            for event in [TableEvent::Load, TableEvent::Store] {
                assert!(protocol.cache.row(state, event).is_some(), "{name}: {event} in {state}");
            }
        }
        assert!(name.bugs().len() >= 8, "{name}");
    }
}

/// Runs of all cores on all protocols end, with the invariants looked at after every step.
#[test]
fn simulated_runs_keep_the_invariants() {
    for name in Name::ALL {
        for kind in CoreKind::ALL {
            for seed in 0..cases(10) {
                let base = MachineSetup {
                    protocol: name,
                    client: Client { threads: 5, operations: 400, locations: 6, rmws: 5, ..Client::default() },
                    cores: Cores { kind, ..Cores::default() },
                    caches: CacheConfig {
                        block: 4,
                        frames: 8,
                        evictions: 100,
                        is_lru: seed % 2 == 1,
                        sharing: 1 + u32::from(seed % 5 == 0),
                        has_filter: seed % 2 == 0 && name.filtered().is_some(),
                        network: Network { delay: 100, buffers: (seed % 3) as u32, ..Network::default() },
                        is_checked: true,
                        ..CacheConfig::default()
                    },
                    ..MachineSetup::default()
                };
                let setup = base.varied(7, seed);
                let run = setup.run().unwrap();
                assert_eq!(run.ending, MachineEnding::Finished, "{name}, {}, {seed}: {setup:?}", kind.name());
                assert_eq!(run.operations.len(), setup.client.operations as usize);
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for name in Name::ALL {
        let setup = MachineSetup { protocol: name, ..MachineSetup::default() };
        assert_eq!(setup.run().unwrap().operations, setup.run().unwrap().operations);
    }
}

/// The exploration finds what is wrong with every wrong protocol, on two or three caches.
#[test]
fn the_exploration_finds_mistakes() {
    for name in Name::ALL {
        for bug in name.bugs() {
            let mut protocol = name.protocol();
            bug.apply(&mut protocol);
            let found = [2, 3]
                .into_iter()
                .find_map(|caches| explore(&protocol, Space { caches, ..Space::default() }, 60_000).fault);
            println!("{name} {}: {found:?}", bug.name);
            assert!(found.is_some(), "{name}: {}", bug.name);
        }
    }
}
