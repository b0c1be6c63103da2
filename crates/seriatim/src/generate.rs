//! `seriatim gen`: random histories of a simulated memory, or ([`runs`]) of a simulated object.
//!
//! Text and JSON Lines, which have a line for each operation, are written as the operations happen, in memory that does
//! not grow with their number. The other formats take one history at a time.

use std::io::{self, Write};

use history::format::{Format, WriteError, Writer};
use history::{History, Object};
use workload::memory::{self, Access, Config, Step};
use workload::random::SplitMix64;

use crate::flags::{Gen, Machine, Order};
use crate::{BAD, output, runs};

pub(crate) fn run(flags: &Gen) -> u8 {
    let Machine::Sc = flags.model;
    let config = Config {
        threads: flags.threads,
        operations: flags.operations,
        locations: flags.locations,
        writes: flags.writes,
        rmws: flags.rmws,
        perturb: flags.perturb,
        seed: flags.seed,
    };
    let run = flags.object.filter(|&object| object != Object::Memory).map(|object| runs::config(flags, object));
    if let Some(fault) = run.as_ref().map_or_else(|| config.fault(), workload::object::Config::misfit) {
        let _ = writeln!(io::stderr(), "seriatim gen: {fault}");
        return BAD;
    }
    let format = flags.format.or_else(|| Format::from_path(flags.output.as_deref()?)).unwrap_or(Format::Text);
    let out = match output::open(flags.output.as_deref()) {
        Ok(out) => out,
        Err(error) => {
            output::complain(flags.output.as_deref().unwrap_or("-".as_ref()), error);
            return BAD;
        }
    };
    let histories = (0..flags.histories).map(|number| Config { seed: seed(flags.seed, number), ..config });
    let written = match (format, run) {
        (_, Some(run)) => {
            let seeds = (0..flags.histories).map(|number| seed(flags.seed, number));
            runs::write(out, format, seeds.map(|seed| workload::object::Config { seed, ..run }))
        }
        (Format::Text, None) => write_lines(out, format, histories, flags.order, text_line),
        (Format::JsonLines, None) => write_lines(out, format, histories, flags.order, json_line),
        (_, None) => write_histories(out, format, histories, flags.order),
    };
    match written {
        Ok(()) => 0,
        Err(WriteError::Io(error)) => output::write_error(&error),
        Err(error) => {
            let _ = writeln!(io::stderr(), "seriatim gen: {error}");
            BAD
        }
    }
}

/// The seed of a history of the run: that of the run for the first.
fn seed(seed: u64, number: u64) -> u64 {
    if number == 0 { seed } else { seed ^ SplitMix64::new(number).next() }
}

fn steps(config: &Config, order: Order) -> Box<dyn Iterator<Item = Step>> {
    match order {
        Order::Interleaved => Box::new(memory::generate(config)),
        Order::Threads => Box::new(memory::thread_by_thread(config)),
    }
}

type WriteLine = fn(&mut dyn Write, Step) -> io::Result<()>;

fn write_lines(
    mut out: Box<dyn Write>,
    format: Format,
    histories: impl Iterator<Item = Config>,
    order: Order,
    write_line: WriteLine,
) -> Result<(), WriteError> {
    let headers = [headers(format, 1)?, headers(format, 2)?.split_off(headers(format, 1)?.len())];
    for (number, config) in histories.enumerate() {
        out.write_all(&headers[number.min(1)])?;
        for step in steps(&config, order) {
            write_line(&mut out, step)?;
        }
    }
    Ok(out.flush()?)
}

/// So many histories without operations: what stands before and between the operations of histories.
fn headers(format: Format, count: usize) -> Result<Vec<u8>, WriteError> {
    let mut writer = Writer::new(Vec::new(), format);
    for _ in 0..count {
        writer.write(&History::default())?;
    }
    writer.finish()
}

fn text_line(out: &mut dyn Write, Step { thread, location, access }: Step) -> io::Result<()> {
    let location = memory::location_name(location);
    match access {
        Access::Read(value) => writeln!(out, "[{thread}] r {location} {value}"),
        Access::Write(value) => writeln!(out, "[{thread}] w {location} {value}"),
        Access::Rmw { read, written } => writeln!(out, "[{thread}] u {location} {read} {written}"),
    }
}

fn write_histories(
    out: Box<dyn Write>,
    format: Format,
    histories: impl Iterator<Item = Config>,
    order: Order,
) -> Result<(), WriteError> {
    let mut writer = Writer::new(out, format);
    for config in histories {
        writer.write(&memory::history(&config, steps(&config, order)))?;
    }
    writer.finish().map(drop)
}

fn json_line(out: &mut dyn Write, Step { thread, location, access }: Step) -> io::Result<()> {
    let location = memory::location_name(location);
    let (method, value) = match access {
        Access::Read(value) => ("r", value.to_string()),
        Access::Write(value) => ("w", value.to_string()),
        Access::Rmw { read, written } => ("u", format!("[{read},{written}]")),
    };
    writeln!(out, r#"{{"process":{thread},"f":"{method}","key":"{location}","value":{value}}}"#)
}
