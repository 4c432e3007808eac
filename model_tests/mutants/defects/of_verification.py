"""Defects of verification, and of offsets in transactions: batches let in unverified, offsets that count too early."""

from typing import Final

from model_tests.mutants.defects.planted import defect
from reference.broker import group_coordinator, group_offsets
from reference.broker.group_coordinator import GroupCoordinator, TransactionalCommit
from reference.broker.group_metadata import ClassicGroup
from reference.broker.group_offsets import GroupOffsets, RecordedOffset
from reference.broker.group_record import OffsetKey
from reference.broker.group_requests import MemberClaim
from reference.broker.group_shards import Shard
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_metadata import TopicPartition
from reference.errors import Refusal
from reference.log.batch import RecordBatch
from reference.log.partition import Partition
from reference.log.producer_state import ProducerState
from reference.world import handling
from reference.world.handling import Handling
from reference.world.messages import Verify
from reference.world.node import ParkedRequest
from spec import rules
from spec.versions import Profile
from spec.vocabulary import ErrorCode, Origin, ProducerId

_go_on = Handling._go_on
_complete = GroupOffsets.complete
_pend = GroupOffsets.pend
_check_commit = group_offsets.check_commit


def needs_no_guard(partition: Partition, batch: RecordBatch, origin: Origin) -> bool:
    """The append does not ask whether it was verified."""
    return False


def any_guard(state: ProducerState, producer_id: ProducerId, guard: int) -> bool:
    """Whatever guard is shown counts (KAFKA-14884)."""
    return True


def keep_verification(state: ProducerState, batch: RecordBatch) -> None:
    """A marker leaves the verification of its own transaction alone (KAFKA-14884)."""
    if not batch.is_control:
        state.verifications.pop(batch.producer_id, None)


def ongoing_in_any_epoch(state: ProducerState, producer_id: ProducerId, epoch: object) -> bool:
    """The transaction before counts as the present one (KAFKA-18575)."""
    return bool(state.entry(producer_id).in_transaction)


def verify_everything(
    coordinator: TransactionCoordinator, transactional_id: str, producer: object, partitions: tuple[TopicPartition, ...]
) -> dict[TopicPartition, ErrorCode]:
    """Every partition is said to be in the transaction."""
    return dict.fromkeys(partitions, ErrorCode.NONE)


def accept_every_verification(coordinator: TransactionCoordinator, requested: Verify) -> None:
    """Nothing is verified, and nothing is added."""


def go_on_regardless(handler: Handling, parked: ParkedRequest, refusal: Refusal | None) -> None:
    """A refused verification lets the append pass."""
    _go_on(handler, parked, None)


def complete_the_first(offsets: GroupOffsets, producer_id: ProducerId, committed: bool) -> None:
    """Offsets of an aborted transaction count."""
    _complete(offsets, producer_id, True)


def complete_nothing(offsets: GroupOffsets, producer_id: ProducerId, committed: bool) -> None:
    """A commit does not reach the offsets."""
    _complete(offsets, producer_id, False)


def pend_at_once(offsets: GroupOffsets, producer_id: ProducerId, key: OffsetKey, recorded: RecordedOffset) -> None:
    """Offsets count before their transaction is decided."""
    _pend(offsets, producer_id, key, recorded)
    offsets.commit(key, recorded)


def never_unstable(offsets: GroupOffsets, key: OffsetKey) -> bool:
    """No open transaction is waited for."""
    return False


def never_overtaken(offsets: GroupOffsets, key: OffsetKey, recorded: RecordedOffset) -> bool:
    """A transaction's offset wins over a later one."""
    return False


def anybody_commits(group: ClassicGroup, claim: MemberClaim, transactional: bool, profile: Profile) -> None:
    """Past members commit in transactions."""
    if not transactional:
        _check_commit(group, claim, transactional, profile)


def check_before_asking(coordinator: GroupCoordinator, shard: Shard, requested: TransactionalCommit) -> None:
    """The group is not checked once the verification is answered (KAFKA-15784)."""
    shard.create(requested.group)


OF_VERIFICATION: Final = (
    defect("the append asks for no guard", rules.TXN_REGISTERED_BEFORE_DATA, Partition, "needs_guard", needs_no_guard),
    defect(
        "any guard will do (KAFKA-14884)", rules.TXN_REGISTERED_BEFORE_DATA, ProducerState, "is_verified", any_guard
    ),
    defect(
        "a marker leaves the guard in place (KAFKA-14884)",
        rules.TXN_REGISTERED_BEFORE_DATA,
        ProducerState,
        "clear_verification",
        keep_verification,
    ),
    defect(
        "the transaction before counts as the present one (KAFKA-18575)",
        rules.TXN_REGISTERED_BEFORE_DATA,
        ProducerState,
        "is_ongoing",
        ongoing_in_any_epoch,
    ),
    defect(
        "every partition is verified",
        rules.TXN_REGISTERED_BEFORE_DATA,
        TransactionCoordinator,
        "verify_partitions",
        verify_everything,
    ),
    defect("nobody is asked", rules.TXN_REGISTERED_BEFORE_DATA, handling, "agree", accept_every_verification),
    defect(
        "a refused verification lets the append go on",
        rules.TXN_REGISTERED_BEFORE_DATA,
        Handling,
        "_go_on",
        go_on_regardless,
    ),
    defect("aborted offsets are committed", rules.OFFSETS_ATOMIC, GroupOffsets, "complete", complete_the_first),
    defect("committed offsets are dropped", rules.OFFSETS_ATOMIC, GroupOffsets, "complete", complete_nothing),
    defect("pending offsets count", rules.OFFSETS_ATOMIC, GroupOffsets, "pend", pend_at_once),
    defect(
        "a late transaction wins over a later offset",
        rules.OFFSETS_ATOMIC,
        GroupOffsets,
        "is_overtaken",
        never_overtaken,
    ),
    defect("pending offsets are returned", rules.OFFSETS_STABLE_FETCH, GroupOffsets, "is_unstable", never_unstable),
    defect(
        "past members commit in transactions",
        rules.OFFSETS_GENERATION_FENCE,
        group_coordinator,
        "check_commit",
        anybody_commits,
    ),
    defect(
        "the group is not looked at after the verification (KAFKA-15784)",
        rules.OFFSETS_GENERATION_FENCE,
        GroupCoordinator,
        "_check_transactional",
        check_before_asking,
    ),
)
"""Mutants of verification and of offsets in transactions."""
