"""Damaged directories before the reference's recovery: what stands is what was written, and its state is that of it."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Final

import crc32c
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from model_tests.unit.damages import ByteDamageKind, PlantedDamage, damaged, damages, first_changed, fuzzed
from model_tests.unit.support.recovered_logs import PROFILE, SMALL, data, newest, written
from reference.errors import Refusal
from reference.log import file_names
from reference.log.batch import CHECKED_FROM, HEADER_SIZE, PREFIX_SIZE, RecordBatch, marker_batch
from reference.log.damage import RepairKind
from reference.log.producer_state import ProducerState
from reference.log.reader import intact_batches
from reference.log.recovery import Recovered, recover
from spec.vocabulary import ControlType, LeaderEpoch, Offset, Timestamp

SHIFTING: Final = {
    ByteDamageKind.COPY,
    ByteDamageKind.INSERT,
    ByteDamageKind.REMOVE,
    ByteDamageKind.REPEAT,
    ByteDamageKind.SWAP,
}
"""Damages that can put a whole batch where another one was, or take it out. If offsets still ascend, the log looks like
a cleaned one; the same is true of a segment that is cut between two batches.
"""


def left_behind(*, clean: bool) -> dict[str, bytes]:
    """Every file of the directory that a stop or a crash left."""
    with tempfile.TemporaryDirectory() as scratch:
        partition = written(Path(scratch), rounds=4)
        partition.close() if clean else partition.crash()
        return {path.name: path.read_bytes() for path in sorted(Path(scratch).iterdir())}


FILES: Final = left_behind(clean=False)
STOPPED: Final = left_behind(clean=True)
LOGS: Final = [name for name in FILES if name.endswith(file_names.LOG)]
BATCHES: Final = [batch for name in LOGS for batch in intact_batches(FILES[name])]


def some_damaged(files: dict[str, bytes]) -> st.SearchStrategy[dict[str, list[PlantedDamage]]]:
    """Up to three of the files with something wrong."""
    one = st.one_of([st.tuples(st.just(name), damages(len(content), most=2)) for name, content in files.items()])
    return st.lists(one, min_size=1, max_size=3, unique_by=lambda wrong: wrong[0]).map(dict)


@contextmanager
def directory_of(files: dict[str, bytes]) -> Iterator[Path]:
    """A directory with these files."""
    directory = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        for name, content in files.items():
            (directory / name).write_bytes(content)
        yield directory
    finally:
        shutil.rmtree(directory)


def opened(directory: Path, *, clean: bool) -> tuple[Recovered, list[RecordBatch]]:
    """What recovery makes of the directory, and the batches that can be read then."""
    recovered = recover(directory, PROFILE, SMALL, clean=clean)
    batches = list(recovered.log.batches)
    recovered.log.release()
    return recovered, batches


def checked_part(batch: RecordBatch) -> RecordBatch:
    """A batch without what no checksum covers."""
    return batch.at(Offset(0), LeaderEpoch(0))


CHECKED_PARTS: Final = [checked_part(batch) for batch in BATCHES]


def written_before(files: dict[str, bytes]) -> list[RecordBatch]:
    """The batches before the first damaged byte of the log."""
    before: list[RecordBatch] = []
    for name in LOGS:
        changed = first_changed(FILES[name], files[name])
        before += intact_batches(files[name][:changed])
        if files[name] != FILES[name]:
            break
    return before


def spoiled(files: dict[str, bytes], wrong: dict[str, list[PlantedDamage]]) -> dict[str, bytes]:
    """All files, some of them damaged."""
    return {name: damaged(content, wrong.get(name, ())) for name, content in files.items()}


@fuzzed(share=0.4)
@given(some_damaged(FILES))
def test_after_a_crash_what_was_written_before_the_damage_stands(wrong: dict[str, list[PlantedDamage]]) -> None:
    """The log is what was written up to the damage, every byte that is gone is named, the state is that of the log."""
    files = spoiled(FILES, wrong)
    before = written_before(files)

    with directory_of(files) as directory:
        recovered, batches = opened(directory, clean=False)
        again, still = opened(directory, clean=False)

    assert batches[: len(before)] == before
    assert are_written(batches, files, wrong)
    assert newest(recovered.state) == newest(followed(batches))
    assert named(recovered) or sum(batch.size for batch in batches) == sum(len(files[name]) for name in LOGS)
    assert all(repair.file in files for repair in recovered.repairs if repair.kind is not RepairKind.NO_STATE)
    assert (still, newest(again.state)) == (batches, newest(recovered.state))
    assert not named(again)


@fuzzed(share=0.3)
@given(some_damaged(STOPPED))
def test_after_a_clean_stop_damage_beside_the_log_costs_no_batch(wrong: dict[str, list[PlantedDamage]]) -> None:
    """Where only indexes, snapshots or checkpoints are damaged, every offset is found; else what was written before."""
    files = spoiled(STOPPED, wrong)
    before = written_before(files)

    with directory_of(files) as directory:
        recovered = recover(directory, PROFILE, SMALL, clean=True)
        batches = list(recovered.log.batches)
        each = [recovered.log.read(batch.last_offset, batch.last_offset + 1)[0] for batch in before]
        recovered.log.release()

    assert batches[: len(before)] == before
    assert each == before
    assert all(checked_part(batch) in CHECKED_PARTS for batch in batches)
    changed = {name for name in files if files[name] != STOPPED[name]}
    repaired = {repair.file for repair in recovered.repairs if repair.kind is not RepairKind.NO_STATE}
    assert repaired <= (set(files) if changed & set(LOGS) else changed)


@pytest.mark.slow
@fuzzed(share=0.3)
@given(some_damaged({name: FILES[name] for name in LOGS}))
def test_damage_that_every_checksum_vouches_for_is_followed_or_cut(wrong: dict[str, list[PlantedDamage]]) -> None:
    """Strange headers and markers end the log or become part of it; a second recovery finds nothing more to do."""
    files = {name: resealed(content) if name in wrong else content for name, content in spoiled(FILES, wrong).items()}

    with directory_of(files) as directory:
        try:
            recovered, batches = opened(directory, clean=False)
        except Refusal:  # no replica follows such a log: a broker does not start with it either
            reject()
        again, still = opened(directory, clean=False)

    assert all(one.last_offset < two.base_offset for one, two in pairwise(batches))
    assert still == batches
    assert newest(again.state).items() <= newest(recovered.state).items()  # a time before all others has expired
    assert not named(again)


MARKER: Final = marker_batch(2, 0, ControlType.COMMIT, 0)
END: Final = BATCHES[-1].last_offset + 1


@pytest.mark.parametrize(
    ("strange", "why"),
    [
        (MARKER._replace(attributes=MARKER.attributes | 7), "no codec has the number 7"),
        (marker_batch(2, 0, ControlType.LEADER_CHANGE, 0), "control batch of type LEADER_CHANGE"),
        (MARKER._replace(record_count=-1), "a count of -1 records"),
        (data(1, 8)._replace(last_offset_delta=2**31 - 1), f"offsets {END} to {END + 2**31 - 1}"),
        (data(1, 8)._replace(last_offset_delta=-2), f"offsets {END} to {END - 2}"),
    ],
    ids=["codec", "control type", "count", "offsets too far apart", "offsets that fall"],
)
def test_a_strange_batch_with_a_sound_checksum_ends_the_log_by_name(strange: RecordBatch, why: str) -> None:
    """What no broker writes, or no broker of a version that is known: everything before it stands."""
    content = FILES[LOGS[-1]] + strange.at(Offset(END), LeaderEpoch(0)).encode()

    with directory_of({**FILES, LOGS[-1]: content}) as directory:
        recovered, batches = opened(directory, clean=False)

    assert batches == BATCHES
    (cut,) = recovered.repairs
    assert (cut.kind, cut.file) == (RepairKind.CUT_SEGMENT, LOGS[-1])
    assert f"at {len(FILES[LOGS[-1]])}: " in cut.detail
    assert why in cut.detail


@pytest.mark.parametrize("name", [LOGS[-1], LOGS[0]], ids=["falls", "reaches into the next segment"])
def test_a_tail_that_is_not_where_it_belongs_is_checked_after_a_clean_stop_too(name: str) -> None:
    """A base offset lies outside the checksum: where it does not fit, the batch goes and all before it is read."""
    *_, last = intact_batches(STOPPED[name])
    offset = last.base_offset - 1 if name == LOGS[-1] else last.base_offset + 1
    content = STOPPED[name][: -last.size] + last.at(Offset(offset), last.leader_epoch).encode()

    with directory_of({**STOPPED, name: content}) as directory:
        recovered, batches = opened(directory, clean=True)

    assert batches == BATCHES[: BATCHES.index(last)]
    assert newest(recovered.state) == newest(followed(batches))
    assert (RepairKind.CUT_SEGMENT, name) in [(repair.kind, repair.file) for repair in recovered.repairs]


def resealed(content: bytes) -> bytes:
    """The bytes with a checksum that fits for every batch that a length leads to."""
    sealed = bytearray(content)
    position = 0
    while position + HEADER_SIZE <= len(sealed):
        end = position + PREFIX_SIZE + int.from_bytes(sealed[position + 8 : position + PREFIX_SIZE], "big", signed=True)
        if end < position + HEADER_SIZE:
            break
        checksum = crc32c.crc32c(bytes(sealed[position + CHECKED_FROM : end]))
        sealed[position + CHECKED_FROM - 4 : position + CHECKED_FROM] = checksum.to_bytes(4, "big")
        position = end
    return bytes(sealed)


def are_written(batches: list[RecordBatch], files: dict[str, bytes], wrong: dict[str, list[PlantedDamage]]) -> bool:
    """Whether offsets ascend and nothing is there that was not written, nor missing between."""
    parts = [checked_part(batch) for batch in batches]
    ascend = all(one.last_offset < two.base_offset for one, two in pairwise(batches))
    shifted = any(damage.kind in SHIFTING for name in LOGS for damage in wrong.get(name, ()))
    if shifted or any(is_cut_between_batches(name, files[name]) for name in LOGS):
        return ascend and all(part in CHECKED_PARTS for part in parts)
    return ascend and parts == CHECKED_PARTS[: len(parts)]


def is_cut_between_batches(name: str, content: bytes) -> bool:
    return len(content) < len(FILES[name]) and sum(batch.size for batch in intact_batches(content)) == len(content)


def named(recovered: Recovered) -> list[str]:
    """What recovery reports as dropped from the log."""
    dropped = (RepairKind.CUT_SEGMENT, RepairKind.REMOVED_SEGMENT)
    return [repair.detail for repair in recovered.repairs if repair.kind in dropped]


def followed(batches: list[RecordBatch]) -> ProducerState:
    state = ProducerState(PROFILE)
    state.rebuild(batches, Timestamp(0))
    return state
