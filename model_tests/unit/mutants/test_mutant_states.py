"""What mutants do to the states of a search, counted in the smallest instance that shows a difference."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from model_tests.mutants.decisions.call_sites import JudgedCall, Occasions, watched
from model_tests.mutants.decisions.hunting import HuntResult, MutantFate
from model_tests.mutants.decisions.layers import SEARCHES, SESSIONS
from model_tests.mutants.decisions.made import by_name
from model_tests.mutants.decisions.mutation_loop import MutationResults, try_mutants
from model_tests.mutants.decisions.places import searched
from model_tests.mutants.decisions.states import MutantCounts, builds, count, page, read, write

OPENS = "append.guards: request.control dropped of all_of"
UNMET = "finding.partition_of: name_hash < 0 becomes name_hash <= 0"

pytestmark = pytest.mark.xdist_group("mutant states")


def small() -> Iterator[JudgedCall]:
    """Two small searches."""
    return (each for each in searched() if each.name in {"idempotence, wrapping", "partition, two epochs"})


@pytest.fixture(scope="module")
def occasions() -> Occasions:
    """The calls of two small searches."""
    return watched(small(), afresh=True)


def test_the_instances_that_are_counted_are_those_that_are_searched() -> None:
    """By their names."""
    assert {place.name for place in searched()} == set(builds())


def test_what_a_search_meets_is_counted_in_the_smallest_instance_that_differs(occasions: Occasions) -> None:
    """The instance as it is has 453 states."""
    found = count(by_name()[OPENS], occasions)

    assert (found.instance, found.true, found.difference == 0) == ("partition, two epochs", 453, False)


def test_a_mutant_that_no_instance_meets_is_counted_nowhere(occasions: Occasions) -> None:
    """Which is known of it, too."""
    assert count(by_name()[UNMET], occasions) == MutantCounts(UNMET)


def test_a_mutant_that_breaks_the_system_has_a_reason(occasions: Occasions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is counted then."""
    true = count(by_name()[OPENS], occasions)

    def breaks(_: str) -> tuple[int, str]:
        raise ValueError("no state")

    monkeypatch.setattr("model_tests.mutants.decisions.states._explored", breaks)
    found = count(by_name()[OPENS], occasions)

    assert (found.instance, found.true) == (true.instance, true.true)
    assert (found.states, found.effect) == (0, "breaks: ValueError")


def test_the_loop_counts_every_mutant_once() -> None:
    """Detected or not, in the layer where it is asked for; a layer in which nothing is left to do is not watched."""
    listed = [by_name()[name] for name in (OPENS, UNMET)]
    settled = {each.name: HuntResult(each.name, each.kind, MutantFate.KILLED) for each in listed}
    results = MutationResults(settled)
    layers = {SESSIONS: lambda: iter([JudgedCall("never watched", lambda: ("red",))]), SEARCHES: small}

    def turns() -> list[str]:
        return list(try_mutants(listed, layers, results, measured={SEARCHES: count}))

    first, again = turns(), turns()
    counted = {name: each.instance for name, each in results.counts.items()}
    del results.counts[OPENS]

    assert (first, again, turns()) == ([SEARCHES], [], [SEARCHES])
    assert counted == {OPENS: "partition, two epochs", UNMET: ""}
    assert results.counts.keys() == {OPENS, UNMET}


def test_the_page_says_what_each_does(tmp_path: Path) -> None:
    """And how many do what; a mutant that is met nowhere is counted alone."""
    two = "ids, two brokers"
    found = (
        MutantCounts("ids.a", two, 10, 12),
        MutantCounts("seq.b", two, 10, 10, "more than counted"),
        MutantCounts("seq.c"),
    )
    write(found, tmp_path / "states.json")

    reported = page(read(tmp_path / "states.json"))

    assert "\n3 of " in reported
    assert "\n2 of these are met" in reported
    assert "| opens states | 1 |" in reported
    ids, seq = reported.split("\n## ")[1:]
    assert ("ids", "seq") == (ids.split()[0], seq.split()[0])
    assert "| `ids.a` | ids, two brokers | 10 | 12 | +2 |" in ids
    assert "| `seq.b` | ids, two brokers | 10 |  | more than counted |" in seq


def test_a_mutant_that_leaves_no_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    """What is empty is left out of the table; a number is not."""
    write([MutantCounts("ids.a", "ids, two brokers", 10, 0, "breaks: ValueError")], tmp_path / "states.json")

    assert read(tmp_path / "states.json") == (MutantCounts("ids.a", "ids, two brokers", 10, 0, "breaks: ValueError"),)
