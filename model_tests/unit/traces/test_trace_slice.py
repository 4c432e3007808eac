"""Of a long trace only the steps are read on which a verdict depends: with the others it is the same verdict."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, reduce
from operator import or_
from pathlib import Path
from typing import Any, Final

import pytest

from model_tests.judging import coordinator_verdicts, trace_files
from model_tests.judging.chains import CHAINS
from model_tests.judging.coordinator_links import IDENTITY
from model_tests.judging.explain_history import explain_history
from model_tests.judging.fault_scope import Doubtful, ReachVerdict, verdicts_of, violations_counted
from model_tests.judging.histories import Histories, key_on
from model_tests.judging.history_links import HISTORY
from model_tests.judging.inferred_faults import hidden_faults
from model_tests.judging.local_files import read_here
from model_tests.judging.step_assumptions import Fault
from model_tests.judging.step_fitness import NEEDED
from model_tests.judging.step_table import StepTable
from model_tests.judging.trace_slice import to_explain, to_judge_again
from model_tests.judging.verdicts import rules_in
from model_tests.simulate.simulate import WORKLOADS, trace_of
from model_tests.spark.session import session
from model_tests.traces.schema import BY_NAME, Row, complete
from model_tests.unit.traces.conftest import written

pytestmark = pytest.mark.xdist_group("spark")

BACK, TWICE, NAMELESS = 1_000_000, 2_000_000, 3_000_000
"""Numbers of the traces that are not simulated."""

HERE, ON_SPARK = "here", "on Spark"
"""Where the steps are held."""

SEEDS: Final = range(40 * len(WORKLOADS))


def reported_falsely(rows: Sequence[Row], number: int) -> list[Row]:
    """The trace in which the last thing that a reader was given comes again, as of another transaction and epoch."""
    at = max(row["step"] for row in rows if row["api"] == "ClientFetched" and row["writer"])
    again = {**rows[at], "transaction": rows[at]["transaction"] + 1, "committed": not rows[at]["committed"]}
    return [complete({**row, "trace": number, "step": step}) for step, row in enumerate((*rows, again, rows[at]))]


def come_back(number: int) -> list[Row]:
    """A broker comes back without what was committed, as another one knew; then a place is read as two batches."""
    log = {"schema": 1, "profile": "4.3", "transaction_version": 2, "topic": "t", "partition": 0}
    read = {**log, "api": "ClientFetched", "client": "c", "isolation": 0, "delivered": True, "first_offset": 0}
    read |= {"last_offset": 0, "first_record": 0, "record_count": 1}
    steps = [
        {**log, "api": "LeaderHighWatermark", "node": "broker-1", "after_high_watermark": 5},
        {**log, "api": "BrokerRestart", "node": "broker-2", "before_log_end": 5, "after_log_end": 2},
        {**read, "writer": "one"},
        {**read, "writer": "other"},
    ]
    return [complete({**row, "trace": number, "step": step}) for step, row in enumerate(steps)]


def handed_out_twice(number: int) -> list[Row]:
    """Two nodes hand out one identity, one after the other, and something else in between."""
    given = {"schema": 1, "profile": "4.3", "transaction_version": 2, "api": "InitProducerId", "transactional_id": "x"}
    given |= {"reply_producer_id": 7, "reply_epoch": 3, "error": 0, "after_txn_state": 0}
    steps = [{**given, "node": "broker-1"}, {**given, "reply_epoch": 2}, {**given, "node": "broker-2"}]
    return [complete({**row, "trace": number, "step": step}) for step, row in enumerate(steps)]


def sent_by_nobody(number: int) -> list[Row]:
    """An unnamed writer sends records from the first on, then others than those that follow."""
    sent = {"schema": 1, "profile": "4.3", "transaction_version": 2, "api": "ClientSend", "topic": "t", "partition": 0}
    steps = [{**sent, "first_record": first, "record_count": 2} for first in (0, 5)]
    return [complete({**row, "trace": number, "step": step}) for step, row in enumerate(steps)]


def unsaid(row: Row) -> dict[str, Any]:
    """A step that leaves out what does not apply to it, as far as it may."""
    columns = {*NEEDED, *coordinator_verdicts.NEEDED, "delivered"}
    return {
        name: None if value == BY_NAME[name].absent and name not in columns else value for name, value in row.items()
    }


def verdicts(rows: Sequence[Row]) -> Iterator[ReachVerdict]:
    """Those by which something is violated."""
    histories = Histories()
    for row in rows:
        histories.add(row)
    return (verdict for verdict in verdicts_of(histories) if verdict.violated)


@cache
def traces() -> dict[int, list[Row]]:
    """False ones, by their numbers."""
    simulated = (trace_of(seed) for seed in SEEDS)
    read = [rows for rows in simulated if any(row["api"] == "ClientFetched" and row["writer"] for row in rows)]
    false = {number: reported_falsely(rows, number) for number, rows in enumerate(read)}
    return {**false, BACK: come_back(BACK), TWICE: handed_out_twice(TWICE), NAMELESS: sent_by_nobody(NAMELESS)}


@cache
def violated() -> list[dict[str, Any]]:
    """As the check counts them: where each is, on which chain."""
    return [place for number, rows in traces().items() for place in violated_in(number, rows)]


def violated_in(number: int, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """The same of one trace."""
    for verdict in verdicts(rows):
        yield {"trace": number, "step": verdict.judged.row["step"], "kind": HISTORY, "chain": verdict.judged.number}


def steps_of(traces: Iterable[Sequence[Row]], directory: Path, where: str) -> StepTable:
    path = written([unsaid(row) for rows in traces for row in rows], directory)
    return read_here(str(path)).steps if where == HERE else trace_files.read(session(), str(path)).steps


@pytest.fixture(scope="module", params=[HERE, ON_SPARK])
def steps(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> StepTable:
    return steps_of(traces().values(), tmp_path_factory.mktemp("false"), request.param)


def counts(doubtful: Doubtful) -> list[tuple[Any, ...]]:
    """What is counted of a trace, in an order of its own."""
    return sorted(tuple(sorted(each.items())) for each in violations_counted(doubtful))


@pytest.mark.slow
def test_a_violation_judged_again_is_as_in_its_whole_trace(steps: StepTable) -> None:
    """With the faults that reach it: of every kind, among these traces."""
    faults = set[int]()
    for number, needed in to_judge_again(steps, violated()):
        rows = traces()[number]
        of_all = Doubtful(needed.keys, rows, lambda rows=rows: rows)  # type: ignore[misc]
        assert counts(of_all) == counts(needed)
        assert list(hidden_faults(rows)) == list(hidden_faults(needed.looked_at()))
        faults |= {each["faults"] for each in violations_counted(needed)}

    assert reduce(or_, Fault) == reduce(or_, faults)


@pytest.mark.slow
def test_most_steps_are_not_read(steps: StepTable) -> None:
    """Of a trace in which a reader's word alone is doubtful, less than a third."""
    first = violated()[0]
    ((trace, needed),) = to_judge_again(steps, [first])
    explained = to_explain(steps, [first])

    assert first["trace"] == trace
    assert 0 < 3 * len(needed.rows) < len(traces()[trace])
    assert 0 < 3 * len(explained[trace]) < len(traces()[trace])


@pytest.mark.slow
def test_an_identity_that_another_node_handed_out_is_read(steps: StepTable) -> None:
    """It is on no key of the node at which it was handed out again."""
    (again,) = (number for number, chain in CHAINS.items() if IDENTITY[1:] == (*chain.texts, *chain.numbers))
    verdict = {"trace": TWICE, "step": 2, "kind": CHAINS[again].kind, "chain": again}

    assert [0, 2] == [row["step"] for row in to_explain(steps, [verdict])[TWICE]]


@pytest.mark.parametrize("where", [HERE, ON_SPARK])
def test_what_a_broker_lost_is_read(tmp_path: Path, where: str) -> None:
    """With what another had shown of it; the steps that are read again for a verdict are others."""
    back = come_back(BACK)
    steps = steps_of([back, handed_out_twice(TWICE), sent_by_nobody(NAMELESS)], tmp_path, where)

    ((_, needed),) = to_judge_again(steps, list(violated_in(BACK, back)))

    assert [0, 1] == [row["step"] for row in needed.rows][:2]


@pytest.mark.slow
def test_a_key_without_a_name_is_read(steps: StepTable) -> None:
    """Who sent is left out, and was the same all the same."""
    (again,) = (place for place in violated() if place["trace"] == NAMELESS)
    ((_, needed),) = to_judge_again(steps, [again])

    assert [0, 1] == [row["step"] for row in needed.rows]
    assert [0, 1] == [row["step"] for row in to_explain(steps, [again])[NAMELESS]]


@pytest.mark.slow
def test_an_explanation_needs_no_more_than_the_same_keys(steps: StepTable) -> None:
    """Each violation is explained as from its whole trace."""
    chosen = violated()[:: max(1, len(violated()) // 60)]
    explained = to_explain(steps, chosen)

    for place in chosen:
        rows, step, chain = traces()[place["trace"]], place["step"], place["chain"]
        row = rows[step]
        histories = Histories(frozenset((key_on(chain, row),)))
        for each in rows:
            histories.add(each)
        rules = {rule for verdict in verdicts_of(histories) for rule in rules_in(verdict.violated)}
        assert rules
        for rule in rules:
            why = list(explain_history(explained[place["trace"]], step, chain, rule))
            assert list(explain_history(rows, step, chain, rule)) == why
