"""Which changes of a transactional producer's state are legal, and who may try an illegal one."""

import itertools

import pytest

from reference.client.transaction_states import ClientState, ClientStateMachine, IllegalState, ProducerFailed
from spec.vocabulary import ErrorCode

S = ClientState
EDGES = {
    (S.READY, S.UNINITIALIZED),
    (S.ABORTABLE_ERROR, S.UNINITIALIZED),
    (S.UNINITIALIZED, S.INITIALIZING),
    (S.COMMITTING_TRANSACTION, S.INITIALIZING),
    (S.ABORTING_TRANSACTION, S.INITIALIZING),
    (S.INITIALIZING, S.READY),
    (S.COMMITTING_TRANSACTION, S.READY),
    (S.ABORTING_TRANSACTION, S.READY),
    (S.READY, S.IN_TRANSACTION),
    (S.IN_TRANSACTION, S.COMMITTING_TRANSACTION),
    (S.IN_TRANSACTION, S.ABORTING_TRANSACTION),
    (S.ABORTABLE_ERROR, S.ABORTING_TRANSACTION),
    (S.IN_TRANSACTION, S.ABORTABLE_ERROR),
    (S.COMMITTING_TRANSACTION, S.ABORTABLE_ERROR),
    (S.ABORTABLE_ERROR, S.ABORTABLE_ERROR),
    (S.INITIALIZING, S.ABORTABLE_ERROR),
    *((source, S.FATAL_ERROR) for source in S),
}


def machine_in(state: ClientState) -> ClientStateMachine:
    machine = ClientStateMachine()
    machine.state = state
    return machine


@pytest.mark.parametrize(("source", "target"), list(itertools.product(S, S)), ids=lambda state: state.name)
def test_every_change_of_state(source: ClientState, target: ClientState) -> None:
    """An application's illegal call changes nothing; the producer's own is fatal."""
    called, alone = machine_in(source), machine_in(source)

    alone.go_by_itself(target)

    if (source, target) in EDGES:
        called.go(target)
        assert (target, target) == (called.state, alone.state)
    else:
        with pytest.raises(IllegalState):
            called.go(target)
        assert (source, S.FATAL_ERROR) == (called.state, alone.state)


def test_an_abort_under_way_continues() -> None:
    """An error that could only be answered by an abort does not stop one."""
    machine = machine_in(S.ABORTING_TRANSACTION)

    machine.fail_abortably(ErrorCode.INVALID_PRODUCER_EPOCH)

    assert (S.ABORTING_TRANSACTION, ErrorCode.NONE) == (machine.state, machine.error)


def test_the_first_fatal_error_counts() -> None:
    """What comes after the end changes nothing."""
    machine = machine_in(S.IN_TRANSACTION)
    machine.fail_fatally(ErrorCode.PRODUCER_FENCED)

    machine.fail_fatally(ErrorCode.INVALID_TXN_STATE)
    machine.fail_abortably(ErrorCode.TRANSACTION_ABORTABLE)

    assert (S.FATAL_ERROR, ErrorCode.PRODUCER_FENCED) == (machine.state, machine.error)
    with pytest.raises(ProducerFailed, match="PRODUCER_FENCED"):
        machine.check_not_failed()
