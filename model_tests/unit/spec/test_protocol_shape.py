"""The shape that every decision keeps: few behaviours read, records flat, names those of the trace."""

import ast
from pathlib import Path

import pytest

import spec.protocol
from reference.recording.trace import COLUMNS, ColumnType
from spec.protocol.records import AppendReply, AppendRequest, MetVerification, ProducerEntry, build, flatten, scalars

FOLDER = Path(spec.protocol.__file__).parent
FUNCTIONS = [
    pytest.param(node, id=f"{path.stem}.{node.name}")
    for path in sorted(FOLDER.glob("*.py"))
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.FunctionDef)
]
KINDS = {int: ColumnType.INTEGER, bool: ColumnType.BOOLEAN}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_decision_reads_at_most_five_behaviours(function: ast.FunctionDef) -> None:
    """More would mean that versions drown the decision."""
    read = {
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "profile"
    }

    assert len(read) <= 5


@pytest.mark.parametrize(
    ("record", "prefix"),
    [
        (AppendRequest, ""),
        (AppendReply, ""),
        (MetVerification, ""),
        (ProducerEntry, "before_"),
        (ProducerEntry, "after_"),
    ],
    ids=["request", "reply", "verification", "before", "after"],
)
def test_scalars_are_columns_of_the_trace(record: type, prefix: str) -> None:
    """Name and type of each scalar are those of a column; a batch's base offset is the log end before it."""
    columns = {column.name: column.kind for column in COLUMNS}

    for name, kind in scalars(record):
        if name != "base_offset":
            assert columns[prefix + name] == KINDS[kind]


def test_build_is_the_inverse_of_flatten() -> None:
    """A record taken apart and put together again is the same record."""
    entry = build(ProducerEntry, {name: i for i, (name, _) in enumerate(flatten(ProducerEntry()))}.__getitem__)

    assert list(range(18)) == [value for _, value in flatten(entry)]
