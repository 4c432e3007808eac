"""Applications that consume, transform and produce: each is a member of its group, and commits what it has read.

All of them are one static member, so that a newer one takes the place of an older, whose claims are then stale.
"""

from dataclasses import dataclass
from typing import Final

from reference.broker.group_requests import NO_CLAIM, JoinAnswer, JoinRequest, MemberClaim, Offsets, SyncRequest
from reference.client.consumer import Consumer
from reference.client.coordinator_channel import CoordinatorType
from reference.log.partition import READ_COMMITTED
from reference.world.brokers import Brokers
from reference.world.readers import Consumers
from spec.vocabulary import ErrorCode

MOST_BYTES: Final = 160
"""Bytes that it fetches at a time: a batch or two."""

SESSION_TIMEOUT_MS: Final = 6_000
"""session.timeout.ms of the members; they send no heartbeats, only commits."""


@dataclass(slots=True, eq=False)
class Loop:
    """The consuming side of one application.

    Attributes:
        consumer: reads what is committed.
        claim: its identity by the answers of the group's coordinator, none before the first generation.
        rewound: it knows where the group is.
    """

    consumer: Consumer
    claim: MemberClaim = NO_CLAIM
    rewound: bool = False


class Loops:
    """What these applications ask of their group's coordinator."""

    __slots__ = ("_brokers", "_readers", "group")

    def __init__(self, brokers: Brokers, readers: Consumers, group: str = "loop") -> None:
        """A group without members."""
        self._brokers = brokers
        self._readers = readers
        self.group = group

    def start(self) -> Loop:
        """An application starts, and joins."""
        loop = Loop(Consumer(self._brokers.names, READ_COMMITTED))
        self.join(loop)
        return loop

    def join(self, loop: Loop) -> None:
        """JoinGroup as the static member, then SyncGroup; without a coordinator both fail."""
        node = self._brokers.coordinator_of(CoordinatorType.GROUP, self.group)
        if node is None:
            return
        coordinator = self._brokers.nodes[node].groups

        def joined(answer: JoinAnswer) -> None:
            if answer.error is ErrorCode.NONE:
                loop.claim = MemberClaim(answer.generation, answer.member_id, self.group)
                assigned = {member.member_id: b"" for member in answer.members}
                coordinator.sync(SyncRequest(self.group, loop.claim, assigned), lambda _: None)

        request = JoinRequest(
            self.group, group_instance_id=self.group, must_know_id=False, session_timeout_ms=SESSION_TIMEOUT_MS
        )
        coordinator.join(request, joined)

    def read(self, loop: Loop) -> None:
        """Read a little from where the group is; what an open transaction may still change is asked for again later."""
        if not loop.rewound:
            answer = self._readers.consumer_starts(loop.consumer, self.group)
            unstable = [each for each in answer.partitions.values() if each.error is not ErrorCode.NONE]
            loop.rewound = answer.error is ErrorCode.NONE and not unstable
        if loop.rewound:
            for partition in self._brokers.names:
                if self._readers.is_due(loop.consumer, partition):
                    self._readers.consumer_fetches(loop.consumer, partition, MOST_BYTES)

    def rewind(self, loop: Loop) -> None:
        """What was read is of no account: its transaction did not commit."""
        loop.rewound = False

    def consumed(self, loop: Loop) -> Offsets:
        """What the group has read, as the transaction commits it."""
        return loop.consumer.consumed()

    def pass_time(self) -> None:
        """Generations become complete, and silent members are dropped."""
        for node in sorted(set(self._brokers.group_leaders.values())):
            self._brokers.nodes[node].groups.pass_time()
