"""Controls: the system with one thing changed, and how to undo the change."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from spec.systems.transactions.world import Bounds, TransactionKnobs, finite
from spec.versions import Profile

NOTHING: Final[frozenset[str]] = frozenset()
NEAR_THE_END: Final = 3
"""The last epoch of all, where epochs are to run out: clients have 0 to 2."""

ONE: Final = Bounds(transactions=1)
TWO: Final = Bounds(transactions=2)


@dataclass(frozen=True, slots=True)
class BrokenTransactions:
    """The system with one thing changed.

    Attributes:
        name: what is changed, or the number of the bug.
        violates: name of the claim that no longer holds.
        knobs: the change, with the bounds of its instance.
        mended: the least that makes the claim hold again in the same instance.
        left_to_tests: the run has another change that does the same harm, and leaves this one to the tests.
    """

    name: str
    violates: str
    knobs: TransactionKnobs
    mended: TransactionKnobs
    left_to_tests: bool = False

    @property
    def sizes(self) -> dict[str, int]:
        """How many values each sort of the instance has."""
        return self.knobs.sizes()


def quiet(profile: Profile, max_epoch: int = 14, **changed: Any) -> TransactionKnobs:
    """A release that has only what is changed of all that may fail, time out, read, commit offsets, or bump."""
    calm = TransactionKnobs(
        profile=finite(profile, max_epoch),
        readers=False,
        groups=False,
        clients_bump=False,
        times_out=False,
        leaders_fail=False,
        appends_fail=False,
    )
    return replace(calm, **changed)


def broken(
    name: str, violates: str, knobs: TransactionKnobs, *, left_to_tests: bool = False, **mended: Any
) -> BrokenTransactions:
    """A change, and what takes it back; behaviours of the release are given by name in `behaviours`.

    Args:
        name: what is wrong, in a line.
        violates: the claim that no longer holds.
        knobs: of the system that shows it.
        left_to_tests: whether `eos prove` leaves it to the tests.
        mended: knobs that take the change back.
    """
    behaviours: Mapping[str, Any] = mended.pop("behaviours", {})
    profile = replace(knobs.profile, **behaviours)
    return BrokenTransactions(name, violates, knobs, replace(knobs, profile=profile, **mended), left_to_tests)
