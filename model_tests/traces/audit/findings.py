"""What an audit finds in one partition: findings by rule, and what was judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import TYPE_CHECKING

from spec.rules import Rule
from spec.vocabulary import ABSENT

if TYPE_CHECKING:
    from model_tests.traces.audit.history_log import AttemptTally
    from model_tests.traces.audit.replica import ClusterSide
    from model_tests.traces.audit.transactions_summary import TransactionEvidence


@unique
class Severity(StrEnum):
    """How sure a finding is, and whether it is a failure."""

    VIOLATION = "violation"  # the rule is broken
    KNOWN = "known"  # outside the rule's domain, or a known bug of the recorded build
    SUSPICIOUS = "suspicious"  # legal, but rarely meant
    UNDECIDED = "undecided"  # what would decide is not in the log


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule found broken, or in doubt, at one place of a partition.

    Attributes:
        offset: base offset of the first offending batch.
        guard: name of the check of the append decision that refuses the batch, where there is one.
        message: what was found and what was expected, with the values.
        transactional_id: the one whose transaction it is about, where that is known.
        step: the step of the protocol that failed, where that can be told.
        remedy: what an operator can do about it: a command to run, or what to look at.
        late: offsets at which batches come that are missing here.
        elsewhere: offsets of other producers' batches that have just the sequences missing here.
        until: last offset at which what it says is missing should be, from `offset` on; -1 where nothing is.
        follows: offsets of batches, or of the first ones of transactions: it may be no more than what comes of it that
            one of these is broken.
        others: further producer ids and transactional ids that it is about.
    """

    rule: Rule
    severity: Severity
    offset: int
    producer_id: int
    producer_epoch: int
    message: str
    guard: str = ""
    transactional_id: str = ""
    step: str = ""
    remedy: str = ""
    late: tuple[int, ...] = ()
    elsewhere: tuple[int, ...] = ()
    follows: tuple[int, ...] = ()
    others: tuple[int | str, ...] = ()
    until: int = ABSENT


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction without a marker."""

    producer_id: int
    producer_epoch: int
    first_offset: int


@dataclass(frozen=True, slots=True)
class LogBounds:
    """The offsets that bound a partition's log, and the last stable one."""

    log_start: int
    last_stable: int
    high_watermark: int
    log_end: int


@dataclass(frozen=True, slots=True)
class PartitionVerdict:
    """The audit of one partition.

    Attributes:
        visible_records: what a read_committed reader is given.
        producers: producer ids that wrote to the partition.
        judged: rule id to the number of batches that the rule was held against.
        unjudged: batches whose predecessors lie in unreadable bytes, so that nothing can be said of their sequence.
        cleaned: whether the log cleaner has been here.
        reported: what the log tells of transactions, to be joined with what others tell.
        cluster: what the log tells of the cluster, as a replica or as the controller's log.
        tallies: what became of the records that clients were told are in it.
    """

    offsets: LogBounds
    batches: int
    records: int
    visible_records: int
    producers: int
    open_transactions: tuple[OpenTransaction, ...] = ()
    findings: tuple[Finding, ...] = ()
    judged: Mapping[str, int] = field(default_factory=dict)
    unjudged: int = 0
    cleaned: bool = False
    reported: "TransactionEvidence | None" = None
    cluster: "ClusterSide | None" = None
    tallies: "tuple[AttemptTally, ...]" = ()
