"""What is printed is what is assumed: proofs and searches list their own, by number, and controls show what for."""

import json
from dataclasses import replace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from model_tests.cli import app
from model_tests.verify import agreement, assumed, breaking, liveness_searches, proofs, table
from model_tests.verify.assumed import as_json, places, unshown
from model_tests.verify.model_checking import controlled
from model_tests.verify.parts import PARTS
from model_tests.verify.proofs import SEARCHES, ProofAttempt, _step_control, misjudged
from model_tests.verify.prove import ProofReport, run
from model_tests.verify.proved import Proofs
from model_tests.verify.proving import here
from model_tests.verify.report import PartRun, VerifyReport
from model_tests.verify.results import Control, PartResult, RunEffort
from model_tests.verify.theorems import CLAIMED, SYSTEMS, theorems
from model_tests.verify.transactions_searches import built
from spec import rules
from spec.bugs.catalogue import BUGS
from spec.engines.explore import explore
from spec.engines.induction import Prover
from spec.engines.verdict import Holds
from spec.systems import assumptions as assume
from spec.systems.assumptions import Assumption, ControlOf, ids, in_order, registered
from spec.systems.chain import LINKS
from spec.systems.transactions.broken import quiet
from spec.systems.transactions.controls import CONTROLS
from spec.systems.transactions.proof import PROOF_ASSUMPTIONS
from spec.systems.transactions.system import ASSUMPTIONS
from spec.systems.transactions.world import Bounds
from spec.versions import NEWEST

EVERY = registered()
OF_STEPS = {each.name: each for each in misjudged()}
BY_NAME = {(each.system.name, one.built().name): one for each in SEARCHES for one in each.broken}
"""Every control that `eos verify` searches."""

NAMED = tuple(dict.fromkeys(named for each in EVERY for named in each.controls if named.system != assume.BUGS))


def test_every_number_is_of_one_assumption() -> None:
    """None is left out but what is given up, and every name is of one, too."""
    used = sorted((*assume.GIVEN_UP, *(each.number for each in EVERY)))
    assert used == list(range(1, len(used) + 1))
    assert len(EVERY) == len({each.name for each in EVERY})


def test_a_number_that_is_used_again_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is printed under it."""
    monkeypatch.setattr(assume, "A_SECOND", replace(assume.NO_LATE_BUMP, name="a_second"), raising=False)

    with pytest.raises(ValueError, match="two assumptions have the same number"):
        registered()


def test_every_assumption_is_made_somewhere() -> None:
    """By a system, by a proof, or by several of them; and none is made that is not registered."""
    made = {each for system in assumed.searched_alone() for each in system.assumptions}
    made |= {each for build in SYSTEMS.values() for each in build(CLAIMED).assumptions}

    assert set(EVERY) == made
    assert all(places().values())
    of_proofs = tuple(f"proof of {name}" for name in ("transactions", "completion", "frame", "reading"))
    assert places()[assume.NO_LATE_BUMP_AT_THE_LAST_EPOCH] == of_proofs
    assert places()[assume.NO_LATE_BUMP] == ("transactions",)


@pytest.mark.parametrize("given", [{}, {"controls": (ControlOf("ids", "any"),), "no_control": "and a reason"}])
def test_an_assumption_has_a_control_or_a_reason(given: dict[str, object]) -> None:
    """Never both, never neither."""
    with pytest.raises(ValueError, match="A99 of_nothing needs either a control or the reason"):
        Assumption(99, "of_nothing", "nothing", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("named", NAMED, ids=str)
def test_what_breaks_without_an_assumption_is_searched(named: ControlOf) -> None:
    """The control is one of those that `eos verify` runs, and violates its claim."""
    if named.name in OF_STEPS:
        found = _step_control(OF_STEPS[named.name], Prover(OF_STEPS[named.name].system))
    else:
        control = BY_NAME[named.system, named.name]
        found = controlled(control.built(), control.violates, deepest=0)

    assert ("violated", named.system, named.name) == (found.got, found.system, found.name)


def test_a_control_that_is_a_known_bug_is_one() -> None:
    """The part `bugs` of `eos verify` searches it."""
    assert {named.name for each in EVERY for named in each.controls if named.system == assume.BUGS} <= set(BUGS)


SEEN = tuple(Control(each.name, rules.SEQ_ORDER, "violated", "violated", system=each.system) for each in NAMED)


def test_every_control_that_was_seen_is_found_by_its_name() -> None:
    """Then nothing is wrong."""
    assert () == unshown(SEEN)


@pytest.mark.parametrize(
    "change", [{"name": "renamed"}, {"got": "holds"}, {"system": "another"}], ids=["renamed", "holds", "elsewhere"]
)
def test_a_control_that_is_gone_is_named(change: dict[str, str]) -> None:
    """Whatever became of it, the run fails with the number of the assumption."""
    at = next(place for place, each in enumerate(NAMED) if each.name == "a deposed coordinator answers from its cache")
    changed = (*SEEN[:at], replace(SEEN[at], **change), *SEEN[at + 1 :])  # type: ignore[arg-type]

    (line,) = unshown(changed)

    assert line.startswith("A16 one_coordinator_at_a_time: ")
    assert line.endswith("a deposed coordinator answers from its cache (transactions)")


def test_a_run_that_searches_no_control_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The part `proofs` of `eos verify` reports it for each assumption that has one."""
    nothing = ProofAttempt(Proofs((), ()), (), {})
    monkeypatch.setattr(proofs, "attempted", lambda *_, **__: nothing)
    monkeypatch.setattr(proofs, "PROVED_HERE", ())
    monkeypatch.setattr(proofs, "SEARCHES", ())
    monkeypatch.setattr(proofs, "fact_controls", tuple)
    monkeypatch.setattr(proofs, "step_controls", tuple)
    monkeypatch.setattr(breaking, "lemma_controls", lambda *_: ())
    monkeypatch.setattr(breaking, "lacking", tuple)
    monkeypatch.setattr(liveness_searches, "table", tuple)
    monkeypatch.setattr(liveness_searches, "lacking", tuple)
    monkeypatch.setattr(liveness_searches, "results", lambda _: ())
    monkeypatch.setattr(liveness_searches, "controls", tuple)
    monkeypatch.setattr(agreement, "disagreements", lambda _: ())

    found = proofs.evidence(RunEffort.QUICK)

    named = [each for each in EVERY for control in each.controls if control.system != assume.BUGS]
    links = [f"the link {link.name}" for link in LINKS]
    failed = [line.partition(": its control")[0] for line in found.failures]
    assert [*map(str, named), *links] == failed
    assert [each.id for each in EVERY] == [each["id"] for each in found.extra["assumptions"]]  # type: ignore[attr-defined]
    assert len(theorems(rules.RULES.values())) == len(found.extra["theorems"])  # type: ignore[arg-type]


def test_a_bug_that_is_unknown_is_named() -> None:
    """As any other control."""
    strange = Assumption(99, "strange", "nothing", (ControlOf(assume.BUGS, "KAFKA-0"),))

    assert 1 == len(unshown(SEEN, [strange]))


def test_limits_of_kafka_are_named_as_in_the_domain() -> None:
    """A trace or log that breaks a rule for one of them is `known` by the same name."""
    limits = {assume.FIRST_SEEN_FIRST.name, assume.STATE_IS_RETAINED.name}

    for rule in (rules.SEQ_EXACTLY_ONCE, rules.SEQ_ORDER):
        assert limits <= {condition.name for condition in rule.domain}
        assert limits <= {each.name for theorem in theorems([rule]) for each in theorem.assumptions}


# --- proofs and searches have their own -----------------------------------------------------------------------


def test_the_proof_of_transactions_assumes_less_than_the_search() -> None:
    """It does without order of requests, waiting clients, or a lonely id; a late bump comes but at the last epoch."""
    assert {"A6", "A13", "A14", "A18", "A24"} == set(ids(ASSUMPTIONS)) - set(ids(PROOF_ASSUMPTIONS))
    assert {"A5", "A9"} == set(ids(PROOF_ASSUMPTIONS)) - set(ids(ASSUMPTIONS))
    assert {"A15", "A16"} <= set(ids(PROOF_ASSUMPTIONS))


def test_under_an_earlier_version_the_newest_is_not_assumed() -> None:
    """The lemmas are tried without it."""
    tried = SYSTEMS["transactions"](1).assumptions

    assert {assume.NEWEST_RELEASE} == set(PROOF_ASSUMPTIONS) - set(tried)


@pytest.fixture(scope="module")
def report() -> ProofReport:
    return run(rules.IDS_UNIQUE, kept=None, spread=here)


def test_results_theorems_and_print_agree(report: ProofReport) -> None:
    """By number: of the proof, of the search, and of everything together."""
    of_proof = ids(SYSTEMS["ids"](CLAIMED).assumptions)
    plain = json.loads(json.dumps(report.to_json()))
    console = Console(record=True, width=1000)
    report.print(console)
    printed = console.export_text()

    assert [of_proof, of_proof] == [theorem["assumptions"] for theorem in plain["theorems"]]
    assert [of_proof, of_proof] == [result["assumptions"] for result in plain["results"]]
    assert of_proof == [assumption["id"] for assumption in plain["assumptions"]]
    assert f"no_id_twice (ids.unique), proved of ids, assumes {', '.join(of_proof)}\n" in printed
    assert f"ids.unique, bounded, assumes {', '.join(of_proof)}\n" in printed
    assert all(f"{each} [{each.shown_by}]\n" in printed for each in report.assumptions)


def test_a_proof_has_its_own_and_a_search_has_its_own() -> None:
    """Of one rule, side by side: neither has what only the other takes for granted."""
    (searched,) = (each for each in SEARCHES if each.system.name == "transactions")
    found, _ = searched.bounded(RunEffort.QUICK, [rules.TXN_ONE_OUTCOME])
    proved = theorems([rules.TXN_ONE_OUTCOME])

    assert [set(ASSUMPTIONS)] == [set(result.assumptions) for result in found]
    of_states = [theorem for theorem in proved if theorem.system != "joining"]
    assert [set(PROOF_ASSUMPTIONS)] == [set(theorem.assumptions) for theorem in of_states]
    assert not any(theorem.assumptions for theorem in proved if theorem not in of_states), "they hold in any state"


def test_facts_alone_assume_nothing() -> None:
    """They are checked for all inputs."""
    assert () == theorems([rules.TXN_LEGAL_TRANSITION])


def test_the_command_shows_a_rule_with_what_is_assumed() -> None:
    """`eos rules ID` has the theorems, and every assumption of their proofs."""
    output = CliRunner().invoke(app, ["rules", "ids.unique"], env={"COLUMNS": "300"}).output

    assert "no_id_twice, of ids: " in output
    assert all(str(each) in output for each in SYSTEMS["ids"](CLAIMED).assumptions)


def test_the_report_of_a_run_has_them_too(report: ProofReport) -> None:
    """By rule and kind of evidence, in its JSON and in its table; where two parts judged the same, those of both."""
    proof, search = report.results
    other = replace(search, assumptions=(assume.ONE_COORDINATOR_AT_A_TIME,))
    part = PartResult("proofs", (proof, search, other))
    whole = VerifyReport(RunEffort.QUICK, (PartRun(PARTS[0], part, 1.0, None),), 1.0)
    console = Console(record=True, width=1000)
    table.assumed(console, whole.cells)
    printed = console.export_text()

    evidence = next(r for r in whole.to_json()["rules"] if r["id"] == proof.rule.id)["evidence"]  # type: ignore[attr-defined]

    assert ids(proof.assumptions) == evidence["proof"]["assumptions"]
    assert ids((*search.assumptions, *other.assumptions)) == evidence["bounded"]["assumptions"]
    assert ["A16", "A37", "A38"] == evidence["bounded"]["assumptions"]
    assert "A16, A37, A38" in printed
    assert str(assume.ONE_COORDINATOR_AT_A_TIME) in printed


def test_all_of_them_can_be_listed() -> None:
    """With the places where each is made, as plain values."""
    plain = json.loads(json.dumps([as_json(each) for each in EVERY]))

    assert ids(EVERY) == [each["id"] for each in plain]
    assert in_order(reversed(EVERY)) == EVERY
    assert all(each["systems"] and (each["controls"] or each["no_control"]) for each in plain)


# --- a deposed coordinator ------------------------------------------------------------------------------------


def test_a_deposed_coordinator_breaks_one_theorem_alone() -> None:
    """It answers the newest client that another one has taken its place; in this instance all else holds."""
    knobs = quiet(NEWEST, deposed_answers=True, times_out=True, bounds=Bounds(coordinators=2, instances=1))
    instance = built("a deposed coordinator", knobs)
    others = [each for each in instance.system.theorems if each.name != "newest_is_not_fenced"]

    found = explore(instance.system, instance.finite, others)

    assert found.verdict == Holds(found.verdict.depth, complete=True)  # type: ignore[union-attr]
    assert "deposed_coordinator_answers" in found.happened
    assert any(each.knobs.deposed_answers and each.violates == "newest_is_not_fenced" for each in CONTROLS)
