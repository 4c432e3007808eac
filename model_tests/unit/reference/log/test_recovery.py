import shutil
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model_tests.unit.support.recovered_logs import PROFILE, SMALL, data, newest, written
from reference.errors import Refusal
from reference.log import checkpoint_file, file_names, sparse_index
from reference.log.batch import RecordBatch
from reference.log.damage import RepairKind
from reference.log.disk_partition import DiskPartition
from reference.log.producer_state import ProducerState
from reference.log.reader import intact_batches
from reference.log.recovery import Recovered, recover
from spec.versions import NEWEST, Profile
from spec.vocabulary import LeaderEpoch, Timestamp

HEADER: Final = 61
"""Bytes of a batch before its records."""


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("stopped")
    written(directory).close()
    return directory


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("crashed")
    written(directory).crash()
    return directory


@pytest.fixture
def left(crashed: Path, tmp_path: Path) -> Path:
    """A copy of what the crash left, to be damaged."""
    return Path(shutil.copytree(crashed, tmp_path / "t-0"))


def opened(directory: Path, *, clean: bool = False, profile: Profile = PROFILE) -> Recovered:
    recovered = recover(directory, profile, SMALL, clean=clean)
    recovered.log.release()
    return recovered


def followed(batches: tuple[RecordBatch, ...]) -> ProducerState:
    state = ProducerState(PROFILE)
    state.rebuild(batches, Timestamp(0))
    return state


def kinds(recovered: Recovered) -> list[RepairKind]:
    return [repair.kind for repair in recovered.repairs]


def logs(directory: Path) -> list[Path]:
    return list(file_names.files_of(directory, file_names.LOG).values())


def whole_log(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in logs(directory))


def indexes(directory: Path) -> dict[str, bytes]:
    suffixes = (file_names.INDEX, file_names.TIME_INDEX, file_names.TXN_INDEX)
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.suffix in suffixes}


def test_a_clean_stop_loses_nothing(stopped: Path, tmp_path: Path) -> None:
    """Log, indexes and state are there again; of each producer one batch is known."""
    directory = Path(shutil.copytree(stopped, tmp_path / "t-0"))

    partition = DiskPartition(directory, PROFILE, SMALL, clean=True)
    batches = partition.disk.batches
    partition.close()

    assert () == partition.repairs
    assert newest(followed(batches)) == newest(partition.state)
    assert {1} == {len(entry.batches) for entry in partition.state.producers.values()}
    assert (whole_log(stopped), indexes(stopped)) == (whole_log(directory), indexes(directory))


def test_a_crash_between_appends_loses_nothing(left: Path, stopped: Path) -> None:
    """Everything written is found, the indexes are derived as they were, and the window of duplicates is one."""
    partition = DiskPartition(left, PROFILE, SMALL)
    batches = partition.disk.batches
    partition.close()

    assert () == partition.repairs
    assert newest(followed(batches)) == newest(partition.state)
    assert {1} == {len(entry.batches) for entry in partition.state.producers.values()}
    assert (whole_log(stopped), indexes(stopped)) == (whole_log(left), indexes(left))


def test_after_recovery_the_newest_batch_is_a_duplicate_and_an_older_is_not(left: Path) -> None:
    """A window of one: what was sent last may be sent again, what was sent before is out of order."""
    partition = DiskPartition(left, PROFILE, SMALL)

    assert partition.append(data(1, 14)).duplicate
    with pytest.raises(Refusal, match="OUT_OF_ORDER"):
        partition.append(data(1, 12))
    partition.crash()


@settings(max_examples=40)
@given(st.data())
def test_a_crash_at_any_byte_leaves_a_prefix(
    crashed: Path, tmp_path_factory: pytest.TempPathFactory, choice: st.DataObject
) -> None:
    """The log ends before the first batch that is not whole; state and aborted transactions are those of the rest."""
    directory = Path(shutil.copytree(crashed, tmp_path_factory.mktemp("cut") / "t-0"))
    before = whole_log(directory)
    segments = logs(directory)
    last = choice.draw(st.integers(0, len(segments) - 1))
    for path in segments[last + 1 :]:
        path.unlink()
    os_truncate(segments[last], choice.draw(st.integers(0, segments[last].stat().st_size)))
    for lost in choice.draw(st.sets(st.sampled_from(sorted(directory.glob("*.snapshot"))))):
        lost.unlink()

    recovered = recover(directory, PROFILE, SMALL)

    batches = recovered.log.batches
    recovered.log.release()
    assert before.startswith(whole_log(directory))
    assert newest(followed(batches)) == newest(recovered.state)
    assert followed(batches).ongoing == recovered.state.ongoing
    assert aborted_in(batches) == [txn.last_offset for segment in recovered.log.segments for txn in segment.aborted]


@settings(max_examples=40)
@given(st.data())
def test_any_damage_is_survived(crashed: Path, tmp_path_factory: pytest.TempPathFactory, choice: st.DataObject) -> None:
    """Bytes changed anywhere in any file: recovery ends, invents no batch, and what it opens can be appended to."""
    directory = Path(shutil.copytree(crashed, tmp_path_factory.mktemp("damaged") / "t-0"))
    written_batches = set(recovered_batches(crashed))
    path = choice.draw(st.sampled_from(sorted(directory.iterdir())))
    content = bytearray(path.read_bytes())
    position = choice.draw(st.integers(0, max(0, len(content) - 1)))
    content[position : position + 4] = choice.draw(st.binary(min_size=1, max_size=4))
    path.write_bytes(content)

    recovered = recover(directory, NEWEST, SMALL, clean=choice.draw(st.booleans()))

    log = recovered.log
    # The base offset and the leader epoch are not under the checksum.
    assert {batch[2:] for batch in log} <= {batch[2:] for batch in written_batches}
    log.append(data(9, 0).at(log.log_end, LeaderEpoch(0)))
    assert 9 == log.read(log.log_end - 1, log.log_end)[-1].producer_id
    log.release()


def test_a_batch_that_is_cut_is_dropped_by_name(left: Path) -> None:
    """The result names the file that was cut, where, and why."""
    path = logs(left)[-1]
    os_truncate(path, path.stat().st_size - 1)

    repairs = opened(left).repairs

    assert [(RepairKind.CUT_SEGMENT, path.name)] == [repair[:2] for repair in repairs]
    assert "truncated" in repairs[0].detail


def test_what_follows_a_damaged_batch_goes(left: Path) -> None:
    """Segments behind a cut are removed: the log has no hole."""
    paths = logs(left)
    content = bytearray(paths[1].read_bytes())
    content[-1] ^= 1
    paths[1].write_bytes(content)

    recovered = opened(left)

    expected = [RepairKind.CUT_SEGMENT] + [RepairKind.REMOVED_SEGMENT] * (len(paths) - 2)
    assert expected == kinds(recovered)
    assert paths[:2] == logs(left)
    assert max(recovered.log.snapshots.offsets()) == recovered.log.log_end


def test_offsets_that_fall_end_the_log(left: Path) -> None:
    """The checksum does not cover the base offset: a batch that claims an earlier one is not believed."""
    path = logs(left)[-1]
    content = bytearray(path.read_bytes())
    content[0:8] = bytes(8)
    path.write_bytes(content)

    recovered = opened(left)

    assert [RepairKind.CUT_SEGMENT] == kinds(recovered)
    assert "is next" in recovered.repairs[0].detail


def test_flushed_segments_are_not_read_again(left: Path) -> None:
    """Below the recovery point the indexes are taken as they are; only the last segment is checked."""
    base = file_names.offset_in(logs(left)[-1])
    assert base is not None

    recovered = recover(left, PROFILE, SMALL, recovery_point=base)
    recovered.log.release()

    assert 0 < recovered.replayed < 10
    assert newest(followed(recovered_batches(left))) == newest(recovered.state)


def test_a_clean_start_reads_only_what_is_behind_the_last_entry_of_an_index(stopped: Path, tmp_path: Path) -> None:
    """What lies before it is as it was when the log was closed, and is not looked at."""
    directory = Path(shutil.copytree(stopped, tmp_path / "t-0"))
    log = logs(directory)[0]
    first, *_, last = sparse_index.decode_offsets(log.with_suffix(file_names.INDEX).read_bytes()).entries
    damaged = bytearray(log.read_bytes())
    damaged[first.position + HEADER] ^= 1
    log.write_bytes(damaged)

    recovered = opened(directory, clean=True)

    assert first.position < last.position
    assert [] == kinds(recovered)


def test_a_segment_without_entries_in_its_index_is_read_from_its_start(tmp_path: Path) -> None:
    """One batch of one record is too little for an entry."""
    partition = DiskPartition(tmp_path / "t-0", PROFILE, SMALL)
    partition.append(data(1, 0, count=1))
    partition.close()

    recovered = opened(tmp_path / "t-0", clean=True)

    assert ([], 1) == (kinds(recovered), recovered.log.log_end)


@pytest.mark.parametrize("suffix", [file_names.INDEX, file_names.TIME_INDEX, file_names.TXN_INDEX])
@pytest.mark.parametrize("change", ["cut", "gone"])
def test_a_damaged_index_is_derived_anew(stopped: Path, tmp_path: Path, suffix: str, change: str) -> None:
    """Even after a clean stop: the segment whose index is missing or damaged is read, and the bytes come back."""
    directory = Path(shutil.copytree(stopped, tmp_path / "t-0"))
    path = next(path for path in file_names.files_of(directory, suffix).values() if path.stat().st_size)
    if change == "gone":
        path.unlink()
    else:
        os_truncate(path, path.stat().st_size - 1)

    recovered = opened(directory, clean=True)

    derived = [] if (suffix, change) == (file_names.TXN_INDEX, "gone") else [RepairKind.REBUILT_INDEX]
    assert derived == kinds(recovered)
    assert not derived or path.read_bytes() == (stopped / path.name).read_bytes()


def test_a_damaged_snapshot_makes_way_for_an_older_one(stopped: Path, tmp_path: Path) -> None:
    """The newest snapshot cannot be trusted: the one before it and the log give the same state."""
    directory = Path(shutil.copytree(stopped, tmp_path / "t-0"))
    newest_snapshot = max(directory.glob("*.snapshot"))
    newest_snapshot.write_bytes(b"\x00\x01" + bytes(8))

    recovered = opened(directory, clean=True)

    assert [(RepairKind.REMOVED_SNAPSHOT, newest_snapshot.name)] == [repair[:2] for repair in recovered.repairs]
    assert 0 < recovered.replayed < 10
    assert newest(followed(recovered_batches(directory))) == newest(recovered.state)
    assert (stopped / newest_snapshot.name).read_bytes() == newest_snapshot.read_bytes()


def test_without_snapshots_the_log_reports_all(left: Path) -> None:
    """After a crash no snapshot is needed as long as the log is whole."""
    for path in left.glob("*.snapshot"):
        path.unlink()

    recovered = opened(left)

    assert [] == kinds(recovered)
    assert newest(followed(recovered_batches(left))) == newest(recovered.state)


def test_a_clean_stop_without_snapshots_is_taken_for_an_upgrade(stopped: Path, tmp_path: Path) -> None:
    """Kafka then begins with empty snapshots and no state; here that is said."""
    directory = Path(shutil.copytree(stopped, tmp_path / "t-0"))
    for path in directory.glob("*.snapshot"):
        path.unlink()

    recovered = opened(directory, clean=True)

    assert [RepairKind.NO_STATE] == kinds(recovered)
    assert {} == recovered.state.producers
    assert list(directory.glob("*.snapshot"))


@pytest.mark.parametrize("clean", [True, False])
def test_no_message_left_means_no_state_and_a_warning(tmp_path: Path, clean: bool) -> None:
    """Retention has removed all: a snapshot at the log start does not count, and the producer is unknown again."""
    directory = tmp_path / "t-0"
    partition = DiskPartition(directory, PROFILE, SMALL._replace(retention_ms=0))
    for sequence in range(0, 40, 2):
        partition.append(data(1, sequence))
    partition.retain(Timestamp(10_000))
    assert (40, 40, 0) == (partition.log_start, partition.log_end, partition.disk.size)
    assert 38 == partition.state.entry(data(1, 0).producer_id).batches[-1].last_sequence - 1
    partition.close() if clean else partition.crash()

    again = DiskPartition(directory, PROFILE, SMALL, clean=clean, log_start=40)

    assert [RepairKind.NO_STATE] == [repair.kind for repair in again.repairs]
    assert {} == again.state.producers
    assert not again.append(data(1, 0)).duplicate
    again.crash()


def test_a_log_start_beyond_the_end_empties_the_log(left: Path) -> None:
    """DeleteRecords had passed what a crash then took: nothing that is left may be read."""
    recovered = recover(left, PROFILE, SMALL, log_start=1000)
    recovered.log.release()

    assert (1000, 1000) == (recovered.log.log_start, recovered.log.log_end)
    assert {RepairKind.REMOVED_SEGMENT, RepairKind.NO_STATE} == set(kinds(recovered))


def test_files_of_an_unfinished_cleaning_go(left: Path) -> None:
    """What was being deleted or cleaned is dropped; an index without a segment too."""
    for name in ("00000000000000000000.log.cleaned", "00000000000000000003.log.deleted", "00000000000000099999.index"):
        (left / name).write_bytes(b"x")

    recovered = opened(left)

    assert [RepairKind.REMOVED_TEMPORARY] * 2 + [RepairKind.REMOVED_ORPHAN] == kinds(recovered)


def test_a_swap_takes_the_place_of_what_it_was_made_of(left: Path) -> None:
    """A cleaning that was complete is ended: the segments that the cleaned one covers go."""
    paths = logs(left)
    joined = paths[0].read_bytes() + paths[1].read_bytes()
    Path(f"{paths[0]}.swap").write_bytes(joined)

    recovered = opened(left)

    assert [RepairKind.FINISHED_SWAP] == [kind for kind in kinds(recovered) if kind != RepairKind.REMOVED_ORPHAN]
    assert [paths[0], *paths[2:]] == logs(left)
    assert joined == paths[0].read_bytes()


def test_a_damaged_checkpoint_of_epochs_is_derived_from_the_log(left: Path) -> None:
    """The batches carry their leader epochs."""
    path = left / file_names.LEADER_EPOCHS
    path.write_bytes(b"0\n5\n")

    recovered = opened(left)

    assert [RepairKind.REBUILT_EPOCHS] == kinds(recovered)
    assert ((0, 0),) == checkpoint_file.decode_epochs(path.read_bytes())


def test_truncation_goes_back_to_a_snapshot(left: Path) -> None:
    """A follower's state after truncation is that of the rest of its log, in memory and on disk."""
    partition = DiskPartition(left, PROFILE, SMALL)

    partition.truncate(20, Timestamp(0))

    assert partition.log_end <= 20
    assert newest(followed(partition.disk.batches)) == newest(partition.state)
    assert [txn for txn in partition.aborted if txn.last_offset >= 20] == []
    partition.crash()
    again = DiskPartition(left, PROFILE, SMALL)
    assert newest(partition.state) == newest(again.state)
    assert list(partition.aborted) == list(again.aborted)
    again.crash()


def test_cleaning_does_not_forget_producers(left: Path) -> None:
    """After compaction and a crash without snapshots, the newest sequence of each producer is still known."""
    partition = DiskPartition(left, PROFILE, SMALL)
    known = {pid: entry.last_sequence for pid, entry in partition.state.producers.items()}

    partition.clean(Timestamp(0))

    assert partition.disk.size < sum(len(batch.encode()) for batch in recovered_batches(left)) + 1
    partition.crash()
    for path in left.glob("*.snapshot"):
        path.unlink()
    again = DiskPartition(left, PROFILE, SMALL)
    assert known == {pid: entry.last_sequence for pid, entry in again.state.producers.items()}
    again.crash()


def os_truncate(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)


def aborted_in(batches: tuple[RecordBatch, ...]) -> list[int]:
    state = ProducerState(PROFILE)
    return [txn.marker_offset for batch in batches for txn in state.replay(batch) if txn.aborted]


def recovered_batches(directory: Path) -> tuple[RecordBatch, ...]:
    return tuple(intact_batches(whole_log(directory)))
