"""Every guard and every answer of every decision under a release, enumerated from the decisions themselves.

A decision is called on unknown values, and so shows the guards and the answers that a release has. A guard that never
applies under a release is a constant already, because constants are folded. Of a term, only the constants that it may
be are kept.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Final, TypeVar

from spec.algebra import Algebra, Term, register
from spec.protocol import (
    append,
    blocks,
    committing,
    completing,
    coordinator_steps,
    electing,
    ending,
    groups,
    ids,
    lso,
    offsets,
    produce,
    registering,
    repl,
    verification,
    verification_queue,
)
from spec.protocol.coordinator import TransactionEntry, worded
from spec.protocol.guards import Guard
from spec.protocol.records import WINDOW, AppendRequest, CachedBatch, MetVerification, ProducerEntry
from spec.versions import RELEASES, Profile
from spec.vocabulary import ErrorCode

# --- unknown values ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class UnknownSource:
    """A term or a fact of which nothing is known.

    Attributes:
        constants: the constants that it may be, if it is a choice.
        open: whether it may have other values too.
    """

    constants: frozenset[int] = frozenset()
    open: bool = True

    def __eq__(self, other: object) -> "UnknownSource":  # type: ignore[override]
        return ANYTHING

    def __ne__(self, other: object) -> "UnknownSource":  # type: ignore[override]
        return ANYTHING

    def __lt__(self, other: object) -> "UnknownSource":
        return ANYTHING

    def __le__(self, other: object) -> "UnknownSource":
        return ANYTHING

    def __gt__(self, other: object) -> "UnknownSource":
        return ANYTHING

    def __ge__(self, other: object) -> "UnknownSource":
        return ANYTHING

    def __add__(self, other: object) -> "UnknownSource":
        return ANYTHING

    def __radd__(self, other: object) -> "UnknownSource":
        return ANYTHING

    def __sub__(self, other: object) -> "UnknownSource":
        return ANYTHING

    def __rsub__(self, other: object) -> "UnknownSource":
        return ANYTHING


ANYTHING: Final = UnknownSource()
"""A term of which no possible value is known."""


def constants_of(term: Term) -> frozenset[int]:
    """The constants that a term may be."""
    return term.constants if isinstance(term, UnknownSource) else frozenset({int(term)})


def is_open(term: Term) -> bool:
    """Whether a term may have other values than its constants."""
    return isinstance(term, UnknownSource) and term.open


def _either(_fact: Term, then: Term, otherwise: Term) -> Term:
    return UnknownSource(constants_of(then) | constants_of(otherwise), is_open(then) or is_open(otherwise))


register(UnknownSource, Algebra(lambda *_: ANYTHING, lambda *_: ANYTHING, lambda _: ANYTHING, _either))


# --- guards and answers -----------------------------------------------------------------------------------------------


AS_MET: Final = "as met"
"""The answer of a guard that passes on an error from elsewhere."""

RELEASED: Final = RELEASES
"""Every release and build; a proposed change has no source."""

Answers = Mapping[str, frozenset[str]]
"""The answers of a decision's guards, by their names, in order."""

Decided = Callable[[Profile], Answers]

Record = TypeVar("Record")


def _any(kind: type[Record], **given: Any) -> Record:
    """A record of which nothing is known except the given fields."""
    names = (part.name for part in fields(kind))  # type: ignore[arg-type]
    return kind(**{name: given.get(name, ANYTHING) for name in names})


ENTRY: Final = _any(TransactionEntry)
GROUP: Final = _any(groups.GroupEntry)
CLAIM: Final = _any(groups.KnownClaim)
COMMIT: Final = _any(committing.CommitRequest, claim=CLAIM)
PRODUCER: Final = _any(ProducerEntry, cached=(_any(CachedBatch),) * WINDOW)
LEADING, FETCH, END = _any(repl.Leading), _any(repl.FollowerFetch), _any(repl.EpochEnd)
PRODUCED: Final = _any(repl.Produce)
SIZE: Final[Any] = ANYTHING


def answers_of(guards: Iterable[Guard]) -> Answers:
    """The answers of each guard; a guard that never applies is left out."""
    found: dict[str, frozenset[str]] = {}
    for guard in guards:
        if guard.applies is not False:
            found[guard.name] = found.get(guard.name, frozenset()) | _named(guard.error)
    return MappingProxyType(found)


def _named(error: Any) -> frozenset[str]:
    """Names of the error codes that a term may be."""
    return frozenset((*(ErrorCode(code).name for code in constants_of(error)), *((AS_MET,) if is_open(error) else ())))


def _renamed(reported: Callable[[int], Any]) -> Answers:
    """For each error code that some version of the request replaces, the error codes that the client gets instead."""
    found = {code.name.lower(): _named(reported(code.value)) - {code.name} for code in ErrorCode}
    return MappingProxyType({name: reported_as for name, reported_as in found.items() if reported_as})


def _said_of(facts: Mapping[str, Callable[[int], Any]]) -> Answers:
    """For each error code of which one of these facts holds, the name of the fact."""
    held = {
        code.name.lower(): frozenset(name for name, fact in facts.items() if fact(code.value) is True)
        for code in ErrorCode
    }
    return MappingProxyType({name: names for name, names in held.items() if names})


def _replica_fetch(profile: Profile) -> Answers:
    return answers_of(
        (
            *repl.fetch_guards(LEADING, FETCH),
            *repl.range_guards(LEADING, FETCH, END),
            *repl.incarnation_guards(LEADING, FETCH, END, profile),
        )
    )


def _by_itself(profile: Profile) -> Answers:
    """The steps that a coordinator takes by itself: each step is its own guard."""
    step = _any(coordinator_steps.CoordinatorStep, before=ENTRY, after=ENTRY, inputs=_INPUTS, answered=_IDENTITY)
    found: dict[str, frozenset[str]] = {}
    for decide in (coordinator_steps.time_out, coordinator_steps.expire, coordinator_steps.load):
        found.update(answers_of(decide(step, profile).checks))
    return MappingProxyType(found)


def _unlogged(_profile: Profile) -> Answers:
    """The answers if the coordinator's log refuses a record, by its error, and if the coordinator is elsewhere."""
    elsewhere = frozenset(code.name for code in coordinator_steps.ELSEWHERE)
    return MappingProxyType(
        {**_renamed(coordinator_steps.not_logged), "other": frozenset({AS_MET}), "elsewhere": elsewhere}
    )


def _of_consumer_group(profile: Profile) -> Answers:
    """Who may commit to a consumer group (KIP-848), in a transaction or outside."""
    claim = _any(groups.EpochClaim)
    return answers_of(
        guard
        for transactional in (False, True)
        for guard in groups.epoch_guards(claim, ANYTHING, profile, transactional=transactional)
    )


def _older_versions(_profile: Profile) -> Answers:
    """The error code that clients of older request versions get for PRODUCER_FENCED, by request."""
    since = {
        "init_producer_id": ids.FENCED_SINCE,
        "add_partitions_to_txn": registering.FENCED_SINCE,
        "add_offsets_to_txn": committing.FENCED_SINCE,
        "end_txn": ending.FENCED_SINCE,
    }
    fenced = ErrorCode.PRODUCER_FENCED.value
    return MappingProxyType({api: _named(worded(fenced, first - 1, first)) for api, first in since.items()})


def _verified(profile: Profile) -> Answers:
    """The error codes of single partitions in AddPartitionsToTxn."""
    request = _any(registering.AddRequest)
    passed = registering.register(ENTRY, request, profile)
    of_all = frozenset[str]().union(*(_named(guard.error) for guard in registering.guards(ENTRY, request, profile)))
    return MappingProxyType(
        {
            "not_registered": _named(registering.verified(passed, False, profile)) - of_all,
            "partition_unknown": _named(registering.refused_together(0, False, False)),
            "other_unknown": _named(registering.refused_together(0, True, False)),
        }
    )


_IDENTITY: Final = _any(ending.IdAndEpoch)
_INPUTS: Final = _any(coordinator_steps.StepInput, producer=_IDENTITY, expected=_IDENTITY)

DECISIONS: Final[Mapping[str, Decided]] = MappingProxyType(
    {
        "produce": lambda profile: answers_of(produce.guards(_any(produce.PartitionProduce), profile)),
        "append": lambda profile: answers_of(
            append.guards(PRODUCER, _any(AppendRequest), profile, _any(MetVerification))
        ),
        "question-to-coordinator": lambda _: answers_of(
            verification_queue.guards(_any(verification_queue.PendingVerification), ANYTHING)
        ),
        "verification": lambda profile: _renamed(lambda error: verification.reported(error, ANYTHING, profile)),
        "init-producer-id": lambda profile: answers_of(ids.guards(ENTRY, _any(ids.InitRequest), profile)),
        "add-partitions": lambda profile: answers_of(registering.guards(ENTRY, _any(registering.AddRequest), profile)),
        "partition-of-add-partitions": _verified,
        "end-txn": lambda profile: answers_of(ending.guards(ENTRY, _any(ending.EndRequest), profile)),
        "coordinator-log": _unlogged,
        "coordinator-by-itself": _by_itself,
        "older-request-versions": _older_versions,
        "marker-answered": lambda _: _said_of({"done": completing.is_done, "given up": completing.is_given_up}),
        "txn-offset-commit": lambda profile: answers_of(committing.transactional_guards(GROUP, COMMIT, profile)),
        "errors-of-txn-offset-commit": lambda profile: _renamed(
            lambda error: committing.reported(error, ANYTHING, profile)
        ),
        "offset-commit": lambda profile: answers_of(committing.plain_guards(GROUP, COMMIT, profile)),
        "commit-to-consumer-group": _of_consumer_group,
        "marker-on-offsets": lambda _: answers_of(
            offsets.application_guards(_any(offsets.OffsetEntry), _any(offsets.OffsetEntry), ANYTHING)
        ),
        "offset-fetch": lambda _: answers_of(offsets.fetch_guards(ANYTHING, ANYTHING)),
        "join-group": lambda profile: answers_of(groups.join_guards(GROUP, CLAIM, ANYTHING, profile)),
        "sync-group": lambda profile: answers_of(groups.sync_guards(GROUP, CLAIM, profile)),
        "fetch": lambda _: answers_of(lso.fetch_guards(_any(lso.LogOffsets), ANYTHING)),
        "claim-block": lambda profile: answers_of(
            blocks.guards(_any(blocks.BlockRecord), _any(blocks.BlockRecord), SIZE, profile, blocks.LARGEST)
        ),
        "fetch-of-replica": _replica_fetch,
        "append-of-leader": lambda _: answers_of(repl.append_guards(PRODUCED)),
        "acknowledge": lambda _: answers_of(repl.acknowledge_guards(PRODUCED, ANYTHING, ANYTHING)),
        "alter-partition": lambda profile: answers_of(
            electing.proposal_guards(_any(electing.Proposal), ANYTHING, ANYTHING, profile)
        ),
    }
)
"""Every decision that may refuse or rename, by its name on the pages."""


def answers(decision: str, profile: Profile) -> Answers:
    """The answers of a decision's guards under a release, with any transaction version that the release has."""
    found: dict[str, frozenset[str]] = {}
    for version in range(profile.transaction_version, -1, -1):
        for guard, answered in DECISIONS[decision](profile.under(version)).items():
            found[guard] = found.get(guard, frozenset()) | answered
    return MappingProxyType(found)


BEHAVIOURS: Final = tuple(
    part.name for part in fields(Profile) if part.name not in {"name", "max_sequence", "max_epoch"}
)
"""The behaviours in which releases differ; the largest sequence and epoch follow from the types of the fields."""
