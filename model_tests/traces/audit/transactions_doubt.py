"""How far the doubt reaches that a broken or incomplete history of a transactional id leaves about its markers."""

from collections.abc import Iterator

from model_tests.traces.audit.transactions_join import Ended, Producer
from model_tests.traces.audit.transactions_match import FARTHEST_CLOCKS_MS
from spec.vocabulary import ABSENT


def may_be_unknown(producer: Producer, ended: Ended) -> bool:
    """Whether the marker may be of a transaction of which the coordinator's log tells too little.

    Such a one lies between the transactions whose markers are before and after it in the same log, and between the
    end of the transaction before and the begin of the one after, by clocks that differ as far as those of brokers do.
    """
    if not producer.transactions:
        return True
    first, last = _neighbours(producer, ended)
    at = ended.marker.timestamp
    return any(
        since - FARTHEST_CLOCKS_MS <= at and (until == ABSENT or at <= until + FARTHEST_CLOCKS_MS)
        for since, until in _doubts(producer, first, last)
    )


def _neighbours(producer: Producer, ended: Ended) -> tuple[int, int]:
    """The numbers of the transactions with the last marker before this one, and the first after it, in its log."""
    first, last = ABSENT, len(producer.transactions)
    for number, one in enumerate(producer.transactions):
        for paired in one.ended:
            if paired.place is ended.place and paired.marker.offset < ended.marker.offset:
                first = number
            elif paired.place is ended.place:
                last = min(last, number)
    return first, last


def _doubts(producer: Producer, first: int, last: int) -> Iterator[tuple[int, int]]:
    """For each doubtful transaction, and each with a hole before it, since when and until when it may reach."""
    known = [one.known for one in producer.transactions]
    for number in range(max(first, 0), min(last + 1, len(known))):
        one = known[number]
        since = known[number - 1].completed_ms if number else ABSENT
        if one.doubtful:
            yield since, known[number + 1].started_ms if number + 1 < len(known) else ABSENT
        elif one.after_hole and number > first:
            yield since, one.completed_ms
