"""Compares a transaction in its partitions with the transaction in its coordinator's log."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.copy_horizon import UNREACHED, Reach
from model_tests.audit.transaction_findings import BY_HAND, OFFSETS_TOPIC, Located, hidden, located, outcome_word
from model_tests.audit.transactions_gaps import without_marker
from model_tests.audit.transactions_join import JoinedTransaction, MarkedData
from model_tests.audit.transactions_match import is_of
from model_tests.audit.transactions_misplaced import copied_here
from model_tests.histories.severity import Severity
from spec import rules
from spec.evidence import Layer, evidences
from spec.rules import Rule
from spec.vocabulary import ABSENT, Api, ControlType, TransactionState

NONE: Final = frozenset[tuple[int, int]]()


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
    """

    one: JoinedTransaction
    status: TransactionStatus
    findings: tuple[Located, ...]
    missing: tuple[str, ...] = ()


def judge_transaction(
    one: JoinedTransaction, reported: Reach = UNREACHED, others: frozenset[tuple[int, int]] = NONE
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
    found = [
        *_wrong_outcomes(one),
        *_repeated(one, missing),
        *(finding for ended in one.ended for finding in _wrong_marker(one.known, ended)),
        *(finding for ended in one.ended if not ended.again for finding in _wrong_data(one, ended, others)),
        *without_marker(one, missing, reported),
    ]
    return JudgedTransaction(one, _status(one, found), (*found, *copied_here(one)), tuple(dict.fromkeys(missing)))


def unended(transactions: Iterable[JoinedTransaction]) -> frozenset[tuple[int, int]]:
    """Log and first offset of data of transactions that have no marker there."""
    gaps = (gap for one in transactions for gap in one.gaps)
    return frozenset((gap.place.log, run.first_offset) for gap in gaps for run in gap.runs)


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


@evidences(rules.TXN_ATOMIC, Layer.AUDIT)
@evidences(rules.TXN_ONE_OUTCOME, Layer.AUDIT)
@evidences(rules.OFFSETS_ATOMIC, Layer.AUDIT)
def _wrong_outcomes(one: JoinedTransaction) -> Iterator[Located]:
    """Markers that say another outcome than the Prepare record; one finding for all of a transaction."""
    first = [ended for ended in one.ended if not ended.again]
    wrong = [ended for ended in first if ended.marker.outcome != one.known.outcome]
    if not wrong:
        return
    right = [ended for ended in first if ended.marker.outcome == one.known.outcome]
    decided, other = outcome_word(one.known.outcome), outcome_word(wrong[0].marker.outcome)
    at = ", ".join(f"{ended.place.name} offset {ended.marker.offset}" for ended in wrong)
    agree = ", ".join(f"{ended.place.name} offset {ended.marker.offset}" for ended in right[:6])
    message = (
        f"the marker says {other} ({at}), but the coordinator's Prepare record (offset {one.known.prepared_offset}) "
        f"says {decided}" + (f", as the markers at {agree}" if right else "; no marker agrees with it")
    )
    remedy = (
        "nothing can change a marker: take this transaction's records on these partitions as "
        f"{'lost' if decided == 'COMMIT' else 'wrongly visible'} and write or undo them by hand"
    )
    rule = _rule_of_outcomes(wrong, right)
    yield located(wrong[0].place, rule, wrong[0].marker.offset, one.known, message, Api.WRITE_TXN_MARKERS, remedy)


def _rule_of_outcomes(wrong: list[MarkedData], right: list[MarkedData]) -> Rule:
    if not right:
        return rules.TXN_ONE_OUTCOME
    offsets = (
        {ended.place.topic == OFFSETS_TOPIC for ended in wrong},
        {ended.place.topic == OFFSETS_TOPIC for ended in right},
    )
    return rules.OFFSETS_ATOMIC if offsets in (({True}, {False}), ({False}, {True})) else rules.TXN_ATOMIC


def _repeated(one: JoinedTransaction, missing: list[str]) -> Iterator[Located]:
    """A further marker of the same transaction that has another outcome, or that ends further data."""
    for ended in one.ended:
        if not ended.again:
            continue
        if not one.known.completed and (ended.runs or ended.marker.outcome != one.known.outcome):
            missing.append(f"{ended.place.name}: what its coordinator's log says after the Prepare record")
            continue
        offset, place = ended.marker.offset, ended.place
        if any(run.producer_epoch > ended.marker.producer_epoch for run in ended.runs):
            message = (
                f"a second {outcome_word(ended.marker.outcome)} marker of its transaction ends data of a later epoch, "
                f"{ended.runs[0].producer_epoch}, from offset {ended.runs[0].first_offset} on"
            )
            yield located(place, rules.TXN_MARKER_ONCE, offset, one.known, message, Api.WRITE_TXN_MARKERS, "")
        elif ended.runs:
            message = (
                f"data after the marker of its transaction, ended by a second {outcome_word(ended.marker.outcome)} "
                f"marker at offset {offset}: it came after the outcome was decided"
            )
            rule = rules.TXN_REGISTERED_BEFORE_DATA
            yield located(place, rule, ended.runs[0].first_offset, one.known, message, Api.PRODUCE, "")
        elif ended.marker.outcome != one.known.outcome:
            message = (
                f"a second marker says {outcome_word(ended.marker.outcome)}, but the transaction's outcome was "
                f"{outcome_word(one.known.outcome)} and had its marker here already"
            )
            yield located(place, rules.TXN_ONE_OUTCOME, offset, one.known, message, Api.WRITE_TXN_MARKERS, "")


def _wrong_marker(known: CoordinatorTransaction, ended: MarkedData) -> Iterator[Located]:
    marker = ended.marker
    epochs = {run.producer_epoch for run in ended.runs} - {known.producer_epoch}
    if known.producer_epoch != ABSENT and not is_of(marker, known) and marker.producer_epoch in epochs:
        return  # the data that it ends has the wrong epoch already
    if not is_of(marker, known):
        message = (
            f"the marker has epoch {marker.producer_epoch}, its transaction's Prepare record has {known.marker_epoch} "
            f"({_regime(known)})"
        )
        rule, epoch, severity = rules.TXN_MARKER_ONCE, marker.producer_epoch, Severity.VIOLATION
        if epoch == known.producer_epoch and marker.outcome == known.outcome == ControlType.ABORT.value:
            message, severity = message + BY_HAND, Severity.SUSPICIOUS
        yield located(ended.place, rule, marker.offset, known, message, Api.WRITE_TXN_MARKERS, "", epoch, severity)
    elif marker.coordinator_epoch < known.coordinator_epoch:
        message = (
            f"marker of coordinator epoch {marker.coordinator_epoch}, but the outcome was decided by the coordinator "
            f"of epoch {known.coordinator_epoch}: a stale coordinator wrote it"
        )
        rule = rules.FENCE_COORDINATOR_EPOCH
        yield located(ended.place, rule, marker.offset, known, message, Api.WRITE_TXN_MARKERS, "")


def _regime(known: CoordinatorTransaction) -> str:
    if known.producer_epoch == ABSENT:
        return f"transaction version {'2' if known.client_version >= 2 else '0 or 1'}"
    rise = known.marker_epoch - known.producer_epoch
    if rise == 0:
        return "the end of the transaction left the epoch as it was: versions 0 and 1"
    by = "version 2" if known.client_version >= 2 else "a fence or a timeout"
    return f"the end of the transaction raised the epoch by {rise}: {by}"


@evidences(rules.TXN_REGISTERED_BEFORE_DATA, Layer.AUDIT)
def _wrong_data(one: JoinedTransaction, ended: MarkedData, others: frozenset[tuple[int, int]]) -> Iterator[Located]:
    """Data that a marker ends although it has another epoch than the transaction."""
    own = one.known.producer_epoch
    for run in ended.runs:
        if own == ABSENT or run.producer_epoch == own or (ended.place.log, run.first_offset) in others:
            continue
        if hidden(ended.place, run.first_offset, ended.marker.offset):
            continue
        outcome = outcome_word(ended.marker.outcome)
        if run.producer_epoch > own:
            rule = rules.TXN_REGISTERED_BEFORE_DATA
            why = "no AddPartitionsToTxn of that epoch came before it: it belongs to no registered transaction"
        else:
            rule, why = rules.FENCE_STALE_EPOCH, "its producer was fenced"
        message = (
            f"data of epoch {run.producer_epoch} in the transaction of epoch {own}, covered by the {outcome} marker "
            f"at offset {ended.marker.offset}: {why}"
        )
        yield located(ended.place, rule, run.first_offset, one.known, message, Api.PRODUCE, "", run.producer_epoch)
