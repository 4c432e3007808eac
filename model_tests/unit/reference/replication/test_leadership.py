"""The leader's side: whom it waits for, whom it drops, and what it answers followers."""

import pytest

from model_tests.unit.reference.replication.scenes import EPOCHS, LATER, NOW, fetch, leader, produce, word
from reference.recording.recorder import Row
from reference.replication.follower_progress import FollowerProgress
from reference.replication.leadership import Leadership, ReplicaConfig
from reference.replication.messages import Altered, FetchRequest
from reference.replication.replica import Delayed, Replica
from spec.versions import KAFKA_1_0, KAFKA_2_5, KAFKA_3_6, NEWEST, Profile
from spec.vocabulary import ErrorCode, Offset, Timestamp


def role(made: Replica) -> Leadership:
    assert made.leadership is not None
    return made.leadership


def test_the_high_watermark_is_the_least_end_of_those_in_sync() -> None:
    """It waits for the slowest, and a follower learns of it with its next fetch."""
    made = leader()
    produce(made, 2)

    made.fetch(fetch(1, 2, last_epoch=0), NOW)
    waiting = made.log.high_watermark
    answer, _ = made.fetch(fetch(2, 1, last_epoch=0), NOW)

    assert (0, 1, 0) == (waiting, made.log.high_watermark, answer.high_watermark)


def test_a_follower_that_caught_up_not_long_ago_is_in_sync() -> None:
    """It has what there was at its last fetch; then it is silent for longer than it may be."""
    busy = FollowerProgress()

    for turn in range(5):
        busy = busy.fetched(Offset(turn), Offset(turn + 1), Timestamp(NOW + 20_000 * turn), 1)

    assert NOW + 60_000 == busy.caught_up_ms
    assert busy.is_caught_up(Offset(9), Timestamp(NOW + 90_000), 30_000)
    assert not busy.is_caught_up(Offset(9), Timestamp(NOW + 90_001), 30_000)


def test_who_lags_for_too_long_is_dropped_when_the_controller_agrees() -> None:
    """Until then the high watermark still waits."""
    made = leader()
    produce(made)
    made.fetch(fetch(1, 1, last_epoch=0), LATER)

    proposal = role(made).shrink(LATER)
    waiting = made.log.high_watermark
    role(made).altered(Altered(ErrorCode.NONE, word(0, 0, 1, (0, 1)).state), LATER)

    assert proposal is not None
    assert [0, 1] == sorted(proposal.insync)
    assert (0, 1) == (waiting, made.log.high_watermark)


def test_a_second_proposal_waits_for_the_answer_to_the_first() -> None:
    """One set is proposed at a time."""
    made = leader()
    produce(made)

    first, second = role(made).shrink(LATER), role(made).shrink(LATER)

    assert first is not None
    assert second is None


def test_a_follower_on_its_way_into_the_set_is_waited_for() -> None:
    """The controller may have agreed already: the maximal set counts."""
    made = leader()
    made.take_over(word(0, 0, 1, (0, 1)), NOW)
    produce(made)
    _, proposal = made.fetch(fetch(2, 0), NOW)

    made.fetch(fetch(1, 1, last_epoch=0), LATER)
    made.fetch(fetch(2, 0), Timestamp(LATER + 1))

    assert proposal is not None
    assert [0, 1, 2] == sorted(proposal.insync)
    assert 0 == made.log.high_watermark


def test_a_follower_returns_when_it_has_what_the_epoch_began_with() -> None:
    """The high watermark of a new leader may lag behind what its predecessor acknowledged (KAFKA-7128)."""
    old = leader(profile=KAFKA_1_0)
    new = leader()
    for made in (old, new):
        produce(made, 2)
        made.take_over(word(0, 1, 1, (0, 1)), NOW)

    proposals = [made.fetch(fetch(2, 1, 1 if made is new else -1), NOW)[1] for made in (old, new)]

    assert proposals[0] is not None
    assert proposals[1] is None


def test_a_fetch_of_an_earlier_incarnation_does_not_count() -> None:
    """3.6 takes it, and notes the incarnation: who leads finds out where it proposes a set (KIP-903)."""
    seen = []
    for profile in (NEWEST, KAFKA_3_6):
        made = leader(profile=profile)
        stale = fetch(1, 0)._replace(broker_epoch=EPOCHS[1] - 1)
        error = made.fetch(stale, NOW)[0].error
        seen.append((error, role(made).followers[1].broker_epoch - EPOCHS[1]))

    assert [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE] == [error for error, _ in seen]
    assert -1 == seen[1][1]
    assert -1 != seen[0][1]


@pytest.mark.parametrize(
    ("requested", "error"),
    [
        (fetch(1, 0, leader_epoch=4), ErrorCode.FENCED_LEADER_EPOCH),
        (fetch(1, 0, leader_epoch=6), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (fetch(1, 9, leader_epoch=5), ErrorCode.OFFSET_OUT_OF_RANGE),
        (fetch(1, 0, leader_epoch=5, last_epoch=9), ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
)
def test_a_fetch_that_is_refused(requested: FetchRequest, error: ErrorCode) -> None:
    """It names another epoch than the leader's, or an offset or epoch that the leader knows nothing of."""
    made = leader(epoch=5)

    answer, _ = made.fetch(requested, NOW)

    assert error is answer.error


def test_a_follower_with_another_history_is_reported_where_it_parts() -> None:
    """Its fetch does not count: it does not have what its offset claims."""
    made = leader(epoch=0)
    produce(made, 2)
    made.take_over(word(0, 3, 1), NOW)
    produce(made)

    answer, _ = made.fetch(fetch(1, 7, leader_epoch=3, last_epoch=2), NOW)

    assert (0, 2) == tuple(answer.diverging)
    assert -1 == role(made).followers[1].log_end


@pytest.mark.parametrize(("profile", "raised"), [(NEWEST, 0), (KAFKA_3_6, 1)])
def test_below_min_insync_replicas_the_high_watermark_stays(profile: Profile, raised: int) -> None:
    """Since 3.7 (KAFKA-15583); a reader is not shown what one replica alone has."""
    made = leader(profile=profile, config=ReplicaConfig(min_insync=2))
    produce(made)

    made.take_over(word(0, 0, 1, (0,)), LATER)

    assert raised == made.log.high_watermark


def test_a_set_that_was_refused_is_dropped_or_waited_for() -> None:
    """Who is not eligible is not proposed again at once; a stale version means that word of a new state is coming."""
    outcomes = {}
    for error in (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.INVALID_UPDATE_VERSION):
        made = leader()
        produce(made)
        role(made).shrink(LATER)
        role(made).altered(Altered(error), LATER)
        outcomes[error.name] = role(made).proposed is None

    assert {"INELIGIBLE_REPLICA": True, "INVALID_UPDATE_VERSION": False} == outcomes


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.INVALID_UPDATE_VERSION])
def test_the_answer_to_a_proposal_is_reported_as_it_was(error: ErrorCode) -> None:
    """The proposal, its answer, and what the leader knows afterwards."""
    reported: list[tuple[str, Row]] = []
    made = leader(epoch=3, report=lambda api, _before, _after, columns: reported.append((api, columns)))
    produce(made)
    role(made).shrink(LATER)
    granted = error is ErrorCode.NONE
    answer = Altered(error, word(0, 3, 1, (0, 1)).state) if granted else Altered(error)

    role(made).altered(answer, LATER)

    assert [
        {
            "error": error.value,
            "leads": True,
            "asked_leader_epoch": 3 if granted else -1,
            "asked_partition_epoch": 1 if granted else -1,
            "leader_epoch": 3,
            "partition_epoch": 0,
            "partition_epoch_after": int(granted),
            "insync_size": 2 if granted else 3,
            "proposal_under_way": not granted,
        }
    ] == [columns for api, columns in reported if api == "AlterPartitionAnswer"]


def test_before_2_7_a_refused_write_is_forgotten() -> None:
    """The leader tries again with its next check."""
    made = leader(profile=KAFKA_2_5)
    produce(made)

    role(made).shrink(LATER)
    role(made).altered(Altered(ErrorCode.INVALID_UPDATE_VERSION), LATER)

    assert role(made).proposed is None


def test_acks_all_is_answered_when_all_have_it() -> None:
    """With fewer in sync than required, it is answered as written and not safe; too late, that time is up."""
    answers = []
    for insync, now in (((0, 1, 2), NOW), ((0,), NOW), ((0, 1, 2), LATER)):
        made = leader(profile=KAFKA_3_6, config=ReplicaConfig(min_insync=2))
        produce(made)
        made.wait(Delayed(Offset(1), Timestamp(NOW + 30_000), "asker"))
        if insync == (0,):
            made.take_over(word(0, 0, 1, insync), now)
        elif now == NOW:
            made.fetch(fetch(1, 1, last_epoch=0), now)
            made.fetch(fetch(2, 1, last_epoch=0), now)
        answers += made.release(now)

    expected = [ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.REQUEST_TIMED_OUT]
    assert [("asker", error) for error in expected] == answers


def test_what_waits_at_a_deposed_leader_is_turned_away() -> None:
    """Whether it will be in the log is not known."""
    made = leader()
    produce(made)
    made.wait(Delayed(Offset(1), LATER, "asker"))

    made.take_over(word(1, 1, 1), NOW)

    assert [("asker", ErrorCode.NOT_LEADER_OR_FOLLOWER)] == made.release(NOW)
