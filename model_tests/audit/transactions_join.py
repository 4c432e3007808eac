"""The join: the transactions of a producer id in each partition, and in its coordinator's log."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.losses import Led
from model_tests.audit.transactions_match import Times, match
from model_tests.audit.transactions_summary import AuditedMarker, DataRun, PartitionTransactions
from model_tests.logs.coordinator_log_values import Partition
from spec.judging.judge_join import PartitionMarker
from spec.vocabulary import ABSENT


@dataclass(frozen=True, slots=True)
class LogIndex:
    """One log among those given.

    Attributes:
        log: its number in the report.
        behind: another replica of the partition is further.
        led: who led the partition; None without a controller's log.
    """

    log: int
    topic: str
    partition: int
    summary: PartitionTransactions
    behind: bool = False
    led: Led | None = None

    @property
    def name(self) -> str:
        """Topic and partition."""
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class MarkedData:
    """A marker at its place, and the data that it ends; `again` where an earlier marker ended the transaction."""

    place: LogIndex
    marker: AuditedMarker
    runs: tuple[DataRun, ...]
    again: bool = False

    def row(self, latest_ms: int = ABSENT) -> PartitionMarker:
        """The marker as the decisions take it, with what its log has around it.

        Args:
            latest_ms: the latest time of a marker that the same leader wrote before it, -1 where that does not matter.
        """
        marker, epochs = self.marker, [run.producer_epoch for run in self.runs]
        return PartitionMarker(
            marker.producer_epoch,
            marker.outcome,
            marker.coordinator_epoch,
            marker.timestamp,
            again=self.again,
            has_data=bool(epochs),
            data_epoch=max(epochs, default=ABSENT),
            ends_own_epoch=marker.producer_epoch in epochs,
            latest_ms=latest_ms,
        )


@dataclass(frozen=True, slots=True)
class Gap:
    """A transaction without a marker on a partition that it registered.

    Attributes:
        after: offset of the producer's marker before; the log's begin where there is none.
        before: offset of the one after; the log's end where there is none.
        first: no marker of the producer comes before.
        last: none comes after.
        runs: data that is there and must be the transaction's.
        by_time: that it is the transaction's only its timestamps say, which clients may set as they like.
    """

    place: LogIndex
    after: int
    before: int
    first: bool
    last: bool
    runs: tuple[DataRun, ...]
    by_time: bool = False


@dataclass(slots=True)
class JoinedTransaction:
    """One transaction by its coordinator, with what the partitions have of it."""

    known: CoordinatorTransaction
    ended: list[MarkedData] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    open: list[tuple[LogIndex, DataRun]] = field(default_factory=list)


@dataclass(slots=True)
class ProducerTransactions:
    """All of one producer id.

    Attributes:
        loose: markers of no known transaction.
        loose_runs: data without a marker that belongs to no known transaction, with the marker before it.
    """

    producer_id: int
    transactions: list[JoinedTransaction] = field(default_factory=list)
    loose: list[MarkedData] = field(default_factory=list)
    loose_runs: list[tuple[LogIndex, DataRun, MarkedData | None]] = field(default_factory=list)


@dataclass(slots=True)
class _Side:
    """A producer id at one place."""

    place: LogIndex
    ended: list[MarkedData] = field(default_factory=list)
    open: list[DataRun] = field(default_factory=list)


_NEVER: Final = 2**62
"""A time, in milliseconds, that is later than any."""

Owned: TypeAlias = frozenset[tuple[int, int]]
"""Log and first offset of data."""

NONE_OWNED: Final[Owned] = frozenset()


def unended(transactions: Iterable[JoinedTransaction]) -> Owned:
    """Log and first offset of data of transactions that have no marker there."""
    gaps = (gap for one in transactions for gap in one.gaps)
    return frozenset((gap.place.log, run.first_offset) for gap in gaps for run in gap.runs)


def joined(places: Iterable[LogIndex], transactions: Sequence[CoordinatorTransaction]) -> list[ProducerTransactions]:
    """Every producer id with transactions, in a log or in the coordinator's."""
    known: dict[int, list[CoordinatorTransaction]] = {}
    for transaction in transactions:
        known.setdefault(transaction.producer_id, []).append(transaction)
    sides: dict[int, list[_Side]] = {}
    for place in places:
        for producer_id, side in _sides(place).items():
            sides.setdefault(producer_id, []).append(side)
    registered = _registered(places, known)
    return [
        _producer(producer_id, _all_sides(sides.get(producer_id, []), registered.get(producer_id, [])), known)
        for producer_id in sorted(known.keys() | sides.keys())
    ]


def _sides(place: LogIndex) -> dict[int, _Side]:
    """By producer id, the markers with their data and the data without a marker."""
    found: dict[int, _Side] = {}
    runs: dict[int, list[DataRun]] = {}
    for run in place.summary.runs:
        if run.marker == ABSENT:
            found.setdefault(run.producer_id, _Side(place)).open.append(run)
        else:
            runs.setdefault(run.marker, []).append(run)
    for number, marker in enumerate(place.summary.markers):
        side = found.setdefault(marker.producer_id, _Side(place))
        side.ended.append(MarkedData(place, marker, tuple(runs.get(number, ()))))
    return found


def _registered(
    places: Iterable[LogIndex], known: dict[int, list[CoordinatorTransaction]]
) -> dict[int, list[LogIndex]]:
    """By producer id, the places of partitions that its transactions registered."""
    at: dict[tuple[str, int], list[LogIndex]] = {}
    for place in places:
        at.setdefault((place.topic, place.partition), []).append(place)
    found: dict[int, list[LogIndex]] = {}
    for producer_id, transactions in known.items():
        names = frozenset().union(*(transaction.partitions for transaction in transactions))
        found[producer_id] = [place for name in sorted(names) for place in at.get(name, ())]
    return found


def _all_sides(sides: list[_Side], registered: list[LogIndex]) -> list[_Side]:
    """With the registered partitions that have nothing of the producer."""
    present = {side.place.log for side in sides}
    return sides + [_Side(place) for place in registered if place.log not in present]


def _producer(
    producer_id: int, sides: list[_Side], known: dict[int, list[CoordinatorTransaction]]
) -> ProducerTransactions:
    order = sorted(known.get(producer_id, ()), key=lambda one: one.first_offset)
    producer = ProducerTransactions(producer_id, [JoinedTransaction(transaction) for transaction in order])
    for side in sides:
        _add(producer, side)
    return producer


def _add(producer: ProducerTransactions, side: _Side) -> None:
    """Pair the markers of one place with the transactions that may have a marker there."""
    name = (side.place.topic, side.place.partition)
    here = [one for one in producer.transactions if name in one.known.partitions or not one.known.listed]
    decided = [one for one in here if one.known.decided]
    markers = [one.marker for one in side.ended]
    whole = side.place.summary.begin == 0
    known = (one.known for one in producer.transactions)
    others = [one for one in known if one.decided and one.listed and name not in one.partitions]
    empty = [not one.runs for one in side.ended]
    unknown = list(_unknown([one.known for one in producer.transactions], name))
    numbers = match(markers, [one.known for one in decided], empty, whole=whole, others=others, unknown=unknown)
    at: dict[int, int] = {}
    for place, number in enumerate(numbers):
        one = side.ended[place]
        if number == ABSENT:
            producer.loose.append(one)
            continue
        again = number in at
        decided[number].ended.append(MarkedData(one.place, one.marker, one.runs, again))
        at.setdefault(number, place)
    last = max(at, default=ABSENT)
    open_runs = _add_open(producer, side, here, decided[last] if last != ABSENT else None)
    _add_gaps(side, decided, at, open_runs)


def _unknown(transactions: Sequence[CoordinatorTransaction], name: Partition) -> Iterator[Times]:
    """When the producer may have ended transactions with a partition of which nothing, or no outcome, is known."""
    for number, one in enumerate(transactions):
        before, following = transactions[number - 1] if number else None, transactions[number + 1 : number + 2]
        if one.after_hole:
            yield before.completed_ms if before is not None else ABSENT, one.started_ms
        if not one.decided and (one.doubtful or not one.listed or name in one.partitions):
            yield one.started_ms, following[0].started_ms if following else _NEVER


def _add_open(
    producer: ProducerTransactions, side: _Side, here: list[JoinedTransaction], newest: JoinedTransaction | None
) -> dict[int, list[DataRun]]:
    """Give data without a marker to the transaction it can belong to; those by the transaction's first offset."""
    later = here[here.index(newest) + 1 :] if newest is not None else here
    listed = [one for one in later if one.known.listed]
    if newest is None and side.place.summary.begin > 0:
        listed.reverse()  # markers of the first ones are gone with the begin of the log
    given: dict[int, list[DataRun]] = {}
    for run in side.open:
        owner = next((one for one in listed if _may_own(one.known, run)), None)
        if owner is None:
            producer.loose_runs.append((side.place, run, side.ended[-1] if side.ended else None))
            continue
        given.setdefault(owner.known.first_offset, []).append(run)
        owner.open.append((side.place, run))
    return given


def _may_own(transaction: CoordinatorTransaction, run: DataRun) -> bool:
    if transaction.producer_epoch != ABSENT:
        return transaction.producer_epoch == run.producer_epoch
    return transaction.marker_epoch - 2 <= run.producer_epoch <= transaction.marker_epoch


def _add_gaps(
    side: _Side, decided: list[JoinedTransaction], at: dict[int, int], given: dict[int, list[DataRun]]
) -> None:
    """The transactions that have no marker here."""
    paired = sorted(at)
    for number, one in enumerate(decided):
        if number in at or not one.known.listed:
            continue
        before = [at[other] for other in paired if other < number]
        after = [at[other] for other in paired if other > number]
        between = side.ended[before[-1] + 1 if before else 0 : after[0] if after else None]
        following, runs = _ended_by_unknown(one.known, between)
        by_time = False
        if following is None and after:
            following, next_one = side.ended[after[0]], decided[paired[len(before)]].known
            runs = [run for run in following.runs if _came_before(one.known, run, next_one)]
            by_time = one.known.producer_epoch == next_one.producer_epoch
        elif following is None:
            runs = given.get(one.known.first_offset, [])
        one.gaps.append(
            Gap(
                side.place,
                after=side.ended[before[-1]].marker.offset if before else side.place.summary.begin,
                before=following.marker.offset if following else side.place.summary.end,
                first=not before,
                last=following is None,
                runs=tuple(runs),
                by_time=by_time,
            )
        )


def _ended_by_unknown(
    own: CoordinatorTransaction, markers: Iterable[MarkedData]
) -> tuple[MarkedData | None, list[DataRun]]:
    """The first marker of an unknown transaction with a later epoch that ended data of this one, and the data."""
    for ended in markers:
        runs = [run for run in ended.runs if run.producer_epoch == own.producer_epoch]
        if runs and ended.marker.producer_epoch > own.marker_epoch:
            return ended, runs
    return None, []


def _came_before(own: CoordinatorTransaction, run: DataRun, following: CoordinatorTransaction) -> bool:
    """Data that the next transaction's marker ended, though it was sent before this one's outcome was decided."""
    if own.producer_epoch != following.producer_epoch:
        return own.producer_epoch == run.producer_epoch
    return run.producer_epoch == own.producer_epoch and 0 <= run.first_ms <= own.prepared_ms
