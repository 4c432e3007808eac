"""The log directories that the brokers of a simulated world leave behind, written with the reference's files."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Final

from reference.broker.transaction_api import OFFSETS_TOPIC
from reference.faults import Faults
from reference.log.batch import RecordBatch
from reference.log.checkpoint_file import HIGH_WATERMARKS, LOG_STARTS, PartitionOffset, encode_offsets
from reference.log.config import LogConfig
from reference.log.directory_files import Properties
from reference.log.disk_partition import DiskPartition
from reference.schedule_transactions import TransactionScheduler, drawn_world
from reference.tape import Tape
from reference.world.steps import ADMIN
from reference.world.transaction_world import TransactionWorld
from spec.versions import Profile
from spec.vocabulary import Offset

SEGMENT_BYTES: Final = 700
TRANSACTIONS_TOPIC: Final = "__transaction_state"
Name = tuple[str, int]


def clean_worlds(profile: Profile, faults: Faults, turns: int, first: int) -> Iterator[TransactionWorld]:
    """Worlds in which no operator ended a transaction by hand and no election was unclean, by rising seeds."""
    for seed in count(first):
        world = run_world(seed, profile, turns, faults)
        told = ((row["api"], row["client"]) for row in world.recorder.rows)
        clean = not any(api == "UncleanLeaderElection" or (api, who) == ("WriteTxnMarkers", ADMIN) for api, who in told)
        world.recorder.forget()
        if clean:
            yield world


def run_world(seed: int, profile: Profile, turns: int, faults: Faults) -> TransactionWorld:
    """A world of transactions after so many turns of its scheduler."""
    tape = Tape.seeded(seed)
    world = drawn_world(profile, tape, faults, seed)
    scheduler = TransactionScheduler(world, tape, faults)
    for _ in range(turns):
        scheduler.turn()
    return world


def write_world(world: TransactionWorld, directory: Path) -> list[Path]:
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
        write_broker(broker, node, world.profile, logs, starts, watermarks)
        brokers.append(broker)
    return brokers


def write_broker(
    broker: Path,
    node: int,
    profile: Profile,
    logs: Mapping[Name, Iterable[RecordBatch]],
    starts: Mapping[Name, int],
    watermarks: Mapping[Name, int],
) -> None:
    """One broker's log directory: every log in small segments, and the checkpoints beside them."""
    broker.mkdir(parents=True)
    meta = Properties(("#", "#"), {"broker.id": str(node), "version": "0", "cluster.id": "simulated"})
    (broker / "meta.properties").write_bytes(meta.encode())
    for (topic, number), batches in logs.items():
        write_log(broker / f"{topic}-{number}", profile, tuple(batches), starts.get((topic, number), 0))
    for name, told in ((LOG_STARTS, starts), (HIGH_WATERMARKS, watermarks)):
        lines = [PartitionOffset(topic, number, Offset(offset)) for (topic, number), offset in told.items() if offset]
        (broker / name).write_bytes(encode_offsets(lines))


def write_log(folder: Path, profile: Profile, batches: tuple[RecordBatch, ...], log_start: int) -> None:
    """One log as a follower writes it, from the batch that holds the log start on."""
    config = LogConfig(segment_bytes=SEGMENT_BYTES, index_interval_bytes=100, segment_index_bytes=240)
    first = min(log_start, batches[0].base_offset) if batches else log_start
    partition = DiskPartition(folder, profile, config, leads=False, log_start=first)
    for batch in batches:
        partition.replicate(batch)
        partition.advance_high_watermark(partition.log_end)
    partition.close()
