//! MOESI Hammer: the directory knows only whether the memory is up to date (O) or some cache owns the block (N).
//!
//! A request asks all other caches. Each answers the requester: with its data if it owns the block, else with an
//! acknowledgement that says whether it has a copy. The memory sends its data in any case; the data of an owner counts
//! more. When all answers are in, the requester goes on, and tells the directory who owns the block now. An owner that
//! is read stays the owner (O). An eviction asks first (Put); the data follows when the directory agrees (WbAck), or
//! WbCancel if another cache has meanwhile taken the block.
//!
//! With a probe filter the directory also knows which caches may have a copy, and asks only these.

use super::table::State::{B, E, I, II, IM, IS, M, MI, N, O, OI, OM, S, SM, W};
use super::table::TableAction::{
    AddSharer, Answer, AnswerData, AwaitAcks, AwaitAll, CountAck, Drop, Fill, FillUnlessOwned, ForgetCopies, LoadDone,
    LoadHit, NoteOwned, NoteShared, Probe, ProbeCopies, ProfileHit, RemoveSharer, Request, StoreDone, StoreHit, Tell,
    TellData, WriteMemory,
};
use super::table::TableEvent::{
    Ack, AllAcks, AllAcksOwned, AllAcksShared, GetM, GetS, Load, MemoryData, OwnerData, ProbeM, ProbeS, Put,
    Replacement, SharedAck, Store, Unblock, UnblockE, UnblockOwned, WbAck, WbCancel, WbData, WbNack,
};
use super::table::{Table, Written};
use super::{Bug, COUNTED_TOO_EARLY, FILTER_FORGETS, FILTER_FORGETS_SUMMARY, Protocol};

const CACHE: &[Written] = &[
    (I, Load, &[Request(GetS), AwaitAll(1)], IS),
    (I, Store, &[Request(GetM), AwaitAll(1)], IM),
    (I, ProbeS, &[Answer(Ack)], I),
    (I, ProbeM, &[Answer(Ack)], I),
    (S, Store, &[Request(GetM), AwaitAll(1)], SM),
    (S, ProbeS, &[Answer(SharedAck)], S),
    (S, ProbeM, &[Answer(Ack), Drop], I),
    (S, Replacement, &[Drop], I),
    (E, ProbeS, &[AnswerData(OwnerData)], O),
    (E, ProbeM, &[AnswerData(OwnerData), Drop], I),
    (E, Replacement, &[Tell(Put), Drop], MI),
    (O, Store, &[Request(GetM), AwaitAll(1)], OM),
    (O, ProbeS, &[AnswerData(OwnerData)], O),
    (O, ProbeM, &[AnswerData(OwnerData), Drop], I),
    (O, Replacement, &[Tell(Put), Drop], OI),
    (M, ProbeS, &[AnswerData(OwnerData)], O),
    (M, ProbeM, &[AnswerData(OwnerData), Drop], I),
    (M, Replacement, &[Tell(Put), Drop], MI),
    (IS, ProbeS, &[Answer(Ack)], IS),
    (IS, ProbeM, &[Answer(Ack)], IS),
    (IS, Ack, &[CountAck], IS),
    (IS, SharedAck, &[NoteShared, CountAck], IS),
    (IS, OwnerData, &[Fill, NoteOwned, CountAck], IS),
    (IS, MemoryData, &[FillUnlessOwned, CountAck], IS),
    (IS, AllAcks, &[LoadDone, Tell(UnblockE)], E),
    (IS, AllAcksShared, &[LoadDone, Tell(Unblock)], S),
    (IS, AllAcksOwned, &[LoadDone, Tell(UnblockOwned)], S),
    (IM, ProbeS, &[Answer(Ack)], IM),
    (IM, ProbeM, &[Answer(Ack)], IM),
    (IM, Ack, &[CountAck], IM),
    (IM, OwnerData, &[Fill, NoteOwned, CountAck], IM),
    (IM, MemoryData, &[FillUnlessOwned, CountAck], IM),
    (IM, AllAcks, &[StoreDone, Tell(UnblockE)], M),
    (SM, ProbeS, &[Answer(SharedAck)], SM),
    (SM, ProbeM, &[Answer(Ack), Drop], IM),
    (SM, Ack, &[CountAck], SM),
    (SM, OwnerData, &[CountAck], SM),
    (SM, MemoryData, &[CountAck], SM),
    (SM, AllAcks, &[StoreDone, Tell(UnblockE)], M),
    (OM, ProbeS, &[AnswerData(OwnerData)], OM),
    (OM, ProbeM, &[AnswerData(OwnerData), Drop], IM),
    (OM, Ack, &[CountAck], OM),
    (OM, MemoryData, &[CountAck], OM),
    (OM, AllAcks, &[StoreDone, Tell(UnblockE)], M),
    (MI, ProbeS, &[AnswerData(OwnerData)], OI),
    (MI, ProbeM, &[AnswerData(OwnerData)], II),
    (MI, WbAck, &[TellData(WbData)], I),
    (OI, ProbeS, &[AnswerData(OwnerData)], OI),
    (OI, ProbeM, &[AnswerData(OwnerData)], II),
    (OI, WbAck, &[TellData(WbData)], I),
    (II, ProbeS, &[Answer(Ack)], II),
    (II, ProbeM, &[Answer(Ack)], II),
    (II, WbAck, &[Tell(WbCancel)], I),
    (II, WbNack, &[], I),
];

const DIRECTORY: &[Written] = &[
    (O, GetS, &[Probe(ProbeS), AnswerData(MemoryData)], B),
    (O, GetM, &[Probe(ProbeM), AnswerData(MemoryData)], B),
    (O, Put, &[Answer(WbNack)], O),
    (N, GetS, &[Probe(ProbeS), AnswerData(MemoryData)], B),
    (N, GetM, &[Probe(ProbeM), AnswerData(MemoryData)], B),
    (N, Put, &[Answer(WbAck)], W),
    (B, Unblock, &[], O),
    (B, UnblockOwned, &[], N),
    (B, UnblockE, &[], N),
    (W, WbData, &[WriteMemory], O),
    (W, WbCancel, &[], N),
];

pub(super) fn protocol() -> Protocol {
    Protocol {
        cache: Table::new(CACHE)
            .loads(&[S, E, O, M, SM, OM])
            .stores(&[E, M])
            .stalls(&[IS, IM, MI, OI, II], &[Load, Store, Replacement])
            .stalls(&[SM, OM], &[Store, Replacement]),
        directory: Table::new(DIRECTORY).stalls(&[B, W], &[GetS, GetM, Put]),
        memory: None,
        home: O,
        knows_copies: false,
    }
}

/// The directory tells the requester with the memory's data how many caches it asks. Copies that are only read are
/// dropped without a word, so some are asked in vain.
pub(super) fn filter(it: &mut Protocol) {
    for (state, event, request, next) in
        [(I, Load, GetS, IS), (I, Store, GetM, IM), (S, Store, GetM, SM), (O, Store, GetM, OM)]
    {
        it.cache.set(state, event, &[Request(request)], next);
    }
    for state in [IS, IM] {
        it.cache.set(state, MemoryData, &[FillUnlessOwned, AwaitAcks], state);
    }
    for state in [SM, OM] {
        it.cache.set(state, MemoryData, &[AwaitAcks], state);
    }
    for state in [O, N] {
        it.directory.set(state, GetS, &[ProbeCopies(ProbeS), AnswerData(MemoryData)], B);
        it.directory.set(state, GetM, &[ProbeCopies(ProbeM), ForgetCopies, AnswerData(MemoryData)], B);
    }
    it.directory.set(B, Unblock, &[AddSharer], O);
    it.directory.set(B, UnblockOwned, &[AddSharer], N);
    it.directory.set(B, UnblockE, &[AddSharer], N);
    it.directory.set(W, WbData, &[WriteMemory, RemoveSharer], O);
    it.directory.set(W, WbCancel, &[RemoveSharer], N);
}

pub(super) const BUGS: &[Bug] = &[
    COUNTED_TOO_EARLY,
    Bug {
        name: "lost-invalidation",
        summary: "a reader acknowledges a writer's probe, and keeps its copy",
        apply: |it| it.cache.set(S, ProbeM, &[Answer(Ack)], S),
    },
    Bug {
        name: "ack-counted-twice",
        summary: "an acknowledgement counts as two, so the requester does not wait for the last answer",
        apply: |it| {
            for state in [IS, IM, SM, OM] {
                it.cache.set(state, Ack, &[CountAck, CountAck], state);
            }
            it.cache.ignores(&[I, S, E, O, M, MI, OI, II], &[Ack, SharedAck, OwnerData, MemoryData]);
            it.cache.set(IM, SharedAck, &[CountAck], IM);
            it.cache.set(SM, SharedAck, &[CountAck], SM);
            it.cache.set(OM, SharedAck, &[CountAck], OM);
            it.cache.set(OM, OwnerData, &[CountAck], OM);
        },
    },
    Bug {
        name: "skipped-write-back",
        summary: "the data of a write-back does not reach the memory",
        apply: |it| it.directory.set(W, WbData, &[], O),
    },
    Bug {
        name: "stale-forward",
        summary: "the memory's data takes the place of an owner's data that came before it",
        apply: |it| {
            it.cache.set(IS, MemoryData, &[Fill, CountAck], IS);
            it.cache.set(IM, MemoryData, &[Fill, CountAck], IM);
        },
    },
    Bug {
        name: "eviction-race",
        summary: "a write-back is done although another cache has meanwhile taken the block",
        apply: |it| {
            it.cache.set(II, WbAck, &[TellData(WbData)], I);
            it.cache.set(MI, WbNack, &[], I);
            it.cache.set(OI, WbNack, &[], I);
        },
    },
    Bug {
        name: "silent-upgrade",
        summary: "an owner stores without asking those who read its block",
        apply: |it| it.cache.set(O, Store, &[StoreHit, ProfileHit], M),
    },
    Bug {
        name: "shared-answer-lost",
        summary: "a reader does not say that it has a copy, so another one gets the block exclusively",
        apply: |it| it.cache.set(S, ProbeS, &[Answer(Ack)], S),
    },
    Bug {
        name: "owner-forgets",
        summary: "an owner that is read becomes a mere reader, and the memory is out of date",
        apply: |it| it.cache.set(M, ProbeS, &[AnswerData(OwnerData)], S),
    },
    Bug {
        name: "upgrade-race",
        summary: "a copy that is being upgraded stays readable after it was invalidated",
        apply: |it| {
            it.cache.set(SM, ProbeM, &[Answer(Ack)], SM);
            it.cache.set(SM, OwnerData, &[Fill, CountAck], SM);
        },
    },
    Bug {
        name: "load-while-evicting",
        summary: "a load hits in a block that is being written back",
        apply: |it| {
            it.cache.set(MI, Load, &[LoadHit], MI);
            it.cache.set(OI, Load, &[LoadHit], OI);
            it.cache.set(II, Load, &[LoadHit], II);
        },
    },
    Bug {
        name: "memory-thought-current",
        summary: "the directory takes the memory for up to date although an owner gave the data",
        apply: |it| {
            it.directory.set(B, UnblockOwned, &[], O);
            it.cache.set(OI, WbNack, &[], I);
        },
    },
    Bug {
        name: FILTER_FORGETS,
        summary: FILTER_FORGETS_SUMMARY,
        apply: |it| {
            filter(it);
            for state in [O, N] {
                it.directory.set(state, GetS, &[ProbeCopies(ProbeS), ForgetCopies, AnswerData(MemoryData)], B);
            }
        },
    },
];
