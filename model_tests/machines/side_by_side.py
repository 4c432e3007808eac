"""Decision and reference side by side: both are put every small input, and must give the same.

What a run reaches by chance is a part of what the protocol decides. A field may be taken for its neighbour, or a wrong
value carried on, where no drawn run shows the difference: the states in which it matters are rare, or the steps before
and after carry the same mistake. Here the inputs are enumerated, and none of them is an answer of the reference.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from model_tests.machines.rule_counts import Ledger
from spec.rules import Rule
from spec.versions import PROFILES, Profile


@dataclass(frozen=True, slots=True)
class DecisionComparison:
    """One decision, and the part of the reference that makes it.

    Attributes:
        name: what is decided.
        rule: that a difference breaks.
        inputs: every small input, as the arguments of both.
        decision: the specification's outcome.
        reference: the reference's outcome, in the same terms. It looks its parts up when it is called.
    """

    name: str
    rule: Rule
    inputs: Callable[[], Iterable[tuple[Any, ...]]]
    decision: Callable[..., object]
    reference: Callable[..., object]

    def compare(self, ledger: Ledger) -> None:
        """Put every input to both, until they differ."""
        for given in self.inputs():
            expected, got = self.decision(*given), self._outcome(given)
            message = f"{self.name}, of {given}: the decision says {expected}, the reference {got}"
            ledger.expect(self.rule, expected == got, message)
            if expected != got:
                return

    def _outcome(self, given: tuple[Any, ...]) -> object:
        try:
            return self.reference(*given)
        except Exception as error:  # noqa: BLE001  # whatever stops the reference is its outcome here, and is reported
            return f"stops: {type(error).__name__}"


RELEASES: Final[tuple[Profile, ...]] = tuple(PROFILES.values())
"""Every release and build, under its newest transaction version."""


def differing(*behaviours: str) -> tuple[Profile, ...]:
    """One release for each combination of these behaviours that some release has."""
    first: dict[tuple[object, ...], Profile] = {}
    for profile in RELEASES:
        first.setdefault(tuple(getattr(profile, name) for name in behaviours), profile)
    return tuple(first.values())
