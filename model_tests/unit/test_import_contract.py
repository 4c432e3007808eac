"""Who may import what: the specification and the reference are evidence for each other only while they stay apart."""

import json
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from typing import Final

import pytest

from model_tests.unit.source_files import IN_ONE_WORKER, PACKAGES, ROOT, Module, production, reached_from, within

pytestmark = IN_ONE_WORKER

PURE: Final = ("spec.rules", "spec.evidence", "spec.vocabulary")
"""Pure data: imports nothing of ours."""

SHARED: Final = (*PURE, "spec.versions")
"""All that the reference may know of the specification."""

PLAIN: Final = frozenset(sys.stdlib_module_names) | {"crc32c", "cramjam"} | set(PACKAGES)
"""What the specification (its engines aside) and the reference are made of."""

ON_SPARK: Final = (
    "spec.readings.reading_spark",
    "model_tests.audit",
    "model_tests.check",
    "model_tests.judging",
    "model_tests.simulate",
    "model_tests.spark",
    "model_tests.traces",
)
"""What may run on Spark."""

ENTRIES: Final = ("model_tests.cli", "model_tests.conftest", "model_tests.__main__")
"""Where commands and tests start: they import every command."""

WIRE: Final = "reference.wire.codec"
"""The one module that knows the library of the wire protocol."""

CLOCKS: Final = ("time", "datetime", "random", "secrets", "uuid", "threading", "socket")
"""What would make two runs of the reference differ."""

WATCH: Final = """
import importlib, json, sys, threading
for name in sys.argv[1:]:
    importlib.import_module(name)
from pyspark import SparkContext
print(json.dumps({"threads": threading.active_count(), "spark": SparkContext._active_spark_context is not None}))
"""


def offences(allowed_for: tuple[Module, ...], *packages: str) -> dict[str, set[str]]:
    """The modules that import any of the packages, each with what it imports."""
    return {module.name: found for module in allowed_for if (found := module.imports_any(*packages))}


def inside(*packages: str) -> tuple[Module, ...]:
    return tuple(module for module in production() if within(module.name, packages))


def outside(*packages: str) -> tuple[Module, ...]:
    return tuple(module for module in production() if not within(module.name, packages))


@pytest.mark.parametrize("package", PACKAGES)
def test_there_are_modules_to_judge(package: str) -> None:
    """A contract over no files would hold without a word."""
    assert inside(package)


def test_names_rules_and_evidence_import_nothing_of_ours() -> None:
    """Names, rules and evidence are pure data, so every module may import them."""
    found = offences(tuple(module for module in production() if module.name in PURE), *PACKAGES)

    assert {} == found


def test_the_specification_knows_no_implementation() -> None:
    """Nothing in spec imports reference or model_tests."""
    assert {} == offences(inside("spec"), "reference", "model_tests")


def test_the_reference_shares_names_with_the_specification_and_no_decision() -> None:
    """The reference imports rules, evidence, vocabulary and versions of spec, and nothing of model_tests."""
    ours = offences(inside("reference"), "spec", "model_tests")
    forbidden = {name: {i for i in found if i != "spec" and not within(i, SHARED)} for name, found in ours.items()}

    assert {} == {name: found for name, found in forbidden.items() if found}


def test_only_engines_know_the_solver() -> None:
    """Z3 is imported in spec.engines alone."""
    assert {} == offences(outside("spec.engines"), "z3")


def test_few_folders_know_spark() -> None:
    """PySpark is imported where traces, logs and simulations are spread, and in one reading."""
    assert {} == offences(outside(*ON_SPARK), "pyspark")


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """A cycle of the graph, empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_folder_imports_one_that_imports_it() -> None:
    """Folders are layers: the imports among them have no cycle, and so none among modules either."""
    graph: dict[str, set[str]] = {}
    names = {module.name: module.folder for module in production()}
    for module in production():
        if module.name not in ENTRIES:
            found = {names[name] for name in module.imports if name in names} - {module.folder, *PACKAGES}
            graph.setdefault(module.folder, set()).update(found)

    assert [] == cycle_in(graph)


@pytest.mark.parametrize(
    ("package", "strangers"),
    [
        ("reference.log", ("reference.broker", "reference.world", "reference.client", "reference.replication")),
        ("reference.broker", ("reference.world", "reference.client", "reference.simulate")),
        ("reference.world", ("reference.simulate",)),
        ("model_tests.audit", ("spec.engines", "reference.simulate", "reference.world")),
        ("spec.protocol", ("spec.judging", "spec.systems", "spec.engines", "spec.readings")),
    ],
)
def test_no_layer_knows_one_above(package: str, strangers: tuple[str, ...]) -> None:
    """A log knows no broker, a broker no world, and an audit neither solver nor simulator."""
    assert {} == offences(inside(package), *strangers)


def test_only_the_codec_knows_the_wire_library() -> None:
    """kafka-python is imported in reference.wire.codec alone, and there when a codec is first made."""
    found = {module.name for module in production() if module.imports_any("kafka")}

    assert {WIRE} == found


def test_specification_and_reference_need_only_python() -> None:
    """Outside engines and readings, spec and reference need the standard library, CRC-32C and the codecs."""
    others = ("spec.engines", "spec.readings", WIRE)
    plain = tuple(module for module in inside("spec", "reference") if not within(module.name, others))
    found = {module.name: {name.partition(".")[0] for name in module.imports} - PLAIN for module in plain}

    assert {} == {name: strangers for name, strangers in found.items() if strangers}


def test_the_reference_looks_at_no_clock_and_throws_no_dice() -> None:
    """The reference is deterministic: time is its own clock's, chance is the tape's."""
    assert {} == offences(inside("reference"), *CLOCKS)


def test_a_server_starts_without_what_it_does_not_need() -> None:
    """Spark, Arrow, the solver and the drawn tests would double the time until `eos serve` takes a connection."""
    heavy = ("pyspark", "pyarrow", "pandas", "numpy", "z3", "hypothesis", "kafka")
    reached = reached_from("model_tests.serve.command", "model_tests.serve.cluster", without=(WIRE,))

    assert len(reached) > 100
    assert {} == offences(reached, *heavy)


def test_every_module_imports_and_starts_nothing() -> None:
    """Importing everything leaves one thread and no Spark session behind."""
    names = [module.name for module in production()]

    done = subprocess.run([sys.executable, "-c", WATCH, *names], cwd=ROOT, capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr
    assert {"threads": 1, "spark": False} == json.loads(done.stdout)
