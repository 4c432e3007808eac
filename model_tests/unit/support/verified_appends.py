"""Appends that wait for a verification."""

from collections.abc import Mapping
from typing import Final

from model_tests.unit.reference.broker.coordinated import ID, T0, T1, CoordinatedBroker
from reference.broker.produce import PartitionAnswer, ProduceRequest, handle_produce
from reference.broker.verification import ProduceVerification
from reference.log.batch import RecordBatch

NUMBERS: Final = {0: T0, 1: T1}


def produced(
    world: CoordinatedBroker, batches: Mapping[int, tuple[RecordBatch, ...]], version: int = 9, name: str = ID
) -> dict[int, PartitionAnswer]:
    """Produce batches."""
    partitions = {number: world.partitions[name] for number, name in NUMBERS.items()}
    verify = ProduceVerification(world.profile, world.coordinator, partitions, NUMBERS, version, world.clock.now)
    return handle_produce(world.profile, partitions, ProduceRequest(batches, name, -1, version), verify)
