"""Every kind of file in a log directory: what is parsed is written again, and what is damaged has a name."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.log import checkpoint_file, file_names, snapshot_file, sparse_index, txn_index
from reference.log.damage import DamagedFile, FileDamage
from reference.log.file_names import TEMPORARY
from reference.log.producer_entry import CachedBatch, ProducerEntry
from reference.log.reader import read_batches
from reference.log.txn_index import AbortedTxn
from spec.vocabulary import CoordinatorEpoch, Epoch, Offset, ProducerId, Sequence, Timestamp

TWICE: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".log": lambda data: b"".join(found.batch.encode() for found in read_batches(data)),  # type: ignore[union-attr]
    ".index": lambda data: sparse_index.decode_offsets(data).encode(),
    ".timeindex": lambda data: sparse_index.decode_times(data).encode(),
    ".txnindex": lambda data: txn_index.encode(txn_index.decode(data)),
    ".snapshot": lambda data: snapshot_file.encode(snapshot_file.decode(data)),
    "leader-epoch-checkpoint": lambda data: checkpoint_file.encode_epochs(checkpoint_file.decode_epochs(data)),
    "partition.metadata": lambda data: file_names.decode_partition_metadata(data).encode(),
    "meta.properties": lambda data: file_names.decode_properties(data).encode(),
    "quorum-state": lambda data: file_names.encode_json(file_names.decode_json(data)),
    ".kafka_cleanshutdown": lambda data: file_names.encode_json(file_names.decode_json(data)),
    **{
        name: lambda data: checkpoint_file.encode_offsets(checkpoint_file.decode_offsets(data))
        for name in checkpoint_file.OFFSET_CHECKPOINTS
    },
}
"""What parsing and writing make of a file of each kind."""

TWICE["bootstrap.checkpoint"] = TWICE[".log"]

INDEX: Final = bytes.fromhex("00000019 00001010 00000034 00002024".replace(" ", ""))
TIMES: Final = bytes.fromhex("000001a1fcbe6ff5 00000019 000001a1fcbe7023 00000034".replace(" ", ""))
ABORTED: Final = txn_index.encode([AbortedTxn(ProducerId(7), Offset(3), Offset(9), Offset(10))])
SNAPSHOT: Final = snapshot_file.encode({ProducerId(7): ProducerEntry(Epoch(1), last_timestamp=Timestamp(5))})
EPOCHS: Final = b"0\n2\n0 0\n3 17\n"
OFFSETS: Final = b"0\n2\norders 0 12\nplain 1 7\n"


def kind_of(path: Path) -> str:
    name = path.name
    for suffix in TEMPORARY:
        name = name.removesuffix(suffix)
    return Path(name).suffix if name[0].isdigit() else name


def test_every_recorded_file_is_written_again_byte_for_byte(recorded_files: list[Path]) -> None:
    """Parsing and writing gives the same bytes for every file that the brokers left, of every kind."""
    kinds = Counter(kind_of(path) for path in recorded_files)

    different = [path.name for path in recorded_files if path.read_bytes() != TWICE[kind_of(path)](path.read_bytes())]

    assert [] == different
    assert set(TWICE) == set(kinds)
    assert kinds[".log"] > 150 < kinds[".snapshot"]


DAMAGED: Final = [
    pytest.param(sparse_index.decode_offsets, INDEX[:-1], FileDamage.LENGTH, 8, id="index ends inside an entry"),
    pytest.param(sparse_index.decode_offsets, INDEX + INDEX, FileDamage.ORDER, 16, id="index falls"),
    pytest.param(sparse_index.decode_offsets, b"\xff" * 8, FileDamage.RANGE, 0, id="index is negative"),
    pytest.param(sparse_index.decode_times, TIMES[:-1], FileDamage.LENGTH, 12, id="time index ends inside an entry"),
    pytest.param(sparse_index.decode_times, TIMES + TIMES, FileDamage.ORDER, 24, id="time index falls"),
    pytest.param(sparse_index.decode_times, b"\xff" * 12, FileDamage.RANGE, 0, id="time index is negative"),
    pytest.param(txn_index.decode, ABORTED[:-1], FileDamage.LENGTH, 0, id="txnindex ends inside an entry"),
    pytest.param(txn_index.decode, b"\x01" + ABORTED[1:], FileDamage.VERSION, 0, id="txnindex version"),
    pytest.param(txn_index.decode, ABORTED + ABORTED, FileDamage.ORDER, 34, id="txnindex repeats"),
    pytest.param(snapshot_file.decode, SNAPSHOT[:9], FileDamage.LENGTH, 9, id="snapshot without header"),
    pytest.param(snapshot_file.decode, b"\x00\x02" + SNAPSHOT[2:], FileDamage.VERSION, 0, id="snapshot version"),
    pytest.param(snapshot_file.decode, SNAPSHOT[:-1], FileDamage.CHECKSUM, 2, id="snapshot is cut"),
    pytest.param(snapshot_file.decode, SNAPSHOT[:-1] + b"\x01", FileDamage.CHECKSUM, 2, id="snapshot is changed"),
    pytest.param(checkpoint_file.decode_epochs, EPOCHS[:-1], FileDamage.LENGTH, 3, id="checkpoint is cut in a line"),
    pytest.param(checkpoint_file.decode_epochs, EPOCHS[:8], FileDamage.LENGTH, 1, id="checkpoint is cut"),
    pytest.param(checkpoint_file.decode_epochs, b"1" + EPOCHS[1:], FileDamage.VERSION, 0, id="checkpoint version"),
    pytest.param(checkpoint_file.decode_epochs, b"0\n1\nx 0\n", FileDamage.FORM, 2, id="epoch is no number"),
    pytest.param(checkpoint_file.decode_epochs, b"0\n1\n5\n", FileDamage.FORM, 2, id="epoch without start"),
    pytest.param(checkpoint_file.decode_offsets, b"0\n1\nt 0 0x1\n", FileDamage.FORM, 2, id="offset is no number"),
    pytest.param(checkpoint_file.decode_offsets, b"0\n1\n\xff 0 1\n", FileDamage.FORM, 4, id="checkpoint is no text"),
    pytest.param(file_names.decode_partition_metadata, b"version: 1\n", FileDamage.VERSION, 0, id="metadata"),
    pytest.param(file_names.decode_partition_metadata, b"version: 0\n", FileDamage.FORM, 1, id="no topic id"),
    pytest.param(file_names.decode_properties, b"a=1\nb\n", FileDamage.FORM, 1, id="properties"),
    pytest.param(file_names.decode_json, b"[", FileDamage.FORM, 0, id="json"),
    pytest.param(file_names.decode_json, b"[]", FileDamage.FORM, 0, id="json of another kind"),
]


@pytest.mark.parametrize(("decode", "data", "damage", "position"), DAMAGED)
def test_damage_is_named(decode: Callable[[bytes], object], data: bytes, damage: FileDamage, position: int) -> None:
    """A damaged file is one error that has what is wrong and where."""
    with pytest.raises(DamagedFile) as found:
        decode(data)

    assert (damage, position) == (found.value.damage, found.value.position)


DECODERS: Final = (
    (sparse_index.decode_offsets, INDEX),
    (sparse_index.decode_times, TIMES),
    (txn_index.decode, ABORTED),
    (snapshot_file.decode, SNAPSHOT),
    (checkpoint_file.decode_epochs, EPOCHS),
    (checkpoint_file.decode_offsets, OFFSETS),
    (file_names.decode_json, b'{"version":0}'),
    (file_names.decode_properties, b"#x\na=1\n"),
    (file_names.decode_partition_metadata, b"version: 0\ntopic_id: igWTohkMSU2PxPwMkYBp_A"),
)


@given(st.sampled_from(DECODERS), st.integers(0, 60), st.binary(max_size=8), st.booleans())
def test_no_bytes_break_a_reader(
    case: tuple[Callable[[bytes], object], bytes], position: int, change: bytes, cut: bool
) -> None:
    """Whatever overwrites a part of a file, its reader answers or names the damage."""
    decode, data = case
    damaged = data[:position] + change + (b"" if cut else data[position + len(change) :])
    with suppress(DamagedFile):
        decode(damaged)


def test_a_preallocated_index_keeps_its_size() -> None:
    """Zeroes behind the last entry are no entries, and are written again."""
    index = sparse_index.decode_offsets(INDEX + bytes(80))
    times = sparse_index.decode_times(TIMES + bytes(120))

    assert (2, 10) == (len(index.entries), index.unused)
    assert (2, 10) == (len(times.entries), times.unused)
    assert INDEX + bytes(80) == index.encode()


def test_a_checkpoint_that_was_never_written_is_empty() -> None:
    """An empty file is not one with an empty list."""
    assert checkpoint_file.decode_offsets(b"") is None
    assert () == checkpoint_file.decode_offsets(b"0\n0\n")
    assert (b"", b"0\n0\n") == (checkpoint_file.encode_epochs(None), checkpoint_file.encode_epochs(()))


def test_a_snapshot_keeps_the_newest_batch() -> None:
    """Of the cached batches one is kept; its time becomes the producer's, which a marker may have moved."""
    batches = tuple(CachedBatch(Sequence(n), Offset(n), 0, Timestamp(n)) for n in (4, 5))
    entry = ProducerEntry(Epoch(3), CoordinatorEpoch(2), Timestamp(9), Offset(4), batches)

    restored = snapshot_file.decode(snapshot_file.encode({ProducerId(1): entry}))

    newest = CachedBatch(Sequence(5), Offset(5), 0, Timestamp(9))
    assert {1: entry._replace(batches=(newest,))} == restored


def test_producers_come_in_the_order_of_javas_hash_table() -> None:
    """By bucket; more than twelve need a larger table; in one bucket the first known comes first."""
    entry = ProducerEntry()
    few = {ProducerId(pid): entry for pid in (2002, 1, 2, 1002)}
    many = {ProducerId(pid): entry for pid in (*range(1024, 1036), 16, 15)}

    assert [1, 2002, 2, 1002] == snapshot_file.in_hash_order(few)
    assert [*range(1024, 1036), 15, 16] == snapshot_file.in_hash_order(many)
