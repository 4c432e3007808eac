import pytest

from model_tests.unit.spec.transactional import EPOCH, FRESH, LAST, OTHER, PRODUCER, ended, ending, entry
from spec.protocol.completing import fence
from spec.protocol.coordinator import TransactionEntry, completed, loaded, names_of
from spec.protocol.ending import WITH_BUMP, WITHOUT_BUMP, answered, end, guards, keeps_outcome
from spec.versions import KAFKA_3_9, KAFKA_4_2, NEWEST, SNAPSHOT_4_0
from spec.vocabulary import ErrorCode, TransactionState

PREPARES = "prepares"
STATES = {
    "Empty": TransactionState.EMPTY,
    "Ongoing": TransactionState.ONGOING,
    "PrepareCommit": TransactionState.PREPARE_COMMIT,
    "PrepareAbort": TransactionState.PREPARE_ABORT,
    "CompleteCommit": TransactionState.COMPLETE_COMMIT,
    "CompleteAbort": TransactionState.COMPLETE_ABORT,
}
VERSIONS_0_AND_1 = """
    Empty          ABORT   INVALID_TXN_STATE
    Empty          COMMIT  INVALID_TXN_STATE
    Ongoing        ABORT   prepares
    Ongoing        COMMIT  prepares
    PrepareCommit  ABORT   INVALID_TXN_STATE
    PrepareCommit  COMMIT  CONCURRENT_TRANSACTIONS
    PrepareAbort   ABORT   CONCURRENT_TRANSACTIONS
    PrepareAbort   COMMIT  INVALID_TXN_STATE
    CompleteCommit ABORT   INVALID_TXN_STATE
    CompleteCommit COMMIT  NONE
    CompleteAbort  ABORT   NONE
    CompleteAbort  COMMIT  INVALID_TXN_STATE
"""
VERSION_2 = """
    Ongoing        ABORT   retry    PRODUCER_FENCED          PRODUCER_FENCED
    Ongoing        ABORT   current  prepares                 prepares
    Ongoing        COMMIT  retry    PRODUCER_FENCED          PRODUCER_FENCED
    Ongoing        COMMIT  current  prepares                 prepares
    Empty          ABORT   retry    PRODUCER_FENCED          PRODUCER_FENCED
    Empty          ABORT   current  prepares                 INVALID_TXN_STATE
    Empty          COMMIT  retry    PRODUCER_FENCED          PRODUCER_FENCED
    Empty          COMMIT  current  INVALID_TXN_STATE        INVALID_TXN_STATE
    CompleteAbort  ABORT   retry    NONE                     NONE
    CompleteAbort  ABORT   current  prepares                 PRODUCER_FENCED
    CompleteAbort  COMMIT  retry    INVALID_TXN_STATE        INVALID_TXN_STATE
    CompleteAbort  COMMIT  current  INVALID_TXN_STATE        PRODUCER_FENCED
    CompleteCommit ABORT   retry    INVALID_TXN_STATE        INVALID_TXN_STATE
    CompleteCommit ABORT   current  prepares                 PRODUCER_FENCED
    CompleteCommit COMMIT  retry    NONE                     NONE
    CompleteCommit COMMIT  current  INVALID_TXN_STATE        PRODUCER_FENCED
    PrepareCommit  ABORT   retry    INVALID_TXN_STATE        INVALID_TXN_STATE
    PrepareCommit  ABORT   current  PRODUCER_FENCED          PRODUCER_FENCED
    PrepareCommit  COMMIT  retry    CONCURRENT_TRANSACTIONS  CONCURRENT_TRANSACTIONS
    PrepareCommit  COMMIT  current  PRODUCER_FENCED          PRODUCER_FENCED
    PrepareAbort   ABORT   retry    CONCURRENT_TRANSACTIONS  CONCURRENT_TRANSACTIONS
    PrepareAbort   ABORT   current  PRODUCER_FENCED          PRODUCER_FENCED
    PrepareAbort   COMMIT  retry    INVALID_TXN_STATE        INVALID_TXN_STATE
    PrepareAbort   COMMIT  current  PRODUCER_FENCED          PRODUCER_FENCED
"""
"""The last two columns: the newest release, and the build before 4.0."""


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


def outcome(before: TransactionEntry, *, commits: bool, epoch: int, bumps: bool, version: str) -> str:
    profile = {"newest": NEWEST, "snapshot": SNAPSHOT_4_0}[version]
    transition = end(before, ending(commits=commits, epoch=epoch, bumps=bumps), profile)
    return PREPARES if transition.appends else ErrorCode(transition.error).name


@pytest.mark.parametrize(("state", "result", "expected"), rows(VERSIONS_0_AND_1))
def test_every_cell_of_versions_0_and_1(state: str, result: str, expected: str) -> None:
    """A repetition cannot be distinguished from the first request."""
    before = entry(STATES[state], client_version=0)

    for version in ("newest", "snapshot"):
        assert expected == outcome(before, commits=result == "COMMIT", epoch=EPOCH, bumps=False, version=version)


@pytest.mark.parametrize(("state", "result", "which", "newest", "snapshot"), rows(VERSION_2))
def test_every_cell_of_version_2(state: str, result: str, which: str, newest: str, snapshot: str) -> None:
    """The epoch before the bump distinguishes a repetition from the next request."""
    before = entry(STATES[state])
    epoch = EPOCH - 1 if which == "retry" else EPOCH

    for version, expected in (("newest", newest), ("snapshot", snapshot)):
        assert expected == outcome(before, commits=result == "COMMIT", epoch=epoch, bumps=True, version=version)


@pytest.mark.parametrize(("bumps", "expected"), [(True, "CONCURRENT_TRANSACTIONS"), (False, "PRODUCER_FENCED")])
def test_only_under_version_2_a_transition_under_way_is_checked_first(bumps: bool, expected: str) -> None:
    """EndTxn up to version 4 keeps the order of old: producer id, epoch, and then what is pending."""
    before = entry(STATES["PrepareAbort"], pending=TransactionState.COMPLETE_ABORT.value, client_version=0)

    assert expected == outcome(before, commits=False, epoch=EPOCH - 1, bumps=bumps, version="newest")


def test_the_tables_are_complete() -> None:
    """Six states, two outcomes, and with bumps two epochs."""
    assert len(WITHOUT_BUMP) == len(rows(VERSIONS_0_AND_1)) == 12
    assert len(WITH_BUMP) == len(rows(VERSION_2)) == 24


@pytest.mark.parametrize(
    ("before", "producer", "guard"),
    [
        (TransactionEntry(), PRODUCER, "id_unknown"),
        (entry(TransactionState.ONGOING), OTHER, "producer_other"),
        (entry(TransactionState.ONGOING, producer_epoch=EPOCH + 2), PRODUCER, "epoch_other"),
        (entry(TransactionState.ONGOING, pending=TransactionState.ONGOING.value), PRODUCER, "pending_first"),
        (entry(TransactionState.ONGOING, producer_epoch=LAST), PRODUCER, "epoch_other"),
    ],
    ids=["unknown", "producer", "epoch", "pending", "last"],
)
def test_what_is_refused_before_the_tables(before: TransactionEntry, producer: int, guard: str) -> None:
    """Metadata, pending transition, producer id, epoch, in this order."""
    request = ending(commits=True)
    request = type(request)(producer, EPOCH, commits=True, bumps=True)

    transition = end(before, request, NEWEST)

    assert guard == names_of(guards(before, request, NEWEST))[transition.branch]
    assert transition.entry == transition.target == before


def test_before_4_0_the_identity_is_looked_at_before_the_pending_transition() -> None:
    """Another epoch is fenced even while a transition is under way."""
    before = entry(TransactionState.ONGOING, pending=TransactionState.ONGOING.value)
    stale = ending(commits=True, epoch=EPOCH - 1)

    assert end(before, stale, SNAPSHOT_4_0).error == ErrorCode.PRODUCER_FENCED
    assert end(before, stale, NEWEST).error == ErrorCode.CONCURRENT_TRANSACTIONS


def test_version_2_bumps_and_versions_0_and_1_do_not() -> None:
    """Prepare has the next epoch and remembers the one before; the answer has the next one."""
    before = entry(TransactionState.ONGOING)

    bumped = end(before, ending(commits=True), NEWEST)
    plain = end(before, ending(commits=True, bumps=False), NEWEST)

    assert (bumped.target.producer_epoch, bumped.target.last_epoch) == (EPOCH + 1, EPOCH)
    assert (plain.target.producer_epoch, plain.target.last_epoch) == (EPOCH, -1)
    assert answered(bumped, ending(commits=True), NEWEST).producer_epoch == EPOCH + 1
    assert answered(plain, ending(commits=True, bumps=False), NEWEST).producer_epoch == -1
    assert bumped.entry.pending == bumped.target.state == TransactionState.PREPARE_COMMIT
    assert bumped.entry.producer_epoch == EPOCH


def test_the_last_epoch_rotates_to_a_new_producer_id() -> None:
    """Markers have the old id at 32767, the next transaction a new one at 0; a repetition is still recognised."""
    before = entry(TransactionState.ONGOING, producer_epoch=LAST - 1)
    request = ending(commits=True, epoch=LAST - 1)

    prepared = end(before, request, NEWEST)
    after = ended(before, request, NEWEST)
    again = end(after, request, NEWEST)

    assert (prepared.target.producer_id, prepared.target.producer_epoch) == (PRODUCER, LAST)
    assert (after.producer_id, after.producer_epoch, after.previous_producer_id) == (FRESH, 0, PRODUCER)
    assert answered(prepared, request, NEWEST).producer_id == FRESH
    assert answered(prepared, request, SNAPSHOT_4_0).producer_id == PRODUCER
    assert again.error == ErrorCode.NONE
    assert answered(again, request, NEWEST).producer_id == FRESH


def test_a_rotation_is_lost_in_a_failover_where_the_record_does_not_have_it() -> None:
    """Before 4.3 the new coordinator completes with the old id at 32767 (KAFKA-20310)."""
    request = ending(commits=True, epoch=LAST - 1)
    prepared = end(entry(TransactionState.ONGOING, producer_epoch=LAST - 1), request, NEWEST)

    assert loaded(prepared.target, NEWEST).next_producer_id == FRESH
    assert loaded(prepared.target, KAFKA_4_2).next_producer_id == -1


@pytest.mark.parametrize(
    ("profile", "commits", "appends"),
    [(NEWEST, False, True), (NEWEST, True, False), (KAFKA_4_2, False, False), (SNAPSHOT_4_0, True, False)],
    ids=["abort", "commit", "4.2", "snapshot"],
)
def test_at_epoch_32767_only_the_newest_release_has_a_way_out(profile: object, commits: bool, appends: bool) -> None:
    """There an abort goes through without a bump; else the id stays Ongoing."""
    before = entry(TransactionState.ONGOING, producer_epoch=LAST)
    assert isinstance(profile, type(NEWEST))

    transition = end(before, ending(commits=commits, epoch=LAST), profile)

    assert transition.appends == appends
    assert (transition.error == ErrorCode.UNKNOWN_SERVER_ERROR) != appends
    assert appends or transition.entry == before


@pytest.mark.parametrize("bumps", [False, True])
def test_a_commit_cannot_take_the_place_of_a_fence(bumps: bool) -> None:
    """While the coordinator is about to abort, a commit of the same epoch is an error, and the fence stays."""
    fenced = fence(entry(TransactionState.ONGOING))

    transition = end(fenced, ending(commits=True, bumps=bumps), NEWEST)

    assert not transition.appends
    assert ErrorCode.UNKNOWN_SERVER_ERROR == transition.error
    assert fenced == transition.entry


def test_nothing_changes_the_outcome_after_prepare() -> None:
    """Whatever EndTxn asks for, a prepared transaction keeps its outcome."""
    for state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
        for commits in (True, False):
            for epoch in (EPOCH - 1, EPOCH, EPOCH + 1):
                before = entry(state)
                transition = end(before, ending(commits=commits, epoch=epoch), NEWEST)
                assert keeps_outcome(before, completed(transition.entry, transition.target, NEWEST))


def test_a_stored_version_decides_about_repetitions_before_4_0() -> None:
    """An EndTxn of version 0 after one of version 2 is fenced at the current epoch, and the other way is repeated."""
    after_2 = entry(TransactionState.COMPLETE_COMMIT, client_version=2)
    after_0 = entry(TransactionState.COMPLETE_COMMIT, client_version=0)

    old = end(after_2, ending(commits=True, bumps=False), SNAPSHOT_4_0)
    new = end(after_0, ending(commits=True), SNAPSHOT_4_0)

    assert old.error == ErrorCode.PRODUCER_FENCED
    assert new.error == ErrorCode.NONE
    assert answered(new, ending(commits=True), SNAPSHOT_4_0).producer_epoch == EPOCH
    assert end(after_2, ending(commits=True, bumps=False), KAFKA_3_9).error == ErrorCode.PRODUCER_FENCED
