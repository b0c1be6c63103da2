//! Known bugs of weak memory are found, in every way of searching, and their mended forms and other structures pass.

#![allow(unsafe_code, reason = "cells are accessed through pointers")]

use explore::{Builder, Finding, Strategy};

mod shim {
    pub use explore::{cell, hint, sync, thread};
}

#[path = "programs/bugs.rs"]
mod bugs;
#[path = "programs/data.rs"]
mod data;
#[path = "programs/structures.rs"]
mod structures;

#[test]
fn bugs_are_found_by_exploration() {
    for (name, program) in bugs::BUGS {
        let verdict = Builder::new().check(move || program(false));
        assert!(matches!(verdict.finding, Some(Finding::Race(_) | Finding::Panic(_))), "{name}: {verdict}");
        let verdict = Builder::new().check(move || program(true));
        assert!(verdict.finding.is_none() && verdict.is_complete, "{name}, mended: {verdict}");
    }
}

#[test]
fn bugs_are_found_at_random() {
    let strategies = [Strategy::Uniform, Strategy::Pct { depth: 3 }, Strategy::Pctwm { depth: 2, history: 2 }];
    for (name, program) in bugs::BUGS {
        for strategy in strategies {
            let verdict = Builder::new().sample(strategy, 0..20_000, move || program(false));
            assert!(verdict.finding.is_some(), "{name}, {strategy:?}: {verdict}");
            let verdict = Builder::new().sample(strategy, 0..500, move || program(true));
            assert!(verdict.finding.is_none(), "{name}, mended, {strategy:?}: {verdict}");
        }
    }
}

#[test]
fn structures_are_right() {
    for (name, program) in structures::STRUCTURES {
        let verdict = Builder::new().check(program);
        assert!(verdict.finding.is_none() && verdict.is_complete, "{name}: {verdict}");
        println!("{name}: {verdict}, {} blocked", verdict.counts.blocked);
        let verdict = Builder::new().sample(Strategy::Uniform, 0..500, program);
        assert!(verdict.finding.is_none(), "{name}: {verdict}");
        println!("{name}: {:?}", verdict.counts);
    }
}
