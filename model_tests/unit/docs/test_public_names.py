"""The reference of functions: a module's source, and docstrings as a reader sees them."""

from importlib import import_module
from pathlib import Path

import pytest

from model_tests.unit.docs.extensions import extension

nodes = import_module("docutils.nodes")
public_names = extension("public_names")
docstrings = extension("docstrings")
api = extension("api_pages")
shared_arguments = extension("shared_arguments")

SOURCE = '''"""A module."""

LIMIT: int = 5
"""How many at most."""

MADE = tuple(range(5))
"""What the source reckons."""

SILENT = 6


class Window(tuple):
    """Batches in flight.

    Attributes:
        size: of all of them,
            in bytes.
    """

    @property
    def full(self) -> bool:
        """No further batch fits."""

    def add(self, batch: bytes, *, at: int = 0) -> None:
        """Put one in."""

    @staticmethod
    def empty(kept: Annotated[list[int], "numbers"] = ()) -> "Window":
        """None in it."""

    def _forget(self) -> None: ...


def _helper() -> None: ...


def first(window: Window) -> bytes:
    """The oldest batch.

    Raises:
        ValueError: there is none.
    """
'''


def test_public_names_are_those_of_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions, classes, methods and documented constants, with their lines and the signatures that a caller needs.

    Of a constant it is the value, where it is a plain one.

    Nothing private, no `self`, no notes of a framework, no quotes around a type.
    """
    (tmp_path / "windows_of_a_test.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)

    found = public_names.described("windows_of_a_test")

    assert "A module." == found.text
    assert [
        ("data", "LIMIT", " = 5", 3),
        ("data", "MADE", "", 6),
        ("class", "Window", "(tuple)", 12),
        ("property", "Window.full", " -> bool", 21),
        ("method", "Window.add", "(batch: bytes, *, at: int = 0) -> None", 24),
        ("method", "Window.empty", "(kept: list[int] = ()) -> Window", 28),
        ("function", "first", "(window: Window) -> bytes", 37),
    ] == [(name.kind, name.name, name.signature, name.line) for name in found.names]


def test_a_module_that_is_not_there_is_named() -> None:
    """It is an error of the page."""
    with pytest.raises(ValueError, match=r"spec\.nothing"):
        public_names.described("spec.nothing")


def test_sections_of_a_docstring_are_lists() -> None:
    """Arguments, attributes and errors, each with its sentence; the rest are paragraphs."""
    first, attributes, raised = docstrings.nodes_of(
        "One `batch`.\n\nAttributes:\n    size: of all,\n        in bytes.\n\nRaises:\n    ValueError: there is none."
    )

    assert "One batch." == first.astext()
    terms = [term.astext() for section in (attributes, raised) for term in section.findall(nodes.term)]
    reported = [text.astext() for section in (attributes, raised) for text in section.findall(nodes.definition)]
    assert ["size", "ValueError"] == terms
    assert ["of all, in bytes.", "there is none."] == reported


def test_lists_and_examples_of_a_docstring_stay_so() -> None:
    """A list is one, and an example is not wrapped."""
    listed, example = docstrings.nodes_of("Two things:\n- one\n- other\n  of them\n\n>>> 1 + 1\n2")

    assert ["one", "other of them"] == [item.astext() for item in listed.findall(nodes.list_item)]
    assert isinstance(example, nodes.doctest_block)


def test_every_module_with_public_names_has_a_page() -> None:
    """Decisions, systems, the reference and the checks; planted defects and benchmarks have none."""
    shown = api.shown_modules()

    assert {
        "spec.protocol.append",
        "spec.engines.bmc",
        "reference.simulate.simulation",
        "model_tests.check.check",
    } <= set(shown)
    assert not [name for name in shown if api.within(name, api.NOT_SHOWN) or ".test_" in name or ".unit" in name]


COMMANDS = "model_tests.cli"
"""Its commands say their arguments in their help."""


def test_who_has_many_arguments_says_what_they_are() -> None:
    """By itself, or by its package's documentation of the name."""
    silent = [
        f"{module}.{name}: {argument}"
        for module in api.shown_modules()
        if module != COMMANDS
        for name, argument in public_names.described(module).unsaid
    ]

    assert [] == silent


def test_what_is_said_of_shared_arguments_is_shown_somewhere() -> None:
    """A meaning that no function has any more goes with the last of them."""
    texts = {
        module: "\n".join(each.text for each in public_names.described(module).names) for module in api.shown_modules()
    }
    packages = {".".join(module.split(".")[:end]) for module in texts for end in range(1, module.count(".") + 2)}
    unused = [
        f"{package}: {name}"
        for package in packages
        for name, output in shared_arguments.shared(package).items()
        if not any(f"    {name}: {output}" in text for module, text in texts.items() if api.within(module, (package,)))
    ]

    assert sum(len(shared_arguments.shared(package)) for package in packages) > 50
    assert [] == unused
