from itertools import chain

import pytest

from model_tests.conform.controls import GUARDS, broken_guards
from model_tests.conform.files import bundled, sample, sessions_in
from model_tests.conform.part import SELDOM_MET_IN
from spec.protocol import append, ending, ids, registering
from spec.protocol.produce import PartitionProduce, admit, answered, is_admitted, names, recovered, refused
from spec.protocol.records import AppendReply, CachedBatch, ProducerEntry, flatten
from spec.versions import NEWEST
from spec.vocabulary import ErrorCode


@pytest.mark.parametrize(
    ("request_", "guard"),
    [
        (PartitionProduce(9), "admitted"),
        (PartitionProduce(9, acks=0), "admitted"),
        (PartitionProduce(9, names_transaction=True, any_transactional=True), "admitted"),
        (
            PartitionProduce(9, any_transactional=True, batch_count=2, partition_exists=False),
            "transactional_id_missing",
        ),
        (PartitionProduce(9, batch_count=2, partition_exists=False), "partition_unknown"),
        (PartitionProduce(9, batch_count=2, acks=5), "several_batches"),
        (PartitionProduce(9, acks=5), "acks_unknown"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_first_guard_in_order_decides(request_: PartitionProduce, guard: str) -> None:
    """Each guard refuses, and the earlier one wins."""
    admission = admit(request_)

    assert names()[admission.branch] == guard
    assert is_admitted(admission) == (guard == "admitted")
    assert (admission.error == ErrorCode.NONE.value) == (guard == "admitted")


def test_the_log_start_is_reported_since_version_5_and_only_by_the_log() -> None:
    """Before version 5, or when the log was not read, it is -1."""
    reply = AppendReply(0, 7, 8, duplicate=True, appended=False)

    starts = [answered(PartitionProduce(version), reply, 3).log_start_offset for version in (3, 4, 5, 11)]

    assert starts == [-1, -1, 3, 3]
    assert refused(admit(PartitionProduce(9, acks=5))).log_start_offset == -1
    assert answered(PartitionProduce(9), reply, 3).append_time_reported is True


def test_a_restart_leaves_the_newest_batch() -> None:
    """All but the older part of the window survives."""
    window = tuple(CachedBatch(10 - n, 20 - n, 0) for n in range(5))
    entry = ProducerEntry(3, 4, 5, window)

    left = recovered(entry, NEWEST)

    assert left == ProducerEntry(3, 4, 5, (window[0], *(CachedBatch(),) * 4))
    assert len(list(flatten(left))) == len(list(flatten(entry)))


@pytest.mark.slow
def test_every_missing_guard_turns_a_recorded_step_red() -> None:
    """And the first such step names the rule of the guard."""
    found = broken_guards(sessions_in(chain(sample(60).lines, bundled(SELDOM_MET_IN))))

    assert [control.name for control in found] == [guard.name for guard in GUARDS]
    assert [control.detail for control in found if not control.passed] == []


def test_a_guard_is_missing_for_the_time_of_its_control_only() -> None:
    """In a few sessions some guard of each decision is missed; afterwards the decision is what it was."""
    found = broken_guards(sessions_in(sample(10_000, ("FB", "FX")).lines))

    passed = {control.name for control in found if control.passed}
    assert {guard.decision for guard in GUARDS if guard.name in passed} >= {ids, registering, ending, append}
    assert [decision.guards.__module__ for decision in (ids, registering, ending, append)] == [
        "spec.protocol.ids",
        "spec.protocol.registering",
        "spec.protocol.ending",
        "spec.protocol.append",
    ]


def test_a_guard_that_nothing_meets_is_no_control() -> None:
    """Sessions of appends decide nothing about groups and transactions."""
    without = broken_guards(sessions_in(sample(10_000, ("A",)).lines))

    assert {control.got for control in without} == {"not run: no such step"}
    assert not any(control.passed for control in without)
