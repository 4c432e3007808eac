"""Counterexamples about offsets that a group commits in transactions, in their world."""

from typing import Final

from model_tests.bugs.scripted_clients import ID, ScriptedClients
from model_tests.bugs.world import Diverged, GhostViolation
from model_tests.scenarios.transaction_stage import GROUPS
from reference.broker.group_coordinator import GroupCoordinator
from reference.broker.group_record import OffsetKey
from reference.broker.group_requests import (
    NO_CLAIM,
    MemberClaim,
    OffsetAndMetadata,
)
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import BUMPS_EPOCH
from reference.client.coordinator_channel import AddOffsets, TxnOffsetCommit
from reference.world.messages import Request
from spec import rules
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode, Offset

GROUP: Final = "readers"
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
