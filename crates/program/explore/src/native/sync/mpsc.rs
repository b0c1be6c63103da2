//! A channel, with the names of `std::sync::mpsc`.
//!
//! Its word counts what was sent. A message is put into the queue right after the event that counts it, so the queue is
//! in the order of the word. Further bits say that the receiver is gone, or all senders.

use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError};

use super::super::place::{Look, Own, Place};
use super::super::runtime;
use crate::chance::Chance;
use crate::program::{Await, Comparison, Order, Update, Value};

/// All senders are gone.
const CLOSED: Value = 1 << 40;
/// The receiver is gone.
const DEAF: Value = 1 << 50;
const SENT: Value = CLOSED - 1;

struct Channel<T> {
    word: Place<Own>,
    senders: AtomicUsize,
    messages: Mutex<VecDeque<T>>,
}

/// The end that sends.
pub struct Sender<T> {
    channel: Arc<Channel<T>>,
}

/// The end that receives.
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
    received: AtomicUsize,
}

/// A channel without a bound.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let messages = Mutex::new(VecDeque::new());
    let channel =
        Arc::new(Channel { word: Place::with(Own::new(0), Look::Word), senders: AtomicUsize::new(1), messages });
    (Sender { channel: Arc::clone(&channel) }, Receiver { channel, received: AtomicUsize::new(0) })
}

impl<T> Sender<T> {
    /// Sends a message.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let old = self.channel.word.update(Update::Add(1), Order::Release, Order::Relaxed);
        if old & DEAF != 0 {
            return Err(SendError(message));
        }
        self.channel.messages.lock().unwrap_or_else(PoisonError::into_inner).push_back(message);
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.channel.senders.fetch_add(1, Ordering::Relaxed);
        Self { channel: Arc::clone(&self.channel) }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // All drops are in one order, and the last one closes the channel.
        self.channel.word.update(Update::Or(0), Order::Release, Order::Relaxed);
        if self.channel.senders.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.channel.word.update(Update::Or(CLOSED), Order::Release, Order::Relaxed);
        }
    }
}

impl<T> Receiver<T> {
    fn take(&self) -> Option<T> {
        let message = self.channel.messages.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        self.received.fetch_add(usize::from(message.is_some()), Ordering::Relaxed);
        message
    }

    fn received(&self) -> Value {
        self.received.load(Ordering::Relaxed) as Value
    }

    /// Waits for a message.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let until = Await { mask: -1, comparison: Comparison::Greater, value: self.received() };
        let word = self.channel.word.wait(Order::Acquire, until);
        if word & SENT > self.received() { self.take().ok_or(RecvError) } else { Err(RecvError) }
    }

    /// A message, if there is one.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let word = self.channel.word.read(Order::Acquire);
        match () {
            () if word & SENT > self.received() => self.take().ok_or(TryRecvError::Empty),
            () if word & CLOSED != 0 => Err(TryRecvError::Disconnected),
            () => Err(TryRecvError::Empty),
        }
    }

    /// The same as [`Receiver::recv`], but the time may run out
    /// ([`Builder::timeouts`](crate::Builder::timeouts)).
    #[track_caller]
    pub fn recv_timeout(&self, _time: Duration) -> Result<T, RecvTimeoutError> {
        let code = Location::caller();
        let Some(run) = runtime::get() else { return self.recv().map_err(RecvTimeoutError::from) };
        if run.happens(Chance::RunsOut, code) {
            match self.try_recv() {
                Err(TryRecvError::Empty) => return Err(RecvTimeoutError::Timeout),
                Err(TryRecvError::Disconnected) => {}
                Ok(message) => {
                    run.is_redundant(code);
                    return Ok(message);
                }
            }
            run.is_redundant(code);
        }
        run.waits_for_time(true);
        let answer = self.recv();
        run.waits_for_time(false);
        answer.map_err(RecvTimeoutError::from)
    }

    /// The messages up to the end of the channel.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.recv().ok())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.channel.word.update(Update::Or(DEAF), Order::Relaxed, Order::Relaxed);
        let messages = std::mem::take(&mut *self.channel.messages.lock().unwrap_or_else(PoisonError::into_inner));
        drop(messages);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
