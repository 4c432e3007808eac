from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_tests.audit.coordinator_log_history import CoordinatorHistory
from model_tests.audit.transactions_clusters import all_coordinators, coordinator_count, coordinator_partition
from model_tests.logs.coordinator_log_edges import step_between
from model_tests.logs.coordinator_log_values import StateValue, read_key, read_value
from model_tests.logs.kafka_log_fields import MalformedBytes, UnknownSchema
from reference.broker.transaction_metadata import TopicPartition
from reference.broker.transaction_record import TransactionValue, by_topic, encode_key
from spec.vocabulary import ABSENT, Epoch, ProducerId, Timestamp, TransactionState

S = TransactionState
INT64 = st.integers(0, 2**63 - 1)
VALUES = st.builds(
    TransactionValue,
    version=st.sampled_from([0, 1]),
    producer_id=INT64.map(ProducerId),
    epoch=st.integers(-1, 32767).map(Epoch),
    timeout_ms=st.integers(0, 2**31 - 1),
    status=st.integers(0, 6),
    partitions=st.none()
    | st.frozensets(st.tuples(st.text(min_size=1, max_size=5), st.integers(0, 99)), max_size=9).map(
        lambda names: by_topic([TopicPartition(*name) for name in names])
    ),
    updated_ms=INT64.map(Timestamp),
    started_ms=INT64.map(Timestamp),
)


@given(VALUES, st.integers(-1, 9), st.integers(0, 2))
def test_what_the_reference_writes_is_read(value: TransactionValue, next_id: int, client_version: int) -> None:
    """Both formats, with and without tagged fields; the two were written apart."""
    if value.version:
        value = replace(value, next_producer_id=ProducerId(next_id), client_version=client_version)

    read = read_value(value.encode())

    listed = frozenset((each.topic, number) for each in value.partitions or () for number in each.partitions)
    assert (read.producer_id, read.producer_epoch, read.timeout) == (value.producer_id, value.epoch, value.timeout_ms)
    assert (read.state, read.partitions) == (value.status, listed)
    assert (read.update_time, read.start_time) == (value.updated_ms, value.started_ms)
    assert (read.next_producer_id, read.client_version) == (value.next_producer_id, value.client_version)


@given(st.binary(max_size=60), st.integers(-1, 1))
def test_any_bytes_are_a_value_or_are_refused(content: bytes, version: int) -> None:
    """Never another error, whatever the bytes are."""
    for given_bytes in (content, version.to_bytes(2, "big", signed=True) + content):
        with suppress(UnknownSchema, MalformedBytes):
            assert isinstance(read_value(given_bytes), StateValue)


def test_keys_are_read_by_version() -> None:
    """Version 0 has the id; another is unknown, and bytes cut short are none."""
    key = encode_key("täx")

    assert read_key(key) == "täx"
    with pytest.raises(UnknownSchema):
        read_key(b"\x00\x01" + key[2:])
    with pytest.raises(MalformedBytes):
        read_key(key[:-1])
    with pytest.raises(MalformedBytes, match="3 bytes are no key"):
        read_key(key[:3])


NAMES = tuple(f"tx-{number}" for number in range(12))


def value(state: S, producer_id: int, epoch: int, client_version: int = 0) -> StateValue:
    """A record with one partition where its state has any."""
    open_states = (S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT)
    partitions = frozenset({("a", 0)}) if state in open_states else frozenset()
    return StateValue(1, producer_id, epoch, 1, state.value, partitions, 0, 0, client_version=client_version)


EDGES = [
    (None, value(S.EMPTY, 1, 0), "InitProducerId"),
    (None, value(S.EMPTY, 1, 3), ""),
    (None, value(S.EMPTY, -1, 0), ""),
    (None, replace(value(S.EMPTY, 1, 0), timeout=-5), ""),
    (value(S.EMPTY, 1, 0), replace(value(S.ONGOING, 1, 0), timeout=0), ""),
    (None, value(S.ONGOING, 1, 0), ""),
    (value(S.EMPTY, 1, 0), value(S.EMPTY, 1, 1), "InitProducerId"),
    (value(S.EMPTY, 1, 0), value(S.EMPTY, 1, 2), ""),
    (value(S.EMPTY, 1, 32766), value(S.EMPTY, 2, 0), "InitProducerId"),
    (value(S.EMPTY, 1, 4), value(S.EMPTY, 2, 0), ""),
    (value(S.EMPTY, 1, 0), value(S.ONGOING, 1, 0), "AddPartitionsToTxn"),
    (value(S.EMPTY, 1, 0), value(S.ONGOING, 1, 1), ""),
    (value(S.ONGOING, 1, 0), value(S.EMPTY, 1, 1), ""),
    (value(S.ONGOING, 1, 0), value(S.PREPARE_COMMIT, 1, 0), "EndTxn"),
    (value(S.ONGOING, 1, 0), value(S.PREPARE_COMMIT, 1, 1), ""),
    (value(S.ONGOING, 1, 0), value(S.PREPARE_COMMIT, 1, 1, 2), "EndTxn"),
    (value(S.ONGOING, 1, 0), value(S.PREPARE_COMMIT, 1, 0, 2), ""),
    (value(S.ONGOING, 1, 0), value(S.PREPARE_ABORT, 1, 1), "the coordinator's own abort"),
    (value(S.ONGOING, 1, 0), value(S.PREPARE_ABORT, 1, 2, 2), "the coordinator's own abort"),
    (value(S.ONGOING, 1, 0), value(S.COMPLETE_COMMIT, 1, 0), ""),
    (value(S.PREPARE_COMMIT, 1, 0), value(S.COMPLETE_COMMIT, 1, 0), "completion after the markers"),
    (value(S.PREPARE_COMMIT, 1, 0), value(S.COMPLETE_ABORT, 1, 0), ""),
    (value(S.PREPARE_COMMIT, 1, 0), value(S.COMPLETE_COMMIT, 1, 1), ""),
    (value(S.PREPARE_ABORT, 1, 32767, 2), value(S.COMPLETE_ABORT, 2, 0, 2), "completion after the markers"),
    (value(S.COMPLETE_ABORT, 1, 0), None, "expiration of the id"),
    (value(S.ONGOING, 1, 0), None, ""),
    (value(S.PREPARE_COMMIT, 1, 0), value(S.ONGOING, 1, 0), ""),
    (value(S.COMPLETE_COMMIT, 1, 0), value(S.ONGOING, 1, 0), "AddPartitionsToTxn"),
    (value(S.COMPLETE_COMMIT, 1, 0), replace(value(S.PREPARE_ABORT, 1, 1, 2), partitions=frozenset()), "EndTxn"),
    (value(S.COMPLETE_COMMIT, 1, 0), value(S.PREPARE_ABORT, 1, 1, 2), ""),
]


@pytest.mark.parametrize(("before", "after", "step"), EDGES)
def test_each_change_of_state_has_its_step_or_none(
    before: StateValue | None, after: StateValue | None, step: str
) -> None:
    """The edges of the coordinator's graph, with the epochs of each transaction version."""
    assert step_between(before, after) == step


@pytest.mark.parametrize(("name", "hashed"), [("", 0), ("a", 97), ("ab", 3105), ("polygenelubricants", 0)])
def test_an_id_is_in_the_partition_of_its_java_hash(name: str, hashed: int) -> None:
    """Also for the one hash without an absolute value."""
    assert coordinator_partition(name, 2**31) == hashed


def test_all_coordinators_are_here_only_if_their_number_is_certain() -> None:
    """A log that is one of one, or of fifty, decides nothing."""
    names = tuple(f"tx-{number}" for number in range(40))

    def known(partition: int, count: int, total: int) -> CoordinatorHistory:
        own = tuple(name for name in names if coordinator_partition(name, total) == partition)
        return CoordinatorHistory(partition, True, own, (), ())

    assert all_coordinators([known(number, 4, 4) for number in range(4)])
    assert not all_coordinators([known(number, 4, 8) for number in range(4)])
    assert not all_coordinators([known(0, 1, 50)])
    assert not all_coordinators([])
    assert ABSENT not in {coordinator_partition(name, 50) for name in names}


def here(count: int, given: tuple[int, ...]) -> list[tuple[int, list[str]]]:
    """The ids of some partitions of so many."""
    own = [(number, [name for name in NAMES if coordinator_partition(name, count) == number]) for number in given]
    return [(number, names) for number, names in own if names]


def test_the_number_of_coordinators_is_asked_only_where_ids_are_out_of_place() -> None:
    """Where some number explains all, nothing is said; nor where there are too few ids, or they are mixed."""
    (zero, one, *others) = here(4, (0, 1, 2, 3))

    assert coordinator_count([zero, one, *others]) == 0
    assert coordinator_count(here(50, tuple(range(50)))) == 0
    assert coordinator_count([]) == 0
    assert coordinator_count([(zero[0], one[1]), (one[0], zero[1]), *others]) == 4
    assert coordinator_count([(zero[0], one[1][:2]), (one[0], zero[1][:2])]) == 0
    assert coordinator_count([(zero[0], [*one[1], zero[1][0]]), (one[0], zero[1]), *others]) == 0
