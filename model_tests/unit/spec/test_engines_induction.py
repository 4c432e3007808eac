from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest

from model_tests.unit.by_default import by_default
from model_tests.verify.proofs import PROVED_HERE, check_quickly, proofs
from model_tests.verify.prove import run
from model_tests.verify.proved import Proofs
from model_tests.verify.proving import here
from model_tests.verify.results import RuleVerdict as Outcome
from spec import rules
from spec.algebra import Term, negate
from spec.engines.induction import START, Prover, prove, prove_fact
from spec.engines.reading_z3 import WIRE
from spec.engines.verdict import Proved, Refuted, passed
from spec.protocol import fence, seq
from spec.protocol.records import AppendRequest, CachedBatch, ProducerEntry
from spec.rules import Rule
from spec.systems.decision_lemmas import Turns, arithmetic_fact, stale_epoch_facts, wrapping_fact
from spec.systems.decision_lemmas import _near as near
from spec.systems.idempotence.stream import StreamKnobs
from spec.systems.idempotence.system import idempotence
from spec.systems.system_append import UNWRAPPED
from spec.vocabulary import MAX_SEQUENCE


def failing(knobs: StreamKnobs) -> set[str]:
    return {str(o) for o in prove(idempotence(knobs)) if not isinstance(o.verdict, Proved)}


@pytest.fixture(scope="module")
def proved() -> Proofs:
    return proofs()


@pytest.mark.slow
@pytest.mark.parametrize("rule", PROVED_HERE, ids=lambda rule: rule.id)
def test_the_rule_is_proved_without_bounds(rule: Rule, proved: Proofs) -> None:
    """Every obligation that it rests on is proved, and its assumptions are said."""
    result = proved.result(rule)

    assert result.verdict is Outcome.PROVED, result.detail
    assert result.count > (10 if proved.about(rule) else 1)  # of a system, or facts alone
    assumed = {assumption for each in proved.about(rule) for assumption in each.system.assumptions}
    assert assumed == set(result.assumptions)
    assert bool(assumed) != ("all inputs" in result.detail)


@pytest.mark.slow
def test_obligations_are_solved_or_unchanged(proved: Proofs) -> None:
    """What an action leaves identical is not given to the solver."""
    lemmas, awake = len(idempotence().lemmas), sum(not action.dormant for action in idempotence().actions)

    stream = proved.systems[0].obligations
    assert len(stream) == len(idempotence().theorems) + lemmas * (1 + awake) + 1
    assert 90 <= sum(o.solved for o in stream) <= 110


BROKEN = {
    "window of four": (
        StreamKnobs(profile=replace(UNWRAPPED, cached_batches=4)),
        "resend_is_recognised under in every state",
    ),
    "six in flight": (StreamKnobs(in_flight=6), "resend_is_recognised under in every state"),
    "duplicate check off": (StreamKnobs(without=frozenset({"duplicate"})), "resend_is_recognised under in every state"),
    "epoch reset off": (StreamKnobs(without=frozenset({"epoch_reset"})), "log_has_no_gap under leader_appends"),
    "stale epoch check off": (StreamKnobs(without=frozenset({"stale_epoch"})), "log_rises under leader_appends"),
    "successor check off": (StreamKnobs(without=frozenset({"successor"})), "log_has_no_gap under leader_appends"),
    "expiry on": (StreamKnobs(state_expires=True), "entry_is_of_log under leader_forgets"),
    "first batch overtaken": (StreamKnobs(first_in_order=False), "log_has_no_gap under leader_appends"),
    "unclean election": (StreamKnobs(clean_elections=False), "acknowledged_is_replicated under leader_fails_over"),
}


@pytest.mark.parametrize("broken", by_default(BROKEN, ["successor check off", "first batch overtaken"]))
def test_a_broken_system_is_not_proved(broken: tuple[StreamKnobs, str]) -> None:
    """The obligation that fails is the one that the change breaks."""
    knobs, wanted = broken

    obligation = next(o for o in Prover(idempotence(knobs)).obligations() if str(o) == wanted)

    assert not passed(obligation.verdict)


@pytest.mark.slow
def test_a_release_that_starts_at_0_needs_no_order_of_arrival() -> None:
    """Before 2.5 an unknown producer starts at sequence 0, and nothing need be assumed of its first batch."""
    before_2_5 = StreamKnobs(first_in_order=False, profile=replace(UNWRAPPED, any_first_sequence=False))

    assert set() == failing(before_2_5)


def test_a_lemma_that_is_false_at_the_start_is_refuted_by_name() -> None:
    """The start is exact: a model is a refutation."""
    system = idempotence()
    false = replace(system.claim("counts"), name="nothing_is_empty", holds=lambda state, s: state.length(s) > 0)
    wrong = replace(system, lemmas=(false,), actions=(), theorems=(), steps=())

    (obligation,) = Prover(wrong).obligations()

    assert (obligation.action, obligation.verdict) == (START, Refuted("nothing_is_empty", ()))


def test_a_fact_that_does_not_hold_is_refuted_by_an_input() -> None:
    """The report shows the values."""
    fact = replace(arithmetic_fact(), holds=lambda of: negate(of.left == 7))

    verdict = prove_fact(fact, WIRE).verdict

    assert isinstance(verdict, Refuted)
    assert "of.left=7" in verdict.claim


def test_wrapping_is_claimed_of_something() -> None:
    """The batch that follows over the edge, the one before it cached, is within the premise."""
    newest = CachedBatch(last_sequence=MAX_SEQUENCE, last_offset=9, offset_delta=0)
    entry = ProducerEntry(epoch=3, cached=(newest, *(CachedBatch(),) * 4))
    request = AppendRequest(base_offset=10, producer_id=1, producer_epoch=3, base_sequence=0)

    assert near(entry, request, Turns(request=1, cached_0=-1))
    assert wrapping_fact().holds(entry, request, Turns(request=1, cached_0=-1))


def never(*_: object, **__: object) -> Term:
    return False


MUTANTS = {
    "skips": (seq, "skips", never, rules.SEQ_ORDER),
    "resets_wrongly": (seq, "resets_wrongly", never, rules.SEQ_ORDER),
    "is_resend_of": (seq, "is_resend_of", never, rules.SEQ_WINDOW_SUFFICES),
    "is_refused_as_stale": (fence, "is_refused_as_stale", never, rules.FENCE_STALE_EPOCH),
}


@pytest.mark.parametrize("mutant", by_default(MUTANTS, ["is_resend_of"]))
def test_a_broken_guard_turns_proof_and_search_red(
    mutant: tuple[ModuleType, str, Callable[..., object], Rule], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decision is read where it is defined, and nothing of it is remembered between checks."""
    module, function, broken, rule = mutant
    monkeypatch.setattr(module, function, broken)

    proof, *searches = check_quickly(rule)

    assert not proof.passed
    assert not all(search.passed for search in searches)


@pytest.mark.slow
def test_the_report_lists_every_obligation() -> None:
    """One rule's obligations, in plain values, with exit code 0."""
    report = run(rules.LSO_BOUNDS, kept=None, spread=here)
    listed = report.to_json()["obligations"]

    assert report.exit_code == 0
    assert isinstance(listed, list)
    assert {"rule", "lemma", "action", "verdict", "solved", "seconds", "kept", "needs"} == set(listed[0])
    assert {"proved"} == {obligation["verdict"] for obligation in listed}


def test_stale_epochs_are_refused_by_every_release() -> None:
    """One fact for each profile."""
    verdicts = {fact.name: prove_fact(fact).verdict for fact in stale_epoch_facts()}

    assert {Proved()} == set(verdicts.values())
