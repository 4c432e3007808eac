"""From an answer on the wire to the words of a recording."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from model_tests.conform.fields import Json
from model_tests.probe.script import TOPIC, SessionNames
from model_tests.probe.target import name_of
from reference.log.batch import RecordBatch
from reference.log.reader import intact_batches
from spec.vocabulary import Api, ControlType

Recorded: TypeAlias = dict[str, Any]
Read: TypeAlias = Callable[[Any, Json, SessionNames], Recorded]

RECORDS_MARKERS: Final = {ControlType.COMMIT: "COMMIT", ControlType.ABORT: "ABORT"}
ENDS_WITH_IDENTITY: Final = 5
"""First version of EndTxn whose answer has an identity."""


def recorded(api: str, version: int, answer: Any, request: Json, names: SessionNames) -> Recorded:
    """An answer as a session records it; producer ids that it hands out are met.

    Args:
        api: of the request.
        version: of it.
        answer: as the codec reads it.
        request: as the session records it.
        names: of the session.
    """
    if api == Api.END_TXN:
        return _ended(answer, names, with_identity=version >= ENDS_WITH_IDENTITY)
    return READS[api](answer, request, names)


def _error(code: int) -> Recorded:
    return {"error": name_of(int(code)), "error_code": int(code)}


def _first_error(codes: Iterable[int]) -> Recorded:
    return _error(next((code for code in codes if code), 0))


def _append(part: Any) -> Recorded:
    return {
        **_error(part.error_code),
        "base_offset": int(part.base_offset),
        "log_append_time": -1 if int(part.log_append_time_ms) == -1 else "set",
        "log_start_offset": int(_or(part.log_start_offset, -1)),
    }


def _produced(answer: Any, request: Json, names: SessionNames) -> Recorded:
    return _append(answer.responses[0].partition_responses[0])


def _produced_several(answer: Any, request: Json, names: SessionNames) -> Recorded:
    parts = {f"{TOPIC}-{part.index}": part for topic in answer.responses for part in topic.partition_responses}
    order = [batch["partition"] for batch in request["batches"]]
    listed = {partition: _append(parts[partition]) for partition in order if partition in parts}
    return {**_first_error(part["error_code"] for part in listed.values()), "partitions": listed}


def _initialized(answer: Any, request: Json, names: SessionNames) -> Recorded:
    return {
        **_error(answer.error_code),
        "producer_id": names.meet(int(answer.producer_id)),
        "producer_epoch": int(answer.producer_epoch),
    }


def _ended(answer: Any, names: SessionNames, *, with_identity: bool) -> Recorded:
    if not with_identity:
        return _error(answer.error_code)
    identity = {"producer_id": names.meet(int(answer.producer_id)), "producer_epoch": int(answer.producer_epoch)}
    return {**_error(answer.error_code), **identity}


def _by_partition(parts: Iterable[tuple[int, int]]) -> Recorded:
    errors = dict(parts)
    listed = {f"{TOPIC}-{number}": name_of(code) for number, code in errors.items()}
    return {**_first_error(errors.values()), "partitions": listed}


def _added(answer: Any, request: Json, names: SessionNames) -> Recorded:
    by_transaction = getattr(answer, "results_by_transaction", None)
    whole = int(getattr(answer, "error_code", 0) or 0)
    if whole:
        return {**_error(whole), "partitions": {}}
    topics = by_transaction[0].topic_results if by_transaction else answer.results_by_topic_v3_and_below
    return _by_partition(
        (int(part.partition_index), int(part.partition_error_code))
        for topic in topics
        for part in topic.results_by_partition
    )


def _error_alone(answer: Any, request: Json, names: SessionNames) -> Recorded:
    return _error(answer.error_code)


def _committed(answer: Any, request: Json, names: SessionNames) -> Recorded:
    return _by_partition(
        (int(part.partition_index), int(part.error_code)) for topic in answer.topics for part in topic.partitions
    )


def _offsets_fetched(answer: Any, request: Json, names: SessionNames) -> Recorded:
    group = answer.groups[0] if getattr(answer, "groups", None) else answer  # several groups since version 8
    parts = {
        f"{TOPIC}-{part.partition_index}": {
            **_error(part.error_code),
            "committed_offset": int(part.committed_offset),
        }
        for topic in group.topics
        for part in topic.partitions
    }
    return {**_error(group.error_code), "partitions": parts}


def _markers_written(answer: Any, request: Json, names: SessionNames) -> Recorded:
    found = [
        {
            "producer_id": names.meet(int(marker.producer_id)),
            "partitions": {
                f"{TOPIC}-{part.partition_index}": name_of(int(part.error_code))
                for topic in marker.topics
                for part in topic.partitions
            },
        }
        for marker in answer.markers
    ]
    errors = (int(part.error_code) for marker in answer.markers for topic in marker.topics for part in topic.partitions)
    return {**_first_error(errors), "markers": found}


def _listed(answer: Any, request: Json, names: SessionNames) -> Recorded:
    """The transactional ids of the session, in their order; others are left out."""
    short = {names.named(each): each for each in ("t0", "t1", "t2", "t3")}
    listed = [
        {
            "transactional_id": short[each.transactional_id],
            "producer_id": names.meet(int(each.producer_id)),
            "state": each.transaction_state,
        }
        for each in answer.transaction_states
        if each.transactional_id in short
    ]
    unknown = list(answer.unknown_state_filters)
    return {**_error(answer.error_code), "transactions": listed, "unknown_state_filters": unknown}


# --- Fetch ----------------------------------------------------------------------------------------------------


def _fetched(answer: Any, request: Json, names: SessionNames) -> Recorded:
    part = answer.responses[0].partitions[0] if answer.responses else None
    if part is None:  # a broker that refuses the whole request
        nothing: Recorded = {
            "hw": -1,
            "lso": -1,
            "log_start_offset": -1,
            "aborted": None,
            "batches": [],
            "delivered": [],
        }
        return {**_error(answer.error_code), **nothing}
    committed = request["isolation"] == "read_committed"
    batches = tuple(intact_batches(bytes(part.records or b"")))
    aborted = [(int(each.producer_id), int(each.first_offset)) for each in part.aborted_transactions or ()]
    refused = int(part.error_code) != 0
    return {
        **_error(part.error_code),
        "hw": int(part.high_watermark),
        "lso": int(part.last_stable_offset),
        "log_start_offset": int(part.log_start_offset),
        "aborted": [[names.meet(who), first] for who, first in aborted] if committed and not refused else None,
        "batches": [_batch(batch, names) for batch in batches],
        "delivered": [list(each) for each in _delivered(batches, aborted, request, committed=committed)],
    }


def _batch(batch: RecordBatch, names: SessionNames) -> Recorded:
    known = {
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "producer_id": names.meet(batch.producer_id),
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "transactional": batch.is_transactional,
        "control": batch.is_control,
    }
    marker = batch.marker() if batch.is_control else None
    if marker is None:
        return {**known, "values": _values(batch)}
    epoch = names.coordinator_epoch(batch.producer_id, marker.coordinator_epoch)
    return {**known, "marker": RECORDS_MARKERS.get(marker.control_type, "UNKNOWN"), "coordinator_epoch": epoch}


def _values(batch: RecordBatch) -> list[str]:
    return [(record.value or b"").decode(errors="replace") for record in batch.records()]


def _delivered(
    batches: Iterable[RecordBatch], aborted: Iterable[tuple[int, int]], request: Json, *, committed: bool
) -> Iterator[tuple[int, str]]:
    """What a consumer hands on: under read_committed without the batches of the aborted transactions that are listed.

    As Kafka's own client does (`CompletedFetch`): a producer is hidden from the first offset of an aborted transaction
    to its abort marker.
    """
    waiting = sorted(aborted, key=lambda each: each[1])
    hidden: set[int] = set()
    for batch in batches:
        while waiting and waiting[0][1] <= batch.last_offset:
            hidden.add(waiting.pop(0)[0])
        if batch.is_control:
            marker = batch.marker()
            if marker is not None and marker.control_type is ControlType.ABORT:
                hidden.discard(batch.producer_id)
            continue
        if committed and batch.is_transactional and batch.producer_id in hidden:
            continue
        for delta, value in enumerate(_values(batch)):
            if batch.base_offset + delta >= request["offset"]:
                yield batch.base_offset + delta, value


READS: Final[Mapping[str, Read]] = MappingProxyType(
    {
        Api.PRODUCE: _produced,
        "ProduceMulti": _produced_several,
        Api.FETCH: _fetched,
        Api.INIT_PRODUCER_ID: _initialized,
        Api.ADD_PARTITIONS_TO_TXN: _added,
        Api.ADD_OFFSETS_TO_TXN: _error_alone,
        Api.TXN_OFFSET_COMMIT: _committed,
        Api.OFFSET_COMMIT: _committed,
        Api.OFFSET_FETCH: _offsets_fetched,
        Api.WRITE_TXN_MARKERS: _markers_written,
        Api.LIST_TRANSACTIONS: _listed,
    }
)
"""By the name of the request."""


def _or(value: Any, otherwise: int) -> Any:
    return otherwise if value is None else value
