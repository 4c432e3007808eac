"""Guards broken in the specification, and the two readings of it that the crossing of decisions leaves out.

They are the trace check on Spark, whose columns are compiled from the decisions, and the machine of idempotent
producers, which puts its appends to them. Each must turn red and name the rule; one that stays green restates the guard
instead of reading it. The reference is left as it is.
"""

import tempfile
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from model_tests.check import check
from model_tests.machines.rule_counts import Ledger
from model_tests.mutants.defects.planted import Patch, Planted
from model_tests.mutants.reference import run_once
from model_tests.simulate import simulate
from model_tests.traces.schema import Row
from model_tests.traces.schema_types import arrow_schema
from model_tests.verify.results import PlantedDefect
from spec import rules
from spec.algebra import Term, all_of, negate
from spec.protocol import completing, ending, fence, seq
from spec.vocabulary import MAX_SEQUENCE, Origin

TRACES: Final = 20
"""How many traces are judged for one broken guard."""

MACHINE_RUNS: Final = 60
"""Runs in which the machine must see a broken guard."""

_OF_PROFILES: Final = tuple(seed for seed in range(600) if simulate.profile_of(seed) in ("4.4", "4.3", "2.4"))
_CANDIDATES: Final = tuple(seed for seed in _OF_PROFILES if simulate.workload_of(seed) != "transactions")
_TRANSACTIONS: Final = tuple(seed for seed in _OF_PROFILES if simulate.workload_of(seed) == "transactions")


def _never(*_: object) -> Term:
    return False


def _always(*_: object) -> Term:
    return True


def _two_later(last: Term, sequence: Term, *_: object) -> Term:
    return sequence == last + 2


def _without_wrap(last: Term, sequence: Term, *_: object) -> Term:
    return sequence == last + 1


def _newer(entry: Any, request: Any) -> Term:
    return request.producer_epoch > entry.epoch


def _starts_at_one(entry: Any, request: Any) -> Term:
    return all_of(seq.changes_epoch(entry, request), negate(request.base_sequence == 1))


def _starts_at_one_if_demanded(entry: Any, request: Any, profile: Any) -> Term:
    return all_of(negate(profile.any_first_sequence), seq.is_unknown(entry), negate(request.base_sequence == 1))


def _well_formed(request: Any, profile: Any) -> Mapping[str, Term]:
    return dict.fromkeys(_is_malformed(request, profile), False)


_is_malformed: Final = seq.is_malformed


OF_COORDINATOR: Final = (
    Planted("any epoch ends", rules.FENCE_STALE_EPOCH, (Patch(ending, "is_valid_epoch", _always),)),
    Planted("nothing times out", rules.TXN_TIMEOUT, (Patch(completing, "is_timed_out", _never),)),
)
"""Broken guards of the coordinator, which other traces see."""

OF_THE_LOG: Final = (
    Planted("a batch follows two after the last", rules.SEQ_SUCCESSOR, (Patch(seq, "is_successor", _two_later),)),
    Planted("sequences do not wrap", rules.SEQ_SUCCESSOR, (Patch(seq, "is_successor", _without_wrap),)),
    Planted("gaps are let through", rules.SEQ_SUCCESSOR, (Patch(seq, "skips", _never),)),
    Planted("resends are not recognised", rules.SEQ_DUPLICATE_WINDOW, (Patch(seq, "is_resend_of", _never),)),
    Planted("newer epochs are stale", rules.FENCE_STALE_EPOCH, (Patch(fence, "is_stale", _newer),)),
    Planted("no epoch is stale", rules.FENCE_STALE_EPOCH, (Patch(fence, "is_stale", _never),)),
    Planted("an epoch starts anywhere", rules.SEQ_EPOCH_RESET, (Patch(seq, "resets_wrongly", _never),)),
    Planted("an epoch starts at 1", rules.SEQ_EPOCH_RESET, (Patch(seq, "resets_wrongly", _starts_at_one),)),
    Planted("a producer starts at 1", rules.SEQ_FIRST, (Patch(seq, "starts_wrongly", _starts_at_one_if_demanded),)),
    Planted("any form will do", rules.SEQ_WELL_FORMED, (Patch(seq, "is_malformed", _well_formed),)),
)
"""Broken guards of appends, each with the rule that must be named."""

BROKEN: Final = (*OF_THE_LOG, *OF_COORDINATOR)
"""All of them."""


def broken_guard(planted: Planted, *, on_spark: bool) -> PlantedDefect:
    """Break a guard; every reading that is run must turn red, or it counts as seen by nothing.

    Args:
        planted: the broken guard; those of the coordinator are seen by traces alone, since the machine has none.
        on_spark: ask the trace check too.
    """
    started = time.monotonic()
    requested: dict[str, bool] = {}
    if planted not in OF_COORDINATOR:
        with planted.in_place():
            requested["machine"] = by_machine(planted)
    if on_spark:
        requested["traces on Spark"] = planted.rule.id in on_traces(planted)
    killers = tuple(f"{reading} {planted.rule.id}" for reading in requested) if all(requested.values()) else ()
    name, seconds = f"specification: {planted.name}", round(time.monotonic() - started, 3)
    return PlantedDefect(name, planted.rule, killers, seconds)


def on_traces(mutant: Planted) -> frozenset[str]:
    """Ids of the rules that the trace check on Spark finds violated, its columns compiled from the broken decision."""
    path = _true_traces(mutant in OF_COORDINATOR)  # made by the reference, and read before anything is broken
    with mutant.in_place():
        report = check.run(str(path), simulate.LOCAL)
    return frozenset(count.rule for count in report.rules if count.violations or count.known)


def by_machine(planted: Planted) -> bool:
    """Whether the machine's worlds, whose appends the decision judges, see that it is broken."""
    ledger = Ledger(monitors=False)  # its judges are compiled once, from decisions that are not broken
    for seed in range(MACHINE_RUNS):
        run_once(seed, ledger, planted.terrain)
        if any(broken.rule == planted.rule and broken.seen_by == "decision" for broken in ledger.broken):
            return True
    return False


@cache
def _true_traces(coordinated: bool) -> Path:
    directory = Path(tempfile.mkdtemp(prefix="eos-broken-guards-"))
    traces = [simulate.trace_of(seed) for seed in _TRANSACTIONS[:TRACES]] if coordinated else _traces_of_logs()
    rows = [row for trace in traces for row in trace]
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema()), directory / "true.parquet")
    return directory


def _traces_of_logs() -> list[list[Row]]:
    traces = [simulate.trace_of(seed) for seed in _CANDIDATES[:TRACES]]
    wrapping = next(trace for trace in map(simulate.trace_of, _CANDIDATES) if any(map(_follows_the_wrap, trace)))
    if wrapping not in traces:  # wraps are rare, and no other step shows whether they are allowed
        traces.append(wrapping)
    return traces


def _follows_the_wrap(row: Row) -> bool:
    """A client's batch at sequence 0 was appended right after the last sequence of its epoch."""
    follows = row["base_sequence"] == 0 and row["before_cached_0_last_sequence"] == MAX_SEQUENCE
    accepted = row["appended"] and row["origin"] == Origin.CLIENT and not row["control"]
    return bool(accepted and follows and row["before_epoch"] == row["producer_epoch"])
