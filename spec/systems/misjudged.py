"""Controls of lemmas about single steps: steps of systems with a defect, each of which breaks its lemma."""

from dataclasses import dataclass

from spec.systems.language import StepLemma, System


@dataclass(frozen=True, slots=True)
class Misjudged:
    """A step with something wrong.

    Attributes:
        what: what is wrong.
        system: the system whose step it is.
        lemma: the lemma of the step, whose action is the wrong one; some state refutes it.
    """

    what: str
    system: System
    lemma: StepLemma

    @property
    def name(self) -> str:
        """What is wrong, in which step, by its lemma."""
        return f"{self.what}: {self.lemma.name} under {self.lemma.action.name}"


def step_with(what: str, system: System, lemma: str, action: str = "") -> Misjudged:
    """The control by a lemma of a system that has a defect.

    Args:
        what: what is wrong.
        system: the one with the defect.
        lemma: name of the lemma that is lost.
        action: that loses it; without it the first that the lemma speaks of.

    Raises:
        StopIteration: the system has no such lemma.
    """
    found = (each for each in system.steps if each.name == lemma and action in ("", each.action.name))
    return Misjudged(what, system, next(found))


def step_of(system: System, name: str) -> StepLemma:
    """The lemma of steps with this name.

    Raises:
        StopIteration: the system has none.
    """
    return next(lemma for lemma in system.steps if lemma.name == name)
