"""A consumer's requests to its group's coordinator, and the meaning of each error in the answers: one table.

Sources: AbstractCoordinator and ConsumerCoordinator with their response handlers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum, auto, unique
from types import MappingProxyType
from typing import ClassVar, Final, NamedTuple, TypeAlias

from reference.broker.group_api import Answers, OffsetsAnswer
from reference.broker.group_requests import JoinAnswer, JoinRequest, MemberClaim, Offsets, SyncAnswer, SyncRequest
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import CoordinatorAnswer, FindCoordinator
from spec.vocabulary import Api, ErrorCode


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A member lives."""

    API: ClassVar[str] = Api.HEARTBEAT

    group: str
    claim: MemberClaim


@dataclass(frozen=True, slots=True)
class LeaveGroup:
    """A member goes."""

    API: ClassVar[str] = Api.LEAVE_GROUP

    group: str
    claim: MemberClaim


@dataclass(frozen=True, slots=True)
class OffsetCommit:
    """Offsets of a group, outside of any transaction."""

    API: ClassVar[str] = Api.OFFSET_COMMIT

    group: str
    claim: MemberClaim
    offsets: Offsets


@dataclass(frozen=True, slots=True)
class OffsetFetch:
    """The question up to where a group has read."""

    API: ClassVar[str] = Api.OFFSET_FETCH

    group: str
    partitions: tuple[TopicPartition, ...]
    require_stable: bool


GroupRequest: TypeAlias = (
    FindCoordinator | JoinRequest | SyncRequest | Heartbeat | LeaveGroup | OffsetCommit | OffsetFetch
)
GroupAnswer: TypeAlias = CoordinatorAnswer | JoinAnswer | SyncAnswer | ErrorCode | Answers | OffsetsAnswer
"""A bare error answers Heartbeat and LeaveGroup, one for each partition answers OffsetCommit."""


class GroupOutgoing(NamedTuple):
    """A request on its way; `node` is -1 where any will do."""

    number: int
    node: int
    request: GroupRequest


@unique
class MemberRequest(IntEnum):
    """A request of a member, by its column in the table."""

    FIND_COORDINATOR = 0
    JOIN_GROUP = 1
    SYNC_GROUP = 2
    HEARTBEAT = 3
    LEAVE_GROUP = 4
    OFFSET_COMMIT = 5
    OFFSET_FETCH = 6


@unique
class GroupMeaning(Enum):
    """What a member does about an answer."""

    DONE = auto()
    RETRY = auto()  # ask the same again, after a while
    REFIND = auto()  # find the coordinator, then ask again
    REJOIN = auto()  # the group makes another generation: join it as the member that one is
    NO_GENERATION = auto()  # the generation is over; join again under the same id
    NO_MEMBER = auto()  # the coordinator does not know the member any more: join as a new one
    TAKE_ID = auto()  # join again with the id in the answer
    FAILS = auto()  # the call has failed, and nothing else
    FATAL = auto()  # the consumer is of no use any more


_OK, _RE, _FI, _RJ = GroupMeaning.DONE, GroupMeaning.RETRY, GroupMeaning.REFIND, GroupMeaning.REJOIN
_NG, _NM, _ID = GroupMeaning.NO_GENERATION, GroupMeaning.NO_MEMBER, GroupMeaning.TAKE_ID
_XX, _FA = GroupMeaning.FAILS, GroupMeaning.FATAL

UNEXPECTED: Final = (_FA, _FA, _FA, _RE, _OK, _XX, _FA)
"""The outcome of an unexpected error: heartbeats continue, and a leaving member is gone in any case."""

GROUP_MEANINGS: Final[Mapping[ErrorCode, tuple[GroupMeaning, ...]]] = MappingProxyType(
    {  # columns:                                 Find Join Sync Beat Leave Commit Fetch
        ErrorCode.NONE: (_OK, _OK, _OK, _OK, _OK, _OK, _OK),
        # the coordinator is elsewhere, or not there yet
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: (_RE, _RE, _FA, _RE, _OK, _RE, _RE),
        ErrorCode.COORDINATOR_NOT_AVAILABLE: (_RE, _FI, _FI, _FI, _OK, _FI, _FI),
        ErrorCode.NOT_COORDINATOR: (_RE, _FI, _FI, _FI, _OK, _FI, _FI),
        ErrorCode.NETWORK_EXCEPTION: (_RE, _FI, _FI, _FI, _OK, _FI, _FI),
        ErrorCode.REQUEST_TIMED_OUT: (_RE, _FA, _FA, _RE, _OK, _FI, _FA),
        # the group begins another generation
        ErrorCode.REBALANCE_IN_PROGRESS: (_FA, _RE, _RJ, _RJ, _OK, _RJ, _FA),
        ErrorCode.ILLEGAL_GENERATION: (_FA, _FA, _NG, _NG, _OK, _NG, _FA),
        ErrorCode.UNKNOWN_MEMBER_ID: (_FA, _NM, _NM, _NM, _OK, _NM, _FA),
        ErrorCode.MEMBER_ID_REQUIRED: (_FA, _ID, _FA, _RE, _OK, _XX, _FA),
        # another consumer is the static instance
        ErrorCode.FENCED_INSTANCE_ID: (_FA, _FA, _FA, _FA, _OK, _FA, _FA),
        # an open transaction may still change the offset
        ErrorCode.UNSTABLE_OFFSET_COMMIT: (_FA, _FA, _FA, _RE, _OK, _XX, _RE),
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: (_FA, _FA, _FA, _RE, _OK, _RE, _FA),
    }
)
"""The errors that a member plans for, and their meaning as the answer to each request."""


def group_meaning(request: MemberRequest, error: ErrorCode) -> GroupMeaning:
    """What a member does about an error in answer to a request."""
    return GROUP_MEANINGS.get(error, UNEXPECTED)[request]


def asked_of(request: GroupRequest) -> MemberRequest:
    """The column of the table that answers to the request are looked up in."""
    match request:
        case FindCoordinator():
            return MemberRequest.FIND_COORDINATOR
        case JoinRequest():
            return MemberRequest.JOIN_GROUP
        case SyncRequest():
            return MemberRequest.SYNC_GROUP
        case Heartbeat():
            return MemberRequest.HEARTBEAT
        case LeaveGroup():
            return MemberRequest.LEAVE_GROUP
        case OffsetCommit():
            return MemberRequest.OFFSET_COMMIT
        case OffsetFetch():
            return MemberRequest.OFFSET_FETCH


def error_of(answer: GroupAnswer) -> ErrorCode:
    """The error that an answer is taken for: that of the whole, else the first of a partition."""
    match answer:
        case ErrorCode():
            return answer
        case CoordinatorAnswer(error=error) | JoinAnswer(error=error) | SyncAnswer(error=error):
            return error
        case OffsetsAnswer(error=error, partitions=partitions):
            return error or _first(each.error for each in partitions.values())
        case _:
            return _first(answer.values())


def _first(errors: Iterable[ErrorCode]) -> ErrorCode:
    return next((error for error in errors if error is not ErrorCode.NONE), ErrorCode.NONE)
