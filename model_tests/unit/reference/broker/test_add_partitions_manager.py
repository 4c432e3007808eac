"""What a node asks coordinators: one request at a time, and one waiting question of each transactional id."""

from typing import Final

import pytest

from model_tests.unit.reference.broker.coordinated import T0, T1, identity
from reference.broker.coordinator_errors import ConcurrentTransactions, TransactionAbortable
from reference.broker.ids import ProducerIdentity
from reference.broker.verification import AddPartitionsToTxnManager, NetworkException, Question, Supported
from reference.errors import ProducerFenced, Refusal, UnsupportedVersion
from spec.vocabulary import MAX_EPOCH, ErrorCode

NODE: Final = 1
OLD, NEW = Supported.DEFAULT_ERROR, Supported.GENERIC_ERROR


def question(
    producer: ProducerIdentity | None = None, transactional_id: str = "payments", supported: Supported = NEW
) -> Question:
    """Whether a partition is in a transaction."""
    return Question(transactional_id, producer or identity(7, 5), (T0,), supported)


@pytest.fixture
def manager() -> AddPartitionsToTxnManager[str]:
    """A manager with a request under way."""
    manager: AddPartitionsToTxnManager[str] = AddPartitionsToTxnManager()
    manager.verify(NODE, question(transactional_id="under way"), "first")
    manager.requests()
    return manager


def waiting(manager: AddPartitionsToTxnManager[str]) -> list[str]:
    """Who waits for the next request."""
    return [asker.who for asker in manager.waiting[NODE].askers.values()]


def code(refusal: Refusal | None) -> ErrorCode:
    """The error of a refusal, NONE where nothing is refused."""
    return ErrorCode.NONE if refusal is None else refusal.code


def test_one_request_at_a_time(manager: AddPartitionsToTxnManager[str]) -> None:
    """What comes up while one is under way waits, and goes together; other nodes' requests go at once."""
    for name in ("a", "b"):
        assert manager.verify(NODE, question(transactional_id=name), name) is None
    manager.verify(2, question(), "other node")

    assert [2] == [node for node, _ in manager.requests()]
    assert [("first", None)] == manager.answered(NODE, {"under way": None})
    assert [(NODE, ["a", "b"])] == [(node, list(batch.askers)) for node, batch in manager.requests()]


@pytest.mark.parametrize(
    ("later", "reported", "error", "stays"),
    [
        (identity(7, 5), "earlier", ErrorCode.NETWORK_EXCEPTION, "later"),
        (identity(7, 6), "earlier", ErrorCode.INVALID_PRODUCER_EPOCH, "later"),
        (identity(7, 4), "later", ErrorCode.INVALID_PRODUCER_EPOCH, "earlier"),
    ],
    ids=["same", "higher", "lower"],
)
def test_one_waiting_question_of_each_id(
    manager: AddPartitionsToTxnManager[str], later: ProducerIdentity, reported: str, error: ErrorCode, stays: str
) -> None:
    """The higher epoch is kept; of two with the same one the later is, and the earlier may ask again."""
    manager.verify(NODE, question(), "earlier")

    answer = manager.verify(NODE, question(later), "later")

    assert answer is not None
    assert (reported, error, [stays]) == (answer.who, code(answer.refusal), waiting(manager))


def test_epochs_of_different_producer_ids_are_compared(manager: AddPartitionsToTxnManager[str]) -> None:
    """After the last epoch of a producer id the next one begins at 0, and gets the error of a stale epoch."""
    manager.verify(NODE, question(identity(7, MAX_EPOCH - 1)), "the old producer id")

    answer = manager.verify(NODE, question(identity(8, 0)), "the new one")

    assert answer is not None
    assert ("the new one", ErrorCode.INVALID_PRODUCER_EPOCH) == (answer.who, code(answer.refusal))
    assert ["the old producer id"] == waiting(manager)


def test_what_is_under_way_is_not_replaced(manager: AddPartitionsToTxnManager[str]) -> None:
    """Only what waits is."""
    assert manager.verify(NODE, question(identity(7, 9), "under way"), "second") is None
    assert [("first", None)] == manager.answered(NODE, {"under way": None})


@pytest.mark.parametrize(
    ("first", "then", "error"),
    [(OLD, NEW, ErrorCode.INVALID_TXN_STATE), (NEW, OLD, ErrorCode.TRANSACTION_ABORTABLE)],
    ids=["old-first", "new-first"],
)
def test_all_answers_are_reported_as_the_first_asker_knows_them(
    manager: AddPartitionsToTxnManager[str], first: Supported, then: Supported, error: ErrorCode
) -> None:
    """A client may get an error that its version does not have, or another than its own."""
    manager.verify(NODE, question(transactional_id="a", supported=first), "a")
    manager.verify(NODE, question(transactional_id="b", supported=then), "b")
    manager.answered(NODE, {"under way": None})
    manager.requests()

    reported = manager.answered(NODE, {"a": None, "b": TransactionAbortable(partition=T1)})

    assert [("a", ErrorCode.NONE), ("b", error)] == [(who, code(refusal)) for who, refusal in reported]


def test_a_fence_is_reported_as_a_stale_epoch(manager: AddPartitionsToTxnManager[str]) -> None:
    """Producers expect that code in answer to their batches; the coordinator's other errors go through."""
    assert [("first", ErrorCode.INVALID_PRODUCER_EPOCH)] == [
        (who, code(refusal)) for who, refusal in manager.answered(NODE, {"under way": ProducerFenced()})
    ]
    manager.verify(NODE, question(), "second")
    manager.requests()
    assert [("second", ErrorCode.CONCURRENT_TRANSACTIONS)] == [
        (who, code(refusal)) for who, refusal in manager.answered(NODE, {"payments": ConcurrentTransactions()})
    ]


@pytest.mark.parametrize("refusal", [NetworkException(), UnsupportedVersion()], ids=["lost", "unsupported"])
def test_a_request_that_fails_fails_for_all(manager: AddPartitionsToTxnManager[str], refusal: Refusal) -> None:
    """A transaction that no record can hold takes the others of its request with it; then the next request goes."""
    for name in ("a", "b"):
        manager.verify(NODE, question(transactional_id=name), name)
    manager.answered(NODE, {"under way": None})
    manager.requests()
    manager.verify(NODE, question(transactional_id="c"), "c")

    assert [("a", refusal), ("b", refusal)] == manager.failed(NODE, refusal)
    assert [NODE] == [node for node, _ in manager.requests()]
