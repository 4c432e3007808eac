"""The reference's group coordinator, for counterexamples about generations."""

from collections.abc import Callable, Mapping
from typing import Final

from model_tests.bugs.world import GhostViolation
from model_tests.monitor.story import Story
from reference.broker.group_coordinator import GroupConfig, GroupCoordinator, TransactionalCommit
from reference.broker.group_log import OffsetsTopic
from reference.broker.group_requests import (
    JoinAnswer,
    JoinRequest,
    MemberClaim,
    OffsetAndMetadata,
    SyncRequest,
)
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TopicPartition
from reference.clock import Clock
from reference.log.producer_entry import NO_GUARD
from reference.recording.recorder import Recorder
from spec import rules
from spec.versions import Profile
from spec.vocabulary import NO_SEQUENCE, Epoch, Offset, ProducerId

GROUP: Final = "readers"
INPUT: Final = TopicPartition("orders", 0)
PRODUCER: Final = ProducerId(7)  # any producer id

COMMIT_VERSION: Final = 3
"""TxnOffsetCommit has fenced members since version 3."""

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
