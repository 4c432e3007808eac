"""Known bugs of whole transactions, and of a group's offsets in transactions.

In each, a message is late or repeated, or belongs to another transaction.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from spec import rules
from spec.bugs.bug import Bug, FiniteSystem, holds_in, violated, violated_in
from spec.systems import membership, offsets
from spec.systems.transactions.decisions import decisions, remembered
from spec.systems.transactions.system import transactions
from spec.systems.transactions.world import BATCHES, BUMPS, ENDS, MARKERS, ONGOING, Bounds, TransactionKnobs, finite
from spec.versions import BEFORE_3_7, KAFKA_4_0, NEWEST, PROFILES, Profile

BEFORE_18654: Final = replace(KAFKA_4_0, name="4.0-before-18654", marker_keeps_next_guard=False)
"""4.0 during its development: a transaction is ongoing for its own epoch alone, and a marker drops every guard."""

_QUIET: Final = TransactionKnobs(
    readers=False, groups=False, clients_bump=False, times_out=False, leaders_fail=False, appends_fail=False
)
_TWO: Final = Bounds(transactions=2, decisions=3)
_THREE: Final = Bounds(transactions=3, decisions=4)
_ONE: Final = Bounds(transactions=1, decisions=2)
_ONE_FAILING_OVER: Final = Bounds(transactions=1, decisions=2, coordinators=2)


def instance(
    release: str | Profile, bounds: Bounds, late: Iterable[str] = (), knobs: TransactionKnobs = _QUIET
) -> FiniteSystem:
    """The transactions of a release, some of whose messages may be late.

    Args:
        release: a release by its name, or a profile that stands for one.
        bounds: how much may happen.
        late: the kinds of messages that may arrive after their transaction has ended.
        knobs: what else is in the system.
    """
    profile = PROFILES[release] if isinstance(release, str) else release
    made = replace(knobs, profile=finite(profile), outlive=frozenset(late), bounds=bounds)
    return FiniteSystem(
        "transactions",
        made,
        lambda: transactions(made, remembered(decisions(made))),
        lambda: transactions(made),
        made.sizes(),
    )


IDENTITY_COMPARED: Final = replace(NEWEST, name=f"{NEWEST.name}-identity-compared")
"""The newest release, were it to compare the whole identity that a bump expects with that of the open transaction."""

_BUMPING: Final = replace(_QUIET, clients_bump=True)
_COMPARING: Final = replace(_BUMPING, compared=frozenset({ONGOING}))
_UNGUARDED: Final = replace(_QUIET, guard_compared=False)
_NOT_REPEATED: Final = replace(_QUIET, repeated_marker_accepted=False)

_LATE_END: Final = violated("3.9.0", instance("3.9.0", _TWO, (ENDS,)), "ends_its_own")
_LATE_BATCH: Final = violated("3.9.0", instance("3.9.0", _TWO, (BATCHES,)), "decided_with_its_own")
_HANGING: Final = violated("3.9.0-nover", instance("3.9.0-nover", _ONE, (BATCHES,)), "open_data_will_be_decided")
_RACE: Final = violated("3.5", instance("3.6", _ONE, (BATCHES,), _UNGUARDED), "open_data_will_be_decided")
_GUARD_TAKEN: Final = violated(BEFORE_18654.name, instance(BEFORE_18654, _TWO), "marker_leaves_next_guard")
_STUCK: Final = violated(
    "4.2-before-19999", instance("4.2", _ONE_FAILING_OVER, (), _NOT_REPEATED), "markers_are_let_in"
)
_LATE_BUMP: Final = violated(NEWEST.name, instance(NEWEST, _TWO, (BUMPS,), _BUMPING), "bump_ends_no_other")
_LATE_MARKER: Final = violated("4.1", instance("4.1", _TWO, (MARKERS,)), "decided_with_its_own")

OF_TRANSACTIONS: Final = (
    Bug(
        name="KAFKA-17754",
        title="a late EndTxn ends the next transaction",
        mechanism="EndTxn of a transaction is sent twice: the first copy is stuck in the network, the second is "
        "carried out. The next transaction has the same producer id and epoch, and the first copy ends it.",
        source=("KAFKA-17754", "KIP-890", "KAFKA-14562"),
        rule=rules.TXN_NO_CROSSTALK,
        cases=(
            _LATE_END,
            holds_in(_LATE_END, "4.0", instance("4.0", _TWO, (ENDS,)), why="every transaction has its own epoch"),
            holds_in(_LATE_END, "4.4", instance("4.4", _THREE, (ENDS,)), why="every transaction has its own epoch"),
        ),
    ),
    Bug(
        name="late-produce",
        title="a late Produce joins the next transaction",
        mechanism="A batch of an aborted transaction is stuck in the network. The next one has the same producer id "
        "and epoch, and writes to the same partition: the batch arrives, is verified, and shares its fate.",
        source=("KIP-890", "KAFKA-14402"),
        rule=rules.TXN_NO_CROSSTALK,
        cases=(
            _LATE_BATCH,
            holds_in(_LATE_BATCH, "4.0", instance("4.0", _TWO, (BATCHES,)), why="its epoch is of its transaction"),
            holds_in(_LATE_BATCH, "4.4", instance("4.4", _THREE, (BATCHES,)), why="its epoch is of its transaction"),
        ),
    ),
    Bug(
        name="hanging-transaction",
        title="a late Produce after the marker, and a transaction that is never ended",
        mechanism="A batch arrives after the marker of its transaction. The leader does not ask the coordinator: it "
        "opens a transaction on the partition that no marker ends, and the last stable offset stays there for ever.",
        source=("KAFKA-14402", "KIP-890", "KIP-664"),
        rule=rules.TXN_REGISTERED_BEFORE_DATA,
        cases=(
            _HANGING,
            holds_in(_HANGING, "3.9.0", instance("3.9.0", _TWO, (BATCHES,)), why="the partition asks the coordinator"),
            holds_in(_HANGING, "4.4", instance("4.4", _THREE, (BATCHES,)), why="the epoch of the batch is stale"),
        ),
    ),
    Bug(
        name="KAFKA-14884",
        title="a marker between verification and append",
        mechanism="The coordinator confirms that the partition is in the transaction. Before the batch is appended the "
        "transaction ends and its marker is written. The consent is used all the same: a transaction that hangs.",
        source=("KAFKA-14884",),
        rule=rules.TXN_REGISTERED_BEFORE_DATA,
        cases=(
            _RACE,
            holds_in(_RACE, "3.6", instance("3.6", _TWO, (BATCHES,)), why="a marker takes the guard away"),
            holds_in(_RACE, "4.4", instance("4.4", _TWO, (BATCHES,)), why="a marker takes the guard away"),
        ),
    ),
    Bug(
        name="KAFKA-18575",
        title="the previous marker takes the next transaction's guard",
        mechanism="EndTxn is answered before its marker is on the partition, and the next transaction's batch begins "
        "to be verified there. The marker drops its guard; the batch, by now confirmed, is refused.",
        source=("KAFKA-18575", "KAFKA-18654"),
        rule=rules.TXN_NO_CROSSTALK,
        cases=(
            _GUARD_TAKEN,
            holds_in(_GUARD_TAKEN, "4.0", instance("4.0", _TWO), why="a marker leaves the guard of its epoch"),
            holds_in(_GUARD_TAKEN, "4.4", instance("4.4", _TWO), why="a marker leaves the guard of its epoch"),
        ),
    ),
    Bug(
        name="KAFKA-19446",
        title="a late marker ends the next transaction",
        mechanism="A marker is sent twice, and its transaction completes with the first copy. The next transaction has "
        "the epoch that the marker carries; the second copy is not below it, and ends that one on the partition.",
        source=("KAFKA-19446", "KIP-1228"),
        rule=rules.TXN_NO_CROSSTALK,
        cases=(
            _LATE_MARKER,
            holds_in(_LATE_MARKER, "4.2", instance("4.2", _TWO, (MARKERS,)), why="a marker's epoch must be bumped"),
            holds_in(_LATE_MARKER, "4.4", instance("4.4", _THREE, (MARKERS,)), why="a marker's epoch must be bumped"),
        ),
    ),
    Bug(
        name="late-bump",
        title="a late InitProducerId that expects an identity ends the next transaction",
        mechanism="A client that resumes after an error asks for the next epoch, and names the identity that it has. "
        "The request is sent twice, and the first copy is stuck in the network. While a transaction is open the "
        "coordinator compares the producer id alone: the late copy aborts the next transaction, and fences its owner.",
        source=("KIP-360", "TransactionCoordinator.prepareInitProducerIdTransit", "TransactionMetadata"),
        rule=rules.TXN_NO_CROSSTALK,
        cases=(
            _LATE_BUMP,
            violated_in(_LATE_BUMP, "3.9.0", instance("3.9.0", _TWO, (BUMPS,), _BUMPING)),
            holds_in(
                _LATE_BUMP,
                IDENTITY_COMPARED.name,
                instance(IDENTITY_COMPARED, _TWO, (BUMPS,), _COMPARING),
                why="the epoch is compared too, also while a transaction is open",
            ),
        ),
    ),
    Bug(
        name="KAFKA-19999",
        title="a repeated marker is refused, and its id is stuck",
        mechanism="A marker is written, and the answer is lost. The coordinator sends it again; its epoch is no longer "
        "above that of the partition, and it is refused as stale. The coordinator stops, and the id never completes.",
        source=("KAFKA-19999",),
        rule=rules.TXN_COMPLETES,
        cases=(
            _STUCK,
            holds_in(_STUCK, "4.2", instance("4.2", _ONE_FAILING_OVER), why="a repeated marker is recognised"),
            holds_in(_STUCK, "4.4", instance("4.4", _ONE_FAILING_OVER), why="a repeated marker is recognised"),
        ),
    ),
)


def ending(release: str, zombies: int = 0) -> FiniteSystem:
    """The offsets of two transactions of one producer.

    Args:
        release: by its name.
        zombies: how often a fenced instance of the producer commits too.
    """
    made = offsets.OffsetsKnobs(PROFILES[release], zombies=zombies)
    return FiniteSystem(
        "offsets", made, lambda: offsets.committing(made), lambda: offsets.committing(made), offsets.sizes(made)
    )


def rebalancing(release: str | Profile) -> FiniteSystem:
    """Two generations of a group."""
    made = membership.MembershipKnobs(PROFILES[release] if isinstance(release, str) else release)
    return FiniteSystem(
        "membership",
        made,
        lambda: membership.membership(made),
        lambda: membership.membership(made),
        membership.sizes(made),
    )


_ENDED_TOGETHER: Final = violated("3.9.0", ending("3.9.0"), "visible_is_of_committed")
_DROPPED: Final = violated("3.9.0", ending("3.9.0", zombies=1), "committed_is_visible")
_PAST_WRITES: Final = violated(BEFORE_3_7.name, rebalancing(BEFORE_3_7), "past_generations_write_nothing")

OF_GROUPS: Final = (
    Bug(
        name="KAFKA-17507",
        title="a marker ends the offsets of the next transaction too",
        mechanism="The marker on the offsets partition is answered before its offsets are made visible. The producer's "
        "next transaction has its own offsets pending by then, by the same producer id, and they are ended with it.",
        source=("KAFKA-17507",),
        rule=rules.OFFSETS_ATOMIC,
        cases=(
            _ENDED_TOGETHER,
            holds_in(_ENDED_TOGETHER, "4.0", ending("4.0"), why="a marker is answered when it has done its work"),
            holds_in(_ENDED_TOGETHER, "4.4", ending("4.4"), why="a marker is answered when it has done its work"),
        ),
    ),
    Bug(
        name="refused-commit",
        title="a fenced instance's commit of offsets takes its successor's with it",
        mechanism="A fenced instance commits an offset, and the log refuses its epoch. The group's coordinator drops "
        "what the producer id has pending for that partition, which by now is its successor's. The successor commits: "
        "its outputs are visible, its offset is not, and the input is processed again.",
        source=("GroupMetadata.failPendingTxnOffsetCommit", "GroupMetadataManager.storeOffsets"),
        rule=rules.OFFSETS_ATOMIC,
        cases=(
            _DROPPED,
            holds_in(_DROPPED, "4.0", ending("4.0", zombies=1), why="a commit that is refused changes nothing"),
            holds_in(_DROPPED, "4.4", ending("4.4", zombies=1), why="a commit that is refused changes nothing"),
        ),
    ),
    Bug(
        name="KAFKA-15784",
        title="a rebalance between a commit's check and its write",
        mechanism="A transactional commit of offsets passes as one of the group's generation, and waits for the "
        "transaction's coordinator. The group rebalances; the offsets of the past generation are written all the same.",
        source=("KAFKA-15784",),
        rule=rules.OFFSETS_GENERATION_FENCE,
        cases=(
            _PAST_WRITES,
            holds_in(_PAST_WRITES, "3.6", rebalancing("3.6"), why="no commit of offsets waits for a coordinator"),
            holds_in(_PAST_WRITES, "3.9.0", rebalancing("3.9.0"), why="the group is looked at after the coordinator"),
            holds_in(_PAST_WRITES, "4.4", rebalancing("4.4"), why="the group is looked at after the coordinator"),
        ),
    ),
)
