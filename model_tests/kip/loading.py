"""A variant of the protocol read from a file of Python; what is wrong with the file is said in one line."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from typing import Final

from model_tests.common.reports import BadInput
from spec.systems.transactions.decisions import ReleaseDecisions
from spec.systems.transactions.variant import Variant

NAME: Final = "VARIANT"
"""What the file calls its variant."""


def loaded(file: Path) -> Variant:
    """The variant of a file.

    Raises:
        BadInput: there is no such file, it cannot be run, it has no variant, or the variant has no system.
    """
    if not file.is_file():
        raise BadInput(f"{file} is no file: a variant is one file of Python with a {NAME} (docs/howto/kip.md)")
    name = f"kip_{file.stem}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise BadInput(f"{file} is no file of Python: its name ends in .py")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses of the file look for their module there
    with located_errors(file):
        try:
            with _beside(file):
                spec.loader.exec_module(module)
        except SyntaxError as wrong:
            raise BadInput(f"{file}, line {wrong.lineno}: {wrong.msg}") from wrong
        except UnicodeDecodeError as wrong:
            raise BadInput(f"{file} is no text: {wrong}") from wrong
        except Exception as wrong:
            raise BadInput(f"{file}{_line(file, wrong)}: {type(wrong).__name__}: {wrong}") from wrong
    found = getattr(module, NAME, None)
    if not isinstance(found, Variant):
        what = "has no" if found is None else f"has a {type(found).__name__} as its"
        raise BadInput(f"{file} {what} {NAME}: it needs {NAME} = Variant(...) (docs/howto/kip.md)")
    with located_errors(file):
        _demand_system(file, found)
    return found


@contextmanager
def _beside(file: Path) -> Iterator[None]:
    """A variant may be made of another one, whose file is beside its own."""
    directory = str(file.absolute().parent)
    sys.path.insert(0, directory)
    try:
        yield
    finally:
        sys.path.remove(directory)


@contextmanager
def located_errors(file: Path) -> Iterator[None]:
    """What goes wrong in a function of the file is said with its line, and is not the project's own error."""
    try:
        yield
    except BadInput:
        raise
    except IndexError as wrong:  # an effect is worked out where it is read, long after its function has returned
        raise BadInput(f"{file}{_line(file, wrong)}: {wrong}") from wrong
    except Exception as wrong:
        line = _line(file, wrong)
        if not line:
            raise
        raise BadInput(f"{file}{line}: {type(wrong).__name__}: {wrong}") from wrong


def _line(file: Path, wrong: Exception) -> str:
    """Where in the file an error arose last; empty where it did not pass through the file."""
    lines = [frame.lineno for frame in extract_tb(wrong.__traceback__) if Path(frame.filename) == file.absolute()]
    return f", line {lines[-1]}" if lines else ""


def _demand_system(file: Path, variant: Variant) -> None:
    """Build the system in each instance, and look at every guard and claim in the state at the start.

    Raises:
        BadInput: a part of it cannot be built, or speaks of what is not there.
    """
    if not variant.instances:
        raise BadInput(f"{file}: {variant.name} has no instance to be searched in")
    for instance in variant.instances:
        what = "its knobs"
        try:
            taken = variant.taken(instance.knobs)
            if not isinstance(taken, ReleaseDecisions):
                raise TypeError(f"its decisions are a {type(taken).__name__}")
            what = "its system"
            system = variant.searched(instance.knobs)
        except (TypeError, AttributeError, KeyError, ValueError) as wrong:
            raise BadInput(f"{file}{_line(file, wrong)}: {what}: {type(wrong).__name__}: {wrong}") from wrong
        names = [variable.name for variable in system.variables]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise BadInput(f"{file}: two functions of the state are called {twice[0]}")
        claims = {claim.name for claim in system.theorems}
        if instance.mends and instance.mends not in claims:
            raise BadInput(f"{file}: no theorem is called {instance.mends!r}; there are {', '.join(sorted(claims))}")
