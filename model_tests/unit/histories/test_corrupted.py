"""A history that holds, with one thing in it changed: the change is reported by its class, wherever it is made."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model_tests.histories.anomalies import AnomalyKind
from model_tests.histories.building import Building
from model_tests.histories.operations import OperationResult
from model_tests.histories.report import report_on
from model_tests.histories.severity import Severity
from model_tests.unit.support.audited_histories import found
from spec.judging.judge_clients import ReaderAssignment

KEYS: Final = ("a-0", "a-1", "b-0")
READERS: Final = 2

Record = tuple[str, int, int]
"""Key, offset and value."""


@dataclass(slots=True)
class WrittenHistory:
    """Transactions with what they sent, and of each reader what it was given, poll by poll."""

    sent: list[tuple[OperationResult, list[Record]]] = field(default_factory=list)
    polls: list[tuple[int, list[Record]]] = field(default_factory=list)

    def counts(self) -> dict[AnomalyKind, dict[Severity, int]]:
        """Its anomalies."""
        building = Building()
        for process in range(READERS):
            building.tick()
            building.begins_anew(building.process(process), ReaderAssignment.ASSIGN, KEYS, at_start=True)
        for number, (outcome, records) in enumerate(self.sent):
            operation = self._operation(building, READERS + number % 3, outcome)
            for record in records:
                building.sends(operation, *record)
        for reader, records in self.polls:
            operation = self._operation(building, reader, OperationResult.OK)
            for record in records:
                building.gives(operation, *record)
        return found(report_on(building.built(), "made"))

    def _operation(self, building: Building, process: int, outcome: OperationResult) -> int:
        began = building.tick()
        building.tick()
        return building.operation(building.process(process), building.now, outcome, ":txn", began)


def made(chance: random.Random) -> WrittenHistory:
    """Transactions one after another, the first of them committed; each reader is given all that is committed."""
    history, log = WrittenHistory(), {key: chance.choice((0, 7, 2**62)) for key in KEYS}
    committed: list[Record] = []
    for value in range(12):
        drawn = chance.choice(
            (OperationResult.OK, OperationResult.OK, OperationResult.OK, OperationResult.FAIL, OperationResult.INFO)
        )
        outcome = OperationResult.OK if value < 4 else drawn
        records = []
        for part, key in enumerate(chance.choices(KEYS, k=3)):
            records.append((key, log[key], 10 * value + part))
            log[key] += chance.choice((1, 1, 1, 2, 5))
        history.sent.append((outcome, sorted(records)))
        committed += sorted(records) if outcome is OperationResult.OK else []
        for key in KEYS:
            log[key] += 1
    for reader in range(READERS):
        at = 0
        while at < len(committed):
            size = chance.randrange(2, 8)
            history.polls.append((reader, committed[at : at + size]))
            at += size
    return history


def _given(history: WrittenHistory, chance: random.Random) -> Record:
    """A record that is not the last of its partition."""
    own = [record for reader, records in history.polls for record in records if not reader]
    last = {key: max((one for one in own if one[0] == key), default=("", -1, 0)) for key in KEYS}
    return chance.choice([one for one in own if one != last[one[0]]])


def drop(history: WrittenHistory, chance: random.Random) -> None:
    """A record is given to no reader."""
    gone = _given(history, chance)
    history.polls = [(reader, [one for one in records if one != gone]) for reader, records in history.polls]


def write_twice(history: WrittenHistory, chance: random.Random) -> None:
    """A record lies at an offset behind all others, too."""
    key, _, value = _given(history, chance)
    for reader in range(READERS):
        history.polls.append((reader, [(key, 2**63 - 1, value)]))


def exchange(history: WrittenHistory, chance: random.Random) -> None:
    """One reader is given another value at an offset."""
    key, offset, value = _given(history, chance)
    instead = {(key, offset, value): (key, offset, -value - 1)}
    history.polls = [
        (reader, [instead.get(one, one) if reader else one for one in records]) for reader, records in history.polls
    ]


def give_again(history: WrittenHistory, chance: random.Random) -> None:
    """A reader is given a record once more, a poll later."""
    record = _given(history, chance)
    history.polls.append((0, [record]))


def abort(history: WrittenHistory, chance: random.Random) -> None:
    """A client gets the answer that a transaction is aborted, and its records were given."""
    number = chance.choice([at for at, (outcome, _) in enumerate(history.sent) if outcome is OperationResult.OK])
    history.sent[number] = (OperationResult.FAIL, history.sent[number][1])


def send_backwards(history: WrittenHistory, chance: random.Random) -> None:
    """A transaction's records of one partition lie in the other order than they were sent."""
    key, first = chance.choice(KEYS), [("new", 2**62 + 2**61, 7_000), ("new", 2**62 + 2**61 + 1, 7_001)]
    records = [(key, offset, value) for _, offset, value in first]
    history.sent.append((OperationResult.OK, records[::-1]))
    for reader in range(READERS):
        history.polls.append((reader, records))


CORRUPTIONS: Final[dict[Callable[[WrittenHistory, random.Random], None], AnomalyKind]] = {
    drop: AnomalyKind.LOST_WRITE,
    write_twice: AnomalyKind.DUPLICATE,
    exchange: AnomalyKind.INCONSISTENT_OFFSETS,
    give_again: AnomalyKind.NONMONOTONIC_POLL,
    abort: AnomalyKind.ABORTED_READ,
    send_backwards: AnomalyKind.INT_NONMONOTONIC_SEND,
}

SETTINGS: Final = settings(max_examples=25, suppress_health_check=[HealthCheck.differing_executors])


@SETTINGS
@given(st.integers(0, 2**32))
def test_what_is_made_holds(seed: int) -> None:
    """Whatever is drawn: nothing but what is legal."""
    counts = made(random.Random(seed)).counts()

    assert {kind: how for kind, how in counts.items() if Severity.VIOLATION in how} == {}
    assert set(counts) <= {AnomalyKind.INT_SEND_SKIP, AnomalyKind.WRITE_CYCLE}


@pytest.mark.parametrize("corrupt", CORRUPTIONS)
@SETTINGS
@given(seed=st.integers(0, 2**32))
def test_a_change_is_reported_by_its_class(corrupt: Callable[[WrittenHistory, random.Random], None], seed: int) -> None:
    """Wherever it is made."""
    chance = random.Random(seed)
    history = made(chance)

    corrupt(history, chance)

    assert history.counts()[CORRUPTIONS[corrupt]][Severity.VIOLATION] >= 1
