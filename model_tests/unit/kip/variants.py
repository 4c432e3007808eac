"""Variants of the tests: the project's own, and small ones written here."""

from pathlib import Path
from typing import Final

from model_tests.kip.loading import loaded
from spec.systems.transactions.broken import quiet
from spec.systems.transactions.variant import Variant, VariantInstance
from spec.versions import NEWEST

KIPS: Final = Path(__file__).parents[3] / "docs" / "kips"

TWO: Final = VariantInstance("two transactions", quiet(NEWEST))

UNCHANGED: Final = Variant("unchanged", "Nothing is otherwise.", instances=(TWO,))

PLAIN: Final = """
from spec.systems.transactions.broken import quiet
from spec.systems.transactions.variant import Variant, VariantInstance
from spec.versions import NEWEST

VARIANT = Variant("plain", "Nothing is otherwise.", instances=(VariantInstance("two", quiet(NEWEST)),))
"""


def shown(name: str) -> Variant:
    """A variant of the docs."""
    return loaded(KIPS / f"{name}.py")


def instance(variant: Variant, name: str) -> VariantInstance:
    """One of its instances."""
    return next(each for each in variant.instances if each.name == name)
