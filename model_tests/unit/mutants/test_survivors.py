"""Survivors are explained again: proved equivalent, or distinguished by no input; one that no longer is, is named."""

from collections.abc import Callable, Iterator, Mapping

import pytest

from model_tests.mutants.decisions.call_sites import JudgedCall, watched
from model_tests.mutants.decisions.hunting import HuntResult, MutantFate
from model_tests.mutants.decisions.layers import PROOFS, SEARCHES
from model_tests.mutants.decisions.made import by_name
from model_tests.mutants.decisions.mutations import MutationKind
from model_tests.mutants.decisions.places import proved, traced
from model_tests.mutants.decisions.survivors import explained_again, sampled, survivors, unexplained
from model_tests.mutants.decisions.table import read
from spec.protocol import lso

SMALLER = "lso.smaller: left < right becomes left <= right"
LARGER = "lso.smaller: left < right becomes left < right - 1"
AT_THE_HIGH_WATERMARK = "lso.is_replicated: marker_offset < high_watermark becomes marker_offset <= high_watermark"

OF_APPENDS = "append.guards"
"""A decision that few traces meet in every form."""


def offsets(high_watermark: int) -> Mapping[str, Callable[[], Iterator[JudgedCall]]]:
    """A search that asks for the smaller of two offsets, and whether a marker at 4 is replicated."""

    def violated() -> tuple[str, ...]:
        lso.smaller(4, 5)
        lso.is_replicated(4, high_watermark)
        return ()

    return {SEARCHES: lambda: iter([JudgedCall("offsets", violated)])}


def again(mutant: str, high_watermark: int = 5) -> tuple[MutantFate, str]:
    """One survivor, explained by these offsets: its fate, and why."""
    (only,) = explained_again([HuntResult(mutant, MutationKind.FLIP, MutantFate.EQUIVALENT)], offsets(high_watermark))
    return only.fate, only.place


def test_an_equivalent_mutant_is_proved_again() -> None:
    """By the solver, at the decision that is the same under it."""
    assert again(SMALLER) == (MutantFate.EQUIVALENT, "proved the same: lso.smaller (1 question)")


def test_a_mutant_that_is_no_longer_equivalent_is_a_gap() -> None:
    """Of 4 and 5 it takes 5, and no rule is named."""
    assert again(LARGER) == (MutantFate.GAP, "")


def test_what_is_never_reported_apart_is_searched_again() -> None:
    """A marker below the high watermark is replicated under both."""
    fate, why = again(AT_THE_HIGH_WATERMARK)

    assert fate is MutantFate.UNREACHABLE
    assert "decides alike in all 1 different calls" in why


def test_a_mutant_that_is_reported_apart_is_not_unreachable() -> None:
    """A marker at the high watermark is replicated under the mutant alone."""
    assert again(AT_THE_HIGH_WATERMARK, high_watermark=4) == (MutantFate.GAP, "")


def test_a_mutant_that_is_made_no_more_is_untried() -> None:
    """The table speaks of another text."""
    assert again("lso.smaller: nothing is as it was") == (MutantFate.UNTRIED, "it is no longer made")


@pytest.mark.parametrize(
    ("mutant", "fate", "line"),
    [
        (SMALLER, MutantFate.EQUIVALENT, ""),
        (SMALLER, MutantFate.UNREACHABLE, ""),
        (AT_THE_HIGH_WATERMARK, MutantFate.UNREACHABLE, ""),
        (AT_THE_HIGH_WATERMARK, MutantFate.EQUIVALENT, "no longer equivalent, but unreachable decides alike in all 1 "),
        (LARGER, MutantFate.EQUIVALENT, "no longer equivalent, but gap"),
    ],
)
def test_a_survivor_that_is_no_longer_what_the_table_says_is_named(mutant: str, fate: MutantFate, line: str) -> None:
    """A proof does for a search; a search does not for a proof."""
    lines = unexplained([HuntResult(mutant, MutationKind.FLIP, fate)], offsets(5))

    assert [each.partition(f"{mutant}: ")[2][: len(line)] for each in lines] == ([line] if line else [])


@pytest.mark.slow
def test_some_of_the_table_are_proved_again() -> None:
    """Mutants of the append's guards, for the forms of arguments that two traces have."""
    of_appends = [
        each
        for each in survivors(read())
        if each.fate is MutantFate.EQUIVALENT and each.place.startswith(f"proved the same: {OF_APPENDS}")
    ]

    found = explained_again(sampled(of_appends, 3), {"traces": lambda: traced(range(0, 4, 2))})

    assert 3 == len(found)
    assert [] == [each for each in found if not each.place.startswith(f"proved the same: {OF_APPENDS} (")]


def test_arguments_of_the_solver_are_no_example() -> None:
    """A proof asks decisions about terms: they say nothing of what is met, and are passed over."""
    of = by_name()[SMALLER].of
    facts = (place for place in proved() if place.name.startswith("fact ") and "stable" in place.name)

    met = watched(facts, {of})
    (found,) = explained_again(
        [HuntResult(SMALLER, MutationKind.FLIP, MutantFate.EQUIVALENT)], {PROOFS: lambda: iter(met.seconds)}
    )

    assert met.calls.get(of) or met.unlisted.get(of)
    assert found.fate is not MutantFate.EQUIVALENT
