"""The coordinator epochs of markers, compared with the leader epochs of `__transaction_state`."""

from collections.abc import Iterator, Mapping, Sequence

from model_tests.audit.controller_log_history import PartitionLeaders
from model_tests.audit.controller_view import Controlled
from model_tests.audit.coordinator_log_history import CoordinatorHistory
from model_tests.audit.findings import Finding
from model_tests.audit.transaction_findings import Located
from model_tests.audit.transactions_join import LogIndex
from model_tests.audit.transactions_rows import broken
from model_tests.audit.transactions_summary import AuditedMarker
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
