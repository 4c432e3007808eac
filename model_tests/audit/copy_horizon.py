"""Whether a log continues after the end of a transaction: it may have been copied before the coordinator's log was."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from model_tests.audit.coordinator_log_history import CoordinatorHistory, CoordinatorTransaction
from model_tests.audit.transactions_join import Gap, LogIndex, ProducerTransactions
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
