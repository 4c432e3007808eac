"""Random requests and answers of any api and version, as fields by name."""

import random
import uuid
from collections.abc import Mapping
from typing import Any, Final

from reference.wire.codec import messages
from reference.wire.versions import ServedApi, served
from spec.versions import NEWEST

SERVED: Final[tuple[ServedApi, ...]] = tuple(served(NEWEST))
"""Every api in the versions of the newest release, older ones included."""

VERSIONS: Final = [(each.api, version) for each in SERVED for version in range(each.oldest, each.newest + 1)]

NAMES: Final = ("", "a", "orders", "x" * 249, "ä", "..")
NUMBERS: Final[Mapping[str, int]] = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
ERRORS: Final = (0, 3, 6, 16, 22, 35, 47, 51, 87, 90)
"""Codes that both libraries know."""


def random_fields(chance: random.Random, kind: str, api: str, version: int) -> dict[str, Any]:
    """Fields of a random message.

    Args:
        chance: where it comes from.
        kind: `request` or `response`.
        api: its name.
        version: of the message.
    """
    return _fields(chance, messages(kind)[api]._struct, version)


def _fields(chance: random.Random, made_of: Any, version: int) -> dict[str, Any]:
    known = (field for field in made_of.fields.values() if field.for_version_q(version) and field._tag is None)
    return {field.name: _value(chance, field, version) for field in known}


def _value(chance: random.Random, field: Any, version: int) -> Any:
    if field.nullable_for_version_q(version) and chance.random() < 0.2:
        return None
    if field.is_struct_array():
        return [_fields(chance, field.data_class._struct, version) for _ in range(chance.randrange(3))]
    if field.is_struct():
        return _fields(chance, field, version)
    if field.is_array():
        return [_simple(chance, field.type_str.removeprefix("[]"), "") for _ in range(chance.randrange(4))]
    return _simple(chance, field.type_str, field.name)


def _simple(chance: random.Random, kind: str, name: str) -> Any:
    if name.endswith("error_code"):
        return chance.choice(ERRORS)
    if kind in NUMBERS:
        top = 2 ** NUMBERS[kind]
        if name.endswith(("_ms", "timestamp")):
            return chance.randrange(2**31 - 1)
        return chance.choice((0, 1, 2, top - 1, chance.randrange(top), -1))
    if kind == "string":
        return chance.choice(NAMES)
    if kind == "bool":
        return chance.random() < 0.5
    if kind == "bitfield":
        return None
    if kind == "uuid":
        return uuid.UUID(int=chance.randrange(2**128))
    return chance.randbytes(chance.randrange(30))
