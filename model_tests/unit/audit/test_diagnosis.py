"""Diagnosis: the repair that shortens the description most is taken, until none does."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log2

import pytest

from model_tests.audit.diagnosis import MOST_TRIED, Diagnosis, Judge, Repair, diagnose
from model_tests.audit.repair_kinds import RepairKind
from spec.rules import RULES

Items = frozenset[int]
KIND = RepairKind("a kind", "something", "few")
PLACES = 100
FINDING = log2(len(RULES) * PLACES)
"""Bits of a finding."""


@dataclass(frozen=True)
class Without:
    """The evidence without what a repair explains."""

    gone: Items

    def __call__(self, evidence: Items) -> Items:
        return evidence - self.gone


def repair(name: str, *explained: int, alternatives: int = 1, predicted: int = 0) -> Repair[Items, str]:
    """One cause of some findings."""
    return Repair(KIND, (name,), Without(frozenset(explained)), alternatives, predicted)


def diagnosed(count: int, *repairs: Repair[Items, str]) -> Diagnosis[Items, Items, str, int]:
    """The diagnosis of so many findings."""
    evidence = frozenset(range(count))
    judge: Judge[Items, Items, int] = Judge(lambda held: held, len, sorted, PLACES)
    return diagnose(evidence, evidence, repairs, judge)


def test_the_cause_that_explains_most_comes_first_and_leaves_the_others_what_is_left() -> None:
    """A smaller cause that has nothing left to explain is none."""
    found = diagnosed(9, repair("two", 0, 1), repair("most", 0, 1, 2, 3), repair("rest", 3, 4, 5))

    assert found.causes == ("most", "rest")
    assert [one.explained for one in found.explanations] == [(0, 1, 2, 3), (4, 5)]
    assert found.judged == frozenset({6, 7, 8})


@pytest.mark.parametrize(
    ("explained", "predicted", "pays"),
    [(1, 0, False), (2, 0, True), (1, 1, True), (5, -4, False), (5, -3, True), (0, 0, False)],
)
def test_a_cause_explains_more_than_itself(explained: int, predicted: int, pays: bool) -> None:
    """What only the repaired evidence predicts counts for it, what it no longer predicts against it."""
    found = diagnosed(9, repair("cause", *range(explained), predicted=predicted))

    assert bool(found.causes) is pays


@pytest.mark.parametrize(("alternatives", "pays"), [(int(2**FINDING) - 1, True), (int(2**FINDING) + 1, False)])
def test_one_of_many_alternatives_has_to_explain_more(alternatives: int, pays: bool) -> None:
    """The threshold is where the bits that choose it are those of a finding."""
    assert bool(diagnosed(9, repair("one of many", 0, 1, alternatives=alternatives)).causes) is pays
    assert diagnosed(9, repair("one of many", 0, 1, 2, alternatives=alternatives)).causes


def test_two_causes_of_one_repair_are_both_paid_for() -> None:
    """As where two folders have each other's names."""
    both = ("left", "right")

    assert diagnosed(9, Repair(KIND, both, Without(frozenset(range(2))))).causes == ()
    assert diagnosed(9, Repair(KIND, both, Without(frozenset(range(3))))).causes == both


def test_no_more_repairs_are_tried_than_there_is_time_for() -> None:
    """Those that cannot pay are not tried, and so take no time from others."""
    tried: list[int] = []

    def without(number: int) -> Callable[[Items], Items]:
        def repaired(evidence: Items) -> Items:
            tried.append(number)
            return evidence

        return repaired

    def repairs() -> Iterator[Repair[Items, str]]:
        yield from (Repair(KIND, (str(number),), without(number), predicted=-9) for number in range(1000))
        yield from (Repair(KIND, (str(number),), without(number)) for number in range(1000, 2000))

    found = diagnosed(9, *repairs())

    assert found.causes == ()
    assert tried == list(range(1000, 1000 + MOST_TRIED))
