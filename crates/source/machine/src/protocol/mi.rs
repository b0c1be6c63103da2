//! MI: a block is at one cache, which may read and write it, or at none.
//!
//! A cache that misses asks the directory with GetM. The directory sends the memory's data or, if a cache owns the
//! block, asks that cache to send its data and to forget the block. The requester unblocks the directory. An eviction
//! sends the data with Put; the directory acknowledges it. If the directory has meanwhile asked the evicting cache for
//! the block, the cache sends the data (MI, FwdGetM), and its Put, which comes too late, is refused with WbNack.

use super::table::State::{B, I, II, IM, IS, M, MI};
use super::table::TableAction::{
    Answer, AnswerData, Drop, Fill, Forward, LoadDone, LoadHit, ProfileHit, Request, SetOwner, StoreDone, StoreHit,
    Tell, TellData, WriteMemory,
};
use super::table::TableEvent::{Data, FwdGetM, GetM, Load, Put, PutStale, Replacement, Store, UnblockE, WbAck, WbNack};
use super::table::{Table, Written};
use super::{Bug, COUNTED_TOO_EARLY, Protocol};

const CACHE: &[Written] = &[
    (I, Load, &[Request(GetM)], IS),
    (I, Store, &[Request(GetM)], IM),
    (IS, Data, &[Fill, LoadDone, Tell(UnblockE)], M),
    (IM, Data, &[Fill, StoreDone, Tell(UnblockE)], M),
    (M, FwdGetM, &[AnswerData(Data), Drop], I),
    (M, Replacement, &[TellData(Put), Drop], MI),
    (MI, FwdGetM, &[AnswerData(Data)], II),
    (MI, WbAck, &[], I),
    (II, WbNack, &[], I),
];

const DIRECTORY: &[Written] = &[
    (I, GetM, &[AnswerData(Data)], B),
    (I, PutStale, &[Answer(WbNack)], I),
    (M, GetM, &[Forward(FwdGetM)], B),
    (M, Put, &[WriteMemory, Answer(WbAck)], I),
    (M, PutStale, &[Answer(WbNack)], M),
    (B, UnblockE, &[SetOwner], M),
];

pub(super) fn protocol() -> Protocol {
    Protocol {
        cache: Table::new(CACHE).loads(&[M]).stores(&[M]).stalls(&[IS, IM, MI, II], &[Load, Store, Replacement]),
        directory: Table::new(DIRECTORY).stalls(&[B], &[GetM, Put]),
        memory: None,
        home: I,
        knows_copies: true,
    }
}

pub(super) const BUGS: &[Bug] = &[
    COUNTED_TOO_EARLY,
    Bug {
        name: "lost-invalidation",
        summary: "the owner sends its data on, and keeps the block",
        apply: |it| it.cache.set(M, FwdGetM, &[AnswerData(Data)], M),
    },
    Bug {
        name: "skipped-write-back",
        summary: "the directory does not write the data of a Put into the memory",
        apply: |it| it.directory.set(M, Put, &[Answer(WbAck)], I),
    },
    Bug {
        name: "stale-forward",
        summary: "the memory's data is sent although a cache owns the block",
        apply: |it| it.directory.set(M, GetM, &[AnswerData(Data)], B),
    },
    Bug {
        name: "eviction-race",
        summary: "a Put that comes too late is written into the memory",
        apply: |it| {
            it.directory.set(M, PutStale, &[WriteMemory, Answer(WbNack)], I);
            it.cache.set(MI, WbNack, &[], I);
        },
    },
    Bug {
        name: "load-while-evicting",
        summary: "a load hits in a block that is being written back",
        apply: |it| {
            it.cache.set(MI, Load, &[LoadHit], MI);
            it.cache.set(II, Load, &[LoadHit], II);
        },
    },
    Bug {
        name: "store-while-evicting",
        summary: "a store hits in a block whose data was already sent to the memory",
        apply: |it| it.cache.set(MI, Store, &[StoreHit, ProfileHit], MI),
    },
    Bug {
        name: "fill-lost",
        summary: "a load miss is answered from what the frame held before",
        apply: |it| it.cache.set(IS, Data, &[LoadDone, Fill, Tell(UnblockE)], M),
    },
    Bug {
        name: "early-write-back",
        summary: "an eviction gives the block up at once, and a request that meets it there is answered with zeros",
        apply: |it| {
            it.cache.set(M, Replacement, &[TellData(Put), Drop], II);
            it.cache.set(II, WbAck, &[], I);
            it.cache.set(II, FwdGetM, &[Answer(Data)], II);
        },
    },
    Bug {
        name: "owner-not-noted",
        summary: "the directory does not note the new owner",
        apply: |it| it.directory.set(B, UnblockE, &[], M),
    },
];
