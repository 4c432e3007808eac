"""Offsets of groups against the partitions that they are of, and against the transactions that committed them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from model_tests.audit.findings import Finding
from model_tests.audit.group_log import GroupOffset, LostOffset
from model_tests.audit.time_words import clock
from model_tests.audit.transactions import TransactionsReport
from model_tests.histories.severity import Severity
from spec import rules
from spec.evidence import Layer, evidences
from spec.judging.judge_groups import judge_place
from spec.judging.judge_join import FARTHEST_CLOCKS_MS
from spec.vocabulary import ABSENT

if TYPE_CHECKING:
    from model_tests.audit.audited_log import AuditedTransactionLog
    from model_tests.audit.transactions_summary import PartitionTransactions


def with_groups(
    logs: Sequence["AuditedTransactionLog"], findings: Sequence[tuple[Finding, ...]], transactions: TransactionsReport
) -> list[tuple[Finding, ...]]:
    """The findings, with those about the offsets of groups; of replicas that have them alike, the first says so."""
    ids = transactions.owners
    ends = _furthest(logs)
    seen: set[tuple[str, Finding]] = set()
    found = []
    for log, own in zip(logs, findings, strict=True):
        new = [one for one in _found(log, ends, ids) if (log.cluster, one) not in seen]
        seen.update((log.cluster, one) for one in new)
        found.append(tuple(sorted((*own, *new), key=lambda one: (one.offset, one.rule.id))) if new else own)
    return found


def _furthest(
    logs: Sequence["AuditedTransactionLog"],
) -> dict[tuple[str, str, int], "PartitionTransactions"]:
    """The summary of each partition's furthest replica whose end is not lost."""
    ends: dict[tuple[str, str, int], PartitionTransactions] = {}
    for log in logs:
        here = log.verdict.reported.here if log.verdict.reported is not None else None
        name = log.cluster, log.topic, log.partition
        if here is not None and (name not in ends or here.end > ends[name].end):
            ends[name] = here
    return {name: here for name, here in ends.items() if not here.tail_lost}


def _found(
    log: "AuditedTransactionLog",
    ends: Mapping[tuple[str, str, int], "PartitionTransactions"],
    ids: Mapping[int, str],
) -> Iterator[Finding]:
    groups = log.verdict.cluster.groups if log.verdict.cluster is not None else None
    for lost in groups.lost if groups is not None else ():
        yield _lost(lost, ids.get(lost.producer_id, ""))
    for one in groups.offsets if groups is not None else ():
        here = ends.get((log.cluster, one.topic, one.partition))
        if here is not None:
            yield from _beyond(one, here)


@evidences(rules.OFFSETS_ATOMIC, Layer.AUDIT)
def _lost(lost: LostOffset, transactional_id: str) -> Finding:
    name = f"{lost.topic}-{lost.partition}"
    message = (
        f"group {lost.group}: offset {lost.offset} of {name} was committed in a transaction (marker at offset "
        f"{lost.marker}), but a tombstone at offset {lost.tombstone} came between and took it away while it was "
        "pending: the outputs are visible, the input offset is gone, and the group reads its input again"
    )
    return Finding(
        rules.OFFSETS_ATOMIC,
        Severity.SUSPICIOUS,
        lost.recorded_at,
        lost.producer_id,
        lost.producer_epoch,
        message,
        transactional_id=transactional_id,
        step="a tombstone of the offset, as its expiration or deletion writes it, during the transaction",
        remedy=(
            f"with the group stopped, kafka-consumer-groups.sh --bootstrap-server HOST:PORT --group {lost.group} "
            f"--topic {lost.topic}:{lost.partition} --reset-offsets --to-offset {lost.offset} --execute"
        ),
    )


@evidences(rules.REPL_COMMITTED_SURVIVES, Layer.AUDIT)
def _beyond(one: GroupOffset, here: "PartitionTransactions") -> Iterator[Finding]:
    """A group's offset behind the end of its partition."""
    check = judge_place(one.offset, here.end)
    if not check.at_stake or check.holds:
        return
    later = not here.closed and one.recorded_ms > here.latest_ms + FARTHEST_CLOCKS_MS
    doubt = f"; unless {one.topic}-{one.partition} was copied before: copy it again" if later else ""
    message = (
        f"group {one.group} committed offset {one.offset} of {one.topic}-{one.partition} at {clock(one.recorded_ms)}, "
        f"but that ends at offset {here.end}: records that it read are gone (an unclean election, a topic that was "
        f"deleted and made again), or the offset was set so{doubt}"
    )
    yield Finding(
        check.rule,
        Severity.UNDECIDED if later else Severity.SUSPICIOUS,
        one.recorded_at,
        ABSENT,
        ABSENT,
        message,
        remedy=(
            f"a consumer of the group begins by its auto.offset.reset; with the group stopped, set the offset: "
            f"kafka-consumer-groups.sh --bootstrap-server HOST:PORT --group {one.group} --topic "
            f"{one.topic}:{one.partition} --reset-offsets --to-latest --execute"
        ),
    )
