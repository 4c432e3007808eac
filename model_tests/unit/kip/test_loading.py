"""What is wrong with a file is said in one line, with the place."""

from pathlib import Path

import pytest

from model_tests.common.reports import BadInput
from model_tests.kip.command import run
from model_tests.kip.loading import loaded
from model_tests.unit.kip.variants import PLAIN

WRONG = {
    "no variant": ("x = 1\n", "has no VARIANT"),
    "another thing": ("VARIANT = 3\n", "has a int as its VARIANT"),
    "syntax": ("x = 1\ndef f(:\n", ", line 2: "),
    "an import": ("import nothing_of_this_name\n", ", line 1: ModuleNotFoundError"),
    "an error": ("x = 1\n\ny = x / 0\n", ", line 3: ZeroDivisionError"),
    "a behaviour": (PLAIN.replace("instances", "behaviours={'no_such': True}, instances"), "no_such"),
    "an action": (
        PLAIN.replace(
            "VARIANT",
            "def changed(system, view):\n    return with_action(system, 'no_such', dormant=True)\n\nVARIANT",
        )
        .replace("import Variant,", "import with_action, Variant,")
        .replace("instances=", "system=changed, instances="),
        "nothing is called 'no_such'",
    ),
    "a claim to be mended": (PLAIN.replace("quiet(NEWEST))", "quiet(NEWEST), mends='no_such')"), "'no_such'"),
    "no instance": (PLAIN.replace('(VariantInstance("two", quiet(NEWEST)),)', "()"), "no instance"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_file_is_refused_with_what_is_wrong(what: str, tmp_path: Path) -> None:
    """The message names the file and what is wrong."""
    text, output = WRONG[what]
    file = tmp_path / "wrong.py"
    file.write_text(text)

    with pytest.raises(BadInput) as refused:
        loaded(file)

    assert str(file) in str(refused.value)
    assert output in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """There is nothing to judge."""
    with pytest.raises(BadInput, match="is no file"):
        loaded(tmp_path / "gone.py")


def test_a_function_of_the_file_that_fails_later_is_named_with_its_line(tmp_path: Path) -> None:
    """A guard is asked only when its state is reached."""
    file = tmp_path / "late.py"
    guard = "def never(state, *at):\n    yield state.no_such_function(*at)\n\n\ndef changed(system, view):\n"
    body = "    return guarded(system, 'coordinator_ends', never)\n\n\nVARIANT"
    text = PLAIN.replace("VARIANT", guard + body).replace("import Variant,", "import guarded, Variant,")
    file.write_text(text.replace("instances=", "system=changed, instances="))
    line = text.splitlines().index("    yield state.no_such_function(*at)") + 1

    with pytest.raises(BadInput, match=rf"late.py, line {line}: AttributeError: .*no_such_function"):
        run(file, only="searches")


@pytest.mark.parametrize(("only", "instance"), [("luck", ""), ("", "three")])
def test_an_unknown_part_or_instance_is_refused(only: str, instance: str, tmp_path: Path) -> None:
    """What there is, is named."""
    file = tmp_path / "plain.py"
    file.write_text(PLAIN)

    with pytest.raises(BadInput, match=r"facts, proof|'two'"):
        run(file, only=only, instance=instance)
