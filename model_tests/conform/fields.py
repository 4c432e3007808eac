"""Fields of a recorded JSON object, read with their type and range; an error is one line."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any]
"""A JSON object."""


class MalformedSession(Exception):
    """A recording is not of the documented form; the message says where and what."""


@dataclass(frozen=True, slots=True)
class SessionFields:
    """A JSON object at a known place of a session.

    Attributes:
        place: where it is, for the message: `step 3 request`.
    """

    place: str
    values: Json

    @classmethod
    def of(cls, place: str, value: object) -> "SessionFields":
        """The object at `place`.

        Raises:
            Malformed: it is no object.
        """
        if not isinstance(value, dict):
            raise MalformedSession(f"{place} is {_shown(value)}, not an object")
        return cls(place, value)

    def within(self, name: str) -> "SessionFields":
        """The object in a field.

        Raises:
            Malformed: it is missing, or is no object.
        """
        if name not in self.values:
            raise self.wrong(name, "an object")
        return SessionFields.of(f"{self.place} {name}", self.values[name])

    def integer(self, name: str, low: int, high: int, default: int | None = None) -> int:
        """An integer from `low` to `high`.

        Args:
            name: of the field.
            low: the least that it may be.
            high: the most that it may be.
            default: what a missing field means; none where it has to be there.

        Raises:
            Malformed: it is missing, no integer, or not within these.
        """
        value = self.values.get(name, default)
        if type(value) is not int:
            raise self.wrong(name, "an integer")
        if not low <= value <= high:
            raise self.wrong(name, f"within {low} .. {high}")
        return value

    def text(self, name: str) -> str:
        """A string.

        Raises:
            Malformed: it is missing, or is no string.
        """
        value = self.values.get(name)
        if not isinstance(value, str):
            raise self.wrong(name, "a string")
        return value

    def text_or_null(self, name: str) -> str | None:
        """A string, or null; missing means null.

        Raises:
            Malformed: it is something else.
        """
        return None if self.values.get(name) is None else self.text(name)

    def flag(self, name: str, default: bool | None = None) -> bool:
        """True or false.

        Raises:
            Malformed: it is neither, or is missing and has no default.
        """
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def items(self, name: str) -> list[object]:
        """A list that is not empty.

        Raises:
            Malformed: it is missing, empty, or no list.
        """
        value = self.values.get(name)
        if not isinstance(value, list) or not value:
            raise self.wrong(name, "a list with something in it")
        return value

    def values_of(self, name: str) -> list[object]:
        """A list, which may be empty.

        Raises:
            Malformed: it is missing, or is no list.
        """
        value = self.values.get(name)
        if not isinstance(value, list):
            raise self.wrong(name, "a list")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings, which may be empty.

        Raises:
            Malformed: it is missing, or is no list of strings.
        """
        values = self.values_of(name)
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(name, "a list of strings")
        return tuple(str(value) for value in values)

    def objects(self, name: str, each: str) -> list["SessionFields"]:
        """A list of objects that is not empty; a message calls the n-th `each` n.

        Raises:
            Malformed: it is missing, empty, no list, or has something else in it.
        """
        return [SessionFields.of(f"{self.place} {each} {n}", value) for n, value in enumerate(self.items(name))]

    def one_of(self, name: str, *allowed: str) -> str:
        """One of the strings allowed.

        Raises:
            Malformed: it is missing, or is none of them.
        """
        value = self.values.get(name)
        if value not in allowed:
            raise self.wrong(name, " or ".join(allowed))
        return str(value)

    def wrong(self, name: str, wanted: str) -> MalformedSession:
        """What to raise for a field that is not as wanted."""
        if name not in self.values:
            return MalformedSession(f"{self.place}: {name} is missing")
        return MalformedSession(f"{self.place}: {name} is {_shown(self.values[name])}, not {wanted}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
