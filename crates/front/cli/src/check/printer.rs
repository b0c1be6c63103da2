//! Where the printouts of a run go, in the order of the input: the terminal, and the files of `--junit`,
//! `--certificate` and the like.

use std::fs::File;
use std::io::{self, BufWriter, Stdout, Write};
use std::ops::ControlFlow;
use std::time::Instant;

use super::Tally;
use super::job::{PLAIN_ORDERS, Printout};
use crate::book::{Book, PageEntry};
use crate::ci::Junit;
use crate::output;
use crate::progress::Progress;

/// Prints, counts, and ends with an exit status.
pub(crate) struct Printer<'a> {
    /// The name of the command.
    command: &'static str,
    pub(super) progress: &'a Progress,
    pub(super) certificates: Option<BufWriter<File>>,
    pub(super) book: Option<Book>,
    pub(super) junit: Option<Junit>,
    pub(super) is_quiet: bool,
    /// Whether the first violation ends the run.
    pub(super) only_first: bool,
    /// Whether only the smallest violation is printed; the one so far.
    smallest: Option<Smallest>,
    stdout: BufWriter<Stdout>,
    total: Tally,
    is_noted: bool,
    written: io::Result<()>,
    began: Instant,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(command: &'static str, progress: &'a Progress, [is_quiet, first, smallest]: [bool; 3]) -> Self {
        Self {
            command,
            progress,
            certificates: None,
            book: None,
            junit: None,
            is_quiet,
            only_first: first,
            smallest: smallest.then(Smallest::default),
            stdout: BufWriter::with_capacity(1 << 16, io::stdout()),
            total: Tally::default(),
            is_noted: false,
            written: Ok(()),
            began: Instant::now(),
        }
    }

    /// Prints what is to be printed about one input; `more` if the next is there already. Breaks if nothing more is
    /// wanted, or can be written.
    pub(crate) fn print(&mut self, mut told: Printout, more: bool) -> ControlFlow<()> {
        self.total.add(told.tally);
        if told.plain_orders && !std::mem::replace(&mut self.is_noted, true) {
            told.err.insert_str(0, &format!("seriatim {}: {PLAIN_ORDERS}", self.command));
        }
        let total = self.total;
        self.progress.tell(total.histories, || total.text());
        let is_over = self.only_first && told.tally.violations > 0;
        self.written = self.write(told, more);
        if is_over || self.written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn write(&mut self, mut told: Printout, more: bool) -> io::Result<()> {
        if let Some(junit) = &mut self.junit {
            junit.add(&told.cases)?;
        }
        if let Some(smallest) = &mut self.smallest {
            told = smallest.offer(told);
        }
        self.write_out(told, more)
    }

    fn write_out(&mut self, mut told: Printout, more: bool) -> io::Result<()> {
        let pages = std::mem::take(&mut told.pages);
        if let Some(book) = &mut self.book {
            book.add(pages)?;
        }
        self.progress.suspend(|| told.write(&mut self.stdout, self.certificates.as_mut(), more))
    }

    /// Ends everything that was written. Returns the exit status.
    pub(crate) fn finish(mut self) -> u8 {
        self.progress.finish();
        let violations = match self.total.violations {
            1 => "; 1 violation".to_owned(),
            count => format!("; {count} violations"),
        };
        if output::tell_skipped(self.command, self.total.skipped, self.total.histories, &violations) {
            self.total.bad += 1;
        }
        match std::mem::replace(&mut self.written, Ok(())).and_then(|()| self.end()) {
            Ok(()) => self.total.status(),
            Err(error) => output::write_error(&error),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        if let Some(smallest) = self.smallest.take() {
            match smallest.told {
                Some(told) => self.write_out(told, false)?,
                None if self.is_quiet => {}
                None => {
                    let Tally { histories, unknown, .. } = self.total;
                    let what = format!("no violation found in {histories} histories; {unknown} verdicts are unknown");
                    // If standard error is closed, there is nobody to tell.
                    let _ = writeln!(io::stderr(), "seriatim {}: {what}", self.command);
                }
            }
        }
        self.book.take().map_or(Ok(()), Book::bind)?;
        self.junit.take().map_or(Ok(()), |junit| junit.finish(self.began.elapsed()))?;
        self.stdout.flush()?;
        self.certificates.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// The violating history with the fewest operations so far, of several the first.
#[derive(Default)]
struct Smallest {
    told: Option<Printout>,
}

impl Smallest {
    /// Keeps the printout of a history if it is the smallest violating one so far. Returns the part that is to be
    /// printed at once: what is wrong with the input.
    fn offer(&mut self, mut told: Printout) -> Printout {
        let err = std::mem::take(&mut told.err);
        let faults = std::mem::take(&mut told.faults);
        let is_smaller = self.told.as_ref().is_none_or(|smallest| told.operations < smallest.operations);
        let passed = if told.tally.violations > 0 && is_smaller { self.told.replace(told) } else { Some(told) };
        // The index of the run counts what is passed over, too, but there is no page of it.
        let pages = passed.map(|told| told.pages).unwrap_or_default().into_iter().map(PageEntry::without_page);
        Printout { err, faults, pages: pages.collect(), ..Printout::default() }
    }
}
