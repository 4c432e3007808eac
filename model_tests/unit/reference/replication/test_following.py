"""The follower's side: where it cuts its log, what it copies, and what it forgets."""

from dataclasses import replace

import pytest

from model_tests.unit.reference.replication.scenes import (
    LATER,
    NOW,
    catch_up,
    epochs_of,
    fetch_of,
    followed,
    leader,
    produce,
    replica,
    word,
    write,
)
from reference.log.batch import blank_batch, marker_batch
from reference.replication.messages import EpochEndRequest, FollowerFetchResult
from reference.replication.replica import Replica
from spec.versions import KAFKA_0_11, KAFKA_2_0, KAFKA_2_5, KAFKA_2_7, NEWEST, Profile
from spec.vocabulary import ControlType, ErrorCode, LeaderEpoch, Offset

BY_HIGH_WATERMARK = replace(KAFKA_0_11, name="before 0.11", truncates_by_leader_epoch=False)


def test_a_follower_copies_all_and_learns_the_high_watermark() -> None:
    """One fetch later than the leader raised it."""
    ahead, behind = leader(), replica(1)
    ahead.take_over(word(0, 0, 1, (0, 1)), NOW)
    produce(ahead, 3)
    behind.take_over(word(0, 0, 1, (0, 1)), NOW)

    catch_up(behind, ahead)

    assert (3, 3) == (behind.log.log_end, behind.log.high_watermark)
    assert epochs_of(ahead) == epochs_of(behind)


def parted(profile: Profile) -> tuple[Replica, Replica]:
    """A leader of epoch 4, and a follower that led epochs 1 and 3, which was never copied from (KIP-279)."""
    ahead, behind = replica(0, profile), replica(1, profile)
    write(ahead, 0, 2)
    write(ahead, 2, 3)
    write(behind, 0, 2)
    write(behind, 1, 1)
    write(behind, 3, 4)
    for made in (ahead, behind):
        made.take_over(word(0, 4), NOW)
    return ahead, behind


@pytest.mark.parametrize(
    ("profile", "requested"),
    [
        pytest.param(
            NEWEST, ["FetchRequest", "FetchRequest", "FetchRequest", "FetchRequest", "FetchRequest"], id="with-fetches"
        ),
        pytest.param(
            KAFKA_2_5,
            ["EpochEndRequest", "EpochEndRequest", "FetchRequest", "FetchRequest", "FetchRequest"],
            id="asking-first",
        ),
    ],
)
def test_a_follower_cuts_what_no_other_leader_wrote(profile: Profile, requested: list[str]) -> None:
    """It goes back epoch by epoch until both logs have the same."""
    ahead, behind = parted(profile)

    requests = catch_up(behind, ahead)

    assert [0, 0, 2, 2, 2] == epochs_of(behind)
    assert requested[:2] == requests[:2]


def test_without_the_epoch_in_the_answer_logs_stay_apart() -> None:
    """Before 2.0 a follower truncates to the offset in the answer, though the record before it is not the leader's."""
    ahead, behind = parted(replace(KAFKA_2_0, truncation_names_epoch=False))

    catch_up(behind, ahead)

    assert epochs_of(ahead) != epochs_of(behind)


@pytest.mark.parametrize(("profile", "left"), [(KAFKA_0_11, 2), (BY_HIGH_WATERMARK, 1)])
def test_what_is_acknowledged_is_cut_by_the_high_watermark_alone(profile: Profile, left: int) -> None:
    """The follower has the record, and does not know yet that it is safe; then it restarts (KIP-101)."""
    ahead, behind = leader(profile=profile), replica(1, profile)
    behind.take_over(word(0, 0), NOW)
    produce(ahead, 2)
    write(behind, 0, 2)
    behind.log.adopt_high_watermark(1)
    behind.replica_log.write_checkpoint()

    behind.restart(behind.log.log_end, NOW)
    behind.take_over(word(0, 1), NOW)
    if left == 2:
        request = followed(behind).next_request(1)
        assert isinstance(request, EpochEndRequest)
        followed(behind).receive_end(request, ahead.epoch_end(request), NOW)

    assert left == behind.log.log_end


def test_an_epoch_without_records_is_forgotten_with_the_rest() -> None:
    """A leader that was deposed before it wrote anything does not insist on its epoch."""
    deposed, ahead = leader(1, 3), leader(0, 4)
    produce(ahead)

    deposed.take_over(word(0, 4), NOW)
    catch_up(deposed, ahead)

    assert [(4, 0)] == [tuple(entry) for entry in deposed.replica_log.epochs.entries]


def test_the_high_watermark_of_a_follower_may_fall() -> None:
    """A new leader may know less of what is safe than its followers."""
    ahead, behind = replica(0), replica(1)
    for made in (ahead, behind):
        write(made, 0, 2)
    behind.log.adopt_high_watermark(2)
    for made in (ahead, behind):
        made.take_over(word(0, 1), NOW)

    request = fetch_of(behind)
    followed(behind).receive(request, ahead.fetch(request, NOW)[0], NOW)

    assert 0 == behind.log.high_watermark


def test_a_follower_behind_the_log_start_begins_there() -> None:
    """The leader has deleted what it would have copied."""
    ahead, behind = leader(), replica(1)
    produce(ahead, 4)
    ahead.log.advance_high_watermark(4)
    ahead.log.log.advance_start(3)
    behind.take_over(word(0, 0), NOW)

    catch_up(behind, ahead)

    assert (3, 4) == (behind.log.log_start, behind.log.log_end)


def test_a_follower_beyond_the_leader_cuts_what_it_has_more() -> None:
    """Without epochs in fetches, that is how it finds out that the leader has lost records."""
    ahead, behind = leader(profile=KAFKA_2_0), replica(1, KAFKA_2_0)
    produce(ahead)
    behind.take_over(word(0, 0), NOW)
    write(behind, 0, 3)

    catch_up(behind, ahead)

    assert 1 == behind.log.log_end


def test_an_answer_to_an_earlier_fetch_is_dropped() -> None:
    """As is one that comes after the follower has turned to another leader."""
    behind = replica(1)
    behind.take_over(word(0, 0), NOW)
    first, second = fetch_of(behind), fetch_of(behind)
    batch = blank_batch(1).at(Offset(0), LeaderEpoch(0))
    answer = FollowerFetchResult(ErrorCode.NONE, (batch,), Offset(0), Offset(0), Offset(1))

    followed(behind).receive(first, answer, NOW)
    dropped = behind.log.log_end
    followed(behind).receive(second, answer, NOW)

    assert (0, 1) == (dropped, behind.log.log_end)


def test_a_fenced_follower_waits_for_word_of_a_new_epoch() -> None:
    """It sends no request until the controller has named the leader."""
    ahead, behind = leader(epoch=2), replica(1)
    behind.take_over(word(0, 1), NOW)

    catch_up(behind, ahead)
    silent = followed(behind).next_request(11)
    behind.take_over(word(0, 2, 1), LATER)

    assert silent is None
    assert 2 == fetch_of(behind).leader_epoch


@pytest.mark.parametrize(("profile", "copied"), [(KAFKA_2_0, 1), (KAFKA_2_7, 2)])
def test_a_follower_whose_log_cannot_be_the_leaders_stops(profile: Profile, copied: int) -> None:
    """Before 2.4 a falling epoch of a marker is refused by replicas too, and the follower fails for good."""
    ahead, behind = leader(profile=profile), replica(1, profile)
    for epoch in (5, 4):
        batch = marker_batch(1, epoch, ControlType.COMMIT, 0)
        ahead.log.write((batch.at(ahead.log.log_end, LeaderEpoch(0)),), ())
    behind.take_over(word(0, 0), NOW)

    catch_up(behind, ahead)

    assert copied == behind.log.log_end
