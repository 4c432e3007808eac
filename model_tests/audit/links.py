"""Links: each batch of a producer with what the batches before it leave of the producer in the partition.

The state before a batch is gathered from the log with array operations. It is a guess; the decision's own next state
shows where it is right (`decision`), and where it is not, a fold over the decision continues from there.
"""

from dataclasses import dataclass

import numpy as np

from model_tests.audit.holes import Surroundings
from model_tests.logs.kafka_log_batches import Batches, Facts, Integers
from spec.protocol.records import WINDOW, AppendRequest, CachedBatch, ProducerEntry
from spec.protocol.seq import last_sequence
from spec.versions import Profile
from spec.vocabulary import ABSENT, Origin


@dataclass(frozen=True, slots=True)
class Links:
    """The batches of all producers, those of one producer next to each other and in the order of the log.

    Attributes:
        row: each batch's place in the log.
        batches: the batches, in this order.
        request: each batch as a request to append it.
        before: what the partition knows of the producer before each.
        first: whether it is its producer's first in the log.
        unseen: the log begins after the producer did, and does not show its last sequence.
    """

    row: Integers
    batches: Batches
    request: AppendRequest
    before: ProducerEntry
    first: Facts
    unseen: Facts

    def __len__(self) -> int:
        return len(self.row)


def link(batches: Batches, around: Surroundings, profile: Profile) -> Links:
    """Link every batch that changes what the partition knows."""
    counts = (batches.producer_id >= 0) & ~(batches.control & (batches.record_count == 0))
    rows = np.flatnonzero(counts)
    rows = rows[np.argsort(batches.producer_id[rows], kind="stable")]
    own = batches.take(rows)
    request = as_requests(own, by_coordinator=around.by_coordinator)
    at = LinkPositions(own)
    before = _entries(own, request, at, profile)
    data = ~own.control
    continues = data & (before.epoch == own.producer_epoch) & ~before.cached[0].present
    unseen = continues & (at.run_start == at.group_start) & ~at.first & np.bool_(around.first_base != 0)
    before = _replace_epoch(before, np.where(unseen, ABSENT, before.epoch))
    return Links(rows, own, request, before, at.first, unseen)


def as_requests(batches: Batches, *, by_coordinator: bool) -> AppendRequest:
    """Each batch as the request by which a leader appended it.

    Markers come from a coordinator, and in its own topics data without sequences. What the cleaner has taken out
    of a batch was in it when it was sent. The broker has confirmed every partition of a transaction, and the log
    does not say under which transaction version a marker was written.
    """
    sent_by_client = ~batches.control & np.bool_(not by_coordinator)
    data_count = np.maximum(batches.record_count, batches.last_offset_delta + 1)
    return AppendRequest(
        base_offset=batches.base_offset,
        origin=np.where(sent_by_client, np.int64(Origin.CLIENT), np.int64(Origin.COORDINATOR)),
        producer_id=batches.producer_id,
        producer_epoch=batches.producer_epoch,
        base_sequence=batches.base_sequence,
        last_offset_delta=batches.last_offset_delta,
        record_count=np.where(batches.control, batches.record_count, data_count),
        transactional=batches.transactional,
        control=batches.control,
        coordinator_epoch=batches.coordinator_epoch,
    )


class LinkPositions:
    """For each batch, where its producer begins and where the run of its predecessor's epoch begins.

    Attributes:
        first: whether it is its producer's first.
        group_start: number of its producer's first.
        run_start: number of the first of the run of epochs that the batch before it is in.
    """

    def __init__(self, own: Batches) -> None:
        numbers = np.arange(len(own))
        self.first = _changes(own.producer_id)
        self.group_start = np.maximum.accumulate(np.where(self.first, numbers, 0))
        run = np.maximum.accumulate(np.where(self.first | _changes(own.producer_epoch), numbers, 0))
        self.run_start = np.where(self.first, numbers, np.roll(run, 1))  # of the run that the predecessor is in


def _changes(column: Integers) -> Facts:
    changed = np.ones(len(column), np.bool_)
    changed[1:] = column[1:] != column[:-1]
    return changed


def _entries(own: Batches, request: AppendRequest, at: LinkPositions, profile: Profile) -> ProducerEntry:
    """What the batches before each one leave of its producer."""
    marker_before = latest_before(own.control, at.group_start)
    coordinator = np.where(marker_before >= 0, own.coordinator_epoch[marker_before], ABSENT)
    previous_epoch = np.where(at.first, ABSENT, np.roll(own.producer_epoch, 1))
    return ProducerEntry(
        epoch=previous_epoch,
        coordinator_epoch=coordinator,
        txn_first_offset=_open_since(own, marker_before, at),
        cached=_windows(own, request, at, profile),
    )


def latest_before(fact: Facts, group_start: Integers) -> Integers:
    """Number of the producer's latest batch before each one for which the fact holds; -1 where there is none."""
    numbers = np.where(fact, np.arange(len(fact)), ABSENT)
    latest = np.maximum.accumulate(np.concatenate(([ABSENT], numbers[:-1]))) if len(fact) else numbers
    return np.where(latest >= group_start, latest, ABSENT)


def count_before(fact: Facts) -> Integers:
    """The number of batches before each one for which the fact holds, of whichever producers."""
    count: Integers = np.cumsum(fact, dtype=np.int64)
    return count - fact


def _open_since(own: Batches, marker_before: Integers, at: LinkPositions) -> Integers:
    """First offset of the transaction that is open before each batch."""
    joins = own.transactional & ~own.control
    joining = np.flatnonzero(joins)
    joined_before = count_before(joins)
    since = np.where(marker_before >= 0, marker_before, at.group_start)
    earlier: Integers = joined_before[since]  # a marker joins nothing itself
    opener = joining[np.minimum(earlier, max(len(joining) - 1, 0))] if len(joining) else np.zeros(len(own), np.int64)
    return np.where(joined_before > earlier, own.base_offset[opener], ABSENT)


def _windows(own: Batches, request: AppendRequest, at: LinkPositions, profile: Profile) -> tuple[CachedBatch, ...]:
    """The last data batches of the current epoch before each batch, the newest first."""
    data = ~own.control
    numbers = np.flatnonzero(data)
    data_before = count_before(data)
    in_run: Integers = data_before - data_before[at.run_start]
    last = last_sequence(request, profile.max_sequence)
    seen = tuple(np.append(column[numbers], ABSENT) for column in (last, own.last_offset, own.last_offset_delta))
    return tuple(
        _cached(data_before - 1 - age, (in_run > age) & np.bool_(age < profile.cached_batches), seen)
        for age in range(WINDOW)
    )


def _cached(place: Integers, present: Facts, seen: tuple[Integers, ...]) -> CachedBatch:
    """The data batches at these places, as far as they are present; after what was seen of them comes an absent one."""
    place = np.where(present, place, ABSENT)
    return CachedBatch(*(column[place] for column in seen))


def _replace_epoch(entry: ProducerEntry, epoch: Integers) -> ProducerEntry:
    return ProducerEntry(epoch, entry.coordinator_epoch, entry.txn_first_offset, entry.cached)
