//! MESI on two levels: each core has a cache, and all share a second level, which is the directory, too. It has every
//! block that some cache has (*inclusion*), and knows the owner of a block, or its readers.
//!
//! A reader gets the data from the second level, or from the owner, which sends it there, too, and stays a reader. Who
//! reads alone gets the block exclusively (E) and may write it without asking (M). A writer gets the data, or with
//! Upgrade only the right to write, and a number: so many readers will acknowledge to the writer that they have
//! forgotten their copies. Until then the store waits (MA). Copies that are only read are dropped without a word, so a
//! cache may be asked to forget what it no longer has.
//!
//! A block that the second level does not have comes from the memory. Before the second level evicts a block, it
//! recalls all copies: it asks the readers to forget them (Inv), or the owner to send its data (FwdGetM), as if it
//! wanted to write itself. Then it gives the block to the memory, with the data if the block was changed, and waits for
//! the acknowledgement: a request that comes meanwhile must not overtake the write-back on its way to the memory.

use super::table::State::{B, E, EI, I, II, IM, IS, M, MA, MI, MS, S, SD, SI, SM, SU, U};
use super::table::TableAction::{
    AddSharer, Answer, AnswerData, AwaitAcks, AwaitAsked, CountAck, Drop, Fill, Forward, Invalidate, LoadDone, LoadHit,
    NoteChanged, NoteRequester, OwnerShares, ProfileHit, Reply, ReplyData, Request, SetOwner, StoreDone, StoreHit,
    Tell, TellData, TellMemory, WriteBack, WriteMemory,
};
use super::table::TableEvent::{
    Ack, AllAcks, CopyBack, Data, DataE, FwdGetM, FwdGetS, GetM, GetS, Grant, Inv, Load, MemoryData, Put, PutClean,
    PutStale, Replacement, Store, Unblock, UnblockE, Upgrade, WbAck, WbNack,
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

const SECOND_LEVEL: &[Written] = &[
    (I, GetS, &[TellMemory(GetS)], IS),
    (I, GetM, &[TellMemory(GetM)], IM),
    (I, PutStale, &[Answer(WbNack)], I),
    (IS, MemoryData, &[Fill, AnswerData(DataE)], B),
    (IM, MemoryData, &[Fill, AnswerData(Data)], B),
    (E, GetS, &[AnswerData(DataE)], B),
    (E, GetM, &[AnswerData(Data)], B),
    (E, PutStale, &[Answer(WbNack)], E),
    (E, Replacement, &[WriteBack], EI),
    (S, GetS, &[AnswerData(Data)], B),
    (S, GetM, &[Invalidate, AnswerData(Data)], B),
    (S, Upgrade, &[Invalidate, Answer(Grant)], B),
    (S, PutStale, &[Answer(WbNack)], S),
    (S, Replacement, &[NoteRequester, Invalidate, AwaitAsked], SI),
    (M, GetS, &[Forward(FwdGetS), OwnerShares], MS),
    (M, GetM, &[Forward(FwdGetM)], B),
    (M, Put, &[WriteMemory, NoteChanged, Answer(WbAck)], E),
    (M, PutClean, &[Answer(WbAck)], E),
    (M, PutStale, &[Answer(WbNack)], M),
    (M, Replacement, &[Forward(FwdGetM)], MI),
    (B, Unblock, &[AddSharer], S),
    (B, UnblockE, &[SetOwner], M),
    (MS, Unblock, &[AddSharer], SD),
    (MS, CopyBack, &[WriteMemory, NoteChanged], SU),
    (SU, Unblock, &[AddSharer], S),
    (SD, CopyBack, &[WriteMemory, NoteChanged], S),
    (SI, Ack, &[CountAck], SI),
    (SI, AllAcks, &[WriteBack], EI),
    (MI, Data, &[WriteMemory, NoteChanged, WriteBack], EI),
    (EI, WbAck, &[], I),
];

const MEMORY: &[Written] = &[
    (U, GetS, &[ReplyData(MemoryData)], U),
    (U, GetM, &[ReplyData(MemoryData)], U),
    (U, Put, &[WriteMemory, Reply(WbAck)], U),
    (U, PutClean, &[Reply(WbAck)], U),
];

pub(super) fn protocol() -> Protocol {
    Protocol {
        cache: Table::new(CACHE)
            .loads(&[S, E, M, SM])
            .stores(&[E, M])
            .stalls(&[IS, IM, MA, MI, II], &[Load, Store, Replacement])
            .stalls(&[SM], &[Store, Replacement]),
        directory: Table::new(SECOND_LEVEL)
            .stalls(&[IS, IM, B, MS, SD, SU, SI, MI, EI], &[GetS, GetM, Put, PutClean, Replacement]),
        memory: Some(Table::new(MEMORY)),
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
        apply: |it| it.directory.set(M, Put, &[Answer(WbAck)], E),
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
            it.directory.set(M, PutStale, &[WriteMemory, NoteChanged, Answer(WbNack)], E);
            it.directory.set(S, PutStale, &[WriteMemory, NoteChanged, Answer(WbNack)], S);
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
    Bug {
        name: "recall-lost",
        summary: "the second level evicts a block, and its readers keep their copies",
        apply: |it| {
            it.directory.set(S, Replacement, &[WriteBack], EI);
            // A reader that nobody knows of may upgrade later.
            it.cache.set(SM, Data, &[Fill, AwaitAcks], MA);
        },
    },
    Bug {
        name: "recalled-data-lost",
        summary: "the data of an owner whose block is recalled reaches neither the second level nor the memory",
        apply: |it| it.directory.set(MI, Data, &[WriteBack], EI),
    },
    Bug {
        name: "changed-as-clean",
        summary: "a block that an owner wrote back is evicted from the second level as if it were unchanged",
        apply: |it| it.directory.set(M, Put, &[WriteMemory, Answer(WbAck)], E),
    },
    Bug {
        name: "fetch-overtakes-write-back",
        summary: "the second level asks for a block again before the memory has acknowledged the write-back",
        apply: |it| {
            it.directory.set(E, Replacement, &[WriteBack], I);
            it.directory.set(SI, AllAcks, &[WriteBack], I);
            it.directory.set(MI, Data, &[WriteMemory, NoteChanged, WriteBack], I);
            it.directory.ignores(&[I, IS, IM, B, E, S, M, MS, SD, SU, SI, MI], &[WbAck]);
        },
    },
];
