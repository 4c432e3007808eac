"""The Produce request at its broker: what is checked before the log, and the answer (KafkaApis, ReplicaManager)."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from reference.broker.coordinator_errors import InvalidProducerIdMapping
from reference.errors import (
    Disconnected,
    InvalidRecord,
    InvalidRequest,
    InvalidRequiredAcks,
    NotEnoughReplicas,
    Refusal,
    TransactionalIdAuthorizationFailed,
    UnknownTopicOrPartition,
)
from reference.log.batch import RecordBatch
from reference.log.partition import AppendResult, Partition
from reference.log.producer_entry import NO_GUARD
from spec.versions import Profile
from spec.vocabulary import ABSENT, NO_OFFSET, NO_TIMESTAMP, ErrorCode, Offset, Origin, Timestamp

ACKS: Final = (-1, 0, 1)
LOG_START_SINCE: Final = 5
"""First version of Produce whose answer has the log start offset."""


NO_GUARDS: Final[Mapping[int, int]] = MappingProxyType({})
"""No partition has been verified."""


class ProduceRequest(NamedTuple):
    """A Produce: batches per partition number; guards as the verification of the partitions gave them."""

    batches: Mapping[int, tuple[RecordBatch, ...]]
    transactional_id: str | None = None
    acks: int = -1
    version: int = 11
    guards: Mapping[int, int] = NO_GUARDS

    @property
    def is_transactional(self) -> bool:
        """Whether a partition's first batch is transactional."""
        return any(batches[0].is_transactional for batches in self.batches.values() if batches)


class PartitionAnswer(NamedTuple):
    """The answer for one partition.

    Attributes:
        error: Kafka's error code.
        base_offset: of the first record, -1 if refused.
        log_append_time: -1, or the cached timestamp of a duplicate.
        log_start: log start offset; -1 if refused before the log, and before version 5.
        last_offset: of the last record, -1 if refused; acks=all waits for it (not on the wire).
        duplicate: the answer came from the cache (not on the wire).
        refusal: why it was refused (not on the wire).
    """

    error: ErrorCode
    base_offset: Offset = NO_OFFSET
    log_append_time: Timestamp = NO_TIMESTAMP
    log_start: Offset = NO_OFFSET
    last_offset: Offset = NO_OFFSET
    duplicate: bool = False
    refusal: Refusal | None = None


Verify = Callable[[str, int, RecordBatch], int]
"""Asks the coordinator about (transactional id, partition, batch): the guard of the append, or a refusal."""


def handle_produce(
    profile: Profile,
    partitions: Mapping[int, Partition],
    request: ProduceRequest,
    verify: Verify | None = None,
    min_insync: int = 1,
    insync: int = 1,
) -> dict[int, PartitionAnswer]:
    """Answer a Produce, partition by partition (acks=0 gets no answer on the wire, but has one here).

    Args:
        profile: of the broker.
        partitions: those that exist, by number.
        request: what the client sent.
        verify: asks the coordinator where the request brings no guard; none where no coordinator can be asked.
        min_insync: min.insync.replicas.
        insync: replicas in sync, the leader among them.
    """
    whole = {
        number: batches for number, batches in request.batches.items() if number in partitions and len(batches) == 1
    }
    try:
        check_readable(profile, request)
        check_transactional_id(request)
        check_one_producer(profile, request._replace(batches=whole))
    except Refusal as refusal:
        return {number: refused(refusal) for number in request.batches}
    return {
        number: produce_to(profile, partitions.get(number), number, request, verify, insync >= min_insync)
        for number in request.batches
    }


def produce_to(
    profile: Profile,
    partition: Partition | None,
    number: int,
    request: ProduceRequest,
    verify: Verify | None,
    enough_insync: bool,
) -> PartitionAnswer:
    """One partition's part of a Produce.

    Args:
        profile: of the broker.
        partition: its replica here, None if there is none.
        number: which of the request's partitions it is.
        request: the whole of it.
        verify: asks the coordinator for a guard; None if the request brings its guards.
        enough_insync: whether at least `min.insync.replicas` are in sync.
    """
    batches = request.batches[number]
    try:
        if partition is None:
            raise UnknownTopicOrPartition(partition=number)
        check_one_batch(batches)
        if not profile.verified_before_acks:
            check_acks(request.acks)
        guard = verified_guard(number, request, verify)
        check_acks(request.acks)
        partition.check_leads()
        check_insync(request, enough_insync)
    except Refusal as refusal:
        return refused(refusal)
    try:
        return answered(partition.append(batches[0], Origin.CLIENT, guard), request.version)
    except Refusal as refusal:
        return refused(refusal, shown_log_start(partition.log_start, request.version))


def check_readable(profile: Profile, request: ProduceRequest) -> None:
    """Before 2.4 a broker counts batches while it reads the request, and closes the connection.

    Raises:
        Disconnected: a partition has several batches, or none.
    """
    try:
        for batches in request.batches.values():
            check_one_batch(batches)
    except InvalidRecord as refusal:
        if not profile.invalid_record_has_code:
            raise Disconnected(refusal.rule, **refusal.values) from refusal


def check_acks(acks: int) -> None:
    """Check that acks is 0, 1 or all.

    Raises:
        InvalidRequiredAcks: it is another number.
    """
    if acks not in ACKS:
        raise InvalidRequiredAcks(acks=acks)


def check_transactional_id(request: ProduceRequest) -> None:
    """Check that transactional records come with a transactional id.

    Raises:
        TransactionalIdAuthorizationFailed: the id is absent.
    """
    if request.transactional_id is None and request.is_transactional:
        raise TransactionalIdAuthorizationFailed(transactional_id=None)


def check_one_producer(profile: Profile, request: ProduceRequest) -> None:
    """Check that one request has the transaction of one producer.

    Before 3.8 a broker that verifies partitions compares ids, once acks are known (ReplicaManager.appendRecords). Since
    then every broker compares epochs, too, whatever the acks (ReplicaManager.handleProduceAppend).

    Args:
        profile: of the broker.
        request: without partitions that do not exist, or have not one batch.

    Raises:
        InvalidProducerIdMapping: there are several.
    """
    if not profile.verified_before_acks and (not profile.partition_verification or request.acks not in ACKS):
        return
    producers = {
        (batch.producer_id, batch.producer_epoch if profile.verified_before_acks else ABSENT)
        for batches in request.batches.values()
        for batch in batches
        if batch.is_transactional and batch.producer_id != ABSENT
    }
    if len(producers) > 1:
        raise InvalidProducerIdMapping(producers=len(producers))


def check_one_batch(batches: tuple[RecordBatch, ...]) -> None:
    """Check that a Produce carries exactly one batch for a partition.

    Raises:
        InvalidRecord: there are several, or none.
    """
    if len(batches) != 1:
        raise InvalidRecord(batches=len(batches))


def check_insync(request: ProduceRequest, enough_insync: bool) -> None:
    """Check that acks=all has min.insync.replicas in sync.

    Raises:
        NotEnoughReplicas: fewer are in sync; nothing is appended.
    """
    if request.acks == -1 and not enough_insync:
        raise NotEnoughReplicas(acks=request.acks)


def verified_guard(number: int, request: ProduceRequest, verify: Verify | None) -> int:
    """The guard for the partition: given with the request, or by the coordinator that `verify` asks.

    Raises:
        InvalidRequest: the transactional id is empty.
        Refusal: the coordinator refuses.
    """
    batch = request.batches[number][0]
    if not batch.is_transactional or batch.producer_id == ABSENT or request.transactional_id is None:
        return NO_GUARD
    if verify is not None and number not in request.guards:
        return verify(request.transactional_id, number, batch)
    if request.transactional_id == "":
        raise InvalidRequest(transactional_id="")
    return request.guards.get(number, NO_GUARD)


def answered(result: AppendResult, version: int) -> PartitionAnswer:
    """The answer to an accepted append or a duplicate."""
    return PartitionAnswer(
        ErrorCode.NONE,
        result.first_offset,
        result.log_append_time,
        shown_log_start(result.log_start, version),
        result.last_offset,
        result.duplicate,
    )


def refused(refusal: Refusal, log_start: Offset = NO_OFFSET) -> PartitionAnswer:
    """The answer to a refused append; the refusal in it keeps no reference to stack frames."""
    return PartitionAnswer(refusal.code, log_start=log_start, refusal=refusal.with_traceback(None))


def shown_log_start(log_start: Offset, version: int) -> Offset:
    """The log start offset, in versions of the answer that have it."""
    return log_start if version >= LOG_START_SINCE else NO_OFFSET
