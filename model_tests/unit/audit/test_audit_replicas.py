from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from model_tests.audit.controller_log_history import LeaderEpochEntry
from model_tests.audit.log import audit_log, read_log, surroundings
from model_tests.audit.losses import Led
from model_tests.audit.partition_verdict import VERDICT
from model_tests.audit.recorded import CLUSTER
from model_tests.audit.replica import MOST_BLOCKS, ReplicaSummary, blocks_of, coarser, epoch_runs, summarized
from model_tests.audit.replicas_difference import first_difference
from model_tests.audit.transactions_clusters import places_of
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.unit.audit.stories import BEGUN, cluster_of
from model_tests.unit.audit.written import data, encoded
from model_tests.unit.support.judged_transactions import RUN, WHOLE
from reference.log.batch import RecordBatch
from spec.vocabulary import ABSENT, LeaderEpoch, Offset

SIZES = st.lists(st.integers(1, 90), min_size=1, max_size=30)


def written(folder: Path, sizes: list[int], other: int | None = None) -> list[int]:
    """A log of batches of these sizes, of which one may have another value; their offsets."""
    batches: list[RecordBatch] = []
    offset = 0
    for number, size in enumerate(sizes):
        batch = data(offset, size, at=7 if number == other else 0)
        batches.append(batch.at(Offset(offset), LeaderEpoch(number // 5)))
        offset += size
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").write_bytes(encoded(batches))
    return [batch.base_offset for batch in batches]


def summary(folder: Path) -> ReplicaSummary:
    (log,) = list_logs([str(folder)]).logs
    batches, _ = read_log(log)
    return summarized(log, blocks_of(batches), epoch_runs(batches), 0, int(batches.last_offset[-1]) + 1, 0)


@settings(max_examples=60)
@given(SIZES, SIZES, st.data())
def test_the_first_difference_is_found_wherever_it_is(
    common: list[int], more: list[int], chosen: st.DataObject
) -> None:
    """Below the offset up to which two logs are compared, whatever the sizes of batches and logs; none above it."""
    other = chosen.draw(st.integers(0, len(common) - 1))
    with TemporaryDirectory() as directory:
        left, right = Path(directory, "l", "a-0"), Path(directory, "r", "a-0")
        offsets = written(left, common)
        written(right, common + more, other)
        ends = [*offsets[1:], sum(common)]
        end = chosen.draw(st.sampled_from(ends))

        found = first_difference(summary(left), summary(right), (str(left), str(right)), end)

    expected = offsets[other] if offsets[other] < end else None
    assert (found.offset if found else None) == expected


@given(st.lists(st.integers(0, 2**64 - 1), max_size=40), st.sampled_from([64, 128, 512, 2**60]))
def test_digests_of_neighbours_add_up(blocks: list[int], wanted: int) -> None:
    """Blocks may be joined: the sum of all stays what it was."""
    joined = coarser(blocks, 64, wanted)

    assert len(joined) == -(-len(blocks) * 64 // wanted)
    assert sum(joined.tolist()) % 2**64 == sum(blocks) % 2**64


def test_an_offset_far_beyond_the_last_one_takes_no_memory(tmp_path: Path) -> None:
    """Where it is not the last batch that has it, as in segments that do not follow each other."""
    written(tmp_path / "a-0", [2, 3, 4])
    (log,) = list_logs([str(tmp_path / "a-0")]).logs
    batches, _ = read_log(log)

    blocks = blocks_of(replace(batches, base_offset=np.array([2**60, 2, 5])))
    summarized_blocks = summarized(log, blocks, epoch_runs(batches), 0, 9, 0).blocks

    assert 2 <= len(summarized_blocks) <= MOST_BLOCKS


def test_what_a_task_sends_of_a_cluster_is_what_it_found(recordings: Path) -> None:
    """Replicas, the controller's history and the offsets of groups come back the same from their wire form."""
    for name in ("__cluster_metadata-0", "__consumer_offsets-0", "zombie-0"):
        (log,) = list_logs([str(recordings / CLUSTER / "n1" / name)]).logs
        verdict, damage = audit_log(log, surroundings(log))

        assert verdict.cluster is not None
        assert VERDICT.decode(VERDICT.encode((verdict, damage))) == (verdict, damage)


def test_what_a_task_sends_of_transactions_is_what_it_found(tmp_path: Path) -> None:
    """Summaries and histories come back the same from their wire form."""
    cluster = cluster_of(BEGUN + "add a b c; send a b c; prepare commit; mark a c; complete", version=2)
    for log in list_logs([str(cluster.write(tmp_path))]).logs:
        verdict, damage = audit_log(log, surroundings(log))

        again = VERDICT.decode(VERDICT.encode((verdict, damage)))

        assert again == (verdict, damage)


def test_replicas_that_have_the_same_are_behind_only_together() -> None:
    """Whichever was given first: what the newest leader had, too, is not going to be cut off."""
    summary = replace(WHOLE, runs=(RUN,))

    (place,) = places_of([(0, "a", 0, summary), (1, "a", 0, summary)], behind=frozenset({0}))

    (left,) = places_of([(0, "a", 0, summary), (1, "a", 0, summary)], behind=frozenset({0, 1}))

    assert (place.log, place.behind) == (0, False)
    assert (left.log, left.behind) == (0, True)


def test_who_led_when() -> None:
    """A leader epoch lasts up to the next one; the last one lasts."""
    third, first = LeaderEpochEntry(4, 3, 100, 5), LeaderEpochEntry(5, 1, 200, 40, unclean=True)

    led = Led((third, first), knows=5)

    assert [one.epoch for one in led.during(20, 30)] == [4]
    assert [one.epoch for one in led.during(20, 40)] == [4, 5]
    assert [one.epoch for one in led.during(90, 99)] == [5]
    assert [led.at(time) for time in (4, 5, 39, 40)] == [None, third, third, first]
    assert led.known_ms == 40
    assert Led((third,), knows=5).known_ms == ABSENT
