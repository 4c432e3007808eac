"""Known bugs of the markers that a coordinator owes."""

from typing import Final

from spec import rules
from spec.bugs.bug import Bug, FiniteSystem, holds_in, violated, violated_in
from spec.systems import marking
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
