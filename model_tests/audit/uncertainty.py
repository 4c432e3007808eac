"""Which markers of a transactional id are uncertain because its history is broken or incomplete."""

from collections.abc import Iterator

from model_tests.audit.coordinator_log_history import HeldProducerId
from model_tests.audit.copy_horizon import Reach
from model_tests.audit.transactions_join import LogIndex, MarkedData, ProducerTransactions
from spec.judging.judge_join import FARTHEST_CLOCKS_MS
from spec.vocabulary import ABSENT


def may_be_unknown(producer: ProducerTransactions, ended: MarkedData) -> bool:
    """Whether the marker may be of a transaction that the coordinator's log has lost in part.

    Such a one lies between the transactions whose markers are before and after it in the same log, and between the
    end of the transaction before and the begin of the one after, by clocks that differ as far as those of brokers do.
    """
    if not producer.transactions:
        return True
    first, last = _neighbours(producer, ended.place, ended.marker.offset)
    at = ended.marker.timestamp
    return any(
        since - FARTHEST_CLOCKS_MS <= at and (until == ABSENT or at <= until + FARTHEST_CLOCKS_MS)
        for since, until in _doubts(producer, first, last)
    )


def may_be_copied_earlier(
    producer: ProducerTransactions,
    identity: HeldProducerId,
    place: LogIndex,
    before: MarkedData | None,
    reported: Reach,
) -> bool:
    """Whether data without a marker may be of a transaction that is missing, its log copied before that was complete.

    It was complete before the first record behind the last hole in which it may have been.

    Args:
        producer: whose data it is.
        identity: the transactional id that has the producer id.
        place: the log with the data.
        before: the producer's last marker before the data there; none if there is none.
        reported: until when each log is known.
    """
    first = _neighbours(producer, place, before.marker.offset + 1)[0] if before is not None else ABSENT
    known = [one.known for one in producer.transactions]
    behind = [one for number, one in enumerate(known) if one.after_hole and number > first]
    if behind:
        offset, at_ms = behind[-1].first_offset, max(behind[-1].started_ms, behind[-1].prepared_ms)
    elif not known and not identity.whole:
        offset, at_ms = identity.first_offset, identity.first_ms
    else:
        return False
    return not reported.is_later(place, identity.transactional_id, offset, at_ms)


def _neighbours(producer: ProducerTransactions, place: LogIndex, offset: int) -> tuple[int, int]:
    """The numbers of the transactions with the last marker before an offset of a log, and the first from there on."""
    first, last = ABSENT, len(producer.transactions)
    for number, one in enumerate(producer.transactions):
        for paired in one.ended:
            if paired.place is place and paired.marker.offset < offset:
                first = number
            elif paired.place is place:
                last = min(last, number)
    return first, last


def _doubts(producer: ProducerTransactions, first: int, last: int) -> Iterator[tuple[int, int]]:
    """For each doubtful transaction, and each with a hole before it, since when and until when it may reach."""
    known = [one.known for one in producer.transactions]
    for number in range(max(first, 0), min(last + 1, len(known))):
        one = known[number]
        since = known[number - 1].completed_ms if number else ABSENT
        if one.doubtful:
            yield since, known[number + 1].started_ms if number + 1 < len(known) else ABSENT
        elif one.after_hole and number > first:
            yield since, one.completed_ms
