import pytest

from model_tests.unit.by_default import by_default


def test_what_is_not_chosen_is_slow() -> None:
    """Every value keeps its name, and its place."""
    first, second = by_default({"one": 1, "two": 2}, ["two"])

    assert (first, second) == (pytest.param(1, id="one", marks=[pytest.mark.slow]), pytest.param(2, id="two", marks=[]))


def test_a_name_that_is_chosen_must_exist() -> None:
    """A renamed case cannot drop out of the default run unseen."""
    with pytest.raises(ValueError, match="there is no three"):
        by_default({"one": 1}, ["three"])
