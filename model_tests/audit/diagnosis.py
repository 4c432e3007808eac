"""Diagnosis: a search over declared repairs for what explains many findings at once.

A repair is evidence as it would be if one thing had not gone wrong (`repair_kinds`). Evidence is described by its
findings, or by the repairs and the findings that are left after them. The shorter of the two is the diagnosis (minimum
description length):

- A finding says which rule is broken at which place: `log2(rules * places)` bits.
- A repair says as much of each cause that is reported in place of what it explains, and which of its alternatives it
  is: `causes * log2(rules * places) + log2(alternatives)` bits.
- What only the repaired evidence predicts need not be described, and what it no longer predicts must be, as a finding.

A repair pays where the description gets shorter. This is the only threshold, and it is zero bits. So a repair of one
cause explains two findings at least, and more where it is one of many.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from math import log2
from typing import Final, Generic, TypeVar

from model_tests.audit.repair_kinds import RepairKind
from spec.rules import RULES

Evidence = TypeVar("Evidence")
Judgement = TypeVar("Judgement")
Cause = TypeVar("Cause")
Found = TypeVar("Found")

MOST_TRIED: Final = 64
"""Repairs that are tried of those that are proposed: each judges the evidence again. A bound of time, not of belief."""


@dataclass(frozen=True, slots=True)
class Repair(Generic[Evidence, Cause]):
    """One thing that may have gone wrong.

    Attributes:
        kind: of the thing.
        causes: what is reported of it, in place of what it explains.
        repaired: makes the evidence as it would be without it.
        alternatives: among how many repairs of its kind it is one.
        predicted: how much more the repaired evidence predicts rightly than the evidence; negative where it is less.
    """

    kind: RepairKind
    causes: tuple[Cause, ...]
    repaired: Callable[[Evidence], Evidence]
    alternatives: int = 1
    predicted: int = 0


@dataclass(frozen=True, slots=True)
class Explanation(Generic[Cause, Found]):
    """What a repair reports, and the findings that are gone with it."""

    causes: tuple[Cause, ...]
    explained: tuple[Found, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis(Generic[Evidence, Judgement, Cause, Found]):
    """The shortest description that was found.

    Attributes:
        evidence: after the repairs that pay.
        judged: the judgement of it.
        explanations: of these repairs, in the order in which they were taken.
    """

    evidence: Evidence
    judged: Judgement
    explanations: tuple[Explanation[Cause, Found], ...] = ()

    @property
    def causes(self) -> tuple[Cause, ...]:
        """What is reported in place of what is explained."""
        return tuple(cause for one in self.explanations for cause in one.causes)


@dataclass(frozen=True, slots=True)
class Judge(Generic[Evidence, Judgement, Found]):
    """How evidence is judged.

    Attributes:
        of: the judgement.
        count: how many findings a judgement has, without mere doubts.
        findings: these findings.
        places: at how many places there may be one.
    """

    of: Callable[[Evidence], Judgement]
    count: Callable[[Judgement], int]
    findings: Callable[[Judgement], Iterable[Found]]
    places: int

    def gain(self, repair: Repair[Evidence, Cause], explained: int) -> float:
        """By how many bits a repair shortens the description that explains so many findings."""
        finding = log2(len(RULES) * max(self.places, 1))
        return (explained + repair.predicted - len(repair.causes)) * finding - log2(repair.alternatives)

    def gone(self, before: Judgement, after: Judgement) -> tuple[Found, ...]:
        """The findings of one judgement that another one has not."""
        return tuple((Counter(self.findings(before)) - Counter(self.findings(after))).elements())


def diagnose(
    evidence: Evidence,
    judged: Judgement,
    repairs: Iterable[Repair[Evidence, Cause]],
    judge: Judge[Evidence, Judgement, Found],
) -> Diagnosis[Evidence, Judgement, Cause, Found]:
    """Take the repair that shortens the description most, until none does.

    Args:
        evidence: what is to be explained.
        judged: its judgement.
        repairs: those that may explain something, the likeliest first.
        judge: how evidence is judged, and what a finding costs.
    """
    found: Diagnosis[Evidence, Judgement, Cause, Found] = Diagnosis(evidence, judged)
    count = judge.count(judged)
    left = list(islice((repair for repair in repairs if judge.gain(repair, count) > 0), MOST_TRIED))
    while left:
        tried = []
        for repair in left:
            repaired = repair.repaired(found.evidence)
            after = judge.of(repaired)
            gain = judge.gain(repair, count - judge.count(after))
            if gain > 0:
                tried.append((gain, repair, repaired, after))
        if not tried:
            break
        _, best, repaired, after = max(tried, key=lambda one: one[0])
        explanation = Explanation(best.causes, judge.gone(found.judged, after))
        count = judge.count(after)
        found = Diagnosis(repaired, after, (*found.explanations, explanation))
        left = [repair for _, repair, *_ in tried if repair is not best]
    return found
