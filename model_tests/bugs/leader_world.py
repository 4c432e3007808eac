"""One leader of the reference and a transactional producer, for counterexamples about expiry and verification."""

from collections.abc import Callable, Mapping

from model_tests.bugs.world import Diverged, GhostViolation
from model_tests.monitor.story import Columns, Story
from reference.broker.marker_channel import TxnMarker, write_marker
from reference.errors import Refusal
from reference.log.batch import RecordBatch, blank_batch
from reference.log.partition import Partition
from reference.log.producer_entry import NO_GUARD
from reference.recording.recorder import Recorder
from spec import rules
from spec.versions import Profile
from spec.vocabulary import CoordinatorEpoch, Epoch, ProducerId, Sequence, Timestamp


def named(number: int) -> str:
    """A batch as the application counts it."""
    return f"batch {number}"


LEADER = "leader"
CLIENT = "producer"
COORDINATOR = "coordinator"
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


class VerifyingWorld:
    """A leader that asks the coordinator about the first batches of a producer that it does not know."""

    cast = (CLIENT, LEADER, COORDINATOR)

    def __init__(self, profile: Profile) -> None:
        """Nothing is sent."""
        self.story = Story(Recorder(0, profile))
        self.leader = Partition(profile)
        self.guards: dict[int, int] = {}
        self.confirmed: set[int] = set()
        self.logged: list[int] = []

    @property
    def acts(self) -> Mapping[str, Callable[..., None]]:
        """What each action does."""
        return {
            "producer_sends": self.producer_sends,
            "coordinator_confirms": self.coordinator_confirms,
            "coordinator_is_busy": self.coordinator_is_busy,
            "leader_appends": self.leader_appends,
            "leader_refuses": self.leader_refuses,
        }

    def producer_sends(self, batch: int) -> None:
        """The batch arrives, and the leader begins to verify it if it must."""
        state = self.leader.state
        self.guards[batch] = state.start_verification(PRODUCER, Sequence(batch), Epoch(0), False, Timestamp(0))
        self.story.records[named(batch), 0] = named(batch)
        self.story.remark(LEADER, f"receives {named(batch)}")
        if self.guards[batch] == NO_GUARD:
            self.confirmed.add(batch)
        else:
            self.story.say(LEADER, COORDINATOR, f"is the partition of {named(batch)} in the transaction?")

    def coordinator_confirms(self, batch: int) -> None:
        """The coordinator says yes."""
        self.confirmed.add(batch)
        self.story.say(COORDINATOR, LEADER, f"yes, for {named(batch)}")

    def coordinator_is_busy(self, batch: int) -> None:
        """The batch is answered with an error; its verification keeps waiting."""
        del self.guards[batch]
        self.story.say(COORDINATOR, LEADER, f"CONCURRENT_TRANSACTIONS, for {named(batch)}", refuses=True)
        self.story.say(LEADER, CLIENT, f"NOT_ENOUGH_REPLICAS for {named(batch)}", refuses=True)

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
        where: Columns = {"client": CLIENT, "node": LEADER, "writer": named(batch), "first_record": 0}
        self.story.append(where, self.leader, batch_of(batch), self.guards[batch])
        self.logged.append(batch)

    def broken(self) -> GhostViolation | None:
        """A batch is in the log before an earlier one."""
        if self.logged == list(range(len(self.logged))):
            return None
        return GhostViolation(rules.SEQ_ORDER, f"the log begins with batch {self.logged[0]}: {self.logged}")

    def instead(self) -> str:
        """The batches in the log."""
        return f"the log holds the batches {self.logged}"
