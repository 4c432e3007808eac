"""The report of a journal that was compared with logs.

The code that compares is in another module, which is loaded only if there is a journal.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HistoryReport:
    """What a journal showed.

    Attributes:
        attempts: transactions by the answer that the client got.
        fates: acknowledged records by the answer to their transaction and by what became of them.
        not_given: acknowledged records of partitions whose logs are not here.
    """

    attempts: Mapping[str, int] = field(default_factory=dict)
    fates: Mapping[str, int] = field(default_factory=dict)
    not_given: int = 0

    @property
    def judged(self) -> int:
        """Acknowledged records that were compared with a log."""
        return sum(self.fates.values())

    def to_json(self) -> dict[str, object]:
        """The same as plain values.

        Fields:
            attempts.*: transactions by the answer that the client got
            acknowledged.*: acknowledged records by the answer that the client got and by their outcome
            not_given: acknowledged records of partitions whose logs are not here
        """
        return {"attempts": dict(self.attempts), "acknowledged": dict(self.fates), "not_given": self.not_given}

    def in_one_line(self) -> str:
        """For people."""
        fates = ", ".join(f"{count} {name}" for name, count in sorted(self.fates.items()))
        apart = f"; {self.not_given} in logs not given" if self.not_given else ""
        return f"History: {self.judged} acknowledged records ({fates}){apart}."
