"""Known bugs of a group's offsets in transactions."""

from typing import Final

from spec import rules
from spec.bugs.bug import Bug, FiniteSystem, holds_in, violated
from spec.systems import membership, offsets
from spec.versions import BEFORE_3_7, PROFILES, Profile


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
