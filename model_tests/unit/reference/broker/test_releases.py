"""What coordinators of some releases do otherwise than those of others."""

import pytest

from model_tests.unit.reference.broker.coordinated import ID, T0, T1, TIMEOUT_MS, CoordinatedBroker, identity
from model_tests.unit.reference.broker.grouped import GroupWorld
from reference.broker.coordinator_errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    NotCoordinator,
    reported,
)
from reference.broker.transaction_api import (
    AddPartitionsRequest,
    handle_add_partitions,
    handle_end_txn,
    handle_init_producer_id,
)
from reference.broker.transaction_coordinator import CoordinatorConfig, TransactionCoordinator, TwoPhaseOptions
from reference.broker.transaction_metadata import NO_TIMEOUT_MS
from reference.broker.transaction_timeouts import abort_timed_out
from reference.broker.verification import ProduceVerification
from reference.errors import ProducerFenced, Refusal, UnsupportedVersion
from reference.log.partition import Partition
from reference.world.messages import Verify
from reference.world.node import NodeTransactionLog, agree
from spec.versions import (
    KAFKA_2_5,
    KAFKA_2_7,
    KAFKA_3_6,
    KAFKA_3_9,
    KAFKA_4_0,
    KAFKA_4_1,
    KAFKA_4_3,
    NEWEST,
    SNAPSHOT_4_0,
    Profile,
)
from spec.vocabulary import (
    MAX_EPOCH,
    CoordinatorEpoch,
    Epoch,
    ErrorCode,
    ProducerId,
    Sequence,
    Timestamp,
    TransactionState,
)

DOWNGRADED = KAFKA_4_3.under(0)


def refusal_of(error: ErrorCode) -> Refusal:
    """A refusal with an error code."""

    class AnyRefusal(Refusal):
        """Whatever the error code."""

        code = error

    return AnyRefusal()


def rotated(profile: Profile) -> CoordinatedBroker:
    """Producer id 7 came to its last epoch and gave way to another, of which a transaction is open."""
    world = CoordinatedBroker(profile)
    world.put(TransactionState.EMPTY, MAX_EPOCH - 1)
    world.begin(world.init(expected=(7, MAX_EPOCH - 1)))
    return world


# --- the producer id before ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("profile", "kept"), [(KAFKA_4_0, True), (KAFKA_4_1, False)], ids=["4.0", "4.1"])
def test_the_first_partition_forgets_the_producer_id_before(profile: Profile, kept: bool) -> None:
    """Since 4.1 every transition takes the present producer id for the previous one, that to Ongoing too."""
    world = rotated(profile)

    assert (7 if kept else world.metadata().producer_id) == world.metadata().previous_producer_id


def test_a_late_end_of_the_producer_id_before() -> None:
    """While a transaction of the new producer id is open the old one has no owner; 4.0 still fences it."""
    for profile, refusal in ((KAFKA_4_0, ProducerFenced), (KAFKA_4_1, InvalidProducerIdMapping)):
        world = rotated(profile)

        with pytest.raises(refusal):
            world.end(identity(7, MAX_EPOCH - 1))


def test_a_late_start_of_the_producer_id_before() -> None:
    """Who expects the old identity while a transaction of the new one is open is fenced at once, and aborts nothing."""
    world = rotated(NEWEST)

    with pytest.raises(ProducerFenced):
        world.init(expected=(7, MAX_EPOCH - 1))

    assert (TransactionState.ONGOING, None) == (world.metadata().state, world.coordinator.states.known(ID).pending)


@pytest.mark.parametrize("profile", [SNAPSHOT_4_0, KAFKA_4_0], ids=["snapshot", "4.0"])
def test_before_4_1_the_end_of_a_transaction_of_version_2_forgets_it(profile: Profile) -> None:
    """Of the transitions of a transaction the last one alone takes the present producer id for the previous one."""
    world = rotated(profile)
    producer = identity(world.metadata().producer_id, 0)

    world.end(producer)
    decided = world.metadata().previous_producer_id
    world.coordinator.send_markers()

    assert (7, producer.producer_id) == (decided, world.metadata().previous_producer_id)


def test_before_4_1_the_end_of_a_transaction_of_version_0_keeps_it() -> None:
    """Only the next producer that starts forgets it then."""
    world = rotated(KAFKA_3_9)
    producer = identity(world.metadata().producer_id, 0)

    world.end(producer)
    world.coordinator.send_markers()
    kept = world.metadata().previous_producer_id
    world.init()

    assert (7, producer.producer_id) == (kept, world.metadata().previous_producer_id)


# --- the client's transaction version -----------------------------------------------------------------------------


@pytest.mark.parametrize(("profile", "kept"), [(SNAPSHOT_4_0, 0), (KAFKA_4_0, 2)], ids=["snapshot", "4.0"])
def test_who_starts_keeps_the_transaction_version_of_the_end_before(profile: Profile, kept: int) -> None:
    """Since 4.0 the record of an id at rest names the version of the transaction before, in memory and in the log."""
    world = CoordinatedBroker(profile)
    world.put(TransactionState.COMPLETE_COMMIT, client_version=2)

    world.init()

    assert [kept, kept] == [known.client_version for known in (world.metadata(), *world.written())]


@pytest.mark.parametrize(("profile", "kept"), [(KAFKA_3_9, 0), (SNAPSHOT_4_0, 0), (KAFKA_4_0, 2)])
def test_an_open_transaction_of_version_2(profile: Profile, kept: int) -> None:
    """Since 4.0 the record of an open transaction names it too."""
    world = CoordinatedBroker(profile)
    world.put(TransactionState.EMPTY)

    request = AddPartitionsRequest(4, ID, identity(7, 5), (T0,))
    handle_add_partitions(world.coordinator, request, (T0, T1))

    assert (TransactionState.ONGOING, kept) == (world.metadata().state, world.metadata().client_version)


@pytest.mark.parametrize(("profile", "recorded"), [(SNAPSHOT_4_0, 1), (KAFKA_4_0, 0)], ids=["snapshot", "4.0"])
def test_a_fence_of_version_1_is_recorded_as_one_of_version_0(profile: Profile, recorded: int) -> None:
    """Since 4.0 an end that leaves the epoch as it is names version 0, whatever version the coordinator has."""
    world = CoordinatedBroker(profile.under(1))
    world.put(TransactionState.ONGOING)

    with pytest.raises(ConcurrentTransactions):
        world.init()

    assert (TransactionState.PREPARE_ABORT, recorded) == (world.metadata().state, world.metadata().client_version)


@pytest.mark.parametrize("profile", [DOWNGRADED, SNAPSHOT_4_0.under(0)], ids=["4.3", "snapshot"])
def test_an_end_of_version_2_locks_an_id_of_version_0(profile: Profile) -> None:
    """A record of version 0 cannot hold the client's version: the end is refused, and the transition stays for ever."""
    world = CoordinatedBroker(profile)
    world.put(TransactionState.ONGOING)

    answers = [handle_end_txn(world.coordinator, version, ID, identity(7, 5), True).error for version in (5, 5, 4)]
    started = handle_init_producer_id(world.coordinator, 5, ID, TIMEOUT_MS).error

    assert [ErrorCode.UNSUPPORTED_VERSION, *[ErrorCode.CONCURRENT_TRANSACTIONS] * 3] == [*answers, started]
    assert (TransactionState.ONGOING, ()) == (world.metadata().state, world.written())


def test_a_partition_of_version_2_locks_an_id_of_version_0() -> None:
    """Whichever request adds the partition, a broker's for a Produce of version 12 or another."""
    world = CoordinatedBroker(DOWNGRADED)
    world.put(TransactionState.EMPTY)

    with pytest.raises(UnsupportedVersion):
        world.coordinator.add_partitions(ID, identity(7, 5), (T0,), 2)
    with pytest.raises(ConcurrentTransactions):
        world.coordinator.add_partitions(ID, identity(7, 5), (T0,), 0)


def test_a_new_coordinator_unlocks_an_id_of_version_0() -> None:
    """What was pending is in no log: the id is free once its coordinator has moved."""
    world = CoordinatedBroker(DOWNGRADED)
    first = world.init()
    world.begin(first)
    with pytest.raises(UnsupportedVersion):
        world.end(first, version=2)
    world.crash(1)

    world.end(first, version=0)

    assert TransactionState.PREPARE_COMMIT == world.metadata().state


def test_the_end_of_a_transaction_that_outlived_its_version() -> None:
    """A decision of version 2 that a coordinator of version 0 finds gets its markers, and its end no record."""
    world = CoordinatedBroker(NEWEST)
    first = world.init()
    world.begin(first)
    world.end(first)
    world.log.profile = DOWNGRADED

    world.coordinator.send_markers()
    world.coordinator.send_markers()

    assert (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT, []) == (
        world.metadata().state,
        world.coordinator.states.known(ID).pending,
        world.coordinator.markers.owed,
    )


# --- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "error"),
    [(KAFKA_2_5, ErrorCode.INVALID_PRODUCER_EPOCH), (KAFKA_2_7, ErrorCode.PRODUCER_FENCED)],
    ids=["2.5", "2.7"],
)
def test_before_2_7_a_fence_has_no_code_of_its_own(profile: Profile, error: ErrorCode) -> None:
    """Every coordinator request of a fenced producer is answered 47 then, whatever its version."""
    world = CoordinatedBroker(profile)
    world.put(TransactionState.ONGOING)
    stale = identity(7, 4)

    added = handle_add_partitions(world.coordinator, AddPartitionsRequest(2, ID, stale, (T0,)), (T0, T1))
    ended = handle_end_txn(world.coordinator, 2, ID, stale, True)

    assert [error, error] == [added[T0], ended.error]


@pytest.mark.parametrize(
    ("error", "scala", "since"),
    [
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.INVALID_FETCH_SIZE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (
            ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TXN_STATE),
    ],
    ids=lambda error: error.name.lower(),
)
def test_what_who_commits_offsets_is_reported_of_the_log(error: ErrorCode, scala: ErrorCode, since: ErrorCode) -> None:
    """The group coordinator of 4.0 has another table than the one before it."""
    assert (scala, since) == (reported(refusal_of(error), KAFKA_3_9).code, reported(refusal_of(error), KAFKA_4_0).code)


@pytest.mark.parametrize("version", [3, 4], ids=["legacy", "generic"])
def test_offsets_without_a_producer_id_are_verified(version: int) -> None:
    """The coordinator verifies a TxnOffsetCommit without a producer id all the same; only Produce leaves that out."""
    world = GroupWorld(KAFKA_4_1)
    world.begin()

    answers = world.request(identity(-1, -1), 3, version)

    assert ErrorCode.INVALID_PRODUCER_ID_MAPPING == answers[T0]


@pytest.mark.parametrize(
    ("profile", "version", "error"),
    [
        (KAFKA_3_6, 9, ErrorCode.INVALID_TXN_STATE),
        (KAFKA_3_6, 11, ErrorCode.INVALID_TXN_STATE),
        (KAFKA_3_9, 10, ErrorCode.INVALID_TXN_STATE),
        (KAFKA_3_9, 11, ErrorCode.TRANSACTION_ABORTABLE),
    ],
    ids=["3.6", "3.6 as 11", "3.9 as 10", "3.9"],
)
def test_a_partition_that_is_not_in_the_transaction(profile: Profile, version: int, error: ErrorCode) -> None:
    """The coordinator of 3.6 has no code of its own for it, so that none is turned into an older one."""
    world = CoordinatedBroker(profile)
    producer = world.init()
    world.begin(producer, (T1,))
    own = ErrorCode.TRANSACTION_ABORTABLE if profile.abortable_has_code else ErrorCode.INVALID_TXN_STATE
    verification = ProduceVerification(
        profile, world.coordinator, {0: world.partitions[T0]}, {0: T0}, version, world.clock.now
    )

    with pytest.raises(Refusal) as refused:
        verification.guard_for(ID, 0, producer, Sequence(0))
    with pytest.raises(Refusal) as agreed:
        agree(world.coordinator, Verify(ID, producer, T0, False))

    assert (error, own) == (refused.value.code, agreed.value.code)
    assert {T0: own, T1: ErrorCode.NONE} == world.coordinator.verify_partitions(ID, producer, (T0, T1))


# --- markers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION])
def test_a_partition_that_cannot_hold_markers(error: ErrorCode) -> None:
    """It is waited for no longer, and the transaction completes without its marker."""
    world = CoordinatedBroker()
    first = world.init()
    world.begin(first, (T0, T1))
    world.refusing[T1] = error

    world.end(first)
    world.coordinator.send_markers()

    assert TransactionState.COMPLETE_COMMIT == world.metadata().state
    assert (1, 0) == (world.partitions[T0].log_end, world.partitions[T1].log_end)


# --- verification -------------------------------------------------------------------------------------------------


def test_whether_a_verification_bumps_is_what_the_first_asker_said() -> None:
    """The entry stays as it was made, whichever request comes next, until a batch or a marker takes it away."""
    state = Partition(NEWEST).state
    producer, now = ProducerId(7), Timestamp(0)

    first = state.start_verification(producer, Sequence(0), Epoch(0), False, now)
    second = state.start_verification(producer, Sequence(0), Epoch(0), True, now)

    assert first == second
    assert not state.verifications[producer].bumps


# --- two-phase commit (KIP-939) -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed", "phases", "error"),
    [
        (False, TwoPhaseOptions(enabled=True), ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (False, TwoPhaseOptions(enabled=True, keeps_prepared=True), ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (False, TwoPhaseOptions(keeps_prepared=True), ErrorCode.UNSUPPORTED_VERSION),
        (True, TwoPhaseOptions(enabled=True, keeps_prepared=True), ErrorCode.UNSUPPORTED_VERSION),
    ],
    ids=["not-allowed", "not-allowed-first", "keeps", "allowed-and-keeps"],
)
def test_two_phases_that_are_refused(allowed: bool, phases: TwoPhaseOptions, error: ErrorCode) -> None:
    """The broker must allow them, and no prepared transaction can be kept."""
    world = CoordinatedBroker()
    world.coordinator.config = CoordinatorConfig(two_phase_commit=allowed)

    with pytest.raises(Refusal) as refused:
        world.coordinator.init_producer_id(ID, TIMEOUT_MS, None, phases)

    assert error == refused.value.code
    assert [] == list(world.coordinator.listed())


def test_a_transaction_of_two_phases_has_no_timeout() -> None:
    """Whatever timeout the client names; its transactions are not aborted for their age."""
    world = CoordinatedBroker()
    world.coordinator.config = CoordinatorConfig(two_phase_commit=True)
    world.begin(world.coordinator.init_producer_id(ID, -5, None, TwoPhaseOptions(enabled=True)))
    world.clock.advance(2**31 + 1)

    abort_timed_out(world.coordinator)

    assert (NO_TIMEOUT_MS, TransactionState.ONGOING) == (world.metadata().timeout_ms, world.metadata().state)


# --- a coordinator that has not heard that it is one no longer ----------------------------------------------------


def test_a_deposed_coordinator_answers_what_needs_no_append() -> None:
    """From its cache: that a partition is in the transaction, that an end was carried out; it writes nothing."""
    leaders = {0: 0}
    world = CoordinatedBroker(NEWEST)
    shared = world.log
    world.log = NodeTransactionLog(NEWEST, shared, 0, leaders)
    world.coordinator = TransactionCoordinator(NEWEST, world.producer_ids, world.log, world.write, world.clock)
    world.coordinator.elect(0, CoordinatorEpoch(0))
    first = world.init()
    world.begin(first)
    leaders[0] = 1
    size = shared.partitions[0].log_end

    world.begin(first)
    verified = world.coordinator.verify_partitions(ID, first, (T0, T1))
    with pytest.raises(NotCoordinator):
        world.begin(first, (T1,))

    assert {T0: ErrorCode.NONE, T1: ErrorCode.TRANSACTION_ABORTABLE} == verified
    assert (size, TransactionState.ONGOING) == (shared.partitions[0].log_end, world.metadata().state)
