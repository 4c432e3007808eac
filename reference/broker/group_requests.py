"""Requests of members to their group's coordinator, and the answers (JoinGroup, SyncGroup, OffsetCommit)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple, TypeAlias

from reference.broker.transaction_metadata import TopicPartition
from spec.vocabulary import ABSENT, NO_OFFSET, Api, ErrorCode, Offset

NO_GENERATION: Final = -1  # Kafka's number for a commit without a generation
NO_MEMBER: Final = ""


class MemberClaim(NamedTuple):
    """The identity in a request: a member of a generation, or none.

    Attributes:
        generation: -1 none.
        member_id: empty if none.
        group_instance_id: of a static member, else None.
    """

    generation: int = NO_GENERATION
    member_id: str = NO_MEMBER
    group_instance_id: str | None = None


NO_CLAIM: Final = MemberClaim()


class OffsetAndMetadata(NamedTuple):
    """An offset that a group has read up to, with the client's own note."""

    offset: Offset
    metadata: str = ""
    leader_epoch: int = ABSENT


Offsets: TypeAlias = Mapping[TopicPartition, OffsetAndMetadata]


class FetchedOffset(NamedTuple):
    """The answer to OffsetFetch about one partition; -1 where nothing is committed or nothing is returned."""

    error: ErrorCode = ErrorCode.NONE
    offset: Offset = NO_OFFSET
    metadata: str = ""
    leader_epoch: int = ABSENT


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """JoinGroup.

    Attributes:
        protocols: names with the member's subscription, the preferred one first.
        must_know_id: a new member gets its id first and joins again with it (since version 4).
    """

    API: ClassVar[str] = Api.JOIN_GROUP

    group: str
    member_id: str = NO_MEMBER
    group_instance_id: str | None = None
    client_id: str = "member"
    client_host: str = "/127.0.0.1"
    protocol_type: str = "consumer"
    protocols: tuple[tuple[str, bytes], ...] = (("range", b""),)
    session_timeout_ms: int = 45_000
    rebalance_timeout_ms: int = 300_000
    must_know_id: bool = True


class JoinedMember(NamedTuple):
    """A member as the leader of the group gets it."""

    member_id: str
    group_instance_id: str | None
    subscription: bytes


class JoinAnswer(NamedTuple):
    """The answer to JoinGroup; only the leader gets the members."""

    error: ErrorCode
    member_id: str = NO_MEMBER
    generation: int = NO_GENERATION
    protocol: str | None = None
    leader: str = NO_MEMBER
    members: tuple[JoinedMember, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """SyncGroup; the leader sends everyone's assignment, by member id."""

    API: ClassVar[str] = Api.SYNC_GROUP

    group: str
    claim: MemberClaim
    assignments: Mapping[str, bytes]


class SyncAnswer(NamedTuple):
    """The answer to SyncGroup."""

    error: ErrorCode
    assignment: bytes = b""


JoinReply: TypeAlias = Callable[[JoinAnswer], None]
"""Takes the answer to JoinGroup, at once or when all members have joined."""

SyncReply: TypeAlias = Callable[[SyncAnswer], None]
"""Takes the answer to SyncGroup, at once or when the leader's has come."""
