//! Every protocol in all its states, on few caches; and simulated runs of it.

use machine::protocol::{Name, TableEvent, explore};
use machine::{CacheConfig, Client, CoreKind, Cores, MachineEnding, MachineSetup, Network};

fn cases(few: u64) -> u64 {
    few * std::env::var("SERIATIM_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(1)
}

#[test]
fn no_deadlock_no_unexpected_event_and_the_invariants_hold() {
    for name in Name::ALL {
        let explored = explore(&name.protocol(), 2, 2, 3_000_000);
        assert!(explored.is_complete, "{name}: {explored:?}");
        assert!(explored.quiet > 4, "{name}: {explored:?}");
        println!("{name}: {} states, {} quiet", explored.states, explored.quiet);
    }
}

/// Three caches have more states than fit: as many as there is time for.
#[test]
fn three_caches() {
    for name in Name::ALL {
        let explored = explore(&name.protocol(), 3, 1, 30_000 * cases(1) as usize);
        assert_eq!(explored.fault, None, "{name}: {explored:?}");
        println!("{name}: {} states", explored.states);
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
                        network: Network { delay: 100, ..Network::default() },
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
            let found = [2, 3].into_iter().find_map(|caches| explore(&protocol, caches, 2, 60_000).fault);
            println!("{name} {}: {found:?}", bug.name);
            assert!(found.is_some(), "{name}: {}", bug.name);
        }
    }
}
