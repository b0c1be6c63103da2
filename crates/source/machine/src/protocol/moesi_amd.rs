//! MOESI AMD: the directory knows nothing about copies. It asks all caches, gathers their answers, and answers itself.
//!
//! The data of an owner counts more than the memory's. Who reads alone gets the block exclusively. The requester then
//! unblocks the directory. A cache asks before it gives a block back, a changed one (Put) or one that was only read
//! (PutClean); the data follows when the directory agrees (WbAck), or WbCancel if there is nothing to write.
//!
//! With a probe filter the directory asks only the caches that may have a copy.

use super::table::State::{B, E, EI, I, II, IM, IS, M, MI, O, OM, PM, PS, S, SI, SM, U, W};
use super::table::TableAction::{
    AddSharer, Answer, AnswerKept, AwaitAll, AwaitAsked, CountAck, Drop, Fill, ForgetCopies, KeepData, LoadDone,
    LoadHit, NoteRequester, NoteShared, Probe, ProbeCopies, ProfileHit, RemoveSharer, Request, StoreDone, StoreHit,
    Tell, TellData, WriteMemory,
};
use super::table::TableEvent::{
    Ack, AllAcks, AllAcksOwned, AllAcksShared, Data, DataE, GetM, GetS, Load, OwnerData, ProbeM, ProbeS, Put, PutClean,
    Replacement, SharedAck, Store, Unblock, WbAck, WbCancel, WbData,
};
use super::table::{Table, Written};
use super::{Bug, COUNTED_TOO_EARLY, FILTER_FORGETS, FILTER_FORGETS_SUMMARY, Protocol};

const CACHE: &[Written] = &[
    (I, Load, &[Request(GetS)], IS),
    (I, Store, &[Request(GetM)], IM),
    (I, ProbeS, &[Tell(Ack)], I),
    (I, ProbeM, &[Tell(Ack)], I),
    (S, Store, &[Request(GetM)], SM),
    (S, ProbeS, &[Tell(SharedAck)], S),
    (S, ProbeM, &[Tell(Ack), Drop], I),
    (S, Replacement, &[Tell(PutClean), Drop], SI),
    (E, ProbeS, &[Tell(SharedAck)], S),
    (E, ProbeM, &[Tell(Ack), Drop], I),
    (E, Replacement, &[Tell(PutClean), Drop], EI),
    (O, Store, &[Request(GetM)], OM),
    (O, ProbeS, &[TellData(OwnerData)], O),
    (O, ProbeM, &[TellData(OwnerData), Drop], I),
    (O, Replacement, &[Tell(Put), Drop], MI),
    (M, ProbeS, &[TellData(OwnerData)], O),
    (M, ProbeM, &[TellData(OwnerData), Drop], I),
    (M, Replacement, &[Tell(Put), Drop], MI),
    (IS, ProbeS, &[Tell(Ack)], IS),
    (IS, ProbeM, &[Tell(Ack)], IS),
    (IS, Data, &[Fill, LoadDone, Tell(Unblock)], S),
    (IS, DataE, &[Fill, LoadDone, Tell(Unblock)], E),
    (IM, ProbeS, &[Tell(Ack)], IM),
    (IM, ProbeM, &[Tell(Ack)], IM),
    (IM, DataE, &[Fill, StoreDone, Tell(Unblock)], M),
    (SM, ProbeS, &[Tell(SharedAck)], SM),
    (SM, ProbeM, &[Tell(Ack), Drop], IM),
    (SM, DataE, &[StoreDone, Tell(Unblock)], M),
    (OM, ProbeS, &[TellData(OwnerData)], OM),
    (OM, ProbeM, &[TellData(OwnerData), Drop], IM),
    (OM, DataE, &[StoreDone, Tell(Unblock)], M),
    (MI, ProbeS, &[TellData(OwnerData)], MI),
    (MI, ProbeM, &[TellData(OwnerData)], II),
    (MI, WbAck, &[TellData(WbData)], I),
    (EI, ProbeS, &[Tell(SharedAck)], SI),
    (EI, ProbeM, &[Tell(Ack)], II),
    (EI, WbAck, &[Tell(WbCancel)], I),
    (SI, ProbeS, &[Tell(SharedAck)], SI),
    (SI, ProbeM, &[Tell(Ack)], II),
    (SI, WbAck, &[Tell(WbCancel)], I),
    (II, ProbeS, &[Tell(Ack)], II),
    (II, ProbeM, &[Tell(Ack)], II),
    (II, WbAck, &[Tell(WbCancel)], I),
];

const DIRECTORY: &[Written] = &[
    (U, GetS, &[NoteRequester, AwaitAll(0), Probe(ProbeS)], PS),
    (U, GetM, &[NoteRequester, AwaitAll(0), Probe(ProbeM)], PM),
    (U, Put, &[Answer(WbAck)], W),
    (U, PutClean, &[Answer(WbAck)], W),
    (PS, Ack, &[CountAck], PS),
    (PS, SharedAck, &[NoteShared, CountAck], PS),
    (PS, OwnerData, &[KeepData, CountAck], PS),
    (PS, AllAcks, &[AnswerKept(DataE)], B),
    (PS, AllAcksShared, &[AnswerKept(Data)], B),
    (PS, AllAcksOwned, &[AnswerKept(Data)], B),
    (PM, Ack, &[CountAck], PM),
    (PM, OwnerData, &[KeepData, CountAck], PM),
    (PM, AllAcks, &[AnswerKept(DataE)], B),
    (B, Unblock, &[], U),
    (W, WbData, &[WriteMemory], U),
    (W, WbCancel, &[], U),
];

pub(super) fn protocol() -> Protocol {
    Protocol {
        cache: Table::new(CACHE)
            .loads(&[S, E, O, M, SM, OM])
            .stores(&[E, M])
            .stalls(&[IS, IM, MI, EI, SI, II], &[Load, Store, Replacement])
            .stalls(&[SM, OM], &[Store, Replacement]),
        directory: Table::new(DIRECTORY).stalls(&[PS, PM, B, W], &[GetS, GetM, Put, PutClean]),
        memory: None,
        home: U,
        knows_copies: false,
    }
}

/// The filter is exact: a cache tells before it gives back a block, also one that it only read.
pub(super) fn filter(it: &mut Protocol) {
    it.directory.set(U, GetS, &[NoteRequester, ProbeCopies(ProbeS), AwaitAsked], PS);
    it.directory.set(U, GetM, &[NoteRequester, ProbeCopies(ProbeM), ForgetCopies, AwaitAsked], PM);
    it.directory.set(B, Unblock, &[AddSharer], U);
    it.directory.set(W, WbData, &[WriteMemory, RemoveSharer], U);
    it.directory.set(W, WbCancel, &[RemoveSharer], U);
}

pub(super) const BUGS: &[Bug] = &[
    COUNTED_TOO_EARLY,
    Bug {
        name: "lost-invalidation",
        summary: "a reader acknowledges a writer's probe, and keeps its copy",
        apply: |it| it.cache.set(S, ProbeM, &[Tell(Ack)], S),
    },
    Bug {
        name: "ack-counted-twice",
        summary: "the directory counts an acknowledgement twice, and does not wait for the last answer",
        apply: |it| {
            it.directory.set(PS, Ack, &[CountAck, CountAck], PS);
            it.directory.set(PM, Ack, &[CountAck, CountAck], PM);
            it.directory.set(PM, SharedAck, &[CountAck], PM);
            it.directory.ignores(&[U, B, W], &[Ack, SharedAck, OwnerData]);
        },
    },
    Bug {
        name: "skipped-write-back",
        summary: "the data of a write-back does not reach the memory",
        apply: |it| it.directory.set(W, WbData, &[], U),
    },
    Bug {
        name: "stale-forward",
        summary: "a reader gets the memory's data although an owner has sent its own",
        apply: |it| it.directory.set(PS, OwnerData, &[NoteShared, CountAck], PS),
    },
    Bug {
        name: "eviction-race",
        summary: "a write-back is done although another cache has meanwhile taken the block",
        apply: |it| it.cache.set(II, WbAck, &[TellData(WbData)], I),
    },
    Bug {
        name: "silent-upgrade",
        summary: "an owner stores without asking those who read its block",
        apply: |it| it.cache.set(O, Store, &[StoreHit, ProfileHit], M),
    },
    Bug {
        name: "shared-answer-lost",
        summary: "a reader does not say that it has a copy, so another one gets the block exclusively",
        apply: |it| it.cache.set(S, ProbeS, &[Tell(Ack)], S),
    },
    Bug {
        name: "exclusive-kept",
        summary: "a cache that has a block exclusively keeps it so although another one reads it",
        apply: |it| it.cache.set(E, ProbeS, &[Tell(SharedAck)], E),
    },
    Bug {
        name: "owner-forgets",
        summary: "an owner that is read becomes a mere reader, and the memory is out of date",
        apply: |it| it.cache.set(M, ProbeS, &[TellData(OwnerData)], S),
    },
    Bug {
        name: "dirty-as-clean",
        summary: "a changed block is given back as one that was only read",
        apply: |it| it.cache.set(M, Replacement, &[Tell(PutClean), Drop], EI),
    },
    Bug {
        name: "upgrade-race",
        summary: "a copy that is being upgraded stays readable after it was invalidated",
        apply: |it| {
            it.cache.set(SM, ProbeM, &[Tell(Ack)], SM);
            it.cache.set(SM, DataE, &[Fill, StoreDone, Tell(Unblock)], M);
        },
    },
    Bug {
        name: "load-while-evicting",
        summary: "a load hits in a block that is being written back",
        apply: |it| {
            for state in [MI, EI, SI, II] {
                it.cache.set(state, Load, &[LoadHit], state);
            }
        },
    },
    Bug {
        name: FILTER_FORGETS,
        summary: FILTER_FORGETS_SUMMARY,
        apply: |it| {
            filter(it);
            it.directory.set(U, GetS, &[NoteRequester, ProbeCopies(ProbeS), ForgetCopies, AwaitAsked], PS);
        },
    },
];
