"""Requests of consumers to their group's coordinator, and its answers, in words."""

from reference.broker.group_api import OffsetsAnswer
from reference.broker.group_requests import JoinAnswer, JoinRequest, MemberClaim, SyncAnswer, SyncRequest
from reference.client.consumer_protocol import decode_assignment
from reference.client.coordinator_requests import FindCoordinator
from reference.client.group_exchange import (
    GroupAnswer,
    GroupRequest,
    Heartbeat,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
    error_of,
)
from spec.vocabulary import NO_OFFSET, ErrorCode


def is_reported_of_group(request: GroupRequest, answer: GroupAnswer | None = None) -> bool:
    """Whether an exchange belongs to the story: heartbeats do only where they are refused."""
    if isinstance(request, FindCoordinator):
        return False
    return not isinstance(request, Heartbeat) or answer not in (None, ErrorCode.NONE)


def group_request_words(request: GroupRequest) -> str:
    """A consumer's request."""
    match request:
        case FindCoordinator(key=key):
            return f"FindCoordinator {key}"
        case JoinRequest(member_id=member_id):
            return f"JoinGroup{f' as {member_id}' if member_id else ''}"
        case SyncRequest(claim=claim, assignments=assignments):
            count = len(assignments)
            assigns = f": {count} assignment{'s' if count > 1 else ''}" if assignments else ""
            return f"SyncGroup of {claim_words(claim)}{assigns}"
        case Heartbeat(claim=claim):
            return f"Heartbeat of {claim_words(claim)}"
        case LeaveGroup(claim=claim):
            return f"LeaveGroup of {claim_words(claim)}"
        case OffsetFetch(partitions=partitions):
            return f"OffsetFetch {', '.join(f'{topic}-{number}' for topic, number in partitions)}"
        case OffsetCommit(offsets=offsets):
            reported = (f"{topic}-{number} up to {each.offset}" for (topic, number), each in offsets.items())
            return f"OffsetCommit {', '.join(reported)}"


def claim_words(claim: MemberClaim) -> str:
    """Who a request says it is from."""
    return f"{claim.member_id}, generation {claim.generation}"


def group_answer_words(answer: GroupAnswer) -> str:
    """The answer."""
    match answer:
        case JoinAnswer(error=ErrorCode.NONE, generation=generation, leader=leader, member_id=member_id):
            return f"generation {generation}{', which it leads' if leader == member_id else ''}"
        case SyncAnswer(error=ErrorCode.NONE, assignment=assignment):
            partitions = decode_assignment(assignment).partitions
            return ", ".join(f"{topic}-{number}" for topic, number in partitions) or "no partitions"
        case OffsetsAnswer(error=ErrorCode.NONE, partitions=reported):
            return ", ".join(
                f"{topic}-{number}: {offset_words(each.error, each.offset)}"
                for (topic, number), each in reported.items()
            )
        case _:
            error = error_of(answer)
            return "done" if error is ErrorCode.NONE else error.name


def offset_words(error: ErrorCode, offset: int) -> str:
    """The answer about the offset of a partition, in words."""
    if error is not ErrorCode.NONE:
        return error.name
    return "none" if offset == NO_OFFSET else str(offset)
