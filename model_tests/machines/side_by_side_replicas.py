"""Side by side: what followers and controllers decide."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any, Final

from model_tests.machines.side_by_side import DecisionComparison, differing
from reference.errors import Refusal
from reference.replication import elections
from reference.replication.controller import Controller, is_ill_formed
from reference.replication.elections import ElectionCandidate
from reference.replication.following import Following
from reference.replication.kraft_controller import KRaftController
from reference.replication.messages import UNDEFINED, AlterPartition, EpochEnd
from spec import rules
from spec.judging import proposals
from spec.protocol import electing, repl
from spec.protocol.guards import branch, error_of
from spec.protocol.repl import ReturningReplica
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode, LeaderEpoch, Offset, Timestamp

_END: Final = 4  # the leader's log end: every end of an epoch up to one beyond it is tried
_ENDS: Final = (UNDEFINED, *(EpochEnd(LeaderEpoch(e), Offset(end)) for e, end in product((0, 1, 2), range(_END + 2))))

End = tuple[int, int]


# --- truncation -----------------------------------------------------------------------------------------------


def _answers() -> Iterator[tuple[Any, ...]]:
    own = [end for end in _ENDS if end.end <= _END]
    yield from product((2, _END), (0, 2), _ENDS, own)


def _cut(log_end: int, watermark: int, answered: End, own: End) -> object:
    replica = ReturningReplica(log_end, watermark)
    return repl.truncated_to(replica, repl.EpochEnd(*answered), repl.EpochEnd(*own), NEWEST)


class _CutFollower(Following):
    """A follower that only notes where it cuts its log."""

    def __init__(self, log_end: int, watermark: int, own: EpochEnd) -> None:
        self.cut = ABSENT
        log = SimpleNamespace(log_end=Offset(log_end), high_watermark=Offset(watermark))
        self._replica = SimpleNamespace(log=log, epoch_end=lambda _: own)  # type: ignore[assignment]

    def _truncate(self, answer: EpochEnd, offset: Offset, now: Timestamp, completed: bool = True) -> None:
        self.cut = offset

    def cut_after(self, answer: EpochEnd) -> int:
        """Where it cuts its log after this answer."""
        self._truncate_to(answer, Timestamp(0))
        return self.cut


def _cuts(log_end: int, watermark: int, answered: End, own: End) -> object:
    return _CutFollower(log_end, watermark, EpochEnd(*own)).cut_after(EpochEnd(*answered))  # type: ignore[arg-type]


# --- elections ------------------------------------------------------------------------------------------------

Facts = tuple[bool, bool, bool, bool]
"""Of a replica: alive, in sync, eligible, the last known leader."""

_BOTH: Final = (True, False)
_REPLICAS: Final[tuple[Facts, ...]] = tuple(
    (alive, insync, eligible, last)
    for alive, insync, eligible, last in product(_BOTH, _BOTH, _BOTH, _BOTH)
    if not (insync and eligible)
)


def _elections() -> Iterator[tuple[Any, ...]]:
    for both in product(_REPLICAS, repeat=2):
        remembers = [last_known for *_, last_known in both]
        held = any(insync or eligible for _, insync, eligible, _ in both)
        if sum(remembers) <= (not held):  # a last leader is remembered where no other may lead, and only one
            yield from product((both,), (ABSENT, 1, 2), (True, False), (True, False))


def _elected(both: tuple[Facts, ...], leader: int, prefers: bool, unclean: bool) -> object:
    candidates = [electing.Candidate(number, *facts) for number, facts in enumerate(both, start=1)]
    outcome = electing.chosen(candidates, leader, prefers, unclean, NEWEST)
    return outcome.leader, bool(outcome.unclean)


def _elects(both: tuple[Facts, ...], leader: int, prefers: bool, unclean: bool) -> object:
    candidates = [ElectionCandidate(number, *facts) for number, facts in enumerate(both, start=1)]
    found = (
        elections.preferred(candidates, leader) if prefers else elections.present_or_first(candidates, leader, unclean)
    )
    return found.broker, found.uncleanly


# --- proposals ------------------------------------------------------------------------------------------------


def _members() -> Iterator[tuple[Any, ...]]:
    yield from product(differing("incarnations_compared"), (True, False), (ABSENT, 1, 2), (1, 2))


def _is_eligible(profile: Profile, active: bool, counted: int, registered: int) -> object:
    return bool(proposals.may_be_member(active, counted, registered, profile))


def _may_join(profile: Profile, active: bool, counted: int, registered: int) -> object:
    there = SimpleNamespace(
        profile=profile,
        is_active=lambda _: active,
        metadata=SimpleNamespace(brokers={1: SimpleNamespace(epoch=registered)}),
    )
    return Controller.may_join(there, 1, counted)  # type: ignore[arg-type]


def _proposed_sets() -> Iterator[tuple[Any, ...]]:
    sets = ((), (1,), (2,), (3,), (1, 2), (1, 3), (1, 2, 3))
    yield from product((1, 2), ((1, 2), (1, 2, 3)), sets)


def _lacks(leader: int, assigned: tuple[int, ...], proposed: tuple[int, ...]) -> object:
    return bool(proposals.is_ill_formed([(b == leader, b in assigned, b in proposed) for b in (1, 2, 3)]))


def _is_ill_formed(leader: int, assigned: tuple[int, ...], proposed: tuple[int, ...]) -> object:
    state = SimpleNamespace(leader=leader, assignment=assigned)
    request = AlterPartition.__new__(AlterPartition, **_blank_proposal(), insync=dict.fromkeys(proposed, ABSENT))
    return is_ill_formed(state, request)  # type: ignore[arg-type]


def _blank_proposal() -> dict[str, Any]:
    return {name: 0 for name in AlterPartition._fields if name != "insync"}


def _proposals() -> Iterator[tuple[Any, ...]]:
    epochs = (0, 1, 2, 3)
    yield from product((True, False), epochs, epochs, (1, 2), (1, 2))


def _is_granted(leads: bool, leader_epoch: int, partition_epoch: int, led: int, changed: int) -> object:
    proposal = electing.Proposal(leads, leader_epoch, partition_epoch, ineligible=False)
    checks = electing.proposal_guards(proposal, led, changed, NEWEST)
    return ErrorCode(error_of(checks, branch(checks)))


def _grants(leads: bool, leader_epoch: int, partition_epoch: int, led: int, changed: int) -> object:
    there = SimpleNamespace(
        profile=NEWEST,
        epoch=0,
        metadata=SimpleNamespace(check_controller=lambda _: None),
        check_session_of=lambda *_: None,
        check_members=lambda *_: None,
    )
    there.check_epochs = partial(Controller.check_epochs, there)  # type: ignore[arg-type]
    state = SimpleNamespace(leader=1 if leads else 2, leader_epoch=led, partition_epoch=changed)
    request = AlterPartition(1, 0, LeaderEpoch(leader_epoch), partition_epoch, {})
    try:
        KRaftController.check_proposal(there, state, request)  # type: ignore[arg-type]
    except Refusal as refusal:
        return refusal.code
    return ErrorCode.NONE


_SURVIVES: Final = rules.REPL_COMMITTED_SURVIVES

OF_REPLICAS: Final = (
    DecisionComparison("a follower cuts its log", rules.REPL_PREFIX_AGREEMENT, _answers, _cut, _cuts),
    DecisionComparison("a leader is elected", _SURVIVES, _elections, _elected, _elects),
    DecisionComparison("a proposal is granted", _SURVIVES, _proposals, _is_granted, _grants),
    DecisionComparison("a member may join", _SURVIVES, _members, _is_eligible, _may_join),
    DecisionComparison("a proposed set is ill-formed", _SURVIVES, _proposed_sets, _lacks, _is_ill_formed),
)
"""What followers and controllers decide."""
