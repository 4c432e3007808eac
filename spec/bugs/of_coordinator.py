"""Known bugs of one transactional id at its coordinator: identities, epochs, and what an abort leaves behind."""

from dataclasses import replace
from typing import Final

from spec import rules
from spec.bugs.bug import Bug, FiniteSystem, holds_in, violated, violated_in
from spec.systems.coordinator.system import coordinating, sizes
from spec.systems.coordinator.transactional_id import CoordinatorKnobs, early
from spec.versions import KAFKA_4_0, NEWEST, PROFILES, Profile


def instance(release: str | Profile, knobs: CoordinatorKnobs, last_epoch: int = 2) -> FiniteSystem:
    """One id at the coordinator of a release, whose epochs end early."""
    profile = PROFILES[release] if isinstance(release, str) else release
    made = replace(knobs, profile=early(profile, last_epoch))
    return FiniteSystem("coordinator", made, lambda: coordinating(made), lambda: coordinating(made), sizes(made))


PENDING_CLEARED: Final = replace(NEWEST, name=f"{NEWEST.name}-pending-cleared")
"""The newest release, were it to forget a transition whose record cannot be written."""

LOWERED_TO_1: Final = replace(NEWEST, name=f"{NEWEST.name}-lowered-to-1")
"""The newest release on a cluster whose transaction version is lowered to 1, not to 0."""

BEFORE_18660: Final = replace(KAFKA_4_0, name="4.0-before-18660", pending_checked_first=False)
"""4.0 while it was made: the reply has the next identity, and the next request is judged by the identity first."""

_PLAIN: Final = CoordinatorKnobs()
_LOSSY: Final = CoordinatorKnobs(loses_replies=True)
_FAILING: Final = CoordinatorKnobs(append_fails=True)
_FAILING_OVER: Final = CoordinatorKnobs(loses_replies=True, fails_over=True, times_out=False)
_LOWERED: Final = CoordinatorKnobs(lowered_to=0, times_out=False)
_TWO: Final = CoordinatorKnobs(expires=True, starts=2, instances=2)

_SELF_FENCED: Final = violated(
    BEFORE_18660.name, instance(BEFORE_18660, replace(_PLAIN, times_out=False)), "newest_identity_is_taken"
)
_DOUBLE_BUMP: Final = violated("4.0-SNAPSHOT", instance("4.0-SNAPSHOT", _PLAIN), "open_can_be_ended")
_LOCKED: Final = violated("4.3", instance("4.3", _LOWERED), "open_can_time_out")
_NO_ROTATION: Final = violated("4.2", instance("4.2", _LOSSY), "open_can_be_ended")
_NOT_IN_LOG: Final = violated("4.2", instance("4.2", _FAILING_OVER), "last_epoch_is_not_handed_out")
_BURNT: Final = violated("2.5", instance("2.5", _FAILING, last_epoch=4), "epochs_are_not_burnt")
_CLIENT_CONTINUES: Final = violated(
    "3.9.0", instance("3.9.0", replace(_TWO, mapping_error_abortable=True), last_epoch=3), "replaced_commits_nothing"
)
_HALF: Final = violated(
    "0.11", instance("0.11", replace(_PLAIN, timeout_fences=False), last_epoch=3), "commit_is_of_the_whole"
)

OF_COORDINATOR: Final = (
    Bug(
        name="KAFKA-6119",
        title="a timeout that does not fence",
        mechanism="An open transaction is aborted past its timeout, with the epoch that its paused producer has. The "
        "producer wakes, continues writing into a new transaction, and commits: the first half is lost.",
        source=("KAFKA-6119",),
        rule=rules.TXN_CLIENT_VERDICT,
        cases=(
            _HALF,
            holds_in(_HALF, "1.0", instance("1.0", _PLAIN, 3), why="the abort raises the epoch"),
            holds_in(_HALF, "4.4", instance("4.4", _PLAIN, 3), why="the abort raises the epoch"),
        ),
    ),
    Bug(
        name="KAFKA-9666",
        title="epochs burnt by a log that takes nothing",
        mechanism="A fence raises the epoch in memory, and the append to the coordinator's log fails. The next attempt "
        "raises it again, until the epochs are used up although no producer has got one.",
        source=("KAFKA-9666",),
        rule=rules.FENCE_EPOCH_EXHAUSTION,
        cases=(
            _BURNT,
            holds_in(_BURNT, "2.7", instance("2.7", _FAILING, 4), why="a fence that failed is remembered"),
            holds_in(_BURNT, "4.4", instance("4.4", _FAILING, 4), why="under version 2 the abort itself raises it"),
        ),
    ),
    Bug(
        name="KAFKA-18019",
        title="a replaced instance continues after its id expired",
        mechanism="A second instance takes over and goes idle; the transactional id expires. The first one gets "
        "INVALID_PRODUCER_ID_MAPPING, treats that as an abortable error, and gets a new producer id.",
        source=("KAFKA-18019",),
        rule=rules.FENCE_ZOMBIE_CANNOT_COMMIT,
        cases=(
            _CLIENT_CONTINUES,
            holds_in(_CLIENT_CONTINUES, "4.0", instance("4.0", _TWO, 3), why="the error is fatal to the client"),
            holds_in(_CLIENT_CONTINUES, "4.4", instance("4.4", _TWO, 3), why="the error is fatal to the client"),
        ),
    ),
    Bug(
        name="KAFKA-18660",
        title="a producer fenced by its own rotation",
        mechanism="EndTxn at the last epoch answers the next producer id at once, while the end of the transaction is "
        "pending. The next request has the new identity and is compared with the old one: INVALID_PRODUCER_ID_MAPPING.",
        source=("KAFKA-18660", "KAFKA-18464"),
        rule=rules.FENCE_STALE_EPOCH,
        cases=(
            _SELF_FENCED,
            holds_in(_SELF_FENCED, "4.0", instance("4.0", _PLAIN), why="a pending transition is looked at first"),
            holds_in(_SELF_FENCED, "4.4", instance("4.4", _LOSSY), why="a pending transition is looked at first"),
        ),
    ),
    Bug(
        name="lowered-version",
        title="a request of version 2 after a downgrade to version 0 locks its id",
        mechanism="A client of transaction version 2 has a transaction open when the cluster's is lowered to 0, and "
        "continues with requests of version 2. The coordinator sets the pending state, and then finds that its "
        "record, by now of the old format, cannot hold the client's version: UNSUPPORTED_VERSION. The pending state is "
        "never cleared; every later request gets CONCURRENT_TRANSACTIONS, and no timeout ends it.",
        source=(
            "TransactionLog.valueToBytes",
            "TransactionStateManager.appendTransactionToLog",
            "TransactionStateManager.timedOutTransactions",
        ),
        rule=rules.TXN_TIMEOUT,
        cases=(
            _LOCKED,
            violated_in(_LOCKED, "4.0", instance("4.0", _LOWERED)),
            violated_in(_LOCKED, "4.4", instance("4.4", _LOWERED)),
            holds_in(
                _LOCKED,
                LOWERED_TO_1.name,
                instance(LOWERED_TO_1, replace(_LOWERED, lowered_to=1)),
                why="the flexible format has a field for the client's version",
            ),
            holds_in(
                _LOCKED,
                PENDING_CLEARED.name,
                instance(PENDING_CLEARED, replace(_LOWERED, unwritable_rolled_back=True)),
                why="nothing is pending after a record that could not be written, and the timeout ends it",
            ),
        ),
    ),
    Bug(
        name="KAFKA-19367",
        title="two bumps at the last epoch",
        mechanism="A transaction is open under the last epoch of a client. InitProducerId raises it to fence, and the "
        "abort raises it again: past the largest epoch. The id is stuck with an open transaction.",
        source=("KAFKA-19367",),
        rule=rules.FENCE_EPOCH_EXHAUSTION,
        cases=(
            _DOUBLE_BUMP,
            holds_in(
                _DOUBLE_BUMP,
                "4.3",
                instance("4.3", _LOSSY),
                why="the fence leaves the bump to the abort (since 4.0), which draws a new producer id (KAFKA-20090)",
            ),
        ),
    ),
    Bug(
        name="KAFKA-20090",
        title="the fencing epoch handed out after a timeout",
        mechanism="A transaction under the last epoch of a client times out, and the abort draws no new producer id: "
        "the id completes at the largest epoch. A late EndTxn looks like a retry and gets that epoch; the next "
        "transaction can never be fenced.",
        source=("KAFKA-20090",),
        rule=rules.FENCE_EPOCH_EXHAUSTION,
        cases=(
            _NO_ROTATION,
            holds_in(_NO_ROTATION, "4.3", instance("4.3", _LOSSY), why="a fence rotates too"),
        ),
    ),
    Bug(
        name="KAFKA-20310",
        title="the next producer id forgotten in a failover",
        mechanism="EndTxn under the last epoch draws the next producer id, which is in memory alone. The coordinator "
        "fails over and completes with the old id at the largest epoch, which the repeated EndTxn returns.",
        source=("KAFKA-20310",),
        rule=rules.FENCE_EPOCH_EXHAUSTION,
        cases=(
            _NOT_IN_LOG,
            holds_in(_NOT_IN_LOG, "4.3", instance("4.3", _FAILING_OVER), why="both producer ids are in the log"),
        ),
    ),
)
