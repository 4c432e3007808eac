"""The directories that real brokers left: what is derived from their logs is what they wrote beside them."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from model_tests.audit.recorded import KAFKA_3_9, KAFKA_4_0
from reference.log import file_names, snapshot_file, sparse_index
from reference.log.batch import COMPRESSION
from reference.log.config import DEFAULT
from reference.log.producer_state import ProducerState
from reference.log.reader import Placed
from reference.log.recovery import recover
from reference.log.segment import Segment
from reference.log.snapshot_file import Snapshots
from reference.log.state_loading import StateLoader
from spec import versions
from spec.versions import Profile
from spec.vocabulary import NO_OFFSET, Offset, Timestamp

PROFILES: Final = {KAFKA_3_9: versions.KAFKA_3_9, KAFKA_4_0: versions.SNAPSHOT_4_0}
COMPACTED: Final = "ledger"
"""Its segments were cleaned after their snapshots and indexes had been written: these name batches that are gone."""

DERIVED: Final = (file_names.INDEX, file_names.TIME_INDEX, file_names.TXN_INDEX)
OTHER_INDEXES: Final = {
    KAFKA_3_9: {
        # The broker was stopped while these segments were active: it counted the bytes since the last entry anew,
        # and closing left an entry for the latest timestamp.
        *(f"{topic}-{number}" for topic in ("audit", "crash", "payments") for number in range(3)),
        *(f"__transaction_state-{number}" for number in range(4)),
        "__cluster_metadata-0",
        "out-1",
    },
    KAFKA_4_0: set(),
}
"""Partitions of which an index is sparser or fuller than the log itself implies."""


@pytest.fixture(scope="module", params=[KAFKA_3_9, KAFKA_4_0])
def recording(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def partitions(recordings: Path, recording: str) -> list[Path]:
    return sorted(path.parent for path in (recordings / recording).glob(f"*/{0:020d}.log"))


@pytest.fixture
def profile(recording: str) -> Profile:
    return PROFILES[recording]


def names(directory: Path, suffix: str) -> list[Path]:
    return list(file_names.files_of(directory, suffix).values())


def copies(partitions: list[Path], into: Path) -> Iterator[tuple[Path, Path]]:
    """Each partition and a copy of it, without the files that the broker was about to delete."""
    for partition in partitions:
        ignored = shutil.ignore_patterns(f"*{file_names.DELETED}")
        yield partition, Path(shutil.copytree(partition, into / partition.name, ignore=ignored))


def test_every_compressed_batch_is_read(partitions: list[Path]) -> None:
    """The clients' own compressions decode to as many records as the headers say."""
    read = [
        (len(found.batch.records()), found.batch.record_count)
        for partition in partitions
        for base in file_names.files_of(partition, file_names.LOG)
        for found in batches_of(partition, base)
        if found.batch.attributes & COMPRESSION
    ]

    assert len(read) > 700
    assert [] == [pair for pair in read if pair[0] != pair[1]]


def test_what_a_clean_stop_left_is_not_changed(partitions: list[Path], profile: Profile, tmp_path: Path) -> None:
    """Opening and closing a partition leaves log and indexes byte for byte; only stray snapshots go."""
    for partition, copy in copies(partitions, tmp_path):
        recovered = recover(copy, profile, clean=True)
        recovered.log.close()

        assert () == recovered.repairs
        kept = [path for suffix in (file_names.LOG, *DERIVED) for path in names(partition, suffix)]
        assert [] == [path for path in kept if path.read_bytes() != (copy / path.name).read_bytes()]
        assert set(names(copy, file_names.SNAPSHOT)) <= {copy / p.name for p in names(partition, file_names.SNAPSHOT)}
        last = names(partition, file_names.SNAPSHOT)[-1:]
        assert [] == [path for path in last if path.read_bytes() != snapshot_file.encode(recovered.state.producers)]


def test_indexes_are_derived_from_the_log(
    partitions: list[Path], profile: Profile, recording: str, tmp_path: Path
) -> None:
    """Without them, recovery writes the brokers' own indexes and aborted transactions, byte for byte."""
    derived, other = 0, set()
    for partition, copy in copies(partitions, tmp_path):
        if partition.name.startswith(COMPACTED):
            continue
        for suffix in DERIVED:
            for path in names(copy, suffix):
                path.unlink()

        recover(copy, profile).log.close()

        for suffix in DERIVED:
            paths = names(partition, suffix)
            different = [path for path in paths if path.read_bytes() != (copy / path.name).read_bytes()]
            derived += len(paths) - len(different)
            assert suffix != file_names.TXN_INDEX or not different
            other |= {path.parent.name for path in different}

    assert other <= OTHER_INDEXES[recording]
    assert derived > 100


def test_every_index_entry_points_to_a_batch(partitions: list[Path]) -> None:
    """Also where a broker's index is not what the log alone implies."""
    for partition in partitions:
        for base, path in file_names.files_of(partition, file_names.INDEX).items():
            starts = {placed.position: placed.batch for placed in batches_of(partition, base)}

            for relative, position in sparse_index.decode_offsets(path.read_bytes()).entries:
                assert starts[position].last_offset <= base + relative


def test_producer_state_is_derived_from_the_log(partitions: list[Path], profile: Profile) -> None:
    """From each snapshot and the log behind it comes the next snapshot, byte for byte."""
    compared = 0
    for partition in partitions:
        if partition.name.startswith(COMPACTED):
            continue
        offsets = list(file_names.files_of(partition, file_names.SNAPSHOT))
        for before, offset in zip([NO_OFFSET, *offsets], offsets, strict=False):
            state = state_at(partition, profile, before, offset)
            recorded = file_names.path_of(partition, offset, file_names.SNAPSHOT).read_bytes()

            assert recorded == snapshot_file.encode(state.producers), (partition.name, offset)
            compared += 1

    assert compared >= 20


def state_at(partition: Path, profile: Profile, before: Offset, offset: Offset) -> ProducerState:
    """The state at an offset, from the snapshot `before` it, or from the log's start."""
    loader = StateLoader(ProducerState(profile), Snapshots(partition), Timestamp(0))
    loader.start(Offset(0), before)
    for base in file_names.files_of(partition, file_names.LOG):
        if base < offset:
            loader.replay(batches_of(partition, base), offset)
    return loader.state


def batches_of(partition: Path, base: Offset) -> list[Placed]:
    segment = Segment(partition, base, DEFAULT)
    placed = [found for found in segment.found_from() if isinstance(found, Placed)]
    segment.release()
    return placed
