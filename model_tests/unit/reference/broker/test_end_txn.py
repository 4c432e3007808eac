"""EndTxn, cell by cell."""

from typing import Final

import pytest

from model_tests.unit.reference.broker.coordinated import ID, CoordinatedBroker, identity
from reference.broker.coordinator_errors import (
    ConcurrentTransactions,
    CoordinatorNotAvailable,
    InvalidProducerIdMapping,
    UnknownServerError,
)
from reference.broker.end_txn import EndTransaction
from reference.broker.transaction_api import handle_end_txn
from reference.broker.transaction_log import AppendFault
from reference.broker.transaction_metadata import fence_epoch
from reference.errors import InvalidTxnState, ProducerFenced, Refusal
from spec.versions import KAFKA_0_11, KAFKA_2_5, KAFKA_2_7, KAFKA_3_9, KAFKA_4_2, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import MAX_EPOCH, Epoch, ErrorCode, ProducerId, TransactionState

EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
PREPARE_COMMIT, PREPARE_ABORT = TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT
COMPLETE_COMMIT, COMPLETE_ABORT = TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT

NONE, FENCED = ErrorCode.NONE, ErrorCode.PRODUCER_FENCED
INVALID, WAIT = ErrorCode.INVALID_TXN_STATE, ErrorCode.CONCURRENT_TRANSACTIONS
EPOCH: Final = 5

Cell = tuple[TransactionState, bool, bool, ErrorCode, TransactionState]


def outcome(world: CoordinatedBroker, epoch: int, commit: bool, version: int) -> tuple[ErrorCode, TransactionState]:
    """Error and state of producer 7 after an EndTxn with an epoch."""
    try:
        world.end(identity(7, epoch), commit, version)
    except Refusal as refusal:
        return refusal.code, world.metadata().state
    return NONE, world.metadata().state


def ids(cell: tuple[object, ...]) -> str:
    """State, result and, under version 2, retry or not."""
    state, commit, *again = cell
    name = state.name.lower() if isinstance(state, TransactionState) else str(state)
    reported = ["again"] if True in again[:1] else []
    return "-".join([name, "commit" if commit else "abort", *reported])


BY_RESULT: Final = (
    (ONGOING, False, NONE, PREPARE_ABORT),
    (ONGOING, True, NONE, PREPARE_COMMIT),
    (EMPTY, False, INVALID, EMPTY),
    (EMPTY, True, INVALID, EMPTY),
    (COMPLETE_ABORT, False, NONE, COMPLETE_ABORT),
    (COMPLETE_ABORT, True, INVALID, COMPLETE_ABORT),
    (COMPLETE_COMMIT, False, INVALID, COMPLETE_COMMIT),
    (COMPLETE_COMMIT, True, NONE, COMPLETE_COMMIT),
    (PREPARE_COMMIT, False, INVALID, PREPARE_COMMIT),
    (PREPARE_COMMIT, True, WAIT, PREPARE_COMMIT),
    (PREPARE_ABORT, False, WAIT, PREPARE_ABORT),
    (PREPARE_ABORT, True, INVALID, PREPARE_ABORT),
)


@pytest.mark.parametrize("profile", [KAFKA_3_9, SNAPSHOT_4_0, NEWEST], ids=lambda profile: profile.name)
@pytest.mark.parametrize("cell", BY_RESULT, ids=ids)
def test_versions_0_and_1(profile: Profile, cell: tuple[TransactionState, bool, ErrorCode, TransactionState]) -> None:
    """Without bumps, state and wanted result alone decide, and the epoch stays."""
    state, commit, error, after = cell
    world = CoordinatedBroker(profile)
    world.put(state, EPOCH)

    found = outcome(world, EPOCH, commit, version=0)

    assert (error, after) == found
    assert EPOCH == world.metadata().epoch


BY_RETRY: Final = (
    (ONGOING, False, True, FENCED, ONGOING),
    (ONGOING, False, False, NONE, PREPARE_ABORT),
    (ONGOING, True, True, FENCED, ONGOING),
    (ONGOING, True, False, NONE, PREPARE_COMMIT),
    (EMPTY, False, True, FENCED, EMPTY),
    (EMPTY, False, False, NONE, PREPARE_ABORT),
    (EMPTY, True, True, FENCED, EMPTY),
    (EMPTY, True, False, INVALID, EMPTY),
    (COMPLETE_ABORT, False, True, NONE, COMPLETE_ABORT),
    (COMPLETE_ABORT, False, False, NONE, PREPARE_ABORT),
    (COMPLETE_ABORT, True, True, INVALID, COMPLETE_ABORT),
    (COMPLETE_ABORT, True, False, INVALID, COMPLETE_ABORT),
    (COMPLETE_COMMIT, False, True, INVALID, COMPLETE_COMMIT),
    (COMPLETE_COMMIT, False, False, NONE, PREPARE_ABORT),
    (COMPLETE_COMMIT, True, True, NONE, COMPLETE_COMMIT),
    (COMPLETE_COMMIT, True, False, INVALID, COMPLETE_COMMIT),
    (PREPARE_COMMIT, False, True, INVALID, PREPARE_COMMIT),
    (PREPARE_COMMIT, False, False, FENCED, PREPARE_COMMIT),
    (PREPARE_COMMIT, True, True, WAIT, PREPARE_COMMIT),
    (PREPARE_COMMIT, True, False, FENCED, PREPARE_COMMIT),
    (PREPARE_ABORT, False, True, WAIT, PREPARE_ABORT),
    (PREPARE_ABORT, False, False, FENCED, PREPARE_ABORT),
    (PREPARE_ABORT, True, True, INVALID, PREPARE_ABORT),
    (PREPARE_ABORT, True, False, FENCED, PREPARE_ABORT),
)


@pytest.mark.parametrize("cell", BY_RETRY, ids=ids)
def test_version_2(cell: Cell) -> None:
    """With bumps, the epoch distinguishes a retry from a new request; a decision takes the epoch up by one."""
    state, commit, again, error, after = cell
    world = CoordinatedBroker(NEWEST)
    world.put(state, EPOCH, client_version=2)

    found = outcome(world, EPOCH - again, commit, version=2)

    assert (error, after) == found
    decided = state not in (PREPARE_COMMIT, PREPARE_ABORT) and after in (PREPARE_COMMIT, PREPARE_ABORT)
    assert EPOCH + decided == world.metadata().epoch


BY_STORED_VERSION: Final = (
    (ONGOING, False, False, NONE, PREPARE_ABORT),
    (ONGOING, True, False, NONE, PREPARE_COMMIT),
    (EMPTY, False, False, INVALID, EMPTY),
    (EMPTY, True, False, INVALID, EMPTY),
    (COMPLETE_ABORT, False, True, NONE, COMPLETE_ABORT),
    (COMPLETE_ABORT, False, False, FENCED, COMPLETE_ABORT),
    (COMPLETE_ABORT, True, True, INVALID, COMPLETE_ABORT),
    (COMPLETE_ABORT, True, False, FENCED, COMPLETE_ABORT),
    (COMPLETE_COMMIT, False, True, INVALID, COMPLETE_COMMIT),
    (COMPLETE_COMMIT, False, False, FENCED, COMPLETE_COMMIT),
    (COMPLETE_COMMIT, True, True, NONE, COMPLETE_COMMIT),
    (COMPLETE_COMMIT, True, False, FENCED, COMPLETE_COMMIT),
    (PREPARE_COMMIT, True, True, WAIT, PREPARE_COMMIT),
    (PREPARE_COMMIT, True, False, FENCED, PREPARE_COMMIT),
    (PREPARE_ABORT, False, True, WAIT, PREPARE_ABORT),
    (PREPARE_ABORT, False, False, FENCED, PREPARE_ABORT),
)


@pytest.mark.parametrize("cell", BY_STORED_VERSION, ids=ids)
@pytest.mark.parametrize("version", [0, 2])
def test_version_2_before_4_0(cell: Cell, version: int) -> None:
    """The version of the last transition decides whether an epoch was bumped, whatever version the request has."""
    state, commit, again, error, after = cell
    world = CoordinatedBroker(SNAPSHOT_4_0)
    world.put(state, EPOCH, client_version=2)

    found = outcome(world, EPOCH - again, commit, version)

    assert (error, after) == found


def test_another_producer_id() -> None:
    """A producer id that is not the newest of the transactional id is unknown."""
    world = CoordinatedBroker()
    world.put(ONGOING)

    with pytest.raises(InvalidProducerIdMapping):
        world.end(identity(8, EPOCH))


def test_unknown_id() -> None:
    """An id that never began has no transaction to end."""
    with pytest.raises(InvalidProducerIdMapping):
        CoordinatedBroker().end(identity(7, 0))


@pytest.mark.parametrize("version", [0, 2])
def test_pending(version: int) -> None:
    """While a change is on its way to the log, everybody waits."""
    world = CoordinatedBroker()
    world.put(ONGOING).pending = PREPARE_COMMIT

    with pytest.raises(ConcurrentTransactions):
        world.end(identity(7, EPOCH), version=version)


def test_pending_comes_first() -> None:
    """Since 4.0, under version 2, a pending change is answered before a stale epoch; before 4.0, after it."""
    newest, older = CoordinatedBroker(NEWEST), CoordinatedBroker(SNAPSHOT_4_0)
    newest.put(ONGOING).pending = PREPARE_COMMIT
    older.put(ONGOING).pending = PREPARE_COMMIT

    with pytest.raises(ConcurrentTransactions):
        newest.end(identity(7, 1))
    with pytest.raises(ProducerFenced):
        older.end(identity(7, 1))


def test_a_client_before_version_2_is_reported_of_its_stale_epoch_first() -> None:
    """EndTxn up to version 4 looks at the identity before what is pending, in every release."""
    world = CoordinatedBroker(NEWEST)
    world.put(ONGOING).pending = PREPARE_COMMIT

    with pytest.raises(ProducerFenced):
        world.end(identity(7, 1), version=1)


@pytest.mark.parametrize("version", [3, 5])
def test_a_commit_cannot_take_the_place_of_a_fence(version: int) -> None:
    """While the coordinator is about to abort, a commit of the same epoch is an error, and the fence stays."""
    world = CoordinatedBroker()
    entry = world.put(ONGOING)
    entry.pending = TransactionState.PREPARE_EPOCH_FENCE

    with pytest.raises(UnknownServerError):
        world.end(identity(7, EPOCH), commit=True, version=version)

    assert entry.is_fencing
    assert ONGOING == world.metadata().state


def test_the_last_epoch_rotates() -> None:
    """At epoch 32766 the decision keeps the producer id with 32767 for its markers, and the end has a new one."""
    world = CoordinatedBroker()
    world.put(ONGOING, MAX_EPOCH - 1)

    answered = world.end(identity(7, MAX_EPOCH - 1))
    decided = world.metadata()
    world.coordinator.send_markers()

    assert (7, MAX_EPOCH) == (decided.producer_id, decided.epoch)
    assert answered == identity(world.metadata().producer_id, 0)
    assert 7 == world.metadata().previous_producer_id
    assert answered.producer_id not in (7, -1)


def test_the_last_epoch_rotates_for_a_retry() -> None:
    """Who lost the answer at epoch 32766 gets the new producer id with the next try."""
    world = CoordinatedBroker()
    world.put(ONGOING, MAX_EPOCH - 1)
    answered = world.end(identity(7, MAX_EPOCH - 1))
    world.coordinator.send_markers()

    again = world.end(identity(7, MAX_EPOCH - 1))

    assert answered == again


def test_the_last_epoch_answered_late() -> None:
    """Before 4.0 the first answer at epoch 32766 has the identity of the markers; only the retry learns the next."""
    world = CoordinatedBroker(SNAPSHOT_4_0)
    world.put(ONGOING, MAX_EPOCH - 1)

    answered = world.end(identity(7, MAX_EPOCH - 1))
    world.coordinator.send_markers()

    assert identity(7, MAX_EPOCH) == answered
    assert identity(world.metadata().producer_id, 0) == world.end(identity(7, MAX_EPOCH - 1))


@pytest.mark.parametrize(
    ("profile", "commit", "refused"),
    [(KAFKA_4_2, False, True), (NEWEST, True, True), (NEWEST, False, False)],
    ids=["4.2-abort", "4.3-commit", "4.3-abort"],
)
def test_epoch_32767(profile: Profile, commit: bool, refused: bool) -> None:
    """An open transaction at epoch 32767 cannot be ended before 4.3; since then it can be aborted."""
    world = CoordinatedBroker(profile)
    world.put(ONGOING, MAX_EPOCH)

    if refused:
        with pytest.raises(UnknownServerError):
            world.end(identity(7, MAX_EPOCH), commit)
        assert ONGOING == world.metadata().state
    else:
        world.end(identity(7, MAX_EPOCH), commit)
        ended = world.metadata()
        assert (PREPARE_ABORT, MAX_EPOCH, MAX_EPOCH) == (ended.state, ended.epoch, ended.last_epoch)


def test_a_commit_that_is_delayed_ends_the_next_transaction() -> None:
    """KAFKA-17754: without bumps a copy of EndTxn for one transaction ends the next one; with bumps it is fenced."""
    for version, harmed in ((0, True), (2, False)):
        world = CoordinatedBroker(NEWEST.under(version))
        first = world.init()
        world.begin(first)
        second = world.end(first)
        world.coordinator.send_markers()
        world.begin(second if version == 2 else first)

        if harmed:
            world.end(first)
        else:
            with pytest.raises(ProducerFenced):
                world.end(first)

        assert (PREPARE_COMMIT if harmed else ONGOING) == world.metadata().state


def test_the_coordinator_aborts_with_a_newer_epoch() -> None:
    """The coordinator's own abort may carry an epoch above the current one, a client's may not."""
    world = CoordinatedBroker(KAFKA_3_9)
    entry = world.put(ONGOING)

    with pytest.raises(ProducerFenced):
        world.coordinator.end_txn(EndTransaction(ID, ProducerId(7), Epoch(EPOCH + 1), False))
    entry.begin(fence_epoch(entry.metadata, True, KAFKA_3_9))
    world.coordinator.end_txn(EndTransaction(ID, ProducerId(7), Epoch(EPOCH + 1), False, from_client=False))

    assert (PREPARE_ABORT, EPOCH + 1) == (world.metadata().state, world.metadata().epoch)


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize("profile", [KAFKA_0_11, KAFKA_2_5], ids=["0.11", "2.5"])
def test_before_2_7_an_end_with_a_newer_epoch_is_written(profile: Profile, commit: bool) -> None:
    """With the epoch that the coordinator knows; the client is fenced, and no marker follows until the log is read."""
    world = CoordinatedBroker(profile)
    world.begin(world.init())
    known = world.metadata()

    answers = [handle_end_txn(world.coordinator, 1, ID, identity(known.producer_id, 7), commit).error for _ in (1, 2)]
    owed = len(world.coordinator.markers.owed)
    world.crash(1)

    assert [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.CONCURRENT_TRANSACTIONS] == answers
    assert (PREPARE_COMMIT if commit else PREPARE_ABORT, known.epoch) == (
        world.metadata().state,
        world.metadata().epoch,
    )
    assert (0, 1) == (owed, len(world.coordinator.markers.owed))


@pytest.mark.parametrize("profile", [KAFKA_2_7, KAFKA_3_9, KAFKA_4_2.under(0)], ids=["2.7", "3.9", "4.2"])
def test_since_2_7_an_end_with_a_newer_epoch_changes_nothing(profile: Profile) -> None:
    """A client has the epoch that it was given."""
    world = CoordinatedBroker(profile)
    world.put(ONGOING)

    assert ErrorCode.PRODUCER_FENCED == handle_end_txn(world.coordinator, 2, ID, identity(7, EPOCH + 1), True).error
    assert ONGOING == world.metadata().state


@pytest.mark.parametrize("profile", [KAFKA_0_11, KAFKA_2_5], ids=["0.11", "2.5"])
def test_before_2_7_a_client_ends_what_is_being_fenced(profile: Profile) -> None:
    """An abort with an epoch above that of the fence takes its place, and the id continues with the client's epoch."""
    world = CoordinatedBroker(profile)
    entry = world.put(ONGOING)
    entry.begin(fence_epoch(entry.metadata, True, profile))

    world.end(identity(7, EPOCH + 3), commit=False)

    assert (PREPARE_ABORT, EPOCH + 3, 1) == (
        entry.metadata.state,
        entry.metadata.epoch,
        len(world.coordinator.markers.owed),
    )


@pytest.mark.parametrize(
    ("profile", "epoch"), [(KAFKA_0_11, 3), (KAFKA_2_5, 3), (KAFKA_2_7, 1)], ids=["0.11", "2.5", "2.7"]
)
def test_every_failed_fence_raises_the_epoch_before_2_7(profile: Profile, epoch: int) -> None:
    """Since the fix of KAFKA-9666 the coordinator remembers that it has raised it, and that no client has it."""
    world = CoordinatedBroker(profile)
    entry = world.put(ONGOING)
    world.log.faults += [AppendFault(CoordinatorNotAvailable())] * 2

    for _ in range(2):
        with pytest.raises(CoordinatorNotAvailable):
            world.init()
    with pytest.raises(ConcurrentTransactions):
        world.init()

    assert (PREPARE_ABORT, EPOCH + epoch) == (entry.metadata.state, entry.metadata.epoch)


def test_before_2_7_fences_that_fail_use_up_the_epochs() -> None:
    """After the last one the transaction cannot be aborted any more."""
    world = CoordinatedBroker(KAFKA_2_5)
    entry = world.put(ONGOING, MAX_EPOCH - 1)
    world.log.faults += [AppendFault(CoordinatorNotAvailable())]

    with pytest.raises(CoordinatorNotAvailable):
        world.init()
    with pytest.raises(UnknownServerError):
        world.init()

    assert (ONGOING, MAX_EPOCH) == (entry.metadata.state, entry.metadata.epoch)


def test_a_failed_fence_is_not_forgotten_for_an_end_that_fails() -> None:
    """The epoch that the fence has raised is not raised again, whichever abort the log refuses next."""
    world = CoordinatedBroker(KAFKA_3_9)
    entry = world.put(ONGOING)
    world.log.faults += [AppendFault(CoordinatorNotAvailable())] * 2

    with pytest.raises(CoordinatorNotAvailable):
        world.init()
    with pytest.raises(CoordinatorNotAvailable):
        world.end(identity(7, EPOCH + 1), commit=False)
    world.clock.advance(1)
    with pytest.raises(ConcurrentTransactions):
        world.init()

    assert (PREPARE_ABORT, EPOCH + 1) == (entry.metadata.state, entry.metadata.epoch)


def test_refusals_name_their_rule() -> None:
    """A refusal names the rule that it serves and the values that decided."""
    world = CoordinatedBroker()
    world.put(EMPTY)

    with pytest.raises(InvalidTxnState, match=r"INVALID_TXN_STATE \[txn.one_outcome\] state=EMPTY"):
        world.end(identity(7, EPOCH))
