"""Batches, partitions and producers that the append decision is asked about."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from model_tests.unit.reference.broker.coordinated import ID, T0, T1, CoordinatedBroker
from reference.broker.produce import PartitionAnswer, ProduceRequest, handle_produce
from reference.broker.verification import ProduceVerification
from reference.log.batch import RecordBatch
from spec.protocol.append import Append, names
from spec.protocol.records import AppendRequest, CachedBatch, ProducerEntry
from spec.versions import (
    NEWEST,
    Profile,
)
from spec.vocabulary import Origin

ONE_BATCH = ProducerEntry(epoch=3, cached=(CachedBatch(9, 109, 4), *[CachedBatch()] * 4))


FULL = ProducerEntry(epoch=3, cached=tuple(CachedBatch(9 - i, 109 - i, 0) for i in range(5)))


OPEN = replace(ONE_BATCH, txn_first_offset=100)


MARKED = ProducerEntry(epoch=3, coordinator_epoch=7)


def data(sequence: int, records: int = 1, epoch: int = 3, **changes: object) -> AppendRequest:
    return replace(
        AppendRequest(
            base_offset=200,
            producer_id=1,
            producer_epoch=epoch,
            base_sequence=sequence,
            last_offset_delta=records - 1,
            record_count=records,
        ),
        **changes,
    )


def marker(epoch: int, version: int = 2, **changes: object) -> AppendRequest:
    fields = {"control": True, "transactional": True, "origin": Origin.COORDINATOR.value, "coordinator_epoch": 7}
    return data(-1, 1, epoch, marker_version=version, **(fields | changes))


def decided_by(got: Append, profile: Profile = NEWEST) -> str:
    return names(profile)[got.branch]


NUMBERS: Final = {0: T0, 1: T1}


def produced(
    world: CoordinatedBroker, batches: Mapping[int, tuple[RecordBatch, ...]], version: int = 9, name: str = ID
) -> dict[int, PartitionAnswer]:
    """Produce batches."""
    partitions = {number: world.partitions[name] for number, name in NUMBERS.items()}
    verify = ProduceVerification(world.profile, world.coordinator, partitions, NUMBERS, version, world.clock.now)
    return handle_produce(world.profile, partitions, ProduceRequest(batches, name, -1, version), verify)
