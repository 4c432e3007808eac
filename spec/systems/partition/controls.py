"""Changes of the system of one partition that must break a rule or a lemma.

Each control of a rule has the claim that it violates and a small instance. The controls of lemmas about judged appends
take a guard away, or leave an effect out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from spec.algebra import Term, choose
from spec.protocol import lso
from spec.protocol.lso import LogOffsets
from spec.systems.misjudged import Misjudged, step_of
from spec.systems.partition.log import PartitionKnobs
from spec.systems.partition.system import partition, sizes
from spec.systems.system_append import UNWRAPPED
from spec.vocabulary import ABSENT

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


_STALE_EPOCHS: Final = frozenset({"stale_epoch", "stale_epoch_of_transaction", "stale_marker"})


@dataclass(frozen=True, slots=True)
class BrokenPartition:
    """The system with one thing changed.

    Attributes:
        name: what is changed.
        violates: name of the claim that no longer holds.
        knobs: the change, with the bounds of its instance.
        several: the size of each sort that has more than one value in the instance.
    """

    name: str
    violates: str
    knobs: PartitionKnobs
    several: Mapping[str, int] = field(default_factory=dict, hash=False)

    @property
    def sizes(self) -> dict[str, int]:
        """How many values each sort of the instance has."""
        return sizes(self.knobs, **self.several)

    @property
    def mended(self) -> PartitionKnobs:
        """The true system, in the same instance."""
        return replace(_QUIET, appends=self.knobs.appends, fails_over=self.knobs.fails_over)


def without_unreplicated(offsets: LogOffsets) -> Term:
    """Decided transactions hold nothing back, wherever their markers are."""
    return lso.last_stable(replace(offsets, first_unreplicated=ABSENT))


def without_ongoing(offsets: LogOffsets) -> Term:
    """Open transactions hold nothing back."""
    return lso.last_stable(replace(offsets, first_ongoing=ABSENT))


def without_log_start(offsets: LogOffsets) -> Term:
    """The first unstable offset may be below the log start."""
    return lso.last_stable(replace(offsets, log_start=0))


def without_high_watermark(offsets: LogOffsets) -> Term:
    """Whatever is in the log before the first unstable offset is stable."""
    unstable = lso.first_unstable(offsets)
    return choose(unstable >= 0, unstable, offsets.log_end)


def high_watermark(offsets: LogOffsets) -> Term:
    """All that is replicated is stable."""
    return offsets.high_watermark


_QUIET: Final = PartitionKnobs(profile=UNWRAPPED, fails_over=False, plain_data=False, offset_commits=False)


def _small(appends: int, **changed: Any) -> PartitionKnobs:
    return replace(_QUIET, appends=appends, **changed)


CONTROLS: Final = (
    BrokenPartition(
        "transactions not yet replicated are ignored",
        "below_stable_is_decided",
        _small(2, last_stable=without_unreplicated),
    ),
    BrokenPartition("open transactions are ignored", "below_stable_is_decided", _small(2, last_stable=without_ongoing)),
    BrokenPartition(
        "open transactions are ignored until they are decided",
        "stable_never_falls",
        _small(2, last_stable=without_ongoing),
    ),
    BrokenPartition(
        "the last stable offset is the high watermark",
        "what_was_read_stays_decided",
        _small(2, last_stable=high_watermark),
    ),
    BrokenPartition(
        "the first unstable offset is not clamped to the log start",
        "stable_is_within_bounds",
        _small(2, last_stable=without_log_start),
    ),
    BrokenPartition(
        "the high watermark is no bound",
        "stable_is_within_bounds",
        _small(2, last_stable=without_high_watermark),
    ),
    BrokenPartition("a marker does not end the transaction", "open_is_undecided", _small(2, marker_ends=False)),
    BrokenPartition(
        "stale epoch checks off",
        "epochs_never_fall",
        _small(2, without=_STALE_EPOCHS),
        {"epochs": 2},
    ),
    BrokenPartition("expiry on", "epochs_never_fall", _small(2, state_expires=True)),
    BrokenPartition(
        "coordinator check off",
        "coordinator_epochs_never_fall",
        _small(2, without=frozenset({"stale_coordinator"})),
        {"coordinator_epochs": 2},
    ),
    BrokenPartition(
        "unclean election",
        "what_was_read_stays_decided",
        _small(3, clean_elections=False, fails_over=True),
    ),
    BrokenPartition(
        "unclean election, and a lower epoch",
        "epochs_never_fall",
        _small(2, clean_elections=False, fails_over=True),
    ),
    BrokenPartition(
        "a new leader knows nothing of producers",
        "below_stable_is_decided",
        _small(2, replays=False, fails_over=True),
    ),
    BrokenPartition(
        "a new leader's high watermark is behind the log start",
        "stable_is_within_bounds",
        _small(2, watermark_after_start=False, fails_over=True),
    ),
    BrokenPartition(
        "a failed append changes what is known of its producer",
        "open_is_undecided",
        _small(2, failed_append_undone=False),
    ),
)
