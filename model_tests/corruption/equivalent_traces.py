"""Whether a corrupted trace may be true all the same: as another order of the same run, or as a run like it.

The true trace is taken as a partial order: two steps depend on each other where they touch the same thing (the log of
a partition, a transactional id, a producer id, the course of an application) and one of them changes it. A trace that
has independent steps in another order, or that leaves out or repeats one that changed nothing, has the same states and
the same decisions. Where that cannot be shown, the corruption is to be reported.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum, unique
from typing import Final, TypeAlias

from model_tests.corruption.random_corruption import CorruptionKind, RandomlyCorruptedTrace
from model_tests.judging.columns_judged import columns_judged
from model_tests.judging.follower_links import is_on_follower, progress, progress_after
from model_tests.judging.history_links import ANSWERED
from model_tests.judging.replication_verdicts import JUDGES
from model_tests.traces.schema import Row
from reference.recording.trace import STATE
from spec.vocabulary import Api

Thing: TypeAlias = tuple[object, ...]
Touched: TypeAlias = Mapping[Thing, bool]
"""What a step touches, and whether it changes it."""


@unique
class Reason(StrEnum):
    """Why a corrupted trace may be true."""

    UNREAD = "no rule reads what was changed"
    COMMUTES = "the steps and those between them touch nothing in common that one of them changes"
    OBSERVED = "the step changed nothing: a request that was lost, or an answer that was not recorded"
    REPEATED = "the step changed nothing, and nothing has changed since: a copy of the request has the same answer"
    LAST = "nothing that follows depends on the step: the trace ends before it"
    AGAIN = "put to every decision and rule again, each step has the same answer, and no other step is asked otherwise"


_MOMENTS: Final = tuple((f"before_{column.name}", f"after_{column.name}") for column in STATE)
_ALL_OF_NODE: Final = ("Failover", "Election", "Restart", "Expiry", "Resignation", "Load", "Sessions", "Become")
"""What is in the name of a step that changes more at its node than it shows."""

_EPOCHS: Final = ("leader_epoch", "partition_epoch", "controller_epoch")
_CLIENT: Final = "Client"
_OF_READERS: Final = frozenset(("ClientFetched",))
_PART_OF_ANSWER: Final = "ConsumerFetchAborted"
_ANSWERS: Final = frozenset(("ClientAcknowledged", "ClientSendFailed"))


def harmless(true: Sequence[Row], found: RandomlyCorruptedTrace) -> Reason | None:
    """Why the corrupted trace may be true; None where that is not shown.

    Args:
        true: the steps of the true trace, in order.
        found: what was made of it.
    """
    return next(_REASONS[found.kind](true, found), None)


def _dropped(true: Sequence[Row], found: RandomlyCorruptedTrace) -> Iterator[Reason]:
    row = true[found.place]
    if not columns_judged(row):
        yield Reason.UNREAD
    mine = touched(row)
    if not any(_depend(mine, touched(later)) for later in true[found.place + 1 :]):
        yield Reason.LAST


def _duplicated(true: Sequence[Row], found: RandomlyCorruptedTrace) -> Iterator[Reason]:
    row = true[found.place]
    if not columns_judged(row):
        yield Reason.UNREAD


def _swapped(true: Sequence[Row], found: RandomlyCorruptedTrace) -> Iterator[Reason]:
    first, *between, last = (touched(row) for row in true[found.place : found.other + 1])
    if not any(_depend(one, other) for one in (first, last) for other in between) and not _depend(first, last):
        yield Reason.COMMUTES


def _retimed(true: Sequence[Row], found: RandomlyCorruptedTrace) -> Iterator[Reason]:
    if found.column not in columns_judged(true[found.place]):
        yield Reason.UNREAD


def _relabelled(true: Sequence[Row], found: RandomlyCorruptedTrace) -> Iterator[Reason]:
    either = columns_judged(true[found.place]) | columns_judged(found.rows[found.place])
    if found.column not in either:
        yield Reason.UNREAD


_REASONS: Final = {
    CorruptionKind.DROP: _dropped,
    CorruptionKind.DUPLICATE: _duplicated,
    CorruptionKind.SWAP: _swapped,
    CorruptionKind.RETIME: _retimed,
    CorruptionKind.RELABEL: _relabelled,
}


# --- what a step touches --------------------------------------------------------------------------------------


def touched(row: Row) -> Touched:
    """What a step touches; rather too much than too little."""
    found: dict[Thing, bool] = {}
    for thing, changes in (*_of_client(row), *_of_node(row)):
        found[thing] = found.get(thing, False) or changes
    return found


def _of_client(row: Row) -> Iterator[tuple[Thing, bool]]:
    api, client = row["api"], row["client"]
    if api in _ANSWERS or (api == Api.PRODUCE and row["writer"]):
        yield ("transaction", client, row["transaction"]), False
    elif api in _OF_READERS or not api.startswith(_CLIENT):
        yield (_CLIENT, client), bool(client)
    else:
        yield (_CLIENT, client), True
        yield ("transaction", client, row["transaction"]), True
    if row["writer"] and api not in _OF_READERS:
        yield ("batch", row["topic"], row["partition"], row["writer"], row["first_record"]), True
    if api in _OF_READERS:
        yield ("log", row["topic"], row["partition"]), False


def _of_node(row: Row) -> Iterator[tuple[Thing, bool]]:
    changes, node = _changes(row), row["node"]
    if row["topic"] and row["after_log_end"] >= 0:
        yield ("log", row["topic"], row["partition"]), changes
    if row["transactional_id"]:
        yield ("id", row["transactional_id"]), changes or row["api"].startswith(_CLIENT)
    if row["group"]:
        yield ("group", row["group"], row["topic"], row["partition"]), changes
    for column in ("producer_id", "reply_producer_id", "after_txn_producer_id"):
        if row[column] >= 0 and row["api"] not in _OF_READERS:
            yield ("producer id", row[column]), changes
    if row["api"] in JUDGES and row["api"] != Api.PRODUCE:
        yield ("replicas",), True
    if node:
        whole = any(part in row["api"] for part in _ALL_OF_NODE) or not (row["topic"] or row["transactional_id"])
        yield ("node", node), whole


def _depend(one: Touched, other: Touched) -> bool:
    return any(thing in other and (changes or other[thing]) for thing, changes in one.items())


def _changes(row: Row) -> bool:
    """Whether a step leaves another state behind than it found."""
    return bool(row["appended"]) or any(row[before] != row[after] for before, after in _MOMENTS)


def leaves_as_found(row: Row) -> bool:
    """Whether a node leaves all that it knows as it found it, and an application gets no answer."""
    return shows_no_change(row) and not any(part in row["api"] for part in _ALL_OF_NODE)


def shows_no_change(row: Row) -> bool:
    """Whether all that a node's step shows is after it as before, and an application gets no answer."""
    of_client = row["api"].startswith(_CLIENT) or row["api"] == _PART_OF_ANSWER
    learns = is_on_follower(row) and progress_after(row.__getitem__) != progress(row.__getitem__)
    answers = row["api"] == ANSWERED and (row["batch_count"] > 0 or row["aborted_count"] > 0)
    return not (_changes(row) or of_client or changed_epochs(row) or learns or answers)


def changed_epochs(row: Row) -> set[str]:
    """The epochs of which a step leaves another than it found, by the names of the schema."""
    return {name for name in _EPOCHS if 0 <= row[f"{name}_after"] != row[name]}
