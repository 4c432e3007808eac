"""The reference's group coordinator, for counterexamples about offsets in transactions and about generations."""

from collections.abc import Callable, Mapping
from typing import Final

from model_tests.bugs.world import Diverged, GhostViolation
from model_tests.monitor.story import Story
from reference.broker.group_coordinator import GroupConfig, GroupCoordinator, TransactionalCommit
from reference.broker.group_log import OffsetsTopic
from reference.broker.group_record import OffsetKey
from reference.broker.group_requests import (
    NO_CLAIM,
    JoinAnswer,
    JoinRequest,
    MemberClaim,
    OffsetAndMetadata,
    SyncRequest,
)
from reference.broker.ids import ProducerIdentity
from reference.broker.marker_channel import TxnMarker
from reference.broker.transaction_metadata import BUMPS_EPOCH, TopicPartition
from reference.clock import Clock
from reference.errors import Refusal
from reference.log.producer_entry import NO_GUARD
from reference.recording.recorder import Recorder
from spec import rules
from spec.versions import Profile
from spec.vocabulary import NO_SEQUENCE, CoordinatorEpoch, Epoch, Offset, ProducerId

GROUP: Final = "readers"
INPUT: Final = TopicPartition("orders", 0)
PRODUCER: Final = ProducerId(7)  # any producer id

COMMIT_VERSION: Final = 3
MARKERS_VERSION: Final = 2
"""TxnOffsetCommit has fenced members since version 3; 2 is the newest WriteTxnMarkers."""

ZOMBIES_OFFSET: Final = 9  # the zombie commits this offset; no other member's reach so far


ZOMBIE: Final = "its fenced instance"
CLIENT: Final = "producer"
COORDINATOR: Final = "transaction coordinator"
GROUPS: Final = "group coordinator"
MEMBERS: Final = ("member of generation 0", "member of generation 1", "member of generation 2")


class _Group:
    """One offsets partition and its coordinator."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.story = Story(Recorder(0, profile))
        self.clock = Clock(1000)
        self.topic = OffsetsTopic(profile, 1)
        self.groups = GroupCoordinator(profile, self.topic, self.clock, GroupConfig(initial_delay_ms=0))
        self.groups.elect(0)

    def commit(self, offset: int, epoch: Epoch, claim: MemberClaim, meanwhile: Callable[[], None]) -> None:
        """TxnOffsetCommit; `meanwhile` happens during the verification."""
        producer = ProducerIdentity(PRODUCER, epoch)
        request = TransactionalCommit(
            COMMIT_VERSION, GROUP, producer, {INPUT: OffsetAndMetadata(Offset(offset))}, claim
        )

        def verified() -> int:
            meanwhile()
            return self._guard(producer)

        self.groups.commit_in_transaction(request, verified)

    def _guard(self, producer: ProducerIdentity) -> int:
        state = self.topic.partitions[0].state
        if state.is_ongoing(*producer):
            return NO_GUARD
        return state.start_verification(producer.producer_id, NO_SEQUENCE, producer.epoch, False, self.clock.now)


class OffsetsWorld(_Group):
    """Transactions of one producer, one after the other, each with one offset."""

    cast = (ZOMBIE, CLIENT, COORDINATOR, GROUPS)

    def __init__(self, profile: Profile) -> None:
        """No transaction."""
        super().__init__(profile)
        self.outcomes: list[bool] = []
        self.pending: list[int] = []

    @property
    def acts(self) -> Mapping[str, Callable[..., None]]:
        """What each action does."""
        return {
            "producer_commits_offset": self.producer_commits_offset,
            "zombie_commits_offset": self.zombie_commits_offset,
            "coordinator_writes_marker": self.coordinator_writes_marker,
            "group_coordinator_catches_up": self.group_coordinator_catches_up,
        }

    def producer_commits_offset(self) -> None:
        """TxnOffsetCommit of the transaction's number as offset."""
        transaction = len(self.outcomes)
        self.story.say(CLIENT, GROUPS, f"TxnOffsetCommit of transaction {transaction}")
        self.commit(transaction, self._epoch(transaction), NO_CLAIM, lambda: None)
        self.story.remark(GROUPS, f"offset {transaction} is pending for the producer id")
        self.pending.append(transaction)

    def zombie_commits_offset(self) -> None:
        """TxnOffsetCommit of an instance before, whose epoch the partition has left behind.

        Raises:
            Diverged: the log takes it.
        """
        try:
            self.story.say(ZOMBIE, GROUPS, "TxnOffsetCommit of epoch 0")
            self.commit(ZOMBIES_OFFSET, Epoch(0), NO_CLAIM, lambda: None)
        except Refusal as refusal:
            self.story.say(GROUPS, ZOMBIE, refusal.code.name, refuses=True)
            if not self.groups.shards.of_group(GROUP).offsets.is_unstable(OffsetKey(GROUP, INPUT)):
                self.story.remark(GROUPS, "has nothing pending for the producer id any more")
            return
        raise Diverged("the log takes the commit of the fenced instance")

    def coordinator_writes_marker(self, outcome: int) -> None:
        """The marker of the open transaction; under version 2 with the bumped epoch."""
        self.outcomes.append(bool(outcome))
        version = self.profile.transaction_version
        epoch = self._epoch(len(self.outcomes))
        marker = TxnMarker(PRODUCER, epoch, bool(outcome), CoordinatorEpoch(0), version)
        kind = "COMMIT" if marker.committed else "ABORT"
        self.story.say(CLIENT, COORDINATOR, f"EndTxn of transaction {len(self.outcomes) - 1}: {kind}")
        self.story.say(COORDINATOR, GROUPS, f"marker {kind}")
        self.groups.write_marker(0, marker, MARKERS_VERSION)
        self.story.say(GROUPS, COORDINATOR, f"written; the offset is {self._reported()}")

    def group_coordinator_catches_up(self) -> None:
        """The coordinator comes to the markers that it has answered."""
        if not self.groups.decided:
            raise Diverged(f"no marker waits: it was answered when it had done its work, and {self.instead()}")
        self.groups.take_over_decided()
        self.story.remark(GROUPS, f"applies the marker to all that is pending; the offset is {self._reported()}")

    def broken(self) -> GhostViolation | None:
        """The group's offset is of a transaction that is not committed, or the offset of one that is has gone."""
        offset = self._reported()
        committed = {number for number, outcome in enumerate(self.outcomes) if outcome}
        if offset >= 0 and offset not in committed:
            text = f"the group's offset is that of transaction {offset}, which is undecided"
            return GhostViolation(rules.OFFSETS_ATOMIC, text)
        newest = max(committed, default=-1)
        if offset < newest and not self.groups.decided:
            text = f"transaction {newest} is committed, and the group's offset is {offset}: its own is gone"
            return GhostViolation(rules.OFFSETS_ATOMIC, text)
        return None

    def instead(self) -> str:
        """The offset that is returned."""
        return f"the group's offset is that of transaction {self._reported()}"

    def _reported(self) -> int:
        return self.groups.fetch_offsets(GROUP, (INPUT,), False)[INPUT].offset

    def _epoch(self, transaction: int) -> Epoch:
        """The producer's epoch, above that of an instance before; under version 2 each transaction has its own."""
        return Epoch(1 + (transaction if self.profile.transaction_version >= BUMPS_EPOCH else 0))


class MembershipWorld(_Group):
    """A group of one member, which joins again and again."""

    cast = (*MEMBERS, GROUPS, COORDINATOR)

    def __init__(self, profile: Profile) -> None:
        """The first generation is stable."""
        super().__init__(profile)
        self.member_id = ""
        self.generation = 0
        self._rebalance()
        self.asking: set[int] = set()
        self.meanwhile: list[Callable[[], None]] = []
        self.written_when_past: list[int] = []

    @property
    def acts(self) -> Mapping[str, Callable[..., None]]:
        """What each action does; a commit is handed over as a whole when it is to be written."""
        return {
            "member_commits": self.member_commits,
            "coordinator_confirms": lambda _: self.story.say(COORDINATOR, GROUPS, "yes"),
            "group_rebalances": self.group_rebalances,
            "offsets_are_written": self.offsets_are_written,
        }

    def member_commits(self, generation: int) -> None:
        """TxnOffsetCommit arrives, and its transaction is verified."""
        self.asking.add(generation)
        self.story.say(MEMBERS[generation], GROUPS, f"TxnOffsetCommit, generation {generation}")
        self.story.say(GROUPS, COORDINATOR, "is the offsets partition in the transaction?")

    def group_rebalances(self) -> None:
        """The next generation; while a commit waits for its coordinator, it begins in between."""
        self.story.remark(GROUPS, "rebalances")
        if self.asking:
            self.meanwhile.append(self._rebalance)
        else:
            self._rebalance()

    def offsets_are_written(self, generation: int) -> None:
        """TxnOffsetCommit of a generation, and all that happened while it waited."""
        meanwhile, self.meanwhile = self.meanwhile, []

        def happens() -> None:
            for act in meanwhile:
                act()

        self.commit(generation, Epoch(0), MemberClaim(generation, self.member_id), happens)
        self.asking.discard(generation)
        text = f"writes the offsets of generation {generation}, and is at generation {self.generation}"
        self.story.remark(GROUPS, text)
        if generation < self.generation:
            self.written_when_past.append(generation)

    def broken(self) -> GhostViolation | None:
        """Offsets of a past generation are in the log."""
        if not self.written_when_past:
            return None
        past = self.written_when_past[0]
        text = f"offsets of generation {past} were written while the group was at generation {self.generation}"
        return GhostViolation(rules.OFFSETS_GENERATION_FENCE, text)

    def instead(self) -> str:
        """The generation of the group."""
        return f"the group is at generation {self.generation}"

    def _rebalance(self) -> None:
        answers: list[JoinAnswer] = []
        self.groups.join(JoinRequest(GROUP, self.member_id, must_know_id=False), answers.append)
        joined = answers[0]
        self.member_id, self.generation = joined.member_id, joined.generation
        claim = MemberClaim(joined.generation, joined.member_id)
        self.groups.sync(SyncRequest(GROUP, claim, {joined.member_id: b""}), lambda _: None)
