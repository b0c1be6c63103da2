//! Checks a file against several models, explains the violations, and verifies every certificate.
//!
//! `cargo run -p seriatim --example check_a_file -- FILE`

use std::error::Error;
use std::path::PathBuf;

use seriatim::{Checker, Model, Options, Verdict, verify};

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let default = || concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/message-passing.hist").into();
    let file = std::env::args_os().nth(1).map(PathBuf::from).filter(|path| path.is_file()).unwrap_or_else(default);
    for history in seriatim::load_all(file)? {
        let history = history?;
        let mut checker = Checker::new(&history, &Options::default().witness(true));
        for model in [Model::Sc, Model::Tso, Model::Ra, Model::Coherence] {
            let decision = match checker.check(model) {
                Ok(decision) => decision,
                Err(misfit) => {
                    println!("{misfit}");
                    continue;
                }
            };
            println!("{}", decision.explain(&history));
            if decision.verdict != Verdict::Unknown {
                let certificate = decision.certificate(0, &history).ok_or("a witness was asked for")?;
                verify(&certificate, &history)?;
            }
        }
    }
    Ok(())
}
