"""Requests and answers under way as rows, for annotations of what becomes of them."""

from collections.abc import Iterator

from reference.broker.group_api import OffsetsAnswer
from reference.broker.group_requests import FetchedOffset, JoinAnswer, JoinRequest, SyncAnswer, SyncRequest
from reference.client.assignment import decode_assignment
from reference.client.coordinator_channel import CoordinatorAnswer, CoordinatorRequest, FindCoordinator, TxnOffsetCommit
from reference.client.group_exchange import (
    GroupAnswer,
    GroupRequest,
    Heartbeat,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
    error_of,
)
from reference.client.producer import AttemptReply
from reference.errors import Refusal
from reference.recording.recorder import ASSIGNMENTS, GROUP_LEADER, Row, batch_columns, reply_columns
from reference.world.coordinator_rows import answer_columns, request_columns, touched_by, verify_columns
from reference.world.group_rows import claim_columns, commit_columns, fetch_columns
from reference.world.messages import (
    Answer,
    Body,
    CoordinatorCall,
    MarkerAnswer,
    Produce,
    Request,
    Verified,
    Verify,
    WriteMarker,
)
from reference.world.replica_rows import node_name
from reference.world.steps import transaction_of, who
from spec.vocabulary import Api, ErrorCode, Origin, Timestamp

# --- producers and brokers --------------------------------------------------------------------------------------------


def api_of(body: Body) -> str:
    """The name of a request."""
    match body:
        case Produce():
            return Api.PRODUCE
        case WriteMarker():
            return Api.WRITE_TXN_MARKERS
        case Verify():
            return Api.ADD_PARTITIONS_TO_TXN
        case CoordinatorCall(request=request):
            return request.API


def exchange_rows(request: Request, answer: Answer | None, offsets_partitions: int) -> Iterator[Row]:
    """From whom to whom a request goes, what it asks for, and its answer: a row, or one for each offset of a group.

    Args:
        request: under way.
        answer: to it, None where there is none.
        offsets_partitions: of `__consumer_offsets`.
    """
    exchange: Row = {"node": node_name(request.node), **who(request), **transaction_of(request.body)}
    exchange |= {} if answer is None else _reply_of(answer)
    match request.body:
        case CoordinatorCall(request=TxnOffsetCommit() as committed):
            errors = answer.partitions if isinstance(answer, CoordinatorAnswer) else {}
            for partition in committed.offsets:
                reported: Row = {"error": int(errors[partition])} if partition in errors else {}
                yield exchange | commit_columns(committed, partition) | reported
        case body:
            yield exchange | _asked(body, offsets_partitions)


def _asked(body: Body, offsets_partitions: int) -> Row:
    match body:
        case Produce(partition=partition):
            batch = batch_columns(body.attempt.records) | {"origin": int(Origin.CLIENT), **body.made_by._asdict()}
            return batch | {"topic": partition.topic, "partition": partition.partition}
        case WriteMarker(partition=partition, marker=marker):
            batch = batch_columns(marker.batch(Timestamp(0))) | {"origin": int(Origin.COORDINATOR)}
            return batch | {"topic": partition.topic, "partition": partition.partition}
        case Verify():
            return verify_columns(body)
        case CoordinatorCall(request=request):
            return _asked_of_coordinator(request, offsets_partitions)


def _asked_of_coordinator(request: CoordinatorRequest, offsets_partitions: int) -> Row:
    if isinstance(request, FindCoordinator | TxnOffsetCommit):
        return {"transactional_id": request.key if isinstance(request, FindCoordinator) else request.transactional_id}
    return request_columns(request, touched_by(request, offsets_partitions))


def _reply_of(answer: Answer) -> Row:
    """The columns of REPLY of an answer; of several errors the first."""
    match answer:
        case AttemptReply(error=error, offset=offset):
            return reply_columns(error, offset)
        case CoordinatorAnswer():
            return answer_columns(answer)
        case MarkerAnswer(error=error):
            return {"error": int(error)}
        case Verified(answers=answers, refusal=refusal):
            refused: list[Refusal] = [each for each in (refusal, *answers.values()) if each is not None]
            return {"error": int(refused[0].code if refused else ErrorCode.NONE)}


# --- members of groups ------------------------------------------------------------------------------------------------


def member_rows(request: GroupRequest, answer: GroupAnswer | None = None) -> Iterator[Row]:
    """What a consumer asks its group's coordinator, and the answer: a row, or one for each partition.

    Args:
        request: under way.
        answer: to it, None where there is none.
    """
    requested = _asked_of_group(request)
    reported = requested if answer is None else requested | {"error": int(error_of(answer))}
    match request, answer:
        case OffsetCommit(offsets=offsets), errors:
            for partition, committed in offsets.items():
                one: Row = {"error": int(errors[partition])} if isinstance(errors, dict) else {}
                yield reported | partition._asdict() | {"offset": committed.offset} | one
        case OffsetFetch(group, partitions, stable), OffsetsAnswer(error, fetched):
            for partition in partitions:
                yield fetch_columns(group, partition, stable, fetched.get(partition, FetchedOffset(error)))
        case OffsetFetch(partitions=partitions), _:
            yield from (reported | partition._asdict() for partition in partitions)
        case _, JoinAnswer(member_id=member, generation=generation, leader=leader):
            yield reported | {"member": member, "generation": generation, GROUP_LEADER: leader}
        case _, SyncAnswer(ErrorCode.NONE, assignment):
            assigned = decode_assignment(assignment).partitions
            yield from (reported | partition._asdict() for partition in assigned)
            if not assigned:
                yield reported
        case _:
            yield reported


def _asked_of_group(request: GroupRequest) -> Row:
    match request:
        case FindCoordinator(key=group):
            return {"group": group}
        case OffsetFetch(group=group, require_stable=stable):
            return {"group": group, "isolation": int(stable)}
        case JoinRequest(group=group, member_id=member):
            return {"group": group, "member": member}
        case SyncRequest(group, claim, assignments):
            return {"group": group, **claim_columns(claim), ASSIGNMENTS: len(assignments)}
        case Heartbeat(group, claim) | LeaveGroup(group, claim) | OffsetCommit(group=group, claim=claim):
            return {"group": group, **claim_columns(claim)}
