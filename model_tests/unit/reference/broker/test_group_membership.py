"""How a group comes to its generations: who joins, who is waited for, who is shut out."""

import pytest

from model_tests.unit.reference.broker.grouped import CLASSIC_AND_NEW, GROUP, GroupWorld, code_of
from reference.broker.group_coordinator import GroupConfig
from reference.broker.group_metadata import ClassicGroup
from reference.broker.group_requests import JoinAnswer, JoinRequest, MemberClaim
from spec.versions import KAFKA_3_9, Profile
from spec.vocabulary import ErrorCode, GroupState


def group_of(world: GroupWorld) -> ClassicGroup:
    """The group as its coordinator has it."""
    return world.groups.shards.of_group(GROUP).groups[GROUP]


def two_members(world: GroupWorld) -> tuple[JoinAnswer, JoinAnswer]:
    """A stable group of two: the leader, and the other."""
    first = world.join()[0]
    world.sync(first)
    second = world.join()
    again = world.join(first.member_id)[0]
    world.sync(again, {again.member_id: b"a", second[0].member_id: b"b"})
    return again, second[0]


def claim_of(joined: JoinAnswer) -> MemberClaim:
    """The member that has joined."""
    return MemberClaim(joined.generation, joined.member_id)


def test_a_new_member_is_reported_its_id_first() -> None:
    """It joins again with it, and leads the first generation."""
    world = GroupWorld()

    (reported,) = world.join(at_once=False)
    assert (ErrorCode.MEMBER_ID_REQUIRED, True) == (reported.error, reported.member_id != "")
    (joined,) = world.join(reported.member_id)

    assert (ErrorCode.NONE, reported.member_id, 1, reported.member_id, "range") == (
        joined.error,
        joined.member_id,
        joined.generation,
        joined.leader,
        joined.protocol,
    )
    assert [reported.member_id] == [member.member_id for member in joined.members]


def test_the_leader_assigns() -> None:
    """Every member waits for its assignment until the leader has sent them all."""
    world = GroupWorld()
    first = world.join()[0]
    world.sync(first)
    second = world.join()
    assert [] == second
    again = world.join(first.member_id)[0]

    waiting = world.sync(second[0])
    assert [] == waiting
    leading = world.sync(again, {again.member_id: b"a", second[0].member_id: b"b"})

    assert (2, 2) == (again.generation, second[0].generation)
    assert [first.member_id, first.member_id] == [again.leader, second[0].leader]
    assert (b"a", b"b") == (leading[0].assignment, waiting[0].assignment)
    assert () == second[0].members
    assert GroupState.STABLE is group_of(world).state


def test_a_rebalance_is_seen_in_the_heartbeat() -> None:
    """Until it has joined again a member gets that error, and its commits are taken."""
    world = GroupWorld()
    leader, other = two_members(world)
    assert ErrorCode.NONE == code_of(lambda: world.groups.heartbeat(GROUP, claim_of(other)))

    world.join()

    assert ErrorCode.REBALANCE_IN_PROGRESS == code_of(lambda: world.groups.heartbeat(GROUP, claim_of(leader)))
    assert [ErrorCode.REBALANCE_IN_PROGRESS] == [answer.error for answer in world.sync(other)]
    assert ErrorCode.NONE == code_of(lambda: world.commit(3, claim_of(other)))


def test_a_past_generation() -> None:
    """Neither heartbeats nor syncs nor commits count any more."""
    world = GroupWorld()
    leader, other = two_members(world)
    past = claim_of(other)._replace(generation=1)

    assert ErrorCode.ILLEGAL_GENERATION == code_of(lambda: world.groups.heartbeat(GROUP, past))
    assert [ErrorCode.ILLEGAL_GENERATION] == [a.error for a in world.sync(leader._replace(generation=1))]
    assert ErrorCode.ILLEGAL_GENERATION == code_of(lambda: world.pend(3, past))


def test_a_session_expires() -> None:
    """A member that is not heard of is shut out, and the others make the next generation."""
    world = GroupWorld()
    leader, other = two_members(world)
    world.pass_time(9_000)
    world.groups.heartbeat(GROUP, claim_of(leader))

    world.pass_time(1_000)

    assert GroupState.PREPARING_REBALANCE is group_of(world).state
    assert ErrorCode.UNKNOWN_MEMBER_ID == code_of(lambda: world.commit(3, claim_of(other)))
    (again,) = world.join(leader.member_id)
    assert (3, 1) == (again.generation, len(again.members))


def test_commits_keep_a_session_alive() -> None:
    """As heartbeats do."""
    world = GroupWorld()
    claim = world.member()

    for _ in range(4):
        world.pass_time(9_000)
        world.commit(3, claim)

    assert ErrorCode.NONE == code_of(lambda: world.groups.heartbeat(GROUP, claim))


@CLASSIC_AND_NEW
def test_commits_in_transactions_keep_no_session_alive(profile: Profile) -> None:
    """A member that commits so must send heartbeats all the same."""
    world = GroupWorld(profile)
    claim = world.member()
    world.pass_time(9_000)
    world.pend(3, claim)

    world.pass_time(1_000)

    assert ErrorCode.UNKNOWN_MEMBER_ID == code_of(lambda: world.groups.heartbeat(GROUP, claim))


def test_those_who_do_not_join_again_are_left_behind() -> None:
    """A rebalance waits as long as the longest timeout of a member, and not longer."""
    world = GroupWorld()
    leader, other = two_members(world)
    joined = world.join(leader.member_id)
    for _ in range(300):
        world.pass_time(1_000)
        code_of(lambda: world.groups.heartbeat(GROUP, claim_of(other)))

    assert [3] == [answer.generation for answer in joined]
    assert ErrorCode.UNKNOWN_MEMBER_ID == code_of(lambda: world.groups.heartbeat(GROUP, claim_of(other)))


def test_silent_members_at_the_end_of_a_rebalance() -> None:
    """Sessions of several expire while the rebalance is due as well: the first to go takes the others along."""
    world = GroupWorld()
    two_members(world)
    joined = world.join()

    world.pass_time(300_001)

    assert [(3, 1)] == [(answer.generation, len(answer.members)) for answer in joined]
    assert [joined[0].member_id] == list(group_of(world).members)


def test_a_promised_id_is_waited_for() -> None:
    """A member that has got an id may still come; when its session would have expired, the others go on."""
    world = GroupWorld()
    leader, other = two_members(world)
    promised = world.join(at_once=False)[0]
    first, second = world.join(leader.member_id), world.join(other.member_id)
    assert ([], []) == (first, second)

    world.pass_time(10_000)

    assert (3, 3) == (first[0].generation, second[0].generation)
    assert ErrorCode.UNKNOWN_MEMBER_ID == world.join(promised.member_id)[0].error


def test_the_first_generation_waits_for_more() -> None:
    """Each member that comes prolongs the wait; then all of them are in it."""
    world = GroupWorld(config=GroupConfig(initial_delay_ms=3_000))
    first = world.join()
    world.pass_time(2_000)
    second = world.join()
    world.pass_time(1_000)
    assert ([], []) == (first, second)

    world.pass_time(3_000)

    assert (1, 1) == (first[0].generation, second[0].generation)
    assert first[0].member_id == second[0].leader


def test_a_static_member_comes_back() -> None:
    """It gets a new id in the same generation, and the old one is fenced; no other member notices."""
    world = GroupWorld()
    old = world.member("static")

    (back,) = world.join(instance="static")

    assert (1, ErrorCode.NONE) == (back.generation, back.error)
    assert back.member_id != old.member_id
    assert ErrorCode.FENCED_INSTANCE_ID == code_of(lambda: world.groups.heartbeat(GROUP, old))
    assert ErrorCode.FENCED_INSTANCE_ID == world.join(old.member_id, "static")[0].error
    world.crash()
    assert ErrorCode.FENCED_INSTANCE_ID == code_of(lambda: world.groups.heartbeat(GROUP, old))
    now = old._replace(member_id=back.member_id)
    assert ErrorCode.NONE == code_of(lambda: world.groups.heartbeat(GROUP, now))


def test_a_static_member_whose_return_the_log_refuses() -> None:
    """The old one stays: no member has an id that a new coordinator would not know."""
    world = GroupWorld()
    old = world.member("static")
    world.partition.leads = False

    assert ErrorCode.NOT_COORDINATOR == world.join(instance="static")[0].error
    assert ErrorCode.NONE == code_of(lambda: world.groups.heartbeat(GROUP, old))
    assert old.member_id == group_of(world).leader


def test_a_static_member_that_has_not_joined_again_stays() -> None:
    """A rebalance proceeds without it and does not shut it out; only its session would."""
    world = GroupWorld()
    static = world.member("static")
    other = world.join()
    for _ in range(300):
        world.pass_time(1_000)
        code_of(lambda: world.groups.heartbeat(GROUP, static))

    assert [(2, other[0].member_id)] == [(answer.generation, answer.leader) for answer in other]
    assert {static.member_id, other[0].member_id} == set(group_of(world).members)


def test_leaving() -> None:
    """A member leaves, a promised one too; the last one leaves an empty group of the next generation."""
    world = GroupWorld()
    leader, other = two_members(world)
    promised = world.join(at_once=False)[0].member_id
    world.groups.leave(GROUP, promised)
    assert ErrorCode.UNKNOWN_MEMBER_ID == code_of(lambda: world.groups.leave(GROUP, promised))
    world.groups.leave(GROUP, other.member_id)
    (alone,) = world.join(leader.member_id)
    world.sync(alone)

    world.groups.leave(GROUP, alone.member_id)

    assert (GroupState.EMPTY, 4, None) == (group_of(world).state, group_of(world).generation, group_of(world).leader)
    assert ErrorCode.UNKNOWN_MEMBER_ID == code_of(lambda: world.groups.heartbeat(GROUP, claim_of(alone)))
    world.crash()
    assert (GroupState.EMPTY, 4) == (group_of(world).state, group_of(world).generation)


def test_a_static_member_leaves_by_its_instance() -> None:
    """Whichever member holds it; with an old id it is fenced."""
    world = GroupWorld()
    old = world.member("static")
    world.member("static")

    assert ErrorCode.FENCED_INSTANCE_ID == code_of(lambda: world.groups.leave(GROUP, old.member_id, "static"))
    assert ErrorCode.NONE == code_of(lambda: world.groups.leave(GROUP, "", "static"))
    assert {} == group_of(world).members


@pytest.mark.parametrize(
    ("requested", "error"),
    [
        (JoinRequest(GROUP, session_timeout_ms=1), ErrorCode.INVALID_SESSION_TIMEOUT),
        (JoinRequest(GROUP, session_timeout_ms=10**8), ErrorCode.INVALID_SESSION_TIMEOUT),
        (JoinRequest(GROUP, "nobody-knows"), ErrorCode.UNKNOWN_MEMBER_ID),
        (JoinRequest("elsewhere", "nobody-knows"), ErrorCode.UNKNOWN_MEMBER_ID),
        (JoinRequest(GROUP, "nobody-knows", "static"), ErrorCode.UNKNOWN_MEMBER_ID),
        (JoinRequest(GROUP, protocols=(("sticky", b""),)), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (JoinRequest(GROUP, protocol_type="connect"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (JoinRequest("elsewhere", protocols=()), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
    ids=["short", "long", "unknown", "no group", "no instance", "protocol", "type", "no protocol"],
)
def test_who_cannot_join(requested: JoinRequest, error: ErrorCode) -> None:
    """Each reason has its error, and the group stays as it is."""
    world = GroupWorld()
    claim = world.member()
    answers: list[JoinAnswer] = []

    world.groups.join(requested, answers.append)

    assert [error] == [answer.error for answer in answers]
    assert ErrorCode.NONE == code_of(lambda: world.groups.heartbeat(GROUP, claim))


def test_the_protocol_that_most_prefer() -> None:
    """Among those that all members know."""
    world = GroupWorld()
    both, reversed_ = (("range", b"r"), ("sticky", b"s")), (("sticky", b"s"), ("range", b"r"))
    answers: list[JoinAnswer] = []
    first: list[JoinAnswer] = []
    world.groups.join(JoinRequest(GROUP, protocols=both, must_know_id=False), first.append)
    for _ in range(2):
        world.groups.join(JoinRequest(GROUP, protocols=reversed_, must_know_id=False), answers.append)
    world.groups.join(JoinRequest(GROUP, first[0].member_id, protocols=both), answers.append)

    assert {"sticky"} == {answer.protocol for answer in answers}


def test_an_assignment_that_the_log_refuses() -> None:
    """No member gets an assignment that would be lost; the members join again."""
    world = GroupWorld(KAFKA_3_9)
    joined = world.join()[0]
    world.partition.leads = False

    (answer,) = world.sync(joined, {joined.member_id: b"a"})

    assert (ErrorCode.NOT_COORDINATOR, b"") == (answer.error, answer.assignment)
    assert GroupState.PREPARING_REBALANCE is group_of(world).state


def test_members_of_a_group_that_moves() -> None:
    """A member that waits for an answer is sent to the new coordinator."""
    world = GroupWorld()
    leader, _ = two_members(world)
    waiting = world.join(leader.member_id)

    world.groups.resign(0)

    assert [ErrorCode.NOT_COORDINATOR] == [answer.error for answer in waiting]
    assert ErrorCode.NOT_COORDINATOR == code_of(lambda: world.groups.heartbeat(GROUP, claim_of(leader)))
