"""The observer of decisions about a replica: what was known, decided and changed, and the trace columns of these."""

from collections.abc import Callable, Mapping

from reference.log.partition import Partition
from reference.log.producer_entry import UNKNOWN_PRODUCER
from reference.recording.recorder import NOWHERE, ObservedState, Row, Value, observe
from reference.replication.follower_progress import FollowerProgress
from reference.replication.messages import UNDEFINED, EpochEnd, FetchRequest, FollowerFetchResult
from spec.vocabulary import ABSENT

Report = Callable[[str, ObservedState, ObservedState, Row], None]
"""Takes a decision by name, the replica before and after it, and the columns of what was known and decided."""


class ReplicationWatch:
    """Reports the decisions about one replica, if there is an observer."""

    __slots__ = ("_log", "_report")

    def __init__(self, log: Partition, report: Report | None = None) -> None:
        """A watch over the replica with that log."""
        self._log = log
        self._report = report

    @property
    def is_open(self) -> bool:
        """Whether there is an observer; without one nothing is reported."""
        return self._report is not None

    def before(self, producer_id: int = ABSENT) -> ObservedState:
        """The replica and one producer on it, before a decision."""
        return NOWHERE if self._report is None else observe(self._log, producer_id)

    def decided(self, api: str, before: ObservedState, /, **columns: Value) -> None:
        """Report a decision; if it is about a producer, the columns name the producer."""
        if self._report is not None:
            self._report(api, before, observe(self._log, int(columns.get("producer_id", ABSENT))), columns)

    def producers(self) -> dict[int, ObservedState]:
        """Every producer that the replica knows, and the log under -1, before a decision that may change them all."""
        if self._report is None:
            return {ABSENT: NOWHERE}
        return {producer: observe(self._log, producer) for producer in (ABSENT, *self._log.state.producers)}

    def changed(self, api: str, before: Mapping[int, ObservedState], /, **columns: Value) -> None:
        """Report each producer whose state a decision has changed, in addition to the decision itself."""
        for producer in sorted({*before, *self._log.state.producers} - {ABSENT} if self._report else ()):
            was, log = before.get(producer), observe(self._log, producer)
            entry = UNKNOWN_PRODUCER if was is None else was.entry
            if entry != log.entry:
                self.decided(api, log._replace(entry=entry), producer_id=producer, **columns)


# --- columns of the trace ---------------------------------------------------------------------------------------------


def progress_columns(broker: int, progress: FollowerProgress) -> Row:
    """A follower and how far it is known to be."""
    return {
        "broker": broker,
        "follower_end": progress.log_end,
        "follower_fetch_ms": progress.fetched_ms,
        "follower_leader_end": progress.leader_end,
        "follower_caught_up_ms": progress.caught_up_ms,
    }


def fetch_columns(request: FetchRequest, answer: FollowerFetchResult, known: EpochEnd = UNDEFINED) -> Row:
    """A Fetch, what its broker knows of the epoch that it names, and the answer."""
    return {
        "offset": request.offset,
        "asked_leader_epoch": request.leader_epoch,
        "asked_epoch": request.last_epoch,
        "asked_broker_epoch": request.broker_epoch,
        "known_epoch": known.epoch,
        "known_epoch_end": known.end,
        "error": int(answer.error),
        "answered_epoch": answer.diverging.epoch,
        "answered_end": answer.diverging.end,
        "answered_log_start": answer.log_start,
    }
