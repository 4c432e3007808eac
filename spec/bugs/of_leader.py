"""Known bugs of a partition's leader: what it forgets, and what it lets overtake."""

from dataclasses import replace
from typing import Final

from spec import rules
from spec.bugs.bug import Bug, FiniteSystem, holds_in, violated, violated_in
from spec.systems import cleaning, expiry, marking, verifying
from spec.systems.system_append import remembered
from spec.versions import PROFILES, Profile


def marked(release: str | Profile) -> FiniteSystem:
    """One transaction on two partitions, whose brokers leave and return.

    Args:
        release: a release by its name, or what stands for one.
    """
    made = marking.MarkingKnobs(PROFILES[release] if isinstance(release, str) else release)
    return FiniteSystem(
        "marking", made, lambda: marking.marking(made), lambda: marking.marking(made), marking.sizes(made)
    )


_WITHOUT_MARKER: Final = violated("4.3", marked("4.3"), "complete_is_alike_everywhere")

OF_MARKERS: Final = (
    Bug(
        name="KAFKA-20734",
        title="a transaction completes without the marker of a partition that has no leader",
        mechanism="While a partition has no leader, the coordinator's metadata cache says of it what it says of a "
        "deleted one: that there is no endpoint. The coordinator drops the marker and completes. When the leader is "
        "back, the transaction is open there for ever, and committed everywhere else.",
        source=("KAFKA-20734", "KAFKA-17573", "TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue"),
        rule=rules.TXN_ATOMIC,
        cases=(
            _WITHOUT_MARKER,
            violated_in(_WITHOUT_MARKER, "4.4", marked("4.4")),
            holds_in(_WITHOUT_MARKER, "4.2", marked("4.2"), why="the marker waits until the partition has a leader"),
            holds_in(
                _WITHOUT_MARKER,
                marking.WAITS_FOR_LEADER.name,
                marked(marking.WAITS_FOR_LEADER),
                why="a partition that is there has an endpoint, if only that of no node",
            ),
        ),
    ),
)


def expiring(release: str, knobs: expiry.ExpiryKnobs) -> FiniteSystem:
    """A partition of a release, with markers of two coordinators."""
    made = replace(knobs, profile=replace(PROFILES[release], max_sequence=None))
    return FiniteSystem(
        "expiry",
        made,
        lambda: expiry.expiry(made, remembered(made.decide)),
        lambda: expiry.expiry(made),
        expiry.sizes(made),
    )


def asking(release: str, knobs: verifying.VerificationKnobs) -> FiniteSystem:
    """A partition of a release that asks the coordinator about the first batches of a producer."""
    made = replace(knobs, profile=replace(PROFILES[release], max_sequence=None))
    return FiniteSystem(
        "verifying",
        made,
        lambda: verifying.verifying(made),
        lambda: verifying.verifying(made),
        verifying.sizes(made),
    )


def compacting(release: str) -> FiniteSystem:
    """A compacted partition of a release."""
    made = cleaning.CleaningKnobs(PROFILES[release])
    return FiniteSystem(
        "cleaning", made, lambda: cleaning.cleaning(made), lambda: cleaning.cleaning(made), cleaning.sizes(made)
    )


_TWICE: Final = verifying.VerificationKnobs()
_OVERTAKEN: Final = replace(_TWICE, without=frozenset({"verification_overtaken"}))
_ADDING: Final = replace(_TWICE, version=12)

_FORGOTTEN: Final = violated(
    "2.0", expiring("2.0", expiry.ExpiryKnobs(marker_refreshes=False)), "marker_coordinators_never_fall"
)
_LATER_FIRST: Final = violated("3.5", asking("3.6", _OVERTAKEN), "batches_stay_in_order")
"""The first release that asks: what it does not do yet is to let nothing overtake a sequence that waits."""

_UNDECIDED_AGAIN: Final = violated("2.7", compacting("2.7"), "decided_stays_decided")

OF_LEADER: Final = (
    Bug(
        name="KAFKA-9144",
        title="a coordinator's epoch falls after early expiry",
        mechanism="A marker of a new coordinator ends the transaction of a producer that has long been idle. Only data "
        "counts for the producer's age: it is forgotten at once, and a marker of the replaced coordinator is accepted.",
        source=("KAFKA-9144",),
        rule=rules.FENCE_COORDINATOR_EPOCH,
        cases=(
            _FORGOTTEN,
            holds_in(
                _FORGOTTEN, "2.4", expiring("2.4", expiry.ExpiryKnobs()), why="a marker counts for the producer's age"
            ),
            holds_in(
                _FORGOTTEN, "4.4", expiring("4.4", expiry.ExpiryKnobs()), why="a marker counts for the producer's age"
            ),
        ),
    ),
    Bug(
        name="KAFKA-14920",
        title="a later batch overtakes one whose verification failed",
        mechanism="Two batches of a producer that the partition does not know are in flight. The coordinator is busy "
        "when the first one asks, and confirms the second: any sequence may come first, and the resend of the first "
        "one is out of order for ever.",
        source=("KAFKA-14920", "KAFKA-14904", "KAFKA-18202"),
        rule=rules.SEQ_ORDER,
        cases=(
            _LATER_FIRST,
            holds_in(_LATER_FIRST, "3.6", asking("3.6", _TWICE), why="the lowest waiting sequence is remembered"),
            holds_in(_LATER_FIRST, "4.4", asking("4.4", _ADDING), why="under version 2 sequences begin at 0"),
        ),
    ),
    Bug(
        name="KAFKA-14055",
        title="the cleaner removes the markers of a compacted topic",
        mechanism="A user's key has the bytes of a marker's key. The cleaner finds the key again further on, takes the "
        "marker for an older version of it and removes it, while the transaction's records stay. In the cleaned "
        "log the transaction is open, or ended by the marker of the next one.",
        source=("KAFKA-14055",),
        rule=rules.LSO_DECIDED_BELOW,
        cases=(
            _UNDECIDED_AGAIN,
            holds_in(_UNDECIDED_AGAIN, "3.6", compacting("3.6"), why="a marker's key is compared with no other"),
            holds_in(_UNDECIDED_AGAIN, "4.4", compacting("4.4"), why="a marker's key is compared with no other"),
        ),
    ),
)
