"""Producer ids that more than one transactional id has: each is handed out once."""

from collections.abc import Iterator, Sequence

from model_tests.audit.coordinator_log_history import CoordinatorHistory, HeldProducerId
from model_tests.audit.findings import Finding
from model_tests.audit.transaction_findings import Located
from model_tests.audit.transactions_join import LogIndex
from model_tests.audit.transactions_summary import PartitionTransactions
from model_tests.histories.severity import Severity
from model_tests.logs.coordinator_log import TOPIC
from spec import rules
from spec.vocabulary import ABSENT, Api


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
            yield place, _finding(later, known[0][2], known[0][3])


def _finding(later: HeldProducerId, coordinator: CoordinatorHistory, first: HeldProducerId) -> Finding:
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
