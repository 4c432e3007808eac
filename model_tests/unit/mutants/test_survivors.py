"""Survivors are explained again: proved equivalent, or distinguished by no input; one that no longer is, is named."""

from collections.abc import Callable, Iterator, Mapping

import pytest

from model_tests.mutants.decisions.call_sites import JudgedCall, watched
from model_tests.mutants.decisions.hunting import HuntResult, MutantFate
from model_tests.mutants.decisions.layers import PROOFS, SEARCHES
from model_tests.mutants.decisions.made import by_name
from model_tests.mutants.decisions.mutations import MutationKind
from model_tests.mutants.decisions.places import proved, traced
from model_tests.mutants.decisions.survivors import Again, explained_again, sampled, survivors
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


def again(mutant: str, fate: MutantFate, high_watermark: int = 5) -> Again:
    """One survivor, explained by these offsets."""
    (only,) = explained_again([HuntResult(mutant, MutationKind.FLIP, fate)], offsets(high_watermark))
    return only


def test_an_equivalent_mutant_is_proved_again() -> None:
    """By the solver, at the decision that is the same under it."""
    assert "proved the same: lso.smaller (1 question)" == again(SMALLER, MutantFate.EQUIVALENT).why


def test_a_mutant_that_is_no_longer_equivalent_is_named() -> None:
    """Of 4 and 5 it takes 5."""
    found = again(LARGER, MutantFate.EQUIVALENT)

    assert "" == found.why
    assert f"{LARGER}: no longer equivalent" == str(found)


def test_what_is_never_reported_apart_is_searched_again() -> None:
    """A marker below the high watermark is replicated under both."""
    assert "decides alike in all 1 different calls" in again(AT_THE_HIGH_WATERMARK, MutantFate.UNREACHABLE).why


def test_a_mutant_that_is_reported_apart_is_not_unreachable() -> None:
    """A marker at the high watermark is replicated under the mutant alone."""
    assert "" == again(AT_THE_HIGH_WATERMARK, MutantFate.UNREACHABLE, high_watermark=4).why


def test_a_mutant_that_is_made_no_more_is_named() -> None:
    """The table speaks of another text."""
    assert "" == again("lso.smaller: nothing is as it was", MutantFate.EQUIVALENT).why


@pytest.mark.slow
def test_some_of_the_table_are_proved_again() -> None:
    """Mutants of the append's guards, for the forms of arguments that two traces have."""
    of_appends = [
        each
        for each in survivors(read())
        if each.fate is MutantFate.EQUIVALENT and each.place.startswith(f"proved the same: {OF_APPENDS}")
    ]

    found = list(explained_again(sampled(of_appends, 3), {"traces": lambda: traced(range(0, 4, 2))}))

    assert 3 == len(found)
    assert [] == [str(each) for each in found if not each.why.startswith(f"proved the same: {OF_APPENDS} (")]


def test_arguments_of_the_solver_are_no_example() -> None:
    """A proof asks decisions about terms: they say nothing of what is met, and are passed over."""
    of = by_name()[SMALLER].of
    facts = (place for place in proved() if place.name.startswith("fact ") and "stable" in place.name)

    met = watched(facts, {of})
    (found,) = explained_again(
        [HuntResult(SMALLER, MutationKind.FLIP, MutantFate.EQUIVALENT)], {PROOFS: lambda: iter(met.seconds)}
    )

    assert met.calls.get(of) or met.unlisted.get(of)
    assert "" == found.why
