"""One record, batch or marker that is wrong, wherever it is, is one finding with all that it leads to."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from model_tests.audit.findings import Finding
from model_tests.histories.severity import Severity
from model_tests.unit.audit.audit_case import full_text
from model_tests.unit.audit.places import Change, EachPlace, at_each_place
from model_tests.unit.audit.stories import cluster_of
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, STATES, WrittenCluster
from model_tests.unit.support.one_cause import A, B, all_known, identified, record, two_producers
from reference.broker.transaction_record import TransactionValue
from reference.log.batch import TRANSACTIONAL, RecordBatch, data_batch, marker_batch
from reference.log.record import Record
from spec.vocabulary import ControlType, Epoch, ProducerId, Sequence, TransactionState

UNKNOWN_PRODUCER: Final = 99
OTHER_ID: Final = {"tx": "other", "other": "tx"}


def with_value(changed: Callable[[TransactionValue], TransactionValue | None]) -> Change:
    """A coordinator's record has another value; its tombstone at the end of a transaction would be legal."""

    def change(log: list[RecordBatch], place: int) -> bool:
        name, value = identified(log[place])
        wrong = changed(value)
        if wrong == value or (wrong is None and value.status in (STATES.COMPLETE_ABORT, STATES.COMPLETE_COMMIT)):
            return False
        log[place] = record(name, wrong, log[place])
        return True

    return change


def under_key(key: str) -> Change:
    """A coordinator's record has the key of another id; of the other of two ids where none is named."""

    def change(log: list[RecordBatch], place: int) -> bool:
        name, value = identified(log[place])
        log[place] = record(key or OTHER_ID[name], value, log[place])
        return True

    return change


def in_memory_alone(state: TransactionState) -> Change:
    """A record has a state that coordinators never write."""

    def change(log: list[RecordBatch], place: int) -> bool:
        name, value = identified(log[place])
        if value.status not in (STATES.COMPLETE_COMMIT, STATES.COMPLETE_ABORT):
            return False
        content, key = replace(value, status=state.value).encode(), name.encode()
        one = Record(0, 0, b"\x00\x00" + len(key).to_bytes(2, "big") + key, content)
        log[place] = data_batch([one], timestamp=log[place].max_timestamp)
        return True

    return change


def of_idle(producer_id: int) -> Change:
    """The record of the id that has not used its producer id has another one."""

    def change(log: list[RecordBatch], place: int) -> bool:
        name, value = identified(log[place])
        if name == "idle":
            log[place] = record(name, replace(value, producer_id=ProducerId(producer_id)), log[place])
        return name == "idle"

    return change


def of_data(changed: Callable[[RecordBatch], RecordBatch]) -> Change:
    """A batch of data is otherwise."""

    def change(log: list[RecordBatch], place: int) -> bool:
        wrong = log[place] if log[place].is_control else changed(log[place])
        unchanged, log[place] = wrong == log[place], wrong
        return not unchanged

    return change


def of_markers(changed: Callable[[RecordBatch, ControlType], RecordBatch]) -> Change:
    """A marker is otherwise."""

    def change(log: list[RecordBatch], place: int) -> bool:
        marker = log[place].marker() if log[place].is_control else None
        wrong = log[place] if marker is None else changed(log[place], ControlType(marker.control_type))
        unchanged, log[place] = wrong == log[place], wrong
        return not unchanged

    return change


def marked(
    batch: RecordBatch, kind: ControlType, *, producer: int = -1, epoch: int = 0, coordinator: int = 0
) -> RecordBatch:
    """The marker with another producer, an epoch so much higher, another outcome or coordinator."""
    producer_id = batch.producer_id if producer < 0 else producer
    return marker_batch(producer_id, batch.producer_epoch + epoch, kind, coordinator, batch.max_timestamp)


def behind_others(log: list[RecordBatch], place: int) -> bool:
    """The batch stands three places later."""
    log.insert(place + 3, log.pop(place))
    return True


def first_of_newer_coordinator(log: list[RecordBatch], place: int) -> bool:
    """The first marker has a coordinator epoch that no coordinator has reached."""
    if not log[place].is_control or any(batch.is_control for batch in log[:place]):
        return False
    log[place] = marked(log[place], COMMIT, coordinator=5)
    return True


def producer_of(number: int) -> Callable[[RecordBatch], RecordBatch]:
    """The batch has another producer id."""
    return lambda batch: batch._replace(producer_id=ProducerId(number))


COORDINATOR: Final[dict[str, Change]] = {
    "another's producer id": with_value(lambda value: replace(value, producer_id=ProducerId(15 - value.producer_id))),
    "nobody's producer id": with_value(lambda value: replace(value, producer_id=ProducerId(UNKNOWN_PRODUCER))),
    "the next epoch": with_value(lambda value: replace(value, epoch=Epoch(value.epoch + 1))),
    "no value": with_value(lambda _: None),
    "the state of an abort": with_value(lambda value: replace(value, status=STATES.PREPARE_ABORT.value)),
}

DATA: Final[dict[str, Change]] = {
    "data of the next epoch": of_data(lambda one: one._replace(producer_epoch=Epoch(one.producer_epoch + 1))),
    "data of the epoch before": of_data(lambda one: one._replace(producer_epoch=Epoch(max(one.producer_epoch - 1, 0)))),
    "data one sequence later": of_data(lambda one: one._replace(base_sequence=Sequence(one.base_sequence + 1))),
    "data many sequences later": of_data(lambda one: one._replace(base_sequence=Sequence(one.base_sequence + 50))),
    "a marker of the next epoch": of_markers(lambda one, kind: marked(one, kind, epoch=1)),
    "a marker of the other outcome": of_markers(lambda one, kind: marked(one, ABORT if kind == COMMIT else COMMIT)),
    "a marker of an unknown producer": of_markers(lambda one, kind: marked(one, kind, producer=UNKNOWN_PRODUCER)),
}


def rows() -> Iterator[EachPlace]:
    """Every row, under versions 0 and 2."""
    for version in (0, 2):
        for name, change in COORDINATOR.items():
            yield EachPlace(
                f"a coordinator's record with {name}", two_producers, None, change, version, doubts=True, sure=11
            )
        for name, change in DATA.items():
            yield EachPlace(name, two_producers, A, change, version)
        yield EachPlace(
            "a coordinator's record under the key of the other id",
            two_producers,
            None,
            under_key(""),
            version,
            at_its_place=True,
            words={"the key of other and the producer id of tx": 10, "the key of tx and the producer id of other": 7},
        )
        yield EachPlace(
            "a coordinator's record under a new key",
            two_producers,
            None,
            under_key("fresh"),
            version,
            at_its_place=True,
            words={"the key of fresh and the producer id of": 21},
        )
        for state in (STATES.DEAD, STATES.PREPARE_EPOCH_FENCE):
            yield EachPlace(
                f"a coordinator's record of a Complete transaction in state {state.name}",
                two_producers,
                None,
                in_memory_alone(state),
                version,
                rule="txn.legal_transition",
                words={"in memory alone": 7},
            )
        yield EachPlace(
            "a marker that is not marked as one",
            two_producers,
            A,
            of_markers(lambda one, _: one._replace(attributes=TRANSACTIONAL)),
            version,
            rule="seq.well_formed",
            holds=lambda batch, finding: finding.producer_id == batch.producer_id,
            words={"marker": 3},
        )
        for producer, least in ((7, 0), (8, 3), (10, 3), (UNKNOWN_PRODUCER, 3)):
            yield EachPlace(
                f"a marker under producer id {producer}",
                all_known,
                A,
                of_markers(lambda one, _, producer=producer: producer_of(producer)(one)),  # type: ignore[misc]
                version,
                words={f"marker has producer id {producer}, for which nothing asks": least},
            )
            lacking = producer >= 10
            yield EachPlace(
                f"data under producer id {producer}",
                all_known,
                A,
                of_data(producer_of(producer)),
                version,
                holds=lambda _, finding: finding.severity is Severity.VIOLATION,
                words={
                    "first batch in the log has sequence": lacking,
                    "does not register": 3 * (producer not in (7, 8)),
                },
            )
        yield EachPlace(
            "the first marker of a coordinator epoch that is too high: all later ones seem stale beside it",
            two_producers,
            A,
            first_of_newer_coordinator,
            version,
            rule="fence.coordinator_epoch",
        )
        for producer_id in (7, 8):
            yield EachPlace(
                f"a record that gives producer id {producer_id} to an idle id, too",
                all_known,
                None,
                of_idle(producer_id),
                version,
                rule="ids.unique",
                holds=lambda _, finding: bool(finding.remedy) and finding.transactional_id in ("idle", "tx", "other"),
                words={"brokers take the two for one producer": 1},
            )
        for where in (A, B):
            yield EachPlace(
                f"a batch of {where[0]} behind later ones",
                two_producers,
                where,
                behind_others,
                version,
                least=0,
                sure=3,
            )


def parameters() -> Iterator[object]:
    """All rows; those of the coordinator's log have as many places that one version of each kind runs by default."""
    kinds = list(dict.fromkeys(row.name for row in rows() if row.where is None))
    for row in rows():
        in_turn = row.where is not None or kinds.index(row.name) % 2 == (row.version == 0)
        yield pytest.param(row, marks=[] if in_turn else [pytest.mark.slow])


@pytest.mark.parametrize("row", tuple(parameters()), ids=str)
def test_what_is_wrong_at_one_place_is_one_finding(tmp_path: Path, row: EachPlace) -> None:
    """Whichever place it is; what follows it, and what other logs have of the transaction, is a consequence."""
    at_each_place(row, tmp_path)


def overlapping(version: int) -> WrittenCluster:
    """The second transaction of the one id, and of the other, has not the partition A, or not B."""
    story = "txn a b; other: txn a b; txn b; other: txn a; txn a b abort; txn a b; other: txn a b; txn a b"
    return cluster_of(f"init tx 7; other: init other 8; {story}", version)


def copied_from_b(version: int, number: int, directory: Path) -> dict[int, list[Finding]]:
    """What is found of one of the markers of the first id in B, by its place in A."""
    own = [batch for batch in overlapping(version).logs[B] if batch.is_control and batch.producer_id == 7]

    def change(log: list[RecordBatch], place: int) -> bool:
        log.insert(place + 1, own[number])
        return True

    row = EachPlace("a marker of another log", overlapping, A, change, version, least=0)
    return {place + 1: findings for place, findings in at_each_place(row, directory).items()}


@pytest.mark.parametrize("version", [0, 2])
def test_a_marker_of_a_transaction_that_has_not_the_partition_is_one_finding(tmp_path: Path, version: int) -> None:
    """Only between its neighbours in time an early release's is a late copy of the one before, and changes nothing."""
    found = copied_from_b(version, 1, tmp_path)

    assert [place for place, findings in found.items() if not findings] == (list(range(2, 7)) if version == 0 else [])
    for place, findings in found.items():
        assert [one.offset for one in findings] in ([], [place])
        texts = [full_text(one) for one in findings]
        assert all("does not have this partition" in text or "has it not" in text for text in texts)


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("number", [0, 2, 3])
def test_a_marker_of_one_that_has_it_is_one_finding_away_from_its_place(
    tmp_path: Path, version: int, number: int
) -> None:
    """Its own transaction keeps the one that was there: whether the copy is before it or behind it."""
    found = copied_from_b(version, number, tmp_path)

    texts = [full_text(one) for findings in found.values() for one in findings]
    assert sum("stands behind later ones" in text or "stands before earlier ones" in text for text in texts) > 4
