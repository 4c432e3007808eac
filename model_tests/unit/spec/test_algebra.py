"""The connectives on Python values, and how they fold constants for other readings."""

import itertools

import pytest

from spec.algebra import all_of, any_of, choose, implies, negate, same

BOTH = (False, True)


@pytest.mark.parametrize(("left", "right"), list(itertools.product(BOTH, BOTH)))
def test_connectives_on_python_values(left: bool, right: bool) -> None:
    """The truth tables."""
    assert (left and right) is all_of(left, right)
    assert (left or right) is any_of(left, right)
    assert ((not left) or right) is implies(left, right)
    assert (left is right) is same(left, right)
    assert (not left) is negate(left)


def test_choose_takes_the_arm_of_the_fact() -> None:
    """True takes the first arm, false the second."""
    assert ("then", "otherwise") == (choose(True, "then", "otherwise"), choose(False, "then", "otherwise"))


def test_no_fact_at_all() -> None:
    """Everything holds of nothing, and nothing holds of nothing."""
    assert (True, False) == (all_of(), any_of())


def test_constants_fold_away() -> None:
    """A constant decides or vanishes, so that a decision carries no trace of what a profile does not have."""
    term = object()

    assert all_of(True, term) is term
    assert all_of(term, False) is False
    assert any_of(False, term) is term
    assert any_of(term, True) is True


def test_an_unknown_kind_of_term_is_named() -> None:
    """A type without a reading is an error with the type's name."""
    with pytest.raises(TypeError, match="no reading for str"):
        negate("yes")
