//! One stream of events, and the verdicts on its histories.
//!
//! A stream holds one history or several. Each has a monitor of its own. A history ends at its separator or at the end
//! of the stream. After a violation, its other events are read but not monitored, unless `--keep-going` is set. A bad
//! line ends its history without a verdict. If the monitor panics, the verdict of its history is `unknown`, and the
//! stream goes on.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::Duration;

use model::{Evidence, Model, Verdict};

use format::stream::{Item, NotAStream, Stream, StreamEvent};
use format::{Format, InputError, ReadOptions, read};
use history::{History, MemoryOrder, visible};
use monitor::{Progress, Violation};
use serde::{Deserialize, Serialize};
use serde_json::json;
use seriatim::{Options, Wanted, Watch, check};

use super::certify::certify;
use super::drawn::{Drawn, draw};
use super::record::Record;
use crate::check::{PLAIN_ORDERS, Tally};
use crate::fault::Fault;
use crate::flags::Monitor;
use crate::json;
use crate::output::Palette;
use crate::panics;

/// How long it may take to find out why the events of a window are a violation.
const EXPLAINING: Duration = Duration::from_secs(5);

/// What a session needs from outside.
pub(super) struct Context<'a> {
    pub(super) flags: &'a Monitor,
    /// The name of the stream in messages.
    pub(super) label: &'a str,
    pub(super) out: Palette,
    pub(super) err: Palette,
    pub(super) record: &'a mut Record,
    /// Whether the stream has no end, so that the run does not wait for it after a violation.
    pub(super) is_endless: bool,
}

/// Text to be printed: to standard output, to standard error, and to the file of the certificates; and the violations
/// that it tells, as data.
#[derive(Default)]
pub(super) struct Messages {
    pub(super) out: String,
    pub(super) err: String,
    pub(super) certificates: String,
    pub(super) found: Vec<Found>,
}

/// A violation that was found.
#[derive(Serialize)]
pub(super) struct Found {
    pub(super) history: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) model: &'static str,
    /// The event that made it certain, counted from one; its line in the stream; and its text.
    pub(super) at: u64,
    pub(super) line: u64,
    pub(super) event: String,
    pub(super) reason: String,
    #[serde(skip)]
    pub(super) drawing: Option<Drawn>,
}

/// The state of the current history.
#[derive(Serialize, Deserialize)]
enum State {
    Watched,
    /// A violation was reported.
    Violated,
    /// The monitor has given up, for this reason.
    GivenUp(String),
    /// The history had a bad line.
    Bad,
}

/// A session: one stream and its current history. See the module.
#[derive(Serialize, Deserialize)]
pub(super) struct Session {
    stream: Stream,
    watch: Option<Watch>,
    state: State,
    /// The number of the current history, counted from zero.
    history: u64,
    /// How many of its events were read.
    events: u64,
    /// How many events of all histories were read.
    total: u64,
    /// How many bytes of the stream were read, and how many of them are before the current history.
    offset: u64,
    start: u64,
    /// How many lines come before the current history.
    lines: u64,
    /// The name of the current history.
    name: Option<String>,
    /// Whether a violation of the current history was reported.
    is_violated: bool,
    /// Whether the text of the current history is recorded. It is recorded up to the first violation, or up to a bad
    /// line.
    is_recorded: bool,
    /// The length of the record before the current history.
    recorded: u64,
    tally: Tally,
    /// How many histories were consistent.
    consistent: u64,
    /// Whether the user was told how `rc20` treats operations without a memory order.
    is_noted: bool,
}

impl Session {
    pub(super) fn new(options: &ReadOptions) -> Result<Self, NotAStream> {
        Ok(Self {
            stream: Stream::new(options)?,
            watch: None,
            state: State::Watched,
            history: 0,
            events: 0,
            total: 0,
            offset: 0,
            start: 0,
            lines: 0,
            name: None,
            is_violated: false,
            is_recorded: true,
            recorded: 0,
            tally: Tally::default(),
            consistent: 0,
            is_noted: false,
        })
    }

    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// How many histories were consistent.
    pub(super) fn consistent(&self) -> u64 {
        self.consistent
    }

    /// The size of the state in bytes, as a checkpoint would hold it.
    pub(super) fn size(&self) -> u64 {
        let size = postcard::serialize_with_flavor(self, postcard::ser_flavors::Size::default());
        size.map_or(0, |size| size as u64)
    }

    /// The stream cannot be read any further, and its current history has no verdict.
    pub(super) fn fail(&mut self) {
        self.tally.bad += 1;
        self.state = State::Bad;
    }

    /// Decides nothing more about the current history, for this reason, and forgets what was seen of it.
    pub(super) fn give_up(&mut self, reason: String) {
        self.watch = None;
        if matches!(self.state, State::Watched) {
            self.state = State::GivenUp(reason);
        }
    }

    /// How many events were read.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Whether the stream was empty so far.
    pub(super) fn is_untouched(&self) -> bool {
        self.total == 0 && self.history == 0 && self.tally.bad == 0
    }

    /// Takes in whole lines. Breaks if the run ends before the stream does.
    pub(super) fn take(&mut self, context: &mut Context, lines: &[u8], messages: &mut Messages) -> ControlFlow<()> {
        let start = self.offset;
        // The bytes of `lines` before this offset are recorded already, if they must be.
        let mut recorded = 0;
        loop {
            match panics::catch_noted(|| self.take_from(start, context, lines, &mut recorded, messages)) {
                Ok(flow) => return flow,
                Err(reason) => self.panicked(context, reason, messages),
            }
        }
    }

    /// Ends the monitor of the current history, which panicked at the event that was read last.
    fn panicked(&mut self, context: &Context, reason: String, messages: &mut Messages) {
        let _ = writeln!(messages.err, "{}: the monitor stops: {}", self.name(context), visible(&reason));
        self.watch = None;
        self.state = State::GivenUp(reason);
    }

    /// Takes in the lines that are left: those from [`Self::offset`] on. `start` is the offset of the first line. If
    /// the monitor panics, the offset is behind the event at which it did.
    fn take_from(
        &mut self,
        start: u64,
        context: &mut Context,
        lines: &[u8],
        recorded: &mut usize,
        messages: &mut Messages,
    ) -> ControlFlow<()> {
        let mut rest = &lines[(self.offset - start) as usize..];
        loop {
            let before = rest;
            let Some(item) = self.stream.next(&mut rest) else { break };
            let at = lines.len() - rest.len();
            self.offset = start + at as u64;
            let line = || last_line(&before[..before.len() - rest.len()]);
            match item {
                Ok(Item::Event(event)) => {
                    self.events += 1;
                    self.total += 1;
                    if !matches!(self.state, State::Watched) {
                        continue;
                    }
                    match self.push(context, &event, messages) {
                        Ok(Progress::Possible) => continue,
                        Ok(Progress::GaveUp(reason)) => {
                            self.state = State::GivenUp(reason);
                            continue;
                        }
                        Ok(Progress::Refused(message)) => {
                            let line_number = event_line(&self.stream);
                            let text = line();
                            let error = InputError { line: line_number, column: 1, text, message, expected: None };
                            self.bad(context, &error, messages);
                        }
                        Err(violation) => {
                            self.record(context, &lines[*recorded..at], messages);
                            *recorded = at;
                            self.violation(context, &violation, &line(), messages);
                            self.is_recorded = false;
                            if context.flags.keep_going {
                                continue;
                            }
                            self.state = State::Violated;
                        }
                    }
                }
                Ok(Item::End) => {
                    if self.is_recorded {
                        self.record(context, &lines[*recorded..at], messages);
                    } else if self.stream.format() == Some(Format::Text) {
                        self.is_recorded = true;
                        self.record(context, b"---\n", messages);
                    }
                    *recorded = at;
                    self.end(context, messages);
                    continue;
                }
                Err(_) if matches!(self.state, State::Violated) => continue,
                Err(error) => self.bad(context, &error, messages),
            }
            self.record(context, &lines[*recorded..at], messages);
            self.is_recorded = false;
            if context.is_endless && !context.flags.keep_going {
                return ControlFlow::Break(());
            }
        }
        self.offset = start + lines.len() as u64;
        self.record(context, &lines[*recorded..], messages);
        ControlFlow::Continue(())
    }

    /// Ends the stream. `cut` is the beginning of a line that did not end; it is not checked.
    pub(super) fn finish(&mut self, context: &mut Context, cut: &[u8], messages: &mut Messages) {
        if !cut.is_empty() {
            let _ = writeln!(
                messages.err,
                "{}: the stream was cut in the middle of line {}: `{}` is not looked at",
                visible(context.label),
                self.stream.line(),
                visible(&String::from_utf8_lossy(&cut[..cut.len().min(80)]))
            );
        }
        if self.stream.is_begun() {
            self.end(context, messages);
        }
    }

    fn record(&mut self, context: &mut Context, bytes: &[u8], messages: &mut Messages) {
        if self.is_recorded
            && let Err(error) = context.record.append(bytes)
        {
            self.is_recorded = false;
            self.tally.bad += 1;
            let _ = writeln!(messages.err, "{}: the stream cannot be recorded: {error}", visible(context.label));
        }
    }

    fn push(&mut self, context: &Context, event: &StreamEvent, messages: &mut Messages) -> Result<Progress, Violation> {
        let watch = match &mut self.watch {
            Some(watch) => watch,
            none => match Watch::new(wanted(context.flags), &self.stream, event) {
                Ok(watch) => {
                    self.name = self.stream.history().name().map(str::to_owned);
                    none.insert(watch)
                }
                Err(message) => return Ok(Progress::Refused(message)),
            },
        };
        if watch.model() == Model::Rc20
            && event.operation.order == MemoryOrder::Plain
            && !std::mem::replace(&mut self.is_noted, true)
        {
            messages.err.push_str("seriatim monitor: ");
            messages.err.push_str(PLAIN_ORDERS);
        }
        panics::noted(|| watch.push(event, &self.stream))
    }

    /// `FILE` or `FILE#k`, for messages.
    fn name(&self, context: &Context) -> String {
        let label = visible(context.label);
        if self.history == 0 { label.into_owned() } else { format!("{label}#{}", self.history) }
    }

    fn model(&self, context: &Context) -> Model {
        self.watch.as_ref().map(Watch::model).or(context.flags.model).unwrap_or(Model::Linearizable)
    }

    /// Reports a bad line of the current history.
    fn bad(&mut self, context: &Context, error: &InputError, messages: &mut Messages) {
        let number = u32::try_from(self.history).unwrap_or(u32::MAX);
        let fault = Fault::of_line(context.label.into(), number, error.clone());
        messages.err.push_str(&fault.text(context.err));
        if context.flags.json {
            messages.out.push_str(&fault.json());
        }
        self.tally.bad += 1;
        self.state = State::Bad;
    }

    fn violation(&mut self, context: &mut Context, violation: &Violation, line: &str, messages: &mut Messages) {
        let model = self.model(context);
        self.tally.violations += 1;
        self.is_violated = true;
        let number = u32::try_from(self.history).ok();
        let mut certificate = None;
        // A certificate is about the history up to its first violation.
        if let (true, true, Some(number)) = (context.flags.certificate.is_some(), self.is_recorded, number) {
            let certified = self
                .recorded(context)
                .and_then(|history| {
                    panics::catch(|| certify(history, model, number, violation.evidence.as_deref())).unwrap_or_else(Err)
                })
                .map(|(history, certificate)| (history.after_lines(self.lines), certificate));
            match certified {
                Ok(certified) => certificate = Some(certified),
                Err(why) => {
                    let _ =
                        writeln!(messages.err, "{}: there is no certificate: {}", self.name(context), visible(&why));
                }
            }
        }
        let part = if certificate.is_none() { self.explained(model) } else { None };
        let line_number = self.stream.line() - 1;
        if context.flags.metrics.is_some() || context.flags.log.is_some() {
            let history =
                certificate.as_ref().map(|(history, _)| history).or(part.as_ref().map(|(history, _)| history));
            messages.found.push(Found {
                history: self.history,
                name: self.name.clone(),
                model: model.name(),
                at: self.events,
                line: line_number,
                event: line.to_owned(),
                reason: violation.reason.clone(),
                drawing: self.draw(context, history, model),
            });
        }
        let certified = certificate.as_ref().map(|(history, certificate)| (history, &certificate.evidence));
        let shown = certified.or(part.as_ref().map(|(history, evidence)| (history, evidence)));
        let json = certificate.as_ref().map(|(history, certificate)| certificate.to_json(history));
        if let Some(json) = &json {
            messages.certificates.push_str(json);
            messages.certificates.push('\n');
        }
        if context.flags.json {
            let mut object = json!({
                "file": context.label, "history": self.history, "model": model.name(), "verdict": "violation",
                "events": self.events, "at": self.events, "line": line_number, "event": line,
                "reason": violation.reason,
            });
            if let Some(name) = &self.name {
                object["name"] = json!(name);
            }
            if let Some((history, evidence)) = shown {
                object["explanation"] = json!(json::explanation(history, model, evidence));
            }
            messages.out.push_str(&json::line_with(&object, json.as_deref()));
            return;
        }
        let verdict = context.out.verdict(Verdict::Violation);
        let _ = writeln!(messages.out, "{}: {model}: {verdict} at event {}", self.name(context), self.events);
        if let Some(name) = &self.name {
            let _ = writeln!(messages.out, "  name: {}", visible(name));
        }
        let _ = writeln!(messages.out, "  line {line_number}  {}", visible(line));
        if certificate.is_none() {
            let _ = writeln!(messages.out, "  {}", visible(&violation.reason));
        }
        for line in shown.into_iter().flat_map(|(history, evidence)| report::explain(history, model, evidence)) {
            let _ = writeln!(messages.out, "  {}", context.out.line(&line));
        }
    }

    /// The events in which a monitor of a window has found a violation, and why they are one.
    fn explained(&self, model: Model) -> Option<(History, Evidence)> {
        let part = self.watch.as_ref()?.violating(&self.stream)?;
        let options = Options::default().timeout(EXPLAINING);
        let decision = panics::catch(|| check(&part, model, &options)).ok()?.ok()?;
        let evidence = decision.evidence.filter(|_| decision.verdict == Verdict::Violation)?;
        Some((part, evidence))
    }

    /// The recorded text of the current history, read.
    fn recorded(&self, context: &mut Context) -> Result<History, String> {
        let options = ReadOptions {
            format: self.stream.format(),
            object: Some(self.stream.history().object()),
            initial: context.flags.reading.initial.clone(),
            ..ReadOptions::default()
        };
        let text =
            context.record.history(self.recorded, [self.start, self.offset]).map_err(|error| error.to_string())?;
        read(text, &options).next().ok_or("nothing was recorded")?.map_err(|error| error.to_string())
    }

    /// The drawing of a violation for the page of `--metrics`: of a history that is at hand, or of the recorded text.
    fn draw(&self, context: &mut Context, history: Option<&History>, model: Model) -> Option<Drawn> {
        context.flags.metrics.as_ref()?;
        let recorded = match history {
            None if self.is_recorded && context.record.is_to_draw() => {
                Some(self.recorded(context).ok()?.after_lines(self.lines))
            }
            _ => None,
        };
        let history = history.or(recorded.as_ref())?;
        panics::catch(|| draw(history, model, EXPLAINING)).ok()?
    }

    /// Ends the current history.
    fn end(&mut self, context: &mut Context, messages: &mut Messages) {
        if let (State::Watched, Some(watch)) = (&self.state, &mut self.watch)
            && let Err(violation) = panics::noted(|| watch.finish())
        {
            self.violation(context, &violation, "the end of the stream", messages);
        }
        let state = std::mem::replace(&mut self.state, State::Watched);
        let reason = match &state {
            State::GivenUp(reason) => Some(reason.as_str()),
            _ => self.watch.as_ref().and_then(Watch::doubt),
        };
        // A violation was reported when it was found.
        let is_violated = std::mem::take(&mut self.is_violated);
        let is_clean = !is_violated && matches!(state, State::Watched | State::GivenUp(_));
        if is_clean {
            self.report_end(context, reason, messages);
        }
        self.tally.histories += 1;
        self.tally.unknown += u64::from(is_clean && reason.is_some());
        self.consistent += u64::from(is_clean && reason.is_none());
        self.history += 1;
        self.events = 0;
        self.watch = None;
        self.name = None;
        self.start = self.offset;
        self.lines = self.stream.line() - 1;
        self.is_recorded = context.record.begin().is_ok();
        self.recorded = context.record.length();
    }

    /// Reports the verdict at the end of a history: `consistent`, or `unknown` with a reason.
    fn report_end(&self, context: &Context, reason: Option<&str>, messages: &mut Messages) {
        let model = self.model(context);
        let verdict = if reason.is_some() { Verdict::Unknown } else { Verdict::Consistent };
        if context.flags.json {
            let mut object = json!({
                "file": context.label, "history": self.history, "model": model.name(), "verdict": verdict.name(),
                "events": self.events,
            });
            if let Some(reason) = reason {
                object["reason"] = reason.into();
            }
            if let Some(name) = &self.name {
                object["name"] = json!(name);
            }
            messages.out.push_str(&json::line(&object));
            return;
        }
        let _ = writeln!(messages.out, "{}: {model}: {}", self.name(context), context.out.verdict(verdict));
        if let Some(reason) = reason {
            let _ = writeln!(messages.out, "  {}", visible(reason));
        }
    }
}

/// The monitor that the flags ask for.
fn wanted(flags: &Monitor) -> Wanted {
    Wanted { model: flags.model, algorithm: flags.algorithm, threads: flags.threads, window: flags.window }
}

/// The last line of `read`, which is the line of the current event.
fn last_line(read: &[u8]) -> String {
    let read = read.trim_ascii_end();
    let start = read.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    String::from_utf8_lossy(&read[start..]).trim().to_owned()
}

/// The number of the line that was just read, in 32 bits, as errors carry it.
fn event_line(stream: &Stream) -> u32 {
    u32::try_from(stream.line() - 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::flags::{Command, Flags};
    use crate::panics::tests::note_panics;

    /// A panic of the monitor is the end of that monitor, and not of the stream.
    #[test]
    fn a_panic_makes_its_history_unknown_and_the_stream_goes_on() {
        note_panics();
        let flags = Flags::parse_from(["seriatim", "monitor", "--model", "sc-observed"]);
        let Command::Monitor(flags) = flags.command else { panic!("it is the monitor") };
        let mut record = Record::open(&flags, None, 0).unwrap();
        let (out, err) = (Palette::stdout(), Palette::stderr());
        let mut context = Context { flags: &flags, label: "s", out, err, record: &mut record, is_endless: false };
        let mut session = Session::new(&ReadOptions::default()).unwrap();
        let mut messages = Messages::default();
        assert!(session.take(&mut context, b"[0] w x 1\n", &mut messages).is_continue());
        // A monitor whose data contradict each other, so that the next event is too much for it.
        let mut saved = serde_json::to_value(&session.watch).unwrap();
        saved["ScObserved"]["locations"] = json!([[1000, 1000]]);
        session.watch = serde_json::from_value(saved).unwrap();
        let rest = b"[0] w x 2\n[0] w x 3\n---\n[0] w x 1\n[1] w x 2\n";
        assert!(session.take(&mut context, rest, &mut messages).is_continue());
        session.finish(&mut context, b"", &mut messages);
        let lines: Vec<&str> = messages.out.lines().collect();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert_eq!((lines[0], lines[2]), ("s: sc-observed: unknown", "s#1: sc-observed: consistent"));
        assert!(lines[1].starts_with("  this is a bug in seriatim: "), "{lines:?}");
        assert!(messages.err.starts_with("s: the monitor stops: this is a bug in seriatim: "), "{}", messages.err);
        assert_eq!((session.tally().histories, session.tally().unknown, session.total()), (2, 1, 5));
    }
}
