"""The one comparison: a session's record against a side's answers and state, field by field.

It knows no session, no family and no build. If another run might have answered otherwise, the recording itself marks
the field, and nothing else is left undecided. Producer and member ids are compared by symbols, because each side has
its own ids and a recording knows only which of them are equal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from model_tests.conform.answers import Answer, ObservableState
from model_tests.conform.field_tables import Name
from model_tests.conform.fields import Json
from model_tests.conform.recorded_answers import as_recorded, state_as_recorded
from model_tests.conform.requests import Named
from model_tests.conform.sessions import SessionStep, StepMarks
from spec.vocabulary import ErrorCode

# --- symbols of ids ---------------------------------------------------------------------------------------------------


STRANGERS: Final = 1 << 40
"""Number of the first id that no broker handed out: a client made it up."""


class Symbols:
    """Which number stands for which symbol, one to one, for one side of one session."""

    def __init__(self) -> None:
        """Nothing is named yet."""
        self._numbers: dict[str, int] = {}
        self._members: dict[str, str] = {}
        self._symbols: dict[Named, str] = {}

    def number(self, named: Named) -> int:
        """The number of a symbol; one that was never handed out stands for an id that a client made up."""
        if isinstance(named, int):
            return named
        if named not in self._numbers:
            self._name(named, STRANGERS + len(self._numbers))
        return self._numbers[named]

    def member(self, symbol: str) -> str:
        """The member id that a symbol stands for; one that was never handed out is the id itself."""
        return self._members.get(symbol, symbol)

    def symbol(self, known: Named) -> Named:
        """The symbol of a number or of a member id; itself if it has none, and -1 for none."""
        return self._symbols.get(known, known)

    def meet(self, number: int) -> None:
        """Give an id that a side has just handed out the next symbol, if it is a new one.

        Symbols count the ids of a session in the order in which they appeared, in requests and answers.
        """
        symbol = f"pid{len(self._numbers)}"
        if number >= 0 and number not in self._symbols and symbol not in self._numbers:
            self._name(symbol, number)

    def meet_member(self, member: str) -> None:
        """Give a member id that a side has just handed out the next symbol, if it is a new one."""
        if member and member not in self._symbols:
            self._symbols[member] = f"member{len(self._members)}"
            self._members[self._symbols[member]] = member

    def _name(self, symbol: str, number: int) -> None:
        self._numbers[symbol] = number
        self._symbols[number] = symbol


MISSING: Final = "(missing)"
RACY_ERROR: Final = "racy_error: the name of the error depends on requests of other clients"


# --- the comparison ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field that is not as recorded."""

    where: str
    expected: object
    got: object


def differences(
    step: SessionStep, answer: Answer, seen: ObservableState, symbols: Symbols
) -> tuple[FieldDifference, ...]:
    """Every observable field of the answer and of the state after that is not as recorded.

    Args:
        step: as it was recorded.
        answer: of the specification or the reference.
        seen: the state after, as that side has it.
        symbols: which of its ids stand for which of the recording.
    """
    found: list[FieldDifference] = []
    response = as_recorded(answer, step.response, symbols.symbol)
    if response is not None and response != step.response:
        found.extend(_differences("response", step.response, response))
    if step.after is not None:
        found.extend(_state_differences(step.after, seen, symbols.symbol))
    return tuple(found)


def undecided(found: tuple[FieldDifference, ...], marks: StepMarks) -> str:
    """Why the recording itself says that these differences decide nothing; empty if it does not."""
    if all(_is_accepted(difference, marks.accept_errors) for difference in found):
        return RACY_ERROR
    return f"kafka_bug: {marks.bug}" if marks.bug else ""


def _is_accepted(difference: FieldDifference, errors: frozenset[str]) -> bool:
    """Whether it is only one of these errors for another, by name or by number."""
    codes = {ErrorCode[name].value for name in errors if name in ErrorCode.__members__}
    both = {difference.expected, difference.got} if _is_error(difference.where) else {None}
    return both <= errors or both <= codes


def _is_error(where: str) -> bool:
    by_partition = where.startswith("response.partitions.")
    return by_partition or (where.startswith("response.") and where.endswith((".error", ".error_code")))


def _state_differences(after: Json, seen: ObservableState, name: Name) -> Iterator[FieldDifference]:
    shown = state_as_recorded(seen, after, name)
    for part, recorded in after.items():
        expected = _by_producer(recorded) if part == "producers" else recorded
        got = shown.get(part, MISSING)
        if expected != got:
            yield from _differences(f"after.{part}", expected, got)


def _by_producer(recorded: Any) -> Any:
    """The producers of each partition by their id: the order of a listing means nothing."""
    try:
        by_producer = {part: {entry["producer_id"]: entry for entry in listed} for part, listed in recorded.items()}
        lengths_kept = all(len(by_producer[part]) == len(listed) for part, listed in recorded.items())
    except (AttributeError, KeyError, TypeError):
        return recorded
    return by_producer if lengths_kept else recorded


def _differences(where: str, expected: Any, got: Any) -> Iterator[FieldDifference]:
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in {**expected, **got}:
            yield from _differences(f"{where}.{key}", expected.get(key, MISSING), got.get(key, MISSING))
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for position, (left, right) in enumerate(zip(expected, got, strict=True)):
            yield from _differences(f"{where}[{position}]", left, right)
    elif expected != got:
        yield FieldDifference(where, expected, got)
