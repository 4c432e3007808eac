"""Offsets that are missing in a log: removed by the log cleaner, perhaps; unreadable; or lost."""

from dataclasses import dataclass, replace

import numpy as np

from model_tests.audit.options import DAY_MS
from model_tests.logs.kafka_log_batches import Batches, Facts, Integers
from spec.versions import Profile
from spec.vocabulary import ABSENT


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of a partition's log besides its batches.

    Attributes:
        first_base: base offset of the first segment; the history is whole where it is 0.
        active_base: base offset of the last segment, which the cleaner never touches.
        log_start: by the broker's checkpoint; -1 where it has none.
        high_watermark: by the broker's checkpoint, where it is to be believed; else -1, for the log's end.
        recovery_point: offset up to which the log was flushed, by the broker's checkpoint; -1 where it has none.
        cleaned_to: first offset that the cleaner has not reached, by its checkpoint; -1 where it has none.
        cleaner_known: there is a checkpoint of the cleaner, so that a partition it does not name was never cleaned.
        by_coordinator: data is appended by a coordinator (the internal topics), so that its sequences mean nothing.
        producer_expiry_ms: idle time after which a broker may forget a producer (`producer.id.expiration.ms`).
    """

    first_base: int = 0
    active_base: int = 0
    log_start: int = ABSENT
    high_watermark: int = ABSENT
    recovery_point: int = ABSENT
    cleaned_to: int = ABSENT
    cleaner_known: bool = False
    by_coordinator: bool = False
    producer_expiry_ms: int = DAY_MS

    def judging(self, profile: Profile) -> Profile:
        """How the log is judged: where it does not begin at offset 0, a producer may begin in it at any sequence."""
        return profile if self.first_base == 0 else replace(profile, any_first_sequence=True)


@dataclass(frozen=True, slots=True)
class Holes:
    """Counts of holes from the log's begin up to directly before each batch, by what may explain them.

    Attributes:
        unexplained: directly before each batch is a hole that is neither.
    """

    cleaned: Integers
    unreadable: Integers
    unexplained: Facts

    def cleaned_between(self, earlier: int, later: int) -> bool:
        """Whether the cleaner may have removed batches after the one and before the other; -1 for the log's begin."""
        return bool(self.cleaned[later] > (self.cleaned[earlier] if earlier >= 0 else 0))

    def unreadable_between(self, earlier: int, later: int) -> bool:
        """Whether there are unreadable bytes after the one and before the other."""
        return bool(self.unreadable[later] > (self.unreadable[earlier] if earlier >= 0 else 0))


@dataclass(frozen=True, slots=True)
class HoleCounts:
    """Holes of a log, or of a part of one, counted up to each batch; what is before the first is not.

    Attributes:
        hole: offsets are missing directly before the batch.
        cleaned: holes that the cleaner may have made if it was here at all.
        active: those that it can only have made where it rewrote the active segment.
        unreadable: unreadable bytes.
    """

    hole: Facts
    cleaned: Integers
    active: Integers
    unreadable: Integers


def hole_counts(batches: Batches, around: Surroundings) -> HoleCounts:
    """The holes between the batches.

    The cleaner leaves batches without some or all of their records, and no trace of those it removes. It never
    touches the active segment; so a hole there is its work only if a rewritten batch there shows that segments
    were joined since.
    """
    active = batches.segment >= around.active_base
    hole, inside, unreadable = np.zeros((3, len(batches)), np.bool_)
    hole[1:] = batches.base_offset[1:] > batches.last_offset[:-1] + 1
    inside[1:] = active[1:] & active[:-1] & (batches.base_offset[1:] > around.cleaned_to)
    unreadable[1:] = batches.follows_damage[1:]
    plain = hole & ~batches.follows_damage
    return HoleCounts(hole, np.cumsum(plain & ~inside), np.cumsum(plain & inside), np.cumsum(unreadable))


def never_cleaned(around: Surroundings, *, rewritten: bool) -> bool:
    """Whether the cleaner's checkpoint exists and does not name the partition, and no batch shows its work."""
    return around.cleaner_known and around.cleaned_to == ABSENT and not rewritten


def begins_segment(batches: Batches) -> Facts:
    """Whether each batch has the offset that its segment is named after: the first of one that was not cleaned."""
    begins: Facts = batches.base_offset == batches.segment
    return begins


def holes_of(
    counts: HoleCounts, batches: Batches, around: Surroundings, *, rewritten: bool, active_rewritten: bool
) -> Holes:
    """The holes of a whole log, of which all batches before which any count grows for good are there.

    Where the cleaner has never been here, it explains none.

    Args:
        counts: holes, counted up to each batch.
        batches: of the log, as columns.
        around: what is known of the log beside its batches: checkpoints, where segments begin.
        rewritten: whether the cleaner may have been here.
        active_rewritten: whether it may have been in the last segment.
    """
    never = never_cleaned(around, rewritten=rewritten)
    first = np.zeros(len(batches), np.int64)
    first[:] = len(batches) and batches.base_offset[0] > around.first_base and not batches.follows_damage[0]
    inside = np.zeros(len(batches), np.bool_)
    inside[1:] = counts.active[1:] > counts.active[:-1]
    possible = counts.cleaned + first + (counts.active if active_rewritten else 0)
    unexplained = counts.hole & ~batches.follows_damage & (never | (inside & (not active_rewritten)))
    return Holes(
        cleaned=np.zeros_like(possible) if never else possible,
        unreadable=counts.unreadable + batches.follows_damage[:1].sum(),
        unexplained=unexplained,
    )


def holes(batches: Batches, around: Surroundings) -> Holes:
    """The holes of a log that is there with all its batches."""
    rewritten = batches.cleaned
    in_active = rewritten & (batches.segment >= around.active_base)
    counts = hole_counts(batches, around)
    return holes_of(counts, batches, around, rewritten=bool(rewritten.any()), active_rewritten=bool(in_active.any()))
