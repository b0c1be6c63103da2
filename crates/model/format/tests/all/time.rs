//! The time that reading one history may take.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use format::{Format, ReadOptions, Reader, read, read_bytes};

/// A beginning, and then the same bytes again and again. If nobody stops, it ends with an error of its own.
struct Endless {
    begin: &'static [u8],
    again: &'static [u8],
    at: usize,
    begun: Instant,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.begun.elapsed() > Duration::from_secs(60) {
            return Err(io::Error::other("nobody stopped"));
        }
        for byte in &mut *buffer {
            let rest = self.at.checked_sub(self.begin.len());
            *byte = rest.map_or_else(|| self.begin[self.at], |rest| self.again[rest % self.again.len()]);
            self.at += 1;
        }
        Ok(buffer.len())
    }
}

fn endless(begin: &'static str, again: &'static str, format: Option<Format>) -> Reader {
    let input = Endless { begin: begin.as_bytes(), again: again.as_bytes(), at: 0, begun: Instant::now() };
    let options = ReadOptions { format, timeout: Some(Duration::from_millis(50)), ..ReadOptions::default() };
    read(Box::new(input), &options)
}

/// Whatever comes without an end, in whatever format: the first history is an error, and nothing follows.
#[test]
fn what_does_not_end_is_an_error() {
    for (begin, again, format) in [
        ("", "\n", None),
        ("", " ", None),
        ("", "\n", Some(Format::Text)),
        ("", "# a comment\n", Some(Format::Text)),
        ("", "\n", Some(Format::JsonLines)),
        ("", "\n", Some(Format::Edn)),
        ("", "[0] w x 1\n", None),
        ("thread,op,location,value\n", "0,store,1,1\n", None),
        ("", "{\"process\":0,\"f\":\"w\",\"key\":\"x\",\"value\":1}\n", None),
        ("", "{:process 0 :type :invoke :f :write :value 1} {:process 0 :type :ok :f :write :value 1}\n", None),
        ("[", "\n", Some(Format::JsonLines)),
        (
            "[",
            "{:process 0 :type :invoke :f :write :value 1} {:process 0 :type :ok :f :write :value 1} ",
            Some(Format::Edn),
        ),
        ("", "\n", Some(Format::Axe)),
        ("", "0: v0 := 1\n", Some(Format::Axe)),
        ("", "\n", Some(Format::Plume)),
        ("", "r(1,2,0,1)\n", Some(Format::Plume)),
        ("", "\n", Some(Format::Dbcop)),
        ("", "\0", Some(Format::Bincode)),
        ("", "\n", Some(Format::Porcupine)),
        ("", "\n", Some(Format::Tipocket)),
    ] {
        let mut reader = endless(begin, again, format);
        let first = reader.next().expect("an answer");
        let Err(error) = first else { panic!("{format:?} {again:?}: {first:?}") };
        assert!(!error.message.contains("nobody stopped"), "{format:?} {again:?}: {error:?}");
        // Some input is refused for what it is before the time is over.
        let is_of_time = error.message.contains("not read to its end");
        let is_text = format == Some(Format::Text) || format.is_none() && !again.trim().is_empty();
        assert!(is_of_time || !is_text, "{format:?} {again:?}: {error:?}");
        let rest = reader.take(3).flatten().count();
        assert_eq!(rest, 0, "{format:?} {again:?}");
    }
}

/// The time is that of one history. It begins anew, so whoever works between two histories loses nothing.
#[test]
fn the_time_begins_anew_with_each_history() {
    let text = "[0] w x 1\n---\n".repeat(40_000);
    let options = ReadOptions { timeout: Some(Duration::from_secs(20)), ..ReadOptions::default() };
    assert_eq!(read_bytes(text.clone().into_bytes(), &options).flatten().count(), 40_000);
    // The first histories are in the first buffer. Then there is no time left to fill another, unless it is given anew.
    let options = ReadOptions { timeout: Some(Duration::from_millis(400)), ..options };
    let mut reader = read_bytes(text.into_bytes(), &options);
    for _ in 0..10 {
        assert!(reader.next().is_some_and(|history| history.is_ok()));
        std::thread::sleep(Duration::from_millis(60));
    }
    assert_eq!(reader.flatten().count(), 39_990);
}
