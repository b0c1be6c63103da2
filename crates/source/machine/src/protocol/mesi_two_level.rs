//! MESI on two levels: the second level is the directory. It knows the owner of a block, or its readers.
//!
//! A reader gets the data from the second level, or from the owner, which sends it there, too, and stays a reader. Who
//! reads alone gets the block exclusively (E) and may write it without asking (M). A writer gets the data, or with
//! Upgrade only the right to write, and a number: so many readers will acknowledge to the writer that they have
//! forgotten their copies. Until then the store waits (MA). Copies that are only read are dropped without a word, so a
//! cache may be asked to forget what it no longer has.

use super::table::State::{B, E, I, II, IM, IS, M, MA, MI, MS, S, SD, SM, SU};
use super::table::TableAction::{
    AddSharer, Answer, AnswerData, AwaitAcks, CountAck, Drop, Fill, Forward, Invalidate, LoadDone, LoadHit,
    OwnerShares, ProfileHit, Request, SetOwner, StoreDone, StoreHit, Tell, TellData, WriteMemory,
};
use super::table::TableEvent::{
    Ack, AllAcks, CopyBack, Data, DataE, FwdGetM, FwdGetS, GetM, GetS, Grant, Inv, Load, Put, PutClean, PutStale,
    Replacement, Store, Unblock, UnblockE, Upgrade, WbAck, WbNack,
};
use super::table::{Table, Written};
use super::{Bug, COUNTED_TOO_EARLY, Protocol};

const CACHE: &[Written] = &[
    (I, Load, &[Request(GetS)], IS),
    (I, Store, &[Request(GetM)], IM),
    (I, Inv, &[Answer(Ack)], I),
    (S, Store, &[Request(Upgrade)], SM),
    (S, Inv, &[Answer(Ack), Drop], I),
    (S, Replacement, &[Drop], I),
    (E, FwdGetS, &[AnswerData(Data), TellData(CopyBack)], S),
    (E, FwdGetM, &[AnswerData(Data), Drop], I),
    (E, Replacement, &[TellData(PutClean), Drop], MI),
    (M, FwdGetS, &[AnswerData(Data), TellData(CopyBack)], S),
    (M, FwdGetM, &[AnswerData(Data), Drop], I),
    (M, Replacement, &[TellData(Put), Drop], MI),
    (IS, Data, &[Fill, LoadDone, Tell(Unblock)], S),
    (IS, DataE, &[Fill, LoadDone, Tell(UnblockE)], E),
    (IS, Inv, &[Answer(Ack)], IS),
    (IM, Data, &[Fill, AwaitAcks], MA),
    (IM, Ack, &[CountAck], IM),
    (IM, Inv, &[Answer(Ack)], IM),
    (SM, Grant, &[AwaitAcks], MA),
    (SM, Ack, &[CountAck], SM),
    (SM, Inv, &[Answer(Ack), Drop], IM),
    (MA, Ack, &[CountAck], MA),
    (MA, AllAcks, &[StoreDone, Tell(UnblockE)], M),
    (MI, FwdGetS, &[AnswerData(Data), TellData(CopyBack)], II),
    (MI, FwdGetM, &[AnswerData(Data)], II),
    (MI, WbAck, &[], I),
    (II, Inv, &[Answer(Ack)], II),
    (II, WbNack, &[], I),
];

const DIRECTORY: &[Written] = &[
    (I, GetS, &[AnswerData(DataE)], B),
    (I, GetM, &[AnswerData(Data)], B),
    (I, PutStale, &[Answer(WbNack)], I),
    (S, GetS, &[AnswerData(Data)], B),
    (S, GetM, &[Invalidate, AnswerData(Data)], B),
    (S, Upgrade, &[Invalidate, Answer(Grant)], B),
    (S, PutStale, &[Answer(WbNack)], S),
    (M, GetS, &[Forward(FwdGetS), OwnerShares], MS),
    (M, GetM, &[Forward(FwdGetM)], B),
    (M, Put, &[WriteMemory, Answer(WbAck)], I),
    (M, PutClean, &[Answer(WbAck)], I),
    (M, PutStale, &[Answer(WbNack)], M),
    (B, Unblock, &[AddSharer], S),
    (B, UnblockE, &[SetOwner], M),
    (MS, Unblock, &[AddSharer], SD),
    (MS, CopyBack, &[WriteMemory], SU),
    (SU, Unblock, &[AddSharer], S),
    (SD, CopyBack, &[WriteMemory], S),
];

pub(super) fn protocol() -> Protocol {
    Protocol {
        cache: Table::new(CACHE)
            .loads(&[S, E, M, SM])
            .stores(&[E, M])
            .stalls(&[IS, IM, MA, MI, II], &[Load, Store, Replacement])
            .stalls(&[SM], &[Store, Replacement]),
        directory: Table::new(DIRECTORY).stalls(&[B, MS, SD, SU], &[GetS, GetM, Put, PutClean]),
        home: I,
        knows_copies: true,
    }
}

pub(super) const BUGS: &[Bug] = &[
    COUNTED_TOO_EARLY,
    Bug {
        name: "lost-invalidation",
        summary: "a reader acknowledges Inv, and keeps its copy",
        apply: |it| {
            it.cache.set(S, Inv, &[Answer(Ack)], S);
            // A copy that nobody knows of may be upgraded later, when the directory sends data with the right to write.
            it.cache.set(SM, Data, &[Fill, AwaitAcks], MA);
        },
    },
    Bug {
        name: "ack-counted-twice",
        summary: "the first of several acknowledgements counts as two, so the store does not wait for the last one",
        apply: |it| {
            it.cache.set(IM, Ack, &[CountAck, CountAck], IM);
            it.cache.set(MA, Ack, &[CountAck, CountAck], MA);
            it.cache.set(SM, Ack, &[CountAck, CountAck], SM);
            it.cache.ignores(&[M, S, I, E, IS, MI, II], &[Ack]);
        },
    },
    Bug {
        name: "acks-not-awaited",
        summary: "the store is done as soon as the data is there, before the readers have forgotten their copies",
        apply: |it| {
            it.cache.set(IM, Data, &[Fill, StoreDone, Tell(UnblockE)], M);
            it.cache.set(SM, Grant, &[StoreDone, Tell(UnblockE)], M);
            it.cache.ignores(&[M, S, I, E, IS, MI, II], &[Ack]);
        },
    },
    Bug {
        name: "skipped-write-back",
        summary: "the second level does not take the data of a Put",
        apply: |it| it.directory.set(M, Put, &[Answer(WbAck)], I),
    },
    Bug {
        name: "stale-forward",
        summary: "a reader gets the data of the second level although a cache owns the block",
        apply: |it| it.directory.set(M, GetS, &[AnswerData(Data), OwnerShares], B),
    },
    Bug {
        name: "eviction-race",
        summary: "a Put that comes too late is written into the second level",
        apply: |it| {
            it.directory.set(M, PutStale, &[WriteMemory, Answer(WbNack)], I);
            it.directory.set(S, PutStale, &[WriteMemory, Answer(WbNack)], S);
            it.cache.set(MI, WbNack, &[], I);
        },
    },
    Bug {
        name: "silent-upgrade",
        summary: "a store hits in a copy that may only be read",
        apply: |it| it.cache.set(S, Store, &[StoreHit, ProfileHit], S),
    },
    Bug {
        name: "upgrade-race",
        summary: "a copy that is being upgraded stays readable after it was invalidated",
        apply: |it| {
            it.cache.set(SM, Inv, &[Answer(Ack)], SM);
            it.cache.set(SM, Data, &[Fill, AwaitAcks], MA);
        },
    },
    Bug {
        name: "copy-back-lost",
        summary: "the second level does not take the data of an owner that becomes a reader",
        apply: |it| {
            it.directory.set(MS, CopyBack, &[], SU);
            it.directory.set(SD, CopyBack, &[], S);
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
        name: "reader-not-noted",
        summary: "the directory forgets a reader that gets its data from an owner",
        apply: |it| {
            it.directory.set(MS, Unblock, &[], SD);
            it.directory.set(SU, Unblock, &[], S);
            // A reader that nobody knows of may upgrade later.
            it.cache.set(SM, Data, &[Fill, AwaitAcks], MA);
        },
    },
    Bug {
        name: "owner-not-noted",
        summary: "the directory does not note the new owner",
        apply: |it| it.directory.set(B, UnblockE, &[], M),
    },
];
