//! The command `seriatim`. The help of its flags ([`flags`]) says what it promises. Each subcommand has its module.

mod book;
mod check;
mod ci;
mod classify;
mod convert;
mod diagnostic;
mod documents;
mod explain;
mod explore;
mod fault;
mod flags;
mod generate;
mod hunt;
mod input;
mod json;
mod kernel;
mod lattice;
mod merge;
mod models;
mod monitor;
mod observe;
mod output;
mod page;
mod panics;
mod pipeline;
mod probe;
mod progress;
mod report;
mod run;
mod runs;
mod shrink;
mod simulate;
mod verify;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{ArgMatches, Args, FromArgMatches};
use flags::{Check, Command, Flags};
use history::visible;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The exit status of bad usage or bad input.
const BAD: u8 = 2;

fn main() -> ExitCode {
    panics::install();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.len() <= 1 {
        // If standard error is closed, there is nobody to tell.
        let _ = io::stderr().write_all(flags::WELCOME.as_bytes());
        return ExitCode::from(BAD);
    }
    let (flags, matches) = match parse(&arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            // The message quotes the arguments, so they are parsed again without characters that cannot be shown.
            let shown: Vec<OsString> =
                arguments.iter().map(|it| visible(&it.to_string_lossy()).as_ref().into()).collect();
            return ExitCode::from(tell(&parse(&shown).err().unwrap_or(error)));
        }
    };
    let status = match flags.command {
        Command::Check(flags) => check::run(&flags),
        Command::Classify(flags) => classify::run(&flags),
        Command::Merge(flags) => merge::run(&flags),
        Command::Verify(flags) => verify::run(&flags),
        Command::Shrink(flags) => shrink::run(&flags),
        Command::Report(flags) => report::run(&flags),
        Command::Explain(flags) => explain::run(&flags),
        Command::Convert(flags) => convert::run(&flags),
        Command::Monitor(flags) => monitor::run(&flags),
        Command::Explore(flags) => explore::run(&flags),
        Command::Run(flags) => run::run(&flags),
        Command::Simulate(flags) => simulate::run(&flags),
        Command::Hunt(flags) => hunt::run(&flags),
        Command::Models(flags) => models::run(&flags),
        Command::Kernel(flags) => kernel::run(&flags),
        Command::Probe(flags) => probe::run(&flags),
        Command::Gen(flags) => generate::run(&flags, &flags::given(&matches)),
        Command::Completions(flags) => documents::completions(&flags),
        Command::Man(flags) => documents::man(&flags),
    };
    ExitCode::from(status)
}

fn parse(arguments: &[OsString]) -> Result<(Flags, ArgMatches), clap::Error> {
    // To describe the flags of all subcommands takes longer than to check a small history. If something is wrong with
    // the flags of `check`, or its help is wanted, the whole description says it.
    if arguments.get(1).is_some_and(|name| name == "check")
        && let check = Check::augment_args(clap::Command::new("check"))
        && let Ok(matches) = clap::Command::new("seriatim").subcommand(check).try_get_matches_from(arguments)
    {
        return Ok((Flags::from_arg_matches(&matches)?, matches));
    }
    let is_short = arguments.iter().take_while(|&argument| argument != "--").any(|argument| argument == "-h");
    let matches = flags::command(is_short).try_get_matches_from(arguments)?;
    Ok((Flags::from_arg_matches(&matches)?, matches))
}

/// Prints what is wrong with the arguments. `clap` also reports the help and the version as errors, which are printed
/// here, too.
fn tell(error: &clap::Error) -> u8 {
    match error.print().and_then(|()| io::stdout().flush()) {
        Err(failed) if !error.use_stderr() => output::write_error(&failed),
        _ => u8::try_from(error.exit_code()).unwrap_or(BAD),
    }
}
