"""Logs of coordinators compared with each other and with the controller's: ids given twice, epochs of no leader."""

from collections.abc import Iterator, Mapping, Sequence

from model_tests.audit.controller_log_history import PartitionLeaders
from model_tests.audit.controller_view import Controlled
from model_tests.audit.coordinator_log_history import CoordinatorHistory, HeldProducerId
from model_tests.audit.findings import Finding
from model_tests.audit.transaction_findings import Located
from model_tests.audit.transactions_join import LogIndex
from model_tests.audit.transactions_rows import broken
from model_tests.audit.transactions_summary import AuditedMarker, PartitionTransactions
from model_tests.histories.severity import Severity
from model_tests.logs.coordinator_log import TOPIC
from spec import rules
from spec.judging.judge_orphans import judge_coordinator_epoch
from spec.vocabulary import ABSENT, Api


def judge_coordinator_epochs(
    places: Sequence[LogIndex], known: Sequence[CoordinatorHistory], controller: Controlled
) -> Iterator[Located]:
    """A marker's coordinator epoch is a leader epoch of the coordinator's partition, and the epoch had a leader."""
    coordinators = controller.coordinator_epochs(TOPIC)
    partition = {one.producer_id: history.partition for history in known for one in history.identities}
    for place in places:
        for marker in place.summary.markers:
            own = coordinators.get(partition.get(marker.producer_id, -1))
            candidates = {own.partition: own} if own is not None else coordinators
            if candidates and all(_never_was(one, marker, controller) for one in candidates.values()):
                yield place, _finding(marker, candidates)


def _never_was(history: PartitionLeaders, marker: AuditedMarker, controller: Controlled) -> bool:
    """The epoch had no leader; one above all that are known may have come after the log at hand."""
    led = history.led(marker.coordinator_epoch)
    check = judge_coordinator_epoch(
        marker.coordinator_epoch,
        ABSENT if led is None else int(led),
        history.leaderships[-1].epoch,
        marker.timestamp,
        controller.history.last_ms,
    )
    return bool(broken([check]))


def _finding(marker: AuditedMarker, candidates: Mapping[int, PartitionLeaders]) -> Finding:
    names = ", ".join(f"{TOPIC}-{number}" for number in sorted(candidates))
    message = (
        f"marker of coordinator epoch {marker.coordinator_epoch}, which no leader of {names} had by the controller's "
        "log: no coordinator can have written it"
    )
    return Finding(
        rules.FENCE_COORDINATOR_EPOCH,
        Severity.VIOLATION,
        marker.offset,
        marker.producer_id,
        marker.producer_epoch,
        message,
        step=Api.WRITE_TXN_MARKERS,
    )


def given_twice(histories: Sequence[tuple[int, CoordinatorHistory]]) -> Iterator[Located]:
    """One finding for each producer id that several transactional ids have by sound histories, at the later one.

    Args:
        histories: the contents of the coordinators' logs, each with the number of its log.
    """
    owners: dict[int, list[tuple[int, int, CoordinatorHistory, HeldProducerId]]] = {}
    for log, history in histories:
        for one in history.identities:
            if one.sound:
                owners.setdefault(one.producer_id, []).append((one.first_ms, log, history, one))
    for known in owners.values():
        known.sort(key=lambda owner: owner[0])
        if len({identity.transactional_id for *_, identity in known}) > 1:
            _, log, history, later = known[-1]
            place = LogIndex(log, TOPIC, history.partition, PartitionTransactions())
            yield place, _given_twice(later, known[0][2], known[0][3])


def _given_twice(later: HeldProducerId, coordinator: CoordinatorHistory, first: HeldProducerId) -> Finding:
    message = (
        f"{later.transactional_id} is given producer id {later.producer_id}, which {first.transactional_id} has "
        f"({TOPIC}-{coordinator.partition} offset {first.first_offset}): brokers take the two for one producer"
    )
    remedy = (
        f"use a new transactional id in place of {later.transactional_id}: it and {first.transactional_id} share "
        "sequences, epochs and transactions on the partitions that both write to"
    )
    return Finding(
        rules.IDS_UNIQUE,
        Severity.VIOLATION,
        later.first_offset,
        later.producer_id,
        ABSENT,
        message,
        transactional_id=later.transactional_id,
        step=Api.INIT_PRODUCER_ID,
        remedy=remedy,
        others=(first.transactional_id,),
    )
