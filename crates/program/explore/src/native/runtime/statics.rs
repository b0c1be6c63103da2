//! The data of locks and cells that outlives an execution, since it is in a static or was made outside of the code.
//!
//! It begins each execution as it was at its first access of all, and no two executions access it at once: the first
//! that accesses it claims it until its end. A worker that meets a claim of another gives way, and one worker does all.
//! An exploration that meets a claim waits: executions end. Only where two wait for each other does one of them end
//! with a panic that says so.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use super::{BLOCK, Code, Run};

/// By address of a place: the bytes of its data at its first access.
static KEPT: Mutex<BTreeMap<usize, Box<[MaybeUninit<u8>]>>> = Mutex::new(BTreeMap::new());

/// Who accesses what.
struct Claims {
    /// By address of a place: the run whose execution accesses its data, by its block of generations, and the thread of
    /// the operating system that it runs on.
    owners: BTreeMap<usize, (u64, ThreadId)>,
    /// Which run waits for which.
    waiting: BTreeMap<u64, u64>,
}

static CLAIMS: Mutex<Claims> = Mutex::new(Claims { owners: BTreeMap::new(), waiting: BTreeMap::new() });

/// Claims were given back.
static GIVEN_BACK: Condvar = Condvar::new();

/// Whose data is.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Claim {
    Mine,
    /// Of an exploration in whose code this one is. It does not go on before this one is over.
    OfOuter,
    /// Of another worker, or of another exploration where this run is one of several workers.
    OfWorker,
    /// Of an exploration that waits for this one.
    OfWaiting,
}

impl Claims {
    /// Whether a run waits for another, perhaps through others.
    fn waits_for(&self, mut run: u64, other: u64) -> bool {
        while let Some(&next) = self.waiting.get(&run) {
            if next == other {
                return true;
            }
            run = next;
        }
        false
    }
}

impl Run {
    /// The data of a place is accessed for the first time in this execution. If it is the first time of all, it is
    /// kept; otherwise it is made as it was then.
    pub(in crate::native) fn refresh(&self, address: usize, is_first: bool, data: &mut [MaybeUninit<u8>]) {
        // What was allocated in this execution is in no static.
        if is_first && self.has_block(address) {
            return;
        }
        let was_inside = self.is_in_allocator.replace(true);
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.get_mut(&address) {
            Some(kept) if kept.len() == data.len() => {
                if is_first {
                    kept.copy_from_slice(data);
                } else {
                    data.copy_from_slice(kept);
                }
            }
            _ if is_first => drop(kept.insert(address, data.into())),
            _ => {}
        }
        drop(kept);
        self.is_in_allocator.set(was_inside);
    }

    /// The data of a place is accessed for the first time in this execution. No other execution may access it before
    /// this one is over. The answer is whether it is this execution's now.
    pub(in crate::native) fn claim(&self, address: usize, is_first: bool, code: Code) -> bool {
        // What was allocated in this execution is its own.
        if is_first && self.has_block(address) {
            return true;
        }
        let was_inside = self.is_in_allocator.replace(true);
        let claim = self.wait_for_claim(address);
        self.is_in_allocator.set(was_inside);
        match claim {
            Claim::Mine | Claim::OfOuter => {}
            Claim::OfWorker => {
                self.must_be_alone.set(true);
                self.has_news.set(true);
                self.stop(code);
            }
            Claim::OfWaiting => {
                panic!("two explorations that run at once use the static at {code}, and another: run one at a time")
            }
        }
        claim == Claim::Mine
    }

    fn wait_for_claim(&self, address: usize) -> Claim {
        let (mine, thread) = (self.generation.get() / BLOCK, thread::current().id());
        let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Some(&(owner, of_thread)) = claims.owners.get(&address) else {
                claims.owners.insert(address, (mine, thread));
                self.claimed.borrow_mut().push(address);
                return Claim::Mine;
            };
            if owner == mine {
                return Claim::Mine;
            }
            if self.is_shared.get() {
                return Claim::OfWorker;
            }
            if of_thread == thread {
                return Claim::OfOuter;
            }
            if claims.waits_for(owner, mine) {
                return Claim::OfWaiting;
            }
            claims.waiting.insert(mine, owner);
            claims = GIVEN_BACK.wait(claims).unwrap_or_else(PoisonError::into_inner);
            claims.waiting.remove(&mine);
        }
    }

    /// The execution is over: others may access what it has claimed.
    pub(super) fn give_claims_back(&self) {
        let mut claimed = self.claimed.borrow_mut();
        if claimed.is_empty() {
            return;
        }
        let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
        for address in claimed.drain(..) {
            claims.owners.remove(&address);
        }
        if !claims.waiting.is_empty() {
            GIVEN_BACK.notify_all();
        }
    }
}
