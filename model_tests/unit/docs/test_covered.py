"""Every subject has its rules, its code, its runs, its tests and its page; one that has not fails the build."""

from typing import Any

import pytest

from model_tests.scenarios.subjects import SUBJECTS
from model_tests.unit.docs.extensions import extension


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
