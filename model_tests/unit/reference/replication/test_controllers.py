"""Controllers: who is there, who leads, and which proposals are refused."""

from dataclasses import replace

import pytest

from reference.errors import Refusal
from reference.recording.recorder import Row
from reference.replication.controller import Controller, ControllerConfig
from reference.replication.elections import (
    NONE_ELECTED,
    Elected,
    ElectionCandidate,
    Metadata,
    first_in_sync,
    preferred,
    present_or_first,
)
from reference.replication.kraft_controller import KRaftController
from reference.replication.messages import NO_LEADER, AlterPartition
from reference.replication.zookeeper_controller import ZooKeeperController
from spec.versions import KAFKA_2_5, KAFKA_2_7, KAFKA_4_0, NEWEST, Profile
from spec.vocabulary import ErrorCode, LeaderEpoch, Timestamp

NOW = Timestamp(1_000_000)
TIMEOUT = 9_000
THREE = (0, 1, 2)
BOTH = pytest.mark.parametrize("profile", [KAFKA_2_7, KAFKA_4_0, NEWEST], ids=["zookeeper", "kraft", "kraft-elr"])


class ControllerMessages(list[tuple[str, int, Row]]):
    """The messages that a controller sent."""

    def __call__(self, api: str, partition: int, columns: Row) -> None:
        """Take a decision down."""
        self.append((api, partition, columns))


def office(
    profile: Profile, unclean: bool = False, min_insync: int = 1, metadata: Metadata | None = None
) -> Controller:
    """A controller in office."""
    kind = KRaftController if profile.quorum_controller else ZooKeeperController
    config = ControllerConfig(TIMEOUT, unclean, min_insync)
    made = kind(profile, 0, metadata or Metadata(), config, ControllerMessages())
    made.take_office(NOW)
    return made


def started(profile: Profile, unclean: bool = False, min_insync: int = 1) -> Controller:
    """A controller with three brokers, of which the first leads."""
    made = office(profile, unclean, min_insync)
    for broker in THREE:
        comes(made, broker)
    made.create(0, THREE)
    return made


def comes(made: Controller, broker: int, clean: bool = True, now: Timestamp = NOW) -> None:
    """A broker starts."""
    made.heartbeat(broker, made.register(broker, clean, now), False, now)


def goes(made: Controller, broker: int, now: Timestamp = NOW) -> Timestamp:
    """A broker falls silent, while the others go on; the time then."""
    later = Timestamp(now + TIMEOUT + 1)
    for other, known in sorted(made.metadata.brokers.items()):
        if other != broker and not known.fenced:
            made.heartbeat(other, known.epoch, False, later)
    made.check_sessions(later)
    return later


def seen(made: Controller) -> tuple[int, int, list[int]]:
    """Leader, leader epoch and in-sync set."""
    state = made.metadata.partitions[0]
    return state.leader, state.leader_epoch, sorted(state.insync)


def proposal(made: Controller, insync: tuple[int, ...], /, **changes: object) -> AlterPartition:
    """What the present leader proposes."""
    state = made.metadata.partitions[0]
    epochs = {broker: made.metadata.brokers[broker].epoch for broker in insync}
    own = made.metadata.brokers[state.leader].epoch
    return AlterPartition(state.leader, own, state.leader_epoch, state.partition_epoch, epochs)._replace(**changes)  # type: ignore[arg-type]


@BOTH
def test_the_first_to_come_leads(profile: Profile) -> None:
    """There was no leader before."""
    assert (0, [0, 1, 2]) == seen(started(profile))[::2]


def test_an_eligible_replica_leads_only_where_none_is_in_sync() -> None:
    """Whatever the order of the assignment, and whichever broker led: a member that is dead is waited for (KIP-966)."""
    eligible, in_sync = (
        ElectionCandidate(2, alive=True, insync=False, eligible=True),
        ElectionCandidate(0, alive=True, insync=True),
    )
    dead, empty = in_sync._replace(alive=False), in_sync._replace(alive=False, insync=False)

    def leaders(*candidates: ElectionCandidate) -> set[Elected]:
        return {
            first_in_sync(candidates, unclean_allowed=False),
            present_or_first(candidates, eligible.broker, unclean_allowed=False),
            preferred(candidates, eligible.broker),
        }

    assert {Elected(0)} == leaders(eligible, in_sync)
    assert {NONE_ELECTED} == leaders(eligible, dead)
    assert {Elected(2)} == leaders(eligible, empty) == leaders(empty, eligible)


@BOTH
def test_the_first_in_sync_of_the_assignment_leads_next(profile: Profile) -> None:
    """The leader falls silent and is out of sync; its successor has an epoch of its own."""
    made = started(profile)
    epoch = seen(made)[1]

    goes(made, 0)

    leader, raised, insync = seen(made)
    assert (1, [1, 2]) == (leader, insync)
    assert raised > epoch


@BOTH
def test_who_is_not_in_sync_does_not_lead(profile: Profile) -> None:
    """It waits for the one that is, unless unclean elections are allowed."""
    outcomes = []
    for unclean in (False, True):
        made = started(profile, unclean)
        made.alter_partition(0, proposal(made, (0,)))
        goes(made, 0)
        outcomes.append(made.metadata.partitions[0].leader)

    assert [NO_LEADER, 1] == outcomes


@BOTH
def test_the_last_in_sync_leads_when_it_is_back(profile: Profile) -> None:
    """The last one to leave has everything."""
    made = started(profile)
    now = goes(made, 0)
    now = goes(made, 1, now)
    now = goes(made, 2, now)
    alone = seen(made)[0]

    comes(made, 0, now=now)
    waiting = seen(made)[0]
    comes(made, 2, now=now)

    assert (NO_LEADER, NO_LEADER) == (alone, waiting)
    assert (2, [2]) == seen(made)[::2]


def test_who_left_a_set_that_was_too_small_may_lead() -> None:
    """With min.insync.replicas=2 the last alone acknowledges nothing: who left before it has all (KIP-966)."""
    outcomes = []
    for profile in (KAFKA_4_0, NEWEST):
        made = started(profile, min_insync=2)
        now = goes(made, 0)
        now = goes(made, 1, now)
        now = goes(made, 2, now)
        comes(made, 1, now=now)
        outcomes.append(made.metadata.partitions[0].leader)

    assert [NO_LEADER, 1] == outcomes


def test_who_lost_the_tail_of_its_log_is_not_eligible() -> None:
    """The last in the in-sync set is killed: there is no leader until an eligible one beside it is back."""
    made = started(NEWEST, min_insync=2)
    now = goes(made, 0)
    now = goes(made, 1, now)

    made.alter_partition(0, proposal(made, (2,)))
    comes(made, 2, clean=False, now=now)

    reported = made._report
    assert isinstance(reported, ControllerMessages)
    elections = [columns for api, _, columns in reported if api == "LeaderElection"]
    assert NO_LEADER == elections[-1]["elected"]
    comes(made, 1, now=now)
    assert 1 == made.metadata.partitions[0].leader


def test_where_none_is_eligible_the_last_leader_leads_uncleanly() -> None:
    """All were killed, one after the other: the last leads again, others are there, and that is an unclean election."""
    made = started(NEWEST, min_insync=3)
    now = NOW
    for broker in THREE:
        now = goes(made, broker, now)
        comes(made, broker, clean=False, now=now)

    reported = made._report
    assert isinstance(reported, ControllerMessages)
    elections = [columns for api, _, columns in reported if api == "LeaderElection"]
    assert (2, "Unclean") == (elections[-1]["elected"], elections[-1]["election"])
    assert frozenset({2}) == made.metadata.partitions[0].insync


@BOTH
def test_a_controlled_shutdown_hands_over_first(profile: Profile) -> None:
    """The broker leads nothing any more when it goes."""
    made = started(profile)

    made.heartbeat(0, made.metadata.brokers[0].epoch, True, NOW)

    assert (1, [1, 2]) == seen(made)[::2]


@BOTH
def test_the_preferred_leader_gets_back_what_it_led(profile: Profile) -> None:
    """Once it is in sync again."""
    made = started(profile)
    now = goes(made, 0)
    comes(made, 0, now=now)
    with pytest.raises(Refusal) as refused:
        made.elect_preferred(0)
    made.alter_partition(0, proposal(made, THREE))

    made.elect_preferred(0)

    assert ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE is refused.value.code
    assert (0, [0, 1, 2]) == seen(made)[::2]
    with pytest.raises(Refusal) as refused:
        made.elect_preferred(0)
    assert ErrorCode.ELECTION_NOT_NEEDED is refused.value.code


def test_who_is_eligible_is_no_preferred_leader_while_another_is_in_sync() -> None:
    """It has all that is committed, and waits until it is in sync: broker 2 leads on (KIP-966)."""
    made = started(NEWEST, min_insync=3)
    now = goes(made, 1, goes(made, 0))
    comes(made, 0, now=now)
    state = made.metadata.partitions[0]

    with pytest.raises(Refusal) as refused:
        made.elect_preferred(0)

    assert ((2, [2]), frozenset({0, 1})) == (seen(made)[::2], state.eligible)
    assert ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE is refused.value.code
    made.heartbeat(2, made.metadata.brokers[2].epoch, True, now)
    assert (0, [0]) == seen(made)[::2]
    assert frozenset({1, 2}) == made.metadata.partitions[0].eligible


def test_after_an_unclean_election_none_is_eligible() -> None:
    """What the eligible had may be overwritten: they follow any leader."""
    made = started(NEWEST, unclean=True, min_insync=2)
    now = goes(made, 2, goes(made, 1))
    comes(made, 1, now=now)
    before = made.metadata.partitions[0].eligible

    goes(made, 0, now)

    assert (1, [1]) == seen(made)[::2]
    assert (frozenset({2}), frozenset()) == (before, made.metadata.partitions[0].eligible)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"broker_epoch": 0}, ErrorCode.STALE_BROKER_EPOCH),
        ({"leader_epoch": LeaderEpoch(9)}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 9}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": LeaderEpoch(-1)}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"insync": {0: 1, 1: 1}}, ErrorCode.INELIGIBLE_REPLICA),
        ({"insync": {1: -1}}, ErrorCode.INVALID_REQUEST),
        ({"insync": {0: -1, 7: -1}}, ErrorCode.INVALID_REQUEST),
        ({"insync": {0: -1, 1: -1}}, ErrorCode.NONE),
    ],
)
def test_a_proposal_is_of_the_present_leader_and_state(changes: dict[str, object], error: ErrorCode) -> None:
    """Anything else is refused, in Kafka's order, and nothing changes."""
    made = started(NEWEST)
    before = made.metadata.partitions[0]

    answer = made.alter_partition(0, proposal(made, THREE, **changes))

    assert error is answer.error
    assert (before != made.metadata.partitions[0]) == (error is ErrorCode.NONE)


def test_a_follower_cannot_propose() -> None:
    """Only the leader does."""
    made = started(NEWEST)

    answer = made.alter_partition(0, proposal(made, THREE, broker=1, broker_epoch=made.metadata.brokers[1].epoch))

    assert ErrorCode.INVALID_REQUEST is answer.error


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"broker_epoch": 0}, ErrorCode.STALE_BROKER_EPOCH),
        ({"leader_epoch": LeaderEpoch(-1)}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leader_epoch": LeaderEpoch(-1), "partition_epoch": 9}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leader_epoch": LeaderEpoch(9)}, ErrorCode.NONE),
        ({"partition_epoch": 9}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"insync": {0: 1, 1: 1}}, ErrorCode.NONE),
        ({"insync": {1: -1}}, ErrorCode.NONE),
        ({"insync": {0: -1, 7: -1}}, ErrorCode.NONE),
        ({"insync": {0: -1, 7: -1}, "partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
    ],
)
def test_in_2_7_a_proposal_is_of_a_present_session_and_state(changes: dict[str, object], error: ErrorCode) -> None:
    """Its epochs may be newer than known, its set any, with any broker in it (KafkaController.processAlterIsr)."""
    made = started(KAFKA_2_7)
    before = made.metadata.partitions[0]

    request = proposal(made, (0, 1), **changes)
    answer = made.alter_partition(0, request)

    now = made.metadata.partitions[0]
    assert error is answer.error
    assert (before != now) == (error is ErrorCode.NONE)
    if error is ErrorCode.NONE:
        assert (request.leader_epoch, frozenset(request.insync)) == (now.leader_epoch, now.insync)


def test_in_2_7_the_sender_of_a_proposal_is_not_compared_with_the_leader() -> None:
    """It is written as the leader; no broker proposes that does not lead."""
    made = started(KAFKA_2_7)

    answer = made.alter_partition(0, proposal(made, THREE, broker=1, broker_epoch=made.metadata.brokers[1].epoch))

    assert (ErrorCode.NONE, 1) == (answer.error, seen(made)[0])


def test_in_2_7_a_set_that_is_there_is_answered_as_it_is() -> None:
    """Before the version of the node is compared."""
    made = started(KAFKA_2_7)
    before = made.metadata.partitions[0]

    answer = made.alter_partition(0, proposal(made, THREE, partition_epoch=-1))

    assert (ErrorCode.NONE, before) == tuple(answer)
    assert before == made.metadata.partitions[0]


def test_before_2_7_zookeeper_compares_versions_alone() -> None:
    """A leader that was deposed is stopped by the version of the node."""
    made = started(KAFKA_2_5)
    late = proposal(made, (0,))
    goes(made, 0)

    answer = made.alter_partition(0, late)

    assert ErrorCode.INVALID_UPDATE_VERSION is answer.error


@BOTH
def test_a_controller_that_was_replaced_changes_nothing(profile: Profile) -> None:
    """Its successor has a higher epoch, and knows all that it knew."""
    made = started(profile)
    request = proposal(made, (0, 1))
    office(profile, metadata=made.metadata)

    answer = made.alter_partition(0, request)

    assert ErrorCode.NOT_CONTROLLER is answer.error
    assert 1 == made.metadata.controller_epoch
    assert (0, [0, 1, 2]) == seen(made)[::2]


@pytest.mark.parametrize(("profile", "raised"), [(KAFKA_2_7, True), (KAFKA_4_0, False)])
def test_the_leader_epoch_when_a_follower_goes(profile: Profile, raised: bool) -> None:
    """Before 3.6 it rises though the leader stays (KAFKA-15021)."""
    made = started(profile)
    epoch = seen(made)[1]

    goes(made, 2)

    assert (0, raised, [0, 1]) == (seen(made)[0], seen(made)[1] > epoch, seen(made)[2])


@BOTH
def test_what_happened_without_a_controller_is_looked_after(profile: Profile) -> None:
    """The next controller fences every broker that has gone meanwhile."""
    made = started(profile)
    if profile.quorum_controller:
        successor = office(profile, metadata=made.metadata)
        goes(successor, 0)
    else:
        made.metadata.brokers[0] = replace(made.metadata.brokers[0], fenced=True)
        successor = office(profile, metadata=made.metadata)

    assert (1, [1, 2]) == seen(successor)[::2]


def test_a_leader_without_a_successor_asks_again() -> None:
    """Under ZooKeeper it leads on until another one is in sync again, and only then goes."""
    made = started(KAFKA_2_7)
    now = goes(made, 1, goes(made, 2))
    own = made.metadata.brokers[0].epoch
    made.heartbeat(0, own, True, now)
    alone = seen(made)[::2]
    comes(made, 1, now=now)
    made.alter_partition(0, proposal(made, (0, 1)))

    made.heartbeat(0, own, True, now)

    assert ((0, [0]), (1, [1])) == (alone, seen(made)[::2])
