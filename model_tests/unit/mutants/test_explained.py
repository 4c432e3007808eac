"""Mutants that no layer detects are explained: proved equivalent, or distinguished by no input; else they are gaps."""

from collections.abc import Callable, Iterator, Mapping

import pytest

from model_tests.mutants.decisions.call_sites import JudgedCall, watched
from model_tests.mutants.decisions.hunting import HuntResult, MutantFate
from model_tests.mutants.decisions.layers import PROOFS, SEARCHES
from model_tests.mutants.decisions.made import by_name
from model_tests.mutants.decisions.mutation_loop import MutationResults, try_mutants
from model_tests.mutants.decisions.places import proved, traced
from spec.protocol import lso

SMALLER = "lso.smaller: left < right becomes left <= right"
LARGER = "lso.smaller: left < right becomes left < right - 1"
AT_THE_HIGH_WATERMARK = "lso.is_replicated: marker_offset < high_watermark becomes marker_offset <= high_watermark"

Places = Mapping[str, Callable[[], Iterator[JudgedCall]]]


def offsets(high_watermark: int) -> Places:
    """A search that asks for the smaller of two offsets, and whether a marker at 4 is replicated."""

    def violated() -> tuple[str, ...]:
        lso.smaller(4, 5)
        lso.is_replicated(4, high_watermark)
        return ()

    return {SEARCHES: lambda: iter([JudgedCall("offsets", violated)])}


def explained(mutant: str, layers: Places, *, explains: bool = True) -> HuntResult:
    """What becomes of one mutant in some layers."""
    listed, results = [by_name()[mutant]], MutationResults()
    for _ in try_mutants(listed, layers, results, explains=explains):
        pass
    (found,) = results.fates_of(listed)
    return found


def test_an_equivalent_mutant_is_proved() -> None:
    """By the solver, at the decision that is the same under it."""
    found = explained(SMALLER, offsets(5))

    assert (found.fate, found.place) == (MutantFate.EQUIVALENT, "proved the same: lso.smaller (1 question)")


def test_a_mutant_that_decides_otherwise_and_breaks_nothing_is_a_gap() -> None:
    """Of 4 and 5 it takes 5, and no rule is named."""
    assert explained(LARGER, offsets(5)).fate is MutantFate.GAP


def test_a_mutant_that_no_search_distinguishes_is_unreachable() -> None:
    """A marker below the high watermark is replicated under both."""
    found = explained(AT_THE_HIGH_WATERMARK, offsets(5))

    assert found.fate is MutantFate.UNREACHABLE
    assert "decides alike in all 1 different calls" in found.place


def test_a_mutant_that_a_search_distinguishes_is_not_unreachable() -> None:
    """A marker at the high watermark is replicated under the mutant alone."""
    assert explained(AT_THE_HIGH_WATERMARK, offsets(4)).fate is MutantFate.GAP


def test_nothing_is_known_of_a_mutant_that_is_not_explained() -> None:
    """Another layer may detect it."""
    assert explained(SMALLER, offsets(5), explains=False).fate is MutantFate.UNTRIED


@pytest.mark.slow
def test_mutants_of_a_large_decision_are_proved_equivalent() -> None:
    """For the forms of arguments that two traces have."""
    of_appends = "append.guards: guards epoch_reset and first_sequence swapped"

    found = explained(of_appends, {"traces": lambda: traced(range(0, 4, 2))})

    assert found.place.startswith("proved the same: append.guards (")


def test_arguments_of_the_solver_are_no_example() -> None:
    """A proof asks decisions about terms: they say nothing of what is met, and are passed over."""
    of = by_name()[SMALLER].of
    facts = (place for place in proved() if place.name.startswith("fact ") and "stable" in place.name)

    met = watched(facts, {of})
    found = explained(SMALLER, {PROOFS: lambda: iter(met.seconds)})

    assert met.calls.get(of) or met.unlisted.get(of)
    assert found.fate is not MutantFate.EQUIVALENT
