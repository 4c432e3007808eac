"""Runs from a seed: the same everywhere, and in the domain of the rules or marked as outside."""

from model_tests.machines.actions import ACTIONS, EXPIRY
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.streams import FaultsSoFar, StreamHistory, circumstances
from model_tests.machines.tape_runs import run
from spec import rules


def test_a_seed_is_a_run() -> None:
    """The same seed makes the same steps, with the same rules at stake."""
    first, second = Ledger(), Ledger()

    run(11, first)
    run(11, second)

    assert first == second


def test_seeds_differ() -> None:
    """Another seed makes another run."""
    first, second = Ledger(), Ledger()

    run(11, first)
    run(12, second)

    assert first != second


def test_expiry_breaks_streams_only_where_nothing_is_claimed() -> None:
    """What breaks because producers were forgotten is known; there is such a case among a few runs."""
    ledger = Ledger(asks_decision=False)

    for seed in range(40):
        run(seed, ledger, events=(*ACTIONS, EXPIRY))

    assert [] == ledger.broken
    assert ledger.known[rules.SEQ_EXACTLY_ONCE] > 0


def test_a_renumbering_client_on_an_orderly_network_is_not_excused() -> None:
    """Without a broker that forgot or an answer that came late, a batch written twice is a violation."""
    history = StreamHistory(renumbered=True)

    assert rules.SEQ_EXACTLY_ONCE.claimed_in(circumstances(history, FaultsSoFar()))
    assert not rules.SEQ_EXACTLY_ONCE.claimed_in(circumstances(history, FaultsSoFar(reordered=True)))


def test_renumbering_is_no_excuse_for_another_order() -> None:
    """A batch may be written twice where a client was misled, but never before its predecessor."""
    history = StreamHistory(renumbered=True)

    assert rules.SEQ_ORDER.claimed_in(circumstances(history, FaultsSoFar(reordered=True), renumbering=False))
