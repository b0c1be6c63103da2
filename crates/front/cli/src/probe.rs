//! `seriatim probe`: runs a workload against a real database, writes the history, and checks it as `check` does.

use std::ffi::OsString;
use std::io::{self, Write};
use std::time::Duration;

use clap::FromArgMatches;
use format::{Format, WriteError, Writer};
use history::visible;
use probe::{DatabaseIsolation, ProbeConfig, ProbeReport, Scheme, Workload};

use crate::flags::{Command, Flags, Probe};
use crate::output::{self, Output};
use crate::{BAD, check, fault};

/// With fewer committed transactions or operations, a verdict says little: races are rare.
const FEW: u64 = 1000;

pub(crate) fn run(flags: &Probe) -> u8 {
    // The models are looked at before the database is, which takes long.
    let checked = match check_flags(flags) {
        Ok(checked) => checked,
        Err(error) => {
            let _ = error.print();
            return BAD;
        }
    };
    let config = ProbeConfig {
        workload: flags.workload,
        isolation: flags.isolation,
        clients: flags.clients,
        duration: Duration::from_secs(flags.seconds),
        keys: flags.keys,
        length: flags.length,
        writes: flags.writes,
        timeout: Duration::from_secs(flags.timeout),
        seed: flags.seed,
        ..ProbeConfig::new(flags.url.clone())
    };
    let report = match probe::run(&config) {
        Ok(report) => report,
        Err(error) => {
            let message = error.to_string();
            let step = fault::next_step(&message).map(|step| format!("\n  {step}")).unwrap_or_default();
            let _ = writeln!(io::stderr(), "seriatim probe: {}{step}", visible(&message));
            return BAD;
        }
    };
    if let Err(status) = write(flags, &report) {
        return status;
    }
    let ProbeReport { history, wrong_sums, .. } = &report;
    let _ = write!(io::stderr(), "{}", told(&report, &visible(&flags.output.display().to_string())));
    if *wrong_sums > 0 {
        let _ = writeln!(io::stderr(), "seriatim probe: {wrong_sums} reads of all accounts found a wrong sum");
    }
    if history.operations().is_empty() {
        let _ = writeln!(io::stderr(), "seriatim probe: there is nothing to check");
        return BAD;
    }
    checked.map_or(0, |flags| check::run(&flags))
}

/// What the clients got done, how fast, and whether that is enough to find anything.
fn told(report: &ProbeReport, file: &str) -> String {
    let ProbeReport { history, counts, elapsed, .. } = report;
    let what = if history.is_of_transactions() { "transactions" } else { "operations" };
    let all = counts.committed + counts.aborted + counts.unknown;
    let seconds = elapsed.as_secs_f64();
    let text = format!(
        "seriatim probe: {all} {what} in {seconds:.1} s, {:.0} a second: {} committed, {} aborted, {} of unknown end; \
         written to {file}\n",
        all as f64 / seconds.max(0.001),
        counts.committed,
        counts.aborted,
        counts.unknown,
    );
    if counts.committed >= FEW {
        return text;
    }
    format!(
        "{text}seriatim probe: warning: fewer than {FEW} {what} were committed, which is too few to find anything but \
         the most common mistakes; try more --seconds or more --clients, and look at what the database waits for\n"
    )
}

/// The flags of the check that follows.
fn check_flags(flags: &Probe) -> Result<Option<crate::flags::Check>, clap::Error> {
    if flags.record_only {
        return Ok(None);
    }
    let mut arguments: Vec<OsString> = ["seriatim", "check"].map(Into::into).into();
    let models = flags.models.as_deref().unwrap_or_else(|| promised(flags));
    arguments.push(format!("--model={models}").into());
    arguments.extend([OsString::from("--"), flags.output.clone().into_os_string()]);
    let (_, matches) = crate::parse(&arguments)?;
    match Flags::from_arg_matches(&matches)?.command {
        Command::Check(flags) => Ok(Some(flags)),
        _ => Ok(None),
    }
}

/// What the database promises.
fn promised(flags: &Probe) -> &'static str {
    match (flags.url.scheme, flags.workload, flags.isolation) {
        (Scheme::Postgres, _, DatabaseIsolation::ReadCommitted) => "read-committed",
        (Scheme::Postgres, _, DatabaseIsolation::RepeatableRead) => "snapshot-isolation",
        (Scheme::Postgres, _, DatabaseIsolation::Serializable) => "serializable",
        (Scheme::Redis | Scheme::Etcd, Workload::Register, _) => "linearizable",
        (Scheme::Redis | Scheme::Etcd, ..) => "strict-serializable",
    }
}

/// Writes the history. The error is an exit status.
fn write(flags: &Probe, report: &ProbeReport) -> Result<(), u8> {
    let format = Format::from_path(&flags.output).unwrap_or(Format::Text);
    let complain = |error: &dyn std::fmt::Display| {
        output::complain(&flags.output, error);
        BAD
    };
    let out = Output::open(Some(&flags.output)).map_err(|error| complain(&error))?;
    let mut writer = Writer::new(out, format);
    let written = writer.write(&report.history).and_then(|()| writer.finish());
    match written.and_then(|out| out.commit().map_err(WriteError::Io)) {
        Ok(()) => Ok(()),
        Err(error) => Err(complain(&error)),
    }
}

#[cfg(test)]
mod tests {
    use probe::Endings;

    use super::*;

    #[test]
    fn the_rate_is_told_and_too_little_is_warned_of() {
        let report = |committed| ProbeReport {
            history: format::parse("[0] begin\n[0] w x 1\n[0] commit\n").unwrap(),
            counts: Endings { committed, aborted: 20, unknown: 0 },
            elapsed: Duration::from_secs(4),
            wrong_sums: 0,
        };
        let few = told(&report(60), "probe.hist");
        assert!(few.starts_with("seriatim probe: 80 transactions in 4.0 s, 20 a second: 60 committed, 20 aborted, "));
        assert!(few.contains("warning: fewer than 1000 transactions were committed"), "{few}");
        let many = told(&report(4980), "probe.hist");
        assert!(many.contains("5000 transactions in 4.0 s, 1250 a second") && !many.contains("warning"), "{many}");
    }
}
