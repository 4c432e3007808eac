"""A side's answers and state in the words of a recording."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from model_tests.conform.answers import (
    Added,
    Answer,
    AppendAnswer,
    EndTxnAnswer,
    FetchedOffsetAnswer,
    Initialized,
    ListedTransaction,
    MarkersWritten,
    MarkerWritten,
    ObservableState,
    OffsetsAdded,
    OffsetsCommitted,
    OffsetsFetched,
    ProduceAnswer,
    RecordedFetchAnswer,
    RecordedJoin,
    SeenBatch,
    SeenGroup,
    SeenPartition,
    SeenProducer,
    SeenTransaction,
    TransactionsListed,
)
from model_tests.conform.fields import Json
from model_tests.conform.requests import Named
from spec.vocabulary import ErrorCode

Name: TypeAlias = Callable[[Named], Named]
"""The symbol of a producer id, or of a member id."""

OPEN = "open"
"""First offset of an open transaction on an offsets partition, where only that there is one is recorded."""

OFFSETS_TOPIC = "__consumer_offsets"

NO_SUCH_ID = {"error": ErrorCode.TRANSACTIONAL_ID_NOT_FOUND.name}
"""What DescribeTransactions says of an id that the coordinator does not know."""


def as_recorded(answer: Answer, recorded: Json, name: Name) -> Json | None:
    """The answer in the words of a recording; None if there is none."""
    match answer:
        case ProduceAnswer():
            return _produced(answer, recorded)
        case RecordedFetchAnswer():
            return _fetched(answer, name)
        case Initialized():
            identity = {"producer_id": name(answer.producer_id), "producer_epoch": answer.producer_epoch}
            return {**_error(answer.error), **identity}
        case Added():
            return _added(answer, recorded)
        case OffsetsAdded() | OffsetsCommitted() | OffsetsFetched() | RecordedJoin():
            return _of_group(answer, recorded, name)
        case EndTxnAnswer():
            return _ended(answer, recorded, name)
        case MarkersWritten():
            return _markers_written(answer, recorded, name)
        case TransactionsListed():
            return _listed(answer, recorded, name)
    return None


def ids_in(answer: Answer, seen: ObservableState) -> Iterator[int]:
    """Producer ids that an answer hands out and the state then shows, in the order in which they are met."""
    if isinstance(answer, Initialized | EndTxnAnswer):
        yield answer.producer_id
    yield from (seen.transactions[transactional_id].producer_id for transactional_id in sorted(seen.transactions))


def state_as_recorded(seen: ObservableState, recorded: Json, name: Name) -> Json:
    """The state in the words of a recording, whose transactional ids are all asked about."""
    asked = dict.fromkeys((*recorded.get("transactions", ()), *seen.transactions))
    on_partitions = {partition: _producers(view, name) for partition, view in seen.partitions.items()}
    return {
        "producers": {**on_partitions, **_offsets_producers(seen, recorded.get("producers", {}), name)},
        "offsets": {partition: {"hw": view.hw, "lso": view.lso} for partition, view in seen.partitions.items()},
        "transactions": {each: _transaction(seen.transactions.get(each), name) for each in asked},
        "groups": {
            group: _group(seen.groups.get(group), reported) for group, reported in recorded.get("groups", {}).items()
        },
    }


def _error(error: ErrorCode) -> dict[str, Any]:
    return {"error": error.name, "error_code": error.value}


def _summary(errors: Iterable[ErrorCode], recorded: Json) -> dict[str, Any]:
    """The error over all parts: the first one, in an order that the wire does not fix."""
    wrong = [error for error in errors if error is not ErrorCode.NONE]
    first = wrong[0] if wrong else ErrorCode.NONE
    return _error(next((error for error in wrong if error.name == recorded.get("error")), first))


def _produced(answer: ProduceAnswer, recorded: Json) -> Json:
    parts = {partition: _appended(part) for partition, part in answer.partitions.items()}
    if not answer.several:
        return next(iter(parts.values()))
    errors = (part.error for part in answer.partitions.values())
    return {**_summary(errors, recorded), "partitions": parts}


def _appended(part: AppendAnswer) -> dict[str, Any]:
    return {
        **_error(part.error),
        "base_offset": part.base_offset,
        "log_append_time": "set" if part.append_time_reported else -1,
        "log_start_offset": part.log_start_offset,
    }


def _fetched(answer: RecordedFetchAnswer, name: Name) -> Json:
    aborted = answer.aborted
    return {
        **_error(answer.error),
        "hw": answer.hw,
        "lso": answer.lso,
        "log_start_offset": answer.log_start_offset,
        "aborted": None if aborted is None else [[name(producer), first] for producer, first in aborted],
        "batches": [_batch(batch, name) for batch in answer.batches],
        "delivered": [[offset, value] for offset, value in answer.delivered],
    }


def _batch(batch: SeenBatch, name: Name) -> dict[str, Any]:
    marker = {"marker": batch.marker, "coordinator_epoch": batch.coordinator_epoch}
    content = marker if batch.control else {"values": list(batch.values)}
    return {
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "producer_id": name(batch.producer_id),
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "transactional": batch.transactional,
        "control": batch.control,
        **content,
    }


def _added(answer: Added, recorded: Json) -> Json:
    if answer.whole is not ErrorCode.NONE:
        return {**_error(answer.whole), "partitions": {}}
    return {**_summary(answer.errors.values(), recorded), "partitions": _error_names(answer.errors)}


def _of_group(
    answer: OffsetsAdded | OffsetsCommitted | OffsetsFetched | RecordedJoin, recorded: Json, name: Name
) -> Json:
    match answer:
        case OffsetsAdded():
            return _error(answer.error)
        case OffsetsCommitted():
            return {**_summary(answer.errors.values(), recorded), "partitions": _error_names(answer.errors)}
        case OffsetsFetched():
            return _offsets_fetched(answer)
        case RecordedJoin():
            return {**_error(answer.error), "member": name(answer.member), "generation": answer.generation}


def _offsets_fetched(answer: OffsetsFetched) -> Json:
    parts = {
        partition: {**_error(part.error), "committed_offset": part.offset}
        for partition, part in answer.partitions.items()
    }
    return {**_error(answer.error), "partitions": parts}


def _ended(answer: EndTxnAnswer, recorded: Json, name: Name) -> Json:
    if "producer_id" not in recorded and answer.producer_id < 0:
        return _error(answer.error)
    return {**_error(answer.error), "producer_id": name(answer.producer_id), "producer_epoch": answer.producer_epoch}


def _markers_written(answer: MarkersWritten, recorded: Json, name: Name) -> Json:
    markers = [_marker_written(marker, name) for marker in answer.markers]
    errors = (error for marker in answer.markers for error in marker.errors.values())
    return {**_summary(errors, recorded), "markers": markers}


def _marker_written(marker: MarkerWritten, name: Name) -> dict[str, Any]:
    return {"producer_id": name(marker.producer_id), "partitions": _error_names(marker.errors)}


def _error_names(errors: Mapping[str, ErrorCode]) -> dict[str, str]:
    return {partition: error.name for partition, error in errors.items()}


def _listed(answer: TransactionsListed, recorded: Json, name: Name) -> Json:
    order = [listed.get("transactional_id") for listed in recorded.get("transactions", ())]
    known = sorted(
        answer.transactions,
        key=lambda t: order.index(t.transactional_id) if t.transactional_id in order else len(order),
    )
    return {
        **_error(answer.error),
        "transactions": [_listed_transaction(transaction, name) for transaction in known],
        "unknown_state_filters": list(answer.unknown_states),
    }


def _listed_transaction(transaction: ListedTransaction, name: Name) -> dict[str, Any]:
    return {
        "transactional_id": transaction.transactional_id,
        "producer_id": name(transaction.producer_id),
        "state": transaction.state,
    }


def _producers(view: SeenPartition | SeenGroup, name: Name) -> dict[Named, Any]:
    return {name(producer.producer_id): _producer(producer, name) for producer in view.producers}


def _offsets_producers(seen: ObservableState, recorded: Json, name: Name) -> dict[str, Any]:
    """The producers on each offsets partition that the recording shows, and on any other that has some."""
    shown = {f"{OFFSETS_TOPIC}[{group}]": _producers(view, name) for group, view in seen.groups.items()}
    for producers in shown.values():
        for producer in producers.values():
            producer["current_txn_start_offset"] = OPEN if producer["current_txn_start_offset"] >= 0 else -1
    asked: dict[str, Any] = {partition: {} for partition in recorded if partition.startswith(f"{OFFSETS_TOPIC}[")}
    return {**asked, **{partition: found for partition, found in shown.items() if found or partition in asked}}


def _group(group: SeenGroup | None, recorded: Json) -> dict[str, Any]:
    """The offsets of a group: those that the recording asked about, and any other that it has."""
    offsets = {} if group is None else group.offsets
    asked = dict.fromkeys((*recorded, *offsets))
    return {
        partition: {
            "committed": offsets[partition].committed if partition in offsets else -1,
            "stable": _stable(offsets[partition].stable) if partition in offsets else -1,
        }
        for partition in asked
    }


def _stable(fetched: FetchedOffsetAnswer) -> int | str:
    return fetched.offset if fetched.error is ErrorCode.NONE else fetched.error.name


def _producer(producer: SeenProducer, name: Name) -> dict[str, Any]:
    return {
        "producer_id": name(producer.producer_id),
        "producer_epoch": producer.producer_epoch,
        "last_sequence": producer.last_sequence,
        "coordinator_epoch": producer.coordinator_epoch,
        "current_txn_start_offset": producer.current_txn_start_offset,
    }


def _transaction(transaction: SeenTransaction | None, name: Name) -> dict[str, Any]:
    if transaction is None:
        return NO_SUCH_ID
    return {
        "state": transaction.state,
        "producer_id": name(transaction.producer_id),
        "producer_epoch": transaction.producer_epoch,
        "timeout": transaction.timeout,
        "started": transaction.started,
        "partitions": sorted(transaction.partitions),
    }
