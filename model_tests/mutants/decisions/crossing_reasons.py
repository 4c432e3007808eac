"""Why a layer that reads a decision names no rule when it is broken, and why a decision is seen by few layers."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from model_tests.mutants.decisions.layers import AUDIT, KNOWN_BUGS, PROOFS, SEARCHES, SESSIONS

BY_LAYER: Final[Mapping[str, str]] = MappingProxyType(
    {
        SEARCHES: "what these mutants change breaks no claim of the systems, and all that must happen still does",
        KNOWN_BUGS: "each case asks about one claim, which what these mutants change does not touch",
        PROOFS: "what is proved is safety, and every lemma holds under these mutants too",
        AUDIT: "a log tells which batches were taken and what is known after them, and no answer or refusal",
    }
)
"""Of layers that ask about something in particular; sessions and traces hold every answer and every state."""

UNNAMED: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("committing.to_verify", SESSIONS): "one is asked about by epoch, and no sequence of offsets is compared",
        ("completing.is_given_up", SESSIONS): "a marker that is sent again is refused again, and answers nobody",
        ("fence.asks_as_leader", SESSIONS): "who is not confirmed is refused before the log, and nothing is a copy",
        ("registering.client_version", SESSIONS): "no answer shows the version, and the end of the transaction says it",
        ("seq.continues_forgotten", SESSIONS): "no recorded broker is of 2.0 to 2.4, which alone decide so",
        ("seq.unknown_error", SESSIONS): "every recorded broker takes any first sequence, and tells nobody",
        ("coordinator", AUDIT): "some request leads from one record to the next under these mutants too",
        ("ending", AUDIT): "some request leads from one record to the next under these mutants too",
        ("ids", AUDIT): "some request leads from one record to the next under these mutants too",
    }
)
"""By decision or family, and layer, where mutants decide otherwise."""

FEW: Final[Mapping[str, str]] = MappingProxyType(
    {
        "blocks": "blocks of ids are handed out in one system alone; sessions and traces show the ids",
        "cleaning": "compacted topics are in one small system, which known bugs search; no session or trace has one",
        "committing": "how a group's coordinator words what it answers is in recorded sessions alone",
        "committing._unnamed": "no recorded client commits for a group without a name, and the systems name theirs",
        "committing.to_verify": "the sequence with which one asks about offsets is compared with nothing",
        "completing.expire": "only the system of a known bug lets ids expire by it",
        "completing.is_done": "only the replay of sessions, which keeps what is owed, asks it",
        "completing.may_be_forgotten": "recorded sessions wait until it is; in traces the reference forgets unasked",
        "completing.is_given_up": "its sender alone knows that a marker is sent no more: sent again it is refused",
        "coordinator_steps": "the steps of traces are composed there, and no other layer has such steps",
        "coordinator.look_up": "all but the proofs look tables up by numbers; the mutants look up terms otherwise",
        "electing": "replicas are in traces and in one system, which has no time and no election by preference",
        "electing.may_leave": "no broker of the recorded clusters lost records and was the last in sync",
        "ending": "recorded sessions, traces and systems each reach other cells of the table",
        "ending.keeps_outcome": "traces ask it of a decided transaction; the systems claim the same of whole runs",
        "fence": "who copies a log is in traces, and systems have leaders alone",
        "finding": "only the audit asks which partition belongs to a name; recorded sessions have one coordinator",
        "groups": "groups are in recorded sessions, and two generations of one in a system",
        "groups.left": "no recorded group loses its last member, and a trace has no generations",
        "groups.sync_guards": "every recorded member that brings an assignment is a current one",
        "lso": "what a reader is given is in recorded sessions, and in the audit of logs with what clients were told",
        "offsets": "offsets of groups are in recorded sessions, and of one group in a system",
        "offsets.pending_after_tombstone": "no group of a recording or a system has an offset deleted while one waits",
        "produce": "what is asked before the log is in recorded sessions alone: traces and systems begin at the log",
        "registering": "requests of partitions of which some are not there are in recorded sessions alone",
        "registering.client_version": "no answer shows the version, which traces have among the coordinator's state",
        "repl": "replicas are in traces and in one system, where every request is well formed",
        "seq": "recorded brokers and the systems have releases since 2.5; traces have the older ones too",
        "verification": "how a leader words what it answers is in recorded sessions alone",
        "verification.UNAVAILABLE": "no recorded coordinator was unavailable when a leader asked it",
    }
)
"""By decision, or by family where it is the same for all."""
