"""Which transaction of a producer id each of its markers on a partition ends."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.transactions_rows import columns_of, marker_of, outcome_of
from model_tests.audit.transactions_summary import AuditedMarker
from spec.algebra import Term
from spec.judging.judge_join import (
    FARTHEST_CLOCKS_MS,
    CoordinatorOutcome,
    PartitionMarker,
    agrees,
    has_outcome_of,
    is_during,
    is_of,
)
from spec.vocabulary import ABSENT

Times: TypeAlias = tuple[int, int]
"""Since when and until when, in milliseconds."""

_LARGEST_TABLE: Final = 1_000_000
"""Cells (markers times transactions of one producer) up to which the cheapest matching is computed; else by time."""

_ALONE, _EXCUSED = 1.0, 0.2
_OTHER_OUTCOME, _OTHER_EPOCH, _OTHER_TIME = 1.2, 1.5, 0.3
_AGAIN, _BEFORE_HOLE = 0.05, 0.04
_NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A transaction that may have a marker here.

    Attributes:
        owes: it is complete and must have its marker.
    """

    outcome: CoordinatorOutcome
    first_offset: int
    prepared_ms: int
    after_hole: bool
    owes: bool


def match(
    markers: Sequence[AuditedMarker],
    transactions: Sequence[CoordinatorTransaction],
    empty: Sequence[bool],
    *,
    whole: bool = True,
    others: Sequence[CoordinatorTransaction] = (),
    unknown: Sequence[Times] = (),
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
        unknown: when the producer may have ended transactions of which nothing, or no outcome, is known.
    """
    if not markers or not transactions:
        return [ABSENT] * len(markers)
    rows, known = [marker_of(marker) for marker in markers], _candidates(transactions)
    by_time = _by_time(rows, known, empty)
    rises = all(one < following for one, following in pairwise(by_time))
    if rises and _agrees(by_time, rows, known, whole=whole, until=max(by_time)):
        return by_time  # the markers of the last ones may be missing, or may have come after the log was copied
    if _agrees(by_time, rows, known, whole=whole) or len(markers) * len(transactions) > _LARGEST_TABLE:
        return by_time
    strays = _strays(rows, [marker.leader_epoch for marker in markers], known, _candidates(others))
    kept = [place for place in range(len(rows)) if place not in strays]
    left = [rows[place] for place in kept]
    apart = _by_time(left, known, [empty[place] for place in kept])
    if strays and _agrees(apart, left, known, whole=False):
        numbers = dict(zip(kept, apart, strict=True))
        return [numbers.get(place, ABSENT) for place in range(len(rows))]
    by_cost = _by_cost(rows, known, empty, whole=whole, unknown=unknown)
    fewer = by_cost.count(ABSENT) < by_time.count(ABSENT) and not any(one.after_hole for one in known)
    return by_cost if fewer or _agrees(by_cost, rows, known, whole=whole) else by_time


def _candidates(transactions: Sequence[CoordinatorTransaction]) -> list[_Candidate]:
    return [
        _Candidate(
            _ended(outcome_of(one), following),
            one.first_offset,
            one.prepared_ms,
            one.after_hole,
            owes=one.listed and one.completed and not one.doubtful,
        )
        for one, following in zip(transactions, [*transactions[1:], None], strict=False)
    ]


def _ended(outcome: CoordinatorOutcome, following: CoordinatorTransaction | None) -> CoordinatorOutcome:
    """A transaction whose Complete record is missing was complete before the next one began."""
    if following is None or outcome.completed or following.started_ms < 0:
        return outcome
    return replace(outcome, completed=True, completed_ms=following.started_ms)


def _agrees(
    numbers: Sequence[int],
    markers: Sequence[PartitionMarker],
    known: Sequence[_Candidate],
    *,
    whole: bool,
    until: int | None = None,
) -> bool:
    """Each marker has a transaction of its epoch and outcome, and no completed one is left out, up to a number."""
    if not all(
        number != ABSENT and is_of(known[number].outcome, marker) and has_outcome_of(known[number].outcome, marker)
        for marker, number in zip(markers, numbers, strict=True)
    ):
        return False
    first = 0 if whole else min(numbers, default=len(known))
    owing = {number for number, one in enumerate(known) if one.owes and number >= first}
    return {number for number in owing if until is None or number <= until} <= set(numbers)


def _strays(
    markers: Sequence[PartitionMarker],
    leaders: Sequence[int],
    transactions: Sequence[_Candidate],
    others: Sequence[_Candidate],
) -> set[int]:
    """The markers away from their time among those of one leader, whose times only rise.

    By its time such a one is of a transaction that has not the partition, or of one whose marker is in its place.
    """
    known = sorted([*transactions, *others], key=lambda one: one.first_offset)
    without = {one.first_offset for one in others}
    foreign = {number for number, one in enumerate(known) if one.first_offset in without}
    numbers = _exactly(markers, known)
    away = _away(numbers, leaders)
    in_place = {number for place, number in enumerate(numbers) if place not in away}
    return {place for place in away if numbers[place] in foreign | in_place}


def _exactly(markers: Sequence[PartitionMarker], known: Sequence[_Candidate]) -> list[int]:
    """For each marker the first transaction with which it agrees in everything."""
    table = _table(agrees(*_crossed(markers, known)), markers, known)
    return [int(row.argmax()) if row.any() else ABSENT for row in table]


def _crossed(
    markers: Sequence[PartitionMarker], known: Sequence[_Candidate]
) -> tuple[CoordinatorOutcome, PartitionMarker]:
    """All pairs of a transaction and a marker as columns: what a decision says of them has a row for each marker."""
    return columns_of([one.outcome for one in known], (1, -1)), columns_of(markers, (-1, 1))


def _table(fact: Term, markers: Sequence[PartitionMarker], known: Sequence[_Candidate]) -> npt.NDArray[np.bool_]:
    """A fact of all pairs, also where it is the same for all of them."""
    return np.broadcast_to(np.asarray(fact, np.bool_), (len(markers), len(known)))


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


def _by_time(markers: Sequence[PartitionMarker], known: Sequence[_Candidate], empty: Sequence[bool]) -> list[int]:
    found: list[int] = []
    last = ABSENT
    for marker, without_data in zip(markers, empty, strict=True):
        following = _first_during(marker, known, last + 1)
        again = last != ABSENT and is_of(known[last].outcome, marker) and is_during(known[last].outcome, marker)
        if again and (following == ABSENT or (without_data and not has_outcome_of(known[following].outcome, marker))):
            following = last
        found.append(following)
        last = max(last, following)
    return found


def _first_during(marker: PartitionMarker, known: Sequence[_Candidate], start: int) -> int:
    """The first transaction from a number on that the marker's time and epoch agree with."""
    for number in range(start, len(known)):
        one = known[number]
        if one.prepared_ms > marker.timestamp:
            break
        if is_of(one.outcome, marker) and is_during(one.outcome, marker):
            return number
    return ABSENT


@dataclass(frozen=True, slots=True)
class _Costs:
    """What it costs to take each marker for one of each transaction, and for its marker once more."""

    own: list[list[float]]
    again: list[list[float]]


def _costs(markers: Sequence[PartitionMarker], known: Sequence[_Candidate], empty: Sequence[bool]) -> _Costs:
    pairs = _crossed(markers, known)
    during, near, own, same = (
        _table(fact, markers, known)
        for fact in (
            is_during(*pairs),
            is_during(*pairs, FARTHEST_CLOCKS_MS),
            is_of(*pairs),
            has_outcome_of(*pairs),
        )
    )
    epoch = np.where(during, _OTHER_EPOCH, _NEVER)
    cost = np.where(own, np.where(same, 0.0, _OTHER_OUTCOME) + np.where(during, 0.0, _OTHER_TIME), epoch)
    lost = np.array([one.after_hole for one in known]) & ~near  # it may be of a transaction that is there no longer
    again = np.array(empty)[:, None] & own & same
    return _Costs(np.where(lost, _NEVER, cost).tolist(), np.where(again, _AGAIN, _NEVER).tolist())


def _by_cost(
    markers: Sequence[PartitionMarker],
    known: Sequence[_Candidate],
    empty: Sequence[bool],
    *,
    whole: bool,
    unknown: Sequence[Times],
) -> list[int]:
    """The pairing in order that contradicts least."""
    alone, costs = [_alone(known, marker, unknown) for marker in markers], _costs(markers, known, empty)
    left_out = [_ALONE if one.owes else _EXCUSED for one in known]
    best = [[0.0, *accumulate(left_out if whole else [0.0] * len(known))]]
    for i in range(len(markers)):
        row = [best[i][0] + alone[i][0]]
        for j in range(len(known)):
            row.append(
                min(
                    best[i][j + 1] + min(alone[i][j + 1], costs.again[i][j]),
                    row[j] + left_out[j],
                    best[i][j] + costs.own[i][j],
                )
            )
        best.append(row)
    return _traced(best, costs, alone)


def _traced(best: list[list[float]], costs: _Costs, alone: Sequence[Sequence[float]]) -> list[int]:
    i, j = len(best) - 1, len(best[0]) - 1
    found = [ABSENT] * i
    while i and j:
        again = costs.again[i - 1][j - 1]
        if best[i][j] == best[i - 1][j - 1] + costs.own[i - 1][j - 1]:
            i, j = i - 1, j - 1
            found[i] = j
        elif best[i][j] == best[i - 1][j] + min(alone[i - 1][j], again):
            i -= 1
            found[i] = j - 1 if again < alone[i - 1][j] else ABSENT
        else:
            j -= 1
    return found


def _alone(known: Sequence[_Candidate], marker: PartitionMarker, unknown: Sequence[Times]) -> list[float]:
    """What a marker of none costs behind so many transactions: little, where those of a hole may have been there."""
    last = max((number for number, one in enumerate(known) if one.after_hole), default=ABSENT)
    if any(since <= marker.timestamp <= until for since, until in unknown):
        last = len(known)
    return [_BEFORE_HOLE if number <= last else _ALONE for number in range(len(known) + 1)]
