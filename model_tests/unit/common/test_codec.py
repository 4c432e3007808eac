"""What crosses a process border, or is kept in a file, comes back as it was, and nothing is pickled."""

import typing
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from model_tests.common.codec import CODECS, TypedCodec
from model_tests.unit.source_files import ROOT, Module, production
from spec import rules
from spec.rules import RULES, Rule

SERIALIZERS: Final = ("pickle", "cloudpickle", "marshal", "shelve", "dill")
"""Libraries whose content can run code where it is read, or that only their own version reads."""

for module in production():
    if module.name != "model_tests.common.codec" and "model_tests.common.codec" in module.text:
        import_module(module.name)

SCALARS: Final[dict[Any, st.SearchStrategy[Any]]] = {
    type(None): st.none(),
    bool: st.booleans(),
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False),
    str: st.text(st.characters(exclude_categories=())),
    bytes: st.binary(),
    Path: st.just(Path("/var/lib/kafka")),
    Rule: st.sampled_from(list(RULES.values())),
}


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type that the codec knows."""
    while isinstance(kind, typing.NewType):
        kind = kind.__supertype__
    if kind in SCALARS:
        return SCALARS[kind]
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(kind, type) and origin is None:
        return st.sampled_from(list(kind)) if issubclass(kind, Enum) else records_of(kind)
    if origin is np.ndarray:
        dtype = np.dtype(typing.get_args(inner[1])[0])
        return arrays.arrays(dtype, arrays.array_shapes(max_dims=2, min_side=0, max_side=3))
    if origin is tuple and inner[-1:] != (...,):
        return st.tuples(*map(values_of, inner))
    if origin in (tuple, list, Sequence):
        listed = st.lists(st.deferred(lambda: values_of(inner[0])), max_size=2)
        return listed if origin is list else listed.map(tuple)
    if origin in (set, frozenset, Set):
        return st.sets(values_of(inner[0]), max_size=2).map(set if origin is set else frozenset)
    if origin in (dict, Mapping, Counter):
        return st.dictionaries(values_of(inner[0]), values_of(inner[1] if inner[1:] else int), max_size=2)
    return st.one_of(*map(values_of, inner))


def records_of(kind: type[Any]) -> st.SearchStrategy[Any]:
    names = [one.name for one in fields(kind)] if is_dataclass(kind) else list(kind._fields)
    hints = typing.get_type_hints(kind)
    return st.tuples(*(values_of(hints[name]) for name in names)).map(lambda values: kind(*values))


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal to the last element of the last array."""
    if isinstance(left, np.ndarray):
        return type(left) is type(right) and left.dtype == right.dtype and np.array_equal(left, right)
    if type(left) is not type(right):
        return False
    if is_dataclass(left):
        return all(same(getattr(left, one.name), getattr(right, one.name)) for one in fields(left))
    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(map(same, left.values(), right.values()))
    return bool(left == right)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS.keys())
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_type_comes_back_as_it_was(codec: TypedCodec[Any], data: st.DataObject) -> None:
    """Whatever values its fields have; equal values are equal bytes."""
    value = data.draw(values_of(codec.kind))

    content = codec.encode(value)
    again = codec.decode(content)

    assert same(value, again)
    assert content == codec.encode(again)


class CodecRow(NamedTuple):
    """A record of integers alone."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Sample:
    """A field of each form."""

    rows: tuple[CodecRow, ...] = ()
    members: frozenset[str] = frozenset()
    either: int | str | tuple[int, ...] = 0
    rule: Rule = rules.SEQ_SUCCESSOR
    column: npt.NDArray[np.int64] | None = None


SAMPLE: Final[TypedCodec[Sample]] = TypedCodec("sample", Sample)
OTHER: Final[TypedCodec[CodecRow]] = TypedCodec("row", CodecRow)


def test_equal_sets_are_equal_bytes() -> None:
    """In whatever order they were filled: what is kept is found by its content."""
    names = [f"t-{number}" for number in range(50)]

    assert SAMPLE.encode(Sample(members=frozenset(names))) == SAMPLE.encode(Sample(members=frozenset(reversed(names))))


@pytest.mark.parametrize(
    "wrong",
    [
        Sample(rows=(CodecRow(1, 2**63),)),
        Sample(rows=(CodecRow(1, 0.5),)),  # type: ignore[arg-type]
        Sample(rows=[CodecRow(1, 2)]),  # type: ignore[arg-type]
        Sample(members=frozenset([1])),  # type: ignore[list-item]
        Sample(either=0.5),  # type: ignore[arg-type]
        Sample(column=np.zeros(3, np.int32)),
        (),
    ],
    ids=lambda wrong: repr(wrong)[:60],
)
def test_what_is_not_of_its_type_is_not_written(wrong: Any) -> None:
    """An error where it is written, not another value where it is read."""
    with pytest.raises((TypeError, OverflowError)):
        SAMPLE.encode(wrong)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x80\x04N.", zlib.compress(b""), SAMPLE.encode(Sample())[:-3], OTHER.encode(CodecRow(1, 2))],
    ids=["nothing", "pickled", "empty", "cut", "of another type"],
)
def test_what_another_wrote_is_not_read(content: bytes) -> None:
    """Nor what is cut short."""
    with pytest.raises(ValueError, match="this is no sample"):
        SAMPLE.decode(content)


def test_a_type_without_a_form_is_refused_where_the_codec_is_made() -> None:
    """Not when the first value comes."""
    with pytest.raises(TypeError, match="has no form"):
        TypedCodec("callable", tuple[typing.Callable[[], int], ...])


def test_nothing_in_the_tree_pickles() -> None:
    """No module and no page's extension imports a serializer of objects."""
    files = sorted(
        file for part in ("spec", "reference", "model_tests", "docs") for file in (ROOT / part).rglob("*.py")
    )
    named = [module for module in map(Module, files) if any(name in module.text for name in SERIALIZERS)]
    found = {module.path.relative_to(ROOT) for module in named if module.imports_any(*SERIALIZERS)}

    assert len(files) > 500
    assert set() == found
