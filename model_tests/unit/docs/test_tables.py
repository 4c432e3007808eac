"""Tables and lists on the pages: sources, clients, what is covered, the glossary; nothing is left out."""

import re
from enum import Enum, auto
from typing import Any, Final

import pytest

from model_tests.scenarios.scenario import SUBJECTS
from model_tests.unit.docs.extensions import DOCS, extension
from reference.client.partition_queue import Hold
from reference.client.transaction_states import MEANINGS, ErrorHandling
from spec.sources.decisions import DECISIONS, RELEASED
from spec.sources.table import SourceRow, Support, known

page = extension("source_tables")


def test_every_guard_with_each_answer_is_a_line() -> None:
    """In the order of the newest release."""
    lines = page.named("append")
    order = list(DECISIONS["append"](RELEASED[-1]))

    assert {(c.guard, c.answer) for c in known().support if c.decision == "append"} == set(lines)
    assert order == [guard for guard in dict.fromkeys(guard for guard, _ in lines) if guard in order]


def test_every_cell_is_shown_as_it_is_known() -> None:
    """As many of each kind as there are, so that nothing wrong or unsupported is hidden."""
    shown = [
        support
        for decision in (*DECISIONS, page.OF_RELEASES)
        for guard, answer in page.named(decision)
        for support in page.supports(decision, guard, answer)
    ]

    assert {kind: shown.count(page.SHOWN[kind]) for kind in Support} == {
        kind: known().count()[kind] for kind in Support
    }


def test_the_page_counts_what_nothing_supports() -> None:
    """Also where there is none of it."""
    assert len(page.counts()) == len(Support)
    assert page.counts()[-1] == f"{known().count()[Support.UNSUPPORTED]} supported by nothing"


def test_a_row_reports_method_file_and_what_is_so_instead() -> None:
    """A row without a method names its recording."""
    wrong = SourceRow("append", "x", "NONE", "2.4", "2.5", Support.WRONG, "Log.read", ("a",), (), "no error")
    recorded = SourceRow("append", "x", "NONE", "3.9.0", "3.9.0", Support.RECORDING, note="3.9.0")

    assert page.reported(wrong) == "wrong: no error; Log.read (core/src/main/scala/kafka/log/Log.scala)"
    assert page.reported(recorded) == "recorded sessions of 3.9.0"


client_tables = extension("client_tables")


class Silent(Enum):
    """Two members in one line of the source."""

    FIRST, SECOND = auto(), auto()


@pytest.mark.parametrize("members", [Hold, ErrorHandling])
def test_every_member_is_reported_of(members: type[Enum]) -> None:
    """By the comment beside it, in the order of the source; without one by its own words."""
    reported = client_tables.reported(members)

    assert [member.name for member in members] == list(reported)
    assert all(reported.values())


def test_a_comment_is_what_is_reported() -> None:
    """And a name stands for itself where there is none."""
    reported = client_tables.reported(Hold)

    assert "a batch expired whose fate is not known" == reported["UNRESOLVED"]
    assert "no producer id" == reported["NO_PRODUCER_ID"]


def test_members_that_cannot_be_read_are_named() -> None:
    """The page would leave them out."""
    with pytest.raises(ValueError, match="Silent does not have its members one a line"):
        client_tables.reported(Silent)


def test_every_error_is_in_one_row() -> None:
    """Those that mean the same share it."""
    rows = client_tables.alike()

    assert sorted(MEANINGS) == sorted(error for errors in rows.values() for error in errors)
    assert all(MEANINGS[error] == meanings for meanings, errors in rows.items() for error in errors)


@pytest.fixture
def covered() -> Any:
    """The extension that knows the places."""
    return extension("covered")


def test_every_subject_has_its_place(covered: Any) -> None:
    """Rules, files, tests and pages are where they are said to be."""
    assert [] == list(covered.misplaced())
    assert 25 == len(SUBJECTS)
    assert all(all(place) for place in covered.PLACES.values())


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        ({"rules": ("seq.never",)}, "subject 4: there is no rule 'seq.never'"),
        ({"code": ("reference/nothing.py",)}, "subject 4: there is no file reference/nothing.py"),
        ({"tests": ("test_nothing.py",)}, "subject 4: there is no test test_nothing.py"),
        ({"page": "nowhere"}, "subject 4: there is no page 'nowhere'"),
    ],
)
def test_what_is_not_there_is_named(
    covered: Any, monkeypatch: pytest.MonkeyPatch, changed: dict[str, object], reported: str
) -> None:
    """With the number of its subject."""
    places = dict(covered.PLACES) | {4: covered.PLACES[4]._replace(**changed)}
    monkeypatch.setattr(covered, "PLACES", places)

    assert [reported] == list(covered.misplaced())


def test_a_subject_without_a_place_is_named(covered: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a place without a subject."""
    places = dict(covered.PLACES)
    monkeypatch.setattr(covered, "PLACES", {**{n: p for n, p in places.items() if n != 3}, 26: places[3]})

    found = list(covered.misplaced())

    assert ["subject 3 (authorization) has no place", "place 26 is of no subject"] == found


def test_a_subject_that_no_run_shows_is_named(covered: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the subjects is seen to happen, in one scenario at least."""
    runs = {name: run for name, run in covered.SCENARIOS.items() if 3 not in run.items}
    monkeypatch.setattr(covered, "SCENARIOS", runs)

    assert ["subject 3 (authorization) has no run that shows it"] == list(covered.misplaced())


PART: Final = re.compile(r"^```\{glossary\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
USED: Final = re.compile(r"\{term\}`(?:[^`<]*<)?([^`<>]+)>?`")


def parts() -> list[list[str]]:
    """The terms of each part, in the order of the page."""
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    return [[line for line in part.splitlines() if line and not line.startswith(" ")] for part in PART.findall(text)]


def test_terms_stand_in_alphabetical_order() -> None:
    """A reader finds a term of each part where the alphabet has it; synonyms stand under the first of them."""
    for part in parts():
        heads = [term for term in part if term not in ("control record", "Complete")]
        assert sorted(heads, key=str.casefold) == heads


def test_each_term_is_defined_once() -> None:
    """In one of the three parts."""
    terms = [term for part in parts() for term in part]

    assert 3 == len(parts())
    assert len(terms) == len(set(terms))


def test_every_term_that_a_page_names_is_defined() -> None:
    """Under the same name, capital letters aside."""
    defined = {term.casefold() for part in parts() for term in part}
    used = {term for page in DOCS.rglob("*.md") for term in USED.findall(page.read_text(encoding="utf-8"))}

    assert used
    assert set() == {term for term in used if term.casefold() not in defined}
