"""`eos prove`: answers that are kept, seeds, processes, earlier versions, and what must not pass for a proof."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from model_tests.cli import app
from model_tests.unit.by_default import by_default
from model_tests.verify import older_versions as earlier_versions
from model_tests.verify.breaking import open_along, run_against
from model_tests.verify.older_versions import earlier
from model_tests.verify.proofs import attempted
from model_tests.verify.prove import ProofReport, run
from model_tests.verify.proved import ProvedSystem, beneath
from model_tests.verify.proving import FEW, facts, here, on_cores, tasks, tasks_of_facts
from model_tests.verify.theorems import CLAIMED, SYSTEMS
from spec import rules
from spec.algebra import any_of, negate
from spec.engines.induction import ALWAYS, Obligation, Prover, prove, prove_fact
from spec.engines.proof_cache import Entries, ProofCache, read, write
from spec.engines.solving import SolverSettings
from spec.engines.verdict import Proved, Refuted, Unknown, passed
from spec.systems.decision_lemmas import arithmetic_fact
from spec.systems.idempotence.system import idempotence
from spec.systems.ids.system import ids
from spec.systems.language import System
from spec.systems.partition.system import partition

ALL_RULES = frozenset(rules.RULES.values())
ALL = frozenset(str(o) for o in prove(ids()))


def solved(system: System, kept: ProofCache, settings: SolverSettings | None = None) -> set[str]:
    """The obligations that went to the solver; all are proved."""
    found = list(Prover(system, settings or SolverSettings(), kept).obligations())
    assert all(passed(o.verdict) for o in found)
    return {str(o) for o in found if o.solved}


def with_lemma(system: System, name: str, **changed: object) -> System:
    """The system with one lemma changed."""
    lemmas = tuple(replace(each, **changed) if each.name == name else each for each in system.lemmas)  # type: ignore[arg-type]
    return replace(system, lemmas=lemmas)


@pytest.fixture(scope="module")
def answers() -> Entries:
    kept = ProofCache()
    solved(ids(), kept)
    return kept.taken()


@pytest.fixture(scope="module")
def first(answers: Entries) -> tuple[Obligation, ...]:
    return tuple(Prover(ids(), kept=ProofCache(answers)).obligations())


def test_what_was_solved_is_not_solved_again(first: tuple[Obligation, ...]) -> None:
    """The same questions have the same answers, and say of what they are made."""
    assert not any(o.solved for o in first)
    assert any(o.kept for o in first)
    assert any(o.needs for o in first)
    assert {str(o) for o in first} == ALL


@pytest.mark.parametrize("name", [lemma.name for lemma in ids().lemmas])
def test_a_changed_lemma_has_its_own_obligations_solved_again(
    name: str, answers: Entries, first: tuple[Obligation, ...]
) -> None:
    """And those that rest on it; all others are as they were."""
    old = ids().claim(name).holds

    changed = with_lemma(ids(), name, holds=lambda *at: negate(negate(old(*at))))
    again = solved(changed, ProofCache(answers))

    assert again == solved(changed, ProofCache()) & {str(o) for o in first if o.claim == name or name in o.needs}
    assert 0 < len(again) < sum(o.kept for o in first)


def test_another_seed_or_effort_is_another_question(answers: Entries) -> None:
    """What is kept does not contain them."""
    assert solved(ids(), ProofCache(answers), SolverSettings(seed=1)) == solved(
        ids(), ProofCache(), SolverSettings(many=9_999_999)
    )


@pytest.mark.parametrize("seed", by_default({str(seed): seed for seed in range(5)}, ["0", "1"]))
def test_no_verdict_depends_on_chance(seed: int) -> None:
    """Five seeds, two by default; that of all systems is measured by hand."""
    chance = SolverSettings(seed=seed)
    found = [*Prover(ids(), chance).obligations(), *Prover(partition(), chance).at_the_start()]

    assert {Proved()} == {o.verdict for o in found}


def test_a_fact_is_kept_too() -> None:
    """By its formula."""
    kept = ProofCache()
    first, again = (prove_fact(arithmetic_fact(), kept=kept) for _ in range(2))

    assert (True, False) == (first.solved, again.solved)
    assert first.verdict == again.verdict


DAMAGE: Mapping[str, str] = {
    "not JSON": "{",
    "another form": json.dumps({"form": 0, "digest": "", "answers": {}}),
    "a list": "[]",
    "nothing": "",
    "an answer changed by hand": json.dumps({"form": 1, "digest": "0", "answers": {"a": {"verdict": "proved"}}}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_ignored_with_one_line(damage: str, tmp_path: Path) -> None:
    """Nothing of it is believed."""
    file = tmp_path / "answers.json"
    file.write_text(DAMAGE[damage])

    entries, line = read(file)

    assert {} == entries
    assert line.startswith(f"{file} is damaged and is ignored")
    assert "\n" not in line


def test_what_is_written_is_read_again(answers: Entries, tmp_path: Path) -> None:
    """Without a word."""
    write(tmp_path / "new" / "answers.json", answers)

    assert (answers, "") == read(tmp_path / "new" / "answers.json")


def test_the_command_keeps_answers_and_says_so(tmp_path: Path) -> None:
    """A second run solves nothing; with damaged answers it solves everything, and gives the reason."""
    file = tmp_path / "answers.json"

    first, second = (run(rules.IDS_UNIQUE, kept=file, spread=here) for _ in range(2))
    file.write_text("{")
    third = run(rules.IDS_UNIQUE, kept=file, spread=here)

    assert [0, 0, 0] == [each.exit_code for each in (first, second, third)]
    assert any(o.solved for o in first.obligations)
    assert not any(o.solved for o in second.obligations)
    assert [o.solved for o in first.obligations] == [o.solved for o in third.obligations]
    assert ["damaged" in note for note in third.notes] == [True]


@pytest.mark.slow
def test_processes_give_the_answers_of_this_one() -> None:
    """In the same order, and of the same rules."""
    due = tasks(("ids", "partition"))
    assert len(due) >= FEW

    apart, together = (spread(due, SolverSettings(), None) for spread in (on_cores, here))

    assert [[(o.rule, str(o), o.verdict) for o in done.obligations] for done in apart] == [
        [(o.rule, str(o), o.verdict) for o in done.obligations] for done in together
    ]


def test_tasks_are_everything() -> None:
    """Every obligation of a system is in one task, and every fact."""
    assert frozenset(str(o) for done in here(tasks(("ids",)), SolverSettings(), None) for o in done.obligations) == ALL
    assert set(SYSTEMS) == {task.of for task in tasks(SYSTEMS)}
    assert {fact.name.partition("[")[0] for fact, _ in facts()} == {each.what for each in tasks_of_facts(ALL_RULES, ())}


# --- what is beneath a rule -----------------------------------------------------------------------------------


def obligation(claim: str, action: str, *needs: str, verdict: Proved | Unknown = Proved()) -> Obligation:  # noqa: B008  # frozen
    return Obligation(rules.SEQ_ORDER, claim, action, verdict, True, 0.0, frozenset(needs))


def test_beneath_a_theorem_is_what_its_proof_needs() -> None:
    """Directly or not; what nothing needs is left out, and what is open needs nothing more."""
    everything = (
        obligation("theorem", "always", "one"),
        obligation("one", "acts", "two", verdict=Unknown("open")),
        obligation("one", "rests"),
        obligation("two", "acts", "one"),
        obligation("other", "acts", "one"),
    )

    assert ["theorem", "one", "one", "two"] == [o.claim for o in beneath(everything, ["theorem"])]


def test_what_is_beneath_a_rule_proves_it_alone() -> None:
    """The lemmas that a theorem needs are inductive without the others."""
    system = partition()
    found = ProvedSystem(system, prove(system), frozenset())
    needed = {o.claim for o in found.beneath(rules.LSO_BOUNDS)}
    alone = replace(
        system,
        lemmas=tuple(each for each in system.lemmas if each.name in needed),
        theorems=tuple(each for each in system.theorems if each.name in needed),
    )

    assert 0 < len(alone.lemmas) < len(system.lemmas)
    assert [] == [str(o) for o in prove(alone) if not passed(o.verdict)]


# --- what must not pass ---------------------------------------------------------------------------------------


def test_lemmas_that_contradict_each_other_are_named() -> None:
    """Anything would follow from them."""
    system = ids()
    first = system.lemmas[0]
    against = replace(first, name="the_contrary", holds=lambda *at: negate(first.holds(*at)))

    found = list(Prover(replace(system, lemmas=(*system.lemmas, against))).contradictions())

    assert f"{first.name}, the_contrary contradict each other" in found[0]


def test_an_action_that_the_lemmas_exclude_is_named() -> None:
    """It can never fire, and every lemma is kept by it for that reason alone."""
    system = ids()
    action = system.actions[0]
    never = replace(action, guard=lambda *at: iter((False,)))

    found = list(Prover(replace(system, actions=(never, *system.actions[1:]))).contradictions())

    assert found == [f"ids: of the lemmas, nothing at all contradict {action.name}, which can never happen"]
    assert [] == list(Prover(system).contradictions())


def test_a_lemma_that_is_false_at_the_start_fails_by_name() -> None:
    """And everything that rests on it with it."""
    system = ids()
    false = replace(system.lemmas[0], name="false_at_first", over=(), holds=lambda state: any_of())

    found = list(Prover(replace(system, lemmas=(*system.lemmas, false))).at_the_start())

    assert ["false_at_first under at the start"] == [str(o) for o in found if isinstance(o.verdict, Refuted)]


def test_an_unknown_answer_fails_and_names_its_obligation() -> None:
    """The solver may not work at all: then nothing is proved."""
    idle = SolverSettings(few=1, many=1)
    found = attempted((rules.IDS_UNIQUE,), settings=idle).proofs.result(rules.IDS_UNIQUE)
    report = ProofReport((), (found,))

    assert (1, "unknown") == (report.exit_code, str(found.verdict))
    assert " under " in found.detail
    assert "not proved by induction" in found.detail


# --- earlier versions -----------------------------------------------------------------------------------------


def test_under_version_1_the_step_that_breaks_the_proof_is_in_a_run() -> None:
    """KAFKA-17754: a late EndTxn; the lemma is not kept by an end that raises no epoch."""
    system = SYSTEMS["transactions"](1)
    lemma, action = system.claim("decision_is_of_its_opener"), system.action("coordinator_ends")
    theorem = obligation("ends_its_own", ALWAYS, lemma.name)
    fails = Prover(system).keeps(lemma, action)

    found = earlier(rules.TXN_NO_CROSSTALK, 1, [ProvedSystem(system, (theorem, fails), frozenset())])

    assert found.run
    assert ("known", "ends_its_own", 10) == (found.verdict, found.run.theorem, len(found.run.trace))
    assert ["decision_is_of_its_opener under coordinator_ends"] == [str(o) for o in found.open]
    assert (4, "coordinator_ends") == (found.run.lost[-1].step, found.run.lost[-1].obligation.action)
    assert any("not kept: decision_is_of_its_opener" in line for line in found.lines())
    another = replace(found, obligations=(*found.obligations, replace(fails, claim="another")))
    assert [
        "  open, and lost in the run below: decision_is_of_its_opener under coordinator_ends",
        "  open as well, with the lemmas of version 2: another under coordinator_ends",
    ] == [line for line in another.lines() if line.startswith("  open")]


def test_a_rule_without_transactions_is_proved_under_every_version() -> None:
    """Nothing is looked for where nothing fails."""
    proved = ProvedSystem(ids(), prove(ids()), frozenset())

    found = earlier(rules.IDS_UNIQUE, 0, [proved])

    assert ("proved", True, None) == (found.verdict, found.passed, found.run)


def test_a_zombie_commits_where_nothing_is_verified() -> None:
    """Under version 1 no run shows it; without verification one does, and names the append that is open for ever."""
    system = SYSTEMS["transactions"](1)
    lemma, action = system.claim("decision_is_of_its_opener"), system.action("coordinator_ends")
    fails = Prover(system).keeps(lemma, action)
    theorem = obligation("zombie_does_not_commit", ALWAYS, lemma.name)

    found = earlier(rules.FENCE_ZOMBIE_CANNOT_COMMIT, 1, [ProvedSystem(system, (theorem, fails), frozenset())])

    assert found.run
    assert ("known", 6215, 16) == (found.verdict, found.searched, len(found.run.trace))
    assert {"lemma": "open_is_due", "action": "leader_appends"} in found.to_json()["open_there"]  # type: ignore[operator]
    assert (8, "open_is_due") in {(lost.step, lost.obligation.claim) for lost in found.run.lost}


NEEDED = obligation("client_starts_over_never_happens", ALWAYS)
"""Beneath every theorem of the idempotent producer, and enough where the version's own proof is not the point."""


def test_six_in_flight_take_the_place_of_a_version() -> None:
    """Idempotence knows no versions: the control leaves one obligation open, and a run loses it."""
    kept = ProvedSystem(idempotence(), (NEEDED,), frozenset())

    found = earlier(rules.SEQ_EXACTLY_ONCE, 1, [kept])

    assert found.run
    assert ("proved", "logged_at_most_once", 14) == (found.verdict, found.run.theorem, len(found.run.trace))
    assert ["resend_is_recognised under in every state"] == [str(each) for each in found.run.open]
    assert [("resend_is_recognised", 11)] == [(lost.obligation.claim, lost.step) for lost in found.run.lost]
    assert any("control: 6 in flight, window of five, open: resend" in line for line in found.lines())


def test_a_control_that_breaks_nothing_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five in flight are what the window is for: then nothing shows what the proof rests on."""
    five = earlier_versions._in_flight(5, requests=6, appends=6)
    monkeypatch.setattr(earlier_versions, "IN_PLACE", {rules.SEQ_EXACTLY_ONCE: five})
    monkeypatch.setattr(earlier_versions, "prove", lambda _: (NEEDED,))

    found = earlier(rules.SEQ_EXACTLY_ONCE, 1, [ProvedSystem(idempotence(), (NEEDED,), frozenset())])

    assert ("unbroken", False) == (found.verdict, found.passed)


def test_an_obligation_that_a_run_breaks_must_not_be_proved() -> None:
    """The two would contradict each other; here the run is of a broken system, and the proof of the true one."""
    control = earlier_versions.IN_PLACE[rules.SEQ_EXACTLY_ONCE].instance()
    broken = run_against(rules.SEQ_EXACTLY_ONCE, control, ())
    lemma = control.system.theorems[0]
    lossy = replace(control, system=replace(control.system, lemmas=(lemma,)))

    with pytest.raises(AssertionError, match="logged_at_most_once under leader_appends is proved, and a run breaks it"):
        open_along(replace(idempotence(), lemmas=(*idempotence().lemmas, lemma)), lossy, broken.trace)


def test_the_command_refuses_versions_that_there_are_not() -> None:
    """In one line, before anything is proved."""
    result = CliRunner().invoke(app, ["prove", "ids.unique", "--tv", "3"])

    assert 2 == result.exit_code
    assert "--tv takes transaction versions" in result.output
    assert CLAIMED == 2
