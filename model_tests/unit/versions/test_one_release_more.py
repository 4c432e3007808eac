"""A release that behaves like the newest one is one entry in `spec/versions.py`: a copy of the tree that has 4.5."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from model_tests.common.reports import BadInput
from model_tests.simulate import simulate
from model_tests.unit.source_files import ROOT
from spec.versions import NEWEST, PROFILES

pytestmark = pytest.mark.xdist_group("one release more")  # one worker makes the copy

LAST: Final = "    KAFKA_4_4,\n)"
ENTRY: Final = '    KAFKA_4_4,\n    Profile("4.5"),\n)'
OBSERVED: Final = "model_tests.unit.versions.observed"


def observed(tree: Path) -> dict[str, Any]:
    """What a tree says of its releases."""
    command = [sys.executable, "-m", OBSERVED]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tree, env=environment)
    assert 0 == done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def with_another(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The tree with one entry more, and nothing else edited."""
    tree = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "spec", tree / "spec", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("reference", "model_tests", "docs"):
        (tree / name).symlink_to(ROOT / name)
    versions = tree / "spec" / "versions.py"
    text = versions.read_text(encoding="utf-8")
    assert 1 == text.count(LAST)
    versions.write_text(text.replace(LAST, ENTRY), encoding="utf-8")
    return observed(tree)


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    """The tree as it is."""
    return observed(ROOT)


@pytest.mark.slow
def test_the_same_seeds_give_the_same_traces(before: dict[str, Any], with_another: dict[str, Any]) -> None:
    """Row by row; a new release takes no seed from another."""
    assert "4.5" == with_another["newest"]
    assert before["traces"] == with_another["traces"]


@pytest.mark.slow
def test_the_release_is_simulated_and_judged(before: dict[str, Any], with_another: dict[str, Any]) -> None:
    """Under every workload, and in a run that names no seed of its own."""
    found = with_another["simulated"]

    assert [] == before["simulated"]["dealt"]
    assert ["4.5"] == found["dealt"]
    assert [[workload, "4.5"] for workload in simulate.WORKLOADS] == found["later"]
    assert len(PROFILES) + 1 == found["traces"]
    assert 0 == found["violations"]


@pytest.mark.slow
def test_sessions_of_the_release_conform(with_another: dict[str, Any]) -> None:
    """They name it, and are replayed by its behaviours and by the versions of the release before."""
    assert {"exit": 0, "builds": ["4.5"]} == with_another["conformed"]


@pytest.mark.slow
def test_the_release_announces_what_the_one_before_does(before: dict[str, Any], with_another: dict[str, Any]) -> None:
    """Until the table of versions knows better; nobody else announces anything else."""
    found = with_another["announced"]

    assert found.pop("4.5") == found["4.4"]
    assert before["announced"] == found


@pytest.mark.slow
def test_the_pages_show_the_release(before: dict[str, Any], with_another: dict[str, Any]) -> None:
    """Beside the one before it; every guard has the row that it had, and the proposal is compared with the newest."""
    shown = with_another["shown"]

    assert ("4.4", "4.5") == (shown["before"], shown["proposal"])
    assert before["shown"]["guards"] == shown["guards"]
    assert [*before["shown"]["sources"], "4.5"] == shown["sources"]


@pytest.mark.slow
def test_checks_take_the_release(before: dict[str, Any], with_another: dict[str, Any]) -> None:
    """No table of results is stale, every guard has a source, machines draw it, and open bugs stay open in it."""
    listed, names = with_another["listed"], before["listed"]["lemmas"]

    assert ([], "", []) == (listed["unsourced"], listed["stale"], listed["reachable"])
    assert listed["branches"]
    assert [name.replace("[4.4]", "[4.5]") for name in names] == listed["lemmas"]
    assert ["4.5", "4.5"] == listed["machines"]
    assert before["listed"]["mended"] == listed["mended"]


def test_a_later_release_takes_no_seed_from_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a block of its own; a run of many traces takes its share from there, and one of a few takes none."""
    turns, first = range(2_000), simulate.BLOCK
    chosen = [(simulate.profile_of(seed), simulate.version_of(seed)) for seed in turns]
    with pytest.raises(BadInput, match=f"there is no seed {first}"):
        simulate.profile_of(first)

    monkeypatch.setattr(simulate, "LATER", (NEWEST.name,))
    monkeypatch.setattr(simulate, "PROFILES", {**PROFILES, "later": NEWEST})

    assert chosen == [(simulate.profile_of(seed), simulate.version_of(seed)) for seed in turns]
    assert NEWEST.name == simulate.profile_of(first + 7)
    assert [5, 6, 7] == list(simulate.dealt(3, 5))
    assert [first + 5, first + 6] == list(simulate.dealt(2, first + 5))
    many = list(simulate.dealt(34, 5, "replicas"))
    assert (34, 7, first + 7) == (len(many), many[0], many[32])
    assert {"replicas"} == {simulate.workload_of(seed) for seed in many}
