"""Controls by a knob of the system: known bugs and steps left out, each with the claim that it violates."""

from dataclasses import replace
from typing import Final

from spec.systems.transactions.broken import NOTHING, ONE, TWO, broken, quiet
from spec.systems.transactions.world import BATCHES, BUMPS, ONGOING, Bounds
from spec.versions import KAFKA_3_9, NEWEST

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
