"""Offsets that are not in a log: which the log cleaner may have removed, which are unreadable, which are just gone."""

from dataclasses import dataclass

import numpy as np

from model_tests.traces.kafka_log_batches import Batches, Integers
from spec.vocabulary import ABSENT


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of a partition's log besides its batches.

    Attributes:
        first_base: base offset of the first segment; the history is whole where it is 0.
        active_base: base offset of the last segment, which the cleaner never touches.
        log_start: by the broker's checkpoint; -1 where it says none.
        high_watermark: by the broker's checkpoint, where it is to be believed; else -1, for the log's end.
        recovery_point: offset up to which the log was flushed, by the broker's checkpoint; -1 where it says none.
        cleaned_to: first offset that the cleaner has not reached, by its checkpoint; -1 where it says none.
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
    producer_expiry_ms: int = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Holes:
    """Counts of holes from the log's begin up to directly before each batch, by what may explain them."""

    cleaned: Integers
    unreadable: Integers

    def cleaned_between(self, earlier: int, later: int) -> bool:
        """Whether the cleaner may have removed batches after the one and before the other; -1 for the log's begin."""
        return bool(self.cleaned[later] > (self.cleaned[earlier] if earlier >= 0 else 0))

    def unreadable_between(self, earlier: int, later: int) -> bool:
        """Whether there are unreadable bytes after the one and before the other."""
        return bool(self.unreadable[later] > (self.unreadable[earlier] if earlier >= 0 else 0))


def is_cleaned(batches: Batches, around: Surroundings) -> bool:
    """Whether the log cleaner has rewritten any of the log."""
    return around.cleaned_to > 0 or bool(batches.cleaned.any())


def holes(batches: Batches, around: Surroundings) -> Holes:
    """The holes of a log.

    The cleaner leaves batches without some or all of their records, and no trace of those it removes. It never
    touches the active segment; so a hole there is its work only if a rewritten batch there shows that segments
    were joined since. Where its checkpoint exists and does not name the partition, it has not been here.
    """
    expected = np.concatenate(([around.first_base], batches.last_offset[:-1] + 1))[: len(batches)]
    hole = batches.base_offset > expected
    in_active = np.concatenate(([False], (batches.segment == batches.segment[-1:])[:-1]))[: len(batches)]
    in_active = in_active & (batches.segment >= around.active_base)
    rewritten = batches.cleaned
    active_rewritten = bool((rewritten & (batches.segment >= around.active_base)).any())
    never = around.cleaner_known and around.cleaned_to == ABSENT and not rewritten.any()
    possible = (~in_active | active_rewritten | (batches.base_offset <= around.cleaned_to)) & (not never)
    return Holes(
        cleaned=np.cumsum(hole & possible & ~batches.follows_damage), unreadable=np.cumsum(batches.follows_damage)
    )
