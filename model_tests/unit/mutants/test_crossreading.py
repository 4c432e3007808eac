import pytest

from model_tests.mutants.crossreading import BROKEN, LAYERS, reds, seen
from model_tests.mutants.planted import Planted
from spec import rules

QUICK = ("resends are not recognised", "sequences do not wrap")


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(
    "mutant",
    [pytest.param(m, id=m.name, marks=[] if m.name in QUICK else [pytest.mark.slow]) for m in BROKEN],
)
def test_every_layer_sees_a_broken_guard(mutant: Planted) -> None:
    """A guard broken in the specification turns each layer red, which names the rule."""
    found = seen(mutant, reds(mutant))

    assert dict.fromkeys(found, True) == found


@pytest.mark.xdist_group("spark")
def test_no_layer_is_red_by_itself() -> None:
    """With nothing broken every layer is green, so that red means the broken guard."""
    found = reds(Planted("nothing", rules.SEQ_SUCCESSOR, ()))

    assert dict.fromkeys(LAYERS, frozenset()) == found
