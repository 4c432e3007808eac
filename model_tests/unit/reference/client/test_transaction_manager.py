"""What a transactional producer asks of coordinators, in which order, and what it makes of their answers."""

from collections.abc import Mapping

import pytest

from reference.broker.group_requests import NO_CLAIM, MemberClaim, OffsetAndMetadata
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import (
    AddOffsets,
    AddPartitions,
    CoordinatorAnswer,
    CoordinatorRequest,
    CoordinatorType,
    EndTxn,
    FindCoordinator,
    InitProducerId,
    Outgoing,
    TxnOffsetCommit,
)
from reference.client.producer import Attempt, AttemptReply
from reference.client.producer_settings import BEFORE_BUMPS, GENERIC_ERRORS, TRANSACTION_VERSION_2, RequestVersions
from reference.client.transaction_states import ClientState, IllegalState, ProducerFailed
from reference.client.transactional_producer import TransactionalProducer
from spec.vocabulary import Epoch, ErrorCode, Offset, ProducerId, Timestamp

ID = "payments"
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
NOW = Timestamp(0)
VERSIONS = pytest.mark.parametrize(
    "versions", [BEFORE_BUMPS, GENERIC_ERRORS, TRANSACTION_VERSION_2], ids=["2.4", "tv0", "tv2"]
)
BUMPING = pytest.mark.parametrize("versions", [GENERIC_ERRORS, TRANSACTION_VERSION_2], ids=["tv0", "tv2"])
OFFSETS = {T0: OffsetAndMetadata(Offset(5))}


def identity(epoch: int, producer_id: int = 7) -> ProducerIdentity:
    return ProducerIdentity(ProducerId(producer_id), Epoch(epoch))


@pytest.fixture
def producer(versions: RequestVersions) -> TransactionalProducer:
    """A producer with identity (7, 0) that knows both its coordinators."""
    producer = TransactionalProducer(ID, (T0, T1), versions, delivery_timeout_ms=100)
    producer.init_transactions()
    answer(producer, CoordinatorAnswer(node=3))
    answer(producer, CoordinatorAnswer(identity=identity(0)))
    producer.manager.channel.nodes[CoordinatorType.GROUP] = 4
    return producer


def sent(producer: TransactionalProducer) -> Outgoing:
    """The next request."""
    outgoing = producer.poll()
    assert outgoing is not None
    return outgoing


def answer(producer: TransactionalProducer, reply: CoordinatorAnswer | ErrorCode) -> CoordinatorRequest:
    """Send the next request and answer it; an error alone is that of the request or of each partition."""
    outgoing = sent(producer)
    reported = answer_of(outgoing.request, reply) if isinstance(reply, ErrorCode) else reply
    producer.answer(outgoing.number, reported)
    return outgoing.request


def answer_of(request: CoordinatorRequest, error: ErrorCode) -> CoordinatorAnswer:
    """An error as the answer to the request has it."""
    match request:
        case AddPartitions(partitions=partitions):
            return CoordinatorAnswer(partitions=dict.fromkeys(partitions, error))
        case TxnOffsetCommit(offsets=offsets):
            return CoordinatorAnswer(partitions=dict.fromkeys(offsets, error))
        case _:
            return CoordinatorAnswer(error)


def began(producer: TransactionalProducer) -> TransactionalProducer:
    """In a transaction with one acknowledged record."""
    producer.begin()
    producer.send(0, 1, NOW)
    if not producer.manager.versions.bumps_by_ending:
        answer(producer, ErrorCode.NONE)
    producer.receive(producer.drain(0), AttemptReply(ErrorCode.NONE, Offset(0)))
    return producer


def on_the_way(producer: TransactionalProducer) -> Attempt:
    """A second record, sent and not answered."""
    producer.send(0, 1, NOW)
    return producer.drain(0)


def standing(producer: TransactionalProducer) -> tuple[ClientState, ErrorCode]:
    """The state and its error."""
    return producer.state, producer.manager.machine.error


# --- order --------------------------------------------------------------------------------------------------------


@VERSIONS
def test_the_coordinator_is_found_first(versions: RequestVersions) -> None:
    """The first request of all asks any node who coordinates."""
    producer = TransactionalProducer(ID, (T0,), versions)
    result = producer.init_transactions()

    assert Outgoing(0, -1, FindCoordinator(CoordinatorType.TRANSACTION, ID)) == sent(producer)
    assert producer.poll() is None

    producer.answer(0, CoordinatorAnswer(node=3))
    request = sent(producer)

    assert (3, InitProducerId(versions.init_producer_id, ID, 60_000)) == (request.node, request.request)

    producer.answer(request.number, CoordinatorAnswer(identity=identity(0)))

    assert (ClientState.READY, identity(0), True) == (producer.state, producer.identity, result.is_done)


@pytest.mark.parametrize("versions", [GENERIC_ERRORS], ids=["tv0"])
def test_partitions_are_added_before_anything_is_sent_to_them(producer: TransactionalProducer) -> None:
    """No batch goes out before its partition is in the transaction; partitions wait for each other."""
    producer.begin()
    producer.send(1, 1, NOW)
    producer.send(0, 1, NOW)
    assert not producer.may_drain(0)

    request = answer(producer, ErrorCode.NONE)

    assert AddPartitions(3, ID, identity(0), (T0, T1)) == request
    assert (True, True) == (producer.may_drain(0), producer.may_drain(1))


@pytest.mark.parametrize("versions", [TRANSACTION_VERSION_2], ids=["tv2"])
def test_brokers_add_partitions(producer: TransactionalProducer) -> None:
    """Under version 2 no request is sent before the end."""
    producer.begin()
    producer.send(0, 1, NOW)

    assert (True, False) == (producer.may_drain(0), producer.may_poll())


@BUMPING
def test_offsets(producer: TransactionalProducer) -> None:
    """Under versions 0 and 1 the group is added first; then the request goes to the group's own coordinator."""
    producer.begin()
    result = producer.send_offsets_to_transaction("g", OFFSETS, MemberClaim(1, "m"))
    versions = producer.manager.versions

    if not versions.bumps_by_ending:
        assert AddOffsets(3, ID, identity(0), "g", OFFSETS, MemberClaim(1, "m")) == answer(producer, ErrorCode.NONE)
    request = sent(producer)

    expected = TxnOffsetCommit(versions.txn_offset_commit, ID, identity(0), "g", OFFSETS, MemberClaim(1, "m"))
    assert (4, expected) == (request.node, request.request)
    producer.answer(request.number, CoordinatorAnswer(partitions={T0: ErrorCode.NONE}))
    assert ErrorCode.NONE == result.error


@pytest.mark.parametrize("versions", [BEFORE_BUMPS], ids=["2.4"])
def test_old_commits_name_no_member(producer: TransactionalProducer) -> None:
    """Before version 3 of TxnOffsetCommit the request does not name the member."""
    producer.begin()
    producer.send_offsets_to_transaction("g", OFFSETS, MemberClaim(1, "m"))
    answer(producer, ErrorCode.NONE)

    request = sent(producer).request

    assert isinstance(request, TxnOffsetCommit)
    assert NO_CLAIM == request.claim


@BUMPING
def test_offsets_go_before_the_end(producer: TransactionalProducer) -> None:
    """The requests of a transaction are sent before its end, whenever they were made."""
    began(producer)
    producer.send_offsets_to_transaction("g", OFFSETS)
    producer.commit()

    requested = [type(answer(producer, ErrorCode.NONE)) for _ in range(2 + (producer.manager.versions.end_txn < 5))]

    assert [EndTxn] == requested[-1:]
    assert TxnOffsetCommit == requested[-2]


# --- the coordinator moves, requests get lost ---------------------------------------------------------------------


@VERSIONS
@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, None], ids=["moved", "away", "lost"]
)
def test_the_same_request_goes_to_the_new_coordinator(producer: TransactionalProducer, error: ErrorCode | None) -> None:
    """Whether it was refused or lost, the request is sent again with the identity that it had."""
    began(producer)
    producer.commit()
    first = sent(producer)
    if error is None:
        producer.manager.lose(first.number)
    else:
        producer.answer(first.number, CoordinatorAnswer(error))

    assert FindCoordinator(CoordinatorType.TRANSACTION, ID) == answer(producer, CoordinatorAnswer(node=9))
    again = sent(producer)

    assert (9, first.request) == (again.node, again.request)


@VERSIONS
def test_an_answer_to_a_request_that_was_given_up(producer: TransactionalProducer) -> None:
    """It changes nothing."""
    began(producer)
    result = producer.commit()
    number = sent(producer).number
    producer.manager.lose(number)

    producer.answer(number, CoordinatorAnswer(ErrorCode.PRODUCER_FENCED))

    assert (ClientState.COMMITTING_TRANSACTION, False) == (producer.state, result.is_done)


@VERSIONS
def test_partitions_that_wait_are_asked_for_again(producer: TransactionalProducer) -> None:
    """A transition under way at the coordinator is waited for."""
    began(producer)
    producer.commit()

    answer(producer, ErrorCode.CONCURRENT_TRANSACTIONS)

    assert isinstance(answer(producer, ErrorCode.NONE), EndTxn)
    assert ClientState.READY == producer.state


@BUMPING
def test_offsets_that_are_taken_in_part(producer: TransactionalProducer) -> None:
    """The whole request is sent again; what was taken once need not be taken again."""
    producer.begin()
    offsets = {T0: OffsetAndMetadata(Offset(5)), T1: OffsetAndMetadata(Offset(6))}
    result = producer.send_offsets_to_transaction("g", offsets)
    if not producer.manager.versions.bumps_by_ending:
        answer(producer, ErrorCode.NONE)
    loading, fine = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NONE
    first = answer(producer, CoordinatorAnswer(partitions={T0: fine, T1: loading}))
    assert not result.is_done

    again = answer(producer, CoordinatorAnswer(partitions={T0: loading, T1: fine}))

    assert (first, ErrorCode.NONE) == (again, result.error)


# --- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("versions", [GENERIC_ERRORS], ids=["tv0"])
@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ({T0: ErrorCode.OPERATION_NOT_ATTEMPTED, T1: ErrorCode.TOPIC_AUTHORIZATION_FAILED}, "abortable"),
        ({T0: ErrorCode.TOPIC_AUTHORIZATION_FAILED, T1: ErrorCode.PRODUCER_FENCED}, "fatal"),
        ({T0: ErrorCode.OPERATION_NOT_ATTEMPTED, T1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}, "again"),
    ],
    ids=["one-unauthorized", "one-fenced", "one-unknown"],
)
def test_errors_of_several_partitions(
    producer: TransactionalProducer, errors: Mapping[TopicPartition, ErrorCode], expected: str
) -> None:
    """The gravest decides; what was not attempted only shows that another has failed."""
    producer.begin()
    producer.send(0, 1, NOW)
    producer.send(1, 1, NOW)

    answer(producer, CoordinatorAnswer(partitions=errors))

    outcome = {
        "abortable": (ClientState.ABORTABLE_ERROR, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        "fatal": (ClientState.FATAL_ERROR, ErrorCode.PRODUCER_FENCED),
        "again": (ClientState.IN_TRANSACTION, ErrorCode.NONE),
    }
    assert outcome[expected] == standing(producer)


@VERSIONS
def test_after_an_abortable_error(producer: TransactionalProducer) -> None:
    """Only an abort is allowed; then a new epoch is requested, or comes with the answer; before 2.5 there is none."""
    began(producer)
    producer.receive(on_the_way(producer), AttemptReply(ErrorCode.INVALID_RECORD))
    assert (ClientState.ABORTABLE_ERROR, ErrorCode.INVALID_RECORD) == standing(producer)
    with pytest.raises(ProducerFailed):
        producer.commit()
    with pytest.raises(ProducerFailed):
        producer.send(0, 1, NOW)

    versions = producer.manager.versions
    result = producer.abort()
    answer(producer, CoordinatorAnswer(identity=identity(1)) if versions.end_txn > 4 else ErrorCode.NONE)
    if versions is GENERIC_ERRORS:
        assert not result.is_done
        request = answer(producer, CoordinatorAnswer(identity=identity(1)))
        assert InitProducerId(5, ID, 60_000, identity(0)) == request

    assert (ClientState.READY, ErrorCode.NONE) == (producer.state, result.error)
    began(producer)
    first = on_the_way(producer).records
    numbered = (0, 2) if versions is BEFORE_BUMPS else (1, 1)
    assert numbered == (first.producer_epoch, first.base_sequence)


@BUMPING
def test_a_new_epoch_forgets_the_sequences(producer: TransactionalProducer) -> None:
    """Nothing that was known of the old epoch is left to be mistaken for the new one's."""
    began(producer)
    producer.receive(on_the_way(producer), AttemptReply(ErrorCode.INVALID_RECORD))
    producer.abort()
    while producer.state is not ClientState.READY:
        answer(producer, CoordinatorAnswer(identity=identity(1)))

    queue = producer.queues[0]

    assert (None, 0, -1, -1) == (queue.identity, queue.next_sequence, queue.last_acked, queue.last_acked_offset)


@VERSIONS
@pytest.mark.parametrize("error", [ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING])
def test_after_a_fatal_error(producer: TransactionalProducer, error: ErrorCode) -> None:
    """Nothing is allowed, nothing is sent, and every waiting caller gets the error."""
    began(producer)
    result = producer.commit()
    answer(producer, error)

    assert (ClientState.FATAL_ERROR, error, error) == (*standing(producer), result.error)
    with pytest.raises(ProducerFailed):
        producer.abort()
    with pytest.raises(ProducerFailed):
        producer.begin()
    assert (False, False) == (producer.may_drain(0), producer.may_poll())


@VERSIONS
def test_a_batch_that_took_too_long(producer: TransactionalProducer) -> None:
    """Its fate is unknown: the transaction is aborted, and a new epoch leaves it behind; without one it is the end."""
    began(producer)
    on_the_way(producer)

    producer.tick(Timestamp(100))

    without_bumps = producer.manager.versions is BEFORE_BUMPS
    expected = ClientState.FATAL_ERROR if without_bumps else ClientState.ABORTABLE_ERROR
    assert (expected, ErrorCode.REQUEST_TIMED_OUT) == standing(producer)


@VERSIONS
def test_a_batch_that_was_never_sent_in_time(producer: TransactionalProducer) -> None:
    """Its absence is certain: the transaction can be aborted, whatever the version."""
    began(producer)
    producer.send(0, 1, NOW)

    producer.tick(Timestamp(100))

    assert (ClientState.ABORTABLE_ERROR, ErrorCode.REQUEST_TIMED_OUT) == standing(producer)
    assert not producer.is_incomplete


@pytest.mark.parametrize("versions", [GENERIC_ERRORS], ids=["tv0"])
def test_an_abort_asks_for_nothing_new(producer: TransactionalProducer) -> None:
    """Partitions that the coordinator does not know of yet need not be registered any more."""
    producer.begin()
    producer.send(0, 1, NOW)

    result = producer.abort()

    assert (None, ErrorCode.NONE, ClientState.READY) == (producer.poll(), result.error, producer.state)


@BUMPING
def test_a_good_answer_after_the_end(producer: TransactionalProducer) -> None:
    """A fatal error stands, whatever is answered to what was under way."""
    producer.begin()
    producer.send(0, 1, NOW)
    result = producer.send_offsets_to_transaction("g", OFFSETS)
    if not producer.manager.versions.bumps_by_ending:
        answer(producer, ErrorCode.NONE)
        answer(producer, ErrorCode.NONE)
    outgoing = sent(producer)
    producer.receive(producer.drain(0), AttemptReply(ErrorCode.PRODUCER_FENCED))

    producer.answer(outgoing.number, CoordinatorAnswer(partitions={T0: ErrorCode.NONE}))

    assert (ClientState.FATAL_ERROR, ErrorCode.PRODUCER_FENCED) == standing(producer)
    assert ErrorCode.PRODUCER_FENCED == result.error


@BUMPING
def test_a_batch_that_fails_while_the_transaction_is_committed(producer: TransactionalProducer) -> None:
    """The commit fails without having been sent, and an abort is still let."""
    began(producer)
    attempt = on_the_way(producer)
    result = producer.commit()
    assert producer.poll() is None

    producer.receive(attempt, AttemptReply(ErrorCode.INVALID_PRODUCER_EPOCH))

    assert producer.poll() is None
    assert ErrorCode.INVALID_PRODUCER_EPOCH == result.error
    producer.abort()
    end = answer(producer, CoordinatorAnswer(identity=identity(1)))
    assert isinstance(end, EndTxn)
    assert not end.commit


@BUMPING
def test_a_gap_is_closed(producer: TransactionalProducer) -> None:
    """A batch that was refused for good leaves its sequences to those behind it."""
    began(producer)
    attempts = [on_the_way(producer) for _ in range(3)]

    producer.receive(attempts[0], AttemptReply(ErrorCode.TRANSACTION_ABORTABLE))
    producer.lose(attempts[1])

    assert 1 == producer.drain(0).records.base_sequence


@BUMPING
@pytest.mark.parametrize(
    ("earlier", "expected"),
    [(True, ClientState.IN_TRANSACTION), (False, ClientState.ABORTABLE_ERROR)],
    ids=["behind-another", "the-next"],
)
def test_out_of_order(producer: TransactionalProducer, earlier: bool, expected: ClientState) -> None:
    """Behind an undecided batch a gap is filled by retries; before the next sequence it is real."""
    began(producer)
    attempts = [on_the_way(producer) for _ in range(2)]
    attempt = attempts[1] if earlier else attempts[0]

    producer.receive(attempt, AttemptReply(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER))

    assert expected == producer.state


@pytest.mark.parametrize("versions", [GENERIC_ERRORS], ids=["tv0"])
@pytest.mark.parametrize(
    ("log_start", "expected"),
    [
        (-1, (ClientState.IN_TRANSACTION, 1)),
        (1, (ClientState.IN_TRANSACTION, 0)),
        (0, (ClientState.ABORTABLE_ERROR, 0)),
    ],
    ids=["unknown-start", "records-deleted", "state-lost"],
)
def test_unknown_producer(producer: TransactionalProducer, log_start: int, expected: tuple[ClientState, int]) -> None:
    """Where all acknowledged records are gone the sequences start over; where they are not, state was lost."""
    began(producer)
    reply = AttemptReply(ErrorCode.UNKNOWN_PRODUCER_ID, log_start=Offset(log_start))

    producer.receive(on_the_way(producer), reply)

    state, sequence = expected
    assert state == producer.state
    if state is ClientState.IN_TRANSACTION:
        assert sequence == producer.drain(0).records.base_sequence


# --- versions change ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("versions", [GENERIC_ERRORS], ids=["tv0"])
def test_an_upgrade_between_transactions(producer: TransactionalProducer) -> None:
    """The transaction ends with the version that it began with; the next one needs a new epoch (KAFKA-18227)."""
    began(producer)
    producer.manager.offered = TRANSACTION_VERSION_2

    producer.commit()

    assert EndTxn(4, ID, identity(0), True) == answer(producer, ErrorCode.NONE)
    assert InitProducerId(5, ID, 60_000, identity(0)) == answer(producer, CoordinatorAnswer(identity=identity(1)))
    producer.begin()
    producer.send(0, 1, NOW)
    assert (True, 1) == (producer.may_drain(0), producer.drain(0).records.producer_epoch)


@VERSIONS
def test_a_call_that_waits(producer: TransactionalProducer) -> None:
    """While a call waits, only the same call is let."""
    began(producer)
    result = producer.abort()

    assert result is producer.abort()
    for call in (producer.commit, producer.init_transactions, producer.begin):
        with pytest.raises(IllegalState):
            call()


@BUMPING
def test_an_abort_that_is_refused_as_abortable(producer: TransactionalProducer) -> None:
    """What could only be answered by an abort is fatal when the abort itself is answered so (KAFKA-19250)."""
    began(producer)
    producer.abort()

    answer(producer, ErrorCode.TRANSACTION_ABORTABLE)

    assert (ClientState.FATAL_ERROR, ErrorCode.TRANSACTION_ABORTABLE) == standing(producer)
