"""How far a fault reaches: client events before it, or of another partition, are claimed all the same."""

from collections.abc import Sequence
from typing import Any, Final

import pytest

from model_tests.judging.columns_judged import columns_of_histories
from model_tests.judging.fault_scope import Doubtful, reaching, violations_counted
from model_tests.judging.histories import NOTHING_REPORTED, Histories, JudgedEvent, key_on
from model_tests.judging.history_links import BATCH, CALLS, IDENTITY, PLACE, READER, TRANSACTION
from model_tests.judging.inferred_faults import Families, Happened, hidden_faults
from model_tests.judging.step_assumptions import Fault
from model_tests.monitor.monitor import Monitor, rule_counts
from model_tests.monitor.runs import run_of
from model_tests.simulate.simulate import WORKLOADS, trace_of
from model_tests.traces.schema import Row, complete
from model_tests.unit.support.shown_in_runs import runs_with
from spec.vocabulary import ABSENT

PRODUCERS: Final = WORKLOADS.index("producers")


def reported_again(rows: Sequence[Row], place: int) -> list[dict[str, Any]]:
    """The trace in which a reader takes a batch twice."""
    twice = [*rows[: place + 1], rows[place], *rows[place + 1 :]]
    return [{**row, "step": step} for step, row in enumerate(twice)]


def taken(rows: Sequence[Row]) -> list[int]:
    """Where the reader of what is committed takes batches."""
    return [row["step"] for row in rows if row["api"] == "ClientFetched" and row["isolation"] == 1]


@pytest.fixture(scope="module")
def forgetful() -> tuple[list[Row], int]:
    """A trace in which producer state is forgotten once, between what a reader takes; and the step of that."""
    for seed in range(PRODUCERS, 4_000, len(WORKLOADS)):
        rows, histories = trace_of(seed), Histories()
        for row in rows:
            histories.add(row)
        steps = {each.step for each in histories.happened}
        forgotten = Fault.FORGOTTEN == histories.faults and taken(rows)
        if forgotten and taken(rows)[0] < min(steps) and max(steps) < taken(rows)[-1]:
            return rows, min(steps)
    raise LookupError("no trace of these seeds forgets between two readings")


def whole(rows: Sequence[Row]) -> Doubtful:
    """Every key of a trace, and all that it has."""
    histories = Histories()
    for row in rows:
        histories.add(row)
    return Doubtful(frozenset(key_on(each.number, each.row) for each in histories.judged()), rows, lambda: rows)


def broken(rows: Sequence[Row]) -> dict[str, int]:
    """The rules that are violated inside their domain (1) and outside (0)."""
    monitor = Monitor()
    found = {violation.rule for row in rows for violation in monitor.judge(row)}
    found |= {violation.rule for violation in monitor.finish()}
    return {count.rule: 0 for count in monitor.rule_counts() if count.known} | dict.fromkeys(found, 1)


def test_what_was_reported_before_a_fault_is_claimed(forgetful: tuple[list[Row], int]) -> None:
    """The same false word is a violation before the fault, and lies outside of the domain after it."""
    rows, forgotten = forgetful
    early, late = taken(rows)[0], taken(rows)[-1]

    assert early < forgotten < late
    assert {} == broken(rows)
    assert {"lso.read_committed": 1} == broken(reported_again(rows, early))
    assert {"lso.read_committed": 0} == broken(reported_again(rows, late))


def test_what_is_counted_again_agrees_with_the_monitor(forgetful: tuple[list[Row], int]) -> None:
    """Spark's counts of a trace with faults are replaced by these."""
    rows, forgotten = forgetful

    (early,) = violations_counted(whole(reported_again(rows, taken(rows)[0])))
    (late,) = violations_counted(whole(reported_again(rows, taken(rows)[-1])))

    assert (0, Fault.FORGOTTEN) == (early["faults"], late["faults"])
    assert early["step"] < forgotten < late["step"]
    assert (1, 1) == (early["count"], late["count"])


@pytest.mark.parametrize(
    ("fault", "chain", "partition", "until", "reaches"),
    [
        (Fault.UNCLEAN, PLACE, 0, 50, True),
        (Fault.UNCLEAN, PLACE, 1, 50, False),
        (Fault.UNCLEAN, PLACE, 0, 39, False),
        (Fault.UNCLEAN, TRANSACTION, 1, 50, True),
        (Fault.NOT_FIRST, PLACE, 1, 50, False),
        (Fault.FORGOTTEN, PLACE, 1, 50, True),
        (Fault.OUTLIVED, CALLS, 0, 40, True),
        (Fault.OUTLIVED, CALLS, 0, 39, False),
    ],
)
def test_a_fault_reaches_from_its_step_on_and_some_only_their_partition(
    fault: Fault, chain: int, partition: int, until: int, reaches: bool
) -> None:
    """A transaction has several partitions; what a producer is refused on one may change what it does on others."""
    row = complete({"topic": "t", "partition": partition, "step": 10})
    judged = JudgedEvent(chain, row, NOTHING_REPORTED, NOTHING_REPORTED, ABSENT, until)

    assert (fault if reaches else 0) == reaching([Happened(40, fault, "t", 0)], judged, Families(()))


@pytest.mark.parametrize(
    ("fault", "name", "producer_id", "reaches"),
    [
        (Fault.OUTLIVED, "id-1", ABSENT, True),
        (Fault.OUTLIVED, "id-2", ABSENT, False),
        (Fault.OUTLIVED, "", 2, False),
        (Fault.FORGOTTEN, "", 1, True),
        (Fault.FORGOTTEN, "", 2, False),
        (Fault.FORGOTTEN, "", 9, True),
        (Fault.NOT_FIRST, "", 2, False),
        (Fault.RENUMBERED, "second", ABSENT, True),
        (Fault.RENUMBERED, "other", ABSENT, False),
        (Fault.UNCLEAN, "", 2, True),
    ],
)
@pytest.mark.parametrize("chain", [TRANSACTION, BATCH, IDENTITY])
def test_a_fault_of_one_producer_reaches_no_other(
    fault: Fault, name: str, producer_id: int, reaches: bool, chain: int
) -> None:
    """Its own batches, calls and transactions, and those of other instances of its transactional id."""
    families = Families(
        [
            complete({"api": "Produce", "writer": writer, "transactional_id": name, "producer_id": producer})
            for writer, name, producer in (("first", "id-1", 1), ("second", "id-1", 1), ("other", "id-2", 2))
        ]
    )
    row = complete({"topic": "t", "partition": 0, "writer": "first", "producer_id": 1})
    judged = JudgedEvent(chain, row, NOTHING_REPORTED, NOTHING_REPORTED, ABSENT, 50)
    happened = Happened(40, fault, "t", 0, producer_id, name)

    assert (fault if reaches else 0) == reaching([happened], judged, families)


def test_what_is_of_several_producers_is_reached_by_the_faults_of_each() -> None:
    """A reader's answers are of nobody in particular."""
    families = Families([complete({"api": "Produce", "writer": "other", "producer_id": 2})])
    judged = JudgedEvent(READER, complete({"client": "r"}), NOTHING_REPORTED, NOTHING_REPORTED, ABSENT, 50)

    assert Fault.OUTLIVED == reaching([Happened(40, Fault.OUTLIVED, "", ABSENT, 2)], judged, families)


def test_no_column_is_looked_at_but_those_that_are_read_for_it() -> None:
    """Of violating traces only these columns are read again: of every workload, true ones and some that lack steps."""
    looked_at = set[str]()

    class SeenRow(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            looked_at.add(name)
            return super().__getitem__(name)

    for seed in range(4 * len(WORKLOADS)):
        rows = trace_of(seed)
        for kept in (rows, rows[::2]):
            seen = [SeenRow(row) for row in kept]
            list(violations_counted(whole(seen)))
            list(hidden_faults(seen))

    assert looked_at <= columns_of_histories()
    assert columns_of_histories() - looked_at <= {"trace"}


@pytest.mark.parametrize(
    ("shown", "end", "faults"), [(5, 2, Fault.UNCLEAN), (2, 2, 0), (5, 5, 0), (5, 6, 0), (0, 2, 0)]
)
def test_a_broker_that_comes_back_without_what_was_committed_is_a_fault(shown: int, end: int, faults: int) -> None:
    """What any broker has shown to be committed, of the same partition: a shorter log above it lacks nothing."""
    log, histories = {"topic": "t", "partition": 0}, Histories()
    for step in (
        {**log, "api": "LeaderHighWatermark", "after_high_watermark": shown},
        {**log, "partition": 1, "api": "LeaderHighWatermark", "after_high_watermark": 9},
        {**log, "api": "BrokerRestart", "before_log_end": 5, "after_log_end": end},
    ):
        histories.add(complete(step))

    assert faults == histories.faults


def produced(first_record: int, epoch: int, error: int = 0, partition: int = 0) -> dict[str, Any]:
    """A request that a broker has handled, by what is looked at."""
    batch = {"topic": "t", "partition": partition, "writer": "w", "first_record": first_record}
    return {"api": "Produce", **batch, "producer_id": 0, "producer_epoch": epoch, "error": error}


REFUSED: Final = 59
"""An unknown producer that does not begin at sequence 0."""


@pytest.mark.parametrize(
    ("requests", "renumbered"),
    [
        ([produced(2, 0, REFUSED), produced(0, 0), produced(0, 1)], True),
        ([produced(2, 0, 45), produced(0, 0), produced(0, 1)], False),
        ([produced(0, 0), produced(2, 0, REFUSED), produced(0, 1)], False),
        ([produced(2, 0, REFUSED), produced(0, 0, partition=1), produced(0, 1, partition=1)], False),
        ([produced(2, 0, REFUSED), produced(2, 0), produced(2, 1)], False),
        ([produced(2, 0, REFUSED), produced(0, 0)], False),
        ([produced(2, 0, REFUSED), produced(0, 1)], False),
    ],
)
def test_what_a_refused_later_batch_overtook_may_be_written_twice(
    requests: Sequence[dict[str, Any]], renumbered: bool
) -> None:
    """The client gets the answer that its producer id is unknown, and numbers anew what has arrived in between, too."""
    rows = [complete({**request, "message": step, "step": step}) for step, request in enumerate(requests)]

    assert renumbered is (Fault.RENUMBERED in {each.fault for each in hidden_faults(rows)})


def renumbers(rows: Sequence[Row]) -> bool:
    """A client numbers anew what had arrived when a later batch was refused."""
    return any(each.fault is Fault.RENUMBERED for each in hidden_faults(list(rows)))


def test_a_batch_that_is_written_twice_for_it_is_known() -> None:
    """In simulated traces, before 2.5: what is in the log twice may be out of order, and is claimed to be neither."""
    runs = (run_of(seed, workload="producers", profile="2.4") for seed in range(2_000))
    known: set[str] = set()

    for run in runs_with(renumbers, runs, count=12):
        played = run.play()
        assert () == played.violations, run.seed
        known |= {count.rule for count in rule_counts(played.findings) if count.known}

    assert {"seq.exactly_once", "seq.order"} <= known
