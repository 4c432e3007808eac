"""Compares a transaction in its partitions with the transaction in its coordinator's log."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import TypeVar

import numpy as np

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.copy_horizon import UNREACHED, Reach
from model_tests.audit.transaction_findings import (
    BY_HAND,
    OFFSETS_TOPIC,
    Located,
    copied_here,
    hidden,
    located,
    outcome_word,
)
from model_tests.audit.transactions_gaps import without_marker
from model_tests.audit.transactions_join import NONE_OWNED, Gap, JoinedTransaction, MarkedData, Owned, unended
from model_tests.audit.transactions_rows import broken, broken_rows, columns_of, marker_of, outcome_of
from model_tests.audit.transactions_summary import DataRun
from model_tests.common.reports import listed
from model_tests.histories.severity import Severity
from model_tests.logs.coordinator_log_values import Partition
from spec import rules
from spec.judging.judge import RuleCheck
from spec.judging.judge_join import (
    CoordinatorOutcome,
    EndedData,
    MarkerCounts,
    has_outcome_of,
    is_undecided_repeat,
    judge_ended_data,
    judge_marker,
    judge_outcomes,
    judge_repeated,
    may_be_by_hand,
)
from spec.rules import Rule
from spec.vocabulary import ABSENT, Api, ControlType, TransactionState

Row = TypeVar("Row")


@unique
class TransactionStatus(StrEnum):
    """What became of a transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"  # Ongoing by its coordinator's log
    COMPLETING = "completing"  # decided, some markers may be on their way
    OVERDUE = "overdue"  # open or completing, though by the coordinator's log it should have ended
    LOST = "lost"  # an unclean election took its data or a marker away
    HANGING = "hanging"  # data without a marker, though the coordinator has ended the transaction or never knew it
    TORN = "torn"  # partitions have different outcomes
    BROKEN = "broken"  # breaks a rule in another way
    UNDECIDED = "undecided"  # what would decide is not there


@dataclass(frozen=True, slots=True)
class JudgedTransaction:
    """A transaction with its verdict.

    Attributes:
        missing: what would be needed to say more; empty where nothing is.
        unmarked: the partitions that lack a marker, each with its finding, which is one of `findings`.
        unread: the registered partitions whose logs are not here.
    """

    one: JoinedTransaction
    status: TransactionStatus
    findings: tuple[Located, ...]
    missing: tuple[str, ...] = ()
    unmarked: tuple[tuple[Gap, Located], ...] = ()
    unread: frozenset[Partition] = frozenset()


def judge_transactions(transactions: Sequence[JoinedTransaction], reported: Reach) -> list[JudgedTransaction]:
    """The verdicts on all transactions of a cluster, in their order.

    The decisions judge columns of all of them. Only those in which one is broken or in doubt are looked at alone.

    Args:
        transactions: with what the partitions have of them.
        reported: how far each log is known to go.
    """
    others = unended(transactions)
    odd = _odd(transactions, reported, others)
    return [
        judge_transaction(one, reported, others) if number in odd else JudgedTransaction(one, _status(one, []), ())
        for number, one in enumerate(transactions)
    ]


def _odd(transactions: Sequence[JoinedTransaction], reported: Reach, others: Owned) -> set[int]:
    """Numbers of the transactions in which something does not hold, or is in doubt."""
    odd = {number for number, one in enumerate(transactions) if one.known.doubtful}
    outcomes = [outcome_of(one.known) for one in transactions]
    ended = [(number, each) for number, one in enumerate(transactions) for each in one.ended]
    odd |= {number for number, each in ended if each.again}
    rows = [(number, each.row()) for number, each in ended]
    counts = [(number, _counts(one, outcomes[number])) for number, one in enumerate(transactions) if one.ended]
    odd |= _rows_broken(counts, lambda _, counted: judge_outcomes(counted), outcomes)
    odd |= _rows_broken(rows, judge_marker, outcomes)
    first = ((number, each) for number, each in ended if not each.again)
    data = ((n, _data(transactions[n].known, each, run, others)) for n, each in first for run in each.runs)
    odd |= _rows_broken(data, judge_ended_data, outcomes)
    return odd | {number for number, one in enumerate(transactions) if one.gaps}


def _rows_broken(
    rows: Iterable[tuple[int, Row]],
    judge: Callable[[CoordinatorOutcome, Row], tuple[RuleCheck, ...]],
    outcomes: Sequence[CoordinatorOutcome],
) -> set[int]:
    """The numbers of the transactions of which a row does not hold, judged over columns of all rows."""
    numbered = list(rows)
    if not numbered:
        return set()
    checks = judge(columns_of([outcomes[number] for number, _ in numbered]), columns_of([row for _, row in numbered]))
    return {numbered[place][0] for place in np.flatnonzero(broken_rows(checks, len(numbered)))}


def judge_transaction(
    one: JoinedTransaction, reported: Reach = UNREACHED, others: Owned = NONE_OWNED
) -> JudgedTransaction:
    """The verdict on a transaction that the coordinator's log has.

    Args:
        one: with what the partitions have of it.
        reported: how far each log is known to go.
        others: log and first offset of data that other transactions have there, and no marker (`unended`).
    """
    missing: list[str] = []
    if one.known.doubtful:
        return JudgedTransaction(
            one, TransactionStatus.UNDECIDED, (), ("its coordinator's log is broken or incomplete",)
        )
    unmarked = tuple(without_marker(one, missing, reported))
    found = [
        *_wrong_outcomes(one),
        *_repeated(one, missing),
        *(finding for ended in one.ended for finding in _wrong_marker(one.known, ended)),
        *(finding for ended in one.ended if not ended.again for finding in _wrong_data(one, ended, others)),
        *(finding for _, finding in unmarked),
    ]
    findings, needed = (*found, *copied_here(one)), tuple(dict.fromkeys(missing))
    return JudgedTransaction(one, _status(one, found), findings, needed, unmarked)


def _status(one: JoinedTransaction, found: list[Located]) -> TransactionStatus:
    known = one.known
    if any(finding.rule in (rules.TXN_ATOMIC, rules.TXN_ONE_OUTCOME) for _, finding in found):
        return TransactionStatus.TORN
    if known.completed and one.open and found:
        return TransactionStatus.HANGING
    if found:
        lost = all(finding.severity is Severity.KNOWN for _, finding in found)
        return TransactionStatus.LOST if lost else TransactionStatus.BROKEN
    if not known.decided:
        return TransactionStatus.OPEN if known.state == TransactionState.ONGOING.value else TransactionStatus.UNDECIDED
    if not known.completed:
        return TransactionStatus.COMPLETING
    return TransactionStatus.COMMITTED if known.outcome == ControlType.COMMIT.value else TransactionStatus.ABORTED


def _counts(one: JoinedTransaction, outcome: CoordinatorOutcome) -> MarkerCounts:
    """How many partitions have which outcome."""
    first = [ended for ended in one.ended if not ended.again]
    agreeing = [ended for ended in first if has_outcome_of(outcome, marker_of(ended.marker))]
    offsets, of_both = _in_offsets(agreeing), _in_offsets(first)
    return MarkerCounts(len(agreeing), offsets, len(first) - len(agreeing), of_both - offsets)


def _in_offsets(markers: Iterable[MarkedData]) -> int:
    return sum(ended.place.topic == OFFSETS_TOPIC for ended in markers)


def _wrong_outcomes(one: JoinedTransaction) -> Iterator[Located]:
    """Markers that say another outcome than the Prepare record; one finding for all of a transaction."""
    first = [ended for ended in one.ended if not ended.again]
    for check in broken(judge_outcomes(_counts(one, outcome_of(one.known)))):
        right = [ended for ended in first if ended.marker.outcome == one.known.outcome]
        wrong = [ended for ended in first if ended.marker.outcome != one.known.outcome] or right
        yield _wrong_outcome(check.rule, one, wrong, right)


def _wrong_outcome(rule: Rule, one: JoinedTransaction, wrong: list[MarkedData], right: list[MarkedData]) -> Located:
    decided, other = outcome_word(one.known.outcome), outcome_word(wrong[0].marker.outcome)
    at, agree = (listed(f"{each.place.name} offset {each.marker.offset}" for each in own) for own in (wrong, right))
    message = (
        f"the marker says {other} ({at}), but the coordinator's Prepare record (offset {one.known.prepared_offset}) "
        f"says {decided}" + (f", as the markers at {agree}" if right else "; no marker agrees with it")
    )
    remedy = (
        "nothing can change a marker: take this transaction's records on these partitions as "
        f"{'lost' if decided == 'COMMIT' else 'wrongly visible'} and write or undo them by hand"
    )
    return located(wrong[0].place, rule, wrong[0].marker.offset, one.known, message, Api.WRITE_TXN_MARKERS, remedy)


def _repeated(one: JoinedTransaction, missing: list[str]) -> Iterator[Located]:
    """A further marker of the same transaction that has another outcome, or that ends further data."""
    outcome = outcome_of(one.known)
    for ended in (each for each in one.ended if each.again):
        if is_undecided_repeat(outcome, ended.row()):
            missing.append(f"{ended.place.name}: what its coordinator's log says after the Prepare record")
        for check in broken(judge_repeated(outcome, ended.row())):
            yield _repeat(check.rule, one.known, ended)


def _repeat(rule: Rule, known: CoordinatorTransaction, ended: MarkedData) -> Located:
    offset, word = ended.marker.offset, outcome_word(ended.marker.outcome)
    if rule is rules.TXN_MARKER_ONCE:
        message = (
            f"a second {word} marker of its transaction ends data of a later epoch, "
            f"{ended.runs[0].producer_epoch}, from offset {ended.runs[0].first_offset} on"
        )
        return located(ended.place, rule, offset, known, message, Api.WRITE_TXN_MARKERS, "")
    if rule is rules.TXN_REGISTERED_BEFORE_DATA:
        message = (
            f"data after the marker of its transaction, ended by a second {word} "
            f"marker at offset {offset}: it came after the outcome was decided"
        )
        return located(ended.place, rule, ended.runs[0].first_offset, known, message, Api.PRODUCE, "")
    message = (
        f"a second marker says {word}, but the transaction's outcome was "
        f"{outcome_word(known.outcome)} and had its marker here already"
    )
    return located(ended.place, rule, offset, known, message, Api.WRITE_TXN_MARKERS, "")


def _wrong_marker(known: CoordinatorTransaction, ended: MarkedData) -> Iterator[Located]:
    marker, outcome = ended.marker, outcome_of(known)
    for check in broken(judge_marker(outcome, ended.row())):
        if check.rule is rules.FENCE_COORDINATOR_EPOCH:
            message = (
                f"marker of coordinator epoch {marker.coordinator_epoch}, but the outcome was decided by the "
                f"coordinator of epoch {known.coordinator_epoch}: a stale coordinator wrote it"
            )
            yield located(ended.place, check.rule, marker.offset, known, message, Api.WRITE_TXN_MARKERS, "")
            continue
        message = (
            f"the marker has epoch {marker.producer_epoch}, its transaction's Prepare record has {known.marker_epoch} "
            f"({_regime(known)})"
        )
        epoch, severity = marker.producer_epoch, Severity.VIOLATION
        if may_be_by_hand(outcome, ended.row()):
            message, severity = message + BY_HAND, Severity.SUSPICIOUS
        yield located(
            ended.place, check.rule, marker.offset, known, message, Api.WRITE_TXN_MARKERS, "", epoch, severity
        )


def _regime(known: CoordinatorTransaction) -> str:
    if known.producer_epoch == ABSENT:
        return f"transaction version {'2' if known.client_version >= 2 else '0 or 1'}"
    rise = known.marker_epoch - known.producer_epoch
    if rise == 0:
        return "the end of the transaction left the epoch as it was: versions 0 and 1"
    by = "version 2" if known.client_version >= 2 else "a fence or a timeout"
    return f"the end of the transaction raised the epoch by {rise}: {by}"


def _data(known: CoordinatorTransaction, ended: MarkedData, run: DataRun, others: Owned) -> EndedData:
    """Data that a marker ends, as the decisions take it; before later data, it may be of a transaction in a hole."""
    in_hole = known.after_hole and run.producer_epoch < ended.runs[-1].producer_epoch
    return EndedData(
        run.producer_epoch,
        hidden=hidden(ended.place, run.first_offset, ended.marker.offset),
        owned=in_hole or (ended.place.log, run.first_offset) in others,
    )


def _wrong_data(one: JoinedTransaction, ended: MarkedData, others: Owned) -> Iterator[Located]:
    """Data that a marker ends although it has another epoch than the transaction."""
    outcome = outcome_of(one.known)
    for run in ended.runs:
        for check in broken(judge_ended_data(outcome, _data(one.known, ended, run, others))):
            why = (
                "no AddPartitionsToTxn of that epoch came before it: it belongs to no registered transaction"
                if check.rule is rules.TXN_REGISTERED_BEFORE_DATA
                else "its producer was fenced"
            )
            message = (
                f"data of epoch {run.producer_epoch} in the transaction of epoch {one.known.producer_epoch}, covered "
                f"by the {outcome_word(ended.marker.outcome)} marker at offset {ended.marker.offset}: {why}"
            )
            epoch = run.producer_epoch
            yield located(ended.place, check.rule, run.first_offset, one.known, message, Api.PRODUCE, "", epoch)
