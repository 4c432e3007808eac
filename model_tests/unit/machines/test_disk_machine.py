"""The log on disk in runs from a tape: every rule holds and is at stake; the machine has the same events."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from model_tests.machines import disk_invariants
from model_tests.machines.disk_events import DiskEvents
from model_tests.machines.disk_history import Header, LoggedProducer
from model_tests.machines.disk_invariants import DISK_RULES, Cleaned, RecoveredState, cleaning_keeps_producers
from model_tests.machines.disk_runs import run_on_disk
from model_tests.machines.disk_world import DiskSetting
from model_tests.machines.rule_counts import USUAL, Ledger
from reference.log.batch import RecordBatch, data_batch, marker_batch
from reference.log.record import Record
from reference.tape import Tape
from spec import rules
from spec.versions import KAFKA_3_9_UNVERIFIED
from spec.vocabulary import ControlType, Origin, Timestamp


@dataclass(frozen=True)
class DiskRuns:
    """What runs from seeds came to, and every state that was compared with its log and snapshots."""

    ledger: Ledger = field(default_factory=Ledger)
    derivations: list[RecoveredState] = field(default_factory=list)


@pytest.fixture(scope="module")
def runs() -> DiskRuns:
    """A hundred runs."""
    made = DiskRuns()
    check = disk_invariants.seq_state_recoverable

    def noted(derived: RecoveredState, ledger: Ledger) -> None:
        made.derivations.append(derived)
        check(derived, ledger)

    with pytest.MonkeyPatch.context() as change:
        change.setattr(disk_invariants, "seq_state_recoverable", noted)
        for seed in range(100):
            run_on_disk(seed, made.ledger)
    return made


def test_runs_from_a_tape_keep_every_rule(runs: DiskRuns) -> None:
    """The same world holds in runs from seeds, and every rule is at stake in them."""
    assert [] == runs.ledger.broken
    assert set(DISK_RULES) == {rule for rule in DISK_RULES if runs.ledger.at_stake[rule]}


CIRCUMSTANCES = {
    "a cut in the middle of a write": " cuts ",
    "a wrong byte": "leaves byte",
    "an index that is missing": "index is missing",
    "an index that is rubbish": "index is rubbish",
    "an older snapshot": ".snapshot is wrong",
    "no snapshot": "all snapshots are missing",
    "truncation": "truncation to",
    "compaction": "cleaning from",
    "retention": "retention",
    "a log start that advanced": "the log start goes to",
}
"""What led to a state that was read from disk, as an event records it."""


def test_state_is_recovered_in_all_circumstances(runs: DiskRuns) -> None:
    """Crash points, lost files, truncation, compaction and retention all come before a state that is looked at."""
    derivations = runs.derivations

    reached = Counter(name for name, message in CIRCUMSTANCES.items() for d in derivations if message in d.message)
    assert [] == [name for name in CIRCUMSTANCES if reached[name] < 10]
    assert sum(1 for derived in derivations if derived.expected_warning and derived.warned) >= 10


@pytest.fixture
def world() -> Iterator[DiskEvents]:
    """A partition on disk of a version that asks for no verification, and nothing in it."""
    world = DiskEvents(DiskSetting(profile=KAFKA_3_9_UNVERIFIED), Ledger())
    yield world
    world.ends()


def test_a_client_stays_in_the_transaction_that_the_partition_forgot(world: DiskEvents) -> None:
    """No message was left: a batch outside the transaction would not be refused, and its log would not open again."""
    world.appends(in_transaction(7))
    world.partition.advance_high_watermark(1)
    world.partition.disk.advance_start(1)
    world.broker_crashes(Tape.of_number(0))

    world.producer_appends(Tape.of_number(0))
    world.broker_crashes(Tape.of_number(0))

    assert ({}, 1) == (world.known, world.partition.log_end)
    assert world.has_forgotten_transaction(7)
    assert [] == world.ledger.broken


def test_a_replay_may_find_a_transaction_again_that_had_been_forgotten(world: DiskEvents) -> None:
    """An upgrade forgot it, so its marker ended nothing; a replay of the log lets it hold the last stable offset."""
    world.appends(in_transaction(8))
    world.partition.advance_high_watermark(1)
    world.happens("an upgrade")
    batches = world.partition.disk.batches
    world.partition.close()
    world.loses_all_snapshots()
    world.comes_back(batches, Tape.of_number(0), recovery_point=None)
    world.appends(marker_batch(8, 0, ControlType.ABORT, 0, Timestamp(0)), Origin.COORDINATOR)
    world.appends(in_transaction(9))
    before = world.partition.last_stable

    world.loses_all_snapshots()
    world.replica_truncates(Tape.of_number(1))
    world.after_event()

    assert (1, 0) == (before, world.partition.last_stable)
    assert (1, 2) == (world.partition.high_watermark, world.partition.log_end)
    assert [] == world.ledger.broken


def in_transaction(producer_id: int) -> RecordBatch:
    """The first batch of a producer, one record in a transaction."""
    record = Record(0, 0, b"k", b"v")
    return data_batch(
        [record], producer_id=producer_id, epoch=0, base_sequence=0, timestamp=Timestamp(0), transactional=True
    )


@pytest.mark.parametrize(
    ("known", "header"),
    [
        (LoggedProducer(epoch=1, window=((4, 9, 0),)), Header(7, 1, 4, 9)),
        (LoggedProducer(epoch=2, coordinator_epoch=0), Header(7, 2)),
    ],
    ids=["last sequence", "epoch of a marker"],
)
def test_cleaning_may_not_forget_a_producer(known: LoggedProducer, header: Header) -> None:
    """What the log had before of an active producer it has after, or the rule of recoverable state is broken."""
    right, wrong, never_there = Ledger(), Ledger(), Ledger()

    cleaning_keeps_producers(Cleaned("", {7: known}, frozenset({header}), frozenset({header}), USUAL), right)
    cleaning_keeps_producers(Cleaned("", {7: known}, frozenset({header}), frozenset(), USUAL), wrong)
    cleaning_keeps_producers(Cleaned("", {7: known}, frozenset(), frozenset(), USUAL), never_there)

    assert [1, 1, 0] == [ledger.at_stake[rules.SEQ_STATE_RECOVERABLE] for ledger in (right, wrong, never_there)]
    assert [] == right.broken
    assert [rules.SEQ_STATE_RECOVERABLE] == [broken.rule for broken in wrong.broken]


def test_a_seed_is_a_run_on_disk() -> None:
    """The same seed makes the same steps, with the same rules at stake."""
    first, second = Ledger(), Ledger()

    run_on_disk(11, first)
    run_on_disk(11, second)

    assert first == second
