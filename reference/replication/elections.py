"""Elections: the choice of a leader among an assignment's replicas (PartitionChangeBuilder, PartitionStateMachine).

The first of the assignment that may lead does; whether a present leader stays is what the two controllers differ in.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum, unique
from typing import NamedTuple

from reference.errors import Impossible
from reference.recording.recorder import Row
from reference.recording.trace import REPLICAS_SHOWN
from reference.replication.messages import NO_LEADER, BrokerEpochs, NotController, PartitionState
from spec.vocabulary import ABSENT, LeaderEpoch, Timestamp


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """A broker that has registered.

    Attributes:
        epoch: of this registration; a broker that comes back has a higher one.
        fenced: its last contact is too long ago, or it had none yet; it leads nothing and joins no in-sync set.
        shutting_down: it has asked to shut down, and gives up what it leads.
        last_contact: the time of its last contact.
    """

    epoch: int
    fenced: bool
    shutting_down: bool = False
    last_contact: Timestamp = Timestamp(0)  # noqa: RUF009 (a constructor of integers)

    @property
    def is_active(self) -> bool:
        """Whether it may lead."""
        return not self.fenced and not self.shutting_down


@dataclass(slots=True)
class Metadata:
    """The store.

    Attributes:
        partitions: by number.
        brokers: by number.
        controller_epoch: of the present controller, the only writer.
        version: raised with every write.
    """

    partitions: dict[int, PartitionState] = field(default_factory=dict)
    brokers: dict[int, BrokerRegistration] = field(default_factory=dict)
    controller_epoch: int = ABSENT
    version: int = 0

    def check_controller(self, epoch: int) -> None:
        """Only the present controller may write.

        Raises:
            NotController: there is a newer one.
        """
        if epoch != self.controller_epoch:
            raise NotController(current=self.controller_epoch, got=epoch)

    def create(self, partition: int, assignment: tuple[int, ...]) -> None:
        """A new partition: those of its replicas that are there are in sync, and the first of them leads.

        Raises:
            Impossible: none is there.
        """
        present = [broker for broker in assignment if broker in self.active()]
        if not present:
            raise Impossible(f"none of {assignment} is there")
        self.version += 1
        state = PartitionState(assignment, present[0], LeaderEpoch(0), 0, frozenset(present))
        self.partitions[partition] = state

    def put(self, partition: int, state: PartitionState) -> PartitionState:
        """Keep a changed state of a partition, under the next partition epoch."""
        self.version += 1
        self.partitions[partition] = replace(state, partition_epoch=state.partition_epoch + 1)
        return self.partitions[partition]

    def register(self, broker: int, fenced: bool, now: Timestamp) -> BrokerRegistration:
        """A broker comes, under an epoch of its own."""
        self.version += 1
        self.brokers[broker] = BrokerRegistration(self.version, fenced, last_contact=now)
        return self.brokers[broker]

    def active(self) -> BrokerEpochs:
        """The brokers that may lead and join in-sync sets, with their epochs."""
        return {number: broker.epoch for number, broker in sorted(self.brokers.items()) if broker.is_active}


def next_leader(state: PartitionState, leader: int) -> PartitionState:
    """The state with another leader, under the next leader epoch."""
    return replace(state, leader=leader, leader_epoch=LeaderEpoch(state.leader_epoch + 1))


@unique
class ElectionReason(StrEnum):
    """Why a leader is elected."""

    ONLINE = "Online"
    UNCLEAN = "Unclean"
    PREFERRED = "Preferred"
    CONTROLLED_SHUTDOWN = "ControlledShutdown"


class ElectionCandidate(NamedTuple):
    """A replica, in an election.

    Attributes:
        broker: that holds it.
        alive: registered, not fenced, and not about to shut down.
        insync: in the in-sync set that the election starts from.
        eligible: it left an in-sync set that was too small, with its log whole (KIP-966).
        last_known: it led last, and no replica is in sync or eligible.
    """

    broker: int
    alive: bool
    insync: bool
    eligible: bool = False
    last_known: bool = False


class Elected(NamedTuple):
    """The leader, -1 for none, and whether committed records may be lost."""

    broker: int
    uncleanly: bool = False


NONE_ELECTED = Elected(NO_LEADER)


def valid_leaders(candidates: Sequence[ElectionCandidate]) -> list[int]:
    """Who may lead and has all that is committed: those in sync; the eligible, where the in-sync set has no member.

    A member that is dead is one. It has everything, and is waited for (PartitionChangeBuilder.isValidNewLeader).
    """
    members = [candidate for candidate in candidates if candidate.insync]
    those = members or [candidate for candidate in candidates if candidate.eligible]
    return [candidate.broker for candidate in those if candidate.alive]


def first_in_sync(candidates: Sequence[ElectionCandidate], unclean_allowed: bool) -> Elected:
    """The first that is valid; else the last leader, if it is alive (KAFKA-19522).

    With unclean elections, at last the first that is alive.
    """
    for broker in valid_leaders(candidates):
        return Elected(broker)
    alive = [candidate for candidate in candidates if candidate.alive]
    for candidate in alive:
        if candidate.last_known:
            return Elected(candidate.broker, uncleanly=True)
    return Elected(alive[0].broker, uncleanly=True) if alive and unclean_allowed else NONE_ELECTED


def present_or_first(candidates: Sequence[ElectionCandidate], leader: int, unclean_allowed: bool) -> Elected:
    """The present leader while it is valid; else the first that is."""
    return Elected(leader) if leader in valid_leaders(candidates) else first_in_sync(candidates, unclean_allowed)


def preferred(candidates: Sequence[ElectionCandidate], leader: int) -> Elected:
    """The first of the assignment if it is valid, else the present leader, else any valid one."""
    first = candidates[0].broker
    wanted = first if first in valid_leaders(candidates) else leader
    return present_or_first(candidates, wanted, unclean_allowed=False)


def candidate_columns(candidates: Sequence[ElectionCandidate]) -> Row:
    """The replicas of an election in the columns of the trace."""
    columns: Row = {}
    for place, candidate in enumerate(candidates[:REPLICAS_SHOWN]):
        shown = f"replica_{place}_"
        columns[f"{shown}broker"] = candidate.broker
        columns[f"{shown}alive"] = candidate.alive
        columns[f"{shown}insync"] = candidate.insync
        columns[f"{shown}eligible"] = candidate.eligible
        columns[f"{shown}last_known"] = candidate.last_known
    return columns
