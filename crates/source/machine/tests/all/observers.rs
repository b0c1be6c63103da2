//! Distributed observers say what the central monitor says, operation by operation, if their notices have no lag. With
//! lag they find the same streams, some of them later.

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
    needed: u64,
    /// The bytes of frontiers on them.
    frontiers: u64,
    carriers: u64,
    messages: u64,
    /// The most bytes of vectors and the most notices that a core had to keep.
    most_kept: u64,
    most_notices: u64,
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
    counts.needed += traffic.needed;
    counts.frontiers += traffic.carriers * threads as u64 * 8;
    counts.most_kept = counts.most_kept.max(traffic.most_kept);
    counts.most_notices = counts.most_notices.max(traffic.most_notices);
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
        // Vectors of a core that performs in program order are dropped at once: only the frontiers remain.
        assert_eq!(counts.needed > counts.frontiers, !is_in_order, "{counts:?}");
        assert_eq!(counts.most_notices == 0, is_in_order);
    }
}

/// A cache that a probe filter does not ask has told the directory all it knows when it gave its block back.
#[test]
fn observers_behind_a_probe_filter() {
    for protocol in [Name::MoesiHammer, Name::MoesiAmd] {
        let mut counts = Counts::default();
        for number in 0..cases(200) {
            let mut setup = base(protocol, CoreKind::OutOfOrder, Some(CoreBug::LoadNotSquashed)).varied(12, number);
            setup.caches.has_filter = true;
            compare(&setup, &mut counts);
        }
        assert!(counts.violating > 0, "{counts:?}");
    }
}

/// Which streams with a violation are found by observers.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    violating: u64,
    observers: u64,
    /// Of these, by the second check only.
    later: u64,
    /// The most bytes and notices of a core, and operations of all cores, that had to be kept; and what had no room.
    kept: [u64; 3],
    dropped: u64,
}

fn found(setup: &MachineSetup, lag: u64, room: usize, found: &mut Found) {
    let threads = setup.client.threads as usize;
    let mut observers = Observers::new(threads, setup.caches.block).with_lag(lag).with_room(room);
    let mut central = ScObserved::new();
    let (mut is_violation, mut is_found, mut is_late) = (false, false, false);
    for (now, seen) in setup.observe_timed().unwrap() {
        is_late |= observers.tick(now).is_some();
        match seen {
            Seen::Message(Note::Sent { message, kind, from, block, .. }) => {
                if kind.carries() {
                    observers.sent(message, from, block * setup.caches.block);
                }
            }
            Seen::Message(Note::Taken { message, to }) => observers.taken(message, to),
            Seen::Message(Note::Performed { .. }) => unreachable!("operations come by themselves"),
            Seen::Performed(operation) => {
                let (kind, location) = (operation.instruction.kind, operation.instruction.location);
                let event =
                    PerformedNow { thread: operation.thread, index: Some(operation.index.into()), kind, location };
                is_violation |= central.push(event).is_err();
                is_found |= observers.performed(event, operation.read.into()).is_err();
            }
        }
    }
    is_late |= observers.tick(u64::MAX).is_some();
    assert!(is_violation || !(is_found || is_late), "a false alarm with lag {lag}: {setup:?}");
    found.violating += u64::from(is_violation);
    found.observers += u64::from(is_found || is_late);
    found.later += u64::from(is_late && !is_found);
    let traffic = observers.traffic();
    let kept = [traffic.most_kept, traffic.most_notices, traffic.most_unsettled];
    found.kept = std::array::from_fn(|at| found.kept[at].max(kept[at]));
    found.dropped += traffic.dropped;
}

/// All is found with any lag, and nothing false, also with room for few notices. docs/machines.md has the counts.
#[test]
fn observers_with_lag() {
    for (kind, bug) in [
        (CoreKind::OutOfOrder, Some(CoreBug::LoadNotSquashed)),
        (CoreKind::OutOfOrder, Some(CoreBug::StoreAhead)),
        (CoreKind::Tso, None),
    ] {
        for (lag, room) in [(0, usize::MAX), (10, usize::MAX), (40, usize::MAX), (100, usize::MAX), (40, 2)] {
            let mut counts = Found::default();
            for protocol in Name::ALL {
                for number in 0..cases(250) {
                    found(&base(protocol, kind, bug).varied(11, number), lag, room, &mut counts);
                }
            }
            println!("{} {bug:?}, lag {lag}, room {room}: {counts:?}", kind.name());
            assert!(counts.violating > 0);
            assert!(room < usize::MAX || counts.observers == counts.violating, "{counts:?}");
            assert!(lag > 0 || counts.later == 0, "{counts:?}");
            assert_eq!(counts.dropped > 0, room < usize::MAX, "{counts:?}");
        }
    }
}
