//! Writes histories as traces of [Perfetto](https://ui.perfetto.dev), a viewer for huge timelines: a track for each
//! process, a slice for each operation, and an arrow from each write to the reads that returned it.
//!
//! A trace is a sequence of packets in the encoding of protocol buffers. Each packet is written as soon as it is made,
//! so the writer needs no more room than one packet. If the history has times, they are taken as nanoseconds; otherwise
//! every event takes a microsecond. An operation that never returned has no end: Perfetto shows it so.

use std::io::{self, Write};

use format::render_action;
use history::{EventId, Execution, History, KeyId, OperationId, Outcome, visible};

/// Fields of `TracePacket`, `TrackDescriptor`, `TrackEvent` and `DebugAnnotation`, by their names there.
mod field {
    pub(super) const PACKET: u32 = 1;
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const TRUSTED_PACKET_SEQUENCE_ID: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const SEQUENCE_FLAGS: u32 = 13;
    pub(super) const TRACK_DESCRIPTOR: u32 = 60;

    pub(super) const UUID: u32 = 1;
    pub(super) const TRACK_NAME: u32 = 2;
    pub(super) const PARENT_UUID: u32 = 5;

    pub(super) const DEBUG_ANNOTATIONS: u32 = 4;
    pub(super) const TYPE: u32 = 9;
    pub(super) const TRACK_UUID: u32 = 11;
    pub(super) const CATEGORIES: u32 = 22;
    pub(super) const NAME: u32 = 23;
    pub(super) const FLOW_IDS: u32 = 47;
    pub(super) const TERMINATING_FLOW_IDS: u32 = 48;

    pub(super) const INT_VALUE: u32 = 4;
    pub(super) const STRING_VALUE: u32 = 6;
    pub(super) const ANNOTATION_NAME: u32 = 10;
}

/// The values of `TrackEvent.Type`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;

/// How many nanoseconds an event takes where no times are known.
const EVENT: u64 = 1000;

/// A message of protocol buffers.
#[derive(Default)]
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    fn fixed(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3 | 1);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn block(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u32, text: &str) {
        self.block(field, visible(text).as_bytes());
    }
}

/// Writes histories as one trace.
///
/// ```
/// use history::History;
/// use report::perfetto::TraceWriter;
///
/// let mut writer = TraceWriter::new(Vec::new());
/// writer.write(&format::parse("[0] call enqueue 1\n[0] return\n")?)?;
/// let trace = writer.finish()?;
/// // Each packet is field 1 of the trace.
/// assert_eq!(trace[0], 0x0a);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TraceWriter<W: Write> {
    out: W,
    /// How many histories were written.
    count: u64,
    /// Where the tracks of the next history begin.
    track: u64,
    /// Where the flows of the next history begin.
    flow: u64,
}

impl<W: Write> TraceWriter<W> {
    /// A writer that has written nothing.
    pub fn new(out: W) -> Self {
        Self { out, count: 0, track: 1, flow: 1 }
    }

    /// Writes a history. Each history is a group of tracks.
    pub fn write(&mut self, history: &History) -> io::Result<()> {
        let group = self.track;
        let name = history.name().map_or_else(|| format!("history {}", self.count), ToOwned::to_owned);
        self.describe(group, None, &format!("{name} ({})", history.object_name()))?;
        for process in 0..history.processes().len() as u32 {
            let name = history.process_name(history::ProcessId(process));
            self.describe(group + 1 + u64::from(process), Some(group), &name)?;
        }
        let sources = sources(history);
        let is_read: Vec<bool> = {
            let mut is_read = vec![false; history.operations().len()];
            for &source in sources.iter().flatten() {
                is_read[source.index()] = true;
            }
            is_read
        };
        let clock = Clock::new(history);
        for event in history.events() {
            let id = event.operation();
            let operation = history.operation(id);
            let track = group + 1 + u64::from(operation.process.0);
            let (begin, end) = clock.moments(history, id);
            let is_call = matches!(event, history::HistoryEvent::Call(_));
            let is_return = !is_call && operation.outcome != Outcome::Instant;
            if !is_return {
                let mut packet = slice(track, SLICE_BEGIN);
                packet.text(field::NAME, &render_action(history, id));
                packet.text(field::CATEGORIES, outcome(operation.outcome));
                annotate(&mut packet, history, id);
                if is_read[id.index()] {
                    packet.fixed(field::FLOW_IDS, self.flow + u64::from(id.0));
                }
                if let Some(source) = sources.get(id.index()).copied().flatten() {
                    packet.fixed(field::TERMINATING_FLOW_IDS, self.flow + u64::from(source.0));
                }
                self.packet(begin, &packet)?;
            }
            if is_return || operation.outcome == Outcome::Instant {
                self.packet(end, &slice(track, SLICE_END))?;
            }
        }
        self.count += 1;
        self.track = group + 1 + history.processes().len() as u64;
        self.flow += history.operations().len() as u64;
        Ok(())
    }

    /// Ends the trace.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn describe(&mut self, track: u64, parent: Option<u64>, name: &str) -> io::Result<()> {
        let mut descriptor = Message::default();
        descriptor.number(field::UUID, track);
        descriptor.text(field::TRACK_NAME, name);
        if let Some(parent) = parent {
            descriptor.number(field::PARENT_UUID, parent);
        }
        let mut packet = Message::default();
        packet.number(field::TRUSTED_PACKET_SEQUENCE_ID, 1);
        if track == 1 {
            // The first packet of the sequence: nothing came before it.
            packet.number(field::SEQUENCE_FLAGS, 1);
        }
        packet.block(field::TRACK_DESCRIPTOR, &descriptor.bytes);
        self.put(&packet)
    }

    fn packet(&mut self, at: u64, event: &Message) -> io::Result<()> {
        let mut packet = Message::default();
        packet.number(field::TIMESTAMP, at);
        packet.number(field::TRUSTED_PACKET_SEQUENCE_ID, 1);
        packet.block(field::TRACK_EVENT, &event.bytes);
        self.put(&packet)
    }

    fn put(&mut self, packet: &Message) -> io::Result<()> {
        let mut head = Message::default();
        head.varint(u64::from(field::PACKET) << 3 | 2);
        head.varint(packet.bytes.len() as u64);
        self.out.write_all(&head.bytes)?;
        self.out.write_all(&packet.bytes)
    }
}

fn slice(track: u64, kind: u64) -> Message {
    let mut event = Message::default();
    event.number(field::TYPE, kind);
    event.number(field::TRACK_UUID, track);
    event
}

const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Instant | Outcome::Ok => "ok",
        Outcome::Fail => "fail",
        Outcome::Info | Outcome::Pending => "pending",
    }
}

/// Says of a slice on which line the operation stands, and on which key it is.
fn annotate(event: &mut Message, history: &History, id: OperationId) {
    let operation = history.operation(id);
    let mut line = Message::default();
    line.text(field::ANNOTATION_NAME, "line");
    line.number(field::INT_VALUE, u64::from(operation.line));
    event.block(field::DEBUG_ANNOTATIONS, &line.bytes);
    if operation.key != KeyId::NONE {
        let mut key = Message::default();
        key.text(field::ANNOTATION_NAME, "key");
        key.text(field::STRING_VALUE, &history.key_name(operation.key));
        event.block(field::DEBUG_ANNOTATIONS, &key.bytes);
    }
}

/// The write that each read returned, as far as it is known and is no initial value. Empty if the history is not one of
/// a memory.
fn sources(history: &History) -> Vec<Option<OperationId>> {
    let Ok(execution) = Execution::from_history(history) else { return Vec::new() };
    let count = history.operations().len();
    let mut sources = vec![None; count];
    let source = |id: EventId| execution.event(id).source;
    for id in execution.ids().filter(|&id| source(id).is_event()) {
        let [read, write] = [id, source(id)].map(|id| execution.operation(id));
        // Reads of final values stand beyond the history.
        if read.index() < count && write.index() < count {
            sources[read.index()] = Some(write);
        }
    }
    sources
}

/// When events happen.
struct Clock {
    /// The first time of the history, if it has times for all events.
    first: Option<i64>,
}

impl Clock {
    fn new(history: &History) -> Self {
        let is_known = |(&[call, ret], operation): (&[Option<i64>; 2], &history::Operation)| {
            let ends = operation.outcome != Outcome::Pending;
            call.is_some() && (!ends || ret.is_some() || operation.outcome == Outcome::Instant)
        };
        let times = history.times();
        let all = times.len() == history.operations().len() && times.iter().zip(history.operations()).all(is_known);
        let first = times.iter().filter_map(|times| times[0]).min().filter(|_| all);
        Self { first }
    }

    /// The begin and the end of an operation, in nanoseconds.
    fn moments(&self, history: &History, id: OperationId) -> (u64, u64) {
        if let Some(first) = self.first {
            let [call, ret] = history.times()[id.index()];
            let since = |time: i64| time.saturating_sub(first).max(0) as u64;
            let begin = since(call.unwrap_or(first));
            return (begin, ret.map_or(begin + EVENT, since));
        }
        let [begin, end] = match history.moments().get(id.index()) {
            Some(&moments) => moments,
            None => [id.0, id.0],
        };
        let begin = u64::from(begin) * EVENT;
        let is_instant = history.operation(id).outcome == Outcome::Instant;
        (begin, if is_instant { begin + EVENT } else { u64::from(end) * EVENT })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field of a message: its number, and its value or its bytes.
    #[derive(Debug, PartialEq)]
    enum Part<'a> {
        Number(u64),
        Bytes(&'a [u8]),
    }

    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (&byte, rest) = bytes.split_first().expect("a number does not end in its middle");
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }

    /// Reads a message again.
    fn parts(mut bytes: &[u8]) -> Vec<(u32, Part<'_>)> {
        let mut parts = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let part = match key & 7 {
                0 => Part::Number(varint(&mut bytes)),
                1 => {
                    let (value, rest) = bytes.split_first_chunk().expect("eight bytes");
                    bytes = rest;
                    Part::Number(u64::from_le_bytes(*value))
                }
                2 => {
                    let length = varint(&mut bytes) as usize;
                    let (block, rest) = bytes.split_at(length);
                    bytes = rest;
                    Part::Bytes(block)
                }
                other => panic!("wire type {other}"),
            };
            parts.push(((key >> 3) as u32, part));
        }
        parts
    }

    fn number(parts: &[(u32, Part<'_>)], field: u32) -> Option<u64> {
        parts.iter().find_map(|(of, part)| match part {
            Part::Number(value) if *of == field => Some(*value),
            _ => None,
        })
    }

    fn text<'a>(parts: &[(u32, Part<'a>)], field: u32) -> Option<&'a str> {
        parts.iter().find_map(|(of, part)| match part {
            Part::Bytes(bytes) if *of == field => std::str::from_utf8(bytes).ok(),
            _ => None,
        })
    }

    /// What a viewer would see: the tracks by name, and the slices as name, track, begin and end.
    fn seen(history: &str) -> (Vec<String>, Vec<String>) {
        let mut writer = TraceWriter::new(Vec::new());
        writer.write(&format::parse(history).unwrap()).unwrap();
        let trace = writer.finish().unwrap();
        let (mut tracks, mut slices) = (Vec::new(), Vec::new());
        let mut open: std::collections::BTreeMap<u64, usize> = std::collections::BTreeMap::new();
        for (of, packet) in parts(&trace) {
            assert_eq!(of, field::PACKET);
            let Part::Bytes(packet) = packet else { panic!("a packet is a message") };
            let packet = parts(packet);
            assert_eq!(number(&packet, field::TRUSTED_PACKET_SEQUENCE_ID), Some(1));
            for (of, part) in &packet {
                let Part::Bytes(bytes) = part else { continue };
                let message = parts(bytes);
                if *of == field::TRACK_DESCRIPTOR {
                    tracks.push(text(&message, field::TRACK_NAME).unwrap().to_owned());
                } else if *of == field::TRACK_EVENT {
                    let at = number(&packet, field::TIMESTAMP).unwrap();
                    let track = number(&message, field::TRACK_UUID).unwrap();
                    if number(&message, field::TYPE) == Some(SLICE_BEGIN) {
                        let flows = [field::FLOW_IDS, field::TERMINATING_FLOW_IDS].map(|it| number(&message, it));
                        let name = text(&message, field::NAME).unwrap();
                        open.insert(track, slices.len());
                        slices.push(format!("{track} {name} {flows:?} {at}"));
                    } else {
                        let slice: &mut String = &mut slices[open.remove(&track).expect("a slice that began")];
                        *slice = format!("{slice}-{at}");
                    }
                }
            }
        }
        (tracks, slices)
    }

    #[test]
    fn calls_and_returns_are_slices() {
        let text =
            "# @object queue\n[a] call enqueue 1\n[b] call dequeue\n[a] return\n[b] return 1\n[a] call dequeue\n";
        let (tracks, slices) = seen(text);
        assert_eq!(tracks, ["history 0 (queue)", "a", "b"]);
        assert_eq!(
            slices,
            [
                "2 enqueue 1 [None, None] 0-2000",
                "3 dequeue => 1 [None, None] 1000-3000",
                "2 dequeue (pending) [None, None] 4000"
            ]
        );
    }

    #[test]
    fn reads_are_joined_with_their_writes() {
        let (_, slices) = seen("[0] w x 1\n[1] r x 1\n[1] r y 0\n");
        assert_eq!(
            slices,
            ["2 w x 1 [Some(1), None] 0-1000", "3 r x 1 [None, Some(1)] 1000-2000", "3 r y 0 [None, None] 2000-3000"]
        );
    }

    #[test]
    fn names_cannot_do_anything_to_a_terminal() {
        let (tracks, _) = seen("[\"a\\u001b[2J\"] w x 1\n");
        assert!(tracks[1].chars().all(history::is_visible), "{tracks:?}");
    }
}
