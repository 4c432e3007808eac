"""Facts of one append for all inputs, over integers and in full width, and what refutes them."""

from dataclasses import replace

import pytest

from model_tests.unit.by_default import by_default
from spec.algebra import Term, all_of, implies, negate
from spec.engines.induction import prove_fact
from spec.engines.reading_z3 import INTEGERS, WIDE, WIRE, Numbers
from spec.engines.verdict import Proved, Refuted
from spec.protocol import fence, lso, seq, verification
from spec.protocol.append import append
from spec.protocol.records import AppendRequest, CachedBatch, MetVerification, ProducerEntry
from spec.systems.append_lemmas import append_facts, broken_facts, stable_fact, wire_facts
from spec.systems.decision_lemmas import Fact
from spec.versions import KAFKA_0_11, KAFKA_1_0, KAFKA_2_0, KAFKA_2_4, NEWEST, PROFILES, Profile
from spec.vocabulary import MAX_SEQUENCE

FACTS = {fact.name: fact for fact in (*append_facts(), *wire_facts(), stable_fact())}


OF_NEWEST = [fact.name for fact in wire_facts() if fact.name.endswith(f"[{NEWEST.name}]")]
"""Facts in full width that are proved here by default; `eos verify` proves all facts by default, in each width."""


def shown(fact: Fact) -> str:
    return fact.name


@pytest.mark.parametrize(
    "profile", by_default({name: name for name in PROFILES}, (KAFKA_0_11.name, KAFKA_2_4.name, NEWEST.name))
)
def test_every_release_means_the_same_by_sequences_and_epochs(profile: str) -> None:
    """The facts of one release hold for all inputs."""
    facts = [fact for fact in append_facts() if fact.name.endswith(f"[{profile}]")]

    assert 5 <= len(facts)
    assert {Proved()} == {prove_fact(fact).verdict for fact in facts}


@pytest.mark.parametrize("numbers", [WIRE, WIDE], ids=lambda numbers: f"{numbers.width} bits")
@pytest.mark.parametrize("fact", by_default({fact.name: fact for fact in wire_facts()}, OF_NEWEST))
def test_sequences_mean_the_same_in_full_width(fact: Fact, numbers: Numbers) -> None:
    """No overflow changes a decision."""
    assert Proved() == prove_fact(fact, numbers).verdict


@pytest.mark.parametrize("numbers", [INTEGERS, WIDE], ids=["integers", "64 bits"])
def test_the_last_stable_offset_is_between(numbers: Numbers) -> None:
    """Whatever is open."""
    assert Proved() == prove_fact(stable_fact(), numbers).verdict


def _never(*_: object, **__: object) -> bool:
    return False


BROKEN = {
    "gaps are let through": (seq, "skips", _never, f"successor_alone_continues[{NEWEST.name}]"),
    "sequences do not wrap": (
        seq,
        "is_successor",
        lambda last, sequence, *_: sequence == last + 1,
        f"successor_alone_continues[{NEWEST.name}]",
    ),
    "an epoch starts anywhere": (seq, "resets_wrongly", _never, f"new_epoch_starts_at_zero[{NEWEST.name}]"),
    "no epoch is stale": (fence, "is_stale", _never, f"epochs_never_fall_here[{NEWEST.name}]"),
    "resends are not recognised": (seq, "is_resend_of", _never, f"resend_in_window_is_recognised[{NEWEST.name}]"),
    "any coordinator will do": (fence, "is_stale_coordinator", _never, f"stale_coordinator_is_refused[{NEWEST.name}]"),
    "nothing is verified": (verification, "needs_verification", _never, f"resend_after_end_is_verified[{NEWEST.name}]"),
    "nothing is unstable": (lso, "last_stable", lambda offsets: offsets.log_end, "stable_is_between"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_decision_is_refuted_by_an_input(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fact that falls is the one about the rule."""
    module, function, instead, fact = BROKEN[name]
    monkeypatch.setattr(module, function, instead)

    assert isinstance(prove_fact(FACTS[fact]).verdict, Refuted)


@pytest.mark.parametrize("fact", broken_facts(), ids=shown)
def test_a_fact_without_its_guard_is_refuted(fact: Fact) -> None:
    """The control of each rule that is proved of the decision alone."""
    assert isinstance(prove_fact(fact).verdict, Refuted)


@pytest.mark.parametrize(("profile", "refuted"), [(KAFKA_0_11, True), (KAFKA_2_0, True), (KAFKA_2_4, False)])
def test_before_2_2_a_leader_lowers_epochs(profile: Profile, refuted: bool) -> None:
    """By what a coordinator appends: the fact that epochs never fall is about nothing else."""
    fact = FACTS[f"epochs_never_fall_here[{profile.name}]"]

    def of_every_leader(entry: ProducerEntry, request: AppendRequest, seen: MetVerification) -> Term:
        after = append(entry, request, profile, seen).entry
        return implies(fence.asks_as_leader(request), after.epoch >= entry.epoch)

    assert refuted == isinstance(prove_fact(replace(fact, holds=of_every_leader)).verdict, Refuted)


@pytest.mark.parametrize(("profile", "refuted"), [(KAFKA_0_11, True), (KAFKA_1_0, True), (KAFKA_2_0, False)])
def test_before_2_0_a_transaction_may_begin_elsewhere(profile: Profile, refuted: bool) -> None:
    """Than at the offset of its first batch."""
    fact = FACTS[f"epochs_never_fall_here[{profile.name}]"]

    def begins_where_it_does(entry: ProducerEntry, request: AppendRequest, seen: MetVerification) -> Term:
        decided = append(entry, request, profile, seen)
        opens = all_of(negate(entry.in_transaction), decided.entry.in_transaction)
        return implies(opens, decided.entry.txn_first_offset == request.base_offset)

    assert refuted == isinstance(prove_fact(replace(fact, holds=begins_where_it_does)).verdict, Refuted)


def test_the_premises_can_be_met_at_the_turn_of_sequences() -> None:
    """The batch after 2^31-1 is 0; as its own resend it is recognised, one record more it is not."""
    newest = CachedBatch(last_sequence=MAX_SEQUENCE, last_offset=9, offset_delta=2)
    entry = ProducerEntry(epoch=3, cached=(newest, *(CachedBatch(),) * 4))
    follows = AppendRequest(base_offset=10, producer_id=1, producer_epoch=3, base_sequence=0)
    again = replace(follows, base_sequence=MAX_SEQUENCE - 2, last_offset_delta=2, record_count=3)
    confirmed = MetVerification(verification_guarded=True)

    for request in (follows, again, replace(again, last_offset_delta=3, record_count=4)):
        assert FACTS[f"successor_alone_continues[{NEWEST.name}]"].holds(entry, request, confirmed)
        assert FACTS[f"resend_in_window_is_recognised[{NEWEST.name}]"].holds(entry, request, confirmed)


def test_without_its_premises_a_fact_is_refuted() -> None:
    """Sequences beyond those of the wire are compared, not guessed about."""
    fact = FACTS[f"one_resend_is_exact[{NEWEST.name}]"]
    wild = replace(fact, holds=lambda cached, request: negate(seq.is_resend_of(cached, request, NEWEST)))

    assert isinstance(prove_fact(wild).verdict, Refuted)
