"""One change of a partition in the controller's log, compared with the decisions of elections and in-sync sets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from model_tests.audit.findings import Finding
from model_tests.histories.severity import Severity
from model_tests.logs.controller_log_values import NO_LEADER_CHANGE, PartitionChange
from spec import rules
from spec.algebra import Term
from spec.evidence import Layer, evidences
from spec.protocol.electing import (
    Candidate,
    Proposal,
    altered,
    elected,
    is_empty,
    is_fit,
    leader_epoch_after,
    may_leave,
)
from spec.rules import Rule
from spec.versions import Profile
from spec.vocabulary import ABSENT

Alive = tuple[frozenset[int], frozenset[int]]
"""Brokers that are alive before and after a batch, and those that are alive before or after it.

Several events may share a batch of the controller's log, so that no finer order is known.
"""


@dataclass(frozen=True, slots=True)
class PartitionBefore:
    """A partition before the change, its replicas as after it.

    Attributes:
        name: topic and partition.
        replicas: in the order of the assignment.
        in_sync: the in-sync set.
        leader: its leader; -1 where it has none.
        leader_epoch: the leader epoch.
        eligible: eligible leader replicas (KIP-966).
        last_known: the last leader, while there is none (KIP-966).
        recovering: its leader recovery state is RECOVERING since an election outside the in-sync set.
    """

    name: str
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    leader: int
    leader_epoch: int
    eligible: tuple[int, ...] = ()
    last_known: tuple[int, ...] = ()
    recovering: bool = False


def judge_change(
    before: PartitionBefore, change: PartitionChange, alive: Alive, offset: int, profile: Profile
) -> Iterator[Finding]:
    """What the change breaks; `offset` is that of its record.

    Args:
        before: the partition before it.
        change: the record's values.
        alive: brokers that were alive then.
        offset: of the record in the controller's log.
        profile: the release.
    """
    if change.creates and change.leader_epoch < before.leader_epoch:
        message = f"the leader epoch of {before.name} falls from {before.leader_epoch} to {change.leader_epoch}"
        yield _finding(rules.REPL_PREFIX_AGREEMENT, Severity.VIOLATION, offset, message)
    if change.leader not in (NO_LEADER_CHANGE, ABSENT):
        yield from _judge_election(before, change, alive, offset, profile)
    if change.in_sync is not None:
        yield from _judge_in_sync(before, change, change.in_sync, alive[1], offset, profile)


@evidences(rules.REPL_COMMITTED_SURVIVES, Layer.AUDIT)
def _judge_election(
    before: PartitionBefore, change: PartitionChange, alive: Alive, offset: int, profile: Profile
) -> Iterator[Finding]:
    """Who leads is fit to; else the election is unclean, and recorded as such."""
    leader = change.leader
    candidates = [_candidate(before, broker, alive, leader) for broker in before.replicas]
    own = next((one for one in candidates if one.broker == leader), None)
    of = f"leads {before.name} from leader epoch {_next(before, profile)} on"
    if own is None:
        message = f"broker {leader} {of}, but its replicas are {_listed(before.replicas)}"
        yield _finding(rules.REPL_COMMITTED_SURVIVES, Severity.VIOLATION, offset, message)
    elif not own.alive:
        message = f"broker {leader} {of}, though it is not registered, fenced, or shutting down"
        yield _finding(rules.REPL_COMMITTED_SURVIVES, Severity.VIOLATION, offset, message)
    elif not is_fit(own, is_empty(candidates), profile):
        yield from _outside(before, change, candidates, offset, of, profile)


def _outside(
    before: PartitionBefore,
    change: PartitionChange,
    candidates: Sequence[Candidate],
    offset: int,
    of: str,
    profile: Profile,
) -> Iterator[Finding]:
    """A leader that may lack what is committed, or is eligible before its time.

    The last leader has what it appended, and is elected again without anyone's leave where it is known to be the last.
    Its recovery state is RECOVERING until a record changes it, and a record names the state only where that changes.
    """
    nobody_else = elected(candidates, True, profile).unclean
    recovering = before.recovering if change.recovering is None else change.recovering
    in_sync = _listed(before.in_sync)
    what = f"broker {change.leader} {of}"
    if change.leader in before.eligible and not nobody_else:
        message = f"{what} as an eligible replica, though of those in sync ({in_sync}) one is alive"
        severity = Severity.VIOLATION
    elif not recovering:
        message = f"{what} without being in sync ({in_sync} were), and the record does not say that it must recover"
        severity = Severity.VIOLATION
    elif not nobody_else:
        message = f"{what} without being in sync, though of those in sync ({in_sync}) one is alive"
        severity = Severity.VIOLATION
    elif elected(candidates, False, profile).leader == change.leader:
        return
    else:
        message = (
            f"unclean election: {what}, since no replica in sync ({in_sync}) is alive: it lacks what only those had, "
            "and uses its offsets again"
        )
        severity = Severity.KNOWN
    yield _finding(rules.REPL_COMMITTED_SURVIVES, severity, offset, message)


def _candidate(before: PartitionBefore, broker: int, alive: Alive, leader: int) -> Candidate:
    """A replica; the one that was elected gets the benefit of the doubt, the others do not.

    The record that elects also takes those that are not alive out of the in-sync set.
    """
    is_alive = broker in alive[1 if broker == leader else 0]
    in_sync = is_alive and broker in before.in_sync
    return Candidate(broker, is_alive, in_sync, broker in before.eligible, before.last_known == (broker,))


@evidences(rules.REPL_COMMITTED_SURVIVES, Layer.AUDIT)
def _judge_in_sync(
    before: PartitionBefore,
    change: PartitionChange,
    after: tuple[int, ...],
    alive: frozenset[int],
    offset: int,
    profile: Profile,
) -> Iterator[Finding]:
    """The set has the leader, only replicas, and gets no broker that is fenced; its last member stays."""
    leader = before.leader if change.leader == NO_LEADER_CHANGE else change.leader
    joined = [broker for broker in after if broker not in before.in_sync]
    proposal = Proposal(True, before.leader_epoch, 0, ineligible=any(broker not in alive for broker in joined))
    transition = f"the in-sync set of {before.name} goes from {_listed(before.in_sync)} to {_listed(after)}"
    if leader != ABSENT and leader not in after:
        yield _finding(
            rules.REPL_COMMITTED_SURVIVES, Severity.VIOLATION, offset, f"{transition} without leader {leader}"
        )
    if set(after) - set(before.replicas):
        message = f"{transition}, but the replicas are {_listed(before.replicas)}"
        yield _finding(rules.REPL_COMMITTED_SURVIVES, Severity.VIOLATION, offset, message)
    elif not altered(proposal, before.leader_epoch, 0).granted:
        dead = _listed(tuple(broker for broker in joined if broker not in alive))
        message = f"{transition}, though {dead} is fenced, shuts down, or is not registered"
        yield _finding(rules.REPL_COMMITTED_SURVIVES, Severity.VIOLATION, offset, message, "ineligible")
    if not after and not may_leave(1, profile):
        yield _finding(
            rules.REPL_COMMITTED_SURVIVES, Severity.VIOLATION, offset, f"{transition}: its last member must stay"
        )


def _next(before: PartitionBefore, profile: Profile) -> Term:
    return leader_epoch_after(before.leader_epoch, elects=True, shrinks=False, profile=profile)


def _listed(brokers: tuple[int, ...]) -> str:
    return ", ".join(map(str, brokers)) or "none"


def _finding(rule: Rule, severity: Severity, offset: int, message: str, guard: str = "") -> Finding:
    return Finding(
        rule, severity, offset, ABSENT, ABSENT, message, guard, step="election" if not guard else "AlterPartition"
    )
