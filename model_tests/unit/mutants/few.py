"""Some planted defects as parameters of a test: the others are left to the deep profile, and to `make verify`."""

from collections.abc import Mapping, Sequence

from model_tests.mutants.defects.planted import Planted
from model_tests.mutants.part import chosen_of, sampled
from model_tests.unit.by_default import by_default
from model_tests.verify.results import RunEffort


def few(planted: Sequence[Planted], count: int) -> list[object]:
    """Every defect by its name; so many of them run by default, the same every time.

    Args:
        planted: the defects.
        count: how many run by default.
    """
    return by_default({each.name: each for each in planted}, [each.name for each in chosen_of(planted, count)])


def of_every_rule(planted: Sequence[Planted], sizes: Mapping[RunEffort, int]) -> list[object]:
    """One defect for each rule; those run by default of whose rule `eos verify` hunts none by default.

    Args:
        planted: the defects.
        sizes: how many of them `eos verify` hunts.
    """
    hunted = {each.rule for each in sampled(planted, RunEffort.DEFAULT, sizes)}
    one_of_each = {each.rule: each for each in reversed(planted)}
    of_others = [each.name for rule, each in one_of_each.items() if rule not in hunted]
    return by_default({each.name: each for each in one_of_each.values()}, of_others)
