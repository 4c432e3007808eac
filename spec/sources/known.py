"""The source of each answer of each guard under each release: the table compared with the decisions."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from spec.sources.decisions import BEHAVIOURS, DECISIONS, RELEASED, answers
from spec.sources.table import AnswerCell, SourceRow, Support, rows

OF_RELEASES = "behaviours"
"""Where the table has the values of behaviours, as if each were a guard."""


@dataclass(frozen=True, slots=True)
class SourcedCells:
    """What is known of every cell.

    Attributes:
        support: the rows of each cell that has some.
        missing: cells without a row.
        superfluous: rows about something that there is not.
    """

    support: Mapping[AnswerCell, tuple[SourceRow, ...]]
    missing: tuple[AnswerCell, ...]
    superfluous: tuple[SourceRow, ...]

    def count(self) -> Counter[Support]:
        """Cells by how they are known."""
        return Counter(support_of(found) for found in self.support.values())


def support_of(found: tuple[SourceRow, ...]) -> Support:
    """How a cell is known that has these rows: wrong if one says so, else as the best of them says."""
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
