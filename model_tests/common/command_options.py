"""Options of commands: the fields of a frozen dataclass, whose docstring describes each option.

The command line, the library and the tasks on executors take the same object. `offered` marks a field that the command
line offers, and `with_options` gives these options to a command. The descriptions are read from the docstring by
`entries_of`, which reads any section that lists names, such as the fields of a dataclass or arguments.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass, fields
from functools import wraps
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin, get_type_hints

# --- sections of docstrings that list names ---------------------------------------------------------------------------


ENTRY: Final = re.compile(r"^(?P<name>\*{0,2}[\w., \[\]*]+): (?P<text>.*)$")
"""The first line of an entry; the lines that continue it are indented."""


def entries(section: str) -> Iterator[tuple[str, str]]:
    """Each name of a section and what is written about it, in one line."""
    name, about = "", [""]
    for line in section.splitlines():
        found = ENTRY.match(line)
        if found and not line.startswith(" "):
            if name:
                yield name, " ".join(about)
            name, about = found["name"], [found["text"]]
        elif name:
            about.append(line.strip())
    if name:
        yield name, " ".join(about)


def entries_of(docstring: str, heading: str) -> dict[str, str]:
    """The entries of one section of a docstring; none where it has no such section."""
    _, _, below = cleandoc(docstring).partition(f"\n{heading}:\n")
    return dict(entries(cleandoc(re.split(r"\n\s*\n", below)[0])))


Made = TypeVar("Made")


# --- options ----------------------------------------------------------------------------------------------------------


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
        least: the least number; `most`, the largest.
        default: the text that stands for the field's default, for the help to show.
        read: makes the field's value of the text, or of the texts of an option that may be repeated.
        repeated: the option may be given more than once.
    """

    flag: str = ""
    metavar: str | None = None
    least: int | None = None
    most: int | None = None
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
    meanings, hints = entries_of(kind.__doc__ or "", "Attributes"), get_type_hints(kind)
    for one in fields(kind):
        how = one.metadata.get(OFFERED)
        if how is not None:
            yield _parameter(one, how, hints[one.name], meanings[one.name])


def _parameter(one: Field[Any], how: Offered, hint: Any, meaning: str) -> inspect.Parameter:
    import typer  # executors have the dataclass, and no command line

    given_as = _given_as(hint, how)
    is_flag = given_as is bool
    flags = [how.flag or (f"--{one.name.replace('_', '-')}" if is_flag else "")]
    help_text = f"{meaning[:1].upper()}{meaning[1:]}"
    info = typer.Option(*filter(None, flags), metavar=how.metavar, help=help_text, min=how.least, max=how.most)
    return inspect.Parameter(
        one.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=one.default if is_flag else _shown_default(one, how),
        annotation=Annotated[bool if is_flag else given_as | None, info],
    )


def _given_as(hint: Any, how: Offered) -> Any:
    """The type of what the command line makes of the option before it is read."""
    if how.repeated:
        return list[str]
    if how.read is not None:
        return str
    if get_origin(hint) is UnionType:
        (hint,) = (each for each in get_args(hint) if each is not NoneType)
    return hint


def _shown_default(one: Field[Any], how: Offered) -> Any:
    """The default that the help shows; None where it stands for what is not given."""
    if how.default or how.read is not None:
        return how.default or None
    if isinstance(one.default, int | float):
        return None if how.least is not None and one.default < how.least else one.default
    return one.default if isinstance(one.default, str) and one.default else None
