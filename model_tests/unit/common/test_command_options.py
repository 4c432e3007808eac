from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from model_tests.common.command_options import offered, with_options


@dataclass(frozen=True, slots=True)
class Brewing:
    """How tea is made.

    Attributes:
        minutes: how long it draws.
        strong: twice the leaves.
        kinds: of leaves; may be repeated.
        level: of the water, in words.
        note: where it is written down,
            if anywhere.
        hidden: what no command offers.
    """

    minutes: int = field(default=-1, metadata=offered(least=1, most=9))
    strong: bool = field(default=False, metadata=offered())
    kinds: tuple[str, ...] = field(default=(), metadata=offered("--kind", "NAME", repeated=True))
    level: int = field(default=3, metadata=offered(default="three", read=len))
    note: Path | None = field(default=None, metadata=offered("--to", "FILE"))
    hidden: str = "kept"


MADE: list[Brewing] = []
app = typer.Typer()


@app.command()
@with_options(Brewing)
def brew(options: Callable[[], Brewing], place: str = "here") -> None:
    """Make tea."""
    assert place == "here"
    MADE.append(options())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], Brewing(level=5)),
        (["--minutes", "4", "--strong"], Brewing(minutes=4, strong=True, level=5)),
        (["--kind", "a", "--kind", "b", "--level", "four"], Brewing(kinds=("a", "b"), level=4)),
        (["--to", "x/y", "--place", "here"], Brewing(note=Path("x/y"), level=5)),
    ],
)
def test_a_command_is_given_the_object_of_its_options(arguments: list[str], expected: Brewing) -> None:
    """What is not given has the field's default, and a text that is read is what the reader makes of it."""
    assert 0 == CliRunner().invoke(app, arguments).exit_code
    assert expected == MADE.pop()


@pytest.mark.parametrize("arguments", [["--minutes", "0"], ["--minutes", "10"], ["--hidden", "x"]])
def test_what_is_out_of_bounds_or_not_offered_is_refused(arguments: list[str]) -> None:
    """Before anything is made."""
    assert 2 == CliRunner().invoke(app, arguments).exit_code
    assert [] == MADE


def test_the_help_is_the_docstring_of_the_fields() -> None:
    """Each meaning, with the default where one is to be shown; nothing of a field that is not offered."""
    shown = " ".join(CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output.split())

    assert "How long it draws." in shown
    assert "Where it is written down, if anywhere." in shown
    assert "[default: three]" in shown
    assert "no command offers" not in shown
    assert "[default: -1]" not in shown


def test_a_field_that_is_offered_says_what_it_means() -> None:
    """Where the command is made, not where its help is read."""

    @dataclass(frozen=True)
    class Undocumented:
        """Nothing is said of its field."""

        minutes: int = field(default=1, metadata=offered())

    with pytest.raises(KeyError, match="minutes"):
        with_options(Undocumented)
