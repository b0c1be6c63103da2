//! The data of locks and cells that outlives an execution, since it is in a static or was made outside of the code.
//!
//! It begins each execution as it was at its first access of all, and no two workers access it at once.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

use super::{BLOCK, Code, Run};

/// By address of a place: the bytes of its data at its first access.
static KEPT: Mutex<BTreeMap<usize, Box<[MaybeUninit<u8>]>>> = Mutex::new(BTreeMap::new());

/// By address of a place whose data some worker accesses in its execution: the block of generations of the worker.
static CLAIMS: Mutex<BTreeMap<usize, u64>> = Mutex::new(BTreeMap::new());

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

    /// If several workers explore the code: the data of a place is accessed for the first time in this execution. No
    /// two workers may access it at once. If another one does, this thread stops here, and one worker must do it all.
    pub(in crate::native) fn claim(&self, address: usize, is_first: bool, code: Code) {
        if !self.is_shared.get() || is_first && self.has_block(address) {
            return;
        }
        let was_inside = self.is_in_allocator.replace(true);
        let mine = self.generation.get() / BLOCK;
        let owner = *CLAIMS.lock().unwrap_or_else(PoisonError::into_inner).entry(address).or_insert(mine);
        if owner == mine {
            self.claimed.borrow_mut().push(address);
        }
        self.is_in_allocator.set(was_inside);
        if owner != mine {
            self.must_be_alone.set(true);
            self.has_news.set(true);
            self.stop(code);
        }
    }

    /// The execution is over: others may access what it has claimed.
    pub(super) fn give_claims_back(&self) {
        let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
        for address in self.claimed.borrow_mut().drain(..) {
            claims.remove(&address);
        }
    }
}
