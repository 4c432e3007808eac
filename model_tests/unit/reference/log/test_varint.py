import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.log import varint


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_long_comes_back(value: int) -> None:
    """What is written is read, and the position is behind it."""
    data = varint.encoded(value)

    assert (value, len(data)) == varint.read(data, 0)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x80" * 11], ids=["empty", "cut", "endless"])
def test_a_varint_without_end_is_named(data: bytes) -> None:
    """Bytes that end inside a varint are refused."""
    with pytest.raises(varint.MalformedVarint):
        varint.read(data, 0)
