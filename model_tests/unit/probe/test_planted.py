"""Planted defects of brokers: which of them sessions see, and why they do not see the others."""

import pytest

from model_tests.probe.planted import ALIKE, UNREACHED, WHY, found_by, is_seen, of_brokers, unseen, written


def test_every_defect_is_seen_or_has_a_reason() -> None:
    """The table has them all, and no reason is left over."""
    assert set(of_brokers()) == set(written())
    reasons = {reason for _, reason in unseen()}
    assert reasons == set(WHY.values())
    assert len(reasons) < len(list(unseen())) < len(written()) / 3


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("duplicate over the wrap not found", True),
        ("empty batch accepted", True),
        ("nothing times out", True),
        ("KAFKA-14055: the key of a marker is compared", False),
        ("any guard will do (KAFKA-14884)", False),
    ],
)
def test_a_defect_is_seen_or_not_as_the_table_says(name: str, seen: bool) -> None:
    """By the sessions that are in every run."""
    found = found_by(of_brokers()[name], "4.3", seeds=0)

    assert seen == is_seen(found) == any(map(is_seen, written()[name].values()))
    assert seen or found == (UNREACHED if "14055" in name else ALIKE)
