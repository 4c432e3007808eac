"""Which of the given logs belong together: one cluster's, whose producer ids mean the same everywhere."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log2
from types import MappingProxyType
from typing import Final

from model_tests.audit.coordinator_log_history import CoordinatorHistory
from model_tests.audit.losses import Led
from model_tests.audit.transactions_join import LogIndex
from model_tests.audit.transactions_summary import PartitionTransactions
from spec.protocol import finding
from spec.vocabulary import ABSENT

_MOST_PARTITIONS: Final = 1024
"""Numbers of partitions that `__transaction_state` is thought to have, at most; Kafka's default is `USUAL_COUNT`."""

USUAL_COUNT: Final = 50
"""The default of `transaction.state.log.num.partitions`."""


def places_of(
    logs: Iterable[tuple[int, str, int, PartitionTransactions]],
    led: Mapping[int, Led] = MappingProxyType({}),
    behind: frozenset[int] = frozenset(),
) -> list[LogIndex]:
    """Each log once: of the replicas of a partition the one that is furthest, and those that have something else.

    Of replicas that have the same the first is taken, and it is behind only if all of them are.

    Args:
        logs: number, topic, partition and summary of each.
        led: by number who led the partition, where the controller's log has it.
        behind: numbers of logs that are behind the partition's newest leader, by the controller's log.
    """
    by_name: dict[tuple[str, int], list[tuple[int, PartitionTransactions]]] = {}
    for number, topic, partition, summary in logs:
        by_name.setdefault((topic, partition), []).append((number, summary))
    places: list[LogIndex] = []
    for (topic, partition), replicas in sorted(by_name.items()):
        order = sorted(replicas, key=lambda one: _reach(one[1]), reverse=True)
        for same in _alike(order):
            number, summary = same[0]
            ahead = next((other for other, _ in same if other not in behind), None)
            is_behind = ahead is None or _reach(summary) < _reach(order[0][1])
            leaders = led.get(number if ahead is None else ahead)
            places.append(LogIndex(number, topic, partition, summary, is_behind, leaders))
    return places


def _alike(
    replicas: Sequence[tuple[int, PartitionTransactions]],
) -> list[list[tuple[int, PartitionTransactions]]]:
    """The replicas that have the same transactions, together."""
    alike: dict[tuple[object, ...], list[tuple[int, PartitionTransactions]]] = {}
    for number, summary in replicas:
        alike.setdefault((summary.runs, summary.markers, summary.end), []).append((number, summary))
    return list(alike.values())


def _reach(summary: PartitionTransactions) -> tuple[int, int]:
    """How far a replica is, as an election compares it."""
    return summary.last_leader_epoch, summary.end


def furthest(
    histories: Iterable[tuple[int, CoordinatorHistory, PartitionTransactions]],
) -> list[tuple[int, CoordinatorHistory]]:
    """Of the replicas of each partition of the coordinator's log the one that is furthest, with its log's number."""
    best: dict[int, tuple[int, CoordinatorHistory, PartitionTransactions]] = {}
    for one in histories:
        held = best.get(one[1].partition)
        if held is None or _reach(one[2]) > _reach(held[2]):
            best[one[1].partition] = one
    return [(number, history) for _, (number, history, _) in sorted(best.items())]


def all_coordinators(histories: Sequence[CoordinatorHistory]) -> bool:
    """Whether every partition of the coordinator's log is here, whole.

    Their number is in no log. It is known where the ids that are here, each in the partition that its hash says,
    leave one number possible.
    """
    here = {history.partition for history in histories}
    if not all(history.whole for history in histories) or here != set(range(len(here))) or not here:
        return False
    at = {name: history.partition for history in histories for name in history.ids}
    return [*_possible_counts(at, len(here))] == [len(here)]


def _possible_counts(at: Mapping[str, int], least: int) -> Iterator[int]:
    """The numbers of partitions, `least` or more, with which every id is in the partition that its hash says."""
    hashes = [(finding.hash_of(name), partition) for name, partition in at.items()]
    for count in range(least, _MOST_PARTITIONS):
        if all(finding.partition_of(name_hash, count) == partition for name_hash, partition in hashes):
            yield count


def coordinator_of(transactional_id: str, at: Mapping[str, int], here: Iterable[int] = ()) -> int:
    """The partition of `__transaction_state` that has an id: by the usual number of partitions, if that may be theirs.

    Else by the only number that agrees with the ids that are here; -1 where several do, or none.

    Args:
        transactional_id: whose partition is wanted.
        at: the ids that are here, with the partitions that they are in.
        here: the partitions that are here.
    """
    count, _ = partition_count(at, here)
    return coordinator_partition(transactional_id, count) if count else ABSENT


def partition_count(at: Mapping[str, int], here: Iterable[int] = ()) -> tuple[int, bool]:
    """The number of partitions of `__transaction_state`, 0 where several are possible; whether the ids here show it."""
    least = max((*at.values(), *here), default=0) + 1
    possible = [*_possible_counts(at, least)]
    if len(possible) == 1:
        return possible[0], True
    return (USUAL_COUNT if USUAL_COUNT in possible else 0), False


def coordinator_partition(transactional_id: str, count: int) -> int:
    """The partition of `__transaction_state` that has an id."""
    return int(finding.partition_of(finding.hash_of(transactional_id), count))


def coordinator_count(here: Sequence[tuple[int, Sequence[str]]]) -> int:
    """The number of partitions of the coordinator's log, where some of its folders are under the names of others.

    That is so where no number puts every id into the partition it is in. Then it is the least with which all ids of
    each folder belong to one partition, if that makes the description of the ids shorter; else 0. Under a number each
    id beside another of its folder is known, `log2(number)` bits; the number takes `2 * log2(number) + 1` bits, by
    Elias' gamma code, which codes the integers without a largest one.

    Args:
        here: partitions by their names, with the ids that are there, one at least.
    """
    least = max((partition for partition, _ in here), default=0) + 1
    at = {name: partition for partition, ids in here for name in ids}
    if any(_possible_counts(at, least)):  # none is 0
        return 0
    number = next(
        (count for count in range(least, _MOST_PARTITIONS) if all(_together(ids, count) for _, ids in here)), 0
    )
    known = sum(len(ids) - 1 for _, ids in here)
    return number if number and known * log2(number) > 2 * log2(number) + 1 else 0


def _together(ids: Sequence[str], count: int) -> bool:
    return len({coordinator_partition(name, count) for name in ids}) == 1
