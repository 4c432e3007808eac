"""Who leads: the choice among the replicas of an assignment (PartitionChangeBuilder, PartitionStateMachine).

The first of the assignment that may lead does; whether a present leader stays is what the two controllers differ in.
"""

from collections.abc import Sequence
from enum import StrEnum, unique
from typing import NamedTuple

from reference.recorder import Row
from reference.replication.messages import NO_LEADER
from reference.trace import REPLICAS_SHOWN


@unique
class Election(StrEnum):
    """Why a leader is elected."""

    ONLINE = "Online"
    UNCLEAN = "Unclean"
    PREFERRED = "Preferred"
    CONTROLLED_SHUTDOWN = "ControlledShutdown"


class Candidate(NamedTuple):
    """A replica, in an election.

    Attributes:
        broker: that holds it.
        alive: registered, not fenced, and not about to shut down.
        insync: in the in-sync set that the election starts from.
        eligible: it left an in-sync set that was too small, with its log whole (KIP-966).
        last_known: it led last, and nobody is in sync or eligible.
    """

    broker: int
    alive: bool
    insync: bool
    eligible: bool = False
    last_known: bool = False

    @property
    def is_clean(self) -> bool:
        """Whether it has everything that is committed, and can lead."""
        return self.alive and (self.insync or self.eligible)


class Elected(NamedTuple):
    """Who leads, -1 nobody, and whether that may lose what was committed."""

    broker: int
    uncleanly: bool = False


NOBODY = Elected(NO_LEADER)


def first_in_sync(candidates: Sequence[Candidate], unclean_allowed: bool) -> Elected:
    """The first that is alive and in sync; else the first that is eligible; else whoever led last.

    With unclean elections, at last the first that is alive.
    """
    clean = [candidate for candidate in candidates if candidate.is_clean]
    for candidate in (*(each for each in clean if each.insync), *clean):
        return Elected(candidate.broker)
    alive = [candidate for candidate in candidates if candidate.alive]
    for candidate in alive:
        if candidate.last_known:
            return Elected(candidate.broker, uncleanly=True)
    return Elected(alive[0].broker, uncleanly=True) if alive and unclean_allowed else NOBODY


def present_or_first(candidates: Sequence[Candidate], leader: int, unclean_allowed: bool) -> Elected:
    """The present leader while it is fit to lead; else the first that is."""
    if any(candidate.broker == leader and candidate.is_clean for candidate in candidates):
        return Elected(leader)
    clean = first_in_sync(candidates, unclean_allowed=False)
    return clean if clean.broker != NO_LEADER else first_in_sync(candidates, unclean_allowed)


def preferred(candidates: Sequence[Candidate], leader: int) -> Elected:
    """The first of the assignment if it is fit to lead, else the present leader, else whoever is."""
    if candidates[0].is_clean:
        return Elected(candidates[0].broker)
    return present_or_first(candidates, leader, unclean_allowed=False)


def candidate_columns(candidates: Sequence[Candidate]) -> Row:
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
