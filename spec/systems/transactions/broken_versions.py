"""Controls by the behaviours of a release: known bugs and old versions, each with the claim that it violates."""

from dataclasses import replace
from typing import Final

from spec.systems.transactions.broken import NEAR_THE_END, NOTHING, ONE, TWO, broken, quiet
from spec.systems.transactions.world import BATCHES, ENDS, MARKERS, Bounds
from spec.versions import KAFKA_3_9, KAFKA_3_9_UNVERIFIED, KAFKA_4_1, KAFKA_4_2, NEWEST

_THREE_DECISIONS: Final = Bounds(decisions=3)
_REBALANCING: Final = Bounds(transactions=1, generations=2)
_ROTATING: Final = Bounds(producer_ids=2)
_LAST: Final = NEAR_THE_END - 1  # the first epoch, so that the next one is the last

OF_VERSIONS: Final = (
    broken(
        "KAFKA-17754: a late EndTxn ends the next transaction",
        "ends_its_own",
        quiet(KAFKA_3_9, outlive=frozenset({ENDS}), bounds=_THREE_DECISIONS),
        outlive=NOTHING,
    ),
    broken(
        "KAFKA-17754: the torn transaction",
        "client_was_reported_the_truth",
        quiet(KAFKA_3_9, outlive=frozenset({ENDS}), bounds=_THREE_DECISIONS),
        outlive=NOTHING,
    ),
    broken(
        "KAFKA-17754: half of a transaction",
        "same_outcome_everywhere",
        quiet(KAFKA_3_9, outlive=frozenset({ENDS}), bounds=replace(_THREE_DECISIONS, batches=2)),
        outlive=NOTHING,
    ),
    broken(
        "a late AddPartitionsToTxn opens a transaction that the next one joins",
        "joins_its_own",
        quiet(KAFKA_3_9, bounds=replace(TWO, partitions=2)),
        outlive=NOTHING,
    ),
    broken(
        "a late Produce joins the next transaction",
        "decided_with_its_own",
        quiet(KAFKA_3_9, outlive=frozenset({BATCHES}), bounds=TWO),
        outlive=NOTHING,
    ),
    broken(
        "a late Produce opens a transaction that hangs",
        "open_data_will_be_decided",
        quiet(KAFKA_3_9_UNVERIFIED, outlive=frozenset({BATCHES}), bounds=ONE),
        behaviours={"partition_verification": True},
    ),
    broken(
        "a late Produce of a zombie is committed by its successor",
        "zombie_does_not_commit",
        quiet(KAFKA_3_9_UNVERIFIED, outlive=frozenset({BATCHES}), bounds=replace(TWO, instances=2)),
        behaviours={"partition_verification": True},
    ),
    broken(
        "a late commit of offsets becomes the group's with the next transaction",
        "offset_is_of_committed",
        quiet(KAFKA_3_9, groups=True, outlive=frozenset({BATCHES}), bounds=TWO),
        outlive=NOTHING,
    ),
    broken(
        "KIP-447: no commit is held against the group's generation",
        "commit_is_of_its_generation",
        quiet(replace(NEWEST, commits_fenced_by_generation=False), groups=True, bounds=_REBALANCING),
        behaviours={"commits_fenced_by_generation": True},
        left_to_tests=True,
    ),
    broken(
        "KAFKA-15784: the group is looked at before the coordinator is asked",
        "commit_is_of_its_generation",
        quiet(replace(NEWEST, offsets_verified_first=False), groups=True, bounds=_REBALANCING),
        behaviours={"offsets_verified_first": True},
    ),
    broken(
        "a refused commit of offsets takes with it what is pending",
        "outputs_come_with_offsets",
        quiet(replace(NEWEST, refused_commit_drops_pending=True), groups=True, bounds=TWO),
        behaviours={"refused_commit_drops_pending": False},
    ),
    broken(
        "a fenced zombie's commit takes with it what its successor has pending",
        "outputs_come_with_offsets",
        quiet(KAFKA_3_9, groups=True, outlive=NOTHING, bounds=replace(TWO, instances=2)),
        behaviours={"refused_commit_drops_pending": False},
        left_to_tests=True,
    ),
    broken(
        "KAFKA-18575: a transaction of another epoch counts as ongoing",
        "markers_are_let_in",
        quiet(replace(NEWEST, ongoing_compares_epoch=False), bounds=TWO),
        behaviours={"ongoing_compares_epoch": True},
    ),
    broken(
        "KAFKA-18654: a marker takes the next transaction's guard",
        "marker_leaves_next_guard",
        quiet(replace(NEWEST, marker_keeps_next_guard=False), bounds=TWO),
        behaviours={"marker_keeps_next_guard": True},
    ),
    broken(
        "KAFKA-18660: the identity is looked at before the pending transition",
        "newest_is_not_fenced",
        quiet(replace(NEWEST, pending_checked_first=False), NEAR_THE_END, first_epoch=_LAST, bounds=_ROTATING),
        behaviours={"pending_checked_first": True},
    ),
    broken(
        "KAFKA-19367: a fence bumps twice",
        "open_can_be_ended",
        quiet(
            replace(NEWEST, fence_bumps_once=False, last_epoch_recovers=False),
            NEAR_THE_END,
            first_epoch=_LAST,
            times_out=True,
            bounds=_ROTATING,
        ),
        behaviours={"fence_bumps_once": True},
    ),
    broken(
        "KAFKA-19446: a late marker ends the next transaction",
        "marker_has_effect_once",
        quiet(KAFKA_4_1, outlive=frozenset({MARKERS}), bounds=TWO),
        behaviours={"marker_epoch_strict": True},
    ),
    broken(
        "KAFKA-20310: the next producer id is not in the log",
        "last_epoch_is_the_coordinators",
        quiet(
            replace(NEWEST, rotation_persisted=False),
            NEAR_THE_END,
            first_epoch=_LAST,
            bounds=replace(_ROTATING, coordinators=2),
        ),
        behaviours={"rotation_persisted": True},
    ),
    broken(
        "KAFKA-20090: a fence at the last epoch draws no producer id",
        "open_can_be_ended",
        quiet(
            KAFKA_4_2,
            NEAR_THE_END,
            first_epoch=_LAST,
            times_out=True,
            bounds=_ROTATING,
        ),
        behaviours={"fence_rotates": True},
    ),
)
"""Bugs that a release has, or had, by the behaviours of its profile."""
