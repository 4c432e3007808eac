"""Consumers' requests to coordinators of groups, on connections of their own, and what nodes do with them."""

from collections.abc import Iterator
from typing import NamedTuple

from reference.broker.group_api import handle_offset_commit, handle_offset_fetch
from reference.broker.group_coordinator import GroupCoordinator
from reference.broker.group_requests import JoinRequest, SyncRequest
from reference.client.coordinator_channel import NO_NODE, FindCoordinator
from reference.client.group_exchange import (
    GroupAnswer,
    GroupOutgoing,
    GroupRequest,
    Heartbeat,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
)
from reference.errors import Refusal
from reference.network import Network, NetworkMessage
from reference.world.brokers import Brokers
from spec.vocabulary import ErrorCode


class FromMember(NamedTuple):
    """A consumer's request on its way to a node; `number` is the consumer's own."""

    member: int
    number: int
    node: int
    request: GroupRequest


class ToMember(NamedTuple):
    """The answer on its way back."""

    request: FromMember
    answer: GroupAnswer


class GroupRequests:
    """All of them.

    Attributes:
        requests: under way to nodes.
        replies: under way back.
        open: requests whose sender still waits, by consumer and number.
    """

    def __init__(self, brokers: Brokers, ordered: bool) -> None:
        """Nothing is under way."""
        self.brokers = brokers
        self.requests: Network[FromMember] = Network(ordered)
        self.replies: Network[ToMember] = Network(ordered)
        self.open: dict[tuple[int, int], FromMember] = {}

    # --- the network ------------------------------------------------------------------------------------------

    def send(self, member: int, outgoing: GroupOutgoing, any_node: int) -> FromMember:
        """A consumer sends a request; one that any node can answer goes to `any_node`."""
        node = any_node if outgoing.node == NO_NODE else outgoing.node
        request = FromMember(member, outgoing.number, node, outgoing.request)
        self.open[member, outgoing.number] = request
        self.requests.send((member, node), request)
        return request

    def take(self, message: NetworkMessage[ToMember]) -> ToMember | None:
        """An answer arrives; None if it is no longer awaited."""
        answered = self.replies.deliver(message)
        return answered if self.give_up(answered.request) else None

    def give_up(self, request: FromMember) -> bool:
        """The consumer does not wait any more; whether it did."""
        return self.open.pop((request.member, request.number), None) is not None

    def waiting(self, member: int | None = None, node: int | None = None) -> Iterator[FromMember]:
        """The requests that a consumer waits for, or all, of one node or of all."""
        return (a for a in tuple(self.open.values()) if member in (None, a.member) and node in (None, a.node))

    # --- nodes ------------------------------------------------------------------------------------------------

    def receive(self, message: NetworkMessage[FromMember], leave_copy: bool = False) -> None:
        """A request reaches its node, and is answered now or when the group is ready."""
        requested = self.requests.deliver(message, leave_copy)
        groups = self.brokers.nodes[requested.node].groups
        match requested.request:
            case JoinRequest() as request:
                groups.join(request, lambda answer: self._reply(requested, answer))
            case SyncRequest() as request:
                groups.sync(request, lambda answer: self._reply(requested, answer))
            case FindCoordinator(coordinator=kind, key=key):
                self._reply(requested, self.brokers.found_coordinator(requested.node, kind, key))
            case Heartbeat() | LeaveGroup() as request:
                self._reply(requested, reported(groups, request))
            case OffsetCommit(group=group, claim=claim, offsets=offsets):
                self._reply(requested, handle_offset_commit(groups, group, offsets, claim, self.brokers.partitions))
            case OffsetFetch(group=group, partitions=partitions, require_stable=stable):
                self._reply(requested, handle_offset_fetch(groups, group, partitions, stable))

    def _reply(self, request: FromMember, answer: GroupAnswer) -> None:
        self.replies.send((request.member, request.node), ToMember(request, answer))


def reported(groups: GroupCoordinator, request: Heartbeat | LeaveGroup) -> ErrorCode:
    """The answer to a request that changes nothing but the member's own place."""
    try:
        if isinstance(request, Heartbeat):
            groups.heartbeat(request.group, request.claim)
        else:
            groups.leave(request.group, request.claim.member_id, request.claim.group_instance_id)
    except Refusal as refusal:
        return refusal.code
    return ErrorCode.NONE
