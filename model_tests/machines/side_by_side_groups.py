"""Side by side: who may commit offsets of a group, and which of two questions about a transaction is dropped."""

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from model_tests.machines.side_by_side import DecisionComparison, differing
from reference.broker.group_metadata import ClassicGroup, Member
from reference.broker.group_offsets import check_commit
from reference.broker.group_requests import NO_GENERATION, NO_MEMBER, MemberClaim
from reference.broker.ids import ProducerIdentity
from reference.broker.verification import AddPartitionsToTxnManager, Question, Supported
from reference.errors import Refusal
from spec import rules
from spec.protocol import groups, verification_queue
from spec.protocol.groups import GroupEntry, KnownClaim
from spec.protocol.guards import branch, error_of
from spec.protocol.verification import ABORTABLE_SINCE
from spec.protocol.verification_queue import PendingVerification
from spec.versions import Profile
from spec.vocabulary import Epoch, ErrorCode, GroupState, ProducerId

# --- commits of groups ----------------------------------------------------------------------------------------

_MEMBER, _INSTANCE, _GENERATION = "m", "i", 1
_WITH_MEMBER: Final = (GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
"""States in which a group has its one member."""


def _commits() -> Iterator[tuple[Any, ...]]:
    releases = differing(
        "commits_fenced_by_generation",
        "current_member_validated",
        "rebalance_checked_last",
        "dead_group_is_unavailable",
    )
    members, instances = (NO_MEMBER, _MEMBER, "other"), (None, _INSTANCE, "other")
    claims = product((NO_GENERATION, _GENERATION, _GENERATION + 1), members, instances)
    yield from product(releases, GroupState, (None, _INSTANCE), map(MemberClaim._make, claims), (True, False))


def _is_refused(
    profile: Profile, state: GroupState, instance: str | None, claim: MemberClaim, transactional: bool
) -> object:
    there = state in _WITH_MEMBER
    known = there and claim.group_instance_id is not None and claim.group_instance_id == instance
    message = KnownClaim(
        generation=claim.generation,
        member_given=claim.member_id != NO_MEMBER,
        instance_given=claim.group_instance_id is not None,
        member_known=there and claim.member_id == _MEMBER,
        instance_known=known,
        instance_matches=known and claim.member_id == _MEMBER,
    )
    entry = GroupEntry(known=True, state=state.value, generation=_GENERATION)
    checks = groups.commit_guards(entry, message, profile, transactional=transactional)
    return ErrorCode(error_of(checks, branch(checks)))


def _refuses(
    profile: Profile, state: GroupState, instance: str | None, claim: MemberClaim, transactional: bool
) -> object:
    group = ClassicGroup("g", state, _GENERATION)
    if state in _WITH_MEMBER:
        group.members[_MEMBER] = Member(_MEMBER, instance, "", "", 1, 1, ())
    try:
        check_commit(group, claim, transactional, profile)
    except Refusal as refusal:
        return refusal.code
    return ErrorCode.NONE


# --- questions of verification --------------------------------------------------------------------------------

_ID, _NODE = "id", 1
_VERSIONS: Final = {ABORTABLE_SINCE - 1: Supported.DEFAULT_ERROR, ABORTABLE_SINCE: Supported.GENERIC_ERROR}


def _questions() -> Iterator[tuple[Any, ...]]:
    epochs = (0, 1, 2)
    yield from product((None, _ID, "other"), epochs, epochs, _VERSIONS, _VERSIONS)


def _is_dropped(waiting: str | None, before: int, epoch: int, first: int, version: int) -> object:
    pending = PendingVerification(waiting is not None, first, waiting == _ID, before)
    queued = verification_queue.queue(pending, epoch, version)
    return ErrorCode(queued.waiting_error), ErrorCode(queued.new_error), _VERSIONS[queued.version]


def _drops(waiting: str | None, before: int, epoch: int, first: int, version: int) -> object:
    manager = AddPartitionsToTxnManager[str]()
    if waiting is not None:
        manager.verify(_NODE, _question(waiting, before, first), "waiting")
    answer = manager.verify(_NODE, _question(_ID, epoch, version), "new")
    refused = {} if answer is None or answer.refusal is None else {answer.who: answer.refusal.code}
    errors = [refused.get(who, ErrorCode.NONE) for who in ("waiting", "new")]
    return *errors, manager.waiting[_NODE].supported


def _question(name: str, epoch: int, version: int) -> Question:
    return Question(name, ProducerIdentity(ProducerId(1), Epoch(epoch)), (), _VERSIONS[version])


OF_GROUPS: Final = (
    DecisionComparison("who may commit", rules.OFFSETS_GENERATION_FENCE, _commits, _is_refused, _refuses),
    DecisionComparison("a question is replaced", rules.FENCE_STALE_EPOCH, _questions, _is_dropped, _drops),
)
"""What coordinators of groups decide of a commit, and brokers of what they ask coordinators of transactions."""
