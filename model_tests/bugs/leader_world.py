"""One leader of the reference with a transactional producer, for counterexamples about expiry and verification."""

from collections.abc import Callable, Mapping

from model_tests.bugs.world import Diverged, GhostViolation
from reference.broker.marker_channel import TxnMarker, write_marker
from reference.errors import Refusal
from reference.log.batch import RecordBatch, blank_batch
from reference.log.partition import Partition
from reference.log.producer_entry import NO_GUARD
from spec import rules
from spec.versions import Profile
from spec.vocabulary import CoordinatorEpoch, Epoch, Origin, ProducerId, Sequence, Timestamp

PRODUCER = ProducerId(0)  # any producer id
TICK_MS = 100  # a tick lasts as long as producer state is kept, so that each tick expires what is idle


def batch_of(sequence: int, timestamp: int = 0) -> RecordBatch:
    """One transactional record."""
    return blank_batch(
        1, producer_id=PRODUCER, epoch=0, base_sequence=sequence, timestamp=timestamp, transactional=True
    )


class ExpiryWorld:
    """A leader that forgets after one tick of a clock, and markers of two coordinators."""

    def __init__(self, profile: Profile) -> None:
        """Nothing is written."""
        self.leader = Partition(profile, expiration_ms=TICK_MS)
        self.now = Timestamp(0)
        self.markers: list[int] = []

    @property
    def acts(self) -> Mapping[str, Callable[..., None]]:
        """What each action does."""
        return {
            "producer_appends": self.producer_appends,
            "coordinator_writes_marker": self.coordinator_writes_marker,
            "clock_ticks": self.clock_ticks,
            "leader_forgets": self.leader_forgets,
        }

    def producer_appends(self) -> None:
        """One batch opens a transaction."""
        guard = self.leader.state.start_verification(PRODUCER, Sequence(0), Epoch(0), False, self.now)
        self.leader.append(batch_of(0, self.now), Origin.CLIENT, guard)

    def coordinator_writes_marker(self, coordinator: int) -> None:
        """A marker of one of the two coordinators."""
        marker = TxnMarker(PRODUCER, Epoch(0), True, CoordinatorEpoch(coordinator))
        write_marker(self.leader, marker, 1, self.now)
        self.markers.append(coordinator)

    def clock_ticks(self) -> None:
        """Time passes."""
        self.now = Timestamp(self.now + TICK_MS)

    def leader_forgets(self) -> None:
        """The leader looks for producers that have expired."""
        if not self.leader.state.expire(self.now):
            age = self.now - self.leader.state.entry(PRODUCER).last_timestamp
            raise Diverged(f"the producer is not forgotten: its marker makes it {age} ms old, and counts")

    def broken(self) -> GhostViolation | None:
        """A marker of an older coordinator after one of a newer."""
        if sorted(self.markers) == self.markers:
            return None
        return GhostViolation(
            rules.FENCE_COORDINATOR_EPOCH, f"the log's markers are of the coordinators {self.markers}"
        )

    def instead(self) -> str:
        """The markers in the log."""
        return f"the log's markers are of the coordinators {self.markers}"


class VerifyingWorld:
    """A leader that asks the coordinator about the first batches of a producer that it does not know."""

    def __init__(self, profile: Profile) -> None:
        """Nothing is sent."""
        self.leader = Partition(profile)
        self.guards: dict[int, int] = {}
        self.confirmed: set[int] = set()
        self.logged: list[int] = []

    @property
    def acts(self) -> Mapping[str, Callable[..., None]]:
        """What each action does."""
        return {
            "producer_sends": self.producer_sends,
            "coordinator_confirms": self.confirmed.add,
            "coordinator_is_busy": self.coordinator_is_busy,
            "leader_appends": self.leader_appends,
            "leader_refuses": self.leader_refuses,
        }

    def producer_sends(self, batch: int) -> None:
        """The batch arrives, and the leader begins to verify it if it must."""
        state = self.leader.state
        self.guards[batch] = state.start_verification(PRODUCER, Sequence(batch), Epoch(0), False, Timestamp(0))
        if self.guards[batch] == NO_GUARD:
            self.confirmed.add(batch)

    def coordinator_is_busy(self, batch: int) -> None:
        """The batch is answered with an error; its verification keeps waiting."""
        del self.guards[batch]

    def leader_refuses(self, batch: int) -> None:
        """The batch is refused, and will be sent again."""
        try:
            self.leader_appends(batch)
        except Refusal:
            self.confirmed.discard(batch)
            return
        raise Diverged(f"the leader appends batch {batch}")

    def leader_appends(self, batch: int) -> None:
        """The batch is appended with the guard of its verification."""
        if batch not in self.confirmed:
            raise Diverged(f"batch {batch} is not confirmed")
        self.leader.append(batch_of(batch), Origin.CLIENT, self.guards[batch])
        self.logged.append(batch)

    def broken(self) -> GhostViolation | None:
        """A batch is in the log before an earlier one."""
        if self.logged == list(range(len(self.logged))):
            return None
        return GhostViolation(rules.SEQ_ORDER, f"the log begins with batch {self.logged[0]}: {self.logged}")

    def instead(self) -> str:
        """The batches in the log."""
        return f"the log holds the batches {self.logged}"
