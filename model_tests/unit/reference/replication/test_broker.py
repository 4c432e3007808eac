"""A broker: which messages of controllers and which answers it takes."""

import pytest

from model_tests.unit.reference.replication.scenes import EPOCHS, LATER, NOW, fetch, produce, replica, word
from reference.errors import Refusal
from reference.replication.broker import BrokerProcess
from reference.replication.messages import Altered
from spec.versions import KAFKA_2_7, NEWEST, Profile
from spec.vocabulary import ErrorCode


def leading(profile: Profile = NEWEST) -> BrokerProcess:
    """Broker 0 leads partition 0, and one of its followers is out of sync."""
    made = BrokerProcess(profile, 0, {0: replica(0, profile)})
    made.registered(EPOCHS[0])
    made.learn_leader(0, word(0, 0, 0, (0, 1)), NOW)
    produce(made.replicas[0])
    return made


def test_the_answer_to_an_earlier_proposal_is_dropped() -> None:
    """It would be taken for that of the proposal under way, whose own answer would then come too late."""
    made = leading()
    _, grows = made.answer_fetch(0, fetch(2, 0), NOW)
    assert grows is not None
    grown = Altered(ErrorCode.NONE, word(0, 0, 1, (0, 1, 2)).state)
    made.altered(0, grows, grown, NOW)
    shrinks = made.check_lags(LATER)[0]

    made.altered(0, grows, grown, LATER)
    leadership = made.replicas[0].leadership
    assert leadership is not None
    waiting = leadership.proposed
    made.altered(0, shrinks, Altered(ErrorCode.NONE, word(0, 0, 2, (0,)).state), LATER)

    assert frozenset({0}) == waiting
    assert (frozenset({0}), None) == (leadership.insync, leadership.proposed)


def test_a_proposal_is_sent_again_under_the_present_registration() -> None:
    """The answer to either sending settles it."""
    made = leading()
    made.answer_fetch(0, fetch(2, 0), NOW)

    made.registered(99)
    again = made.ask_again(0)
    made.altered(0, again._replace(broker_epoch=EPOCHS[0]), Altered(ErrorCode.NONE, word(0, 0, 1).state), NOW)

    assert 99 == again.broker_epoch
    assert {} == made.proposals


def test_word_from_before_its_registration_is_for_the_process_before_it() -> None:
    """A broker that was restarted does not lead by a message that was under way; a later one counts."""
    made = leading()
    late = word(0, 0, 1)
    made.forget()
    made.replicas[0].forget()
    made.registered(late.version + 1)

    made.learn_leader(0, late, NOW)
    before = made.replicas[0].leader
    made.learn_leader(0, word(0, 1, 2), NOW)

    assert (-1, 0) == (before, made.replicas[0].leader)


@pytest.mark.parametrize(("profile", "refused"), [(KAFKA_2_7, True), (NEWEST, False)])
def test_word_of_a_controller_that_was_replaced(profile: Profile, refused: bool) -> None:
    """Under ZooKeeper the controller epoch fences it; under KRaft its word is old, and changes nothing."""
    made = leading(profile)
    made.learn_leader(0, word(1, 1, 1)._replace(controller_epoch=2), NOW)
    late = word(0, 0)._replace(controller_epoch=1)

    try:
        made.learn_leader(0, late, NOW)
        code = ErrorCode.NONE
    except Refusal as refusal:
        code = refusal.code

    assert (ErrorCode.STALE_CONTROLLER_EPOCH if refused else ErrorCode.NONE) is code
    assert 1 == made.replicas[0].leader
