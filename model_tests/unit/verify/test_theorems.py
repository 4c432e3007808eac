"""What `eos rules ID` shows of proofs, and that it imports no more than that takes."""

import json
import subprocess
import sys
from typing import Final

import pytest

from model_tests.unit.source_files import ROOT
from model_tests.verify.theorems import CLAIMED, FAMILIES, SYSTEMS
from spec import rules

SHOWS: Final = """
import json, sys
from model_tests.cli import app
app(sys.argv[1:], standalone_mode=False)
print(json.dumps(sorted(sys.modules)))
"""

HEAVY: Final = frozenset({"hypothesis", "jinja2", "numpy", "pandas", "pyarrow", "pyspark", "z3", "asyncio", "pydantic"})
"""What no word about a rule needs; each takes a tenth of a second or more."""

OURS: Final = frozenset(
    {
        *("model_tests.verify.catalogue", "model_tests.cli", "model_tests.common.java", "model_tests.common.reports"),
        *(f"model_tests.verify.{name}" for name in ("coverage", "results", "theorems")),
        *("model_tests.audit.options", "model_tests.serve.options", "model_tests.histories.form"),  # of the commands
        "model_tests.common.command_options",
        *("spec.evidence", "spec.rules", "spec.systems.assumptions", "spec.versions", "spec.vocabulary"),
    }
)
"""The modules of ours that show a rule, its systems aside."""


def imported_to_show(rule: rules.Rule) -> frozenset[str]:
    """The modules that `eos rules ID` has imported at its end."""
    done = subprocess.run(
        [sys.executable, "-c", SHOWS, "rules", rule.id], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return frozenset(json.loads(done.stdout.splitlines()[-1]))


def ours(modules: frozenset[str], package: str) -> set[str]:
    """The modules of a package, without the packages that hold them."""
    inside = {name for name in modules if name.startswith(f"{package}.")}
    return {name for name in inside if not any(other.startswith(f"{name}.") for other in modules)}


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        (rules.TXN_ATOMIC, {"transactions", "completion", "frame", "joining"}),
        (rules.REPL_HW_BOUNDS, {"replication", "kept", "durable"}),
    ],
)
def test_a_rule_is_shown_with_the_systems_of_its_family(rule: rules.Rule, named: set[str]) -> None:
    """Neither engines nor reference, nor a system that has no theorem of the family."""
    found = imported_to_show(rule)
    systems = {name.split(".")[2] for name in found if name.startswith("spec.systems.")} & SYSTEMS.keys()

    assert named == {name for name, families in FAMILIES.items() if rule.family in families}
    chapters = {
        "completion": "transactions",
        "frame": "transactions",
        "joining": "transactions",
        "kept": "replication",
        "durable": "partition",
        "new_ids": "ids",
    }
    assert systems == {chapters.get(name, name) for name in named}
    assert OURS == ours(found, "model_tests") | (OURS & ours(found, "spec"))
    assert not any(name.startswith(("spec.engines", "reference.")) for name in found)
    assert set() == HEAVY & found


@pytest.mark.parametrize("name", SYSTEMS)
def test_families_are_those_that_the_system_has_theorems_of(name: str) -> None:
    """A system is looked into only for the families that are written here."""
    assert FAMILIES[name] == {claim.rule.family for claim in SYSTEMS[name](CLAIMED).theorems}
