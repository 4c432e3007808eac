import pytest
import z3

from spec.systems.idempotence.stream import StreamKnobs
from spec.systems.idempotence.system import idempotence, sizes
from spec.systems.language import State, always, either, pick, rewrite, update


def square(number: int) -> int:
    return number * number


def test_an_update_changes_one_point() -> None:
    """Elsewhere the function is what it was."""
    changed = update(square, 3, to=0)

    assert [0, 1, 4, 0, 16] == [changed(n) for n in range(5)]


def test_a_rewriting_changes_every_point_where_its_condition_holds() -> None:
    """Elsewhere the function is what it was."""
    changed = rewrite(square, lambda n: n >= 2, lambda n: -n)

    assert [0, 1, -2, -3] == [changed(n) for n in range(4)]


def test_a_choice_between_values_takes_one() -> None:
    """With a fact of Python nothing is built."""
    assert pick(True, "then", "otherwise") == "then"


def test_a_state_knows_only_its_own_functions() -> None:
    """A slip in a name is an error, not a new function."""
    state = State({"square": square})

    with pytest.raises(AttributeError, match="cube"):
        state.but(cube=square)
    with pytest.raises(AttributeError, match="cube"):
        _ = state.cube


def test_one_of_two_states_differs_where_they_do() -> None:
    """What both have is not touched; with a fact of Python nothing is built."""
    before = State({"square": square, "height": always(1)})
    after = before.but(height=always(2))
    fact = z3.Bool("fact")

    chosen = either(fact, after, before)

    assert either(True, after, before) is after
    assert either(False, after, before) is before
    assert chosen.square is square
    assert chosen.height(0).eq(z3.If(fact, z3.IntVal(2), z3.IntVal(1)))


def test_claims_and_actions_are_found_by_name() -> None:
    """A name that is not there is answered with those that are."""
    system = idempotence()

    assert system.claim("log_rises").name == "log_rises"
    assert system.action("client_sends").name == "client_sends"
    with pytest.raises(KeyError, match="client_sends"):
        system.action("client_sleeps")


def test_every_claim_is_a_sentence() -> None:
    """Names are one each, and each claim has a sentence."""
    claims = idempotence().claims

    assert len(claims) == len({claim.name for claim in claims})
    assert all(claim.sentence.endswith(".") for claim in claims)


def test_knobs_leave_faults_out() -> None:
    """Without timeouts, failover and expiry their actions are not there."""
    names = {action.name for action in idempotence(StreamKnobs(gives_up=False, fails_over=False)).actions}

    assert not names & {"client_expires_batch", "client_raises_epoch", "leader_fails_over", "leader_forgets"}


def test_an_instance_must_be_bounded() -> None:
    """The unbounded system has no finite instance."""
    with pytest.raises(ValueError, match="bound"):
        sizes(StreamKnobs())
