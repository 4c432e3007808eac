"""Options of commands: the fields of a frozen dataclass, whose docstring says what each means.

The command line, the library and the tasks on executors take the same object. `offered` marks a field that the command
line offers, `with_options` gives a command these options.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from model_tests.common.docstrings import entries_of

Made = TypeVar("Made")

OFFERED: Final = "offered"
"""Key of a field's metadata."""

PARAMETER: Final = "options"
"""The argument of a command that takes the object."""


@dataclass(frozen=True, slots=True)
class Offered:
    """How the command line offers a field.

    Attributes:
        flag: of the option, where it is not the field's name.
        metavar: what the help calls the value.
        least: the least number.
        default: the text that stands for the field's default, for the help to show.
        read: makes the field's value of the text, or of the texts of an option that may be repeated.
        repeated: the option may be given more than once.
    """

    flag: str = ""
    metavar: str | None = None
    least: int | None = None
    default: str = ""
    read: Callable[[Any], Any] | None = None
    repeated: bool = False


def offered(flag: str = "", metavar: str | None = None, **how: Any) -> dict[str, object]:
    """The metadata of a field that the command line offers; the arguments are those of `Offered`."""
    return {OFFERED: Offered(flag, metavar, **how)}


def with_options(kind: type[Any]) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """Give a command, in place of its argument `options`, the options that a dataclass offers.

    The command is called with `options`, a function that makes the object of what was given: it may find something
    wrong with it, which the command reports as it reports anything else.
    """
    parameters = list(_parameters(kind))

    def decorated(command: Callable[..., Made]) -> Callable[..., Made]:
        own = inspect.signature(command, eval_str=True)

        @wraps(command)
        def run(**given: Any) -> Made:
            chosen = {one.name: given.pop(one.name) for one in parameters}
            return command(**given, options=lambda: _made(kind, chosen))

        whole = [new for one in own.parameters.values() for new in (parameters if one.name == PARAMETER else [one])]
        run.__signature__ = own.replace(parameters=whole)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in whole}
        return run

    return decorated


def _made(kind: type[Any], chosen: dict[str, Any]) -> Any:
    """The object; what was not given is left to its defaults."""
    values = {}
    for one in fields(kind):
        value, how = chosen.get(one.name), one.metadata.get(OFFERED, Offered())
        if value not in (None, []):
            values[one.name] = how.read(value) if how.read else tuple(value) if how.repeated else value
    return kind(**values)


def _parameters(kind: type[Any]) -> Iterator[inspect.Parameter]:
    meanings = entries_of(kind.__doc__ or "", "Attributes")
    for one in fields(kind):
        how = one.metadata.get(OFFERED)
        if how is not None:
            yield _parameter(one, how, meanings[one.name])


def _parameter(one: Field[Any], how: Offered, meaning: str) -> inspect.Parameter:
    import typer  # executors have the dataclass, and no command line

    is_flag = isinstance(one.default, bool) and how.read is None
    flags = [how.flag or (f"--{one.name.replace('_', '-')}" if is_flag else "")]
    help_text = f"{meaning[:1].upper()}{meaning[1:]}"
    info = typer.Option(*filter(None, flags), metavar=how.metavar, min=how.least, help=help_text)
    return inspect.Parameter(
        one.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=one.default if is_flag else how.default or None,
        annotation=Annotated[bool if is_flag else _given_as(one, how), info],
    )


def _given_as(one: Field[Any], how: Offered) -> Any:
    """What the command line makes of the option before it is read."""
    if how.repeated:
        return list[str] | None
    if how.read is not None or one.default is MISSING or isinstance(one.default, str):
        return str | None
    return {int: int | None, type(None): Path | None}[type(one.default)]
