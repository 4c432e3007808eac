"""The pages of proposed changes: each kept verdict with its parts and its drawing."""

import pytest

from model_tests.unit.docs.extensions import extension

pages = extension("kip_pages")


@pytest.mark.parametrize("name", pages.names())
def test_a_page_has_verdict_numbers_and_drawing(name: str) -> None:
    """What violates or differs is drawn; equal states need no drawing."""
    found = pages.kept(name)

    text = "\n".join(node.astext() for node in pages.shown(name, found))

    assert found["verdict"] in text
    assert all(f"{each['here']:,}" in text for each in found["instances"])
    runs = [each[kind] for each in found["instances"] for kind in ("violating", "mended") if each[kind]]
    assert all(run["trace"] for run in runs)
    assert not runs or runs[0]["drawing"].strip() in text


def test_what_is_not_proved_is_shown_with_its_state() -> None:
    """A row for each number that is not as at the start."""
    found = pages.kept("late_bump")
    cell = {"function": "memory.state", "at": [], "before": 1, "after": 2}
    found["proof"]["open"] = [{"said": "not proved: something", "state": [cell]}]

    text = "\n".join(node.astext() for node in pages.shown("late_bump", found))

    assert "not proved: something" in text
    assert "memory.state" in text
