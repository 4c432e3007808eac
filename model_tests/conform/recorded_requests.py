"""The request of a recorded step: a table of its fields, by which it is read strictly and written."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from model_tests.conform.field_tables import (
    FLAG,
    INT8,
    INT16,
    INT32,
    INT64,
    MEMBER,
    PRODUCER,
    PRODUCERS,
    TEXT,
    TEXT_OR_NULL,
    TEXTS,
    Field,
    FieldKind,
    Member,
    Name,
    Number,
    ObjectForm,
    always,
    choice,
    has,
    integer,
    some_objects,
)
from model_tests.conform.fields import SessionFields
from model_tests.conform.requests import (
    NO_LIMIT,
    SEVERAL,
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    AwaitProducerExpiry,
    AwaitState,
    BumpEpochs,
    InjectTransactionState,
    JoinSync,
    KnownProducer,
    ListTransactions,
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
from spec.vocabulary import MAX_EPOCH, Api

REPORTS_VERSION_SINCE: Final = 2
"""First version of WriteTxnMarkers whose markers say of which transaction version they are."""

MOST_RECORDS: Final = 100_000  # of one batch: more is a damaged recording

OFFSETS: Final = FieldKind(
    lambda found, name, version: tuple(
        (partition, INT64.read(found.within(name), partition, version)) for partition in found.within(name).values
    ),
    lambda offsets, *_: dict(offsets),
)
"""Offsets by partition."""

_ID: Final = Field("transactional_id", TEXT)
_PRODUCER: Final = (Field("producer_id", PRODUCER), Field("producer_epoch", INT16))
_IDENTIFIED: Final = (_ID, *_PRODUCER)
_GROUP: Final = Field("group", TEXT)
_PARTITIONS: Final = Field("partitions", TEXTS)
_COMMITTED: Final = Field("committed", FLAG)

BATCH: Final = ObjectForm(
    RecordedBatch,
    (
        Field("record_count", integer(0, MOST_RECORDS)),
        Field("partition", TEXT),
        *_PRODUCER,
        Field("base_sequence", INT32),
        Field("last_offset_delta", INT32, implied=lambda batch: batch["record_count"] - 1),
        Field("transactional", FLAG),
        Field("control", choice({"COMMIT": "COMMIT", "ABORT": "ABORT"}), implied=always("")),
        Field("coordinator_epoch", INT32, implied=always(-1)),
        Field("batch_count", integer(1, 10), implied=always(1)),
    ),
)

MARKER: Final = ObjectForm(
    RecordedMarker,
    (
        *_PRODUCER,
        _COMMITTED,
        Field("coordinator_epoch", INT32),
        _PARTITIONS,
        Field("transaction_version", INT8, since=REPORTS_VERSION_SINCE),
    ),
)

_PRODUCED: Final = (Field("acks", INT16), Field("transactional_id", TEXT_OR_NULL))

REQUESTS: Final[Mapping[str, ObjectForm]] = MappingProxyType(
    {
        Api.PRODUCE: ObjectForm(RecordedProduce, _PRODUCED),
        SEVERAL: ObjectForm(RecordedProduce, (Field("batches", some_objects(BATCH, "batch")), *_PRODUCED)),
        Api.FETCH: ObjectForm(
            RecordedFetch,
            (
                Field(
                    "isolation", choice({"read_committed": True, "read_uncommitted": False}), attribute="committed_only"
                ),
                Field("partition_max_bytes", integer(0, NO_LIMIT), attribute="max_bytes", implied=always(NO_LIMIT)),
                Field("partition", TEXT),
                Field("offset", INT64),
            ),
        ),
        Api.INIT_PRODUCER_ID: ObjectForm(
            RecordedInitProducerId,
            (
                Field("transactional_id", TEXT_OR_NULL),
                Field("producer_id", PRODUCER, optional=True, when=has("transactional_id")),
                Field("producer_epoch", INT16, when=has("transactional_id", "producer_id")),
                Field("timeout", INT32, when=has("transactional_id")),
            ),
        ),
        Api.ADD_PARTITIONS_TO_TXN: ObjectForm(
            AddPartitionsToTxn, (Field("verify_only", FLAG, implied=always(value=False)), *_IDENTIFIED, _PARTITIONS)
        ),
        Api.ADD_OFFSETS_TO_TXN: ObjectForm(AddOffsetsToTxn, (*_IDENTIFIED, _GROUP)),
        Api.END_TXN: ObjectForm(RecordedEndTxn, (*_IDENTIFIED, _COMMITTED)),
        Api.WRITE_TXN_MARKERS: ObjectForm(WriteTxnMarkers, (Field("markers", some_objects(MARKER, "marker")),)),
        Api.TXN_OFFSET_COMMIT: ObjectForm(
            RecordedTxnOffsetCommit,
            (
                *_IDENTIFIED,
                _GROUP,
                Field("offsets", OFFSETS),
                Field("member", MEMBER, optional=True),
                Field("generation", INT32, when=has("member")),
                Field("group_instance_id", TEXT_OR_NULL, when=has("member")),
            ),
        ),
        Api.OFFSET_COMMIT: ObjectForm(
            RecordedOffsetCommit,
            (Field("generation", INT32), Field("member", MEMBER), _GROUP, Field("offsets", OFFSETS)),
        ),
        Api.OFFSET_FETCH: ObjectForm(RecordedOffsetFetch, (_PARTITIONS, Field("require_stable", FLAG), _GROUP)),
        Api.LIST_TRANSACTIONS: ObjectForm(
            ListTransactions,
            (
                Field("producer_id_filters", PRODUCERS, attribute="producer_ids"),
                Field("state_filters", TEXTS, attribute="states"),
            ),
        ),
        "_JoinSync": ObjectForm(JoinSync, (_GROUP, Field("group_instance_id", TEXT_OR_NULL))),
        "_Restart": ObjectForm(Restart, (Field("signal", choice({"KILL": False, "TERM": True}), attribute="clean"),)),
        "_AwaitState": ObjectForm(AwaitState, (_ID, Field("states", TEXTS))),
        "_AwaitProducerExpiry": ObjectForm(
            AwaitProducerExpiry, (Field("partition", TEXT), Field("producer_id", PRODUCER))
        ),
        "_InjectTxnState": ObjectForm(
            InjectTransactionState, (Field("timeout", INT32), Field("state", TEXT), *_IDENTIFIED, _PARTITIONS)
        ),
        "_BumpEpochs": ObjectForm(BumpEpochs, (_ID, Field("timeout", INT32), Field("times", integer(1, MAX_EPOCH)))),
        "_Settle": ObjectForm(Settle, ()),
    }
)
"""The fields of every request, and of what a recorder did (`_Restart`)."""

FORM_OF: Final[Mapping[type, tuple[str, ObjectForm]]] = MappingProxyType(
    {form.record: (api, form) for api, form in REQUESTS.items() if isinstance(form.record, type)}
)
"""The api of each record, and its fields; those of a Produce with several batches."""


def request_of(api: str, step: SessionFields, origin: int) -> Request:
    """The request of a step, whose bytes are those of step number `origin`.

    Raises:
        MalformedSession: it is not of the documented form.
    """
    version = step.integer("version", 0, 100)
    fields = step.within("request")
    if api not in REQUESTS:
        return UnsupportedRequest(api)
    outside = _outside(api, step, origin)
    if not api.startswith("_"):
        outside["version"] = version
    request: Request = REQUESTS[api].read(fields, version, outside)
    return _with_values(request, origin) if isinstance(request, RecordedProduce) else request


def request_as_recorded(request: Request, name: Name) -> tuple[str, dict[str, Any]]:
    """A request in the words of a recording: its api, and the object of its fields."""
    if isinstance(request, UnsupportedRequest):
        return request.what, {}
    api, form = FORM_OF[type(request)]
    version = getattr(request, "version", 0)
    if isinstance(request, RecordedProduce) and not request.several:
        return Api.PRODUCE, BATCH.write(request.batches[0], name) | REQUESTS[Api.PRODUCE].write(request, name, version)
    return api, form.write(request, name, version)


def resolved(request: Request, number: Number, member: Member) -> Request:
    """The request with numbers for the symbols of producer ids, and member ids for those of members."""
    if isinstance(request, UnsupportedRequest):
        return request
    changed = FORM_OF[type(request)][1].resolved(request, number, member)
    if isinstance(request, AwaitState | AwaitProducerExpiry):
        changed["kept"] = frozenset((partition, number(named)) for partition, named in request.kept)
    return replace(request, **changed) if changed else request


def _outside(api: str, step: SessionFields, origin: int) -> dict[str, Any]:
    """What a request has from elsewhere in its step."""
    if api == SEVERAL:
        return {"sent_at": origin * 1000, "several": True}
    match api:
        case Api.PRODUCE:
            return {"batches": (BATCH.read(step.within("request")),), "sent_at": origin * 1000, "several": False}
        case "_Restart":
            epoch = step.within("response").integer("coordinator_epoch", -(2**31), 2**31 - 1, default=0)
            return {"coordinator_epoch": epoch}
        case "_AwaitState" | "_AwaitProducerExpiry":
            return {"kept": _kept(step)}
    return {}


def _with_values(request: RecordedProduce, origin: int) -> RecordedProduce:
    """With a value for each record, which says of which step, batch and record it is."""
    batches = (
        replace(batch, values=tuple(f"{_value(request, origin, number)}{n}" for n in range(batch.record_count)))
        for number, batch in enumerate(request.batches)
    )
    return replace(request, batches=tuple(batches))


def _value(request: RecordedProduce, origin: int, number: int) -> str:
    return f"s{origin}b{number}r" if request.several else f"s{origin}r"


def _kept(step: SessionFields) -> frozenset[KnownProducer]:
    """Every producer that a partition knew after the step."""
    listed = step.within("after").within("producers")
    parts = {partition: listed.values_of(partition) for partition in listed.values}
    return frozenset(
        (partition, PRODUCER.read(SessionFields.of(f"{listed.place} {partition}", producer), "producer_id", 0))
        for partition, producers in parts.items()
        for producer in producers
    )
