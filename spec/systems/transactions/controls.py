"""Controls of transactions: known bugs, old versions, and steps left out, each with the claim that it violates."""

from dataclasses import replace
from typing import Final

from spec.systems.transactions.broken import NEAR_THE_END, NOTHING, ONE, TWO, broken, quiet
from spec.systems.transactions.world import BATCHES, BUMPS, ENDS, MARKERS, ONGOING, Bounds
from spec.versions import KAFKA_3_9, KAFKA_3_9_UNVERIFIED, KAFKA_4_1, KAFKA_4_2, NEWEST

_TWO_BATCHES: Final = Bounds(transactions=1, batches=2)
_FAILOVER: Final = Bounds(transactions=1, coordinators=2)

OF_KNOBS: Final = (
    broken(
        "KAFKA-6119: a timeout does not raise the epoch",
        "client_was_reported_the_truth",
        quiet(
            KAFKA_3_9,
            outlive=NOTHING,
            first_in_order=True,
            times_out=True,
            timeout_bumps=False,
            bounds=_TWO_BATCHES,
        ),
        timeout_bumps=True,
    ),
    broken(
        "KAFKA-9144: producer state expires by the time of its data",
        "coordinator_epochs_never_fall",
        quiet(NEWEST, state_expires=True, bounds=_FAILOVER),
        state_expires=False,
    ),
    broken(
        "KAFKA-9666: a failed fence is forgotten",
        "one_fence_takes_one_epoch",
        quiet(KAFKA_3_9, times_out=True, appends_fail=True, failed_fence_remembered=False, bounds=ONE),
        failed_fence_remembered=True,
    ),
    broken(
        "KAFKA-14884: the guard is not compared",
        "open_data_will_be_decided",
        quiet(KAFKA_3_9, outlive=frozenset({BATCHES}), guard_compared=False, bounds=ONE),
        guard_compared=True,
    ),
    broken(
        "KAFKA-14920: a later sequence is verified first",
        "no_batch_is_skipped",
        quiet(KAFKA_3_9, first_in_order=True, without=frozenset({"verification_overtaken"}), bounds=_TWO_BATCHES),
        without=NOTHING,
    ),
    broken(
        "KAFKA-16352: a late completion takes the next one's place",
        "complete_is_awaited",
        quiet(NEWEST, completion_is_of_operation=False, bounds=_FAILOVER),
        completion_is_of_operation=True,
    ),
    broken(
        "KAFKA-19999: a repeated marker is refused",
        "markers_are_let_in",
        quiet(NEWEST, repeated_marker_accepted=False, bounds=ONE),
        repeated_marker_accepted=True,
    ),
    broken(
        "KIP-360: a late bump ends the next transaction",
        "bump_ends_no_other",
        quiet(NEWEST, clients_bump=True, outlive=frozenset({BUMPS}), bounds=TWO),
        compared=frozenset({ONGOING}),
    ),
    broken(
        "KIP-360: a zombie's bump ends its successor's transaction",
        "bump_ends_no_other",
        quiet(NEWEST, clients_bump=True, outlive=frozenset({BUMPS}), bounds=replace(TWO, instances=2)),
        compared=frozenset({ONGOING}),
        left_to_tests=True,
    ),
    broken(
        "a deposed coordinator answers from its cache",
        "newest_is_not_fenced",
        quiet(NEWEST, deposed_answers=True, bounds=_FAILOVER),
        deposed_answers=False,
    ),
    broken(
        "a client sends a later batch first",
        "no_batch_is_skipped",
        quiet(NEWEST, sends_in_order=False, bounds=_TWO_BATCHES),
        sends_in_order=True,
    ),
    broken(
        "a resend is taken for the next batch",
        "batch_is_in_the_log_once",
        quiet(NEWEST, without=frozenset({"duplicate", "successor", "behind"}), bounds=ONE),
        without=NOTHING,
    ),
    broken(
        "before version 2, a batch overtakes the first one",
        "no_batch_is_skipped",
        quiet(KAFKA_3_9, outlive=NOTHING, bounds=_TWO_BATCHES),
        first_in_order=True,
    ),
    broken(
        "a guard that a repeated marker takes counts as taken wrongly",
        "marker_leaves_next_guard",
        quiet(NEWEST, repeated_markers_count=True, bounds=Bounds(transactions=3, decisions=3)),
        repeated_markers_count=False,
    ),
    broken(
        "a group takes over what is aborted",
        "offset_is_of_committed",
        quiet(NEWEST, groups=True, without=frozenset({"aborted"}), bounds=ONE),
        without=NOTHING,
    ),
    broken(
        "a group has the offset of aborted outputs",
        "offsets_come_with_outputs",
        quiet(NEWEST, groups=True, without=frozenset({"aborted"}), bounds=ONE),
        without=NOTHING,
        left_to_tests=True,
    ),
    broken(
        "a stable fetch does not wait",
        "stable_fetch_waits",
        quiet(NEWEST, groups=True, without=frozenset({"undecided"}), bounds=ONE),
        without=NOTHING,
    ),
    broken(
        "a reader does not stop at what is open",
        "no_committed_record_is_skipped",
        quiet(NEWEST, readers=True, readers_wait=False, bounds=ONE),
        readers_wait=True,
    ),
    broken(
        "a reader is given what is aborted later",
        "reader_sees_no_half",
        quiet(NEWEST, readers=True, readers_wait=False, bounds=ONE),
        readers_wait=True,
        left_to_tests=True,
    ),
    broken(
        "a reader gets no list of aborted transactions",
        "received_is_committed",
        quiet(NEWEST, readers=True, aborted_filtered=False, bounds=ONE),
        aborted_filtered=True,
    ),
    broken(
        "a late Produce is read although its client got an abort",
        "reader_sees_what_the_client_was_reported",
        quiet(KAFKA_3_9, readers=True, outlive=frozenset({BATCHES}), bounds=TWO),
        outlive=NOTHING,
        left_to_tests=True,
    ),
    broken(
        "the coordinator does not wait for its log",
        "log_knows_the_decision",
        quiet(NEWEST, appends_fail=True, waits_for_log=False, bounds=_FAILOVER),
        waits_for_log=True,
    ),
    broken(
        "markers before Prepare is durable",
        "outcome_is_kept",
        quiet(NEWEST, appends_fail=True, waits_for_log=False, bounds=_FAILOVER),
        waits_for_log=True,
    ),
    broken(
        "an identity before it is durable",
        "identities_differ",
        quiet(
            NEWEST,
            appends_fail=True,
            waits_for_log=False,
            outlive=NOTHING,
            bounds=Bounds(instances=2, coordinators=2, decisions=1),
        ),
        waits_for_log=True,
    ),
)
"""Bugs that are no version's behaviour, and steps left out."""


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


CONTROLS: Final = (*OF_VERSIONS, *OF_KNOBS)
