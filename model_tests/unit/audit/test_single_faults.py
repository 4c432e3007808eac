"""One fault in a batch of a log, its checksum right, with the files that the broker derived from the sound log."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from model_tests.audit.run import run
from model_tests.unit.audit.audit_case import described
from model_tests.unit.audit.stories import cluster_of
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, Name, WrittenCluster
from model_tests.unit.audit.written_world import write_broker
from model_tests.unit.support.changed_directories import spans_of
from reference.log.batch import RecordBatch, marker_batch
from spec.versions import KAFKA_3_9, NEWEST
from spec.vocabulary import Epoch, LeaderEpoch, Offset, ProducerId, Sequence

Fault: TypeAlias = Callable[[RecordBatch], RecordBatch]

TOPICS: Final = ("a", "b", "c")
PRODUCERS: Final = 15
"""The sum of the two producer ids."""


def marked(batch: RecordBatch, *, producer: int = 0, epoch: int = 0, turned: bool = False) -> RecordBatch:
    """A marker with something else in it."""
    commits = (batch.records()[0].key or b"")[-1] == COMMIT.value
    kind = COMMIT if commits is not turned else ABORT
    producer = producer or batch.producer_id
    return marker_batch(producer, batch.producer_epoch + epoch, kind, 0, batch.max_timestamp)


MARKERS: Final[dict[str, Fault]] = {
    "a marker has the other outcome": lambda one: marked(one, turned=True),
    "a marker has a later epoch": lambda one: marked(one, epoch=1),
    "a marker has the other producer's id": lambda one: marked(one, producer=PRODUCERS - one.producer_id),
}
DATA: Final[dict[str, Fault]] = {
    "data leaves out sequences": lambda one: one._replace(base_sequence=Sequence(one.base_sequence + 5)),
    "data has a later epoch": lambda one: one._replace(producer_epoch=Epoch(one.producer_epoch + 1)),
    "data has the other producer's id": lambda one: one._replace(producer_id=ProducerId(PRODUCERS - one.producer_id)),
}


def transactions(version: int, chosen: random.Random) -> WrittenCluster:
    """Ten transactions of two producers over some of three partitions."""
    story = "init tx 7; other: init other 8; "
    for _ in range(8):
        who, places = chosen.choice(["", "other: "]), " ".join(chosen.sample(TOPICS, chosen.choice([1, 2, 2, 3])))
        sent = f"{who}send {places} x{chosen.choice([1, 2])}; " * chosen.choice([1, 2, 3])
        outcome = chosen.choice(["commit", "commit", "abort"])
        story += f"{who}add {places}; {sent}{who}prepare {outcome}; {who}mark {places}; {who}complete; wait 100; "
    return cluster_of(f"{story}txn a b c; other: txn a b c", version)


def at_offsets(cluster: WrittenCluster) -> dict[Name, list[RecordBatch]]:
    """The logs as brokers have them."""
    found: dict[Name, list[RecordBatch]] = {}
    for name, batches in (*cluster.logs.items(), (("__transaction_state", 0), cluster.coordinator)):
        offset, placed = 0, found.setdefault(name, [])
        for batch in batches:
            placed.append(batch.at(Offset(offset), LeaderEpoch(0)))
            offset += batch.last_offset_delta + 1
    return found


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("name", [*MARKERS, *DATA])
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 5))])
def test_a_fault_is_one_finding(tmp_path: Path, seed: int, name: str, version: int) -> None:
    """Whatever the decisions, the join, the snapshots and the aborted indexes each say of it."""
    chosen = random.Random(seed)
    cluster = transactions(version, chosen)
    topic = chosen.choice(TOPICS)
    sound = at_offsets(cluster)
    ends = {place: batches[-1].last_offset + 1 for place, batches in sound.items()}
    write_broker(tmp_path / "broker", 1, NEWEST if version else KAFKA_3_9, sound, {}, ends)
    own = sound[topic, 0]
    number = chosen.choice([at for at, one in enumerate(own) if one.is_control is (name in MARKERS)])
    faulty = (MARKERS | DATA)[name](own[number])
    own[number] = faulty.at(own[number].base_offset, LeaderEpoch(0))
    rest = iter(own)
    for segment in sorted((tmp_path / "broker" / f"{topic}-0").glob("*.log")):
        segment.write_bytes(b"".join(next(rest).encode() for _ in spans_of(bytearray(segment.read_bytes()))))

    report = run([tmp_path / "broker"])

    found = [each for each in described(report) if not each.startswith("undecided")]
    assert len(found) == 1, found
    assert f" {topic}-0@" in found[0]
    assert report.damage == ()
