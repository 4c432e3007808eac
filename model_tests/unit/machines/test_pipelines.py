"""Pipelines in runs from a tape: every rule holds and is at stake; without exactly once they count wrong."""

from typing import Final

import pytest

from model_tests.machines import part
from model_tests.machines.pipeline_control import DOCUMENTED, pipeline_controls, totals_of
from model_tests.machines.pipeline_logs import Generations, Outcomes
from model_tests.machines.pipeline_machine import PipelineMachine
from model_tests.machines.pipeline_runs import run_pipeline
from model_tests.machines.pipeline_watch import PIPELINE_RULES
from model_tests.machines.rule_counts import Ledger
from model_tests.mutants.defects.of_pipelines import OF_PIPELINES
from model_tests.unit.machines.small import small
from reference.broker.marker_channel import TxnMarker
from reference.log.batch import RecordBatch, value_batch
from reference.world.worker import Order
from spec.vocabulary import CoordinatorEpoch, Epoch, LeaderEpoch, Offset, ProducerId, Timestamp

SMALL: Final = small(10)


def test_every_rule_holds_and_is_at_stake() -> None:
    """Nothing breaks in runs from seeds, and every rule of pipelines is at stake in them."""
    ledger = Ledger()

    for seed in range(25):
        run_pipeline(seed, ledger)

    assert [] == [str(broken) for broken in ledger.broken]
    assert [] == [rule.id for rule in PIPELINE_RULES if ledger.at_stake[rule] < 20]


def test_a_seed_is_a_pipeline() -> None:
    """The same seed makes the same run, to the last byte of the output."""
    first, second = (run_pipeline(7, Ledger()) for _ in range(2))

    assert first.clock.now == second.clock.now
    assert [first.brokers.partitions[name].leader.log.batches for name in first.partitions] == [
        second.brokers.partitions[name].leader.log.batches for name in second.partitions
    ]


def test_the_machine_keeps_every_rule() -> None:
    """Examples of Hypothesis find nothing, and bring every rule into play."""
    ledger = Ledger()

    failures = part.failures_of(PipelineMachine, ledger, SMALL)

    assert [] == failures
    assert [] == [rule.id for rule in PIPELINE_RULES if ledger.at_stake[rule] < 2]


def test_the_machine_sees_a_defect() -> None:
    """A defect turns the machine red, under the name of its rule."""
    planted = next(each for each in OF_PIPELINES if each.name == "every member is assigned every partition")

    with planted.in_place():
        failures = part.failures_of(PipelineMachine, Ledger(), SMALL)

    assert any(str(failure).startswith(f"[{planted.rule.id}]") for failure in failures)


def test_exactly_once_switched_off() -> None:
    """Offsets first lose words and count none twice; output first counts words twice and loses none."""
    assert [] == [(control.name, control.got) for control in pipeline_controls() if not control.passed]


@pytest.mark.parametrize("order", DOCUMENTED)
def test_the_wrong_order_is_never_wrong_the_other_way(order: Order) -> None:
    """At most once is at most once in every run, and at least once at least."""
    _, documented = DOCUMENTED[order]

    assert {str(totals_of(seed, order)) for seed in range(8)} <= {"right", documented}


# --- what the onlooker reads ----------------------------------------------------------------------------------


def log_of(*batches: RecordBatch) -> list[RecordBatch]:
    """The batches, one behind the other."""
    placed, end = [], 0
    for batch in batches:
        placed.append(batch.at(Offset(end), LeaderEpoch(0)))
        end += batch.last_offset_delta + 1
    return placed


def data(value: bytes, producer_id: int) -> RecordBatch:
    return value_batch([value], producer_id=producer_id, epoch=0, base_sequence=0, transactional=True)


def marker(producer_id: int, *, commits: bool) -> RecordBatch:
    return TxnMarker(ProducerId(producer_id), Epoch(0), commits, CoordinatorEpoch(0)).batch(Timestamp(0))


def test_outcomes() -> None:
    """Each producer's marker decides about what it wrote before; without a transaction everything counts."""
    outcomes = Outcomes()
    batches = log_of(data(b"a", 1), data(b"b", 2), marker(1, commits=True), marker(2, commits=False), data(b"c", 1))

    outcomes.looks([*batches, value_batch([b"d"]).at(Offset(5), LeaderEpoch(0))])

    assert {b"a": True, b"b": False, b"c": None, b"d": True} == outcomes.committed
    assert ([b"a"], [b"a", b"d"], [b"c"]) == (
        outcomes.committed_below(5),
        outcomes.committed_below(6),
        outcomes.undecided,
    )


def test_a_log_that_was_cut() -> None:
    """What a new leader does not have has never been."""
    outcomes = Outcomes()
    batches = log_of(data(b"a", 1), data(b"b", 2), marker(1, commits=True))
    outcomes.looks(batches)

    changed = outcomes.looks([batches[0], *log_of(data(b"x", 3))])

    assert changed
    assert {b"a": None, b"x": None} == outcomes.committed


def test_a_generation_that_was_not_written_down() -> None:
    """A coordinator that reads the log continues from what is in it, and the generation's members are unknown."""
    generations = Generations()
    generations.recorded = 3
    generations.joined(4, "m-1")
    before = generations.current

    generations.elected()

    assert (4, 3, {}) == (before, generations.current, generations.members)


def test_a_static_instance_is_one_member() -> None:
    """Who takes an instance's place in a generation is in it, and who had it is not any more."""
    generations = Generations()
    generations.joined(4, "m-1", "i-1")

    generations.joined(4, "m-2", "i-1")

    assert {4: {"m-2"}} == generations.members


def test_automatic_commits_of_unfinished_work_promise_nothing() -> None:
    """A worker that asks for more before it has finished loses words in some runs, and counts some twice in others."""
    totals = [totals_of(seed, Order.AUTOMATIC_AHEAD) for seed in range(30)]

    assert [0] * 30 == [found.stuck for found in totals]
    assert sum(found.lost for found in totals) > 0
    assert sum(found.twice for found in totals) > 0
