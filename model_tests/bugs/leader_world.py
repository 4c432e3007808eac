"""One leader of the reference and a transactional producer, for counterexamples about expiry."""

from collections.abc import Callable, Mapping

from model_tests.bugs.world import Diverged, GhostViolation
from model_tests.monitor.story import Story
from reference.broker.marker_channel import TxnMarker, write_marker
from reference.log.batch import RecordBatch, blank_batch
from reference.log.partition import Partition
from reference.recording.recorder import Recorder
from spec import rules
from spec.versions import Profile
from spec.vocabulary import CoordinatorEpoch, Epoch, ProducerId, Sequence, Timestamp

LEADER = "leader"
CLIENT = "producer"
COORDINATORS = ("old coordinator", "new coordinator")

PRODUCER = ProducerId(0)  # any producer id
TICK_MS = 100  # a tick lasts as long as producer state is kept, so that each tick expires what is idle


def batch_of(sequence: int, timestamp: int = 0) -> RecordBatch:
    """One transactional record."""
    return blank_batch(
        1, producer_id=PRODUCER, epoch=0, base_sequence=sequence, timestamp=timestamp, transactional=True
    )


class ExpiryWorld:
    """A leader that forgets after one tick of a clock, and markers of two coordinators."""

    cast = (CLIENT, *COORDINATORS, LEADER)

    def __init__(self, profile: Profile) -> None:
        """Nothing is written."""
        self.story = Story(Recorder(0, profile))
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
        self.story.append({"client": CLIENT, "node": LEADER}, self.leader, batch_of(0, self.now), guard)

    def coordinator_writes_marker(self, coordinator: int) -> None:
        """A marker of one of the two coordinators."""
        marker = TxnMarker(PRODUCER, Epoch(0), True, CoordinatorEpoch(coordinator))
        late = "late " if coordinator < max(self.markers, default=0) else ""
        self.story.say(COORDINATORS[coordinator], LEADER, f"{late}marker, coordinator epoch {coordinator}")
        write_marker(self.leader, marker, 1, self.now)
        self.markers.append(coordinator)
        age = self.leader.state.entry(PRODUCER).last_timestamp
        self.story.remark(LEADER, f"takes it; the producer's last timestamp is {age}")

    def clock_ticks(self) -> None:
        """Time passes."""
        self.now = Timestamp(self.now + TICK_MS)
        self.story.remark(LEADER, f"the time is {self.now}")

    def leader_forgets(self) -> None:
        """The leader looks for producers that have expired."""
        if not self.leader.state.expire(self.now):
            age = self.now - self.leader.state.entry(PRODUCER).last_timestamp
            raise Diverged(f"the producer is not forgotten: its marker makes it {age} ms old, and counts")
        self.story.remark(LEADER, "forgets the producer")

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
