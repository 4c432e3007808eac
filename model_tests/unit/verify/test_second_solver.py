"""A second opinion on what Z3 proves: cvc5 reads the question as SMT-LIB, and decides it by itself."""

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("cvc5", reason="a second opinion needs cvc5")

import z3

from model_tests.common.reports import HOLDS, VIOLATED, BadInput
from model_tests.verify import prove as proving
from model_tests.verify.prove import run
from model_tests.verify.proved import SecondOpinions
from model_tests.verify.proving import here, on_cores
from spec import rules
from spec.engines import induction, solving
from spec.engines.induction import Obligation, Prover
from spec.engines.solving import Answer, SecondOpinion, SecondSolver, SolverSettings, decided, script
from spec.engines.verdict import Proved
from spec.systems.ids.system import ids

ASKED = SolverSettings(second=SecondSolver())
NUMBER = z3.Int("number")
OF = z3.Function("of", z3.IntSort(), z3.IntSort())
HARD = [z3.ForAll([NUMBER], OF(NUMBER) * OF(NUMBER) == NUMBER * NUMBER * NUMBER + 7), OF(3) > 5]


def opinions(found: tuple[Obligation, ...]) -> SecondOpinions:
    return SecondOpinions.of(found)


@pytest.mark.parametrize(
    ("facts", "opinion"),
    [
        ([NUMBER > 3, NUMBER < 3], SecondOpinion.AGREES),
        ([z3.ForAll([NUMBER], OF(NUMBER) > NUMBER, patterns=[OF(NUMBER)]), OF(3) < 3], SecondOpinion.AGREES),
        ([NUMBER > 3, True], SecondOpinion.DISAGREES),
        ([NUMBER > 3, False], SecondOpinion.AGREES),
    ],
)
def test_a_question_is_decided(facts: list[object], opinion: SecondOpinion) -> None:
    """Facts that contradict each other agree with a proof; a model disagrees with it."""
    assert opinion is decided(script(facts))


def test_a_question_that_takes_too_much_is_undecided() -> None:
    """It is said to be undecided, which is neither agreement nor a model."""
    assert SecondOpinion.UNDECIDED is decided(script(HARD), effort=1)


def test_every_proof_of_a_system_is_confirmed(tmp_path: Path) -> None:
    """What an action leaves identical has no question; each other question is a file that says the same."""
    settings = replace(ASKED, second=SecondSolver(scripts=tmp_path))
    found = tuple(Prover(ids(), settings).obligations())

    assert {SecondOpinion.AGREES} == {each.second for each in found if each.solved}
    assert {SecondOpinion.NONE} == {each.second for each in found if not each.solved}
    scripts = list(tmp_path.glob("ids.*.smt2"))
    assert len(scripts) == sum(each.solved for each in found)
    assert SecondOpinion.AGREES is decided(scripts[0].read_text())


def test_a_false_proof_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first solver that calls everything proved is contradicted, obligation by obligation, and the run fails."""
    monkeypatch.setattr(induction, "answer_of", lambda *_: Answer(Proved()))
    report = run(rules.IDS_UNIQUE, kept=None, spread=here, second=SecondSolver())

    wrong = [line for line in report.vacuous if "cvc5 finds a model" in line]
    assert wrong
    assert VIOLATED == report.exit_code


def test_the_report_counts_opinions(tmp_path: Path) -> None:
    """With kept answers as without; in other processes as in this one."""
    kept = tmp_path / "answers.json"
    first, again = (run(rules.IDS_UNIQUE, kept=kept, spread=on_cores, second=SecondSolver()) for _ in range(2))

    counted = opinions(first.obligations)
    assert HOLDS == first.exit_code
    assert counted.agrees > 0
    assert (counted.agrees, (), ()) == (counted.agrees, counted.disagrees, counted.undecided)
    assert f"cvc5 agrees on {counted.agrees} of {counted.agrees} proofs that Z3 found" in first.notes
    assert any(each.kept for each in again.obligations)
    assert first.notes == again.notes


def test_without_cvc5_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line, and nothing is proved."""
    monkeypatch.setattr(proving, "is_installed", lambda: False)
    with pytest.raises(BadInput, match="pip install cvc5"):
        run(rules.IDS_UNIQUE, second=SecondSolver())


def test_what_cvc5_does_not_read_is_an_error() -> None:
    """No answer is made up."""
    with pytest.raises(RuntimeError):
        decided(solving.LOGIC + "(check-sat")


@pytest.mark.slow
def test_both_solvers_agree_on_every_proof() -> None:
    """All systems and all facts."""
    report = run(kept=None, second=SecondSolver())

    counted = opinions(report.obligations)
    assert (0, 0) == (len(counted.disagrees), len(counted.undecided))
    assert counted.agrees == sum(each.solved for each in report.obligations)
