"""Which partition coordinates a name: both sides agree, and so do Java's own hashes."""

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from reference.broker.transaction_log import partition_for
from spec.engines.reading_z3 import INTEGERS
from spec.protocol.finding import SMALLEST, hash_of, partition_of


@pytest.mark.parametrize(
    ("name", "hashed"),
    [("", 0), ("a", 97), ("hello", 99162322), ("polygenelubricants", SMALLEST), ("\U0001f600", 1772899)],
)
def test_names_are_hashed_as_java_does(name: str, hashed: int) -> None:
    """A character beyond the first plane is two units."""
    assert hashed == hash_of(name)


@given(st.text(), st.integers(1, 1000))
def test_both_sides_find_the_same_partition(name: str, partitions: int) -> None:
    """Whatever the name, lone surrogates included."""
    assert partition_for(name, partitions) == partition_of(hash_of(name), partitions)


def test_every_name_has_a_partition() -> None:
    """For all hashes of 32 bits and all numbers of partitions."""
    name_hash, partitions = INTEGERS.constant("hash"), INTEGERS.constant("partitions")
    found = partition_of(name_hash, partitions)
    solver = z3.Solver()

    solver.add(name_hash >= SMALLEST, name_hash < -SMALLEST, partitions > 0)
    solver.add(z3.Not(z3.And(found >= 0, found < partitions)))

    assert z3.unsat == solver.check()
