"""Explicit and bounded search say the same of generated configurations, and it is noticed where they do not."""

import pytest

from model_tests.verify import agreement
from model_tests.verify.agreement import DRAWS, ComparedSearches, compared, configuration
from spec.engines.bmc import Search
from spec.engines.verdict import Happening, Holds, Refuted, Unknown

SOME = range(44, 44 + len(DRAWS))
"""Others than those of a quick verify, one of each system."""


@pytest.mark.slow
def test_both_searches_agree_on_generated_configurations() -> None:
    """The verdict is the same, and the shortest violation is as deep; some of both kinds are among them."""
    found = [compared(seed) for seed in SOME]

    assert [] == [str(each) for each in found if not each.agree]
    assert {True, False} == {each.violated for each in found}


def test_a_seed_names_its_configuration() -> None:
    """It is the same one again, and every system has its turn."""
    assert configuration(7).name == configuration(7).name
    assert list(DRAWS) == [configuration(seed).name.split(":")[0] for seed in range(len(DRAWS))]


DEEP = Refuted("claim", (Happening("act", ()),) * 2)


@pytest.mark.parametrize(
    ("explicit", "bounded", "agree"),
    [
        (Holds(3), Holds(3), True),
        (DEEP, Refuted("another", DEEP.trace), True),
        (DEEP, Refuted("claim", DEEP.trace[:1]), False),
        (DEEP, Holds(3), False),
        (Holds(3), DEEP, False),
        (Holds(3), Unknown("timeout"), False),
    ],
)
def test_only_the_same_depth_is_agreement(explicit: object, bounded: object, agree: bool) -> None:
    """Which of several claims breaks first is not for the searches to agree on."""
    assert agree is ComparedSearches(0, "made up", explicit, bounded).agree  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_bounded_search_that_looks_less_deep_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A violation that only one of them finds is a disagreement, reported with the seed."""
    violated = next(seed for seed in SOME if compared(seed).violated)
    monkeypatch.setattr(agreement, "search", lambda *_, **__: Search(Holds(0), 0))

    found = compared(violated)

    assert not found.agree
    assert f"configuration {violated} (" in str(found)
