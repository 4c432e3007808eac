"""The table of sources: a row states in which releases a guard gives an answer, and the source for that.

A row names a method of the release that does it; or a recording; or says that nothing of the release can meet the
guard, that the source says otherwise, or that nothing supports it. Every file of this folder that is not `files.toml`
holds rows: a table for each decision and guard, in it a list for each answer.

The table is compared with the decisions: each answer of each guard under each release needs a source. The source of
each release is found in a clone of Kafka under one of several names, which are tried in turn.
"""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from spec.sources.decisions import BEHAVIOURS, DECISIONS, RELEASED, answers
from spec.versions import PROFILES, RELEASES, Profile

_OTHERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "0.11": ("0.11.0",),
        "3.9.0": ("3.9.0", "3.9.0-rc3", "3.9"),
        "3.9.0-nover": ("3.9.0", "3.9.0-rc3", "3.9"),
        "4.0-SNAPSHOT": ("1eb7644349cb07139d6a3c1ad1986979647cac99",),
    }
)
"""Names that are not the release's own; the recorded snapshot of 4.0 is a commit of its trunk of October 2024."""

REFS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {release.name: _OTHERS.get(release.name, (release.name,)) for release in RELEASES}
)
"""Branches of apache/kafka by release."""


FOLDER: Final = Path(__file__).parent
FILES: Final = FOLDER / "files.toml"
BETWEEN: Final = " .. "
"""Between the first and the last release of a range; without a last release it ends at the newest one."""


@unique
class Support(StrEnum):
    """How a guard's answer is known under a release."""

    SOURCE = "source"  # a method of the release gives it
    RECORDING = "recording"  # a recorded broker of the release gave it
    UNMET = "unmet"  # no request that the release can receive meets the guard
    WRONG = "wrong"  # the release's source says otherwise
    UNSUPPORTED = "unsupported"  # nothing is known


@dataclass(frozen=True, slots=True)
class AnswerCell:
    """A guard's answer under a release.

    Attributes:
        decision: name of the decision.
        guard: name of the guard, or of the behaviour.
        answer: what it answers; the value of a behaviour.
        release: name of the profile.
    """

    decision: str
    guard: str
    answer: str
    release: str


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One row of the table.

    Attributes:
        decision: name of the decision.
        guard: name of the guard, or of the behaviour.
        answer: what it answers; the value of a behaviour.
        first: the oldest release that the row is about.
        last: the newest one.
        support: how it is known.
        at: class and method, such as `ProducerAppendInfo.checkSequence`, or a class alone; empty if there is none.
        says: text that has to occur there.
        lacks: text that must not occur there.
        note: the recording; or what the source says instead; or why nothing can meet the guard.
    """

    decision: str
    guard: str
    answer: str
    first: str
    last: str
    support: Support
    at: str = ""
    says: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    note: str = ""

    @property
    def place(self) -> str:
        """Where in the table the row is."""
        return f"{self.decision}.{self.guard} = {self.answer}, {self.first}{BETWEEN}{self.last}"

    @property
    def releases(self) -> tuple[Profile, ...]:
        """The releases from the first to the last."""
        names = [profile.name for profile in RELEASED]
        return RELEASED[names.index(self.first) : names.index(self.last) + 1]

    @property
    def holder(self) -> str:
        """The class that has the method."""
        return self.at.partition(".")[0]

    @property
    def method(self) -> str:
        """The method; empty where the row names the whole class."""
        return self.at.partition(".")[2]


class InvalidTable(ValueError):
    """The table has a row that cannot be meant."""


@cache
def rows() -> tuple[SourceRow, ...]:
    """Every row, file by file."""
    found = (path for path in sorted(FOLDER.glob("*.toml")) if path != FILES)
    return tuple(row for path in found for row in _read(tomllib.loads(path.read_text(encoding="utf-8"))))


@cache
def files() -> Mapping[str, Mapping[str, str]]:
    """Path of each class by release.

    Raises:
        Malformed: a range names no release.
    """
    found: dict[str, dict[str, str]] = {}
    for holder, paths in tomllib.loads(FILES.read_text(encoding="utf-8")).items():
        for span, path in paths.items():
            first, last = _span(span, f"files.{holder}")
            for profile in SourceRow("", "", "", first, last, Support.SOURCE).releases:
                found.setdefault(holder, {})[profile.name] = path
    return MappingProxyType(found)


def _read(decisions: Mapping[str, Any]) -> Iterator[SourceRow]:
    for decision, guards in decisions.items():
        for guard, by_answer in guards.items():
            for answer, listed in by_answer.items():
                yield from (_row(decision, guard, answer, given) for given in listed)


KINDS: Final = MappingProxyType(
    {
        "recorded": Support.RECORDING,
        "unmet": Support.UNMET,
        "wrong": Support.WRONG,
        "unsupported": Support.UNSUPPORTED,
    }
)
"""Keys of a row that say how it is supported, other than by its method alone; their value is the note."""


def _row(decision: str, guard: str, answer: str, given: Mapping[str, Any]) -> SourceRow:
    place = f"{decision}.{guard} = {answer}"
    kinds = [key for key in given if key in KINDS]
    unknown = set(given) - {"in", "at", "says", "lacks", *KINDS}
    if unknown or len(kinds) > 1 or "in" not in given:
        raise InvalidTable(f"{place}: a row has `in`, and of {', '.join(KINDS)} at most one: {dict(given)}")
    support = KINDS[kinds[0]] if kinds else Support.SOURCE
    at, note = given.get("at", ""), given[kinds[0]] if kinds else ""
    if support is Support.SOURCE and not at:
        raise InvalidTable(f"{place}: a row without `at` has to say how it is known: {dict(given)}")
    first, last = _span(given["in"], place)
    return SourceRow(
        decision, guard, answer, first, last, support, at, _words(given, "says"), _words(given, "lacks"), note
    )


def _words(given: Mapping[str, Any], key: str) -> tuple[str, ...]:
    words = given.get(key, ())
    return (words,) if isinstance(words, str) else tuple(words)


def _span(text: str, place: str) -> tuple[str, str]:
    first, between, last = f"{text} ".partition(BETWEEN)
    span = first.strip(), (last if between else first).strip() or RELEASED[-1].name
    order = list(PROFILES)
    if any(name not in order for name in span) or order.index(span[0]) > order.index(span[1]):
        raise InvalidTable(f"{place}: no range of releases: {text}")
    return span


OF_RELEASES = "behaviours"
"""Where the table has the values of behaviours, as if each were a guard."""


# --- the table compared with the decisions ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SourcedCells:
    """What is known of every cell.

    Attributes:
        support: the rows of each cell that has some.
        missing: cells without a row.
        superfluous: rows about an answer that does not exist.
    """

    support: Mapping[AnswerCell, tuple[SourceRow, ...]]
    missing: tuple[AnswerCell, ...]
    superfluous: tuple[SourceRow, ...]

    def count(self) -> Counter[Support]:
        """The number of cells for each kind of support."""
        return Counter(support_of(found) for found in self.support.values())


def support_of(found: tuple[SourceRow, ...]) -> Support:
    """The support of a cell with these rows: wrong if one row says so, else the best support among them."""
    kinds = {row.support for row in found}
    return Support.WRONG if Support.WRONG in kinds else min(kinds, key=list(Support).index)


def cells() -> Iterator[AnswerCell]:
    """Every answer of every guard under every release, and every value of a behaviour."""
    for profile in RELEASED:
        for decision in DECISIONS:
            for guard, answered in answers(decision, profile).items():
                yield from (AnswerCell(decision, guard, answer, profile.name) for answer in sorted(answered))
        for name in BEHAVIOURS:
            yield AnswerCell(OF_RELEASES, name, str(getattr(profile, name)).lower(), profile.name)


@cache
def known() -> SourcedCells:
    """The table compared with the decisions."""
    there = dict.fromkeys(cells(), ())
    by_cell: dict[AnswerCell, tuple[SourceRow, ...]] = dict(there)
    superfluous = []
    for row in rows():
        met = [AnswerCell(row.decision, row.guard, row.answer, profile.name) for profile in row.releases]
        if met[0] not in there or met[-1] not in there:
            superfluous.append(row)
        for cell in met:
            if cell in there:
                by_cell[cell] = (*by_cell[cell], row)
    missing = tuple(cell for cell, found in by_cell.items() if not found)
    support = {cell: found for cell, found in by_cell.items() if found}
    return SourcedCells(MappingProxyType(support), missing, tuple(superfluous))
