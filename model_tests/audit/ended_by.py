"""Who ended a transaction, by its coordinator's log: its client, another producer of the id, or its timeout."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum, unique
from itertools import groupby
from typing import Final

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.findings import Finding
from model_tests.audit.times import clock
from model_tests.audit.transaction_findings import Located
from model_tests.audit.transactions_overdue import CoordinatorPlace
from model_tests.histories.severity import Severity
from spec import rules
from spec.evidence import Layer, evidences
from spec.protocol.completing import is_timed_out
from spec.protocol.coordinator import BUMPING, TransactionEntry
from spec.vocabulary import ABSENT, Api, ControlType, TransactionState

_AGAIN: Final = 4
"""So many transactions in a row that others abort need an explanation.

A producer that is restarted in a transaction leaves one: its next instance aborts it with InitProducerId. A release
that is rolled out, rolled back and rolled out again leaves three in a row, if each instance is stopped in its first
transaction. So four is the least number that no rollout explains; a producer that begins anew for ever, and several
with one id, go beyond any. Nothing in the logs decides between these, hence a suspicion.
"""


@unique
class EndedBy(StrEnum):
    """Who ended a transaction."""

    UNKNOWN = ""  # it is open, or the log does not say
    CLIENT = "client"
    FENCE = "fence"  # an InitProducerId of another producer with the same transactional id
    TIMEOUT = "timeout"
    CLIENT_OR_FENCE = "client or fence"  # under version 2 both leave the same records


def ended_by(known: CoordinatorTransaction) -> EndedBy:
    """Who ended it: EndTxn leaves the epoch as it was under versions 0 and 1, the coordinator's own abort raises it."""
    if not known.decided or known.doubtful:
        return EndedBy.UNKNOWN
    if known.outcome == ControlType.COMMIT.value:
        return EndedBy.CLIENT
    if known.producer_epoch == ABSENT or known.prepared_offset == ABSENT:
        return EndedBy.UNKNOWN
    rise = known.marker_epoch - known.producer_epoch
    by_client = 1 if known.client_version >= BUMPING else 0
    if rise == 0 == by_client:
        return EndedBy.CLIENT
    if is_timed_out(_ongoing(known), known.prepared_ms):
        return EndedBy.TIMEOUT
    return EndedBy.CLIENT_OR_FENCE if rise == by_client else EndedBy.FENCE


def _ongoing(known: CoordinatorTransaction) -> TransactionEntry:
    """What the coordinator had of it before its end."""
    state = TransactionState.ONGOING.value
    return TransactionEntry(known=True, state=state, timeout=known.timeout_ms, start_time=known.started_ms)


@evidences(rules.FENCE_STALE_EPOCH, Layer.AUDIT)
def fenced_again(
    transactions: Iterable[CoordinatorTransaction], coordinators: Mapping[str, CoordinatorPlace]
) -> Iterator[Located]:
    """Ids whose transactions are aborted by fences, one after the other: several producers have the id."""
    by_id: dict[str, list[CoordinatorTransaction]] = {}
    for one in sorted(transactions, key=lambda each: each.first_offset):
        by_id.setdefault(one.transactional_id, []).append(one)
    for name, own in by_id.items():
        fenced = sum(ended_by(one) is EndedBy.FENCE for one in own)
        runs = (list(run) for is_fence, run in groupby(own, lambda one: ended_by(one) is EndedBy.FENCE) if is_fence)
        longest = max(runs, key=len, default=[])
        if len(longest) >= _AGAIN and name in coordinators:
            yield coordinators[name].place, _finding(name, longest, fenced, len(own))


def _finding(name: str, run: list[CoordinatorTransaction], fenced: int, count: int) -> Finding:
    first, last = run[0], run[-1]
    message = (
        f"{fenced} of {count} transactions of {name} were aborted by a fence, {len(run)} in a row between "
        f"{clock(first.started_ms)} and {clock(last.prepared_ms)}: an InitProducerId of another producer with this "
        "transactional id ended each before its client did"
    )
    return Finding(
        rules.FENCE_STALE_EPOCH,
        Severity.SUSPICIOUS,
        first.prepared_offset,
        first.producer_id,
        first.producer_epoch,
        message,
        transactional_id=name,
        step=Api.INIT_PRODUCER_ID,
        remedy=(
            f"find the producers that have the transactional id {name} at the same time, or the one that begins anew "
            "for ever, and give each instance an id of its own"
        ),
    )
