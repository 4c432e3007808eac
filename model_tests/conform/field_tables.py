"""Tables of fields: how a recorded JSON object is read, checked and written, each field said once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from model_tests.conform.fields import Json, SessionFields
from model_tests.conform.requests import Named

Name: TypeAlias = Callable[[Named], Named]
"""The symbol of a producer id, or of a member id."""

Number: TypeAlias = Callable[[Named], int]
"""The number of a producer id's symbol."""

Member: TypeAlias = Callable[[str], str]
"""The member id that a symbol stands for."""

Read: TypeAlias = Callable[[SessionFields, str, int], Any]
"""The value in a field of an object, of so high a version of its request."""

Implied: TypeAlias = Callable[[Json], object]
"""What a missing field means, by the fields before it."""


Write: TypeAlias = Callable[[Any, Name, int], Any]
"""What a recording of such a version has of a value."""


NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


def _as_it_is(value: Any, name: Name, version: int) -> Any:
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class FieldKind:
    """What a field may hold.

    Attributes:
        read: its value in a recording; raises MalformedSession.
        write: what a recording has of a value.
        resolve: a value with numbers and member ids in place of symbols, where there are symbols in it.
    """

    read: Read
    write: Write = _as_it_is
    resolve: Callable[[Any, Number, Member], Any] | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a recorded object.

    Attributes:
        name: in the recording.
        attribute: of the record that has its value; the field's name if empty.
        implied: what a missing field means; such a value is not written.
        optional: it may be missing, which means the record's default. Without both it has to be there.
        when: whether the object has the field, by the fields before it.
        since: first version of the request that has it.
    """

    name: str
    kind: FieldKind
    attribute: str = ""
    implied: Implied | None = None
    optional: bool = False
    when: Callable[[Json], bool] | None = None
    since: int = 0

    @property
    def value_of(self) -> str:
        """The attribute."""
        return self.attribute or self.name

    def is_in(self, values: Json, version: int) -> bool:
        """Whether an object of this version has the field, by the fields before it."""
        return version >= self.since and (self.when is None or self.when(values))


@dataclass(frozen=True, slots=True)
class ObjectForm:
    """The fields of an object, and the record that holds their values; it has a default for each that may be absent."""

    record: Callable[..., Any]
    fields: tuple[Field, ...]

    def read(self, found: SessionFields, version: int = 0, outside: Mapping[str, object] = NOTHING) -> Any:
        """The record of a recorded object.

        Args:
            found: the object.
            version: of the request.
            outside: attributes that are no fields.

        Raises:
            MalformedSession: a field is missing or of another kind.
        """
        values = dict(outside)
        for field in self.fields:
            if not field.is_in(found.values, version):
                continue
            if field.name in found.values or not (field.implied or field.optional):
                values[field.value_of] = field.kind.read(found, field.name, version)
            elif field.implied:
                values[field.value_of] = field.implied(found.values)
        return self.record(**values)

    def check(self, found: SessionFields, version: int = 0) -> None:
        """Hold a recorded object to its form.

        Raises:
            MalformedSession: a field is missing or of another kind.
        """
        for field in self.fields:
            if field.is_in(found.values, version):
                field.kind.read(found, field.name, version)

    def write(self, value: Any, name: Name, version: int = 0) -> dict[str, Any]:
        """The object that a recording has of a record."""
        written: dict[str, Any] = {}
        for field in self.fields:
            if field.is_in(written, version):
                content = field.kind.write(getattr(value, field.value_of), name, version)
                if field.implied is None or content != field.implied(written):
                    written[field.name] = content
        return written

    def resolved(self, value: Any, number: Number, member: Member) -> dict[str, Any]:
        """By attribute, the values of a record that name producers or members, with numbers and ids for symbols."""
        return {
            field.value_of: field.kind.resolve(getattr(value, field.value_of), number, member)
            for field in self.fields
            if field.kind.resolve is not None
        }


def always(value: object) -> Implied:
    """A missing field always means the same."""
    return lambda _: value


def has(*names: str) -> Callable[[Json], bool]:
    """Whether an object has these fields, and none of them is null."""
    return lambda values: all(values.get(name) is not None for name in names)


def where(name: str, wanted: object) -> Callable[[Json], bool]:
    """Whether a field has this value."""
    return lambda values: values.get(name) is wanted


def integer(low: int, high: int) -> FieldKind:
    """An integer within a range."""
    return FieldKind(lambda found, name, _: found.integer(name, low, high))


def choice(values: Mapping[str, object]) -> FieldKind:
    """One of some texts, each with the value that it stands for."""
    texts = {value: text for text, value in values.items()}
    return FieldKind(
        lambda found, name, _: values[found.one_of(name, *values)], lambda value, *_: texts.get(value, value)
    )


def some_objects(form: ObjectForm, each: str) -> FieldKind:
    """A list of objects that is not empty; a message calls the n-th `each` n."""

    def read(found: SessionFields, name: str, version: int) -> tuple[Any, ...]:
        return tuple(form.read(part, version) for part in found.objects(name, each))

    def resolve(values: tuple[Any, ...], number: Number, member: Member) -> tuple[Any, ...]:
        return tuple(replace(value, **form.resolved(value, number, member)) for value in values)

    return FieldKind(read, _all_written(form), resolve)


def _all_written(form: ObjectForm) -> Write:
    return lambda values, name, version: [form.write(value, name, version) for value in values]


def fitting(fits: Callable[[object], bool], wanted: str, write: Write = _as_it_is) -> FieldKind:
    """A value that is as wanted."""

    def read(found: SessionFields, name: str, _: int) -> Any:
        if name not in found.values or not fits(found.values[name]):
            raise found.wrong(name, wanted)
        return found.values[name]

    return FieldKind(read, write)


def objects(form: ObjectForm) -> FieldKind:
    """A list of objects of a form, which may be empty."""

    def read(found: SessionFields, name: str, version: int) -> None:
        values = found.values.get(name)
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            raise found.wrong(name, "a list of objects")
        for number, value in enumerate(values):
            form.check(SessionFields.of(f"{found.place} {name} {number}", value), version)

    return FieldKind(read, _all_written(form))


def by_name(form: ObjectForm) -> FieldKind:
    """Objects of a form by the name of a partition or of another thing."""

    def read(found: SessionFields, name: str, version: int) -> None:
        parts = found.within(name)
        for part in parts.values:
            form.check(parts.within(part), version)

    def write(values: Mapping[str, Any], name: Name, version: int) -> dict[str, Any]:
        return {part: form.write(value, name, version) for part, value in values.items()}

    return FieldKind(read, write)


def is_producer(value: object) -> bool:
    """Whether it is the symbol of a producer id, or -1 for none."""
    named = isinstance(value, str) and value.startswith("pid") and value[3:].isdecimal()
    return named or (type(value) is int and value == -1)


def _producers(found: SessionFields, name: str, version: int) -> tuple[Named, ...]:
    values = found.values_of(name)
    for value in values:
        if not is_producer(value):
            raise found.wrong(name, A_PRODUCER)
    return tuple(values)  # type: ignore[arg-type]  # each is one, as has just been seen


A_PRODUCER: Final = "a symbol as pid0, or -1"
TEXT: Final = FieldKind(lambda found, name, _: found.text(name))
TEXT_OR_NULL: Final = FieldKind(lambda found, name, _: found.text_or_null(name))
TEXTS: Final = FieldKind(lambda found, name, _: found.texts(name))
FLAG: Final = FieldKind(lambda found, name, _: found.flag(name))
INT8: Final = integer(-(2**7), 2**7 - 1)
INT16: Final = integer(-(2**15), 2**15 - 1)
INT32: Final = integer(-(2**31), 2**31 - 1)
INT64: Final = integer(-(2**63), 2**63 - 1)
PRODUCER: Final = FieldKind(
    fitting(is_producer, A_PRODUCER).read,
    lambda value, name, _: name(value),
    lambda value, number, _: number(value),
)
PRODUCERS: Final = FieldKind(
    _producers,
    lambda values, name, _: [name(value) for value in values],
    lambda values, number, _: tuple(number(value) for value in values),
)
MEMBER: Final = FieldKind(TEXT.read, lambda value, name, _: name(value), lambda value, _, member: member(value))
