"""Requests and answers of transactions in words, with their senders and receivers."""

from collections.abc import Mapping
from typing import Final

from reference.broker.marker_channel import TxnMarker
from reference.broker.transaction_api import OFFSETS_TOPIC
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import CoordinatorAnswer
from reference.client.coordinator_requests import (
    AddOffsets,
    AddPartitions,
    CoordinatorRequest,
    EndTxn,
    FindCoordinator,
    TxnOffsetCommit,
)
from reference.client.producer import AttemptReply
from reference.log.record import Record
from reference.world.messages import Answer, Body, CoordinatorCall, MarkerAnswer, Produce, Verified, Verify, WriteMarker
from spec.vocabulary import NO_PRODUCER_ID, Api, ErrorCode

GROUPS: Final = "group coordinator"
OUTCOMES: Final = {True: "commit", False: "abort"}

Names = Mapping[bytes, str]
"""What the story calls the values of records."""


def coordinator(node: int) -> str:
    """Name of a node's transaction coordinator."""
    return f"coordinator {node}"


def partition_name(partition: TopicPartition) -> str:
    """Name of a partition; that of `__consumer_offsets` is its coordinator's."""
    return GROUPS if partition.topic == OFFSETS_TOPIC else f"{partition.topic}-{partition.partition}"


def receiver_of(body: Body, node: int) -> str:
    """Who a request goes to."""
    match body:
        case Produce(partition=partition) | WriteMarker(partition=partition):
            return partition_name(partition)
        case CoordinatorCall(request=TxnOffsetCommit()):
            return GROUPS
        case _:
            return coordinator(node)


def is_reported(body: Body) -> bool:
    """Whether a request belongs to the story: who coordinates and what brokers ask one another does not."""
    return not isinstance(body, Verify) and not (
        isinstance(body, CoordinatorCall) and isinstance(body.request, FindCoordinator)
    )


def request_words(body: Body, names: Names) -> str:
    """A request."""
    match body:
        case CoordinatorCall(request=request):
            return coordinator_request_words(request)
        case Produce(attempt=attempt):
            batch = attempt.records
            values = ", ".join(called(record, names) for record in batch.records())
            return f"Produce {values}: epoch {batch.producer_epoch}, sequence {batch.base_sequence}"
        case WriteMarker(marker=marker):
            return marker_words(marker)
        case Verify():
            return Api.ADD_PARTITIONS_TO_TXN


def coordinator_request_words(request: CoordinatorRequest) -> str:
    """A client's request to a coordinator: its name, and what it is about."""
    return f"{request.API} {_details(request)}".rstrip()


def _details(request: CoordinatorRequest) -> str:
    match request:
        case FindCoordinator(key=key):
            return key
        case AddPartitions(partitions=partitions):
            return ", ".join(map(partition_name, partitions))
        case AddOffsets(group=group):
            return group
        case TxnOffsetCommit(offsets=offsets):
            return ", ".join(f"{partition_name(partition)} up to {each.offset}" for partition, each in offsets.items())
        case EndTxn(producer=producer, commit=commit):
            return f"{OUTCOMES[commit]}: epoch {producer.epoch}"
        case _:
            return ""


def marker_words(marker: TxnMarker) -> str:
    """A marker."""
    return f"{OUTCOMES[marker.committed].upper()} marker: epoch {marker.epoch}"


def answer_words(answer: Answer) -> str:
    """An answer."""
    match answer:
        case AttemptReply(error=ErrorCode.NONE, offset=offset):
            return f"offset {offset}"
        case CoordinatorAnswer(identity=identity) if identity.producer_id != NO_PRODUCER_ID:
            return f"producer id {identity.producer_id}, epoch {identity.epoch}"
        case _:
            error = error_of(answer)
            return "done" if error is ErrorCode.NONE else error.name


def error_of(answer: Answer) -> ErrorCode:
    """The error in an answer, NONE if it has none."""
    match answer:
        case CoordinatorAnswer(error=error, partitions=partitions):
            return next((each for each in (error, *partitions.values()) if each is not ErrorCode.NONE), error)
        case AttemptReply(error=error) | MarkerAnswer(error=error):
            return error
        case Verified(answers=answers, refusal=refusal):
            refused = (each for each in (refusal, *answers.values()) if each is not None)
            return next((each.code for each in refused), ErrorCode.NONE)


def called(record: Record, names: Names) -> str:
    """What the story calls a record."""
    value = record.value or b""
    return names.get(value, value.decode())
