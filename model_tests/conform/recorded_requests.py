"""The request of a recorded step, read strictly into its type."""

from dataclasses import replace
from typing import Final

from model_tests.conform.fields import SessionFields
from model_tests.conform.requests import (
    NO_LIMIT,
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    AwaitProducerExpiry,
    AwaitState,
    InjectTransactionState,
    JoinSync,
    KnownProducer,
    ListTransactions,
    Named,
    RecordedBatch,
    RecordedEndTxn,
    RecordedFetch,
    RecordedInitProducerId,
    RecordedMarker,
    RecordedOffsetCommit,
    RecordedOffsetFetch,
    RecordedProduce,
    RecordedTxnOffsetCommit,
    Request,
    Restart,
    Settle,
    UnsupportedRequest,
    WriteTxnMarkers,
)
from spec.vocabulary import Api

REPORTS_VERSION_SINCE: Final = 2
"""First version of WriteTxnMarkers whose markers say of which transaction version they are."""

MOST_RECORDS: Final = 100_000  # of one batch: more is a damaged recording


def request_of(api: str, step: SessionFields, origin: int) -> Request:
    """The request of a step, whose bytes are those of step number `origin`.

    Raises:
        Malformed: it is not of the documented form.
    """
    version = step.integer("version", 0, 100)
    request = step.within("request")
    match api:
        case Api.PRODUCE:
            return _produce(version, request, (_batch(request, f"s{origin}r"),), origin)
        case "ProduceMulti":
            parts = request.objects("batches", "batch")
            batches = tuple(_batch(part, f"s{origin}b{n}r") for n, part in enumerate(parts))
            return _produce(version, request, batches, origin, several=True)
        case Api.FETCH:
            return _fetch(version, request)
        case "_Restart":
            epoch = step.within("response").integer("coordinator_epoch", -(2**31), 2**31 - 1, default=0)
            return Restart(request.one_of("signal", "KILL", "TERM") == "TERM", epoch)
        case "_AwaitState":
            return AwaitState(request.text("transactional_id"), request.texts("states"), _kept(step))
        case "_AwaitProducerExpiry":
            return AwaitProducerExpiry(request.text("partition"), _producer_id(request), _kept(step))
        case "_Settle":
            return Settle()
    return _of_coordinator(api, version, request)


def _of_coordinator(api: str, version: int, request: SessionFields) -> Request:
    match api:
        case Api.INIT_PRODUCER_ID:
            return _init_producer_id(version, request)
        case Api.ADD_PARTITIONS_TO_TXN:
            verify_only = request.flag("verify_only", default=False)
            return AddPartitionsToTxn(version, *_identified(request), request.texts("partitions"), verify_only)
        case Api.END_TXN:
            return RecordedEndTxn(version, *_identified(request), request.flag("committed"))
        case Api.ADD_OFFSETS_TO_TXN:
            return AddOffsetsToTxn(version, *_identified(request), request.text("group"))
        case Api.WRITE_TXN_MARKERS:
            return WriteTxnMarkers(
                version, tuple(_marker(part, version) for part in request.objects("markers", "marker"))
            )
        case Api.LIST_TRANSACTIONS:
            return _list_transactions(version, request)
        case "_InjectTxnState":
            timeout, state = request.integer("timeout", -(2**31), 2**31 - 1), request.text("state")
            return InjectTransactionState(*_identified(request), timeout, state, request.texts("partitions"))
    return _of_group(api, version, request)


def _of_group(api: str, version: int, request: SessionFields) -> Request:
    match api:
        case Api.TXN_OFFSET_COMMIT:
            return _txn_offset_commit(version, request)
        case Api.OFFSET_COMMIT:
            member = (request.integer("generation", -(2**31), 2**31 - 1), request.text("member"))
            return RecordedOffsetCommit(version, request.text("group"), *member, _offsets(request))
        case Api.OFFSET_FETCH:
            asked = request.texts("partitions"), request.flag("require_stable")
            return RecordedOffsetFetch(version, request.text("group"), *asked)
        case "_JoinSync":
            return JoinSync(request.text("group"), request.text_or_null("group_instance_id"))
    return UnsupportedRequest(api)


def _kept(step: SessionFields) -> frozenset[KnownProducer]:
    """Every producer that a partition knew after the step."""
    listed = step.within("after").within("producers")
    parts = {partition: listed.values_of(partition) for partition in listed.values}
    return frozenset(
        (partition, _producer_id(SessionFields.of(f"{listed.place} {partition}", producer)))
        for partition, producers in parts.items()
        for producer in producers
    )


def _init_producer_id(version: int, request: SessionFields) -> RecordedInitProducerId:
    named = request.text_or_null("transactional_id")
    if named is None:
        return RecordedInitProducerId(version)
    expected: tuple[Named, int] = (-1, -1)
    if "producer_id" in request.values:
        expected = _producer_id(request), _epoch(request)
    return RecordedInitProducerId(version, named, request.integer("timeout", -(2**31), 2**31 - 1), *expected)


def _identified(request: SessionFields) -> tuple[str, Named, int]:
    return request.text("transactional_id"), _producer_id(request), _epoch(request)


def _txn_offset_commit(version: int, request: SessionFields) -> RecordedTxnOffsetCommit:
    asked = RecordedTxnOffsetCommit(version, *_identified(request), request.text("group"), _offsets(request))
    if "member" not in request.values:
        return asked
    return replace(
        asked,
        generation=request.integer("generation", -(2**31), 2**31 - 1),
        member=request.text("member"),
        group_instance_id=request.text_or_null("group_instance_id"),
    )


def _offsets(request: SessionFields) -> tuple[tuple[str, int], ...]:
    offsets = request.within("offsets")
    return tuple((partition, offsets.integer(partition, -(2**63), 2**63 - 1)) for partition in offsets.values)


def _marker(part: SessionFields, version: int) -> RecordedMarker:
    return RecordedMarker(
        _producer_id(part),
        _epoch(part),
        part.flag("committed"),
        part.integer("coordinator_epoch", -(2**31), 2**31 - 1),
        part.texts("partitions"),
        part.integer("transaction_version", -(2**7), 2**7 - 1) if version >= REPORTS_VERSION_SINCE else 0,
    )


def _list_transactions(version: int, request: SessionFields) -> ListTransactions:
    named = tuple(_named(request, "producer_id_filters", value) for value in request.values_of("producer_id_filters"))
    return ListTransactions(version, request.texts("state_filters"), named)


def _produce(
    version: int, request: SessionFields, batches: tuple[RecordedBatch, ...], origin: int, *, several: bool = False
) -> RecordedProduce:
    acks = request.integer("acks", -(2**15), 2**15 - 1)
    return RecordedProduce(version, request.text_or_null("transactional_id"), acks, batches, origin * 1000, several)


def _batch(part: SessionFields, value: str) -> RecordedBatch:
    count = part.integer("record_count", 0, MOST_RECORDS)
    return RecordedBatch(
        partition=part.text("partition"),
        producer_id=_producer_id(part),
        producer_epoch=_epoch(part),
        base_sequence=part.integer("base_sequence", -(2**31), 2**31 - 1),
        record_count=count,
        last_offset_delta=part.integer("last_offset_delta", -(2**31), 2**31 - 1, default=count - 1),
        transactional=part.flag("transactional"),
        control=part.one_of("control", "COMMIT", "ABORT") if "control" in part.values else "",
        coordinator_epoch=part.integer("coordinator_epoch", -(2**31), 2**31 - 1, default=-1),
        batch_count=part.integer("batch_count", 1, 10, default=1),
        values=tuple(f"{value}{record}" for record in range(count)),
    )


def _fetch(version: int, request: SessionFields) -> RecordedFetch:
    committed = request.one_of("isolation", "read_committed", "read_uncommitted") == "read_committed"
    limit = request.integer("partition_max_bytes", 0, 2**31 - 1, default=NO_LIMIT)
    return RecordedFetch(
        version, request.text("partition"), request.integer("offset", -(2**63), 2**63 - 1), committed, limit
    )


def _epoch(part: SessionFields) -> int:
    return part.integer("producer_epoch", -(2**15), 2**15 - 1)


def _producer_id(part: SessionFields) -> Named:
    return _named(part, "producer_id", part.values.get("producer_id"))


def _named(part: SessionFields, field: str, value: object) -> Named:
    if value == -1 and type(value) is int:
        return -1
    if isinstance(value, str) and value.startswith("pid") and value[3:].isdecimal():
        return value
    raise part.wrong(field, "a symbol as pid0, or -1")
