"""The guide to a request: each file that it names is there and knows the request, and no other file of code does."""

import re
from typing import Final

from model_tests.unit.docs.extensions import DOCS
from model_tests.unit.source_files import PACKAGES, ROOT

GUIDE: Final = DOCS / "howto" / "add-request.md"
REQUEST: Final = re.compile(r"AddOffsets|add_offsets|ADD_OFFSETS")
FILE: Final = re.compile(r"`((?:spec|reference|model_tests)/[\w/]+\.(?:py|toml))`")
STEP: Final = re.compile(r"^\d+\. (?:.|\n(?!\d+\. |\n))*", re.MULTILINE)
FOLDER: Final = "model_tests/conform"
SESSION_FILE: Final = re.compile(r"`(\w+\.py)`")

MOST: Final = 10
"""Files that a request takes at most."""

UNLESS: Final = {"spec/sources/decisions.py", "reference/recording/trace.py", "model_tests/judging/inferred_faults.py"}
"""Files that the guide names for requests that are otherwise than this one."""

MENTIONS: Final = {
    "spec/protocol/committing.py",  # how the offsets that follow are decided
    "spec/systems/step_lemmas.py",  # a docstring
    "model_tests/bugs/group_scripts.py",  # a script
    "model_tests/scenarios/pipelines.py",  # prose
}
"""Files that name the request, and that a request has no part in."""


def steps() -> list[str]:
    """The numbered steps, one file each."""
    return STEP.findall(GUIDE.read_text(encoding="utf-8").partition("## What else")[0])


def others() -> set[str]:
    """The files that only some requests need."""
    text = GUIDE.read_text(encoding="utf-8").partition("## What else")[2].partition("## Tests")[0]
    sessions = text.partition("Sessions of real brokers")[2]
    return {*FILE.findall(text), *(f"{FOLDER}/{name}" for name in SESSION_FILE.findall(sessions))}


def test_each_step_has_one_file_and_there_are_at_most_ten() -> None:
    """They are different files, numbered in order."""
    first = [FILE.findall(step)[0] for step in steps()]

    assert first
    assert [str(number) for number in range(1, len(first) + 1)] == [step.partition(".")[0] for step in steps()]
    assert len(set(first)) == len(first) <= MOST


def test_every_file_that_is_named_knows_the_request() -> None:
    """What the guide says is there."""
    named = {*FILE.findall("\n".join(steps())), *others()}

    assert [] == [name for name in sorted(named) if not (ROOT / name).is_file()]
    assert UNLESS <= named
    assert [] == [name for name in sorted(named - UNLESS) if not REQUEST.search((ROOT / name).read_text("utf-8"))]


def test_no_other_file_knows_the_request() -> None:
    """What the guide leaves out, nobody has to edit."""
    knowing = {path for path in code() if REQUEST.search((ROOT / path).read_text("utf-8"))}

    assert set() == knowing - {*FILE.findall("\n".join(steps()))} - others() - MENTIONS


def code() -> list[str]:
    """The files of code and of sources, tests aside."""
    paths = (path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.suffix in (".py", ".toml"))
    names = (path.relative_to(ROOT).as_posix() for path in paths)
    return [name for name in names if not name.startswith("model_tests/unit/")]


def test_names_in_the_steps_are_in_their_files() -> None:
    """A function or a table that a step names stands in the step's file, or in another file that it names."""
    missing = []
    for step in steps():
        texts = "\n".join((ROOT / name).read_text("utf-8") for name in FILE.findall(step))
        names = [name for name in re.findall(r"`([\w.-]+)`", step) if not FILE.fullmatch(f"`{name}`")]
        missing += [name for name in names if re.split(r"[.]", name)[-1] not in texts and name not in {"raw", "api"}]

    assert [] == missing
