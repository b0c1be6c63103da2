//! `seriatim probe`: runs a workload against a real database, writes the history, and checks it as `check` does.

use std::ffi::OsString;
use std::io::{self, Write};
use std::time::Duration;

use clap::FromArgMatches;
use history::format::{Format, WriteError, Writer};
use history::visible;
use probe::{Config, Isolation, Report, Scheme, Workload};

use crate::flags::{Command, Flags, Probe};
use crate::output::{self, Output};
use crate::{BAD, check};

pub(crate) fn run(flags: &Probe) -> u8 {
    // The models are looked at before the database is, which takes long.
    let checked = match check_flags(flags) {
        Ok(checked) => checked,
        Err(error) => {
            let _ = error.print();
            return BAD;
        }
    };
    let config = Config {
        workload: flags.workload,
        isolation: flags.isolation,
        clients: flags.clients,
        duration: Duration::from_secs(flags.seconds),
        keys: flags.keys,
        length: flags.length,
        writes: flags.writes,
        timeout: Duration::from_secs(flags.timeout),
        seed: flags.seed,
        ..Config::new(flags.url.clone())
    };
    let report = match probe::run(&config) {
        Ok(report) => report,
        Err(error) => {
            let _ = writeln!(io::stderr(), "seriatim probe: {}", visible(&error.to_string()));
            return BAD;
        }
    };
    if let Err(status) = write(flags, &report) {
        return status;
    }
    let Report { history, counts, wrong_sums } = &report;
    let what = if history.is_of_transactions() { "transactions" } else { "operations" };
    let all = counts.committed + counts.aborted + counts.unknown;
    let _ = writeln!(
        io::stderr(),
        "seriatim probe: {all} {what}: {} committed, {} aborted, {} of unknown end; written to {}",
        counts.committed,
        counts.aborted,
        counts.unknown,
        visible(&flags.output.display().to_string()),
    );
    if *wrong_sums > 0 {
        let _ = writeln!(io::stderr(), "seriatim probe: {wrong_sums} reads of all accounts found a wrong sum");
    }
    if history.operations().is_empty() {
        let _ = writeln!(io::stderr(), "seriatim probe: there is nothing to check");
        return BAD;
    }
    checked.map_or(0, |flags| check::run(&flags))
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
        (Scheme::Postgres, _, Isolation::ReadCommitted) => "read-committed",
        (Scheme::Postgres, _, Isolation::RepeatableRead) => "snapshot-isolation",
        (Scheme::Postgres, _, Isolation::Serializable) => "serializable",
        (Scheme::Redis | Scheme::Etcd, Workload::Register, _) => "linearizable",
        (Scheme::Redis | Scheme::Etcd, ..) => "strict-serializable",
    }
}

/// Writes the history. The error is an exit status.
fn write(flags: &Probe, report: &Report) -> Result<(), u8> {
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
