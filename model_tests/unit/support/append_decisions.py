"""Batches, partitions and producers that the append decision is asked about."""

from dataclasses import replace

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
