"""The client's tables on the page are those of the reference."""

from enum import Enum, auto

import pytest

from model_tests.unit.docs.extensions import extension
from reference.client.drain_rules import Hold
from reference.client.transaction_errors import MEANINGS, ErrorHandling

client_tables = extension("client_tables")


class Silent(Enum):
    """Two members in one line of the source."""

    FIRST, SECOND = auto(), auto()


@pytest.mark.parametrize("members", [Hold, ErrorHandling])
def test_every_member_is_reported_of(members: type[Enum]) -> None:
    """By the comment beside it, in the order of the source; without one by its own words."""
    reported = client_tables.reported(members)

    assert [member.name for member in members] == list(reported)
    assert all(reported.values())


def test_a_comment_is_what_is_reported() -> None:
    """And a name stands for itself where there is none."""
    reported = client_tables.reported(Hold)

    assert "a batch expired whose fate is not known" == reported["UNRESOLVED"]
    assert "no producer id" == reported["NO_PRODUCER_ID"]


def test_members_that_cannot_be_read_are_named() -> None:
    """The page would leave them out."""
    with pytest.raises(ValueError, match="Silent does not have its members one a line"):
        client_tables.reported(Silent)


def test_every_error_is_in_one_row() -> None:
    """Those that mean the same share it."""
    rows = client_tables.alike()

    assert sorted(MEANINGS) == sorted(error for errors in rows.values() for error in errors)
    assert all(MEANINGS[error] == meanings for meanings, errors in rows.items() for error in errors)
