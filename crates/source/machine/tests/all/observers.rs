//! Distributed observers say what the central monitor says, operation by operation.

use machine::protocol::Name;
use machine::{CacheConfig, Client, CoreBug, CoreKind, Cores, MachineSetup, Mistake, Network, Note, Seen};
use monitor::{Monitor, Observers, PerformedNow, Progress, ScObserved};

fn cases(few: u64) -> u64 {
    few * std::env::var("SERIATIM_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(1)
}

/// How many streams there were, and what was seen in them.
#[derive(Debug, Default)]
struct Counts {
    streams: u64,
    operations: u64,
    late: u64,
    violating: u64,
    carried: u64,
    carriers: u64,
    messages: u64,
}

/// Feeds a run to the observers and to the central monitor.
fn compare(setup: &MachineSetup, counts: &mut Counts) {
    let threads = setup.client.threads as usize;
    let mut observers = Observers::new(threads, setup.caches.block);
    let mut central = ScObserved::new();
    let mut is_violating = false;
    counts.streams += 1;
    for seen in setup.observe().unwrap() {
        match seen {
            Seen::Message(Note::Sent { message, kind, from, block, .. }) => {
                counts.messages += 1;
                if kind.carries() {
                    observers.sent(message, from, block * setup.caches.block);
                }
            }
            Seen::Message(Note::Taken { message, to }) => observers.taken(message, to),
            Seen::Message(Note::Performed { .. }) => unreachable!("operations come by themselves"),
            Seen::Performed(operation) => {
                counts.operations += 1;
                let kind = operation.instruction.kind;
                let location = operation.instruction.location;
                let event =
                    PerformedNow { thread: operation.thread, index: Some(operation.index.into()), kind, location };
                let read = if kind.reads() { operation.read } else { operation.instruction.value };
                let local = observers.performed_rmw(event, read.into(), operation.instruction.value.into());
                let global = central.push(event);
                assert_ne!(local, Ok(Progress::GaveUp(String::new())));
                match (&local, &global) {
                    (Ok(one), Ok(other)) => assert_eq!(one, other, "{setup:?}"),
                    (Err(one), Err(other)) => assert_eq!((one.event, &one.reason), (other.event, &other.reason)),
                    _ => panic!("operation {operation:?}: {local:?} and {global:?} in {setup:?}"),
                }
                is_violating |= global.is_err();
            }
        }
    }
    let traffic = observers.traffic();
    counts.carried += traffic.carried;
    counts.carriers += traffic.carriers;
    counts.late += traffic.late;
    counts.violating += u64::from(is_violating);
}

fn base(protocol: Name, kind: CoreKind, bug: Option<CoreBug>) -> MachineSetup {
    MachineSetup {
        protocol,
        mistake: bug.map(Mistake::Core),
        client: Client { threads: 4, operations: 60, locations: 6, fences: 2, ..Client::default() },
        cores: Cores { kind, ..Cores::default() },
        caches: CacheConfig {
            block: 4,
            evictions: 20,
            network: Network { delay: 40, ..Network::default() },
            is_checked: false,
            ..CacheConfig::default()
        },
    }
}

/// 10,000 streams: cores in order, out of order, out of order and wrong, and with store buffers.
#[test]
fn observers_are_the_monitor_event_for_event() {
    let kinds = [
        (CoreKind::InOrder, None),
        (CoreKind::OutOfOrder, None),
        (CoreKind::OutOfOrder, Some(CoreBug::LoadNotSquashed)),
        (CoreKind::OutOfOrder, Some(CoreBug::StoreAhead)),
        (CoreKind::Tso, None),
    ];
    for (kind, bug) in kinds {
        let mut counts = Counts::default();
        for protocol in Name::ALL {
            for number in 0..cases(500) {
                compare(&base(protocol, kind, bug).varied(11, number), &mut counts);
            }
        }
        println!("{} {bug:?}: {counts:?}", kind.name());
        let is_in_order = kind == CoreKind::InOrder;
        assert_eq!(counts.late == 0, is_in_order);
        assert_eq!(counts.violating > 0, bug.is_some() || kind == CoreKind::Tso, "{counts:?}");
    }
}
