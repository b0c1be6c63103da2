//! VC's Table 1 as printed, beside the exact monitor of `sc-observed`.

use baseline::TableOne;
use history::execution::Kind::{Read, Write};
use machine::protocol::Name;
use machine::{Client, CoreBug, CoreKind, Cores, MachineSetup, Mistake, Seen};
use monitor::{Monitor, PerformedNow, ScObserved};

/// At which operation of a stream the exact monitor reports a violation first, and at which Table 1 does.
fn first(threads: u32, stream: &[PerformedNow]) -> [Option<usize>; 2] {
    let (mut monitor, mut table) = (ScObserved::new(), TableOne::new(threads as usize));
    let mut first = [None; 2];
    for (number, &it) in stream.iter().enumerate() {
        let index = it.index.expect("the index in program order is known");
        let said = [monitor.push(it).is_err(), table.performed(it.thread, index, it.kind, it.location)];
        for (first, said) in first.iter_mut().zip(said) {
            *first = first.or(said.then_some(number));
        }
    }
    first
}

/// The second read of a location makes Table 1 forget the first.
#[test]
fn it_forgets_all_readers_but_the_last() {
    let (x, y) = (0, 1);
    let performed = |thread, index, kind, location| PerformedNow { thread, index: Some(index), kind, location };
    // Thread 0 reads x early; thread 1 reads it after that, and thread 2 overwrites it.
    let stream = [
        performed(0, 1, Read, x),
        performed(1, 0, Read, x),
        performed(2, 0, Write, x),
        performed(2, 1, Write, y),
        performed(0, 0, Read, y),
    ];
    assert_eq!(first(3, &stream), [Some(4), None]);
}

#[test]
fn it_misses_violations_and_reports_nothing_false() {
    let (mut violating, mut missed, mut late) = (0, 0, 0);
    for bug in [None, Some(CoreBug::LoadNotSquashed), Some(CoreBug::StoreAhead)] {
        let setup = MachineSetup {
            mistake: bug.map(Mistake::Core),
            client: Client { threads: 4, operations: 60, locations: 6, ..Client::default() },
            cores: Cores { kind: CoreKind::OutOfOrder, ..Cores::default() },
            ..MachineSetup::default()
        };
        for number in 0..200 {
            let seen = setup.varied(5, number).observe().expect("the setup is right");
            let performed =
                seen.into_iter().filter_map(|it| if let Seen::Performed(it) = it { Some(it) } else { None });
            let stream: Vec<PerformedNow> = performed
                .map(|it| PerformedNow {
                    thread: it.thread,
                    index: Some(it.index.into()),
                    kind: it.instruction.kind,
                    location: it.instruction.location,
                })
                .collect();
            let [exact, printed] = first(4, &stream);
            assert!(printed.is_none() || exact.is_some(), "{bug:?} {number}: what Table 1 reports is a violation");
            violating += u32::from(exact.is_some());
            missed += u32::from(exact.is_some() && printed.is_none());
            late += u32::from(exact.is_some() && printed > exact);
        }
    }
    assert!(violating > 50 && missed > 5 && late > 5, "{violating} {missed} {late}");
}

/// The shared vectors are seen by others after a lag. The longer it is, the more Table 1 misses; it reports nothing
/// false. The observers of `monitor` find all with the same lag, which the tests of `machine` hold.
#[test]
fn with_lag_it_misses_more() {
    let found = [0, 10, 40, 100].map(|lag| {
        let (mut violating, mut found) = (0, 0);
        for protocol in Name::ALL {
            let setup = MachineSetup {
                protocol,
                mistake: Some(Mistake::Core(CoreBug::LoadNotSquashed)),
                client: Client { threads: 4, operations: 60, locations: 6, ..Client::default() },
                cores: Cores { kind: CoreKind::OutOfOrder, ..Cores::default() },
                ..MachineSetup::default()
            };
            for number in 0..50 {
                let (mut monitor, mut table) = (ScObserved::new(), TableOne::new(4).with_lag(lag));
                let (mut is_violation, mut is_found) = (false, false);
                for (now, seen) in setup.varied(11, number).observe_timed().expect("the setup is right") {
                    table.tick(now);
                    let Seen::Performed(it) = seen else { continue };
                    let (kind, location) = (it.instruction.kind, it.instruction.location);
                    let event = PerformedNow { thread: it.thread, index: Some(it.index.into()), kind, location };
                    is_violation |= monitor.push(event).is_err();
                    is_found |= table.performed(it.thread, it.index.into(), kind, location);
                }
                assert!(is_violation || !is_found, "{protocol:?} {number}: what Table 1 reports is a violation");
                violating += u32::from(is_violation);
                found += u32::from(is_found);
            }
        }
        assert!(found < violating, "lag {lag}: {found} of {violating}");
        found
    });
    assert!(found.is_sorted_by(|now, with_more_lag| now >= with_more_lag) && found[0] > found[3], "{found:?}");
}
