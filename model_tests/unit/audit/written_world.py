"""The log directories that the brokers of a simulated world leave behind, written with the reference's files."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Final

from reference.broker.transaction_api import OFFSETS_TOPIC
from reference.event import NO_FAULTS, FaultRates
from reference.log.batch import RecordBatch
from reference.log.checkpoint_file import CLEANED, HIGH_WATERMARKS, LOG_STARTS, PartitionOffset, encode_offsets
from reference.log.config import LogConfig
from reference.log.disk_partition import DiskPartition
from reference.log.file_names import Properties
from reference.log.record import encode_records
from reference.recording.trace import ADMIN
from reference.simulate.schedule_transactions import TransactionScheduler, drawn_world
from reference.tape import Tape
from reference.world.transaction_world import TransactionWorld
from spec.versions import NEWEST, Profile
from spec.vocabulary import Offset, Timestamp

SEGMENT_BYTES: Final = 700
CLEANED_EVERY: Final = 9
"""Batches between two passes of the cleaner."""

TRANSACTIONS_TOPIC: Final = "__transaction_state"
Name = tuple[str, int]


def clean_worlds(profile: Profile, faults: FaultRates, turns: int) -> Iterator[TransactionWorld]:
    """Worlds in which no operator ended a transaction by hand and no election was unclean, by rising seeds."""
    for seed in count():
        world = run_world(seed, profile, turns, faults)
        if is_clean(world):
            yield world


def is_clean(world: TransactionWorld) -> bool:
    """Whether no transaction was ended by hand and no election was unclean; what was recorded is forgotten."""
    reported = [(row["api"], row["client"]) for row in world.recorder.rows]
    world.recorder.forget()
    return not any(api == "UncleanLeaderElection" or (api, who) == ("WriteTxnMarkers", ADMIN) for api, who in reported)


def run_world(seed: int, profile: Profile, turns: int, faults: FaultRates) -> TransactionWorld:
    """A world of transactions after so many turns of its scheduler."""
    tape = Tape.seeded(seed)
    world = drawn_world(profile, tape, faults, seed)
    scheduler = TransactionScheduler(world, tape, faults)
    for _ in range(turns):
        scheduler.turn()
    return world


def written_where(shows: Callable[[Path], bool], directory: Path) -> Path:
    """The first broker of the first world, by rising seeds, whose directory shows something.

    Raises:
        LookupError: none of a hundred worlds does.
    """
    for seed in range(100):
        broker = write_world(run_world(seed, NEWEST, 300, NO_FAULTS), directory / str(seed))[0]
        if shows(broker):
            return broker
    raise LookupError(shows.__doc__ or shows)


def upgraded_worlds(old: Profile, new: Profile, turns: int, faults: FaultRates) -> Iterator[TransactionWorld]:
    """Clean worlds whose brokers and clients all come to another release in the middle, by rising seeds."""
    for seed in count():
        tape = Tape.seeded(seed)
        world = drawn_world(old, tape, faults, seed)
        scheduler = TransactionScheduler(world, tape, faults)
        for profile in (old, new):
            _run_as(world, profile)
            _run_as(scheduler, profile)
            for _ in range(turns):
                scheduler.turn()
        if is_clean(world):
            yield world


def _run_as(whole: object, profile: Profile) -> None:
    """Give everything of the reference that is in this its new release."""
    seen, waiting = set[int](), [whole]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, str | bytes | int):
            continue
        seen.add(id(one))
        if isinstance(one, Mapping):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            waiting += one
        waiting += [one.__self__] if hasattr(one, "__self__") else []
        for name in _fields(one) if type(one).__module__.startswith("reference") else ():
            value = getattr(one, name)
            if isinstance(value, Profile):
                object.__setattr__(one, name, profile)
            else:
                waiting.append(value)


def _fields(one: object) -> list[str]:
    slots = (name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ()))
    return [name for name in (*getattr(one, "__dict__", ()), *slots) if hasattr(one, name)]


def write_world(world: TransactionWorld, directory: Path, *, cleaned: bool = False) -> list[Path]:
    """The directories of all brokers with data; the logs of coordinators are in the first."""
    brokers = []
    for node in range(world.shape.replicas):
        broker = directory / f"broker-{node}"
        replicas = {
            (name.topic, name.partition): each.replicas[node] for name, each in world.brokers.partitions.items()
        }
        logs = {name: tuple(one.log) for name, one in replicas.items()}
        watermarks = {name: int(one.high_watermark) for name, one in replicas.items()}
        starts = {name: int(one.log_start) for name, one in replicas.items()}
        if node == 0:
            logs |= {(TRANSACTIONS_TOPIC, n): tuple(log) for n, log in enumerate(world.brokers.log.partitions)}
            offsets = world.brokers.offsets.partitions
            logs |= {(OFFSETS_TOPIC, number): tuple(one.log) for number, one in enumerate(offsets)}
        write_broker(broker, node, world.profile, logs, starts, watermarks, cleaned=cleaned)
        brokers.append(broker)
    return brokers


def write_broker(
    broker: Path,
    node: int,
    profile: Profile,
    logs: Mapping[Name, Iterable[RecordBatch]],
    starts: Mapping[Name, int],
    watermarks: Mapping[Name, int],
    *,
    cleaned: bool = False,
) -> None:
    """One broker's log directory: every log in small segments, `cleaned` now and then, and the checkpoints beside."""
    broker.mkdir(parents=True)
    meta = Properties(("#", "#"), {"broker.id": str(node), "version": "0", "cluster.id": "simulated"})
    (broker / "meta.properties").write_bytes(meta.encode())
    clean_to: dict[Name, int] = {}
    for (topic, number), batches in logs.items():
        folder, start = broker / f"{topic}-{number}", starts.get((topic, number), 0)
        clean_to[topic, number] = write_log(folder, profile, tuple(batches), start, cleaned=cleaned)
    reported_by = {LOG_STARTS: starts, HIGH_WATERMARKS: watermarks} | ({CLEANED: clean_to} if cleaned else {})
    for name, reported in reported_by.items():
        lines = [
            PartitionOffset(topic, number, Offset(offset)) for (topic, number), offset in reported.items() if offset
        ]
        (broker / name).write_bytes(encode_offsets(lines))


def write_log(
    folder: Path, profile: Profile, batches: tuple[RecordBatch, ...], log_start: int, *, cleaned: bool = False
) -> int:
    """One log as a follower writes it, from the batch that holds the log start on; up to where it was cleaned."""
    config = LogConfig(
        segment_bytes=SEGMENT_BYTES, index_interval_bytes=100, segment_index_bytes=240, delete_retention_ms=3000
    )
    first = min(log_start, batches[0].base_offset) if batches else log_start
    partition = DiskPartition(folder, profile, config, leads=False, log_start=first)
    clean_to = now = 0
    for number, batch in enumerate(batches, start=1):
        partition.replicate(_keyed(batch) if cleaned else batch)
        partition.advance_high_watermark(partition.log_end)
        now = max(now, batch.max_timestamp)
        if cleaned and (number % CLEANED_EVERY == 0 or number == len(batches)):
            clean_to = partition.clean(Timestamp(now), clean_to).end
    partition.close()
    return clean_to


def _keyed(batch: RecordBatch) -> RecordBatch:
    """The batch with keys that come again, and a tombstone now and then, where its records have none."""
    if batch.is_control or not batch.record_count:
        return batch
    offsets = range(batch.base_offset, batch.last_offset + 1)
    records = [
        record if record.key is not None else record._replace(key=b"%d" % (at % 5), value=b"v" if at % 7 else None)
        for at, record in zip(offsets, batch.records(), strict=True)
    ]
    return batch._replace(body=encode_records(records))
