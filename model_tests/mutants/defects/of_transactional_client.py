"""Defects of transactional producers and consumers: their requests, their handling of answers, their deliveries."""

from collections.abc import Iterator
from typing import Final

from model_tests.mutants.defects.planted import Planted, defect
from reference.broker.group_requests import MemberClaim, Offsets
from reference.broker.transaction_metadata import TopicPartition
from reference.client import consumer, transaction_manager, transaction_states
from reference.client.consumer import records_from
from reference.client.coordinator_channel import CoordinatorChannel, EndTxn, Outgoing, PendingResult
from reference.client.partition_queue import PartitionQueue, ProducerBatch
from reference.client.transaction_manager import TransactionManager
from reference.client.transaction_states import ErrorHandling, ProducerRequest
from reference.log.batch import RecordBatch
from reference.log.partition import FetchResult
from reference.log.record import Record
from spec import rules
from spec.vocabulary import ErrorCode, Offset

_meaning = transaction_states.meaning
_lose = TransactionManager.lose
_poll = TransactionManager.poll
_may_send = CoordinatorChannel.may_send
_complete_transaction = TransactionManager._complete_transaction
_send_offsets = TransactionManager.send_offsets

_ENDS: Final = (ProducerRequest.END_TXN_COMMIT, ProducerRequest.END_TXN_ABORT)


def fenced_is_done(request: ProducerRequest, error: ErrorCode) -> ErrorHandling:
    """An end that was refused because of a newer instance counts as done."""
    return ErrorHandling.DONE if request in _ENDS and error is ErrorCode.PRODUCER_FENCED else _meaning(request, error)


def refused_end_is_done(request: ProducerRequest, error: ErrorCode) -> ErrorHandling:
    """An end that another try may help counts as done."""
    helps = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    return ErrorHandling.DONE if request in _ENDS and error in helps else _meaning(request, error)


def refused_offsets_are_done(request: ProducerRequest, error: ErrorCode) -> ErrorHandling:
    """Offsets that were refused count as taken."""
    return ErrorHandling.DONE if request is ProducerRequest.TXN_OFFSET_COMMIT else _meaning(request, error)


def lost_end_is_done(manager: TransactionManager, number: int) -> None:
    """An end whose answer is lost counts as done."""
    waiting = manager.channel._awaited
    if waiting is not None and isinstance(waiting.request, EndTxn) and waiting.request.commit:
        manager.channel.land(number)
        manager._complete(waiting.result)
    else:
        _lose(manager, number)


def abort_in_silence(manager: TransactionManager, incomplete: bool) -> Outgoing | None:
    """An abort is not sent."""
    queue = manager.channel._queue
    if queue and isinstance(queue[0].request, EndTxn) and not queue[0].request.commit and not incomplete:
        if manager.channel.in_flight is None:
            manager._complete(manager.channel.take().result)
        return None
    return _poll(manager, incomplete)


def end_with_commit(manager: TransactionManager, result: PendingResult, commit: bool) -> PendingResult:
    """An abort is sent as a commit."""
    return _complete_transaction(manager, result, True)


def end_with_abort(manager: TransactionManager, result: PendingResult, commit: bool) -> PendingResult:
    """A commit is sent as an abort."""
    return _complete_transaction(manager, result, False)


def offsets_start_nothing(
    manager: TransactionManager, group: str, offsets: Offsets, claim: MemberClaim
) -> PendingResult:
    """A transaction of offsets alone is not ended."""
    before = manager.started
    result = _send_offsets(manager, group, offsets, claim)
    manager.started = before
    return result


def failed_batch_is_forgotten(manager: TransactionManager, error: ErrorCode) -> None:
    """A batch that has failed keeps no transaction from being committed."""


def deliver_everything(result: FetchResult, offset: int) -> Iterator[tuple[Offset, Record]]:
    """Aborted records are delivered."""
    for batch in result.batches:
        if not batch.is_control:
            yield from records_from(batch, offset)


def deliver_markers(result: FetchResult, offset: int) -> Iterator[tuple[Offset, Record]]:
    """Control records are delivered."""
    for batch in result.batches:
        yield from records_from(batch, offset)


def never_ends(batch: RecordBatch) -> bool:
    """A producer that has aborted once stays aborted."""
    return False


def any_marker_ends(batch: RecordBatch) -> bool:
    """Any batch of a producer ends its aborted transaction."""
    return True


def start_anywhere(start: object, answer: object) -> tuple[TopicPartition, ...]:
    """A consumer does not resume from its group's offset."""
    return ()


def end_at_once(channel: CoordinatorChannel, incomplete: bool) -> bool:
    """The end of a transaction does not wait for its batches."""
    return _may_send(channel, False)


def expire_and_go_on(queue: PartitionQueue, batch: ProducerBatch) -> None:
    """What follows an expired batch of an aborted transaction is numbered as if that had certainly been appended."""
    queue.remove(batch)


def leave_the_gap(queue: PartitionQueue, batch: ProducerBatch) -> None:
    """The batches behind one that has failed keep their sequences."""


OF_TRANSACTIONAL_CLIENT: Final[tuple[Planted, ...]] = (
    defect("a fenced end counts as done", rules.TXN_CLIENT_VERDICT, transaction_manager, "meaning", fenced_is_done),
    defect(
        "an end at the wrong coordinator counts as done",
        rules.TXN_CLIENT_VERDICT,
        transaction_manager,
        "meaning",
        refused_end_is_done,
    ),
    defect(
        "refused offsets count as taken",
        rules.OFFSETS_ATOMIC,
        transaction_manager,
        "meaning",
        refused_offsets_are_done,
    ),
    defect("a lost commit counts as done", rules.TXN_CLIENT_VERDICT, TransactionManager, "lose", lost_end_is_done),
    defect("an abort is not sent", rules.TXN_NO_CROSSTALK, TransactionManager, "poll", abort_in_silence),
    defect(
        "an abort is sent as a commit",
        rules.TXN_CLIENT_VERDICT,
        TransactionManager,
        "_complete_transaction",
        end_with_commit,
    ),
    defect(
        "a commit is sent as an abort",
        rules.TXN_CLIENT_VERDICT,
        TransactionManager,
        "_complete_transaction",
        end_with_abort,
    ),
    defect(
        "a transaction of offsets alone is not ended",
        rules.TXN_NO_CROSSTALK,
        TransactionManager,
        "send_offsets",
        offsets_start_nothing,
    ),
    defect(
        "a failed batch is forgotten",
        rules.TXN_CLIENT_VERDICT,
        TransactionManager,
        "fail_batch",
        failed_batch_is_forgotten,
    ),
    defect("aborted records are delivered", rules.LSO_READ_COMMITTED, consumer, "delivered", deliver_everything),
    defect("markers are delivered", rules.LSO_READ_COMMITTED, consumer, "delivered", deliver_markers),
    defect("once aborted, always aborted", rules.LSO_READ_COMMITTED, consumer, "ends_aborted", never_ends),
    defect(
        "any batch ends an aborted transaction",
        rules.LSO_READ_COMMITTED,
        consumer,
        "ends_aborted",
        any_marker_ends,
    ),
    defect(
        "a worker begins where it likes",
        rules.OFFSETS_ATOMIC,
        consumer.Consumer,
        "start_from",
        start_anywhere,
    ),
    defect("an end does not wait", rules.TXN_CLIENT_VERDICT, CoordinatorChannel, "may_send", end_at_once),
    defect(
        "nothing is unresolved after expiry in a transaction",
        rules.SEQ_SUCCESSOR,
        PartitionQueue,
        "expire",
        expire_and_go_on,
    ),
    defect("a failed batch leaves a gap", rules.SEQ_SUCCESSOR, PartitionQueue, "close_gap", leave_the_gap),
)
"""Mutants of transactional producers and of consumers."""
