//! A mailbox for one letter, and all small clients of it. The program of `docs/tutorials/lock-free.md`.

use seriatim::object::Sequential;
use seriatim::programs::sync::atomic::{AtomicU32, Ordering::SeqCst};
use seriatim::programs::{Builder, Object, clients, linearizable};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Request {
    Put(u32),
    Take,
}

/// Holds a letter; 0 is none. A call returns what it found.
struct Mailbox<const CAREFUL: bool>(AtomicU32);

impl<const CAREFUL: bool> Object for Mailbox<CAREFUL> {
    type Operation = Request;
    type Return = u32;

    fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    fn operations() -> Vec<Request> {
        vec![Request::Put(1), Request::Put(2), Request::Take]
    }

    fn call(&self, request: &Request) -> u32 {
        match *request {
            Request::Take => self.0.swap(0, SeqCst),
            Request::Put(letter) if CAREFUL => {
                self.0.compare_exchange(0, letter, SeqCst, SeqCst).unwrap_or_else(|found| found)
            }
            Request::Put(letter) => {
                let found = self.0.load(SeqCst);
                if found == 0 {
                    self.0.store(letter, SeqCst);
                }
                found
            }
        }
    }
}

/// What a mailbox is, if nobody else calls at the same time.
struct OneLetter;

impl Sequential for OneLetter {
    type State = u32;
    type Operation = Request;
    type Return = u32;

    fn initial(&self) -> u32 {
        0
    }

    fn steps(&self, &held: &u32, request: &Request) -> impl IntoIterator<Item = (u32, u32)> {
        Some(match *request {
            Request::Put(letter) if held == 0 => (letter, held),
            Request::Put(_) => (held, held),
            Request::Take => (0, held),
        })
    }
}

/// The client that breaks it, if there is one. The execution itself, which would follow, is left out.
fn explored<const CAREFUL: bool>() -> String {
    let verdict = linearizable::<Mailbox<CAREFUL>, _>(&OneLetter, &Builder::new(), clients(2..=2, 1..=2));
    verdict.to_string().lines().take(5).collect::<Vec<_>>().join("\n")
}

/// What the program prints.
pub fn tell() -> String {
    format!("careless: {}\ncareful: {}\n", explored::<false>(), explored::<true>())
}

/// Runs the example.
pub fn main() {
    print!("{}", tell());
}
