"""Variants of the tests: the project's own, and small ones written here."""

from functools import cache
from pathlib import Path
from typing import Final

import pytest

from model_tests.kip.loading import loaded
from model_tests.kip.searching import InstanceResult, searched
from spec.systems.transactions.broken import quiet
from spec.systems.transactions.variant import Variant, VariantInstance
from spec.versions import NEWEST

IN_ONE_WORKER: Final = pytest.mark.xdist_group("variants")
"""Of tests that ask for the same searches: what one has found, the next takes."""

KIPS: Final = Path(__file__).parents[3] / "docs" / "kips"

TWO: Final = VariantInstance("two transactions", quiet(NEWEST))

UNCHANGED: Final = Variant("unchanged", "Nothing is otherwise.", instances=(TWO,))

PLAIN: Final = """
from model_tests.kip.searching import InstanceResult, searched
from spec.systems.transactions.broken import quiet
from spec.systems.transactions.variant import Variant, VariantInstance
from spec.versions import NEWEST

VARIANT = Variant("plain", "Nothing is otherwise.", instances=(VariantInstance("two", quiet(NEWEST)),))
"""


@cache
def shown(name: str) -> Variant:
    """A variant of the docs."""
    return loaded(KIPS / f"{name}.py")


@cache
def found_in(name: str, where: str) -> InstanceResult:
    """What the search of one of its instances finds."""
    return searched(shown(name), instance(shown(name), where))


def instance(variant: Variant, name: str) -> VariantInstance:
    """One of its instances."""
    return next(each for each in variant.instances if each.name == name)
