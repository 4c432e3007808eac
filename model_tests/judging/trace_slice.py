"""The steps of a trace that a verdict on some of its steps depends on: of a long trace the others are not read."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial, reduce
from operator import and_, or_
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

import spec.readings.reading_spark  # noqa: F401  # columns are operands of the formulas from here on
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
from model_tests.judging.trace_files import rows_in, table_of
from model_tests.traces.schema import BY_NAME, Row

_Alike: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""The columns in which the steps on a key are alike, and the apis that they are of; of any where none is named."""

_ITSELF: Final[_Alike] = ("trace", "step"), ()


def to_explain(steps: DataFrame, verdicts: Sequence[Counted]) -> dict[int, list[Row]]:
    """By trace, the steps that the verdicts are on, and those on the same keys.

    Args:
        steps: every step that was read.
        verdicts: each with its kind and chain, and the first step that it is on.
    """
    if not verdicts:
        return {}
    traces = _of_traces(verdicts)
    at = rows_in(table_of(steps, traces & _are_at(verdicts), BY_NAME))
    return _by_trace(rows_in(table_of(steps, traces & (_on_keys(verdicts, at) | begins_anew(_said)), BY_NAME)))


def to_judge_again(steps: DataFrame, verdicts: Sequence[Counted]) -> Iterator[tuple[int, Doubtful]]:
    """By trace, what is needed to judge client events again, in traces in which every step can be judged.

    Args:
        steps: every step that was read.
        verdicts: those on client events that violate something, each with its chain and the first step that it is on.
    """
    traces, columns = _of_traces(verdicts), columns_of_histories()
    shorter = came_back_shorter(_said)
    at = rows_in(table_of(steps, traces & (_are_at(verdicts) | shorter), columns, all_fit=True))
    is_fault = (fault_of(_said) != 0) | shorter | _shows_what_was_lost(at)
    on_key = _on_keys(verdicts, at) | begins_anew(_said) | is_fault
    looked_at = _said("api").isin(*inferred_faults.LOOKED_AT) | _said("after_txn_state").isin(*inferred_faults.PREPARED)
    rows = _by_trace(rows_in(table_of(steps, traces & on_key, columns, all_fit=True)))
    beside = cache(partial(table_of, steps, traces & looked_at, inferred_faults.READ, all_fit=True))
    for trace, keys in _keys(verdicts, at).items():
        yield trace, Doubtful(keys, rows[trace], partial(_rows_of, trace, beside))


def _rows_of(trace: int, table: Callable[[], pa.Table]) -> list[Row]:
    return rows_in(table().filter(pc.field("trace") == trace))


def _said(name: str) -> Column:
    """A column of a table, with what is absent where a step leaves it out."""
    return F.coalesce(F.col(name), F.lit(BY_NAME[name].absent))


def _of_traces(verdicts: Sequence[Counted]) -> Column:
    return F.col("trace").isin(sorted({verdict["trace"] for verdict in verdicts}))


def _are_at(verdicts: Sequence[Counted]) -> Column:
    return F.col("step").isin(sorted({verdict["step"] for verdict in verdicts}))


def _rows_of_verdicts(verdicts: Iterable[Counted], at: Iterable[Row]) -> Iterator[tuple[Counted, Row]]:
    by_place = {(row["trace"], row["step"]): row for row in at}
    return ((verdict, by_place[verdict["trace"], verdict["step"]]) for verdict in verdicts)


def _keys(verdicts: Iterable[Counted], at: Iterable[Row]) -> dict[int, frozenset[Key]]:
    """By trace, the keys of the client events that the verdicts are on."""
    keys = defaultdict[int, set[Key]](set)
    for verdict, row in _rows_of_verdicts(verdicts, at):
        keys[verdict["trace"]].add(key_on(verdict[CHAIN], row))
    return {trace: frozenset(found) for trace, found in keys.items()}


def _on_keys(verdicts: Iterable[Counted], at: Iterable[Row]) -> Column:
    """Whether a step is on the key of a verdict, or may be: of several keys, values of the one with those of others."""
    values = defaultdict[_Alike, dict[str, set[Any]]](lambda: defaultdict(set))
    for verdict, row in _rows_of_verdicts(verdicts, at):
        for alike in _alike(verdict["kind"], verdict[CHAIN]):
            for name in alike[0]:
                values[alike][name].add(row[name])
    return reduce(or_, (_among(apis, found) for (_, apis), found in values.items()))


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


def _among(apis: tuple[str, ...], values: Mapping[str, set[Any]]) -> Column:
    named = [_said("api").isin(*apis)] if apis else []
    return reduce(and_, (*named, *(_said(name).isin(sorted(among)) for name, among in values.items())))


def _shows_what_was_lost(at: Iterable[Row]) -> Column:
    """A step shows a high watermark of a partition of which a broker may have lost records."""
    lost = [row for row in at if came_back_shorter(row.__getitem__)]
    logs = {name: {row[name] for row in lost} for name in ("topic", "partition")}
    return _among((), logs) & (_said("after_high_watermark") > 0)


def _by_trace(rows: Iterable[Row]) -> dict[int, list[Row]]:
    found = defaultdict[int, list[Row]](list)
    for row in rows:
        found[row["trace"]].append(row)
    return found
