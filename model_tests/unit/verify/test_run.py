"""A whole run: what is written, what fails it, and what it prints; and the sources of its results.

A change of anything that a result depends on changes the digest of its sources.
"""

import io
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from rich.console import Console

from model_tests.common.reports import HOLDS, VIOLATED, BadInput
from model_tests.verify import parts, results
from model_tests.verify.coverage import owed
from model_tests.verify.parts import PARTS, PartOfRun
from model_tests.verify.results import Control, PartResult, PlantedDefect, Result, RuleVerdict, RunEffort
from model_tests.verify.run import chosen, verify
from spec import rules
from spec.evidence import Layer
from spec.rules import RULES


def complete(layers: tuple[Layer, ...]) -> PartResult:
    """Passing evidence for all that these kinds owe."""
    results = (Result(rule, layer, RuleVerdict.HOLDS, 7, 0.1) for rule, layer in owed() if layer in layers)
    return PartResult("any", tuple(results), extra={"steps": 7})


def part(name: str, run: Callable[[RunEffort], PartResult], *layers: Layer, share: float = 60.0) -> PartOfRun:
    """A part of a run made up here."""
    _MADE_UP[name] = run
    return PartOfRun(name, f"{__name__}:{name}", layers, MappingProxyType({RunEffort.QUICK: share}))


_MADE_UP: dict[str, Callable[[RunEffort], PartResult]] = {}


def __getattr__(name: str) -> Callable[[RunEffort], PartResult]:
    try:
        return _MADE_UP[name]
    except KeyError:
        raise AttributeError(name) from None


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=200)


def output(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_run_in_which_everything_holds_is_ok(tmp_path: Path, console: Console) -> None:
    """With all evidence that its parts owe, a run is ok and has that in report.json."""
    whole = part("proofs", lambda _: complete((Layer.PROOF,)), Layer.PROOF)

    report = verify(RunEffort.QUICK, [whole], tmp_path, console)

    written = json.loads((tmp_path / "report.json").read_text())
    assert HOLDS == report.exit_code
    assert (True, "quick", []) == (written["ok"], written["profile"], written["failures"])
    assert set(RULES) == {rule["id"] for rule in written["rules"]}
    assert {"steps": 7} == written["proofs"]
    assert "</html>" in (tmp_path / "report.html").read_text()


def test_a_part_that_breaks_fails_the_run_and_the_others_still_run(tmp_path: Path, console: Console) -> None:
    """A part that raises is a failure with its first line; its traceback is kept beside the report."""

    def breaks(effort: RunEffort) -> PartResult:
        raise ValueError("no such thing\nand more")

    bad, good = part("traces", breaks), part("audit", lambda _: complete((Layer.AUDIT,)), Layer.AUDIT)

    report = verify(RunEffort.QUICK, [bad, good], tmp_path, console)

    assert VIOLATED == report.exit_code
    assert report.failures[0].startswith("traces: the part broke: ValueError: no such thing (see ")
    assert "ValueError" in (tmp_path / "traces.traceback.txt").read_text()
    assert (tmp_path / "audit.json").exists()


def test_a_part_that_is_not_there_is_a_failure(tmp_path: Path, console: Console) -> None:
    """A missing part is an error in the report, never a skip."""
    absent = PartOfRun("absent", "model_tests.no_such_part:evidence", (), MappingProxyType({}))

    report = verify(RunEffort.QUICK, [absent], tmp_path, console)

    assert not report.ok
    assert "No module named 'model_tests.no_such_part'" in report.failures[0]


def test_missing_evidence_is_written_as_missing(tmp_path: Path, console: Console) -> None:
    """A cell without a result is `missing` in report.json, and fails the run."""
    report = verify(RunEffort.QUICK, [part("proofs", lambda _: PartResult("proofs"), Layer.PROOF)], tmp_path, console)

    (order,) = [
        rule for rule in json.loads((tmp_path / "report.json").read_text())["rules"] if rule["id"] == "seq.order"
    ]
    assert {"verdict": "missing", "count": 0} == order["evidence"]["proof"]
    assert "not run" == order["evidence"]["stateful"]["verdict"]
    assert "seq.order: proof is owed and has no result" in report.failures
    assert not any("stateful" in line for line in report.failures)


WAIVING = replace(rules.REPL_COMMITTED_SURVIVES, waived={"P": "a proof of its own size"})


@pytest.fixture
def a_rule_waives_its_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rule does now."""
    for module in ("report", "table"):
        monkeypatch.setattr(f"model_tests.verify.{module}.RULES", {**RULES, WAIVING.id: WAIVING})


@pytest.mark.usefixtures("a_rule_waives_its_proof")
def test_waived_evidence_is_written_with_its_reason(tmp_path: Path, console: Console) -> None:
    """It is no part of the evidence."""
    verify(RunEffort.QUICK, [part("proofs", lambda _: PartResult("proofs"), Layer.PROOF)], tmp_path, console)

    written = json.loads((tmp_path / "report.json").read_text())["rules"]
    (waiving,) = [rule for rule in written if rule["id"] == WAIVING.id]
    assert "proof" not in waiving["evidence"]
    assert [{"evidence": "proof", "reason": "a proof of its own size"}] == waiving["waived"]


def test_controls_and_mutants_that_do_not_do_what_they_must_fail_the_run(tmp_path: Path, console: Console) -> None:
    """A control that holds and a mutant that survives are each named."""
    control = Control("six_in_flight", rules.SEQ_WINDOW_SUFFICES, "refuted", "holds")
    mutant = PlantedDefect("forgets_epoch", rules.SEQ_EPOCH_RESET, ("fence.stale_epoch",))

    report = verify(
        RunEffort.QUICK,
        [part("mutants", lambda _: PartResult("m", controls=(control,), mutants=(mutant,)))],
        tmp_path,
        console,
    )

    assert (
        "control six_in_flight (seq.window_suffices): holds, not refuted",
        "mutant forgets_epoch: seq.epoch_reset did not see it",
    ) == report.failures


def test_a_part_that_overruns_its_share_is_named(tmp_path: Path, console: Console) -> None:
    """A part that is too slow is reported, and is no failure."""
    slow = part("audit", lambda _: complete((Layer.AUDIT,)), Layer.AUDIT, share=0.0)

    report = verify(RunEffort.QUICK, [slow], tmp_path, console)
    report.print(console)

    assert report.ok
    assert "OVERRAN" in output(console)


@pytest.mark.usefixtures("a_rule_waives_its_proof")
def test_the_table_shows_each_kind_of_cell(tmp_path: Path, console: Console) -> None:
    """Judged, missing, not run and waived look different."""
    proofs = part(
        "proofs",
        lambda _: PartResult("p", (Result(rules.SEQ_ORDER, Layer.PROOF, RuleVerdict.PROVED, 12, 1.0),)),
        Layer.PROOF,
    )

    verify(RunEffort.QUICK, [proofs], tmp_path, console).print(console)

    assert all(word in output(console) for word in ("proved 12", "MISSING", "not run", "waived"))


def test_parts_are_chosen_by_name_in_their_own_order() -> None:
    """`--only` takes names, whatever their order; without it, all parts."""
    assert ["proofs", "audit"] == [part.name for part in chosen("audit, proofs")]
    assert PARTS == chosen("")


def test_an_unknown_part_is_bad_input() -> None:
    """The error about a name that is no part gives the names that are."""
    with pytest.raises(BadInput, match="'profs': there are proofs, bugs"):
        chosen("profs")


def test_every_kind_of_evidence_has_one_part_that_brings_it() -> None:
    """No kind is without a part, and none has two."""
    assert sorted(Layer) == sorted(layer for part in parts.PARTS for layer in part.layers)


def importable(name: str) -> PartOfRun:
    return PartOfRun(name, f"model_tests.unit.verify.made_up:{name}", (Layer.PROOF,), MappingProxyType({}))


def test_parts_side_by_side_report_as_they_do_one_by_one(tmp_path: Path, console: Console) -> None:
    """Each has a process of its own; what it found is the same, its rules are the registered ones."""
    parts_asked = [importable("proves"), importable("breaks")]

    report = verify(RunEffort.QUICK, parts_asked, tmp_path, console, jobs=2)

    assert ["proves", "breaks"] == [outcome.part.name for outcome in report.outcomes]
    assert os.getpid() != report.outcomes[0].found.extra["process"]
    assert report.results[0].rule is rules.SEQ_ORDER
    assert any("ValueError: no such thing" in line for line in report.failures)


def test_a_process_that_dies_fails_its_part(tmp_path: Path, console: Console) -> None:
    """What it would have found is missing, and said to be."""
    report = verify(RunEffort.QUICK, [importable("dies")], tmp_path, console, jobs=2)

    assert not report.ok
    assert "the part's process broke" in report.failures[0]


# --- sources of results -----------------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name in (
        "spec/a.py",
        "reference/b.py",
        "model_tests/c.json",
        "model_tests/unit/d.py",
        "spec/__pycache__/a.pyc",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ("spec/a.py", True),
        ("model_tests/c.json", True),
        ("model_tests/new.py", True),
        ("model_tests/unit/d.py", False),
        ("spec/__pycache__/a.pyc", False),
        ("docs/e.md", False),
    ],
)
def test_the_digest_is_of_what_results_depend_on(repository: Path, changed: str, counts: bool) -> None:
    """Code and recordings count; tests, compiled files and pages do not."""
    before = results.digest_of(repository)

    (repository / changed).parent.mkdir(exist_ok=True)
    (repository / changed).write_text("changed")
    assert counts == (before != results.digest_of(repository))


def test_without_git_there_is_no_commit(tmp_path: Path) -> None:
    """An archive has results as well."""
    assert "" == results.commit(tmp_path)
