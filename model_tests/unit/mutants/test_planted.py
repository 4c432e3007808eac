"""What is planted in the place of a function can be called as the function is: a crash would not be the defect."""

from importlib import import_module
from inspect import Parameter, signature
from pkgutil import iter_modules

import pytest

from model_tests.mutants import defects
from model_tests.mutants.defects.planted import Planted

MODULES = [import_module(f"{defects.__name__}.{module.name}") for module in iter_modules(defects.__path__)]
LISTS = [value for module in MODULES for value in vars(module).values() if isinstance(value, tuple)]
PLANTED = {each.name: each for values in LISTS for each in values if isinstance(each, Planted)}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED.keys())
def test_a_defect_takes_the_arguments_of_what_it_replaces(planted: Planted) -> None:
    """Every parameter without a default, by its place."""
    for patch in planted.patches:
        replaced = getattr(patch.owner, patch.name)
        if callable(replaced) and callable(patch.instead) and not isinstance(replaced, type):
            parameters = signature(replaced).parameters.values()
            given = [
                each for each in parameters if each.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
            ]
            signature(patch.instead).bind(*(each for each in given if each.default is Parameter.empty))
