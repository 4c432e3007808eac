"""Counterexamples about offsets that a group commits in transactions, in the world of transactions."""

from dataclasses import replace
from typing import Final

from model_tests.bugs.script import Diverged, GhostViolation, there
from model_tests.bugs.scripted_clients import ID, SHAPE, ScriptedClients
from model_tests.scenarios.transaction_stage import GROUPS
from reference.broker.group_coordinator import GroupCoordinator
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
from reference.broker.transaction_metadata import BUMPS_EPOCH
from reference.client.coordinator_channel import AddOffsets, TxnOffsetCommit
from reference.recording.recorder import Fate
from reference.world.messages import Request
from spec import rules
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode, Offset

GROUP: Final = "readers"
MEMBER: Final = "member"
FENCED: Final = 0
PRODUCER: Final = 1
"""The clients of the transactional id, one after the other."""

OFFSET_OF_FENCED: Final = 9
"""No other client's offsets reach so far."""


class CommitsOffsets(ScriptedClients):
    """Clients that commit the offset of partition 0 in their transactions."""

    @property
    def cast(self) -> tuple[str, ...]:
        """Clients, coordinators, partitions, and the coordinator of the group."""
        return (*super().cast, GROUPS)

    @property
    def groups(self) -> GroupCoordinator:
        """The group's coordinator."""
        return self.brokers.nodes[self.brokers.group_leaders[0]].groups

    def begins_to_commit(self, client: int, producer: ProducerIdentity, transaction: int = ABSENT) -> None:
        """The offsets partition joins the transaction; under version 2 the group's coordinator adds it later."""
        if self.profile.transaction_version < BUMPS_EPOCH:
            request = AddOffsets(self.versions.add_offsets, ID, producer, GROUP, {})
            self.succeeds(self.ask(client, request, transaction))

    def commits(
        self,
        client: int,
        producer: ProducerIdentity,
        offset: int,
        claim: MemberClaim = NO_CLAIM,
        transaction: int = ABSENT,
    ) -> Request:
        """A client sends TxnOffsetCommit.

        Args:
            client: by its number.
            producer: the identity in the request.
            offset: that is committed.
            claim: which member of which generation asks.
            transaction: the client's, by its number.
        """
        offsets = {self.names[0]: OffsetAndMetadata(Offset(offset))}
        request = TxnOffsetCommit(self.versions.txn_offset_commit, ID, producer, GROUP, offsets, claim)
        return self.ask(client, request, transaction)


class OffsetsScript(CommitsOffsets):
    """Transactions of one producer, one after the other, each with its number as offset."""

    def __init__(self, profile: Profile) -> None:
        """The producer has fenced an instance before; no transaction."""
        super().__init__(profile, ("its fenced instance", "producer"))
        with self.story.offstage():
            self.fenced = self.succeeds(self.asks_for_identity(FENCED))
            self.producer = self.succeeds(self.asks_for_identity(PRODUCER))
        self.outcomes: list[bool] = []

    def producer_commits_offset(self) -> None:
        """TxnOffsetCommit of the transaction that is open."""
        number = len(self.outcomes)
        self.begins_to_commit(PRODUCER, self.producer, number)
        self.succeeds(self.commits(PRODUCER, self.producer, number, transaction=number))

    def zombie_commits_offset(self) -> None:
        """TxnOffsetCommit of the fenced instance.

        Raises:
            Diverged: it is not refused.
        """
        request = self.commits(FENCED, self.fenced, OFFSET_OF_FENCED)
        if self.is_answered(request).error is ErrorCode.NONE:
            raise Diverged("the log takes the commit of the fenced instance")
        if not self.groups.shards.of_group(GROUP).offsets.is_unstable(self._key):
            self.story.remark(GROUPS, "has nothing pending for the producer id any more")

    def coordinator_writes_marker(self, outcome: int) -> None:
        """The open transaction ends, and its marker is written to the offsets partition and answered."""
        number, commit = len(self.outcomes), bool(outcome)
        following = self.succeeds(self.asks_to_end(PRODUCER, self.producer, commit=commit, transaction=number))
        if self.profile.transaction_version >= BUMPS_EPOCH:
            self.producer = following
        self.coordinator_sends_markers(self.coordinating)
        marker = self.markers()[-1]
        self.arrives(marker)
        self.accepted(marker, self.answer(marker))
        self.answers_to_markers_arrive()
        self.outcomes.append(commit)

    def group_coordinator_catches_up(self) -> None:
        """The group's coordinator comes to the markers that it has answered.

        Raises:
            Diverged: it has answered none that it has not applied.
        """
        if not self.groups.decided:
            raise Diverged(f"no marker waits: it was answered when it had done its work, and {self.instead()}")
        self.groups_apply_markers(self.brokers.group_leaders[0])
        self.story.remark(GROUPS, self.instead())

    def broken(self) -> GhostViolation | None:
        """The group's offset is of a transaction that is not committed, or the offset of one that is has gone."""
        offset = self._committed()
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
        """The group's offset."""
        offset = self._committed()
        return f"the group's offset is that of transaction {offset}" if offset >= 0 else "the group has no offset"

    @property
    def _key(self) -> OffsetKey:
        return OffsetKey(GROUP, self.names[0])

    def _committed(self) -> int:
        recorded = self.groups.shards.of_group(GROUP).offsets.committed.get(self._key)
        return ABSENT if recorded is None else recorded.value.offset


class MembershipScript(CommitsOffsets):
    """A group of one member, which joins again and again, and commits offsets in one transaction."""

    def __init__(self, profile: Profile) -> None:
        """The first generation is stable."""
        super().__init__(profile, (MEMBER,), replace(SHAPE, initial_delay_ms=0))
        self.claim = NO_CLAIM
        self.sent: dict[int, Request] = {}
        self.written: dict[int, int] = {}
        with self.story.offstage():
            self.producer = self.succeeds(self.asks_for_identity(0))
            self.begins_to_commit(0, self.producer)
            self.group_rebalances()

    def member_commits(self, generation: int) -> None:
        """TxnOffsetCommit of a generation arrives; it waits for the transaction's coordinator if that must be asked.

        Raises:
            Diverged: it is refused at once.
        """
        claim = self.claim._replace(generation=generation)
        self.sent[generation] = request = self.commits(0, self.producer, generation, claim)
        self._annotate(Fate.ARRIVED, request)
        self.arrives(request)
        self._note_written(generation)

    def coordinator_confirms(self, generation: int) -> None:
        """The transaction's coordinator says yes, if it is asked.

        Raises:
            Diverged: it is asked about another commit, or says no.
        """
        if generation not in self.written:
            question = self.question_about(self.sent[generation])
            self.coordinator_agrees(there(question, "the commit waits for the one before"))

    def group_rebalances(self) -> None:
        """The member joins again, and assigns: the next generation begins."""
        joined: list[JoinAnswer] = []
        self.groups.join(JoinRequest(GROUP, self.claim.member_id, must_know_id=False), joined.append)
        self.claim = MemberClaim(joined[0].generation, joined[0].member_id)
        self.groups.sync(SyncRequest(GROUP, self.claim, {self.claim.member_id: b""}), lambda _: None)
        self.story.remark(GROUPS, f"rebalances: {self.instead()}")

    def offsets_are_written(self, generation: int) -> None:
        """The group's coordinator has the consent, and the member gets the answer.

        Raises:
            Diverged: the offsets are refused.
        """
        self.consents_arrive()
        self._note_written(generation)
        self.answer_arrives(self.sent[generation])

    def _note_written(self, generation: int) -> None:
        """At which generation the group was when the offsets of a generation were written, if they are by now."""
        request = self.sent[generation]
        if self.answers(request) and generation not in self.written:
            self.accepted(request, self.answer(request))
            self.written[generation] = self.claim.generation
            self.story.remark(GROUPS, f"writes the offsets of generation {generation}")

    def broken(self) -> GhostViolation | None:
        """Offsets of a past generation are in the log."""
        for generation, now in self.written.items():
            if generation < now:
                text = f"offsets of generation {generation} were written while the group was at generation {now}"
                return GhostViolation(rules.OFFSETS_GENERATION_FENCE, text)
        return None

    def instead(self) -> str:
        """The generation of the group."""
        return f"the group is at generation {self.claim.generation}"
