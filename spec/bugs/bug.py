"""What a known bug is: what happens, which rule it breaks, and in which systems a search must show it or must not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum, unique

from spec.rules import Rule
from spec.systems.language import Claim, System


@unique
class ExpectedAnswer(StrEnum):
    """What a search is expected to say of a claim."""

    VIOLATED = "violated"
    HOLDS = "holds"


@dataclass(frozen=True, slots=True)
class FiniteSystem:
    """A system with a finite instance.

    Attributes:
        of: the name of the system, which selects the world of its replay.
        knobs: what it was made with.
        searched: the system with its decisions remembered, for explicit search.
        plain: the same without, for bounded search.
        sizes: values of each sort.
    """

    of: str
    knobs: object
    searched: Callable[[], System]
    plain: Callable[[], System]
    sizes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SearchCase:
    """One question to a search.

    Attributes:
        profile: the release or build that the system is of.
        instance: the system, and its instance.
        claim: name of the claim that is searched.
        expected: what the search of the whole instance must say.
        why: what the release does about it, where its profile does not say it.
    """

    profile: str
    instance: FiniteSystem
    claim: str
    expected: ExpectedAnswer
    why: str = ""

    def claim_of(self, system: System) -> Claim:
        """The claim, as the system makes it."""
        return system.claim(self.claim)


@dataclass(frozen=True, slots=True)
class Bug:
    """One known bug.

    Attributes:
        name: its ticket, or what it is called where it has none.
        title: what goes wrong, in a few words.
        mechanism: how it happens, in two or three sentences.
        source: tickets, KIPs and reports.
        rule: the rule that it breaks.
        cases: one for the bug, then one for each other release that has it, then one for each that does not: it mended
            the bug, or comes before it; last, where no release mended it, what would.
    """

    name: str
    title: str
    mechanism: str
    source: tuple[str, ...]
    rule: Rule
    cases: tuple[SearchCase, ...]

    @property
    def broken(self) -> SearchCase:
        """The case that shows the bug."""
        return self.cases[0]

    @property
    def violated(self) -> tuple[SearchCase, ...]:
        """The cases in which it must happen."""
        return tuple(case for case in self.cases if case.expected is ExpectedAnswer.VIOLATED)

    @property
    def mended(self) -> tuple[SearchCase, ...]:
        """The cases in which it must not happen."""
        return tuple(case for case in self.cases if case.expected is ExpectedAnswer.HOLDS)


def violated(profile: str, instance: FiniteSystem, claim: str) -> SearchCase:
    """The case that shows a bug."""
    return SearchCase(profile, instance, claim, ExpectedAnswer.VIOLATED)


def violated_in(broken: SearchCase, profile: str, instance: FiniteSystem) -> SearchCase:
    """The same question to another release that has the bug.

    Args:
        broken: the case that shows the bug.
        profile: name of the release.
        instance: the system as that release has it.
    """
    return replace(broken, profile=profile, instance=instance)


def holds_in(broken: SearchCase, profile: str, instance: FiniteSystem, why: str = "") -> SearchCase:
    """The same question to a release that mended the bug, or does not have it yet.

    Args:
        broken: the case that shows the bug.
        profile: name of the release.
        instance: the system with what that release changed.
        why: what the release does about it, where its profile does not say it.
    """
    return replace(broken, profile=profile, instance=instance, expected=ExpectedAnswer.HOLDS, why=why)
