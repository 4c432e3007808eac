"""What may be missing of a transaction: its log was copied before the coordinator's, or that one is incomplete."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from model_tests.audit.coordinator_log_history import CoordinatorHistory, CoordinatorTransaction, HeldProducerId
from model_tests.audit.transactions_join import Gap, LogIndex, MarkedData, ProducerTransactions
from spec.judging.judge_join import FARTHEST_CLOCKS_MS
from spec.vocabulary import ABSENT


@dataclass(frozen=True, slots=True)
class Reach:
    """How far each log is known to go.

    Attributes:
        coordinators: the partition of `__transaction_state` of each transactional id.
        decided: by a log's number and such a partition, the offset there of the newest Prepare record that has a
            marker in the log.
    """

    coordinators: Mapping[str, int] = field(default_factory=dict)
    decided: Mapping[tuple[int, int], int] = field(default_factory=dict)

    def is_after(self, known: CoordinatorTransaction, gap: Gap) -> bool:
        """Whether the log shows that it was copied after the transaction was complete.

        Something follows the missing marker, of the same producer or where a hole is, or the log continues for longer.
        """
        if not gap.last or any(gap.after < place <= gap.before for place in gap.place.summary.gone):
            return True
        return self.is_later(gap.place, known.transactional_id, known.completed_offset, known.completed_ms)

    def is_later(self, place: LogIndex, transactional_id: str, offset: int, at_ms: int) -> bool:
        """Whether the log was copied after a record of the id's coordinator, of this offset and time.

        It was closed; a marker in it was decided later, by the offsets of the coordinator's log; or a timestamp is
        later by more than clocks differ, as is that of the election of the newest leader that the log knows of.

        Args:
            place: the log.
            transactional_id: of the record.
            offset: of the record, in its coordinator's log.
            at_ms: when it was appended there, in milliseconds since 1970.
        """
        coordinator = self.coordinators.get(transactional_id)
        if coordinator is not None and self.decided.get((place.log, coordinator), -1) > offset:
            return True
        latest = max(place.summary.latest_ms, place.led.known_ms if place.led is not None else ABSENT)
        return place.summary.closed or latest > at_ms + FARTHEST_CLOCKS_MS


UNREACHED: Final = Reach()


def reach_of(producers: Iterable[ProducerTransactions], known: Iterable[CoordinatorHistory]) -> Reach:
    """What the markers of all producers say of it."""
    coordinators = {name: history.partition for history in known for name in history.ids}
    decided: dict[tuple[int, int], int] = {}
    for one in (one for producer in producers for one in producer.transactions if not one.known.doubtful):
        coordinator = coordinators.get(one.known.transactional_id)
        for ended in one.ended if coordinator is not None else ():
            key = (ended.place.log, int(coordinator or 0))
            decided[key] = max(decided.get(key, -1), one.known.prepared_offset)
    return Reach(coordinators, decided)


# --- what a history that is broken or incomplete leaves in doubt ---


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
