"""Partitions whose last stable offset is stalled: where, by whom, since when, until when, and the remedy."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from model_tests.audit.findings import Finding, OpenTransaction
from model_tests.audit.group_log import TOPIC as OFFSETS_TOPIC
from model_tests.audit.group_log import GroupOffset
from model_tests.audit.partition_verdict import PartitionVerdict
from model_tests.audit.times import clock
from model_tests.audit.transaction_findings import abort_command
from model_tests.audit.transactions import TransactionsReport
from model_tests.audit.transactions_judge import JudgedTransaction, TransactionStatus
from model_tests.audit.transactions_overdue import TOOL, fetch_next
from spec.judging.judge_overdue import REAPER_INTERVAL
from spec.protocol.ids import WITHOUT_LIMIT
from spec.vocabulary import ABSENT

SOUND: Final = "open, and within its timeout by all times in its coordinator's log: nothing here shows that it hangs"


UNLIMITED: Final = (
    "open without a timeout, as for a two-phase commit: its coordinator never aborts it by itself; where its client is "
    f"gone, {TOOL} forceTerminateTransaction does"
)


class JudgedPartition(Protocol):
    """A partition that was judged."""

    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def partition(self) -> int:
        """Its number."""

    @property
    def verdict(self) -> PartitionVerdict:
        """What was found of it."""


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A partition whose last stable offset is held below the high watermark.

    Attributes:
        name: how the report calls the partition.
        offset: the last stable offset.
        behind: offsets between it and the high watermark.
        waiting: records there that are committed, or in no transaction.
        transactional_id: whose transaction holds it; empty where that is not known.
        groups: the groups whose offsets are in the transaction, each with partition and offset.
        since_ms: when the transaction began, in milliseconds since 1970; -1 where that is not known.
        aborted_ms: when its coordinator aborts it by itself; -1 where that never happens, or is not known.
        overdue: it should have been aborted by then.
        ends: what there is to say of its end, and what to do.
    """

    name: str
    offset: int
    behind: int
    waiting: int
    producer_id: int
    producer_epoch: int
    transactional_id: str
    groups: tuple[str, ...]
    since_ms: int
    aborted_ms: int
    overdue: bool
    ends: str

    @property
    def sound(self) -> bool:
        """Whether everything that could say that it hangs was judged, and says that it does not."""
        return self.ends == SOUND

    @property
    def remedy(self) -> str:
        """The command that ends it; empty where there is none."""
        return self.ends if self.ends.startswith("kafka-") else ""

    @property
    def in_words(self) -> str:
        """Where, by whom, since when, what waits and what there is to say of its end; not the command."""
        by = f"producer {self.producer_id} epoch {self.producer_epoch}"
        whose = f" ({self.transactional_id})" if self.transactional_id else ""
        since = f", since {clock(self.since_ms)}" if clock(self.since_ms) else ""
        due = clock(self.aborted_ms)
        aborts = "should have aborted it by itself at" if self.overdue else "aborts it by itself at"
        parts = (
            f"{self.waiting} committed records wait" if self.waiting != 1 else "1 committed record waits",
            *(f"group {group}" for group in self.groups),
            f"its coordinator {aborts} {due}, or up to {REAPER_INTERVAL // 1000} s later" if due else "",
            "" if self.remedy else self.ends,
        )
        return (
            f"{self.name} at offset {self.offset}, {self.behind} offsets before its end, "
            f"by {by}{whose}{since}: {'; '.join(filter(None, parts))}"
        )

    def in_one_line(self) -> str:
        """For people."""
        return f"held back: {self.in_words}{f'; to end it: {self.remedy}' if self.remedy else ''}"


def held_back(
    replicas: Sequence[tuple[str, JudgedPartition]],
    transactions: TransactionsReport,
    groups: Sequence[GroupOffset] = (),
) -> Iterator[HeldBack]:
    """What holds the last stable offset of a partition's replicas below their high watermarks; each place once.

    Args:
        replicas: of one partition, each with how the report calls it.
        transactions: what became of all transactions.
        groups: the offsets of groups, with those that are pending.
    """
    findings = [finding for _, one in replicas for finding in one.verdict.findings]
    seen: set[tuple[int, int]] = set()
    for name, one in replicas:
        first = min(one.verdict.open_transactions, key=lambda txn: txn.first_offset, default=None)
        if first is None or one.verdict.offsets.last_stable >= one.verdict.offsets.high_watermark:
            continue
        place = first.producer_id, first.first_offset
        if place not in seen:
            seen.add(place)
            yield _held_back(name, one, first, _finding_about(first, findings), transactions, groups)


def _held_back(
    name: str,
    one: JudgedPartition,
    first: OpenTransaction,
    finding: Finding | None,
    transactions: TransactionsReport,
    groups: Sequence[GroupOffset],
) -> HeldBack:
    at = one.verdict.offsets
    owner = _owner(one, first, transactions.judged)
    known = owner.one.known if owner is not None else None
    known_id = known.transactional_id if known is not None else finding.transactional_id if finding is not None else ""
    is_open = owner is not None and owner.status in (TransactionStatus.OPEN, TransactionStatus.OVERDUE)
    timed = known is not None and is_open and known.started_ms >= 0 and known.timeout_ms < WITHOUT_LIMIT
    return HeldBack(
        name=name,
        offset=at.last_stable,
        behind=at.high_watermark - at.last_stable,
        waiting=one.verdict.waiting_records,
        producer_id=first.producer_id,
        producer_epoch=first.producer_epoch,
        transactional_id=known_id,
        groups=tuple(_groups(first, groups)) if one.topic == OFFSETS_TOPIC else (),
        since_ms=known.started_ms if known is not None and known.started_ms >= 0 else first.first_ms,
        aborted_ms=known.started_ms + known.timeout_ms if known is not None and timed else ABSENT,
        overdue=owner is not None and owner.status is TransactionStatus.OVERDUE,
        ends=_ends(finding, owner, first, transactions),
    )


def _owner(one: JudgedPartition, txn: OpenTransaction, judged: Iterable[JudgedTransaction]) -> JudgedTransaction | None:
    """The transaction whose data holds the partition, if a coordinator's log has it."""
    return next(
        (
            each
            for each in judged
            for place, run in each.one.open
            if (place.topic, place.partition, run.producer_id) == (one.topic, one.partition, txn.producer_id)
            and run.first_offset >= txn.first_offset
        ),
        None,
    )


def _finding_about(txn: OpenTransaction, findings: Sequence[Finding]) -> Finding | None:
    """The finding about an open transaction: it has its first offset, or a later one and a remedy."""
    own = [one for one in findings if one.producer_id == txn.producer_id and one.offset >= txn.first_offset]
    further = (one for one in own if one.remedy)
    return next((one for one in own if one.offset == txn.first_offset), next(further, None))


def _groups(txn: OpenTransaction, groups: Iterable[GroupOffset]) -> Iterator[str]:
    """The offsets that are pending in a transaction, in words."""
    for one in groups:
        for pending in one.pending:
            if pending.producer_id == txn.producer_id and pending.recorded_at >= txn.first_offset:
                yield f"{one.group}: {one.topic}-{one.partition} = {pending.offset}"


def _ends(
    finding: Finding | None, owner: JudgedTransaction | None, txn: OpenTransaction, transactions: TransactionsReport
) -> str:
    """The remedy; that all is well is said only of a transaction whose coordinator's log was judged and says so."""
    if finding is not None and finding.remedy:
        return finding.remedy
    if owner is None:
        return f"whether it hangs is not known: {fetch_next(txn.producer_id, transactions.coordinators)}"
    if owner.status is TransactionStatus.OPEN and not owner.findings and not owner.missing:
        return SOUND if owner.one.known.timeout_ms < WITHOUT_LIMIT else UNLIMITED
    if owner.status is TransactionStatus.COMPLETING:
        return "its outcome is decided, and its marker may be on its way"
    messages = (each.message for _, found in owner.findings for each in found.alone())
    known = owner.one.known
    over = owner.status is TransactionStatus.UNDECIDED and (known.completed or known.expired_ms != ABSENT)
    commands = (abort_command(place, run) for place, run in owner.one.open if run.first_offset >= txn.first_offset)
    unmarked = f"no coordinator has it any more; where the log was not copied before its end, {next(commands, '')}"
    missing = "; ".join(dict.fromkeys((*messages, *owner.missing, *([unmarked] if over else []))))
    return f"{owner.status}: {missing}" if missing else str(owner.status)
