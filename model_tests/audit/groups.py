"""The offsets of groups in the report, and in the words of findings about `__consumer_offsets`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from model_tests.audit.findings import Finding
from model_tests.audit.group_log import TOPIC, GroupOffset, PartitionGroupOffsets, read_offsets, worded
from model_tests.audit.log import read_log
from model_tests.logs.kafka_log_folders import list_logs
from spec import rules
from spec.vocabulary import ABSENT

if TYPE_CHECKING:
    from model_tests.audit.partition_verdict import AuditedTransactionLog


_ABOUT_TRANSACTIONS: Final = (
    rules.OFFSETS_ATOMIC,
    rules.TXN_ATOMIC,
    rules.TXN_ONE_OUTCOME,
    rules.TXN_MARKER_ONCE,
    rules.TXN_REGISTERED_BEFORE_DATA,
    rules.TXN_TIMEOUT,
)


MOST_OFFSETS: Final = 24
"""Offsets that are listed."""


@dataclass(frozen=True, slots=True)
class GroupsReport:
    """What groups committed.

    Attributes:
        offsets: by group and partition what is committed, and what is pending.
        passed_over: records that are no offsets, by name.
    """

    offsets: tuple[GroupOffset, ...] = ()
    passed_over: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.offsets)

    def to_json(self) -> dict[str, object]:
        """The same as plain values.

        Fields:
            offsets[].topic: topic
            offsets[].partition: number of the partition
            offsets[].group: the consumer group
            offsets[].offset: committed offset; -1 if none
            offsets[].recorded_at: offset of its record; -1 if none
            offsets[].recorded_ms: the time of its record; -1 if none
            offsets[].committed: commits in transactions that became true
            offsets[].aborted: commits in transactions that did not
            offsets[].pending[].producer_id: whose transaction is open
            offsets[].pending[].producer_epoch: its epoch
            offsets[].pending[].offset: what it would commit
            offsets[].pending[].recorded_at: offset of its record
            passed_over.*: records of the groups' log that are no offsets, by name
        """
        offsets = [{**asdict(one), "pending": [asdict(waiting) for waiting in one.pending]} for one in self.offsets]
        return {"offsets": offsets, "passed_over": dict(self.passed_over)}

    def print(self, console: Console, ids: Mapping[int, str]) -> None:
        """Write the offsets; of many, those that wait for a transaction first.

        Args:
            console: where to.
            ids: the transactional ids of producer ids, where they are known.
        """
        order = sorted(self.offsets, key=lambda one: (not one.pending, one.group, one.topic, one.partition))
        table = Table(title="Offsets of groups", title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))
        for name in ("group", "partition"):
            table.add_column(name, overflow="fold")
        table.add_column("offset", justify="right")
        table.add_column("pending: offset, in the transaction of", overflow="fold")
        for one in order[:MOST_OFFSETS]:
            offset = str(one.offset) if one.offset != ABSENT else "none"
            pending = "\n".join(
                f"{each.offset}, {ids.get(each.producer_id) or f'producer {each.producer_id}'}" for each in one.pending
            )
            table.add_row(Text(one.group), Text(f"{one.topic}-{one.partition}"), offset, pending)
        console.print(table)
        if len(order) > MOST_OFFSETS:
            console.print(Text(f"{len(order) - MOST_OFFSETS} more offsets are in the JSON report.", style="dim"))
        console.print(Text(self.in_one_line()), soft_wrap=True)

    def in_one_line(self) -> str:
        """For people."""
        groups = len({one.group for one in self.offsets})
        committed, aborted = (sum(getattr(one, name) for one in self.offsets) for name in ("committed", "aborted"))
        pending = sum(len(one.pending) for one in self.offsets)
        return (
            f"Offsets of {groups} groups for {len(self.offsets)} partitions; in transactions {committed} committed, "
            f"{aborted} aborted, {pending} pending."
        )


def groups_of(logs: Sequence["AuditedTransactionLog"]) -> GroupsReport:
    """The offsets of all groups; of the replicas of a partition, the one that has the most."""
    best: dict[tuple[str, int], tuple[tuple[int, int], PartitionGroupOffsets]] = {}
    for log in logs:
        reported, side = log.verdict.reported, log.verdict.cluster
        if reported is None or side is None or side.groups is None:
            continue
        place, reach = (log.cluster, log.partition), (reported.here.last_leader_epoch, reported.here.end)
        if place not in best or reach > best[place][0]:
            best[place] = reach, side.groups
    passed: Counter[str] = Counter()
    for _, groups in best.values():
        passed.update(groups.passed_over)
    return GroupsReport(tuple(one for _, groups in best.values() for one in groups.offsets), passed)


def with_offsets(
    logs: Sequence["AuditedTransactionLog"], findings: Sequence[tuple[Finding, ...]]
) -> list[tuple[Finding, ...]]:
    """The findings; those about offsets say which."""
    return [
        tuple(_with_offsets(log, one) if _is_about_offsets(log, one) else one for one in own)
        for log, own in zip(logs, findings, strict=True)
    ]


def _is_about_offsets(log: "AuditedTransactionLog", finding: Finding) -> bool:
    return log.topic == TOPIC and finding.rule in _ABOUT_TRANSACTIONS and finding.producer_id != ABSENT


def _with_offsets(log: "AuditedTransactionLog", finding: Finding) -> Finding:
    """Read again what the producer committed between the markers around the offset."""
    folder = next(iter(list_logs([log.path]).logs), None)
    if folder is None:
        return finding
    batches, _ = read_log(folder, crc=False)
    ends = batches.base_offset[batches.control & (batches.producer_id == finding.producer_id)]
    after = int(max(ends[ends < finding.offset], default=ABSENT))
    before = int(min(ends[ends >= finding.offset], default=batches.last_offset.max(initial=ABSENT) + 1))
    parts = [
        one
        for one in read_offsets(folder, batches).records
        if after < one.recorded_at <= before and batches.producer_id[one.row] == finding.producer_id
    ]
    known = worded(parts)
    if not parts or known in finding.message:
        return finding
    return replace(finding, message=f"{finding.message}; its offsets: {known}")
