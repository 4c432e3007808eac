"""Which transaction of a producer id each of its markers on a partition ends."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.transactions_summary import AuditedMarker
from spec.vocabulary import ABSENT

_LARGEST_TABLE: Final = 1_000_000
"""Cells (markers times transactions of one producer) up to which the cheapest matching is computed; else by time."""

_ALONE, _EXCUSED = 1.0, 0.2
_OTHER_OUTCOME, _OTHER_EPOCH, _OTHER_TIME = 1.2, 1.5, 0.3
_AGAIN, _BEFORE_HOLE = 0.05, 0.04
_NEVER = float("inf")
FARTHEST_CLOCKS_MS: Final = 60_000
"""By how much the clocks of brokers and clients differ at most."""


def match(
    markers: Sequence[AuditedMarker],
    transactions: Sequence[CoordinatorTransaction],
    empty: Sequence[bool],
    *,
    whole: bool = True,
    others: Sequence[CoordinatorTransaction] = (),
) -> list[int]:
    """For each marker the number of its transaction, -1 for none; both in order, `empty` markers end no data.

    Of a log that is not `whole` the markers of the first transactions may be gone. The `others` are those of the
    producer's transactions that have not registered the partition.

    Between the Prepare and the Complete record the coordinator waits for all markers, so that a marker's time shows
    which transaction it belongs to. Where the clocks of brokers do not agree so far, epoch, outcome and order do.

    Args:
        markers: in the order of the log.
        transactions: in the order of the coordinator's log.
        empty: of each marker, whether it ends no data.
        whole: whether nothing of it is missing.
        others: of the producer, which have not registered the partition.
    """
    by_time = _by_time(markers, transactions, empty)
    if _agrees(by_time, markers, transactions, whole=whole) or len(markers) * len(transactions) > _LARGEST_TABLE:
        return by_time
    strays = _strays(markers, transactions, others)
    kept = [place for place in range(len(markers)) if place not in strays]
    left = [markers[place] for place in kept]
    apart = _by_time(left, transactions, [empty[place] for place in kept])
    if strays and _agrees(apart, left, transactions, whole=False):
        numbers = dict(zip(kept, apart, strict=True))
        return [numbers.get(place, ABSENT) for place in range(len(markers))]
    by_cost = _by_cost(markers, transactions, empty, whole=whole)
    fewer = by_cost.count(ABSENT) < by_time.count(ABSENT) and not any(one.after_hole for one in transactions)
    return by_cost if fewer or _agrees(by_cost, markers, transactions, whole=whole) else by_time


def _agrees(
    numbers: Sequence[int],
    markers: Sequence[AuditedMarker],
    transactions: Sequence[CoordinatorTransaction],
    *,
    whole: bool,
) -> bool:
    """Each marker has a transaction of its epoch and outcome, and no completed transaction is left out."""
    if not all(
        number != ABSENT and is_of(marker, transactions[number]) and marker.outcome == transactions[number].outcome
        for marker, number in zip(markers, numbers, strict=True)
    ):
        return False
    owed = (one.completed and one.listed and not one.doubtful for one in transactions)
    first = 0 if whole else min(numbers, default=len(transactions))
    return {number for number, owes in enumerate(owed) if owes and number >= first} <= set(numbers)


def is_during(marker: AuditedMarker, transaction: CoordinatorTransaction) -> bool:
    """The marker was written after the outcome was durable and before the transaction was complete."""
    if not transaction.decided or marker.timestamp < transaction.prepared_ms:
        return False
    return not transaction.completed or marker.timestamp <= transaction.completed_ms


def is_near(marker: AuditedMarker, transaction: CoordinatorTransaction) -> bool:
    """The same by clocks that differ by no more than those of brokers do."""
    if not transaction.decided or marker.timestamp < transaction.prepared_ms - FARTHEST_CLOCKS_MS:
        return False
    return not transaction.completed or marker.timestamp <= transaction.completed_ms + FARTHEST_CLOCKS_MS


def is_of(marker: AuditedMarker, transaction: CoordinatorTransaction) -> bool:
    """The marker has the epoch of the transaction's Prepare record."""
    return marker.producer_epoch == transaction.marker_epoch


def _strays(
    markers: Sequence[AuditedMarker],
    transactions: Sequence[CoordinatorTransaction],
    others: Sequence[CoordinatorTransaction],
) -> set[int]:
    """The markers away from their time among those of one leader, whose times only rise.

    By its time such a one is of a transaction that has not the partition, or of one whose marker is in its place.
    """
    known = sorted([*transactions, *others], key=lambda one: one.first_offset)
    without = {one.first_offset for one in others}
    foreign = {number for number, one in enumerate(known) if one.first_offset in without}
    numbers = [_exactly(marker, known) for marker in markers]
    away = _away(numbers, [marker.leader_epoch for marker in markers])
    in_place = {number for place, number in enumerate(numbers) if place not in away}
    return {place for place in away if numbers[place] in foreign | in_place}


def _exactly(marker: AuditedMarker, known: Sequence[CoordinatorTransaction]) -> int:
    """The first transaction with which a marker agrees in everything."""
    same = (
        number
        for number, one in enumerate(known)
        if is_of(marker, one) and is_during(marker, one) and marker.outcome == one.outcome
    )
    return next(same, ABSENT)


def _away(numbers: Sequence[int], leaders: Sequence[int]) -> set[int]:
    """The places of numbers that are below one before them of the same leader, or above one after them."""
    found: set[int] = set()
    for leader in set(leaders):
        own = [place for place, one in enumerate(leaders) if one == leader and numbers[place] != ABSENT]
        rises = accumulate((numbers[place] for place in own), max)
        falls = accumulate((numbers[place] for place in reversed(own)), min)
        found |= {place for place, most in zip(own, rises, strict=True) if numbers[place] < most}
        found |= {place for place, least in zip(reversed(own), falls, strict=True) if numbers[place] > least}
    return found


def _by_time(
    markers: Sequence[AuditedMarker], transactions: Sequence[CoordinatorTransaction], empty: Sequence[bool]
) -> list[int]:
    found: list[int] = []
    last = ABSENT
    for marker, without_data in zip(markers, empty, strict=True):
        following = _first_during(marker, transactions, last + 1)
        again = last != ABSENT and is_of(marker, transactions[last]) and is_during(marker, transactions[last])
        if again and (following == ABSENT or (without_data and marker.outcome != transactions[following].outcome)):
            following = last
        found.append(following)
        last = max(last, following)
    return found


def _first_during(marker: AuditedMarker, transactions: Sequence[CoordinatorTransaction], start: int) -> int:
    """The first transaction from a number on that the marker's time and epoch agree with."""
    for number in range(start, len(transactions)):
        transaction = transactions[number]
        if transaction.prepared_ms > marker.timestamp:
            break
        if is_of(marker, transaction) and is_during(marker, transaction):
            return number
    return ABSENT


def _by_cost(
    markers: Sequence[AuditedMarker],
    transactions: Sequence[CoordinatorTransaction],
    empty: Sequence[bool],
    *,
    whole: bool,
) -> list[int]:
    """The pairing in order that contradicts least."""
    alone = _alone(transactions)
    best = [[0.0] * (len(transactions) + 1)]
    for j, transaction in enumerate(transactions):
        best[0][j + 1] = best[0][j] + (_left_out(transaction) if whole else 0.0)
    for i, marker in enumerate(markers):
        row = [best[i][0] + alone[0]]
        for j, transaction in enumerate(transactions):
            row.append(
                min(
                    best[i][j + 1] + min(alone[j + 1], _again(marker, transaction, without_data=empty[i])),
                    row[j] + _left_out(transaction),
                    best[i][j] + _cost(marker, transaction),
                )
            )
        best.append(row)
    return _traced(best, markers, transactions, empty)


def _traced(
    best: list[list[float]],
    markers: Sequence[AuditedMarker],
    transactions: Sequence[CoordinatorTransaction],
    empty: Sequence[bool],
) -> list[int]:
    found, alone = [ABSENT] * len(markers), _alone(transactions)
    i, j = len(markers), len(transactions)
    while i and j:
        marker, transaction = markers[i - 1], transactions[j - 1]
        again = _again(marker, transaction, without_data=empty[i - 1])
        if best[i][j] == best[i - 1][j - 1] + _cost(marker, transaction):
            i, j = i - 1, j - 1
            found[i] = j
        elif best[i][j] == best[i - 1][j] + min(alone[j], again):
            i -= 1
            found[i] = j - 1 if again < alone[j] else ABSENT
        else:
            j -= 1
    return found


def _cost(marker: AuditedMarker, transaction: CoordinatorTransaction) -> float:
    during = is_during(marker, transaction)
    if transaction.after_hole and not is_near(marker, transaction):
        return _NEVER  # it may be of a transaction that the coordinator's log has no longer
    if not is_of(marker, transaction):
        return _OTHER_EPOCH if during else _NEVER
    outcome = 0.0 if marker.outcome == transaction.outcome else _OTHER_OUTCOME
    return outcome + (0.0 if during else _OTHER_TIME)


def _again(marker: AuditedMarker, transaction: CoordinatorTransaction, *, without_data: bool) -> float:
    """A marker without data that repeats one of the same transaction."""
    same = without_data and is_of(marker, transaction) and marker.outcome == transaction.outcome
    return _AGAIN if same else _NEVER


def _alone(transactions: Sequence[CoordinatorTransaction]) -> list[float]:
    """What a marker of none costs behind so many transactions: little, where those of a hole are still to come."""
    last = max((number for number, one in enumerate(transactions) if one.after_hole), default=ABSENT)
    return [_BEFORE_HOLE if number <= last else _ALONE for number in range(len(transactions) + 1)]


def _left_out(transaction: CoordinatorTransaction) -> float:
    owes = transaction.listed and transaction.completed and not transaction.doubtful
    return _ALONE if owes else _EXCUSED
