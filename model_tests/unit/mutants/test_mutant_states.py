"""What mutants do to the states of a search: the table is shown again, some by chance."""

from pathlib import Path

import pytest

from model_tests.mutants.decisions.made import by_name
from model_tests.mutants.decisions.places import searched
from model_tests.mutants.states import MutantCounts, builds, count_all, counted, page, read, sample, write

SOME = 12
"""Mutants that are counted again."""

OPENS = "append.guards: request.control dropped of all_of"

pytestmark = pytest.mark.xdist_group("mutant states")


@pytest.fixture(scope="module")
def table() -> tuple[MutantCounts, ...]:
    return read()


@pytest.mark.parametrize("number", range(SOME))
def test_a_mutant_does_again_what_the_table_has(number: int, table: tuple[MutantCounts, ...]) -> None:
    """Both numbers, counted anew; a decision that has changed needs the table counted again."""
    counts = sample([each for each in table if each.true < 600], SOME)[number]

    assert counts == counted(by_name()[counts.mutant], counts.instance)


def test_the_table_has_a_mutant_once_and_an_instance_that_is_searched(table: tuple[MutantCounts, ...]) -> None:
    """A mutant that no instance meets has no line."""
    assert 800 < len(table) == len({each.mutant for each in table})
    assert {each.mutant for each in table} <= by_name().keys()
    assert {each.instance for each in table} <= builds().keys()


def test_what_a_search_meets_is_counted_in_the_smallest_instance_that_differs() -> None:
    """A mutant that no instance meets has no line."""
    listed = [by_name()[OPENS], by_name()["finding.partition_of: name_hash < 0 becomes name_hash <= 0"]]
    places = [each for each in searched() if each.name in {"idempotence, wrapping", "partition, two epochs"}]

    found = list(count_all(listed, places))

    assert [each.mutant for each in found] == [OPENS]
    assert (found[0].true, found[0].difference == 0) == (453, False)


def test_a_mutant_that_breaks_the_system_has_a_reason(table: tuple[MutantCounts, ...]) -> None:
    """Nothing is counted then."""
    broken = next(each for each in table if each.how.startswith("breaks"))

    found = counted(by_name()[broken.mutant], broken.instance)

    assert (broken.how, 0) == (found.how, found.states)


def test_the_page_says_what_each_does(tmp_path: Path) -> None:
    """And how many do what."""
    two = "ids, two brokers"
    found = (MutantCounts("ids.a", two, 10, 12), MutantCounts("seq.b", two, 10, 10, "more than counted"))
    write(found, tmp_path / "states.json")

    reported = page(read(tmp_path / "states.json"))

    assert "| opens states | 1 |" in reported
    ids, seq = reported.split("\n## ")[1:]
    assert ("ids", "seq") == (ids.split()[0], seq.split()[0])
    assert "| `ids.a` | ids, two brokers | 10 | 12 | +2 |" in ids
    assert "| `seq.b` | ids, two brokers | 10 |  | more than counted |" in seq


def test_a_mutant_that_leaves_no_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    """What is empty is left out of the table, a number too."""
    write([MutantCounts("ids.a", "ids, two brokers", 10, 0, "breaks: ValueError")], tmp_path / "states.json")

    assert read(tmp_path / "states.json") == (MutantCounts("ids.a", "ids, two brokers", 10, 0, "breaks: ValueError"),)
