"""The table of sources is complete, and about nothing that there is not."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from typing import Final, get_type_hints

import pytest

import spec.protocol
from spec.protocol.guards import Guard
from spec.sources import decisions
from spec.sources import table as known_module
from spec.sources.decisions import BEHAVIOURS, DECISIONS, RELEASED, answers_of
from spec.sources.table import REFS, InvalidTable, SourceRow, Support, _read, cells, files, known, rows, support_of
from spec.versions import PROFILES
from spec.vocabulary import ErrorCode

PROTOCOL: Final = Path(spec.protocol.__file__ or "").parent
SOURCE: Final = SourceRow("append", "successor", "OUT_OF_ORDER_SEQUENCE_NUMBER", "3.6", "4.0", Support.SOURCE, "A.b")


def test_every_answer_of_every_guard_of_every_release_has_a_row() -> None:
    """Also every value of a behaviour: a new guard, answer or release is named here until its source is."""
    missing = [f"{cell.decision}.{cell.guard} = {cell.answer} in {cell.release}" for cell in known().missing]

    assert missing == []


def test_no_row_is_about_something_that_there_is_not() -> None:
    """The first and the last release of a row have the guard with that answer."""
    assert [row.place for row in known().superfluous] == []


def test_every_row_says_how_it_is_known() -> None:
    """With a method of a class whose file is named for each release, or with a sentence."""
    for row in rows():
        assert row.at or row.note, row.place
        if row.at:
            assert [p.name for p in row.releases if p.name not in files().get(row.holder, {})] == [], row.place
        if row.support is Support.SOURCE:
            assert row.says or row.lacks, row.place
        else:
            assert row.note, row.place


def test_no_file_is_named_that_no_row_needs() -> None:
    """Each class of the list of files is that of some row, in each release that it is listed for."""
    needed = {(row.holder, profile.name) for row in rows() for profile in row.releases if row.at}

    assert {(holder, release) for holder, paths in files().items() for release in paths} == needed


def test_every_release_has_a_branch() -> None:
    """And what is only proposed has none."""
    assert list(REFS) == [profile.name for profile in RELEASED]
    assert [name for name in PROFILES if name not in REFS] == ["split-out-of-order"]


def test_answers_of_the_append_are_those_of_its_guards() -> None:
    """A guard that never applies under a release is none of it; the enumeration is by the decision itself."""
    newest, oldest = DECISIONS["append"](PROFILES["4.3"]), DECISIONS["append"](PROFILES["0.11"])

    assert newest["successor"] == {"OUT_OF_ORDER_SEQUENCE_NUMBER"}
    assert "unverified" in newest
    assert "unverified" not in oldest
    assert "sequence_forgotten" not in newest


def test_every_function_that_lists_guards_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision with guards of its own cannot be left out of the enumeration."""
    modules = [import_module(f"spec.protocol.{path.stem}") for path in PROTOCOL.glob("[a-z]*.py")]
    listing = {
        f"{module.__name__}.{name}": function
        for module in modules
        for name, function in vars(module).items()
        if isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
        if get_type_hints(function).get("return") == tuple[Guard, ...] and module.__name__ != Guard.__module__
    }
    request = set[str]()

    def note(name: str, function: Callable[..., object]) -> Callable[..., object]:
        def noted(*given: object, **named: object) -> object:
            request.add(name)
            return function(*given, **named)

        return noted

    for name, function in listing.items():
        for module in modules:
            if vars(module).get(function.__name__) is function:
                monkeypatch.setattr(module, function.__name__, note(name, function))
    for decided in DECISIONS.values():
        decided(PROFILES["3.6"])

    assert len(listing) > 10
    assert set(listing) == request


def test_an_answer_that_depends_is_all_that_it_may_be() -> None:
    """A commit to a group that is not there is answered by version."""
    assert DECISIONS["offset-commit"](PROFILES["4.3"])["group_unknown"] == {"GROUP_ID_NOT_FOUND", "ILLEGAL_GENERATION"}
    assert "as met" in DECISIONS["txn-offset-commit"](PROFILES["4.3"])["unverified"]


def test_a_guard_without_a_source_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a decision has beyond the table is missing, not passed over."""
    found, new = DECISIONS["produce"], {"new_guard": frozenset({ErrorCode.INVALID_RECORD.name})}
    more = {**DECISIONS, "produce": lambda profile: {**found(profile), **new}}
    monkeypatch.setattr(known_module, "DECISIONS", more)
    monkeypatch.setattr(decisions, "DECISIONS", more)
    known.cache_clear()
    try:
        assert {(cell.guard, cell.answer) for cell in known().missing} == {("new_guard", "INVALID_RECORD")}
        assert len(known().missing) == len(RELEASED)
    finally:
        known.cache_clear()


def test_a_row_beyond_its_guard_is_superfluous(monkeypatch: pytest.MonkeyPatch) -> None:
    """A range that begins before the guard does claims too much."""
    beyond = SourceRow("append", "unverified", "INVALID_TXN_STATE", "2.7", "4.0", Support.SOURCE, "A.b", ("c",))
    monkeypatch.setattr(known_module, "rows", lambda: (beyond,))
    known.cache_clear()
    try:
        assert known().superfluous == (beyond,)
    finally:
        known.cache_clear()


@pytest.mark.parametrize(
    ("kinds", "support"),
    [
        ([Support.SOURCE], Support.SOURCE),
        ([Support.RECORDING, Support.SOURCE], Support.SOURCE),
        ([Support.SOURCE, Support.WRONG], Support.WRONG),
        ([Support.UNSUPPORTED, Support.RECORDING], Support.RECORDING),
    ],
)
def test_one_row_that_says_otherwise_outweighs_the_others(kinds: list[Support], support: Support) -> None:
    """What a source contradicts is not known; else the best support counts."""
    assert support == support_of(tuple(replace(SOURCE, support=kind) for kind in kinds))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"at": "A.b"}, "in"),
        ({"in": "3.6 .. 4.0"}, "how it is known"),
        ({"in": "4.0 .. 3.6", "at": "A.b"}, "no range"),
        ({"in": "5.0", "at": "A.b"}, "no range"),
        ({"in": "3.6", "at": "A.b", "wrong": "no", "unmet": "no"}, "at most one"),
        ({"in": "3.6", "at": "A.b", "say": "x"}, "at most one"),
    ],
)
def test_a_row_that_cannot_be_meant_is_refused(given: dict[str, str], why: str) -> None:
    """Where it is and what is wrong with it is said."""
    with pytest.raises(InvalidTable, match=f"append.successor = NONE.*{why}"):
        list(_read({"append": {"successor": {"NONE": [given]}}}))


def test_cells_are_of_releases_alone() -> None:
    """Each behaviour of each release is one, and a proposal is none."""
    found = list(cells())

    assert len(found) == len(set(found))
    assert {cell.release for cell in found} == {profile.name for profile in RELEASED}
    assert len([cell for cell in found if cell.decision == "behaviours"]) == len(BEHAVIOURS) * len(RELEASED)


def test_guards_that_never_apply_are_left_out() -> None:
    """A constant that is false is the release's word for: there is no such check."""
    assert answers_of(()) == {}
