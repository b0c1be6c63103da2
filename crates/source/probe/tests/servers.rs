//! Workloads against real servers: their histories keep the levels that the servers promise, and no others.

mod common;

use std::time::Duration;

use common::{Kind, Server};
use probe::{DatabaseIsolation, ProbeConfig, ProbeReport, Workload};
use seriatim::{Checker, History, Model, Options, Verdict};

fn verdict(history: &History, model: &str) -> Verdict {
    let options = Options::default().timeout(Duration::from_secs(60));
    let decision = Checker::new(history, &options).check(Model::from_name(model).unwrap()).unwrap();
    if decision.verdict == Verdict::Violation {
        eprintln!("{model}: {}", decision.explain(history));
    }
    decision.verdict
}

fn config(server: &Server, workload: Workload) -> ProbeConfig {
    ProbeConfig {
        workload,
        clients: 6,
        keys: 4,
        length: 3,
        duration: Duration::from_millis(1500),
        ..ProbeConfig::new(server.url())
    }
}

/// Runs a workload while the server is killed and started again.
fn with_crash(server: &mut Server, config: &ProbeConfig) -> ProbeReport {
    let config = ProbeConfig { duration: Duration::from_secs(4), timeout: Duration::from_secs(2), ..config.clone() };
    std::thread::scope(|scope| {
        let run = scope.spawn(move || probe::run(&config).unwrap());
        std::thread::sleep(Duration::from_secs(1));
        server.kill();
        std::thread::sleep(Duration::from_millis(300));
        server.up();
        run.join().unwrap()
    })
}

#[test]
fn postgres() {
    let Some(mut server) = Server::start(Kind::Postgres) else { return };
    let run = |isolation, workload| {
        let report = probe::run(&ProbeConfig { isolation, ..config(&server, workload) }).unwrap();
        assert!(report.counts.committed > 0, "{:?}", report.counts);
        assert_eq!(report.counts.unknown, 0);
        report.history
    };
    // How much the clients get done depends on the machine, so what must show gets some tries.
    let shows = |isolation, holds, fails| {
        (0..10).any(|_| {
            let history = run(isolation, Workload::Register);
            assert_eq!(verdict(&history, holds), Verdict::Consistent);
            verdict(&history, fails) == Verdict::Violation
        })
    };
    let is_weak = shows(DatabaseIsolation::ReadCommitted, "read-committed", "snapshot-isolation");
    assert!(is_weak, "lost updates and non-repeatable reads");
    assert!(shows(DatabaseIsolation::RepeatableRead, "snapshot-isolation", "serializable"), "write skew");
    for workload in [Workload::Register, Workload::List, Workload::Bank] {
        let serializable = run(DatabaseIsolation::Serializable, workload);
        assert_eq!(verdict(&serializable, "serializable"), Verdict::Consistent, "{workload:?}");
    }
    let lists = run(DatabaseIsolation::RepeatableRead, Workload::List);
    assert_eq!(verdict(&lists, "snapshot-isolation"), Verdict::Consistent);
    let bank = ProbeConfig { isolation: DatabaseIsolation::ReadCommitted, ..config(&server, Workload::Bank) };
    let is_wrong = (0..10).any(|_| probe::run(&bank).unwrap().wrong_sums > 0);
    assert!(is_wrong, "reads of all accounts do not read one state");
    let serializable = ProbeConfig { length: 1, ..config(&server, Workload::Register) };
    let report = with_crash(&mut server, &serializable);
    assert!(report.counts.aborted + report.counts.unknown > 0, "{:?}", report.counts);
    assert_eq!(verdict(&report.history, "serializable"), Verdict::Consistent);
}

/// Transactions that wait for each other in a circle wait for a second, with PostgreSQL as it is installed. None do.
#[test]
fn postgres_has_no_deadlocks() {
    let Some(server) = Server::start(Kind::Postgres) else { return };
    for isolation in [DatabaseIsolation::ReadCommitted, DatabaseIsolation::Serializable] {
        for workload in [Workload::Register, Workload::List, Workload::Bank] {
            let report = probe::run(&ProbeConfig { isolation, ..config(&server, workload) }).unwrap();
            assert!(report.counts.committed > 0, "{workload:?}: {:?}", report.counts);
        }
    }
    assert_eq!(server.deadlocks(), 0);
}

#[test]
fn redis() {
    let Some(mut server) = Server::start(Kind::Redis) else { return };
    let calls = probe::run(&config(&server, Workload::Register)).unwrap();
    assert!(calls.counts.committed > 0, "{:?}", calls.counts);
    assert_eq!(verdict(&calls.history, "linearizable"), Verdict::Consistent);
    for workload in [Workload::List, Workload::Transaction] {
        let report = probe::run(&config(&server, workload)).unwrap();
        assert_eq!(verdict(&report.history, "strict-serializable"), Verdict::Consistent, "{workload:?}");
    }
    let calls = config(&server, Workload::Register);
    let report = with_crash(&mut server, &calls);
    assert!(report.counts.unknown > 0, "{:?}", report.counts);
    assert_eq!(verdict(&report.history, "linearizable"), Verdict::Consistent);
    let bank = probe::run(&config(&server, Workload::Bank)).unwrap_err();
    assert_eq!(bank.to_string(), "Redis does not have the workload bank");
}

#[test]
fn etcd() {
    let Some(mut server) = Server::start(Kind::Etcd) else { return };
    let calls = probe::run(&config(&server, Workload::Register)).unwrap();
    assert!(calls.counts.committed > 0, "{:?}", calls.counts);
    assert_eq!(verdict(&calls.history, "linearizable"), Verdict::Consistent);
    let report = probe::run(&config(&server, Workload::Transaction)).unwrap();
    assert_eq!(verdict(&report.history, "strict-serializable"), Verdict::Consistent);
    let calls = config(&server, Workload::Register);
    let report = with_crash(&mut server, &calls);
    assert!(report.counts.unknown > 0, "{:?}", report.counts);
    assert_eq!(verdict(&report.history, "linearizable"), Verdict::Consistent);
}

#[test]
fn a_database_that_is_not_there() {
    let config = ProbeConfig::new("redis://127.0.0.1:1".parse().unwrap());
    let error = probe::run(&ProbeConfig { timeout: Duration::from_secs(1), ..config }).unwrap_err().to_string();
    assert!(error.contains("127.0.0.1:1 cannot be reached"), "{error}");
}
