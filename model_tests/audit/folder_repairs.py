"""Folders that are not what their names say: another cluster's, another partition's, or in part another's."""

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import comb, factorial
from pathlib import PurePath
from typing import Final, TypeAlias

import numpy as np

from model_tests.audit.controller_view import Controlled
from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.diagnosis import Diagnosis, Judge, Repair, diagnose
from model_tests.audit.findings import BrokenRule, Finding
from model_tests.audit.partition_verdict import AuditedTransactionLog
from model_tests.audit.repair_kinds import COPIED_SEGMENT, FOLDER_NAMES, FOREIGN_FOLDER
from model_tests.audit.replica import ReplicaSummary, coarser
from model_tests.audit.transactions import TransactionsReport, audit_transactions
from model_tests.audit.transactions_clusters import coordinator_count, coordinator_partition
from model_tests.audit.transactions_join import JoinedTransaction
from model_tests.audit.transactions_rows import marker_of, outcome_of
from model_tests.audit.transactions_summary import AuditedMarker, cut_at
from model_tests.common.reports import counted
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_batches import Facts
from model_tests.logs.kafka_log_folders import HIGH_WATERMARK
from model_tests.logs.kafka_log_segment import SegmentDamage, SegmentRange
from spec import rules
from spec.judging.judge_join import FARTHEST_CLOCKS_MS, agrees
from spec.vocabulary import ABSENT

Logs: TypeAlias = tuple[AuditedTransactionLog, ...]
Joined: TypeAlias = tuple[TransactionsReport, Sequence[tuple[Finding, ...]]]
"""The logs' transactions, and all findings of each log."""

FolderRepair: TypeAlias = Repair[Logs, SegmentDamage]
FoundInLog: TypeAlias = tuple[int, Finding]
"""The number of a log, and a finding in it."""

_BY_NAME: Final = (rules.LSO_BOUNDS, rules.REPL_HW_BOUNDS)
"""Rules that compare the log with the broker's checkpoints for a partition of this name."""

_OF_NAME: Final = (*_BY_NAME, rules.TXN_MARKER_ONCE, rules.TXN_REGISTERED_BEFORE_DATA)
"""Rules that a log breaks when brokers and coordinators speak of another under its name."""

_MOVED: Final = (
    ": the folder was renamed, or copied to another's place. Give it its own name before a broker starts on it"
)
_FOREIGN: Final = (
    ", by epoch, outcome and time: the folder is of another cluster, or of another time. Transactions are "
    "judged without it: copy the right one"
)
_COPIED: Final = (
    ", offset by offset: that one's segment was copied over it. What follows from here on is not judged, since what "
    "stood here is not there: copy the segment again, or take the partition from a replica"
)


def diagnose_folders(
    logs: Sequence[AuditedTransactionLog],
    segments: Sequence[Sequence[SegmentRange]],
    controllers: Mapping[str, Controlled],
    joined: Joined,
) -> Diagnosis[Logs, Joined, SegmentDamage, FoundInLog]:
    """What folders explain of the findings of all logs.

    Args:
        logs: all of them.
        segments: of each.
        controllers: by cluster the view of the controller's log.
        joined: the transactions of the logs, and all findings of each.
    """
    findings = joined[1]
    judge: Judge[Logs, Joined, FoundInLog] = Judge(
        lambda held: audit_transactions(held, controllers),
        lambda after: sum(map(_violations, after[1])),
        lambda after: (
            (log, one) for log, own in enumerate(after[1]) for one in own if one.severity is not Severity.UNDECIDED
        ),
        sum(log.verdict.batches for log in logs),
    )
    repairs = (
        repair
        for proposed in (
            _foreign_coordinators(logs, joined),
            _exchanged_folders(logs, findings),
            _copied_segments(logs, segments, findings),
        )
        for repair in proposed
    )
    return diagnose(tuple(logs), joined, repairs, judge)


def explained_in(
    number: int, diagnosis: Diagnosis[Logs, Joined, SegmentDamage, FoundInLog]
) -> tuple[tuple[SegmentDamage, BrokenRule], ...]:
    """What is explained in one of the logs, each with its cause: the damage that is in it, else the first."""
    path = PurePath(diagnosis.evidence[number].path)
    return tuple(
        (next((bad for bad in one.causes if PurePath(bad.path).is_relative_to(path)), one.causes[0]), each)
        for one in diagnosis.explanations
        for log, finding in one.explained
        for each in (finding.alone() if log == number else ())
    )


def _violations(findings: Iterable[Finding], *about: rules.Rule) -> int:
    """The number of violations: of some rules, or of all."""
    return sum(one.severity is Severity.VIOLATION and (not about or one.rule in about) for one in findings)


def _changed(change: Mapping[int, Callable[[AuditedTransactionLog], AuditedTransactionLog]]) -> Callable[[Logs], Logs]:
    """Makes the logs, of which some are changed, by their numbers."""
    return lambda logs: tuple(change[number](log) if number in change else log for number, log in enumerate(logs))


# --- a coordinator's log of another cluster -------------------------------------------------------------------------


def _foreign_coordinators(logs: Sequence[AuditedTransactionLog], joined: Joined) -> Iterator[FolderRepair]:
    """Each coordinator's log, or all of its replicas, joined with none; what it predicts rightly counts against."""
    enough = sum(map(_violations, joined[1]))
    replicas: dict[tuple[str, int], list[int]] = {}
    for number, log in enumerate(logs) if enough else ():
        if _transactions(log):
            replicas.setdefault((log.cluster, log.partition), []).append(number)
    rightly = _predictions(logs, [number for own in replicas.values() for number in own], joined[0], enough)
    for numbers in replicas.values():
        for chosen in [*([number] for number in numbers), *([numbers] if len(numbers) > 1 else [])]:
            right = max(rightly[number] for number in chosen)
            few = f"next to nothing is here ({counted(right, 'marker')} or data)" if right else "no marker is here"
            why = f"of all transactions that it has, {few}{_FOREIGN}"
            damage = tuple(SegmentDamage(logs[number].path, 0, why) for number in chosen)
            yield Repair(
                FOREIGN_FOLDER, damage, _changed(dict.fromkeys(chosen, _joined_with_none)), len(rightly), -right
            )


def _transactions(log: AuditedTransactionLog) -> Sequence[CoordinatorTransaction]:
    """Those of a coordinator's log; of another none."""
    reported = log.verdict.reported
    return reported.coordinated.transactions if reported is not None and reported.coordinated is not None else ()


def _predictions(
    logs: Sequence[AuditedTransactionLog], numbers: Iterable[int], transactions: TransactionsReport, enough: int
) -> dict[int, int]:
    """For each coordinator's log how much it predicts rightly of the logs of its cluster, up to enough."""
    rightly = dict.fromkeys(numbers, 0)
    whose: dict[tuple[str, int, int], list[int]] = {}
    for number in rightly:
        for known in _transactions(logs[number]):
            whose.setdefault(_named(known), []).append(number)
    for one in transactions.judged if rightly else ():
        for number in whose.get(_named(one.one.known), ()):
            if rightly[number] < enough:
                cluster = logs[number].cluster
                rightly[number] += sum(logs[each].cluster == cluster for each in _predicted(one.one))
    return rightly


def _joined_with_none(log: AuditedTransactionLog) -> AuditedTransactionLog:
    """The log by its own findings."""
    return replace(log, verdict=replace(log.verdict, reported=None))


def _named(known: CoordinatorTransaction) -> tuple[str, int, int]:
    """What distinguishes a transaction from those of other coordinators' logs."""
    return known.transactional_id, known.first_offset, known.started_ms


def _predicted(one: JoinedTransaction) -> Iterator[int]:
    """The log of each marker, and of each run of data, that is where the coordinator's log says, and when."""
    known, of = one.known, outcome_of(one.known)
    begun, decided = known.started_ms - FARTHEST_CLOCKS_MS, known.prepared_ms + FARTHEST_CLOCKS_MS
    for ended in one.ended:
        if agrees(of, marker_of(ended.marker), FARTHEST_CLOCKS_MS):
            yield ended.place.log
    ended_data = [(each.place, run) for each in one.ended for run in each.runs]
    unended_data = [(each.place, run) for each in one.gaps for run in each.runs]
    data = {(place.log, run.first_offset): run for place, run in (*ended_data, *unended_data, *one.open)}
    for (log, _), run in data.items():
        in_time = begun <= run.first_ms and (not known.decided or run.first_ms <= decided)
        if in_time and run.producer_epoch == known.producer_epoch:
            yield log


# --- folders of one topic under each other's names --------------------------------------------------------------------


Directories: TypeAlias = Mapping[PurePath, Mapping[int, AuditedTransactionLog]]
"""The folders of a topic in each directory, by the partitions of their names."""


def _exchanged_folders(
    logs: Sequence[AuditedTransactionLog], findings: Sequence[tuple[Finding, ...]]
) -> Iterator[FolderRepair]:
    """Folders of a topic each of which is better the next one's, in a ring: in one directory, or in several."""
    numbers = {log.path: number for number, log in enumerate(logs)}
    topics: dict[tuple[str, str], dict[PurePath, dict[int, AuditedTransactionLog]]] = {}
    for log in logs:
        directories = topics.setdefault((log.cluster, log.topic), {})
        directories.setdefault(PurePath(log.path).parent, {})[log.partition] = log
    odd = {(log.cluster, log.topic) for log, own in zip(logs, findings, strict=True) if _violations(own, *_OF_NAME)}
    for cluster, topic in (each for each in topics if each in odd):
        known = _decided(log for log in logs if log.cluster == cluster)
        directories = topics[cluster, topic]
        rings: dict[tuple[int, ...], list[PurePath]] = {}
        for directory, here in directories.items():
            for ring in _rings(_better_names(topic, here, known)):
                rings.setdefault(ring, []).append(directory)
        for ring, shown in rings.items():
            for where in [*([each] for each in shown), *([shown] if len(shown) > 1 else [])]:
                yield _exchange(ring, where, directories, numbers)


def _exchange(
    ring: Sequence[int], where: Sequence[PurePath], directories: Directories, numbers: Mapping[str, int]
) -> FolderRepair:
    """A ring of folders under their own names: one of all rings of so many, in one of all choices of directories.

    Args:
        ring: the partitions of the names, each before the one that its folder is of.
        where: the directories.
        directories: all of the topic.
        numbers: of the logs, by their paths.
    """
    moved = [(directories[each][old], directories[each][new]) for each in where for old, new in _moves(ring)]
    names = frozenset().union(*directories.values())
    having = sum(own.keys() >= set(ring) for own in directories.values())
    return Repair(
        FOLDER_NAMES,
        tuple(_exchanged(log, other) for log, other in moved),
        _changed({numbers[log.path]: partial(_at_partition, other.partition) for log, other in moved}),
        comb(len(names), len(ring)) * factorial(len(ring) - 1) * (2**having - 1),
        sum(_ends(log, other) - _ends(log, log) for log, other in moved),
    )


def _moves(ring: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Each partition of a ring with the next one."""
    return zip(ring, (*ring[1:], *ring[:1]), strict=True)


def _rings(better: Mapping[int, Sequence[int]]) -> Iterable[tuple[int, ...]]:
    """The shortest ring through each partition, each ring once and its lowest partition first.

    Args:
        better: the partitions that one leads to.
    """
    found: dict[tuple[int, ...], None] = {}
    for first in better:
        paths: deque[tuple[int, ...]] = deque([(first,)])
        seen = {first}
        while paths:
            path = paths.popleft()
            leads_to = better.get(path[-1], ())
            if first in leads_to:
                lowest = path.index(min(path))
                found[(*path[lowest:], *path[:lowest])] = None
                break
            paths.extend((*path, each) for each in leads_to if each not in seen)
            seen.update(leads_to)
    return found


_Decided: TypeAlias = Mapping[tuple[int, int, int], Sequence[CoordinatorTransaction]]
"""The decided transactions by producer id, epoch and type of their markers, each in the order of their decision."""


def _decided(logs: Iterable[AuditedTransactionLog]) -> _Decided:
    """Those of all coordinators' logs, each once."""
    once = {_named(one): one for log in logs for one in _transactions(log) if one.decided}
    found: dict[tuple[int, int, int], list[CoordinatorTransaction]] = {}
    for one in sorted(once.values(), key=lambda one: one.prepared_ms):
        found.setdefault((one.producer_id, one.marker_epoch, one.outcome), []).append(one)
    return found


def _better_names(topic: str, here: Mapping[int, AuditedTransactionLog], known: _Decided) -> dict[int, list[int]]:
    """By partition, those whose transactions its folder fits best, if it fits them better than its own.

    A folder fits the less, the more of its markers a partition should not have; and where nothing was removed of it,
    the more of a partition's markers it lacks. An end where the broker has a high watermark counts as one marker.

    Args:
        topic: of the folders.
        here: the folders of a directory by their names' partitions.
        known: the transactions that coordinators have decided.
    """
    expected = Counter(number for own in known.values() for one in own for number in _partitions(one, topic))
    better = {}
    for partition, log in here.items():
        whose = (_transaction_of(marker, known) for marker in _markers(log))
        there = Counter(number for one in whose if one is not None for number in _partitions(one, topic))
        whole = log.verdict.offsets.log_start == 0 and not log.verdict.cleaned
        misfit = {
            name: whole * (expected[name] - there[name]) - there[name] + _is_known(other) - 2 * _ends(log, other)
            for name, other in here.items()
        }
        least = min(misfit.values())
        if least < misfit[partition]:
            better[partition] = [name for name, more in misfit.items() if more == least]
    return better


def _partitions(known: CoordinatorTransaction, topic: str) -> Iterator[int]:
    """Those of a topic that a transaction has."""
    return (number for name, number in known.partitions if name == topic)


def _markers(log: AuditedTransactionLog) -> Sequence[AuditedMarker]:
    """The markers in a log of clients."""
    return log.verdict.reported.here.markers if log.verdict.reported is not None else ()


def _transaction_of(marker: AuditedMarker, known: _Decided) -> CoordinatorTransaction | None:
    """The transaction of a marker by epoch, outcome and time: as its coordinator's clock says, else as clocks may."""
    own = known.get((marker.producer_id, marker.producer_epoch, marker.outcome), ())
    behind = bisect_right(own, marker.timestamp, key=lambda one: one.prepared_ms)
    near = own[max(behind - 1, 0) : behind + 1]
    row = marker_of(marker)
    return next(
        (one for clocks in (0, FARTHEST_CLOCKS_MS) for one in near if agrees(outcome_of(one), row, clocks)), None
    )


def _is_known(log: AuditedTransactionLog) -> bool:
    """The broker has a high watermark for the partition."""
    replica = _replica(log)
    return replica is not None and replica.high_watermark != ABSENT


def _ends(log: AuditedTransactionLog, named: AuditedTransactionLog) -> bool:
    """The log ends where the broker has the high watermark of the partition that another folder is named after."""
    own, other = _replica(log), _replica(named)
    return own is not None and other is not None and own.log_end == other.high_watermark


def _at_partition(partition: int, log: AuditedTransactionLog) -> AuditedTransactionLog:
    """The log of clients as that of another partition of its topic; what brokers say of its name is not of it."""
    alone = apart(log)
    return replace(alone, partition=partition, verdict=replace(alone.verdict, reported=log.verdict.reported))


def _exchanged(log: AuditedTransactionLog, other: AuditedTransactionLog) -> SegmentDamage:
    """A folder whose name should be that of another, with what shows it."""
    whose = f"partition {other.partition} of {log.topic}"
    ends = f"it ends where {HIGH_WATERMARK} has the high watermark of {whose}"
    fits = f"its transactions are those of {whose}, by the coordinator's log"
    shown = [*([fits] if _markers(log) or not _ends(log, other) else []), *([ends] if _ends(log, other) else [])]
    return SegmentDamage(log.path, 0, f"{', and '.join(shown)}{_MOVED}")


# --- segments of another partition, copied over segments of the same name -------------------------------------------


def _copied_segments(
    logs: Sequence[AuditedTransactionLog],
    segments: Sequence[Sequence[SegmentRange]],
    findings: Sequence[tuple[Finding, ...]],
) -> Iterator[FolderRepair]:
    """Segments that another partition has as well, with nothing else in common: each log only up to them.

    The other's log predicts all that is in them, so that nothing less is predicted.
    """
    for number in (number for number, own in enumerate(findings) if _violations(own)):
        for other, segment in _alike(number, logs, segments[number]):
            whose = f"its batches are those of {logs[other].topic}-{logs[other].partition}{_COPIED}"
            damage = SegmentDamage(segment.path, 0, whose)
            alternatives = len(segments[number]) * len(logs)
            yield Repair(COPIED_SEGMENT, (damage,), _changed({number: partial(_cut_at, segment.base)}), alternatives)


def _cut_at(offset: int, log: AuditedTransactionLog) -> AuditedTransactionLog:
    """The log with what is before an offset."""
    alone, reported = apart(log), log.verdict.reported
    left = tuple(one for one in alone.verdict.findings if one.offset < offset)
    before = replace(reported, here=cut_at(reported.here, offset)) if reported and not reported.coordinated else None
    return replace(alone, verdict=replace(alone.verdict, findings=left, reported=before))


def _alike(
    number: int, logs: Sequence[AuditedTransactionLog], segments: Sequence[SegmentRange]
) -> Iterator[tuple[int, SegmentRange]]:
    """Segments of a log that another partition has as well: all blocks of batches in them, and no block elsewhere.

    Partitions whose batches are alike by what their clients sent are alike outside of one segment, too.
    """
    own, log = _replica(logs[number]), logs[number]
    for other, each in enumerate(logs):
        theirs = _replica(each)
        same = (each.topic, each.partition) == (log.topic, log.partition)
        if own is None or theirs is None or same or each.cluster != log.cluster:
            continue
        alike, filled, width = _compared(own, theirs)
        for segment in segments:
            inside = np.zeros(len(alike), np.bool_)
            inside[-(-segment.base // width) : segment.end // width if segment.end >= 0 else len(alike)] = True
            here, elsewhere = np.flatnonzero(inside & filled)[:-1], np.flatnonzero(~inside & filled)
            if len(here) and len(elsewhere) and alike[here].all() and not alike[elsewhere].any():
                yield other, segment  # the last block inside ends with the file


def _replica(log: AuditedTransactionLog) -> ReplicaSummary | None:
    return log.verdict.cluster.replica if log.verdict.cluster is not None else None


def _compared(own: ReplicaSummary, theirs: ReplicaSummary) -> tuple[Facts, Facts, int]:
    """For each block of a log whether it is the other's, and whether it has batches; the number of its offsets."""
    width = max(own.width, theirs.width)
    mine, other = (coarser(one.blocks, one.width, width) for one in (own, theirs))
    padded = np.zeros(len(mine), np.uint64)
    padded[: len(other)] = other[: len(mine)]
    return mine == padded, mine != 0, width


# --- folders whose ids are another's ----------------------------------------------------------------------------------


def by_their_content(
    logs: Sequence[AuditedTransactionLog], controllers: Mapping[str, Controlled]
) -> tuple[list[AuditedTransactionLog], list[SegmentDamage]]:
    """The logs, of which a folder under another's name is compared with nothing that goes by its name; and which are.

    A coordinator's log is read as that of the partition its ids belong to; of a partition of clients no more than the
    topic is known, so that it is not joined with others.
    """
    held, damage = list(logs), []
    for cluster in {log.cluster for log in logs}:
        numbers = [number for number, log in enumerate(logs) if log.cluster == cluster]
        own = [(number, logs[number]) for number in numbers]
        for number, topic in _of_another_topic(own, controllers.get(cluster)):
            held[number] = apart(logs[number])
            damage.append(
                SegmentDamage(logs[number].path, 0, f"its topic id in partition.metadata is that of {topic}{_MOVED}")
            )
        for number, partition, count in _of_another_coordinator(own):
            held[number] = _as_partition(logs[number], partition)
            whose = f"its transactional ids belong to partition {partition} of {count}"
            damage.append(SegmentDamage(logs[number].path, 0, f"{whose}{_MOVED}"))
    return held, damage


def apart(log: AuditedTransactionLog) -> AuditedTransactionLog:
    """The log by itself, joined with no other."""
    left = tuple(one for one in log.verdict.findings if one.rule not in _BY_NAME)
    return replace(log, verdict=replace(log.verdict, findings=left, reported=None, cluster=None))


def _as_partition(log: AuditedTransactionLog, partition: int) -> AuditedTransactionLog:
    """The log of another partition of the coordinator."""
    reported = log.verdict.reported
    if reported is None or reported.coordinated is None:
        return log
    own = replace(reported, coordinated=replace(reported.coordinated, partition=partition))
    alone = apart(log)
    return replace(alone, partition=partition, verdict=replace(alone.verdict, reported=own))


def _of_another_topic(
    logs: Sequence[tuple[int, AuditedTransactionLog]], controller: Controlled | None
) -> Iterator[tuple[int, str]]:
    """Logs with the topic id that another topic has, by the controller's log or else by most of its folders."""
    ids = {number: _topic_id(log) for number, log in logs}
    folders: dict[str, Counter[str]] = {}
    for number, log in logs:
        folders.setdefault(ids[number], Counter())[log.topic] += 1
    owners = {topic_id: owner for topic_id, names in folders.items() if (owner := _most(names))}
    if controller is not None:
        named = {log.topic for _, log in logs}
        owners |= {one.topic_id: one.topic for one in controller.partitions.values() if one.topic in named}
    for number, log in logs:
        owner = owners.get(ids[number], log.topic) if ids[number] else log.topic
        if owner != log.topic:
            yield number, owner


def _topic_id(log: AuditedTransactionLog) -> str:
    replica = _replica(log)
    return replica.topic_id if replica is not None else ""


def _most(names: Counter[str]) -> str:
    """The name that more folders have than any other."""
    (first, most), *others = names.most_common(2)
    return first if not others or others[0][1] < most else ""


def _of_another_coordinator(logs: Sequence[tuple[int, AuditedTransactionLog]]) -> Iterator[tuple[int, int, int]]:
    """Logs of which all ids belong to one other partition, with that partition and the number of ids."""
    known = {
        number: (reported.coordinated.partition, reported.coordinated.ids)
        for number, log in logs
        if (reported := log.verdict.reported) is not None
        and reported.coordinated is not None
        and reported.coordinated.ids
    }
    count = coordinator_count(list(known.values()))
    for number, (partition, ids) in known.items() if count else ():
        belongs = coordinator_partition(ids[0], count)
        if partition != belongs:
            yield number, belongs, count
