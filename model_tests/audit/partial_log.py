"""A partial log: the batches that may still change a verdict, and a summary of all others.

What two logs leave that follow each other, put together, is what the log of both leaves (`follow`). A log can so be
read in any number of parts, each by itself: `condense` selects the batches of a part that must be kept.
"""

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from model_tests.audit.decision import AT_STAKE
from model_tests.audit.holes import HoleCounts, Holes, Surroundings, hole_counts, holes_of
from model_tests.audit.pieces import MarkersByOffset, Pieces, ends_of, pieces_of
from model_tests.audit.replica import Blocks, blocks_added, blocks_of, epoch_runs, epoch_runs_joined
from model_tests.audit.reread import RereadRequest
from model_tests.audit.tables import stacked
from model_tests.common.codec import Codec
from model_tests.logs.kafka_log_batches import Batches, Facts, Integers, joined, no_batches
from spec.versions import NEWEST, Profile

NO_PRODUCER: Final[frozenset[int]] = frozenset()
NOWHERE: Final = np.empty(0, np.int64)
NONE_DROPPED: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What must be known of a log in the end; the same for all its parts.

    Attributes:
        around: what is known of the log besides its batches.
        edges: rising offsets at which the state of every producer is needed: those of the snapshots.
        whole: producers of which every batch is kept.
        places: rising offsets around which batches are kept.
        without: names of guards that never apply.
        deep: the bodies of batches are looked at, too.
    """

    around: Surroundings
    profile: Profile = NEWEST
    edges: Integers = field(default_factory=lambda: NOWHERE)
    whole: frozenset[int] = NO_PRODUCER
    places: Integers = field(default_factory=lambda: NOWHERE)
    without: frozenset[str] = NONE_DROPPED
    deep: bool = False

    def and_also(self, request: RereadRequest) -> "Wanted":
        """The same, and what is to be read again."""
        places = np.array(sorted({*self.places.tolist(), *request.places}), np.int64)
        return replace(self, whole=self.whole | request.producers, places=places)


WANTED: Final[Codec[Wanted]] = Codec("what is wanted of a log", Wanted)


@dataclass(frozen=True, slots=True)
class BatchMarks(HoleCounts):
    """What is known of each kept batch besides its header.

    Attributes:
        agreed: that the gathered state is what the decision leads to has been looked at, with all that it needs.
        settled: the decision was applied to it.
    """

    agreed: Facts
    settled: Facts


@dataclass(frozen=True, slots=True)
class Stakes:
    """Of each producer, by its id, the number of settled batches on which each rule was at stake: a row a producer."""

    producer_id: Integers
    counts: Integers


@dataclass(frozen=True, slots=True)
class BatchTotals:
    """Of all batches.

    Attributes:
        rewritten: by the cleaner; `active_rewritten`, of these in the active segment.
        tail_damaged: the last bytes cannot be read.
    """

    batches: int = 0
    records: int = 0
    rewritten: int = 0
    active_rewritten: int = 0
    tail_damaged: bool = False


@dataclass(frozen=True, slots=True)
class Condensed:
    """A log, or a part of one.

    Attributes:
        rows: the batches that are kept.
        marks: what is known of each.
        ends: the markers among them.
        pieces: all data, added up.
        doubted: producers of which every batch must be looked at, and is not here.
        blocks: digests of the log as a replica; `epochs`, its runs of leader epochs.
    """

    rows: Batches
    marks: BatchMarks
    ends: MarkersByOffset
    pieces: Pieces
    stakes: Stakes
    totals: BatchTotals
    blocks: Blocks
    epochs: tuple[tuple[int, int, int], ...]
    doubted: frozenset[int] = NO_PRODUCER

    def holes(self, around: Surroundings) -> Holes:
        """The holes of the log, if it is a whole one."""
        totals = self.totals
        rewritten, active = totals.rewritten > 0, totals.active_rewritten > 0
        return holes_of(self.marks, self.rows, around, rewritten=rewritten, active_rewritten=active)


def uncondensed(batches: Batches, around: Surroundings, *, tail_damaged: bool = False) -> Condensed:
    """A log of which every batch is kept, and none is settled."""
    rewritten = batches.cleaned
    active = batches.segment >= around.active_base
    return Condensed(
        batches,
        _marks_of(batches, around),
        ends_of(batches),
        pieces_of(batches, around),
        Stakes(NOWHERE, np.zeros((0, len(AT_STAKE)), np.int64)),
        BatchTotals(
            len(batches),
            int(batches.record_count.sum()),
            int(rewritten.sum()),
            int((rewritten & active).sum()),
            tail_damaged,
        ),
        blocks_of(batches),
        epoch_runs(batches),
    )


def _marks_of(batches: Batches, around: Surroundings) -> BatchMarks:
    counts = hole_counts(batches, around)
    agreed, settled = np.zeros((2, len(batches)), np.bool_)
    return BatchMarks(counts.hole, counts.cleaned, counts.active, counts.unreadable, agreed, settled)


def follow(first: Condensed, second: Condensed, around: Surroundings) -> Condensed:
    """One log, and one that continues it, as one; `condense` makes it as little as it can be."""
    if not len(first.rows) or not len(second.rows):
        return _with_nothing(first, second)
    rows, marks = _continued(first, second, around)
    return Condensed(
        rows=joined([first.rows, rows]),
        marks=stacked([first.marks, marks]),
        ends=stacked([first.ends, second.ends]),
        pieces=stacked([first.pieces, second.pieces]),
        stakes=stacked([first.stakes, second.stakes]),
        totals=_sum(first.totals, second.totals),
        blocks=blocks_added(first.blocks, second.blocks),
        epochs=epoch_runs_joined(first.epochs, second.epochs),
        doubted=first.doubted | second.doubted,
    )


def _with_nothing(first: Condensed, second: Condensed) -> Condensed:
    """A log and one without batches."""
    totals = _sum(first.totals, second.totals)
    if not len(second.rows):
        totals = replace(totals, tail_damaged=first.totals.tail_damaged or second.totals.tail_damaged)
        return replace(first, totals=totals, stakes=stacked([first.stakes, second.stakes]))
    return replace(second, rows=_after_damage(second.rows, damaged=first.totals.tail_damaged), totals=totals)


def _sum(first: BatchTotals, second: BatchTotals) -> BatchTotals:
    return BatchTotals(
        first.batches + second.batches,
        first.records + second.records,
        first.rewritten + second.rewritten,
        first.active_rewritten + second.active_rewritten,
        second.tail_damaged,
    )


def _after_damage(rows: Batches, *, damaged: bool) -> Batches:
    if not damaged or rows.follows_damage[0]:
        return rows
    follows = rows.follows_damage.copy()
    follows[0] = True
    return replace(rows, follows_damage=follows)


def _continued(first: Condensed, second: Condensed, around: Surroundings) -> tuple[Batches, BatchMarks]:
    """The second's rows, and its marks counted from the first's begin."""
    rows = _after_damage(second.rows, damaged=first.totals.tail_damaged)
    last = len(first.rows) - 1
    hole = int(rows.base_offset[0]) > int(first.rows.last_offset[last]) + 1
    active = min(int(rows.segment[0]), int(first.rows.segment[last])) >= around.active_base
    inside = active and int(rows.base_offset[0]) > around.cleaned_to
    follows = bool(rows.follows_damage[0])
    begins = second.marks.hole.copy()
    begins[0] = hole
    marks = replace(
        second.marks,
        hole=begins,
        cleaned=second.marks.cleaned + first.marks.cleaned[last] + (hole and not follows and not inside),
        active=second.marks.active + first.marks.active[last] + (hole and not follows and inside),
        unreadable=second.marks.unreadable + first.marks.unreadable[last] + follows,
    )
    return rows, marks


def nothing(around: Surroundings) -> Condensed:
    """A log without batches."""
    return uncondensed(no_batches(), around)
