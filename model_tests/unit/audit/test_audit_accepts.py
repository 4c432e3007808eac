from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from model_tests.audit.decision import CONFIRMED
from model_tests.audit.holes import Surroundings
from model_tests.audit.partition import audit_batches
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_batches import COLUMNS, CONTROL, TRANSACTIONAL, Batches, dtype_of
from spec.protocol.append import append
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.protocol.seq import next_sequence
from spec.versions import KAFKA_3_9, NEWEST, Profile
from spec.vocabulary import ABSENT, MAX_SEQUENCE, ControlType, Origin

REQUEST = st.fixed_dictionaries(
    {
        "producer_id": st.integers(0, 2),
        "epoch_step": st.sampled_from([0, 0, 0, 0, 1, 2, -1]),
        "sequence_step": st.sampled_from([0, 0, 0, 0, 1, -1, None]),
        "first": st.sampled_from([0, 7, MAX_SEQUENCE - 1]),
        "records": st.integers(1, 4),
        "transactional": st.booleans(),
        "marker": st.sampled_from([False, False, True]),
        "coordinator_step": st.sampled_from([0, 0, 1, -1]),
    }
)


def requested(entry: ProducerEntry, offset: int, wish: dict[str, Any]) -> AppendRequest:
    """A request near what the partition expects of the producer."""
    newest = entry.cached[0].last_sequence
    expected = next_sequence(newest, 1) if newest >= 0 else wish["first"]
    step = wish["sequence_step"]
    sequence = 0 if step is None else max(expected + step, 0) & MAX_SEQUENCE
    request = AppendRequest(
        base_offset=offset,
        producer_id=wish["producer_id"],
        producer_epoch=max(entry.epoch, 0) + wish["epoch_step"],
        base_sequence=sequence,
        last_offset_delta=wish["records"] - 1,
        record_count=wish["records"],
        transactional=wish["transactional"],
    )
    if not wish["marker"]:
        return request
    return replace(
        request,
        origin=Origin.COORDINATOR.value,
        base_sequence=ABSENT,
        last_offset_delta=0,
        record_count=1,
        transactional=True,
        control=True,
        coordinator_epoch=max(entry.coordinator_epoch, 0) + wish["coordinator_step"],
    )


def accepted(wishes: list[dict[str, Any]], profile: Profile) -> list[AppendRequest]:
    """The log that a leader makes of the requests."""
    entries: dict[int, ProducerEntry] = {}
    log: list[AppendRequest] = []
    offset = 0
    for wish in wishes:
        entry = entries.get(wish["producer_id"], ProducerEntry())
        request = requested(entry, offset, wish)
        decided = append(entry, request, profile, CONFIRMED)
        if decided.reply.appended and request.producer_epoch >= 0 and request.coordinator_epoch >= ABSENT:
            entries[wish["producer_id"]] = decided.entry
            log.append(request)
            offset += request.last_offset_delta + 1
    return log


def columns(log: list[AppendRequest]) -> Batches:
    """The log as the audit reads it."""
    values: dict[str, list[int]] = {name: [0] * len(log) for name in COLUMNS}
    for name in ("base_offset", "last_offset_delta", "record_count", "producer_id", "producer_epoch"):
        values[name] = [getattr(request, name) for request in log]
    values["base_sequence"] = [request.base_sequence for request in log]
    values["coordinator_epoch"] = [request.coordinator_epoch for request in log]
    values["attributes"] = [TRANSACTIONAL * request.transactional + CONTROL * request.control for request in log]
    values["control_type"] = [ControlType.COMMIT if request.control else ABSENT for request in log]
    return Batches(**{name: np.array(column, dtype_of(name)) for name, column in values.items()})


@given(st.lists(REQUEST, max_size=60), st.sampled_from([NEWEST, KAFKA_3_9]))
def test_what_a_leader_accepts_is_never_a_violation(wishes: list[dict[str, Any]], profile: Profile) -> None:
    """Whatever history the append decision makes, the audit of its log agrees with it."""
    verdict = audit_batches(columns(accepted(wishes, profile)), profile=profile)

    assert [finding for finding in verdict.findings if finding.severity is Severity.VIOLATION] == []


@given(st.lists(REQUEST, max_size=60), st.integers(0, 60))
def test_a_retained_tail_is_never_a_violation(wishes: list[dict[str, Any]], cut: int) -> None:
    """Wherever retention cuts the log, what is left breaks nothing and nothing in it is suspicious."""
    log = accepted(wishes, NEWEST)[cut:]
    if log and log[0].base_offset > 0:
        base = int(log[0].base_offset)

        verdict = audit_batches(columns(log), Surroundings(first_base=base, active_base=base))

        assert verdict.findings == ()
