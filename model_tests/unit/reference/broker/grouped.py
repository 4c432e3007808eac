"""A broker with groups and transactions, for tests: members come and go, transactions end, it crashes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import pytest

from reference.broker.end_txn import EndTransaction
from reference.broker.group_api import OffsetsVerification, TxnOffsetCommitRequest, handle_txn_offset_commit
from reference.broker.group_coordinator import GroupConfig, GroupCoordinator, TransactionalCommit
from reference.broker.group_log import OffsetsTopic
from reference.broker.group_requests import (
    NO_CLAIM,
    FetchedOffset,
    JoinAnswer,
    JoinRequest,
    MemberClaim,
    OffsetAndMetadata,
    Offsets,
    SyncAnswer,
    SyncRequest,
)
from reference.broker.ids import BlockAllocator, ProducerIdentity, ProducerIdManager
from reference.broker.marker_channel import TxnMarker
from reference.broker.transaction_api import OFFSETS_TOPIC
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_log import Skipped, TransactionLog
from reference.broker.transaction_metadata import TopicPartition
from reference.clock import Clock
from reference.errors import Refusal
from reference.log.partition import Partition
from reference.log.producer_entry import NO_GUARD
from spec.versions import KAFKA_3_9, NEWEST, Profile
from spec.vocabulary import NO_SEQUENCE, CoordinatorEpoch, Epoch, ErrorCode, Offset, ProducerId

GROUP: Final = "readers"
ID: Final = "payments"
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
PRODUCER: Final = ProducerIdentity(ProducerId(7), Epoch(5))
MARKERS_VERSION: Final = 2
CLASSIC_AND_NEW: Final = pytest.mark.parametrize("profile", [KAFKA_3_9, NEWEST], ids=["classic", "new"])


@dataclass(slots=True)
class GroupWorld:
    """One broker: group coordinator over one offsets partition, transaction coordinator, a clock that stands at 1000.

    Attributes:
        skipped: what the last load could not read.
    """

    profile: Profile = NEWEST
    clock: Clock = field(default_factory=lambda: Clock(1000))
    config: GroupConfig = field(default_factory=lambda: GroupConfig(initial_delay_ms=0, retention_ms=100_000))
    topic: OffsetsTopic = field(init=False)
    groups: GroupCoordinator = field(init=False)
    transactions: TransactionCoordinator = field(init=False)
    skipped: list[Skipped] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Elect the first coordinators."""
        self.topic = OffsetsTopic(self.profile, 1)
        producer_ids = ProducerIdManager(BlockAllocator(), self.profile)
        log = TransactionLog(self.profile, partitions=1)
        self.transactions = TransactionCoordinator(self.profile, producer_ids, log, self._send_marker, self.clock)
        self.transactions.elect(0, CoordinatorEpoch(0))
        self.crash()

    @property
    def partition(self) -> Partition:
        """The offsets partition."""
        return self.topic.partitions[0]

    def crash(self) -> None:
        """A new group coordinator reads what the old one left in the log."""
        self.groups = GroupCoordinator(self.profile, self.topic, self.clock, self.config)
        self.skipped = self.groups.elect(0)

    def _send_marker(self, partition: TopicPartition, marker: TxnMarker) -> ErrorCode:
        try:
            self.groups.write_marker(partition.partition, marker, MARKERS_VERSION)
        except Refusal as refusal:
            return refusal.code
        return ErrorCode.NONE

    # --- offsets ----------------------------------------------------------------------------------------------

    def commit(self, offset: int, claim: MemberClaim = NO_CLAIM, partition: TopicPartition = T0) -> None:
        """OffsetCommit of one offset."""
        self.groups.commit_offsets(GROUP, offsets({partition: offset}), claim)

    def pend(
        self,
        offset: int,
        claim: MemberClaim = NO_CLAIM,
        *,
        producer: ProducerIdentity = PRODUCER,
        partition: TopicPartition = T0,
        version: int = 4,
        verified: Callable[[], int] | None = None,
    ) -> None:
        """TxnOffsetCommit of one offset; the coordinator of the transaction agrees where nothing else is given."""
        request = TransactionalCommit(version, GROUP, producer, offsets({partition: offset}), claim)
        self.commit_in_transaction(request, verified)

    def commit_in_transaction(self, request: TransactionalCommit, verified: Callable[[], int] | None = None) -> None:
        """TxnOffsetCommit; the coordinator of the transaction agrees where nothing else is given."""
        self.groups.begin_commit(request)
        self.groups.finish_commit(request, verified() if verified else self.guard(request.producer))

    def guard(self, producer: ProducerIdentity = PRODUCER) -> int:
        """The guard of a producer whose transaction has been verified."""
        state = self.partition.state
        if state.is_ongoing(*producer):
            return NO_GUARD
        return state.start_verification(producer.producer_id, NO_SEQUENCE, producer.epoch, False, self.clock.now)

    def mark(self, committed: bool, epoch: int = 5, coordinator_epoch: int = 0, producer_id: int = 7) -> None:
        """WriteTxnMarkers on the offsets partition, and whatever follows from it some time later."""
        self.groups.write_marker(0, marker_of(committed, epoch, coordinator_epoch, producer_id), MARKERS_VERSION)
        self.groups.take_over_decided()

    def fetch(self, stable: bool = False, partition: TopicPartition = T0) -> FetchedOffset:
        """OffsetFetch of one offset."""
        return self.groups.fetch_offsets(GROUP, (partition,), stable)[partition]

    def committed(self, partition: TopicPartition = T0) -> int:
        """The offset that a fetch returns if it does not require a stable one."""
        return self.fetch(partition=partition).offset

    # --- whole transactions -----------------------------------------------------------------------------------

    def begin(self) -> ProducerIdentity:
        """InitProducerId and AddOffsetsToTxn."""
        producer = self.transactions.init_producer_id(ID, 60_000)
        self.transactions.add_partitions(ID, producer, (TopicPartition(OFFSETS_TOPIC, 0),))
        return producer

    def end(self, producer: ProducerIdentity, commit: bool = True, sent: bool = True) -> None:
        """EndTxn; unless they are held back, the markers follow."""
        self.transactions.end_txn(EndTransaction(ID, *producer, commit, self.profile.transaction_version))
        if sent:
            self.transactions.send_markers()
            self.groups.take_over_decided()

    def request(
        self, producer: ProducerIdentity, offset: int, version: int = 4, claim: MemberClaim = NO_CLAIM
    ) -> dict[TopicPartition, ErrorCode]:
        """TxnOffsetCommit at the broker, for a partition that exists and one that does not."""
        missing = TopicPartition("missing", 0)
        request = TxnOffsetCommitRequest(version, ID, GROUP, producer, offsets({T0: offset, missing: offset}), claim)
        verification = OffsetsVerification(
            self.profile, self.transactions, {0: self.partition}, self.topic.names(), version, self.clock.now
        )
        return handle_txn_offset_commit(self.groups, request, verification, (T0, T1))

    # --- members ----------------------------------------------------------------------------------------------

    def join(self, member_id: str = "", instance: str | None = None, *, at_once: bool = True) -> list[JoinAnswer]:
        """JoinGroup; the list has the answer once it has come."""
        answers: list[JoinAnswer] = []
        request = JoinRequest(GROUP, member_id, instance, session_timeout_ms=10_000, must_know_id=not at_once)
        self.groups.join(request, answers.append)
        return answers

    def join_named(self, group: str) -> JoinAnswer:
        """JoinGroup of any group."""
        answers: list[JoinAnswer] = []
        self.groups.join(JoinRequest(group), answers.append)
        return answers[0]

    def sync(self, joined: JoinAnswer, assignments: Mapping[str, bytes] | None = None) -> list[SyncAnswer]:
        """SyncGroup of a member that has joined."""
        answers: list[SyncAnswer] = []
        claim = MemberClaim(joined.generation, joined.member_id)
        self.groups.sync(SyncRequest(GROUP, claim, assignments or {}), answers.append)
        return answers

    def member(self, instance: str | None = None) -> MemberClaim:
        """A single member of a stable group."""
        joined = self.join(instance=instance)[0]
        self.sync(joined)
        return MemberClaim(joined.generation, joined.member_id, instance)

    def pass_time(self, milliseconds: int) -> None:
        """Let time pass."""
        self.clock.advance(milliseconds)
        self.groups.pass_time()


def offsets(requested: Mapping[TopicPartition, int]) -> Offsets:
    """Offsets without metadata."""
    return {partition: OffsetAndMetadata(Offset(offset)) for partition, offset in requested.items()}


def marker_of(committed: bool, epoch: int = 5, coordinator_epoch: int = 0, producer_id: int = 7) -> TxnMarker:
    """A marker of a producer's transaction."""
    return TxnMarker(ProducerId(producer_id), Epoch(epoch), committed, CoordinatorEpoch(coordinator_epoch))


def code_of(act: Callable[[], object]) -> ErrorCode:
    """The error that something is refused with, NONE if it is not."""
    try:
        act()
    except Refusal as refusal:
        return refusal.code
    return ErrorCode.NONE
