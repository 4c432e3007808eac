"""The steps of a trace that a verdict on some of its steps depends on: of a long trace the others are not read."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from model_tests.judging import inferred_faults
from model_tests.judging.chains import CHAIN
from model_tests.judging.check_report import Counted
from model_tests.judging.columns_judged import columns_of_histories
from model_tests.judging.coordinator_links import ID_LINK, IDENTITY
from model_tests.judging.explain import KEYS
from model_tests.judging.fault_scope import Doubtful
from model_tests.judging.histories import Key, key_on
from model_tests.judging.history_links import EVENT_KINDS, HISTORY, HISTORY_CHAINS, begins_anew
from model_tests.judging.step_assumptions import came_back_shorter, fault_of
from model_tests.judging.step_table import StepTable, rows_in
from model_tests.traces.schema import BY_NAME, Row
from spec.algebra import Term, all_of, any_of, negate

_Alike: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""The columns in which the steps on a key are alike, and the apis that they are of; of any where none is named."""

_ITSELF: Final[_Alike] = ("trace", "step"), ()


def to_explain(steps: StepTable, verdicts: Sequence[Counted]) -> dict[int, list[Row]]:
    """By trace, the steps that the verdicts are on, and those on the same keys.

    Args:
        steps: every step that was read.
        verdicts: each with its kind and chain, and the first step that it is on.
    """
    if not verdicts:
        return {}
    traces = _of_traces(steps, verdicts)
    at = rows_in(steps.table(all_of(traces, _are_at(steps, verdicts)), BY_NAME))
    wanted = all_of(traces, any_of(_on_keys(steps, verdicts, at), begins_anew(steps.filled)))
    return _by_trace(rows_in(steps.table(wanted, BY_NAME)))


def to_judge_again(steps: StepTable, verdicts: Sequence[Counted]) -> Iterator[tuple[int, Doubtful]]:
    """By trace, what is needed to judge client events again, in traces in which every step can be judged.

    Args:
        steps: every step that was read.
        verdicts: those on client events that violate something, each with its chain and the first step that it is on.
    """
    traces, columns, filled = _of_traces(steps, verdicts), columns_of_histories(), steps.filled
    shorter = came_back_shorter(filled)
    wanted = all_of(traces, any_of(_are_at(steps, verdicts), shorter))
    at = rows_in(steps.table(wanted, columns, all_fit=True))
    is_fault = any_of(negate(fault_of(filled) == 0), shorter, _shows_what_was_lost(steps, at))
    on_key = any_of(_on_keys(steps, verdicts, at), begins_anew(filled), is_fault)
    apis, prepared = (
        steps.among("api", inferred_faults.LOOKED_AT),
        steps.among("after_txn_state", inferred_faults.PREPARED),
    )
    rows = _by_trace(rows_in(steps.table(all_of(traces, on_key), columns, all_fit=True)))
    looked_at = all_of(traces, any_of(apis, prepared))
    client_rows = cache(partial(steps.table, looked_at, inferred_faults.READ, all_fit=True))
    for trace, keys in _keys(verdicts, at).items():
        yield trace, Doubtful(keys, rows[trace], partial(_rows_of, trace, client_rows))


def _rows_of(trace: int, table: Callable[[], pa.Table]) -> list[Row]:
    return rows_in(table().filter(pc.field("trace") == trace))


def _of_traces(steps: StepTable, verdicts: Sequence[Counted]) -> Term:
    return steps.among("trace", {verdict["trace"] for verdict in verdicts})


def _are_at(steps: StepTable, verdicts: Sequence[Counted]) -> Term:
    return steps.among("step", {verdict["step"] for verdict in verdicts})


def _rows_of_verdicts(verdicts: Iterable[Counted], at: Iterable[Row]) -> Iterator[tuple[Counted, Row]]:
    by_place = {(row["trace"], row["step"]): row for row in at}
    return ((verdict, by_place[verdict["trace"], verdict["step"]]) for verdict in verdicts)


def _keys(verdicts: Iterable[Counted], at: Iterable[Row]) -> dict[int, frozenset[Key]]:
    """By trace, the keys of the client events that the verdicts are on."""
    keys = defaultdict[int, set[Key]](set)
    for verdict, row in _rows_of_verdicts(verdicts, at):
        keys[verdict["trace"]].add(key_on(verdict[CHAIN], row))
    return {trace: frozenset(found) for trace, found in keys.items()}


def _on_keys(steps: StepTable, verdicts: Iterable[Counted], at: Iterable[Row]) -> Term:
    """Whether a step is on the key of a verdict, or may be: of several keys, values of the one with those of others."""
    values = defaultdict[_Alike, dict[str, set[Any]]](lambda: defaultdict(set))
    for verdict, row in _rows_of_verdicts(verdicts, at):
        for alike in _alike(verdict["kind"], verdict[CHAIN]):
            for name in alike[0]:
                values[alike][name].add(row[name])
    return any_of(*(_among(steps, apis, found) for (_, apis), found in values.items()))


def _alike(kind: str, chain: int) -> Iterator[_Alike]:
    if kind == HISTORY:
        of_chain = HISTORY_CHAINS[chain]
        named = (name for name in of_chain.texts if isinstance(name, str))
        apis = tuple(api for api, event in EVENT_KINDS.items() if event in of_chain.events)
        yield ("trace", *named, *of_chain.numbers), apis
    else:
        yield KEYS.get(kind, _ITSELF[0]), ()
    if kind == ID_LINK:
        yield IDENTITY, ()


def _among(steps: StepTable, apis: tuple[str, ...], values: Mapping[str, set[Any]]) -> Term:
    named = [steps.among("api", apis)] if apis else []
    return all_of(*named, *(steps.among(name, among) for name, among in values.items()))


def _shows_what_was_lost(steps: StepTable, at: Iterable[Row]) -> Term:
    """A step shows a high watermark of a partition of which a broker may have lost records."""
    lost = [row for row in at if came_back_shorter(row.__getitem__)]
    logs = {name: {row[name] for row in lost} for name in ("topic", "partition")}
    return all_of(_among(steps, (), logs), steps.filled("after_high_watermark") > 0)


def _by_trace(rows: Iterable[Row]) -> dict[int, list[Row]]:
    found = defaultdict[int, list[Row]](list)
    for row in rows:
        found[row["trace"]].append(row)
    return found
