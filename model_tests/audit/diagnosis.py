"""Diagnosis: a search over declared repairs for what explains many findings at once.

A repair is evidence as it would be if one thing had not gone wrong. Evidence is described by its findings, or by the
repairs and the findings that are left after them. The shorter of the two is the diagnosis (minimum description length):

- A finding says which rule is broken at which place: `log2(rules * places)` bits.
- A repair says as much of each cause that is reported in place of what it explains, and which of its alternatives it
  is: `causes * log2(rules * places) + log2(alternatives)` bits.
- What the evidence predicted and the repaired evidence does not is described anew, like a finding.

A repair pays where the description gets shorter. This is the only threshold, and it is zero bits: by Kraft's inequality
a repair that is not true shortens a description by `b` bits with a probability of at most `2 ** -b`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from math import log2
from typing import Final, Generic, TypeVar

from spec.rules import RULES

Evidence = TypeVar("Evidence")
Judgement = TypeVar("Judgement")
Cause = TypeVar("Cause")

MOST_TRIED: Final = 64
"""Repairs that are tried of those that are proposed: each judges the evidence again. A bound of time, not of belief."""


@dataclass(frozen=True, slots=True)
class Repair(Generic[Evidence, Cause]):
    """One thing that may have gone wrong.

    Attributes:
        causes: what is reported of it, in place of what it explains.
        repaired: makes the evidence as it would be without it.
        alternatives: among how many repairs of its kind it is one.
        forgotten: how much the evidence predicts that the repaired evidence does not.
    """

    causes: tuple[Cause, ...]
    repaired: Callable[[Evidence], Evidence]
    alternatives: int = 1
    forgotten: int = 0


@dataclass(frozen=True, slots=True)
class Diagnosis(Generic[Evidence, Judgement, Cause]):
    """The shortest description that was found.

    Attributes:
        evidence: after the repairs that pay.
        judged: the judgement of it.
        causes: what these repairs report, in the order in which they were taken.
    """

    evidence: Evidence
    judged: Judgement
    causes: tuple[Cause, ...] = ()


@dataclass(frozen=True, slots=True)
class Judge(Generic[Evidence, Judgement]):
    """How evidence is judged.

    Attributes:
        of: the judgement.
        findings: how many findings a judgement has, without mere doubts.
        places: at how many places there may be one.
    """

    of: Callable[[Evidence], Judgement]
    findings: Callable[[Judgement], int]
    places: int

    def gain(self, repair: Repair[Evidence, Cause], before: Judgement, after: Judgement | None = None) -> float:
        """By how many bits a repair shortens the description.

        Args:
            repair: one of those proposed.
            before: the judgement without it.
            after: the judgement with it; None for one that has no finding, where the gain is the most it may be.
        """
        left = self.findings(after) if after is not None else 0
        explained = self.findings(before) - left - repair.forgotten
        finding = log2(len(RULES) * max(self.places, 1))
        return (explained - len(repair.causes)) * finding - log2(repair.alternatives)


def diagnose(
    evidence: Evidence,
    judged: Judgement,
    repairs: Iterable[Repair[Evidence, Cause]],
    judge: Judge[Evidence, Judgement],
) -> Diagnosis[Evidence, Judgement, Cause]:
    """Take the repair that shortens the description most, until none does.

    Args:
        evidence: what is to be explained.
        judged: its judgement.
        repairs: those that may explain something, the likeliest first.
        judge: how evidence is judged, and what a finding costs.
    """
    found: Diagnosis[Evidence, Judgement, Cause] = Diagnosis(evidence, judged)
    left = list(islice((repair for repair in repairs if judge.gain(repair, judged) > 0), MOST_TRIED))
    while left:
        tried = []
        for repair in left:
            repaired = repair.repaired(found.evidence)
            after = judge.of(repaired)
            gain = judge.gain(repair, found.judged, after)
            if gain > 0:
                tried.append((gain, repair, repaired, after))
        if not tried:
            break
        _, best, repaired, after = max(tried, key=lambda one: one[0])
        found = Diagnosis(repaired, after, (*found.causes, *best.causes))
        left = [repair for _, repair, *_ in tried if repair is not best]
    return found
