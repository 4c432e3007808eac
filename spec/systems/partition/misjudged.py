"""Controls of the judged appends to one partition: with a guard off, or an effect left out."""

from collections.abc import Iterator
from typing import Final

from spec.systems.misjudged import Misjudged, step_of
from spec.systems.partition.log import PartitionKnobs
from spec.systems.partition.system import partition

_STALE: Final = PartitionKnobs(without=frozenset({"stale_epoch", "stale_epoch_of_transaction"}))
_GAP: Final = PartitionKnobs(without=frozenset({"successor"}))
_OPEN: Final = PartitionKnobs(marker_ends=False)


def misjudged_partitions() -> Iterator[Misjudged]:
    """One for each lemma."""
    for what, action, knobs in (
        ("a gap in the sequence is let in", "producer_appends", _GAP),
        ("data of a stale epoch is let in", "producer_appends_plain", _STALE),
        ("offsets of a stale epoch are let in", "group_coordinator_commits", _STALE),
        ("the transaction stays open", "coordinator_writes_marker", _OPEN),
    ):
        system = partition(knobs)
        yield Misjudged(what, system, step_of(system, f"{action}_as_judged"))
